"""One huge partition in slices of time that are matched in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sparkcep.errors import PlanError
from sparkcep.logical.bound import Condition, LogicalMatch, RowCondition
from sparkcep.logical.event_bound import EventComponent, EventOrder, LogicalEvents
from sparkcep.logical.outputs import Gathered, Numbered, Output
from sparkcep.logical.slots import ALL_ROWS
from sparkcep.planning.plans import AUTO, NEVER, Options

FirstOrLast: TypeAlias = Literal["first", "last"]

# A slice is so many windows long: rows of the window behind it are matched twice.
WINDOWS_PER_SLICE = 32
# Below that share of the rows the largest partition keeps no core from its work for long.
LARGE_SHARE = 0.25
# Where candidates are chosen among behind the slices, slices are some three times the work of the whole partition,
# whose one task keeps two cores busy: Spark's and that of its Python worker. Measured on two cores they took from a
# fifth less to three times as long.
TASKS_THAT_PAY = 4
NO_WINDOW = "no window of time bounds a match"
APART = "non_overlapping"
HIDDEN_ORDER = "nobody can look into a sort order made of a Column"


@dataclass(frozen=True, slots=True)
class Slices:
    """Cuts partitions into slices of time, each with the rows of one window behind it.

    Attributes
    ----------
    windows
        How many windows a slice is long.
    number, own, place
        Hidden columns: the number of the slice; whether a row lies in it, not behind it; and what tells rows
        with equal order values apart, the same in all slices.
    end
        What the names of columns begin with that tell where a match begins and ends.
    """

    windows: int
    number: str
    own: str
    place: str
    end: str

    @property
    def text(self) -> str:
        """What happens, in words."""
        return (
            f"Partitions are cut into slices of {self.windows} windows, matched in parallel; "
            "each match belongs to the slice it begins in"
        )

    @property
    def end_slice(self) -> str:
        """The column that tells the slice of a match."""
        return f"{self.end}_slice"

    def places(self, orders: int, end: FirstOrLast) -> list[str]:
        """Return the columns that tell of an end of a match: what rows are ordered by, and its place among ties."""
        return [f"{self.end}{number}_{end}" for number in range(orders + 1)]

    def classes(self, keys: int) -> list[str]:
        """Return the columns that tell the class of a match."""
        return [f"{self.end}_class{number}" for number in range(keys)]

    def told(self, orders: Sequence[str], end: FirstOrLast) -> list[Output]:
        """Return what tells where a match begins, or ends; `orders` are the order columns."""
        columns = zip(self.places(len(orders), end), (*orders, self.place), strict=True)
        return [Gathered(name, column, ALL_ROWS, end, final=True) for name, column in columns]


def choose_slices(
    events: LogicalEvents,
    options: Options,
    matches: str,
    tasks_at_once: Callable[[], int],
    *,
    sampled: bool,
    observed: bool,
    orders_by_column: bool,
) -> Slices | None:
    """Return how partitions are cut, None where they stay whole.

    Parameters
    ----------
    matches
        The caller's ``matches=``.
    tasks_at_once
        How many tasks behind a shuffle run at once; asked if that decides.
    sampled
        Whether matches are to be drawn.
    observed
        Whether somebody observes the match.
    orders_by_column
        Whether a sort order was given as a Column.

    Raises
    ------
    PlanError
        ILLEGAL_PLAN: the options ask for slices of a pattern whose matches need the partition as a whole.
    """
    reason = slice_obstacle(events, matches, orders_by_column=orders_by_column)
    if reason is None and sampled:
        reason = "a sample is drawn from all matches of a partition"
    apart = matches == APART
    if reason is None and observed and apart:
        reason = "observe= counts the matches of whole partitions"
    return slices_unless(reason, events.match, options, lambda: not apart or tasks_at_once() >= TASKS_THAT_PAY)


def slices_unless(reason: str | None, match: LogicalMatch, options: Options, pay: Callable[[], bool]) -> Slices | None:
    """Return how the options want partitions cut, None where they stay whole.

    Parameters
    ----------
    reason
        Why they may not be cut, None if they may.
    pay
        Whether cutting a large partition pays; asked if the options leave it open.

    Raises
    ------
    PlanError
        ILLEGAL_PLAN: the options ask for slices, and there is a reason against them.
    """
    if options.slices == NEVER:
        return None
    prefix = match.prefix
    windows = WINDOWS_PER_SLICE if options.slices == AUTO else int(options.slices)
    slices = Slices(windows, f"{prefix}_slice", f"{prefix}_own", f"{prefix}_place", f"{prefix}_end")
    if options.slices == AUTO:
        largest = options.stats.largest if options.stats is not None else None
        is_large = largest > LARGE_SHARE if largest is not None else not match.partition_by
        return slices if reason is None and is_large and pay() else None
    if reason is not None:
        raise PlanError(
            "ILLEGAL_PLAN",
            f"the partitions of this pattern cannot be cut into slices: {reason}",
            clause="options",
            found=f"slices={options.slices!r}",
            allowed=[AUTO, NEVER],
        )
    return slices


def slice_obstacle(events: LogicalEvents, matches: str, *, orders_by_column: bool) -> str | None:
    """Return why partitions may not be cut into slices, None if they may."""
    if events.within is None or events.within.unit == "events":
        return NO_WINDOW
    if any(within.unit == "events" for _, within in events.windows):
        return "a window counts events"
    if orders_by_column:
        return HIDDEN_ORDER
    if matches == "graph":
        return "a graph holds the matches of a whole partition"
    if events.waiting is not None:
        return "partial matches that time out would come twice"
    if not all(order.is_sequential for order in events.orders):
        return "parts of AND interleave, so that any of them may be first"
    if any(not gap.before or not gap.after or gap.within is not None for order in events.orders for gap in order.gaps):
        return "a closing window decides about a negation"
    return None


def sliced(
    events: LogicalEvents, slices: Slices, orders: tuple[str, ...], *, numbered: bool, apart: bool
) -> LogicalEvents:
    """Return a pattern whose matches begin in their slice.

    Workers are sent no column more than somebody asks for.

    Parameters
    ----------
    orders
        The order columns: matches are numbered by where they end, over all slices.
    numbered
        Whether matches must have numbers even if no measure reads them.
    apart
        Whether matches that do not overlap are chosen from those of all slices: they tell their classes, too.
    """
    match = events.match
    bit = len(match.conditions)
    own = Condition("slice", "the row lies in its slice", RowCondition(slices.own, numbered=True, mentions=()))
    added: list[Output] = []
    if (numbered or apart) and not is_numbered(match):
        added.append(Numbered(f"{match.prefix}_number"))
    if numbered or apart or is_numbered(match):
        added.append(Gathered(slices.end_slice, slices.number, ALL_ROWS, "last", final=True))
        added += slices.told(orders, "last")
    if apart:
        added += slices.told(orders, "first")
        classes = zip(slices.classes(len(events.keys)), events.keys, strict=True)
        added += [Gathered(name, key, ALL_ROWS, "first", final=True) for name, key in classes]
    return replace(
        events,
        match=replace(match, conditions=(*match.conditions, own), outputs=(*match.outputs, *added)),
        orders=tuple(_beginning(order, bit) for order in events.orders),
    )


def is_numbered(match: LogicalMatch) -> bool:
    """Return whether a measure reads the numbers of matches."""
    return any(isinstance(output, Numbered) for output in match.outputs)


def _beginning(order: EventOrder, bit: int) -> EventOrder:
    components = [_asking(c, bit) if k in order.first else c for k, c in enumerate(order.components)]
    return replace(order, components=tuple(components))


def _asking(component: EventComponent, bit: int) -> EventComponent:
    return replace(component, begin=replace(component.begin, bits=(*component.begin.bits, bit)))
