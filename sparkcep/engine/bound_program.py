"""Compiles bound event patterns for engines that bind events in any order: conditions on events that are bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sparkcep.engine.bound_tables import LOAD_BOUND_FLOAT, LOAD_BOUND_INT
from sparkcep.engine.event_code import ConditionCode
from sparkcep.engine.events import EventSearch
from sparkcep.engine.matches import Bools, UInt64s
from sparkcep.engine.runs_program import RunsProgram
from sparkcep.engine.slot_code import WIDTH, Registers
from sparkcep.engine.slots import (
    Codes,
    CodeValue,
    Constant,
    SlotLowering,
    bound_registers,
    literals_of,
    operand_columns,
)
from sparkcep.logical.slots import CURRENT_ROW, Comparison, Read, RowReference, SlotConditions, SlotExpression

if TYPE_CHECKING:
    from sparkcep.logical.event_bound import EventOrder, EventTest, LogicalEvents

BoundConditions = Sequence[Sequence[tuple[frozenset[int], SlotExpression]]]
"""Per order, its conditions on several events, with the components that they read."""
Takes = Sequence[Mapping[int, Sequence[SlotExpression]]]
"""Per order, by component: the conditions on every event of a loop but the first, which is the current row."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an equality: a component, and the column of whole numbers or of doubles that is read of it."""

    component: int
    is_float: bool
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class BoundLoop:
    """A component that takes several events, or may.

    Among the bound rows it has places of its own besides that of its first event: those of the last one, of the
    one before that, and of its item in the store that holds it.

    Attributes
    ----------
    component, least, most
        The component, and how many events it takes; most −1: no end.
    last
        The place of its last event; the two others follow.
    take_bits : uint64[words]
        Row conditions of every event but the first.
    takes
        Conditions on every event but the first.
    """

    component: int
    least: int
    most: int
    last: int
    take_bits: UInt64s
    takes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BoundPattern:
    """One order of a pattern (see `sparkcep.logical.event_bound`), its components numbered from 0.

    Attributes
    ----------
    number, first
        The order, and the number of its first component among those of all orders.
    bits : uint64[components + negations, words]
        Row conditions of each component, and of each negation that its neighbours decide.
    precedes : bool[components, components]
        Whether one stands before the other.
    tests
        Conditions, with the components that they read.
    equalities
        The conditions that say no more than that two columns are equal, with the two sides.
    windows
        Components with a window of their own.
    gaps
        Per negation the components before and after it.
    loops
        Components that are loops.
    """

    number: int
    first: int
    bits: UInt64s
    precedes: Bools
    tests: tuple[tuple[frozenset[int], int], ...]
    equalities: tuple[tuple[int, Side, Side], ...]
    windows: tuple[int, ...]
    gaps: tuple[tuple[frozenset[int], frozenset[int]], ...]
    loops: tuple[BoundLoop, ...]

    @property
    def size(self) -> int:
        """The number of components."""
        return len(self.precedes)

    @property
    def looked_up(self) -> tuple[Side, ...]:
        """What events may be looked up by, each once."""
        return tuple(dict.fromkeys(side for _, *sides in self.equalities for side in sides))

    @property
    def columns(self) -> tuple[tuple[bool, int], ...]:
        """The columns that hold it."""
        return tuple(dict.fromkeys((side.is_float, side.column) for side in self.looked_up))

    @property
    def ends(self) -> tuple[int, ...]:
        """The components that may take the last event."""
        return tuple(np.flatnonzero(~self.precedes.any(axis=1)).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class BoundProgram:
    """An event pattern compiled for an engine that binds events in any order; plain data.

    Attributes
    ----------
    base
        The same pattern for the `runs` engine: components, windows, and the negations that are judged on
        whole matches.
    patterns
        Its orders.
    code, constants, registers
        Register code of the conditions on bound events.
    """

    base: RunsProgram
    patterns: tuple[BoundPattern, ...]
    code: ConditionCode
    constants: dict[int, Constant]
    registers: int

    @property
    def search(self) -> EventSearch:
        """What is looked for."""
        return self.base.search

    @property
    def literals(self) -> dict[str, set[CodeValue]]:
        """The values, by domain, that need a code besides those of the rows."""
        found = self.base.literals
        for domain, values in literals_of(self.constants).items():
            found.setdefault(domain, set()).update(values)
        return found

    def bound(self, codes: Codes) -> Registers:
        """Return registers with the constants, for rows with these codes."""
        return bound_registers(self.constants, self.registers, codes)


def compile_bound(
    events: LogicalEvents, base: RunsProgram, conditions: BoundConditions, takes: Takes | None = None
) -> BoundProgram:
    """Compile a pattern whose events may be bound in any order.

    Parameters
    ----------
    events
        The bound pattern: single events under skip-till-any, none of them twice in an order.
    base
        The same, compiled for the `runs` engine.
    conditions
        Every read in them is of the one event of a variable, or of the first or last one of a loop.
    takes
        Conditions on the later events of loops.
    """
    lowering = _BoundLowering(SlotConditions(events.match.variables, events.operands, ()))
    ranges: list[tuple[int, int, int]] = []
    words = base.tables.edges.bits.shape[1]
    patterns, first, gap = [], 0, 0
    for number, (order, trees) in enumerate(zip(events.orders, conditions, strict=True)):
        quick = base.tables.gaps.quick[gap : gap + len(order.gaps)]
        decided = [found for found, by_neighbours in zip(order.gaps, quick, strict=True) if by_neighbours]
        lowering.enter(order)
        tests = tuple((read, len(ranges) + i) for i, (read, _) in enumerate(trees))
        ranges += [lowering.condition(0, tree) for _, tree in trees]
        asked = [component.begin for component in order.components] + [found.witness for found in decided]
        patterns.append(
            BoundPattern(
                number=number,
                first=first,
                bits=_bits(asked, words),
                precedes=_precedes(order),
                tests=tests,
                equalities=tuple(
                    (condition, *sides)
                    for (_, condition), (_, tree) in zip(tests, trees, strict=True)
                    if (sides := lowering.sides(tree)) is not None
                ),
                windows=tuple(k for k, component in enumerate(order.components) if component.within is not None),
                gaps=tuple((found.before, found.after) for found in decided),
                loops=tuple(_loops(order, lowering, ranges, {} if takes is None else takes[number], words)),
            )
        )
        first, gap = first + len(order.components), gap + len(order.gaps)
    code = ConditionCode(
        np.array(lowering.instructions, np.int64).reshape(-1, WIDTH), np.array(ranges, np.int64).reshape(-1, 3)
    )
    return BoundProgram(base, tuple(patterns), code, lowering.constants, lowering.registers)


def _loops(
    order: EventOrder,
    lowering: _BoundLowering,
    ranges: list[tuple[int, int, int]],
    takes: Mapping[int, Sequence[SlotExpression]],
    words: int,
) -> Iterator[BoundLoop]:
    for k, component in enumerate(order.components):
        if component.is_loop:
            lowering.own = component.variable
            first = len(ranges)
            ranges += [lowering.condition(0, tree) for tree in takes.get(k, ())]
            most = -1 if component.most is None else component.most
            last, numbers = lowering.lasts[component.variable], tuple(range(first, len(ranges)))
            yield BoundLoop(k, component.least, most, last, _bits([component.take], words)[0], numbers)
    lowering.own = None


@dataclass(slots=True)
class _BoundLowering(SlotLowering):
    """Lowers reads of bound events; all the rest is as for row patterns.

    `place` gives the component of each variable in the order at hand, `lasts` the place of the last event of
    a loop, `own` the loop whose later events are tested.
    """

    place: dict[int, int] = field(default_factory=dict)
    lasts: dict[int, int] = field(default_factory=dict)
    own: int | None = None

    def enter(self, order: EventOrder) -> None:
        """Read events of an order from now on."""
        size = len(order.components)
        loops = [component.variable for component in order.components if component.is_loop]
        self.place = {component.variable: k for k, component in enumerate(order.components)}
        self.lasts = {variable: size + 3 * i for i, variable in enumerate(loops)}

    def read(self, tree: Read) -> int:
        side = self.side(tree)
        return self.emit(LOAD_BOUND_FLOAT if side.is_float else LOAD_BOUND_INT, side.column, side.component)

    def side(self, tree: Read) -> Side:
        """Return what is read of which component."""
        is_float, column = operand_columns(self.conditions.operands)[tree.operand]
        return Side(self._place(tree.at), is_float, column)

    def _place(self, at: RowReference) -> int:
        if at == CURRENT_ROW:
            assert self.own is not None
            return self.lasts[self.own]
        assert at.rows.variables is not None
        (variable,) = at.rows.variables
        if variable not in self.lasts or at.end == "first":
            return self.place[variable]
        return self.lasts[variable] + (variable == self.own)

    def sides(self, tree: SlotExpression) -> tuple[Side, Side] | None:
        """Return both sides of a condition that says that columns of two events are equal, None for others."""
        if not (isinstance(tree, Comparison) and tree.operator == "="):
            return None
        if not (isinstance(tree.left, Read) and isinstance(tree.right, Read)):
            return None
        if any(
            side.at.rows.variables and side.at.rows.variables & self.lasts.keys() for side in (tree.left, tree.right)
        ):
            return None
        left, right = self.side(tree.left), self.side(tree.right)
        return (left, right) if left.component != right.component else None


def _bits(tests: Sequence[EventTest], words: int) -> UInt64s:
    bits = np.zeros((len(tests), words), np.uint64)
    for i, test in enumerate(tests):
        for bit in test.bits:
            bits[i, bit // 64] |= np.uint64(1 << bit % 64)
    return bits


def _precedes(order: EventOrder) -> Bools:
    found = np.zeros((len(order.components),) * 2, np.bool_)
    for k, before in enumerate(order.before):
        found[sorted(before), k] = True
    return found


def offsets_of(lists: Sequence[Sequence[object]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return where each of some lists begins when they stand behind each other, and where the last one ends."""
    return np.cumsum([0, *map(len, lists)]).astype(np.int64)


def flat_of(lists: Sequence[Sequence[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return lists behind each other."""
    return np.array([item for items in lists for item in items], np.int64)
