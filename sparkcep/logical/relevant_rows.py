"""Which rows an event pattern can do without: they need not be shuffled, sorted or matched."""

from __future__ import annotations

from collections.abc import Iterator

from sparkcep.logical.event_bound import EventOrder, EventTest, LogicalEvents

_PASSING = ("skip_till_next_match", "skip_till_any_match")


def relevant_conditions(events: LogicalEvents) -> tuple[tuple[int, ...], ...] | None:
    """Return sets of row conditions: a row that satisfies none of the sets takes part in nothing.

    Legal where every component passes over such rows, and where no window counts rows (semantics,
    legal plans): an event is then taken, forbids a match, ends a loop, or might as well not exist.

    Returns
    -------
    tuple of tuple of int | None
        Indexes into ``LogicalMatch.conditions``, the smallest sets only; None where any row may count.
    """
    components = [component for order in events.orders for component in order.components]
    if any(component.strategy not in _PASSING for component in components):
        return None
    if any(within.unit == "events" for _, within in events.windows):
        return None
    conditions = events.match.conditions
    asked = {
        frozenset(bit for bit in test.bits if (row := conditions[bit].row_only) is not None and not row.numbered)
        for order in events.orders
        for test in _tests(order)
    }
    if frozenset() in asked:
        return None
    smallest = [bits for bits in asked if not any(other < bits for other in asked)]
    return tuple(sorted(tuple(sorted(bits)) for bits in smallest))


def _tests(order: EventOrder) -> Iterator[EventTest]:
    for component in order.components:
        yield component.begin
        if component.is_loop:
            yield component.take
        if component.until is not None:
            yield component.until
    for gap in order.gaps:
        yield gap.witness
