"""The reference's own reader of row pattern text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.property.reference.errors import ReferenceError_


@dataclass(frozen=True)
class Variable:
    name: str
    excluded: bool = False


@dataclass(frozen=True)
class Sequence_:
    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Choice_:
    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Permute:
    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Repeat:
    part: Pattern
    least: int
    most: int | None
    greedy: bool


@dataclass(frozen=True)
class Edge:
    """An anchor: "^" or "$"."""

    symbol: str


Pattern: TypeAlias = Variable | Sequence_ | Choice_ | Permute | Repeat | Edge
NOTHING = Sequence_(())

_TOKEN = re.compile(r'\s*(?:(\{-|-\}|[()|*+?{},^$])|(\d+)|([A-Za-z_]\w*)|"([^"]+)"|`([^`]+)`|(\S))')


def fold(name: str) -> str:
    """Return a variable's name in normal form: upper case unless it is quoted."""
    name = name.strip()
    if len(name) > 2 and name[0] == name[-1] and name[0] in '"`':
        return name[1:-1]
    return name.upper()


@dataclass
class _Reader:
    tokens: list[tuple[str, str]]
    place: int = 0
    exclusions: int = 0
    variables: dict[str, None] = field(default_factory=dict)
    has_exclusion: bool = False

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def take(self, symbol: str) -> bool:
        if self.peek() == ("symbol", symbol):
            self.place += 1
            return True
        return False

    def expect(self, symbol: str) -> None:
        if not self.take(symbol):
            raise ReferenceError_(f"PATTERN: expected {symbol} but found {self.peek()[1] or 'the end'}")

    def alternation(self) -> Pattern:
        parts = [self.concatenation()]
        while self.take("|"):
            parts.append(self.concatenation())
        return parts[0] if len(parts) == 1 else Choice_(tuple(parts))

    def concatenation(self) -> Pattern:
        parts = []
        while self.peek()[0] in ("name", "quoted") or self.peek() in [("symbol", s) for s in ("(", "{-", "^", "$")]:
            parts.append(self.quantified())
        return parts[0] if len(parts) == 1 else Sequence_(tuple(parts))

    def quantified(self) -> Pattern:
        part = self.primary()
        bounds = self.bounds()
        if bounds is None:
            return part
        return Repeat(part, bounds[0], bounds[1], greedy=not self.take("?"))

    def bounds(self) -> tuple[int, int | None] | None:
        for symbol, simple in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(symbol):
                return simple
        if not self.take("{"):
            return None
        least, most = self.number(), None
        if self.take(","):
            most = self.number()
            if least is None and most is None:
                raise ReferenceError_("PATTERN: {,} bounds nothing")
        elif least is None:
            raise ReferenceError_("PATTERN: expected a number behind {")
        else:
            most = least
        self.expect("}")
        if most is not None and (most < 1 or most < (least or 0)):
            raise ReferenceError_(f"PATTERN: quantifier {{{least or 0},{most}}}: the upper bound is too small")
        return least or 0, most

    def number(self) -> int | None:
        kind, text = self.peek()
        if kind != "number":
            return None
        self.place += 1
        return int(text)

    def primary(self) -> Pattern:
        for symbol in "^$":
            if self.take(symbol):
                return Edge(symbol)
        if self.take("("):
            inner = self.alternation()
            self.expect(")")
            return inner
        if self.take("{-"):
            self.has_exclusion = True
            self.exclusions += 1
            inner = self.alternation()
            self.exclusions -= 1
            self.expect("-}")
            return inner
        kind, text = self.peek()
        self.place += 1
        if kind == "name" and text.upper() == "PERMUTE" and self.take("("):
            return self.permutation()
        name = text if kind == "quoted" else text.upper()
        self.variables[name] = None
        return Variable(name, self.exclusions > 0)

    def permutation(self) -> Pattern:
        parts = [self.alternation()]
        while self.take(","):
            parts.append(self.alternation())
        self.expect(")")
        return Permute(tuple(parts))


def _tokens(text: str) -> list[tuple[str, str]]:
    kinds = ("symbol", "number", "name", "quoted", "quoted", "other")
    found = []
    for match in _TOKEN.finditer(text.rstrip()):
        kind, value = next((k, g) for k, g in zip(kinds, match.groups(), strict=True) if g is not None)
        if kind == "other":
            raise ReferenceError_(f"PATTERN: unexpected {value}")
        found.append((kind, value))
    return found


@dataclass(frozen=True)
class ReadPattern:
    root: Pattern
    variables: tuple[str, ...]
    has_exclusion: bool


def read_pattern(text: str) -> ReadPattern:
    """Read pattern text; raise ReferenceError_ where it is not one."""
    reader = _Reader(_tokens(text))
    root = reader.alternation()
    if reader.place < len(reader.tokens):
        raise ReferenceError_(f"PATTERN: unexpected {reader.peek()[1]}")
    return ReadPattern(root, tuple(reader.variables), reader.has_exclusion)
