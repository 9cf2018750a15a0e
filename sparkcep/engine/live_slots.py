"""Which of its values a run in a state can still need: the masks of Agrawal et al. 2008, section 5.2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparkcep.engine import event_code as codes
from sparkcep.engine.event_slots import EventCode, RunSlot
from sparkcep.engine.matches import Int64s
from sparkcep.engine.order_states import OrderEdge

if TYPE_CHECKING:
    from sparkcep.logical.event_bound import EventOrder


@dataclass(frozen=True, slots=True)
class LiveSlots:
    """What the search for live slots needs of a compiled pattern.

    Attributes
    ----------
    states, place
        Order and components of each state, and where a state stands.
    first_of
        First component of each order.
    updates, ranges
        See `sparkcep.engine.event_tables`.
    taken, origin, edge
        Which slot holds what a component, a component's first or later event, or a negation asks for.
    """

    orders: Sequence[EventOrder]
    states: Sequence[tuple[int, frozenset[int]]]
    first_of: Mapping[int, int]
    place: Mapping[tuple[int, frozenset[int]], int]
    code: EventCode
    strict_time: bool
    updates: Int64s
    ranges: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    taken: Callable[[int], RunSlot]
    origin: Callable[[int, bool], RunSlot]
    edge: Callable[[int], RunSlot]

    def by_state(self, by_state: list[list[tuple[int, OrderEdge]]]) -> list[set[int]]:
        """Return per state the slots that can still be read: the masks of the paper's section 5.2."""
        live: list[set[int]] = [set() for _ in self.states]
        changed = True
        while changed:
            changed = False
            for s in range(len(self.states) - 1, -1, -1):
                found = set(self._until_reads(s))
                for o, edge in by_state[s]:
                    found |= self._edge_needs(o, edge, live)
                changed = changed or found != live[s]
                live[s] = found
        return live

    def _until_reads(self, s: int) -> Iterable[int]:
        o, config = self.states[s]
        for k in config:
            until = self.orders[o].components[k].until
            if until is not None and until.slots is not None:
                yield from self.code.reads[self.code.condition(until.slots)]

    def _edge_needs(self, o: int, edge: OrderEdge, live: list[set[int]]) -> set[int]:
        c = self.first_of[o] + edge.component
        component = self.orders[o].components[edge.component]
        test = component.take if edge.takes else component.begin
        needs = set(self.code.reads[self.code.condition(test.slots)] if test.slots is not None else ())
        needs |= {self.code.slots[self.edge(g)] for g in edge.gaps}
        if component.within is not None:
            needs.add(self.code.slots[self.origin(c, edge.takes)])
        if self.strict_time:
            needs.add(self.code.slots[RunSlot("origin", -1)])
        taken = self.code.slots.get(self.taken(c)) if component.is_loop else None
        if edge.takes and taken is not None:
            needs.add(taken)
        later = set(live[self.place[o, edge.target]])
        if component.leave is not None:
            later |= self.code.reads[self.code.condition(component.leave)]
        first, last = self.ranges[c, 2:] if edge.takes else self.ranges[c, :2]
        return needs | self._before(self.updates[first:last], later)

    def _before(self, updates: Int64s, later: set[int]) -> set[int]:
        """Return the slots that must be known before some updates, so that `later` ones are known behind them."""
        found = set(later)
        for op, slot, column, count in updates[::-1, :4].tolist():
            if op in (codes.SET_INT, codes.SET_FLOAT, codes.SET_POSITION, codes.SET_ONE):
                found.discard(slot)
            elif op == codes.COPY_POSITION and slot in found:
                found = found - {slot} | {column}
            elif slot in found and op in (codes.SUM_INT, codes.SUM_FLOAT, codes.MEAN_INT, codes.MEAN_FLOAT):
                found.add(count)
        return found
