"""Which rows need not be matched because a rare event that every match needs is not near them (semi-join)."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.errors import PlanError
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.relevant_rows import relevant_conditions
from sparkcep.planning.lazy import named_statistics
from sparkcep.planning.plans import AUTO, NEVER, Options
from sparkcep.planning.statistics import Statistics

# The input is read twice then, so it has to lose most of its rows; and those of the rare one are broadcast.
MOST_PRESENT = 0.05
# Events in the stretches of time before and behind the one of a rare event stay, too.
STRETCHES = 3


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """Keeps the rows that some event of a variable is near.

    Attributes
    ----------
    label
        The variable.
    bits
        Row conditions that tell its events.
    by_class
        Whether the event must be of the same ``[key]`` too, not only of the same partition.
    by_time
        Whether it must be within a window's length or two, where nothing else tells what is near.
    """

    label: str
    bits: tuple[int, ...]
    by_class: bool
    by_time: bool

    @property
    def text(self) -> str:
        """What happens, in words."""
        near = "at about its time" if self.by_time else "of its partition" + (" and class" if self.by_class else "")
        return f"Only rows {near} are matched that hold an event of {self.label} (semi-join before the shuffle)"


def choose_semi_join(events: LogicalEvents, options: Options) -> SemiJoin | None:
    """Return the semi-join that pays, or the one the options name; None for none.

    Legal for variables that every match binds: a partition without an event of theirs has no match.
    Rows of a partition may be dropped only where rows may be dropped at all (semantics, legal plans).

    Raises
    ------
    PlanError
        ILLEGAL_PLAN: the options name a variable that cannot serve, with the reason.
    """
    if options.semi_join == NEVER:
        return None
    found, reason = _possible(events)
    if options.semi_join == AUTO:
        return _rarest(found, named_statistics(options.stats or Statistics(), events))
    labels = [variable.label for variable in events.variables]
    wanted = next((label for label in labels if label.lower() == options.semi_join.lower()), None)
    chosen = found.get(wanted or "")
    if chosen is None:
        told = reason or ("not every match binds it" if wanted is not None else "the pattern has no such variable")
        raise PlanError(
            "ILLEGAL_PLAN",
            f"no semi-join by '{options.semi_join}': {told}",
            clause="options",
            found=options.semi_join,
            allowed=[AUTO, NEVER, *found],
        )
    return chosen


def _possible(events: LogicalEvents) -> tuple[dict[str, SemiJoin], str | None]:
    """Return semi-joins by variable, or why there is none."""
    if events.waiting is not None:
        return {}, "partial matches that time out hold events without it"
    if any(order.following is not None for order in events.orders):
        return {}, "a group repeats without end"
    droppable = relevant_conditions(events) is not None
    by_class = droppable and bool(events.keys)
    by_time = not events.match.partition_by and not by_class
    if by_time:
        reason = _undated(events, droppable=droppable)
        if reason is not None:
            return {}, reason
    labels = [variable.label for variable in events.variables]
    required = {labels[v]: bits for v, bits in _required(events).items()}
    return {label: SemiJoin(label, bits, by_class, by_time) for label, bits in required.items()}, None


def _undated(events: LogicalEvents, *, droppable: bool) -> str | None:
    """Return why time does not tell which rows are near an event."""
    if not droppable:
        return "all rows of the one partition may count"
    if events.within is None or events.within.unit == "events":
        return "there is neither a key nor a window of time that tells what is near"
    if any(gap.within is not None for order in events.orders for gap in order.gaps):
        return "a negation has a window of its own"
    return None


def _required(events: LogicalEvents) -> dict[int, tuple[int, ...]]:
    """Return the variables that every match binds and that row conditions tell, with those."""
    found: dict[int, set[int]] | None = None
    for order in events.orders:
        asked = {component.variable: set(component.begin.bits) for component in order.components}
        found = asked if found is None else {v: bits & asked[v] for v, bits in found.items() if v in asked}
    conditions = events.match.conditions
    told = {v: {bit for bit in bits if conditions[bit].row_only is not None} for v, bits in (found or {}).items()}
    return {v: tuple(sorted(bits)) for v, bits in told.items() if bits}


def _rarest(found: dict[str, SemiJoin], statistics: Statistics) -> SemiJoin | None:
    """Return the semi-join that keeps the fewest rows, if they are few."""
    shares = {}
    for label, semi_join in found.items():
        if semi_join.by_time and label in statistics.rates:
            shares[label] = STRETCHES * statistics.rates[label]
        elif not semi_join.by_time and label in statistics.presence:
            shares[label] = statistics.presence[label]
    best = min(shares, key=lambda label: shares[label], default=None)
    return found[best] if best is not None and shares[best] <= MOST_PRESENT else None
