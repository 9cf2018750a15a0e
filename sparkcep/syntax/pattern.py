"""The tree of a row pattern: frozen nodes with the standard's names and source spans.

A variable's `name` is in normal form: unquoted names are folded to upper case, quoted
names stay as written. ``str(node)`` prints text that parses back to an equal tree.
Spans do not take part in equality.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkcep.errors import Span

NOWHERE = Span(0, 0)
RESERVED_NAMES = frozenset({"PERMUTE"})
# Printed quoted, so that a clause around the pattern reads back whatever its variables are called.
_PRINTED_QUOTED = RESERVED_NAMES | {"AS", "MEASURES", "PATTERN", "WITHIN", "SUBSET", "DEFINE"}
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


class _Node:
    __slots__ = ()

    def __str__(self) -> str:
        return pattern_text(self)  # type: ignore[arg-type]  # every subclass is one of RowPattern


@dataclass(frozen=True, slots=True)
class Label(_Node):
    """One row of a primary variable."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Concatenation(_Node):
    """`parts` one after the other; two or more."""

    parts: tuple[RowPattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Alternation(_Node):
    """One of `parts`, the left one preferred; two or more, a part may be `Empty`."""

    parts: tuple[RowPattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Permutation(_Node):
    """All orders of `parts`, preferred in lexicographic order of the arguments."""

    parts: tuple[RowPattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Quantified(_Node):
    """`part` between `minimum` and `maximum` times; `maximum` None means without end."""

    part: RowPattern
    minimum: int
    maximum: int | None
    greedy: bool = True
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Exclusion(_Node):
    """``{- part -}``: matched, and left out of ALL ROWS output."""

    part: RowPattern
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Anchor(_Node):
    """``^`` before the first row of the partition, ``$`` behind its last row."""

    kind: Literal["start", "end"]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Empty(_Node):
    """``()``: no row."""

    span: Span = field(default=NOWHERE, compare=False)


RowPattern: TypeAlias = Label | Concatenation | Alternation | Permutation | Quantified | Exclusion | Anchor | Empty


def parts_of(pattern: RowPattern) -> tuple[RowPattern, ...]:
    """Return the direct sub-patterns of a node."""
    match pattern:
        case Concatenation(parts) | Alternation(parts) | Permutation(parts):
            return parts
        case Quantified(part) | Exclusion(part):
            return (part,)
        case Label() | Anchor() | Empty():
            return ()


def walk(pattern: RowPattern) -> Iterator[RowPattern]:
    """Yield `pattern` and everything below it, in text order."""
    pending = [pattern]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(parts_of(node)))


def may_be_empty(pattern: RowPattern) -> bool:
    """Tell whether a match may hold no row."""
    match pattern:
        case Label():
            return False
        case Anchor() | Empty():
            return True
        case Quantified(part, minimum):
            return minimum == 0 or may_be_empty(part)
        case Alternation(parts):
            return any(map(may_be_empty, parts))
    return all(map(may_be_empty, parts_of(pattern)))


def variables_of(pattern: RowPattern) -> tuple[str, ...]:
    """Return the primary variables in order of first appearance."""
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, Label)))


def name_text(name: str) -> str:
    """Return the text of a variable's name in normal form, quoted if it would not read back as it is.

    >>> name_text("A"), name_text("a b"), name_text("PERMUTE")
    ('A', '"a b"', '"PERMUTE"')
    """
    if _PLAIN_NAME.fullmatch(name) and name == name.upper() and name not in _PRINTED_QUOTED:
        return name
    return quoted_text(name)


def quoted_text(name: str) -> str:
    """Return the quoted spelling of a name."""
    if "\\" in name:
        return "`" + name.replace("`", "``") + "`"
    return '"' + name.replace('"', '""') + '"'


def pattern_text(pattern: RowPattern) -> str:
    """Return the shortest usual spelling of a pattern: it parses back to an equal tree."""
    match pattern:
        case Label(name):
            return name_text(name)
        case Concatenation(parts):
            return " ".join(_bracketed(part, Alternation, Concatenation) for part in parts)
        case Alternation(parts):
            return " | ".join(_bracketed(part, Alternation) for part in parts)
        case Permutation(parts):
            return "PERMUTE(" + ", ".join(map(pattern_text, parts)) + ")"
        case Quantified(part, minimum, maximum, greedy):
            inner = _bracketed(part, Alternation, Concatenation, Quantified)
            return inner + quantifier_text(minimum, maximum) + ("" if greedy else "?")
        case Exclusion(part):
            return "{- " + pattern_text(part) + " -}"
        case Anchor(kind):
            return "^" if kind == "start" else "$"
        case Empty():
            return "()"


def _bracketed(part: RowPattern, *kinds: type[RowPattern]) -> str:
    text = pattern_text(part)
    return f"({text})" if isinstance(part, kinds) else text


def quantifier_text(minimum: int, maximum: int | None) -> str:
    """Return the shortest spelling of bounds.

    >>> quantifier_text(0, None), quantifier_text(2, 2), quantifier_text(2, None)
    ('*', '{2}', '{2,}')
    """
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((minimum, maximum))
    if short is not None:
        return short
    if maximum is None:
        return f"{{{minimum},}}"
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"
