"""What goes into the matcher of event patterns and what comes out.

Events are numbered from 0 in the order in which they are pushed, over all groups of a Spark
partition: these numbers are their identity in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from sparkcep.engine.matches import Bools, Float64s, Int32s, Int64s, UInt64s

if TYPE_CHECKING:
    from sparkcep.engine.closed_graph import ClosedGraph
    from sparkcep.syntax.clause import Within

ALL, NON_OVERLAPPING, ONE_PER_START, COUNT, GRAPH = range(5)


@dataclass(slots=True)
class EventRows:
    """The next events, as kernels see them.

    Attributes
    ----------
    starts : int64[s]
        Indexes, ascending, of the rows (of this push) at which a group starts.
    conditions : uint64[words, n]
        Bit ``c % 64`` of word ``c // 64``: the row satisfies row condition c.
    order : int64[n] | float64[n] | None
        Values of the first order column; needed with windows of time and strict_time.
    classes : int64[n]
        Code of the ``[key]`` value, the same for equal values of a group over all pushes; −1 where
        a part of it is NULL; all 0 without keys.
    integers, integer_nulls, floats, float_nulls
        Operand columns, as in `sparkcep.engine.matches.Rows`.
    complete
        Whether the last group ends with these rows.
    """

    starts: Int64s
    conditions: UInt64s
    order: Int64s | Float64s | None
    classes: Int64s
    integers: Int64s
    integer_nulls: Bools
    floats: Float64s
    float_nulls: Bools
    complete: bool

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.conditions.shape[1])

    def joined(self, rows: EventRows) -> EventRows:
        """Return these rows and `rows` behind them; groups start where `rows` say."""
        order = None if rows.order is None or self.order is None else np.concatenate([self.order, rows.order])
        return EventRows(
            rows.starts,
            np.concatenate([self.conditions, rows.conditions], axis=1),
            order,
            np.concatenate([self.classes, rows.classes]),
            np.concatenate([self.integers, rows.integers], axis=1),
            np.concatenate([self.integer_nulls, rows.integer_nulls], axis=1),
            np.concatenate([self.floats, rows.floats], axis=1),
            np.concatenate([self.float_nulls, rows.float_nulls], axis=1),
            rows.complete,
        )

    def behind(self, first: int) -> EventRows:
        """Copy the rows from `first` on, so that those before are let go."""
        return EventRows(
            np.empty(0, np.int64),
            self.conditions[:, first:].copy(),
            None if self.order is None else self.order[first:].copy(),
            self.classes[first:].copy(),
            self.integers[:, first:].copy(),
            self.integer_nulls[:, first:].copy(),
            self.floats[:, first:].copy(),
            self.float_nulls[:, first:].copy(),
            False,
        )


@dataclass(frozen=True, slots=True)
class EventGraph:
    """The matches that one event completes, uncounted and unlisted.

    Attributes
    ----------
    closing
        Number of the event.
    count
        How many matches there are.
    graph
        Its rows are numbers of events, its components variables.
    """

    closing: int
    count: int
    graph: ClosedGraph


def _rows() -> Int64s:
    return np.empty(0, np.int64)


def _labels() -> Int32s:
    return np.empty(0, np.int32)


def _flags() -> Bools:
    return np.empty(0, np.bool_)


@dataclass(slots=True, kw_only=True)
class EventMatches:
    """Matches in the order they are numbered, groups one after the other; or what stands for them.

    Attributes
    ----------
    offsets : int64[m + 1]
        Events of match i are at ``offsets[i]:offsets[i + 1]``, ascending.
    position : int64[e]
        Number of the event.
    variable : int32[e]
        Index of the variable that took it.
    number : int64[m]
        match_number within the group.
    time : int64[m] | float64[m] | None
        Order value at which the match was decided; None if its last event always decides.
    timed : bool[m]
        Where a closing window decided.
    never : bool[m]
        Where that window closes behind the data, at no known time.
    waiting : int32[m]
        With time-outs: the variable that a partial match waited for, −1 for a match; else empty.
    counts
        With COUNT: (number of an event of the group, count) per group that ended and has a match.
    graphs
        With GRAPH: one per event that completes a match.
    needed_from
        Events before this one will never be named again, but for those in `also_needed`.
    also_needed : int64[k]
    """

    offsets: Int64s = field(default_factory=lambda: np.zeros(1, np.int64))
    position: Int64s = field(default_factory=_rows)
    variable: Int32s = field(default_factory=_labels)
    number: Int64s = field(default_factory=_rows)
    time: Int64s | Float64s | None = None
    timed: Bools = field(default_factory=_flags)
    never: Bools = field(default_factory=_flags)
    waiting: Int32s = field(default_factory=_labels)
    counts: list[tuple[int, int]] = field(default_factory=list)
    graphs: list[EventGraph] = field(default_factory=list)
    needed_from: int = 0
    also_needed: Int64s = field(default_factory=_rows)

    @property
    def count(self) -> int:
        """The number of matches."""
        return len(self.number)


def joined_matches(parts: Sequence[EventMatches]) -> EventMatches:
    """Return the results of all parts, one behind the other; nothing is said of what is needed."""
    if not parts:
        return EventMatches()
    sizes = np.cumsum([0, *(len(part.position) for part in parts)])
    times = [part.time for part in parts if part.time is not None]
    return EventMatches(
        offsets=np.concatenate(
            [np.zeros(1, np.int64), *(part.offsets[1:] + size for part, size in zip(parts, sizes, strict=False))]
        ),
        position=np.concatenate([part.position for part in parts]),
        variable=np.concatenate([part.variable for part in parts]),
        number=np.concatenate([part.number for part in parts]),
        time=np.concatenate(times) if times else None,  # type: ignore[arg-type]
        timed=np.concatenate([part.timed for part in parts]),
        never=np.concatenate([part.never for part in parts]),
        waiting=np.concatenate(
            [part.waiting if len(part.waiting) else np.full(part.count, -1, np.int32) for part in parts]
        ),
        counts=[count for part in parts for count in part.counts],
        graphs=[graph for part in parts for graph in part.graphs],
    )


@dataclass(frozen=True, slots=True)
class EventSearch:
    """What is looked for, besides the pattern.

    Attributes
    ----------
    output
        ALL, NON_OVERLAPPING, ONE_PER_START, COUNT or GRAPH.
    strict_time
        Whether the events of a match must have different, ascending order values.
    merge_runs
        Whether equal runs are merged.
    max_partial_matches
        Budget of live runs per group.
    limit
        How many matches per group at most, the first ones; None for all.
    sample, seed
        How many matches per group to draw (int), or the chance of each (float), with ALL; None for all.
    timeouts
        Whether partial matches whose window closed are put out too.
    """

    output: int = ALL
    strict_time: bool = False
    merge_runs: bool = True
    max_partial_matches: int = 10_000_000
    limit: int | None = None
    sample: int | float | None = None
    seed: int = 0
    timeouts: bool = False


@dataclass(eq=False)
class BudgetExceeded(Exception):
    """More live runs than allowed: `count` of them at event `position`, most of them waiting behind `variable`."""

    position: int
    count: int
    variable: int


@dataclass(frozen=True, slots=True)
class EventWindow:
    """A window in units of the order values.

    Attributes
    ----------
    kind
        "whole" and "float": distance of order values; "events": distance of ordinals in the class, so
        one less than the number of events.
    amount
        Largest distance allowed; for whole numbers an excluded edge has been taken off.
    inclusive
        Whether exactly `amount` is allowed (matters for "float" only).
    length
        From an event to the moment its window closes, edge or not.
    """

    kind: Literal["whole", "float", "events"]
    amount: int | float
    inclusive: bool
    length: int | float


@dataclass(frozen=True, slots=True)
class TimeUnits:
    """How the order values of the first order column count.

    Attributes
    ----------
    whole
        Whether they are whole numbers (dates, timestamps, decimals among them), not doubles.
    per_unit
        How many of them make one unit of a window's amount: 1 for timestamps (windows come in
        microseconds), 1/86,400,000,000 for dates, 10^scale for decimals.
    """

    whole: bool = True
    per_unit: Fraction = Fraction(1)

    def window(self, within: Within) -> EventWindow:
        """Return a window in units of the order values."""
        if within.unit == "events":
            span = int(within.amount) - 1 - (not within.inclusive)
            return EventWindow("events", span, True, span)
        amount = Fraction(str(within.amount)) * self.per_unit
        if not self.whole:
            return EventWindow("float", float(amount), within.inclusive, float(amount))
        whole = amount.numerator // amount.denominator
        return EventWindow("whole", whole - (amount.denominator == 1 and not within.inclusive), True, whole)
