"""Slot trees over the current row, computed for all rows of a table at once.

They run on the register machine that tests conditions of event patterns (`sparkcep.engine.slot_code`), so
that numbers mean the same in a table function as in a matcher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.engine.columns import decode_operands
from sparkcep.engine.compiled import compiled
from sparkcep.engine.event_code import LOAD_EVENT_FLOAT, LOAD_EVENT_INT, Operands
from sparkcep.engine.matches import Bools, Float64s, Int64s
from sparkcep.engine.slot_code import WIDTH, Registers
from sparkcep.engine.slot_kernels import compute
from sparkcep.engine.slots import SlotLowering, bound_registers, literals_of, operand_columns
from sparkcep.logical.slots import (
    CURRENT_ROW,
    ClassifierOf,
    MatchNumber,
    Operand,
    Read,
    Running,
    SlotConditions,
    SlotExpression,
    SlotType,
    nodes,
)


class Computed(NamedTuple):
    """Values of a tree, a row each.

    Attributes
    ----------
    values : int64[n] or float64[n] or object[n]
        Booleans as 0 and 1; codes as the values they stand for, and None.
    nulls : bool[n]
        Where there is no value.
    """

    values: npt.NDArray[Any]
    nulls: Bools


class RowTree(NamedTuple):
    """A tree of constants and reads of the current row; `operands` are the columns that reads name by index."""

    tree: SlotExpression
    operands: tuple[Operand, ...]


class RowProgram:
    """Trees over the current row, compiled to one piece of register code.

    Parameters
    ----------
    trees
        What is to be computed.

    Raises
    ------
    TypeError
        A tree reads other rows, which only a matcher knows.
    """

    def __init__(self, trees: Sequence[RowTree]) -> None:
        self.operands = tuple(dict.fromkeys(operand for tree in trees for operand in tree.operands))
        lowering = _RowLowering(SlotConditions((), self.operands, ()))
        self._results = [lowering.result(tree) for tree in trees]
        self._types: list[SlotType] = [tree.tree.type for tree in trees]
        self._instructions: Int64s = np.array(lowering.instructions, np.int64).reshape(-1, WIDTH)
        self._constants, self._registers = lowering.constants, lowering.registers
        self._literals = literals_of(self._constants)
        # The kernel overwrites what it computes, never a constant.
        self._bound = None if self._literals else bound_registers(self._constants, self._registers, {})
        self._places: Int64s = np.array(
            [(register, kind.kind == "float") for register, kind in zip(self._results, self._types, strict=True)],
            np.int64,
        ).reshape(-1, 2)

    def computed(self, table: pa.Table | pa.RecordBatch) -> list[Computed]:
        """Return the value of each tree; `table` holds the columns of all operands."""
        decoded = decode_operands(table, self.operands, self._literals)
        registers = self._bound or bound_registers(self._constants, self._registers, decoded.codes)
        shape = (len(self._types), table.num_rows)
        integers, floats, nulls = np.empty(shape, np.int64), np.empty(shape, np.float64), np.empty(shape, np.bool_)
        operands = Operands(decoded.integers, decoded.integer_nulls, decoded.floats, decoded.float_nulls)
        _compute_rows(self._instructions, registers, operands, self._places, integers, floats, nulls)
        found = []
        for place, kind in enumerate(self._types):
            values = Computed(floats[place] if kind.kind == "float" else integers[place], nulls[place])
            found.append(self._decoded(values, kind, table, decoded) if kind.kind == "code" else values)
        return found

    def _decoded(self, found: Computed, kind: SlotType, table: pa.Table | pa.RecordBatch, decoded: Any) -> Computed:
        """Return the values that ranks stand for."""
        by_rank: dict[int, Any] = {rank: literal for literal, rank in decoded.codes.get(kind.domain, {}).items()}
        for (is_float, column), operand in zip(operand_columns(self.operands), self.operands, strict=True):
            if not is_float and operand.type.kind == "code" and operand.type.domain == kind.domain:
                valid = np.flatnonzero(~decoded.integer_nulls[column])
                ranks, first = np.unique(decoded.integers[column][valid], return_index=True)
                values = table.column(operand.column).take(pa.array(valid[first])).to_pylist()
                by_rank.update(zip(ranks.tolist(), values, strict=True))
        named = [None if null else by_rank[rank] for rank, null in zip(found.values.tolist(), found.nulls, strict=True)]
        values = np.empty(len(named), dtype=object)
        values[:] = named
        return Computed(values, found.nulls)


@dataclass(slots=True)
class _RowLowering(SlotLowering):
    """Lowers reads of the current row; all the rest is as for matchers."""

    places: tuple[int, ...] = ()

    def result(self, tree: RowTree) -> int:
        """Lower a tree; return the register of its value."""
        for node in nodes(tree.tree):
            if (
                isinstance(node, ClassifierOf | MatchNumber | Running)
                or getattr(node, "at", CURRENT_ROW) != CURRENT_ROW
            ):
                raise TypeError(f"only a matcher knows the value of {node!r}")
        self.places = tuple(map(self.conditions.operands.index, tree.operands))
        return self.lower(tree.tree)

    def read(self, tree: Read) -> int:
        is_float, column = operand_columns(self.conditions.operands)[self.places[tree.operand]]
        return self.emit(LOAD_EVENT_FLOAT if is_float else LOAD_EVENT_INT, column)


@compiled
def _compute_rows(
    instructions: Int64s,
    registers: Registers,
    operands: Operands,
    places: Int64s,
    integers: Int64s,
    floats: Float64s,
    nulls: Bools,
) -> None:
    """Compute all trees for each row; `places` tell the register of each result, and whether it is a double."""
    for row in range(nulls.shape[1]):
        for at in range(instructions.shape[0]):
            op, target, a = instructions[at, 0], instructions[at, 1], instructions[at, 2]
            if op > LOAD_EVENT_FLOAT:
                compute(instructions, at, registers)
            elif op == LOAD_EVENT_INT:
                registers.integers[target] = operands.integers[a, row]
                registers.nulls[target] = operands.integer_nulls[a, row]
            else:
                registers.floats[target] = operands.floats[a, row]
                registers.nulls[target] = operands.float_nulls[a, row]
        for place in range(places.shape[0]):
            register = places[place, 0]
            nulls[place, row] = registers.nulls[register]
            if places[place, 1] != 0:
                floats[place, row] = registers.floats[register]
            else:
                integers[place, row] = registers.integers[register]
