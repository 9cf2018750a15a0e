"""Whether an event can be taken by one variable of a pattern only, as far as its row conditions tell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from sparkcep.logical.event_bound import EventTest, LogicalEvents
from sparkcep.logical.exclusive import exclusive


def variables_exclude_each_other(events: LogicalEvents) -> bool:
    """Tell whether no event satisfies the row conditions of two variables, negated ones among them.

    Types mostly do: an event whose ``kind`` is 'a' is none whose ``kind`` is 'b'. Where nothing can be told,
    they do not.
    """
    texts: dict[int, list[list[str]]] = {}
    for variable, test in _tests(events):
        texts.setdefault(variable, []).append(_texts(events, test))
    pairs = (pair for left, right in combinations(texts.values(), 2) for pair in product(left, right))
    return all(any(exclusive(*both) for both in product(one, other)) for one, other in pairs)


def _tests(events: LogicalEvents) -> Iterator[tuple[int, EventTest]]:
    for order in events.orders:
        for component in order.components:
            yield component.variable, component.begin
        for gap in order.gaps:
            yield gap.variable, gap.witness


def _texts(events: LogicalEvents, test: EventTest) -> list[str]:
    conditions = (events.match.conditions[bit].row_only for bit in test.bits)
    return [row_only.text for row_only in conditions if row_only is not None]
