"""The interpreter of the register machine of `sparkcep.engine.slot_code`."""

from __future__ import annotations

import math

import numpy as np

from sparkcep.engine.compiled import inlined
from sparkcep.engine.history import Columns, History
from sparkcep.engine.history_kernels import first_row, float_less, last_row, wrapped_sum
from sparkcep.engine.matches import Int64s
from sparkcep.engine.slot_code import (
    ABSOLUTE,
    ADD,
    AGGREGATE_COUNT_OF,
    AGGREGATE_FLOAT,
    AGGREGATE_INT,
    AND,
    CHOOSE,
    CLASSIFIER,
    COALESCE,
    COUNT_ROWS,
    DIVIDE,
    EQUAL,
    FIRST_ROW,
    FLOAT_ABSOLUTE,
    FLOAT_ADD,
    FLOAT_CHOOSE,
    FLOAT_COALESCE,
    FLOAT_DIVIDE,
    FLOAT_EQUAL,
    FLOAT_LEAST,
    FLOAT_LESS,
    FLOAT_LESS_EQUAL,
    FLOAT_MULTIPLY,
    FLOAT_NEGATE,
    FLOAT_NOT_EQUAL,
    FLOAT_SUBTRACT,
    IS_NAN,
    IS_NULL,
    IS_TRUE,
    LAST_COMPARISON,
    LAST_FLOAT,
    LAST_INTEGER,
    LAST_LOGIC,
    LAST_READ,
    LAST_ROW,
    LEAST,
    LESS,
    LESS_EQUAL,
    MULTIPLY,
    NOT,
    NOT_EQUAL,
    NUMBER_REGISTER,
    OR,
    READ_FLOAT,
    READ_INT,
    REMAINDER,
    ROW_REGISTER,
    SUBTRACT,
    TO_FLOAT,
    Code,
    Registers,
)

LOWEST, HIGHEST = -(2**63), 2**63 - 1
POWERS = np.array([10.0**i for i in range(39)])
EXACT_FLOAT = 2**53


@inlined
def holds(
    code: Code,
    registers: Registers,
    columns: Columns,
    history: History,
    variable: int,
    row: int,
    start: int,
    number: int,
) -> bool:
    """Tell whether the condition of `variable` is TRUE for `row`, which `history` has already recorded."""
    registers.integers[ROW_REGISTER] = row
    registers.integers[NUMBER_REGISTER] = number
    instructions = code.instructions
    for at in range(code.ranges[variable, 0], code.ranges[variable, 1]):
        op = instructions[at, 0]
        if op <= LAST_READ:
            _read(instructions, at, code.classifiers, registers, columns, history, row + 1 - start, start)
        else:
            compute(instructions, at, registers)
    result = code.ranges[variable, 2]
    return registers.integers[result] != 0 and not registers.nulls[result]


@inlined
def compute(instructions: Int64s, at: int, registers: Registers) -> None:
    """Execute an instruction that reads registers only."""
    op = instructions[at, 0]
    if op <= LAST_INTEGER:
        _integer(instructions, at, registers)
    elif op <= LAST_FLOAT:
        _float(instructions, at, registers)
    elif op <= LAST_COMPARISON:
        _compare(instructions, at, registers)
    elif op <= LAST_LOGIC:
        _logic(instructions, at, registers)
    else:
        _select(instructions, at, registers)


@inlined
def _read(
    instructions: Int64s,
    at: int,
    classifiers: Int64s,
    registers: Registers,
    columns: Columns,
    history: History,
    taken: int,
    start: int,
) -> None:
    op, target = instructions[at, 0], instructions[at, 1]
    a, b = instructions[at, 2], instructions[at, 3]
    if op == READ_INT:
        row = registers.integers[a]
        absent = row < 0 or columns.integer_nulls[b, row]
        registers.integers[target] = 0 if absent else columns.integers[b, row]
        registers.nulls[target] = absent
    elif op == READ_FLOAT:
        row = registers.integers[a]
        absent = row < 0 or columns.float_nulls[b, row]
        registers.floats[target] = 0.0 if absent else columns.floats[b, row]
        registers.nulls[target] = absent
    elif op == LAST_ROW:
        registers.integers[target] = last_row(history, a, b, taken, start)
    elif op == FIRST_ROW:
        registers.integers[target] = first_row(history, a, b, taken, start)
    elif op == CLASSIFIER:
        row = registers.integers[a]
        entry = row + b - start
        absent = row < 0 or entry < 0 or entry >= taken
        registers.integers[target] = 0 if absent else classifiers[history.variables[entry]]
        registers.nulls[target] = absent
    elif op == COUNT_ROWS:
        registers.integers[target] = taken if a < 0 else history.set_counts[taken, a]
    else:
        _read_aggregate(op, target, a, b, registers, history, taken)


@inlined
def _read_aggregate(
    op: int, target: int, g: int, scale: int, registers: Registers, history: History, taken: int
) -> None:
    count = history.counts[taken, g]
    if op == AGGREGATE_COUNT_OF:
        registers.integers[target] = count
        return
    registers.nulls[target] = count <= 0
    if op == AGGREGATE_INT:
        registers.integers[target] = history.integers[taken, g]
    elif op == AGGREGATE_FLOAT:
        registers.floats[target] = history.floats[taken, g]
    elif count > 0:
        registers.floats[target] = history.floats[taken, g] / POWERS[scale] / count


@inlined
def _integer(instructions: Int64s, at: int, registers: Registers) -> None:
    op, target = instructions[at, 0], instructions[at, 1]
    a, b = instructions[at, 2], instructions[at, 3]
    absent = registers.nulls[a] or registers.nulls[b]
    left, right = registers.integers[a], registers.integers[b]
    value = 0
    if absent:
        pass
    elif op == ADD:
        value = wrapped_sum(left, right)
        absent = ((left ^ value) & (right ^ value)) < 0
    elif op == SUBTRACT:
        value = np.int64(np.uint64(left) - np.uint64(right))
        absent = ((left ^ right) & (left ^ value)) < 0
    elif op == MULTIPLY:
        absent = _product_overflows(left, right)
        value = 0 if absent else left * right
    elif op in (DIVIDE, REMAINDER):
        absent = right == 0 or (op == DIVIDE and left == LOWEST and right == -1)
        if not absent and right != -1:
            quotient = _truncated(left, right)
            value = quotient if op == DIVIDE else left - quotient * right
        elif not absent:
            value = -left if op == DIVIDE else 0
    elif left == LOWEST:
        absent = True
    else:
        value = left if op == ABSOLUTE and left >= 0 else -left
    out = value < instructions[at, 5] or value > instructions[at, 6]
    registers.integers[target] = value
    registers.nulls[target] = absent or out


@inlined
def _product_overflows(left: int, right: int) -> bool:
    small = 1 << 31
    if (-small < left < small and -small < right < small) or left == 0 or right == 0:
        return False
    largest = np.uint64(HIGHEST) + np.uint64((left < 0) != (right < 0))
    return bool(_magnitude(left) > largest // _magnitude(right))


@inlined
def _magnitude(value: int) -> np.uint64:
    return np.uint64(value) if value >= 0 else np.uint64(0) - np.uint64(value)


@inlined
def _truncated(left: int, right: int) -> int:
    """Return left / right rounded toward zero; right is neither 0 nor −1."""
    quotient = left // right
    if quotient < 0 and quotient * right != left:
        quotient += 1
    return quotient


@inlined
def _float(instructions: Int64s, at: int, registers: Registers) -> None:
    op, target = instructions[at, 0], instructions[at, 1]
    a, b = instructions[at, 2], instructions[at, 3]
    if op == TO_FLOAT:
        registers.nulls[target] = registers.nulls[a]
        registers.floats[target] = scaled(registers.integers[a], b)
        return
    left, right = registers.floats[a], registers.floats[b]
    absent = registers.nulls[a] or registers.nulls[b]
    value = 0.0
    if op == FLOAT_ADD:
        value = left + right
    elif op == FLOAT_SUBTRACT:
        value = left - right
    elif op == FLOAT_MULTIPLY:
        value = left * right
    elif op == FLOAT_NEGATE:
        value = -left
    elif op == FLOAT_ABSOLUTE:
        value = abs(left)
    elif right == 0.0:
        absent = True
    elif op == FLOAT_DIVIDE:
        value = left / right
    else:
        value = np.fmod(left, right)
    registers.floats[target] = value
    registers.nulls[target] = absent


@inlined
def scaled(unscaled: int, scale: int) -> float:
    """Return unscaled / 10^scale, rounded once also where `unscaled` is no exact double."""
    high = float(unscaled)
    divisor: float = POWERS[scale]
    quotient: float = high / divisor
    if scale == 0 or -EXACT_FLOAT <= unscaled <= EXACT_FLOAT:
        return quotient
    # Decimals have at most 18 digits, so high fits an integer again.
    low = float(unscaled - int(high))
    product, error = _exact_product(quotient, divisor)
    return quotient + ((high - product) - error + low) / divisor


@inlined
def _exact_product(left: float, right: float) -> tuple[float, float]:
    """Return the rounded product and its rounding error (Dekker 1971)."""
    product = left * right
    split_left, split_right = left * 134217729.0, right * 134217729.0
    left_high = split_left - (split_left - left)
    right_high = split_right - (split_right - right)
    left_low, right_low = left - left_high, right - right_high
    rest = ((product - left_high * right_high) - left_low * right_high) - left_high * right_low
    return product, left_low * right_low - rest


@inlined
def _compare(instructions: Int64s, at: int, registers: Registers) -> None:
    op, target = instructions[at, 0], instructions[at, 1]
    a, b = instructions[at, 2], instructions[at, 3]
    no_left, no_right = registers.nulls[a], registers.nulls[b]
    if op < FLOAT_EQUAL:
        left, right = registers.integers[a], registers.integers[b]
        equal, less = left == right, left < right
    else:
        x, y = registers.floats[a], registers.floats[b]
        equal, less = x == y or (math.isnan(x) and math.isnan(y)), float_less(x, y)
    absent = no_left or no_right
    if op in (EQUAL, FLOAT_EQUAL):
        value = equal
    elif op in (LESS, FLOAT_LESS):
        value = less
    elif op in (LESS_EQUAL, FLOAT_LESS_EQUAL):
        value = less or equal
    elif op in (NOT_EQUAL, FLOAT_NOT_EQUAL):
        value = not equal
    elif op == IS_NAN:
        value, absent = math.isnan(registers.floats[a]) and not no_left, False
    else:
        value, absent = (no_left and no_right) or (equal and not absent), False
    registers.integers[target] = 1 if value else 0
    registers.nulls[target] = absent


@inlined
def _logic(instructions: Int64s, at: int, registers: Registers) -> None:
    op, target = instructions[at, 0], instructions[at, 1]
    a, b = instructions[at, 2], instructions[at, 3]
    no_left, no_right = registers.nulls[a], registers.nulls[b]
    left, right = registers.integers[a] != 0 and not no_left, registers.integers[b] != 0 and not no_right
    absent, value = False, False
    if op == AND:
        value = left and right
        absent = (no_left and (no_right or right)) or (no_right and left)
    elif op == OR:
        value = left or right
        absent = not value and (no_left or no_right)
    elif op == NOT:
        value, absent = not left, no_left
    elif op == IS_NULL:
        value = no_left
    elif op == IS_TRUE:
        value = left
    else:
        value = not left and not no_left
    registers.integers[target] = 1 if value else 0
    registers.nulls[target] = absent


@inlined
def _select(instructions: Int64s, at: int, registers: Registers) -> None:
    op, target = instructions[at, 0], instructions[at, 1]
    a, b, c = instructions[at, 2], instructions[at, 3], instructions[at, 4]
    chosen = b
    if op in (CHOOSE, FLOAT_CHOOSE):
        chosen = b if registers.integers[a] != 0 and not registers.nulls[a] else c
    elif registers.nulls[b]:
        chosen = a
    elif op in (COALESCE, FLOAT_COALESCE):
        chosen = b if registers.nulls[a] else a
    elif not registers.nulls[a]:
        if op < FLOAT_CHOOSE:
            less = registers.integers[a] < registers.integers[b]
        else:
            less = float_less(registers.floats[a], registers.floats[b])
        chosen = a if less == (op in (LEAST, FLOAT_LEAST)) else b
    registers.integers[target] = registers.integers[chosen]
    registers.floats[target] = registers.floats[chosen]
    registers.nulls[target] = registers.nulls[chosen]
