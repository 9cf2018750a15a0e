"""The interpreter of `sparkcep.engine.event_code`: tests conditions, keeps the value vectors of runs."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import inlined
from sparkcep.engine.event_code import (
    COPY_POSITION,
    COUNT_EVENT,
    COUNT_FLOAT,
    COUNT_INT,
    LOAD_EVENT_FLOAT,
    LOAD_EVENT_INT,
    LOAD_RUN_FLOAT,
    LOAD_RUN_INT,
    MAX_INT,
    MEAN_FLOAT,
    MEAN_INT,
    MIN_FLOAT,
    MIN_INT,
    SET_FLOAT,
    SET_INT,
    SET_ONE,
    SET_POSITION,
    SUM_FLOAT,
    SUM_INT,
    ConditionCode,
    Operands,
    Vectors,
)
from sparkcep.engine.history_kernels import float_less, wrapped_sum
from sparkcep.engine.matches import Int64s
from sparkcep.engine.slot_code import Registers
from sparkcep.engine.slot_kernels import compute

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inlined
def is_null(nulls: np.uint64, slot: int) -> bool:
    """Tell whether a slot is NULL."""
    return (nulls >> np.uint64(slot)) & _ONE != _ZERO


@inlined
def condition_holds(
    code: ConditionCode, registers: Registers, operands: Operands, vectors: Vectors, condition: int, run: int, row: int
) -> bool:
    """Tell whether a condition is TRUE for the vector of `run` and the event at `row`; −1 always is."""
    if condition < 0:
        return True
    instructions = code.instructions
    for at in range(code.ranges[condition, 0], code.ranges[condition, 1]):
        op, target, a = instructions[at, 0], instructions[at, 1], instructions[at, 2]
        if op > LOAD_EVENT_FLOAT:
            compute(instructions, at, registers)
        elif op == LOAD_RUN_INT:
            registers.integers[target] = vectors.integers[run, a]
            registers.nulls[target] = is_null(vectors.nulls[run], a)
        elif op == LOAD_RUN_FLOAT:
            registers.floats[target] = vectors.floats[run, a]
            registers.nulls[target] = is_null(vectors.nulls[run], a)
        elif op == LOAD_EVENT_INT:
            registers.integers[target] = operands.integers[a, row]
            registers.nulls[target] = operands.integer_nulls[a, row]
        else:
            registers.floats[target] = operands.floats[a, row]
            registers.nulls[target] = operands.float_nulls[a, row]
    result = code.ranges[condition, 2]
    return registers.integers[result] != 0 and not registers.nulls[result]


@inlined
def update_vector(
    updates: Int64s, first: int, last: int, operands: Operands, vectors: Vectors, run: int, row: int, position: int
) -> None:
    """Let the vector of `run` take the event at `row`, whose number is `position`."""
    for at in range(first, last):
        op, slot, column = updates[at, 0], updates[at, 1], updates[at, 2]
        if op == SET_POSITION:
            vectors.integers[run, slot] = position
            _known(vectors, run, slot)
        elif op == COPY_POSITION:
            vectors.integers[run, slot] = vectors.integers[run, column]
            _set_null(vectors, run, slot, is_null(vectors.nulls[run], column))
        elif op == SET_ONE:
            vectors.integers[run, slot] = 1
        elif op == COUNT_EVENT:
            vectors.integers[run, slot] = min(vectors.integers[run, slot] + 1, updates[at, 5])
        elif op == SET_INT:
            vectors.integers[run, slot] = 0 if operands.integer_nulls[column, row] else operands.integers[column, row]
            _set_null(vectors, run, slot, operands.integer_nulls[column, row])
        elif op == SET_FLOAT:
            absent = operands.float_nulls[column, row]
            vectors.floats[run, slot] = 0.0 if absent else operands.floats[column, row]
            _set_null(vectors, run, slot, absent)
        elif op in (COUNT_INT, SUM_INT, MEAN_INT, MIN_INT, MAX_INT):
            if not operands.integer_nulls[column, row]:
                _aggregate_int(updates, at, operands.integers[column, row], vectors, run)
        elif not operands.float_nulls[column, row]:
            _aggregate_float(updates, at, operands.floats[column, row], vectors, run)


@inlined
def _known(vectors: Vectors, run: int, slot: int) -> None:
    vectors.nulls[run] &= ~(_ONE << np.uint64(slot))


@inlined
def _set_null(vectors: Vectors, run: int, slot: int, absent: bool) -> None:
    _known(vectors, run, slot)
    if absent:
        vectors.nulls[run] |= _ONE << np.uint64(slot)


@inlined
def _aggregate_int(updates: Int64s, at: int, value: int, vectors: Vectors, run: int) -> None:
    """Counts come last among the updates of an event, so a count of 0 marks the first value."""
    op, slot = updates[at, 0], updates[at, 1]
    held = vectors.integers[run, slot]
    if op == COUNT_INT:
        vectors.integers[run, slot] = held + 1
    elif op == MEAN_INT:
        before = vectors.floats[run, slot] if vectors.integers[run, updates[at, 3]] > 0 else 0.0
        vectors.floats[run, slot] = before + float(value)
        _known(vectors, run, slot)
    elif op == SUM_INT:
        _add_exactly(updates, at, value, vectors, run)
    elif is_null(vectors.nulls[run], slot) or (value < held if op == MIN_INT else value > held):
        vectors.integers[run, slot] = value
        _known(vectors, run, slot)


@inlined
def _add_exactly(updates: Int64s, at: int, value: int, vectors: Vectors, run: int) -> None:
    """Add to a sum; one that has left its range stays NULL."""
    slot = updates[at, 1]
    if vectors.integers[run, updates[at, 3]] == 0:
        vectors.integers[run, slot] = value
        _known(vectors, run, slot)
        return
    if is_null(vectors.nulls[run], slot):
        return
    held = vectors.integers[run, slot]
    total = wrapped_sum(held, value)
    overflows = ((held ^ total) & (value ^ total)) < 0
    absent = overflows or total < updates[at, 4] or total > updates[at, 5]
    vectors.integers[run, slot] = 0 if absent else total
    _set_null(vectors, run, slot, absent)


@inlined
def _aggregate_float(updates: Int64s, at: int, value: float, vectors: Vectors, run: int) -> None:
    op, slot = updates[at, 0], updates[at, 1]
    if op == COUNT_FLOAT:
        vectors.integers[run, slot] += 1
        return
    held = vectors.floats[run, slot]
    if op in (SUM_FLOAT, MEAN_FLOAT):
        vectors.floats[run, slot] = (held if vectors.integers[run, updates[at, 3]] > 0 else 0.0) + value
        _known(vectors, run, slot)
        return
    less = float_less(value, held) if op == MIN_FLOAT else float_less(held, value)
    if is_null(vectors.nulls[run], slot) or less:
        vectors.floats[run, slot] = value
        _known(vectors, run, slot)
