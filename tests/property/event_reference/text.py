"""The reader of SASE text: PATTERN … WHERE … WITHIN … RETURN …"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tests.property.event_reference.conditions import Condition, conjuncts, read_condition
from tests.property.event_reference.tokens import Token, tokens
from tests.property.event_reference.tree import (
    STEP_STRATEGIES,
    STRATEGIES,
    EventPattern,
    Group,
    Negation,
    Node,
    Part,
    Variable,
    Window,
    leaves,
)
from tests.property.reference.errors import ReferenceError_
from tests.property.reference.values import interval

_GROUPS = ("SEQ", "AND", "OR")
_CLAUSES = ("WHERE", "WITHIN", "RETURN")
_QUANTIFIERS = {"+": (1, None), "*": (0, None), "?": (0, 1)}
_SHORT_UNITS = {"MIN": "MINUTE", "MINS": "MINUTE", "SEC": "SECOND", "SECS": "SECOND", "H": "HOUR", "S": "SECOND"}
_END = Token("end", "the end")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.place = 0
        self.numbers = itertools.count(1)
        self.untils: dict[str, list[Token]] = {}

    def peek(self, ahead: int = 0) -> Token:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def next(self) -> Token:
        self.place += 1
        return self.tokens[self.place - 1] if self.place <= len(self.tokens) else _END

    def take(self, *texts: str) -> str | None:
        return self.next().upper if self.peek().upper in texts and self.peek().kind in ("word", "symbol") else None

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            raise self.fail(text)

    def fail(self, wanted: str) -> ReferenceError_:
        return ReferenceError_(f"expected {wanted} but found {self.peek().text} in {self.text}")

    def name(self, what: str) -> str:
        token = self.peek()
        if token.kind not in ("word", "quoted"):
            raise self.fail(what)
        self.place += 1
        return token.text.strip('"`')

    def until_end_of(self, closing: tuple[str, ...]) -> list[Token]:
        """Return the tokens up to one of `closing` outside of all brackets; it is not consumed."""
        found, depth = [], 0
        while self.peek() is not _END:
            token = self.peek()
            if depth == 0 and token.upper in closing and token.kind in ("word", "symbol"):
                break
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            found.append(self.next())
        return found

    # -- the pattern

    def group(self) -> Group:
        kind = self.take(*_GROUPS)
        if kind is None:
            raise self.fail("SEQ, AND or OR")
        self.expect("(")
        parts = [self.part()]
        while self.take(","):
            parts.append(self.part())
        self.expect(")")
        return Group(kind, tuple(parts), number=next(self.numbers))

    def part(self) -> Node:
        if self.take("~"):
            return self.negation()
        if self.peek().upper in _GROUPS and self.peek(1).text == "(":
            group = self.group()
            quantifier = self.quantifier()
            if quantifier is None:
                return group
            return Group(group.kind, group.parts, *quantifier, number=group.number)
        return self.component()

    def negation(self) -> Negation:
        bracket = self.take("(")
        if self.peek().upper in _GROUPS and self.peek(1).text == "(":
            raise ReferenceError_(f"~{self.peek().upper} is refused: negate one event type")
        kind, variable = self.name("an event type"), self.name("a variable")
        if bracket:
            self.expect(")")
        return Negation(kind, variable, self.window() if self.take("WITHIN") else None)

    def component(self) -> Part:
        word = self.take(*STEP_STRATEGIES)
        kind = self.name("an event type")
        quantifier = self.quantifier()
        variable = self.name("a variable")
        brackets = self.take("[")
        if brackets:
            self.expect("]")
        loop = quantifier is not None and quantifier != (0, 1)
        if brackets and not loop:
            raise ReferenceError_(f"{variable}[] needs a quantifier")
        if self.take("UNTIL"):
            if not loop:
                raise ReferenceError_("UNTIL belongs to a loop")
            self.expect("(")
            self.untils[variable] = self.until_end_of((")",))
            self.expect(")")
        window = self.window() if self.take("WITHIN") else None
        least, most = quantifier or (1, 1)
        return Part(kind, variable, least, most, loop, STEP_STRATEGIES.get(word or ""), None, window)

    def quantifier(self) -> tuple[int, int | None] | None:
        symbol = self.take("+", "*", "?")
        if symbol:
            return _QUANTIFIERS[symbol]
        if not self.take("{"):
            return None
        least = self.count()
        most: int | None = least
        if self.take(","):
            most = None if self.peek().text == "}" else self.count()
        self.expect("}")
        if most is not None and (most < least or most < 1):
            raise ReferenceError_(f"{{{least},{most}}} needs n ≤ m and m ≥ 1")
        return (least, most)

    def count(self) -> int:
        if not self.peek().text.isdigit():
            raise self.fail("a whole number")
        return int(self.next().text)

    # -- windows

    def window(self) -> Window:
        window = self.span()
        word = self.take("INCLUSIVE", "EXCLUSIVE")
        inclusive = None if word is None else word == "INCLUSIVE"
        return Window(window.size, window.events, inclusive)

    def span(self) -> Window:
        word = self.take("INTERVAL")
        token = self.next()
        if token.kind == "text" and not word:
            return read_window(token.text.strip("'"))
        amount = token.text.strip("'")
        if self.peek().kind == "word" and self.peek().upper not in (*_CLAUSES, "INCLUSIVE", "EXCLUSIVE"):
            return _span(amount, self.next().text)
        if word or token.kind != "number":
            raise ReferenceError_(f"{amount} is no window")
        return Window(_plain_number(amount))

    # -- the clauses behind

    def where(self) -> tuple[str | None, list[Token]]:
        if self.peek().text.lower() in STRATEGIES and self.peek(1).text in ("(", "{"):
            strategy = self.next().text.lower()
            if self.take("("):
                self.listed = [token.text for token in self.until_end_of((")",)) if token.kind == "word"]
                self.expect(")")
            self.expect("{")
            condition = self.until_end_of(("}",))
            self.expect("}")
            return strategy, condition
        return None, self.until_end_of(("WITHIN", "RETURN"))

    listed: list[str] | None = None

    def returned(self) -> dict[str, list[Token]]:
        found: dict[str, list[Token]] = {}
        while True:
            expression = self.until_end_of((",",))
            if len(expression) < 3 or expression[-2].upper != "AS":
                raise ReferenceError_("RETURN needs expression AS name")
            found[expression[-1].text.strip('"`')] = expression[:-2]
            if not self.take(","):
                return found


def _plain_number(text: str) -> Any:
    return float(text) if "." in text or "e" in text.lower() else int(text)


def _span(amount: str, unit: str) -> Window:
    name = unit.upper()
    if name.removesuffix("S") == "EVENT":
        if not amount.isdigit() or int(amount) < 1:
            raise ReferenceError_(f"WITHIN {amount} EVENTS: no match can be that short")
        return Window(int(amount), events=True)
    return Window(interval(amount, _SHORT_UNITS.get(name, name)))


def read_window(given: Any) -> Window:
    """Return the window of an argument: a number, a timedelta, or text such as ``5 EVENTS``."""
    if not isinstance(given, str):
        return Window(given)
    words = given.split()
    if words and words[0].upper() == "INTERVAL":
        words = words[1:]
    if len(words) == 1:
        return Window(_plain_number(words[0]))
    if len(words) != 2:
        raise ReferenceError_(f"{given} is no window")
    return _span(words[0].strip("'"), words[1])


def _variables(root: Group) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    for leaf, groups in leaves(root):
        name = leaf.variable.upper()
        if name in found:
            raise ReferenceError_(f"variable {leaf.variable} is declared twice")
        negated = isinstance(leaf, Negation)
        found[name] = Variable(leaf.variable, groups, not negated and leaf.loop, negated)  # type: ignore[union-attr]
    if all(variable.negated for variable in found.values()):
        raise ReferenceError_("a pattern needs an event that happens")
    return found


def _with_untils(node: Node, read: Callable[[str], Condition | None]) -> Node:
    if isinstance(node, Group):
        return Group(node.kind, tuple(_with_untils(p, read) for p in node.parts), node.least, node.most, node.number)
    if isinstance(node, Negation):
        return node
    return Part(
        node.type,
        node.variable,
        node.least,
        node.most,
        node.loop,
        node.strategy,
        read(node.variable),
        node.within,
    )


def read_event_pattern(text: str) -> EventPattern:
    """Read a whole text; raise ReferenceError_ where it is none."""
    reader = _Reader(text)
    reader.take("PATTERN")
    root = reader.group()
    strategy, where = reader.where() if reader.take("WHERE") else (None, None)
    window = reader.window() if reader.take("WITHIN") else None
    returned = reader.returned() if reader.take("RETURN") else {}
    if reader.peek() is not _END:
        raise reader.fail("the end")
    variables = _variables(root)
    _check_listed(reader.listed, variables)
    untils = {name: read_condition(found, variables) for name, found in reader.untils.items()}
    root_with_untils = _with_untils(root, untils.get)
    assert isinstance(root_with_untils, Group)
    conditions, keys = conjuncts(read_condition(where, variables), variables) if where else ([], [])
    for condition in conditions:
        if len([name for name in condition.variables if variables[name].negated]) > 1:
            raise ReferenceError_(f"{condition.text} names two negated variables")
        if not condition.variables:
            raise ReferenceError_(f"{condition.text} names no variable")
    expressions = {name: read_condition(found, variables) for name, found in returned.items()}
    return EventPattern(root_with_untils, variables, tuple(conditions), tuple(keys), strategy, window, expressions)


def _check_listed(listed: list[str] | None, variables: dict[str, Variable]) -> None:
    if listed is None:
        return
    names = {name.upper() for name in listed}
    unknown = names - set(variables)
    missing = {name for name, variable in variables.items() if not variable.negated} - names
    if unknown or missing:
        raise ReferenceError_(f"the strategy's list has unknown {sorted(unknown)} and lacks {sorted(missing)}")
