"""Records what a match takes, row by row, and reads it again; see `sparkcep.engine.history`."""

from __future__ import annotations

import math

import numpy as np

from sparkcep.engine.compiled import inlined
from sparkcep.engine.history import (
    AGGREGATE_AVG,
    AGGREGATE_COUNT,
    AGGREGATE_MAX,
    AGGREGATE_MIN,
    AGGREGATE_SUM,
    OVERFLOWED,
    Columns,
    History,
    Tracked,
)


@inlined
def record(
    tracked: Tracked, columns: Columns, history: History, taken: int, row: int, label: int, variable: int
) -> None:
    """Let `row` be the match's row number `taken`, under `label`; entry ``taken + 1`` is written."""
    history.labels[taken] = label
    history.variables[taken] = variable
    for s in range(history.set_counts.shape[1]):
        count = history.set_counts[taken, s]
        if tracked.set_members[variable, s]:
            history.set_rows[count, s] = row
            count += 1
        history.set_counts[taken + 1, s] = count
    for g in range(history.counts.shape[1]):
        history.counts[taken + 1, g] = history.counts[taken, g]
        history.integers[taken + 1, g] = history.integers[taken, g]
        history.floats[taken + 1, g] = history.floats[taken, g]
        if tracked.aggregate_members[variable, g] and history.counts[taken, g] != OVERFLOWED:
            if tracked.aggregates[g, 1] == 1:
                _aggregate_float(tracked, columns, history, g, taken + 1, row)
            else:
                _aggregate_integer(tracked, columns, history, g, taken + 1, row)


@inlined
def _aggregate_integer(tracked: Tracked, columns: Columns, history: History, g: int, entry: int, row: int) -> None:
    function, column = tracked.aggregates[g, 0], tracked.aggregates[g, 2]
    if columns.integer_nulls[column, row]:
        return
    value = columns.integers[column, row]
    old = history.integers[entry, g]
    empty = history.counts[entry, g] == 0
    history.counts[entry, g] += 1
    if function == AGGREGATE_SUM:
        total = wrapped_sum(old, value)
        wrapped = ((old ^ total) & (value ^ total)) < 0
        if wrapped or total < tracked.aggregates[g, 3] or total > tracked.aggregates[g, 4]:
            history.counts[entry, g] = OVERFLOWED
        else:
            history.integers[entry, g] = total
    elif function == AGGREGATE_AVG:
        history.floats[entry, g] += float(value)
    elif (function == AGGREGATE_MIN and (empty or value < old)) or (
        function == AGGREGATE_MAX and (empty or value > old)
    ):
        history.integers[entry, g] = value


@inlined
def _aggregate_float(tracked: Tracked, columns: Columns, history: History, g: int, entry: int, row: int) -> None:
    function, column = tracked.aggregates[g, 0], tracked.aggregates[g, 2]
    if columns.float_nulls[column, row]:
        return
    value = columns.floats[column, row]
    old = history.floats[entry, g]
    empty = history.counts[entry, g] == 0
    history.counts[entry, g] += 1
    if function in (AGGREGATE_SUM, AGGREGATE_AVG):
        history.floats[entry, g] = old + value
    elif function != AGGREGATE_COUNT and (
        empty or (float_less(value, old) if function == AGGREGATE_MIN else float_less(old, value))
    ):
        history.floats[entry, g] = value


@inlined
def wrapped_sum(left: int, right: int) -> int:
    """Return the sum modulo 2^64: signed addition is compiled as if it could not overflow."""
    return int(np.int64(np.uint64(left) + np.uint64(right)))


@inlined
def float_less(left: float, right: float) -> bool:
    """Tell whether left < right with NaN as the greatest value."""
    return left < right or (math.isnan(right) and not math.isnan(left))


@inlined
def first_row(history: History, row_set: int, offset: int, taken: int, start: int) -> int:
    """Return the `offset`-th row of a set from the front, −1 if there is none; set −1 is all rows."""
    if row_set < 0:
        return start + offset if offset < taken else -1
    return history.set_rows[offset, row_set] if offset < history.set_counts[taken, row_set] else -1


@inlined
def last_row(history: History, row_set: int, offset: int, taken: int, start: int) -> int:
    """Return the `offset`-th row of a set from the back, −1 if there is none; set −1 is all rows."""
    if row_set < 0:
        return start + taken - 1 - offset if offset < taken else -1
    count = history.set_counts[taken, row_set]
    return history.set_rows[count - 1 - offset, row_set] if offset < count else -1
