"""The tree of a row pattern: frozen nodes with the standard's names and source spans.

A variable's `name` is in normal form: unquoted names are folded to upper case, quoted
names stay as written. ``str(node)`` prints text that parses back to an equal tree.
Spans do not take part in equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkcep.errors import Span

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Label:
    """One row of a primary variable."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Concatenation:
    """`parts` one after the other; two or more."""

    parts: tuple[RowPattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of `parts`, the left one preferred; two or more, a part may be `Empty`."""

    parts: tuple[RowPattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Permutation:
    """All orders of `parts`, preferred in lexicographic order of the arguments."""

    parts: tuple[RowPattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Quantified:
    """`part` between `minimum` and `maximum` times; `maximum` None means without end."""

    part: RowPattern
    minimum: int
    maximum: int | None
    greedy: bool = True
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """``{- part -}``: matched, and left out of ALL ROWS output."""

    part: RowPattern
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Anchor:
    """``^`` before the first row of the partition, ``$`` behind its last row."""

    kind: Literal["start", "end"]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Empty:
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


def variables_of(pattern: RowPattern) -> tuple[str, ...]:
    """Return the primary variables in order of first appearance."""
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, Label)))
