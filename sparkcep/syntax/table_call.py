"""``match_pattern(TABLE(t) PARTITION BY … ORDER BY …, pattern => '…')``: the table function in SQL text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sparkcep.errors import PatternSyntaxError, Span, did_you_mean
from sparkcep.syntax.lexer import split_top_level, string_value, unquoted
from sparkcep.syntax.relations import SourceText

FUNCTION = "MATCH_PATTERN"
PARAMETERS = (
    "pattern", "partition_by", "order_by", "define", "subset", "measures", "rows_per_match", "after_match", "within",
    "inclusive", "null_order_value", "strategy", "types", "type_column", "matches", "timeouts", "limit", "sample",
    "strict_time",
)  # fmt: skip
_OF_STATEMENTS = (*PARAMETERS, "observe")
Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"
_KINDS: dict[str, type] = {
    **dict.fromkeys(("inclusive", "timeouts", "strict_time"), bool),
    **dict.fromkeys(("define", "subset", "measures", "types"), dict),
    **dict.fromkeys(
        ("pattern", "rows_per_match", "after_match", "null_order_value", "strategy", "type_column", "matches"), str
    ),
    "observe": str,
}
_KIND_NAMES = {bool: "TRUE or FALSE", dict: "a map('name', 'text', …)", str: "a text"}
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}


@dataclass(frozen=True, slots=True)
class TableCall:
    """A call of the table function.

    Attributes
    ----------
    table : tuple of int
        Token range between the brackets of ``TABLE( … )``.
    is_query
        Whether a query stands there, and not a table's name.
    alias
        The last part of the table's name.
    arguments
        Those of `sparkcep.match_pattern`, ``PARTITION BY`` and ``ORDER BY`` among them; NULL is not given.
    """

    table: tuple[int, int]
    is_query: bool
    alias: str | None
    arguments: dict[str, Value]


def opens_table_call(source: SourceText, index: int) -> bool:
    """Tell whether the function is called at this token: in a place for tables, and over a table."""
    tokens = source.tokens
    if index == 0 or tokens[index].keyword != FUNCTION or index + 1 not in source.pairs:
        return False
    return tokens[index + 2].keyword == "TABLE" and index + 3 in source.pairs


def read_table_call(source: SourceText, index: int) -> TableCall:
    """Read the call whose name is the token at `index`.

    Raises
    ------
    PatternSyntaxError
        UNEXPECTED_TOKEN, UNKNOWN_ARGUMENT, CLAUSE_TWICE, WRONG_ARGUMENT, MISSING_PATTERN.
    """
    return _CallReader(source, index).call()


class _CallReader:
    def __init__(self, source: SourceText, index: int) -> None:
        self.source, self.tokens, self.pairs, self.index = source, source.tokens, source.pairs, index

    def call(self) -> TableCall:
        opening = self.index + 1
        first, *others = split_top_level(self.tokens, self.pairs, opening + 1, self.pairs[opening])
        table = (self.index + 4, self.pairs[self.index + 3])
        arguments = self._table_clauses(table[1] + 1, first[1])
        for start, end in others:
            name, value = self._named(start, end)
            if name in arguments:
                raise self._error("CLAUSE_TWICE", f"{name} is given twice.", start, end)
            arguments[name] = value
        arguments = {name: value for name, value in arguments.items() if value is not None}
        if "pattern" not in arguments:
            message = "The table function needs a pattern."
            raise self._error("MISSING_PATTERN", message, self.index, self.index + 1, "pattern => 'SEQ(A a, B b)'")
        inside = self.tokens[table[0] : table[1]]
        is_name = bool(inside) and all(token.is_name or token.is_symbol(".") for token in inside)
        return TableCall(table, not is_name, unquoted(inside[-1]) if is_name else None, arguments)

    def _table_clauses(self, start: int, end: int) -> dict[str, Value]:
        """Read PARTITION BY and ORDER BY behind ``TABLE( … )``; lists stand in brackets."""
        found: dict[str, Value] = {}
        words = [token.keyword for token in self.tokens[start:end]]
        if words[:3] == ["WITH", "SINGLE", "PARTITION"]:
            start, words = start + 3, words[3:]
        elif words[:2] == ["PARTITION", "BY"]:
            orders = next((i for i in range(start + 2, end - 1) if self._at(i, "ORDER", "BY")), end)
            found["partition_by"] = self._expressions(start + 2, orders)
            start = orders
        if start < end and self._at(start, "ORDER", "BY"):
            found["order_by"] = self._expressions(start + 2, end)
            start = end
        if start < end:
            allowed = "PARTITION BY (…), WITH SINGLE PARTITION, ORDER BY (…), a comma"
            raise self._error("UNEXPECTED_TOKEN", "This cannot stand behind TABLE(…).", start, end, allowed)
        return found

    def _at(self, index: int, *words: str) -> bool:
        return [token.keyword for token in self.tokens[index : index + len(words)]] == list(words)

    def _expressions(self, start: int, end: int) -> list[Value]:
        if start in self.pairs and self.pairs[start] == end - 1:
            start, end = start + 1, end - 1
        ranges = split_top_level(self.tokens, self.pairs, start, end)
        for first, behind in ranges:
            if first == behind:
                raise self._error("MISSING_EXPRESSION", "Here an expression is missing.", start - 1, start)
        return [self._text(first, behind) for first, behind in ranges]

    def _named(self, start: int, end: int) -> tuple[str, Value]:
        if end - start < 3 or not self.tokens[start + 1].is_symbol("=>"):
            allowed = "name => value"
            raise self._error(
                "UNEXPECTED_TOKEN", "Arguments behind the table have names.", *self._shown(start, end), allowed
            )
        name = self.tokens[start].text.lower()
        if name not in _OF_STATEMENTS:
            raise PatternSyntaxError(
                "UNKNOWN_ARGUMENT",
                f"match_pattern has no argument '{name}'.",
                clause="match_pattern",
                text=self.source.text,
                span=self.tokens[start].span,
                found=name,
                allowed=_OF_STATEMENTS,
                hint=did_you_mean(name, _OF_STATEMENTS),
            )
        value = self._value(start + 2, end)
        if value is not None and not isinstance(value, _KINDS.get(name, object)):
            raise self._error("WRONG_ARGUMENT", f"{name} is {_KIND_NAMES[_KINDS[name]]}.", start, end)
        return name, value

    def _shown(self, start: int, end: int) -> tuple[int, int]:
        """Return a range that holds a token: where there is none, the one before it."""
        return (start, end) if start < end else (start - 1, start)

    def _value(self, start: int, end: int) -> Value:
        """Read a constant: a text, a number, TRUE, FALSE, NULL, an interval, map(…) or array(…)."""
        first = self.tokens[start] if start < end else None
        if first is None:
            raise self._error("WRONG_ARGUMENT", "Here a value is missing.", start - 1, start)
        if end == start + 1:
            if first.kind in ("string", "double-quoted"):
                return string_value(first)
            if first.keyword in _CONSTANTS:
                return _CONSTANTS[first.keyword]
        if first.keyword == "INTERVAL":
            return self._text(start, end)
        if first.keyword in ("MAP", "ARRAY") and self.pairs.get(start + 1) == end - 1:
            ranges = split_top_level(self.tokens, self.pairs, start + 2, end - 1)
            items = [self._value(*each) for each in ranges] if end > start + 3 else []
            if first.keyword == "ARRAY":
                return items
            if len(items) % 2 == 0:
                return {str(key): value for key, value in zip(items[::2], items[1::2], strict=True)}
        number = _number(self._text(start, end))
        if number is None:
            allowed = "a text, a number, TRUE, FALSE, INTERVAL …, map('name', 'text', …), array('text', …)"
            raise self._error("WRONG_ARGUMENT", "This is not a constant.", start, end, allowed)
        return number

    def _text(self, start: int, end: int) -> str:
        return self.source.text[self.tokens[start].start : self.tokens[end - 1].end]

    def _error(self, code: str, message: str, start: int, end: int, allowed: str | None = None) -> PatternSyntaxError:
        span = Span(self.tokens[start].start, self.tokens[max(start, end - 1)].end)
        return PatternSyntaxError(
            code,
            message,
            clause="match_pattern",
            text=self.source.text,
            span=span,
            found=self.source.text[span.start : span.end],
            allowed=allowed,
        )


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
