"""The reference's own reader of expression text: a small operator-precedence parser."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, TypeAlias

from tests.property.reference.errors import ReferenceError_
from tests.property.reference.values import Int32, interval

NAVIGATIONS = frozenset({"FIRST", "LAST", "PREV", "NEXT"})
AGGREGATES = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", "ARRAY_AGG"})


@dataclass(frozen=True)
class Constant:
    value: Any


@dataclass(frozen=True)
class Column:
    """``name`` or ``variable.name``; the variable in normal form."""

    name: str
    variable: str | None = None


@dataclass(frozen=True)
class Operation:
    """An operator or an ordinary function over its arguments."""

    operator: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Case_:
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True)
class Cast:
    argument: Expression
    target: str


@dataclass(frozen=True)
class Navigation:
    """FIRST, LAST, PREV or NEXT of `argument`."""

    function: str
    argument: Expression
    offset: int
    final: bool | None = None


@dataclass(frozen=True)
class Aggregate:
    """An aggregate; `argument` None counts rows, of `variable` if that is given."""

    function: str
    argument: Expression | None
    variable: str | None = None
    distinct: bool = False
    condition: Expression | None = None
    final: bool | None = None


@dataclass(frozen=True)
class Classifier:
    variable: str | None = None


@dataclass(frozen=True)
class MatchNumber:
    pass


Expression: TypeAlias = Constant | Column | Operation | Case_ | Cast | Navigation | Aggregate | Classifier | MatchNumber


def children(node: Expression) -> Iterator[Expression]:
    """Yield the direct sub-expressions."""
    if isinstance(node, Case_):
        for branch in node.branches:
            yield from branch
        yield node.otherwise
        return
    for field in fields(node):
        value = getattr(node, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Expression):
                yield item


def walk(node: Expression) -> Iterator[Expression]:
    yield node
    for child in children(node):
        yield from walk(child)


_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?:[LlDd](?!\w))?)
    |'(?P<text>(?:[^']|'')*)'|"(?P<double>[^"]*)"|`(?P<quoted>[^`]+)`
    |(?P<word>[A-Za-z_]\w*)|(?P<symbol><=>|<=|>=|<>|!=|==|\|\||[-+*/%(),.<>=]))""",
    re.VERBOSE,
)

_COMPARISONS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_RESERVED = frozenset({"AND", "OR", "NOT", "IS", "BETWEEN", "IN", "LIKE", "WHEN", "THEN", "ELSE", "END", "AS", "FROM"})


def tokens(text: str) -> list[tuple[str, str]]:
    found, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ReferenceError_(f"unexpected {text[place:].strip()[:10]} in {text}")
        assert match.lastgroup is not None
        found.append((match.lastgroup, match.group(match.lastgroup)))
        place = match.end()
    return found


def _number(text: str) -> Any:
    if text[-1] in "dD" or "e" in text.lower():
        return float(text.rstrip("dD"))
    if "." in text:
        return Decimal(text)
    value = int(text.rstrip("lL"))
    return Int32(value) if value < 2**31 and text[-1] not in "lL" else value


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.place = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else ("end", "")

    def next(self) -> tuple[str, str]:
        token = self.peek()
        self.place += 1
        return token

    def symbol(self, *symbols: str) -> str | None:
        kind, value = self.peek()
        return self.next()[1] if kind == "symbol" and value in symbols else None

    def word(self, *words: str) -> str | None:
        kind, value = self.peek()
        return self.next()[1].upper() if kind == "word" and value.upper() in words else None

    def fail(self, wanted: str) -> ReferenceError_:
        return ReferenceError_(f"expected {wanted} but found {self.peek()[1] or 'the end'} in {self.text}")

    def expect(self, symbol: str) -> None:
        if not self.symbol(symbol):
            raise self.fail(symbol)

    def expect_word(self, word: str) -> None:
        if not self.word(word):
            raise self.fail(word)

    def expression(self) -> Expression:
        left = self.conjunction()
        while self.word("OR"):
            left = Operation("OR", (left, self.conjunction()))
        return left

    def conjunction(self) -> Expression:
        left = self.negation()
        while self.word("AND"):
            left = Operation("AND", (left, self.negation()))
        return left

    def negation(self) -> Expression:
        if self.word("NOT"):
            return Operation("NOT", (self.negation(),))
        return self.predicate()

    def predicate(self) -> Expression:
        left = self.sum()
        while True:
            comparison = self.symbol(*_COMPARISONS)
            if comparison:
                left = Operation(_COMPARISONS[comparison], (left, self.sum()))
            elif self.word("IS"):
                left = self.is_test(left)
            else:
                inverted = self.peek(1)[1].upper() in ("BETWEEN", "IN", "LIKE") and bool(self.word("NOT"))
                test = self.word("BETWEEN", "IN", "LIKE")
                if test is None:
                    return left
                left = self.range_test(test, left)
                left = Operation("NOT", (left,)) if inverted else left

    def is_test(self, left: Expression) -> Expression:
        inverted = bool(self.word("NOT"))
        if self.word("DISTINCT"):
            self.expect_word("FROM")
            test: Expression = Operation("NOT", (Operation("<=>", (left, self.sum())),))
        else:
            word = self.word("NULL", "TRUE", "FALSE")
            if word is None:
                raise self.fail("NULL, TRUE or FALSE")
            test = Operation(f"IS {word}", (left,))
        return Operation("NOT", (test,)) if inverted else test

    def range_test(self, test: str, left: Expression) -> Expression:
        if test == "BETWEEN":
            low = self.sum()
            self.expect_word("AND")
            return Operation("AND", (Operation(">=", (left, low)), Operation("<=", (left, self.sum()))))
        if test == "LIKE":
            return Operation("LIKE", (left, self.sum()))
        self.expect("(")
        return Operation("IN", (left, *self.arguments()))

    def sum(self) -> Expression:
        left = self.product()
        while operator := self.symbol("+", "-", "||"):
            left = Operation(operator, (left, self.product()))
        return left

    def product(self) -> Expression:
        left = self.unary()
        while operator := self.symbol("*", "/", "%") or self.word("DIV"):
            left = Operation(operator, (left, self.unary()))
        return left

    def unary(self) -> Expression:
        if self.symbol("-"):
            argument = self.unary()
            if isinstance(argument, Constant) and isinstance(argument.value, int | float | Decimal):
                return Constant(type(argument.value)(-argument.value))
            return Operation("NEGATE", (argument,))
        if self.symbol("+"):
            return self.unary()
        return self.primary()

    def primary(self) -> Expression:
        if self.symbol("("):
            inner = self.expression()
            self.expect(")")
            return inner
        kind, value = self.next()
        if kind == "number":
            return Constant(_number(value))
        if kind == "text":
            return Constant(value.replace("''", "'"))
        if kind == "double":
            return Column(self.name(), value) if self.symbol(".") else Constant(value)
        if kind == "quoted":
            return Column(self.name(), value) if self.symbol(".") else Column(value)
        if kind != "word":
            self.place -= 1
            raise self.fail("an expression")
        return self.from_word(value)

    def from_word(self, value: str) -> Expression:
        upper = value.upper()
        following = self.peek()
        if upper in ("TRUE", "FALSE", "NULL"):
            return Constant({"TRUE": True, "FALSE": False, "NULL": None}[upper])
        if upper == "CASE":
            return self.case()
        if upper in ("RUNNING", "FINAL") and following[0] == "word":
            return self.with_semantics(final=upper == "FINAL")
        if upper == "INTERVAL" and following[0] in ("text", "number"):
            return Constant(interval(self.next()[1], self.next()[1]))
        if upper in ("TIMESTAMP", "DATE") and following[0] == "text":
            read = dt.datetime if upper == "TIMESTAMP" else dt.date
            return Constant(read.fromisoformat(self.next()[1]))
        if self.symbol("("):
            return self.call(upper)
        if upper in _RESERVED:
            self.place -= 1
            raise self.fail("an expression")
        return Column(self.name(), upper) if self.symbol(".") else Column(value)

    def name(self) -> str:
        kind, value = self.next()
        if kind not in ("word", "quoted"):
            self.place -= 1
            raise self.fail("a column")
        return value

    def variable(self) -> str:
        kind, value = self.next()
        if kind not in ("word", "quoted", "double"):
            self.place -= 1
            raise self.fail("a variable")
        return value.upper() if kind == "word" else value

    def case(self) -> Expression:
        subject = None if self.peek()[1].upper() == "WHEN" else self.expression()
        branches = []
        while self.word("WHEN"):
            when = self.expression()
            self.expect_word("THEN")
            when = when if subject is None else Operation("=", (subject, when))
            branches.append((when, self.expression()))
        otherwise = self.expression() if self.word("ELSE") else Constant(None)
        self.expect_word("END")
        return Case_(tuple(branches), otherwise)

    def with_semantics(self, final: bool) -> Expression:
        word = "FINAL" if final else "RUNNING"
        name = self.next()[1].upper()
        if name not in AGGREGATES | {"FIRST", "LAST"} or not self.symbol("("):
            raise ReferenceError_(f"{word} stands before FIRST, LAST or an aggregate only, not before {name}")
        return self.call(name, final)

    def arguments(self) -> tuple[Expression, ...]:
        if self.symbol(")"):
            return ()
        found = [self.expression()]
        while self.symbol(","):
            found.append(self.expression())
        self.expect(")")
        return tuple(found)

    def call(self, name: str, final: bool | None = None) -> Expression:
        if name in AGGREGATES:
            return self.aggregate(name, final)
        if name == "CLASSIFIER":
            variable = None if self.symbol(")") else self.variable()
            if variable is not None:
                self.expect(")")
            return Classifier(variable)
        if name == "CAST":
            argument = self.expression()
            self.expect_word("AS")
            target = self.name().upper()
            self.expect(")")
            return Cast(argument, target)
        arguments = self.arguments()
        if name in NAVIGATIONS:
            return _navigation(name, arguments, final)
        if name == "MATCH_NUMBER" and not arguments:
            return MatchNumber()
        return Operation(name, arguments)

    def aggregate(self, name: str, final: bool | None) -> Expression:
        distinct = bool(self.word("DISTINCT"))
        variable, argument = None, None
        if self.symbol("*"):
            pass
        elif self.peek(1) == ("symbol", ".") and self.peek(2) == ("symbol", "*"):
            variable = self.variable()
            self.place += 2
        else:
            argument = self.expression()
        self.expect(")")
        if argument is None and (name != "COUNT" or distinct):
            raise ReferenceError_(f"{name}(*) is not defined")
        condition = None
        if self.word("FILTER"):
            self.expect("(")
            self.expect_word("WHERE")
            condition = self.expression()
            self.expect(")")
        return Aggregate(name, argument, variable, distinct, condition, final)


def _navigation(name: str, arguments: tuple[Expression, ...], final: bool | None) -> Expression:
    if not 1 <= len(arguments) <= 2:
        raise ReferenceError_(f"{name} takes an expression and an optional offset")
    offset: Any = 1 if name in ("PREV", "NEXT") else 0
    if len(arguments) == 2:
        offset = arguments[1].value if isinstance(arguments[1], Constant) else None
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            raise ReferenceError_(f"the offset of {name} must be a whole number that is not negative")
    return Navigation(name, arguments[0], int(offset), final)


def read_expression(text: str) -> Expression:
    """Read one expression; raise ReferenceError_ where the text is none."""
    reader = _Reader(text)
    found = reader.expression()
    if reader.peek()[0] != "end":
        raise reader.fail("the end")
    return found


def read_ordering(text: str) -> tuple[Expression, bool, bool]:
    """Read ``expression [ASC|DESC] [NULLS FIRST|LAST]``: the expression, descending?, NULLs first?"""
    reader = _Reader(text)
    found = reader.expression()
    descending = reader.word("ASC", "DESC") == "DESC"
    nulls_first = not descending
    if reader.word("NULLS"):
        nulls_first = reader.word("FIRST", "LAST") == "FIRST"
    if reader.peek()[0] != "end":
        raise reader.fail("the end")
    return found, descending, nulls_first
