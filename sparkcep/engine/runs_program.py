"""Compiles bound event patterns for the `runs` engine: states, edges, tests, what a run remembers.

The automaton is NFA^b (Agrawal et al. 2008), with two changes. A state is what has taken an
event (`sparkcep.engine.order_states`); and what a run may do from there on – stay in its loop, wait
for the next component – is a mode of the run, so that no match is found twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparkcep.engine import event_code as codes
from sparkcep.engine.awaited_values import awaited_values
from sparkcep.engine.event_code import ConditionCode
from sparkcep.engine.event_slots import EventCode, RunSlot
from sparkcep.engine.event_tables import (
    ANY,
    ANYWHERE,
    BEFORE,
    BEHIND,
    NEXT,
    PARTITION,
    STRICT,
    Awaited,
    Components,
    Edges,
    Gaps,
    Int8s,
    RunTables,
    States,
    Window,
    Windows,
    no_window,
)
from sparkcep.engine.events import EventSearch, EventWindow
from sparkcep.engine.live_slots import LiveSlots
from sparkcep.engine.matches import Bools, Int64s, UInt64s
from sparkcep.engine.order_states import (
    MAX_STATES,
    OrderEdge,
    edges_of,
    ends_in,
    mask,
    may_repeat,
    states_of,
    too_large,
    waiting,
)
from sparkcep.engine.slot_code import WIDTH, Registers
from sparkcep.engine.slots import Codes, CodeValue, Constant, bound_registers, literals_of, operand_columns

if TYPE_CHECKING:
    from sparkcep.logical.event_bound import EventComponent, EventTest, LogicalEvents
    from sparkcep.logical.slots import Operand
    from sparkcep.syntax.clause import Within

# Whose position a slot holds: the last event, or the one before the current component.
LAST_EVENT, BEFORE_CURRENT = -1, -2
POLICIES = {
    "strict": STRICT,
    "partition_contiguity": PARTITION,
    "skip_till_next_match": NEXT,
    "skip_till_any_match": ANY,
}


@dataclass(frozen=True, slots=True, eq=False)
class RunsProgram:
    """A compiled event pattern; plain data.

    Attributes
    ----------
    tables
        States, edges, components, negations, as kernels read them.
    code, constants, registers
        Register code of all conditions.
    operands
        Operand columns, in the order of the events' columns.
    slots
        Length of a value vector.
    initial_nulls
        The slots that are NULL in a run that has taken nothing.
    positions
        The slots that hold rows.
    may_repeat
        Whether two runs can end in the same match.
    looks_back
        Whether a negation stands at the start, so that rows before a match count.
    """

    search: EventSearch
    tables: RunTables
    code: ConditionCode
    constants: Mapping[int, Constant]
    registers: int
    operands: tuple[Operand, ...]
    slots: int
    initial_nulls: int
    positions: tuple[int, ...]
    may_repeat: bool
    looks_back: bool

    @property
    def literals(self) -> dict[str, set[CodeValue]]:
        """The values, by domain, that need a code besides those of the rows."""
        return literals_of(self.constants)

    def bound(self, codes: Codes) -> Registers:
        """Return registers with the constants, for rows with these codes."""
        return bound_registers(self.constants, self.registers, codes)


def compile_runs(events: LogicalEvents, search: EventSearch, window: Callable[[Within], EventWindow]) -> RunsProgram:
    """Compile a pattern.

    Parameters
    ----------
    events
        The bound pattern.
    search
        What is looked for.
    window
        Turns a window into units of the order values; asked for windows of time and of events.

    Raises
    ------
    PlanError
        PATTERN_TOO_LARGE: more states, components or remembered values than the engine has room for.
    """
    return _Compiler(events, search, window).program()


class _Compiler:
    def __init__(self, events: LogicalEvents, search: EventSearch, window: Callable[[Within], EventWindow]) -> None:
        self.events, self.search, self.window = events, search, window
        self.words = max(1, -(-len(events.match.conditions) // 64))
        self.code = EventCode(events.match.variables, events.operands)
        self.components: list[tuple[int, int]] = [
            (o, k) for o, order in enumerate(events.orders) for k in range(len(order.components))
        ]
        self.first_of = {o: self.components.index((o, 0)) for o in range(len(events.orders))}
        self.gaps = [(o, gap) for o, order in enumerate(events.orders) for gap in order.gaps]
        self.states = [(o, config) for o, order in enumerate(events.orders) for config in states_of(order)]
        if len(self.states) > MAX_STATES:
            raise too_large(f"{len(self.states)} states, more than {MAX_STATES}")
        self.place = {state: s for s, state in enumerate(self.states)}

    def component(self, index: int) -> EventComponent:
        o, k = self.components[index]
        return self.events.orders[o].components[k]

    def program(self) -> RunsProgram:
        """Compile everything: conditions first, since they tell what a run must remember."""
        components = self._components()
        gaps = self._gaps()
        edges, edge_list = self._edges()
        self._structural_slots()
        if len(self.code.slots) > codes.MAX_SLOTS:
            raise too_large(f"conditions read {len(self.code.slots)} values of earlier events, more than 64")
        updates, ranges = self._updates()
        states = self._states(edge_list, updates, ranges)
        lowering = self.code.lowering
        whole = self.events.within
        tables = RunTables(
            states=states,
            awaited=self._awaited(edge_list),
            edges=edges,
            components=components._replace(
                updates=ranges,
                taken=np.array([self._place(self._taken(c)) for c in range(len(self.components))], np.int32),
                origin=np.array(
                    [
                        [self._place(self._origin(c, takes)) for takes in (False, True)]
                        for c in range(len(self.components))
                    ],
                    np.int32,
                ),
            ),
            gaps=gaps._replace(
                edge=np.array([self._place(self._edge(g)) for g in range(len(self.gaps))], np.int32), own=self._own()
            ),
            updates=updates,
            window=no_window() if whole is None else self._window(whole),
            has_until=bool(components.has_until.any()),
            contiguous=any(policy in (STRICT, PARTITION) for policy in components.policy),
            strict_time=self._place(RunSlot("origin", LAST_EVENT)) if self.search.strict_time else -1,
        )
        return RunsProgram(
            search=self.search,
            tables=tables,
            code=ConditionCode(
                np.array(lowering.instructions, np.int64).reshape(-1, WIDTH),
                np.array(self.code.ranges, np.int64).reshape(-1, 3),
            ),
            constants=lowering.constants,
            registers=lowering.registers,
            operands=self.events.operands,
            slots=len(self.code.slots),
            initial_nulls=sum(
                1 << place for slot, place in self.code.slots.items() if slot.kind not in ("count", "taken")
            ),
            positions=tuple(place for slot, place in self.code.slots.items() if slot.kind in ("origin", "edge")),
            looks_back=any(not gap.before for _, gap in self.gaps),
            may_repeat=may_repeat(self.events.orders),
        )

    # -- components, negations, edges ------------------------------------------------------------

    def _bits(self, tests: Iterable[EventTest | None]) -> UInt64s:
        listed = list(tests)
        bits = np.zeros((len(listed), self.words), np.uint64)
        for i, test in enumerate(listed):
            for bit in test.bits if test is not None else ():
                bits[i, bit // 64] |= np.uint64(1 << bit % 64)
        return bits

    def _window(self, within: Within | None) -> Window:
        if within is None:
            return no_window()
        found = self.window(within)
        whole = found.kind != "float"
        return Window(
            {"whole": 1, "float": 2, "events": 3}[found.kind],
            min(int(found.amount), 2**63 - 1) if whole else 0,
            0.0 if whole else float(found.amount),
            found.inclusive,
            min(int(found.length), 2**63 - 1) if whole else 0,
        )

    def _windows(self, listed: Iterable[Within | None]) -> Windows:
        found = [self._window(within) for within in listed]
        return Windows(
            np.array([w.kind for w in found], np.int64),
            np.array([w.whole for w in found], np.int64),
            np.array([w.fraction for w in found], np.float64),
            np.array([w.inclusive for w in found], np.bool_),
            np.array([w.length for w in found], np.int64),
        )

    def _components(self) -> Components:
        listed = [self.component(c) for c in range(len(self.components))]
        return Components(
            variable=np.array([c.variable for c in listed], np.int32),
            local=np.array([0 if self.events.orders[o].is_sequential else k for o, k in self.components], np.int32),
            order=np.array([o for o, _ in self.components], np.int32),
            policy=np.array([POLICIES[c.strategy] for c in listed], np.int8),
            is_loop=np.array([c.is_loop for c in listed], np.bool_),
            least=np.array([c.least for c in listed], np.int64),
            most=np.array([-1 if c.most is None else c.most for c in listed], np.int64),
            leave=np.array([self.code.condition(c.leave) for c in listed], np.int32),
            has_until=np.array([c.until is not None for c in listed], np.bool_),
            until_bits=self._bits(c.until for c in listed),
            until=np.array([self.code.condition(c.until.slots if c.until else None) for c in listed], np.int32),
            windows=self._windows(c.within for c in listed),
            taken=np.empty(0, np.int32),
            origin=np.empty((0, 2), np.int32),
            updates=np.empty((0, 4), np.int32),
        )

    def _gaps(self) -> Gaps:
        listed = [gap for _, gap in self.gaps]
        return Gaps(
            order=np.array([o for o, _ in self.gaps], np.int32),
            quick=np.array([gap.is_decided_by_place for gap in listed], np.bool_),
            bits=self._bits(gap.witness for gap in listed),
            test=np.array([self.code.condition(gap.witness.slots) for gap in listed], np.int32),
            before=self._sides((o, gap.before) for o, gap in self.gaps),
            after=self._sides((o, gap.after) for o, gap in self.gaps),
            leads=np.array([not gap.before for gap in listed], np.bool_),
            trails=np.array([not gap.after for gap in listed], np.bool_),
            is_sequential=np.array([self.events.orders[o].is_sequential for o, _ in self.gaps], np.bool_),
            windows=self._windows(gap.within for gap in listed),
            edge=np.empty(0, np.int32),
            own=np.empty((0, 0), np.int8),
            has_own=np.array([bool(gap.own_before or gap.own_after) for gap in listed], np.bool_),
        )

    def _sides(self, listed: Iterable[tuple[int, frozenset[int]]]) -> Bools:
        """Return sets of components of an order as rows over all components."""
        found = np.zeros((len(self.gaps), len(self.components)), np.bool_)
        for g, (o, members) in enumerate(listed):
            found[g, [self.first_of[o] + k for k in sorted(members)]] = True
        return found

    def _own(self) -> Int8s:
        """Return where the witness of a negation looks for the last event of a variable, by slots."""
        found = np.full((len(self.gaps), len(self.code.slots)), ANYWHERE, np.int8)
        for g, (_, gap) in enumerate(self.gaps):
            for slot, place in self.code.slots.items():
                if slot.kind == "last":
                    found[g, place] = BEFORE if slot.of in gap.own_before else found[g, place]
                    found[g, place] = BEHIND if slot.of in gap.own_after else found[g, place]
        return found

    def _edges_of(self, o: int, state: frozenset[int]) -> list[OrderEdge]:
        quick = {g: gap for g, (gap_order, gap) in enumerate(self.gaps) if gap_order == o and gap.is_decided_by_place}
        return edges_of(self.events.orders[o], state, quick)

    def _edges(self) -> tuple[Edges, list[list[tuple[int, OrderEdge]]]]:
        """Return the edges of all states, and of the start behind them."""
        by_state: list[list[tuple[int, OrderEdge]]] = [
            [(o, edge) for edge in self._edges_of(o, config)] for o, config in self.states
        ]
        by_state.append([(o, edge) for o in range(len(self.events.orders)) for edge in self._edges_of(o, frozenset())])
        flat = [pair for edges in by_state for pair in edges]
        components = [self.first_of[o] + edge.component for o, edge in flat]
        tests = [self._test(c, edge) for c, (_, edge) in zip(components, flat, strict=True)]
        table = Edges(
            offsets=np.cumsum([0, *map(len, by_state)]).astype(np.int32),
            component=np.array(components, np.int32),
            takes=np.array([edge.takes for _, edge in flat], np.bool_),
            target=np.array([self.place[o, edge.target] for o, edge in flat], np.int32),
            bits=self._bits(tests),
            test=np.array([self.code.condition(test.slots) for test in tests], np.int32),
            leaves=np.array([edge.leaves for _, edge in flat], np.int64),
            gap_offsets=np.cumsum([0, *(len(edge.gaps) for _, edge in flat)]).astype(np.int32),
            gaps=np.array([g for _, edge in flat for g in edge.gaps], np.int32),
        )
        return table, by_state

    def _test(self, c: int, edge: OrderEdge) -> EventTest:
        return self.component(c).take if edge.takes else self.component(c).begin

    # -- what a run remembers --------------------------------------------------------------------

    def _structural_slots(self) -> None:
        for c in range(len(self.components)):
            component = self.component(c)
            if component.is_loop and (component.least > 1 or component.most is not None):
                self.code.slot(self._taken(c))
            if component.within is not None:
                self.code.slot(self._origin(c, False))
                if component.is_loop:
                    self.code.slot(self._origin(c, True))
        for g, (_, gap) in enumerate(self.gaps):
            if gap.is_decided_by_place:
                self.code.slot(self._edge(g))
        if self.search.strict_time or RunSlot("origin", BEFORE_CURRENT) in self.code.slots:
            self.code.slot(RunSlot("origin", LAST_EVENT))
        for slot in list(self.code.slots):
            if slot.kind in ("sum", "mean"):
                self.code.slot(RunSlot("count", slot.of, slot.operand))

    def _taken(self, c: int) -> RunSlot:
        """Return the slot that counts events of a loop: in a sequence only one loop is open at a time."""
        sequential = self.events.orders[self.components[c][0]].is_sequential
        return RunSlot("taken", self.component(c).variable if sequential else len(self.events.variables) + c)

    def _origin(self, c: int, takes: bool) -> RunSlot:
        """Return the slot with the position that a component's own window counts from."""
        if self.events.orders[self.components[c][0]].is_sequential:
            return RunSlot("origin", BEFORE_CURRENT if takes else LAST_EVENT)
        return RunSlot("origin", c)

    def _edge(self, g: int) -> RunSlot:
        """Return the slot with the position of the last event before a negation."""
        sequential = self.events.orders[self.gaps[g][0]].is_sequential
        return RunSlot("origin", LAST_EVENT) if sequential else RunSlot("edge", g)

    def _place(self, slot: RunSlot) -> int:
        return self.code.slots.get(slot, -1)

    def _updates(self) -> tuple[Int64s, np.ndarray[tuple[int, int], np.dtype[np.int32]]]:
        """Return the updates, and per component the ranges for its first and for later events."""
        rows: list[tuple[int, ...]] = []
        ranges = []
        for c in range(len(self.components)):
            borders = []
            for begins in (True, False):
                first = len(rows)
                rows += sorted(
                    (row for slot, place in self.code.slots.items() for row in self._update(c, begins, slot, place)),
                    key=lambda row: codes.UPDATE_ORDER.get(row[0], 0),
                )
                borders += [first, len(rows)]
            ranges.append(borders)
        return (
            np.array(rows, np.int64).reshape(-1, codes.UPDATE_WIDTH),
            np.array(ranges, np.int32).reshape(-1, 4),
        )

    def _update(self, c: int, begins: bool, slot: RunSlot, place: int) -> Iterable[tuple[int, ...]]:
        """Yield how taking an event of component `c` changes a slot, if it does."""
        o, k = self.components[c]
        order, variable = self.events.orders[o], self.component(c).variable
        match slot.kind:
            case "taken":
                if slot == self._taken(c):
                    most = max(self.component(c).least, self.component(c).most or 0)
                    yield (codes.SET_ONE if begins else codes.COUNT_EVENT, place, 0, 0, 0, most)
            case "origin" if slot.of == LAST_EVENT:
                yield (codes.SET_POSITION, place, 0, 0, 0, 0)
            case "origin" if slot.of == BEFORE_CURRENT:
                if begins and slot == self._origin(c, True):
                    last = self._place(RunSlot("origin", LAST_EVENT))
                    yield (codes.COPY_POSITION, place, last, 0, 0, 0)
            case "origin":
                if self.components[slot.of][0] == o and k in order.before[self.components[slot.of][1]]:
                    yield (codes.SET_POSITION, place, 0, 0, 0, 0)
            case "edge":
                gap_order, gap = self.gaps[slot.of]
                if gap_order == o and k in gap.before:
                    yield (codes.SET_POSITION, place, 0, 0, 0, 0)
            case "first":
                earlier = any(order.components[i].variable == variable for i in order.before[k])
                if slot.of == variable and begins and not earlier:
                    yield self._operation(slot, place)
            case _:
                if slot.of == variable:
                    yield self._operation(slot, place)

    def _operation(self, slot: RunSlot, place: int) -> tuple[int, ...]:
        if slot.operand is None:
            return (codes.COUNT_EVENT, place, 0, 0, 0, 2**63 - 1)
        is_float, column = operand_columns(self.events.operands)[slot.operand]
        by_kind = {
            "first": (codes.SET_INT, codes.SET_FLOAT),
            "last": (codes.SET_INT, codes.SET_FLOAT),
            "count": (codes.COUNT_INT, codes.COUNT_FLOAT),
            "sum": (codes.SUM_INT, codes.SUM_FLOAT),
            "mean": (codes.MEAN_INT, codes.MEAN_FLOAT),
            "min": (codes.MIN_INT, codes.MIN_FLOAT),
            "max": (codes.MAX_INT, codes.MAX_FLOAT),
        }
        count = self.code.slots.get(RunSlot("count", slot.of, slot.operand), 0)
        return (by_kind[slot.kind][is_float], place, column, count, slot.low, slot.high)

    # -- states ----------------------------------------------------------------------------------

    def _awaited(self, by_state: list[list[tuple[int, OrderEdge]]]) -> Awaited:
        tests = [
            [self._test(self.first_of[o] + edge.component, edge).slots for o, edge in edges] for edges in by_state[:-1]
        ]
        listed = [component for order in self.events.orders for component in order.components]
        seen_by_all = any(c.until is not None or POLICIES[c.strategy] in (STRICT, PARTITION) for c in listed)
        return awaited_values(tests, self.code, may_miss=not seen_by_all)

    def _states(
        self,
        by_state: list[list[tuple[int, OrderEdge]]],
        updates: Int64s,
        ranges: np.ndarray[tuple[int, int], np.dtype[np.int32]],
    ) -> States:
        kept = self._live_slots(updates, ranges).by_state(by_state)
        rows = [self._state(o, config) for o, config in self.states]
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        first, size, current, following, final, relevant, is_sequence, is_loop = columns
        return States(
            first=first.astype(np.int32),
            size=size.astype(np.int32),
            current=current.astype(np.int32),
            following=following.astype(np.int32),
            final=final.astype(np.int64),
            relevant=relevant.astype(np.int64),
            is_sequence=is_sequence.astype(np.bool_),
            is_loop=is_loop.astype(np.bool_),
            is_open=np.array([bool(edges) for edges in by_state[:-1]], np.bool_),
            is_timed=np.array(
                [
                    all(self.component(self.first_of[o] + edge.component).within is not None for o, edge in edges)
                    for edges in by_state[:-1]
                ],
                np.bool_,
            ),
            dead=np.array([~np.uint64(mask(slots)) for slots in kept], np.uint64),
        )

    def _live_slots(self, updates: Int64s, ranges: np.ndarray[tuple[int, int], np.dtype[np.int32]]) -> LiveSlots:
        return LiveSlots(
            self.events.orders, self.states, self.first_of, self.place, self.code, self.search.strict_time, updates,
            ranges, self._taken, self._origin, self._edge,
        )  # fmt: skip

    def _state(self, o: int, config: frozenset[int]) -> tuple[int, int, int, int, int, int, bool, bool]:
        order, first = self.events.orders[o], self.first_of[o]
        final = ends_in(order, config)
        if not order.is_sequential:
            # Nothing asks for the current component, but for the name of one that many runs wait behind.
            current = first + len(config) - 1
            return (first, len(order.components), current, -1, final, mask(waiting(order, config)), False, True)
        (k,) = config
        following = next((first + target for target in sorted(order.after(k))), -1)
        return (first + k, 1, first + k, following, final, 1, True, order.components[k].is_loop)
