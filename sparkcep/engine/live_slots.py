"""Which of its values a run in a state can still need: the masks of Agrawal et al. 2008, section 5.2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparkcep.engine import event_code as codes
from sparkcep.engine.event_slots import EventCode, RunSlot
from sparkcep.engine.matches import Int64s

if TYPE_CHECKING:
    from sparkcep.logical.event_bound import EventOrder


@dataclass(frozen=True, slots=True)
class OrderEdge:
    """An edge out of a state of one order.

    Attributes
    ----------
    component, takes, target
        Local component, whether it takes a later event of a loop, the local components behind it.
    leaves
        Local components, as bits, that are left.
    gaps
        Quick negations that end before it.
    """

    component: int
    takes: bool
    target: frozenset[int]
    leaves: int
    gaps: tuple[int, ...]


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
    """

    orders: Sequence[EventOrder]
    states: Sequence[tuple[int, frozenset[int]]]
    first_of: Mapping[int, int]
    place: Mapping[tuple[int, frozenset[int]], int]
    code: EventCode
    strict_time: bool
    updates: Int64s
    ranges: np.ndarray[tuple[int, int], np.dtype[np.int32]]

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
        needs |= {self.code.slots[RunSlot("edge", g)] for g in edge.gaps}
        if component.within is not None:
            needs.add(self.code.slots[RunSlot("origin", c)])
        if self.strict_time:
            needs.add(self.code.slots[RunSlot("origin", -1)])
        if edge.takes and RunSlot("taken", c) in self.code.slots:
            needs.add(self.code.slots[RunSlot("taken", c)])
        later = set(live[self.place[o, edge.target]])
        if component.leave is not None:
            later |= self.code.reads[self.code.condition(component.leave)]
        first, last = self.ranges[c, 2:] if edge.takes else self.ranges[c, :2]
        for row in self.updates[first:last]:
            if row[0] in (codes.SET_INT, codes.SET_FLOAT, codes.SET_POSITION):
                later.discard(int(row[1]))
            elif int(row[1]) in later and row[0] in (codes.SUM_INT, codes.SUM_FLOAT, codes.MEAN_INT, codes.MEAN_FLOAT):
                later.add(int(row[3]))
        return needs | later
