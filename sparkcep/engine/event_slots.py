"""What a run remembers of the events it took, and the code of conditions that read it.

Runs do not keep the events they took, only the values that a later condition can read: the value
vector of SASE+ (Agrawal et al. 2008, section 4). A condition is straight-line register code as for
row patterns (`sparkcep.engine.slot_code`), but it loads values of the run and of the event under test.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkcep.engine import slot_code as ops
from sparkcep.engine.event_code import LOAD_EVENT_FLOAT, LOAD_EVENT_INT, LOAD_RUN_FLOAT, LOAD_RUN_INT
from sparkcep.engine.slots import SlotLowering, operand_columns
from sparkcep.logical.slots import CURRENT_ROW, DOUBLE, Operand, Read, Running, SlotConditions, SlotExpression

SlotKind: TypeAlias = Literal[
    "first", "last", "count", "sum", "mean", "min", "max", "taken", "stopped", "origin", "edge"
]


@dataclass(frozen=True, slots=True)
class RunSlot:
    """One value of a run's vector.

    Attributes
    ----------
    kind
        "first", "last": the operand at the first and the last event of a variable; "count" …
        "max": aggregates over its events ("mean": the sum as a double); "taken": how many events a
        loop took; "origin", "edge": position of the last event before a component with a window of
        its own, or before a negation.
    of
        Index of a variable, a component or a negation.
    operand
        Operand, or None.
    low, high
        Range of a sum.
    """

    kind: SlotKind
    of: int
    operand: int | None = None
    low: int = -(2**63)
    high: int = 2**63 - 1


@dataclass(slots=True)
class EventCode:
    """Conditions of an event pattern as register code, made one by one.

    Attributes
    ----------
    slots
        The vector of a run, as the conditions so far need it.
    ranges
        Per condition: first instruction, the one behind the last, register of the result.
    reads
        Per condition: the slots it loads.
    """

    variables: tuple[str, ...]
    operands: tuple[Operand, ...]
    slots: dict[RunSlot, int] = field(default_factory=dict)
    ranges: list[tuple[int, int, int]] = field(default_factory=list)
    reads: list[frozenset[int]] = field(default_factory=list)
    known: dict[SlotExpression, int] = field(default_factory=dict)
    lowering: _EventLowering = field(init=False)

    def __post_init__(self) -> None:
        self.lowering = _EventLowering(SlotConditions(self.variables, self.operands, ()), code=self)

    def slot(self, wanted: RunSlot) -> int:
        """Return the place of a slot in the vector."""
        return self.slots.setdefault(wanted, len(self.slots))

    def condition(self, tree: SlotExpression | None) -> int:
        """Lower a condition; return its index, −1 for none."""
        if tree is None:
            return -1
        if tree in self.known:
            return self.known[tree]
        self.known[tree] = len(self.ranges)
        first = len(self.lowering.instructions)
        self.ranges.append(self.lowering.condition(0, tree))
        loads = self.lowering.instructions[first:]
        self.reads.append(frozenset(load[2] for load in loads if load[0] in (LOAD_RUN_INT, LOAD_RUN_FLOAT)))
        return len(self.ranges) - 1


@dataclass(slots=True)
class _EventLowering(SlotLowering):
    """Lowers reads of a run and of the event under test; all the rest is as for row patterns."""

    code: EventCode | None = None

    def read(self, tree: Read) -> int:
        is_float, column = operand_columns(self.conditions.operands)[tree.operand]
        if tree.at == CURRENT_ROW:
            return self.emit(LOAD_EVENT_FLOAT if is_float else LOAD_EVENT_INT, column)
        return self.load(run_slot(tree), is_float)

    def load(self, slot: RunSlot, is_float: bool) -> int:
        assert self.code is not None
        return self.emit(LOAD_RUN_FLOAT if is_float else LOAD_RUN_INT, self.code.slot(slot))

    def running(self, tree: Running) -> int:
        variable = _only(tree.rows.variables)
        count = RunSlot("count", variable, tree.operand)
        if tree.function == "count":
            return self.load(count, False)
        assert tree.operand is not None
        operand = self.conditions.operands[tree.operand].type
        is_float = operand.kind == "float"
        if tree.function == "avg":
            total = self.load(RunSlot("mean", variable, tree.operand), True)
            if operand.kind == "int" and operand.scale:
                power = self.constant(10.0**operand.scale, DOUBLE)
                total = self.emit(ops.FLOAT_DIVIDE, total, power)
            return self.emit(ops.FLOAT_DIVIDE, total, self.emit(ops.TO_FLOAT, self.load(count, False), 0))
        if tree.function == "sum":
            assert self.code is not None
            self.code.slot(count)  # tells a sum of nothing from one that overflowed: both are NULL
            return self.load(RunSlot("sum", variable, tree.operand, tree.type.low, tree.type.high), is_float)
        return self.load(RunSlot(tree.function, variable, tree.operand), is_float)


def run_slot(tree: Read) -> RunSlot:
    """Return the slot that a read of an earlier event loads."""
    return RunSlot(tree.at.end, _only(tree.at.rows.variables), tree.operand)


def _only(variables: Iterable[int] | None) -> int:
    assert variables is not None
    (variable,) = variables
    return variable
