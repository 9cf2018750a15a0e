"""The tree of a MATCH_RECOGNIZE clause, whether it came as SQL text or from arguments.

Expressions stay in the user's own words (`Fragment`): Spark, not we, will read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkcep.errors import Span
from sparkcep.syntax.pattern import NOWHERE, RowPattern


@dataclass(frozen=True, slots=True)
class Fragment:
    """An expression in the user's words, with its place in the source it was cut from."""

    text: str
    span: Span = field(default=NOWHERE, compare=False)
    source: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Measure:
    """``expression AS name`` of MEASURES. `name` as written (unquoted names keep their case)."""

    name: str
    expression: Fragment
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """``variable AS condition`` of DEFINE. `variable` in normal form (see `syntax.pattern`)."""

    variable: str
    condition: Fragment
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Subset:
    """``name = (members)`` of SUBSET, all names in normal form; `source` is the text that spans speak of."""

    name: str
    members: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False)
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)
    member_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    source: str | None = field(default=None, compare=False, repr=False)


RowsPerMatch: TypeAlias = Literal["one", "all", "all omit empty", "all with unmatched"]
SkipMode: TypeAlias = Literal["past last row", "to next row", "to first", "to last"]


@dataclass(frozen=True, slots=True)
class AfterMatch:
    """Where the search goes on: `target` (normal form) only with "to first" and "to last".

    `source` is the text that spans speak of.
    """

    mode: SkipMode = "past last row"
    target: str | None = None
    span: Span = field(default=NOWHERE, compare=False)
    target_span: Span = field(default=NOWHERE, compare=False, repr=False)
    source: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Within:
    """``WITHIN``: the furthest distance between the first and the last row of a match.

    Attributes
    ----------
    unit
        "interval": `amount` in microseconds, for dates and timestamps.
        "number": `amount` in units of the first order column, as decimal text.
        "events": `amount` rows, the first and the last one counted.
    inclusive
        Whether a match of exactly `amount` is one.
    stated
        Whether the text says so itself, with INCLUSIVE or EXCLUSIVE.
    """

    unit: Literal["interval", "number", "events"]
    amount: int | str
    inclusive: bool = True
    span: Span = field(default=NOWHERE, compare=False)
    stated: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MatchRecognize:
    """A whole clause. `order_by` fragments carry their direction: ``ts DESC NULLS LAST``.

    Where the clause was read from text, `source` is that text, `opener` the place of its first word
    and `rows_span` the place of the rows per match.
    """

    pattern: RowPattern
    partition_by: tuple[Fragment, ...] = ()
    order_by: tuple[Fragment, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows_per_match: RowsPerMatch = "one"
    after_match: AfterMatch = AfterMatch()
    subsets: tuple[Subset, ...] = ()
    within: Within | None = None
    definitions: tuple[Definition, ...] = ()
    source: str | None = field(default=None, compare=False, repr=False)
    opener: Span = field(default=NOWHERE, compare=False, repr=False)
    rows_span: Span = field(default=NOWHERE, compare=False, repr=False)
