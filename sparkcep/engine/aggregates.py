"""Native aggregates over the rows of matches: COUNT, SUM, AVG, MIN, MAX.

Counts and exact sums come from prefix sums over the input, in 32-bit limbs so that nothing
overflows on the way; their cost follows the number of runs. Sums of doubles and extremes
walk the rows of each match once, in row order.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from sparkcep.engine.gather import LabelRuns, RunArrays, View
from sparkcep.engine.matches import Bools, Float64s, Int64s
from sparkcep.errors import MatchError
from sparkcep.logical.slots import RowSet

_LIMB = np.int64(32)
_LIMB_MASK = np.int64(2**32 - 1)
_HALF_LIMB = 2**31
_EVERY_ROW = np.empty(0, np.bool_)
_SIGN = np.int64(-(2**63))

Limbs: TypeAlias = list[Int64s]


def aggregate_type(function: str, column: Any) -> pa.DataType:
    """Return the type of an aggregate over a column of type `column` (None for COUNT(*)).

    Raises
    ------
    MatchError
        ``UNSUPPORTED_AGGREGATE`` when the function does not take the type.
    """
    if function == "count":
        return pa.int64()
    if function in {"min", "max"} and _is_orderable(column):
        return column
    if function == "sum" and _is_whole(column):
        return pa.int64()
    if function == "sum" and pa.types.is_decimal128(column):
        return pa.decimal128(min(38, column.precision + 10), column.scale)
    if function == "sum" and pa.types.is_duration(column):
        return column
    if function in {"sum", "avg"} and (_is_whole(column) or pa.types.is_floating(column)):
        return pa.float64()
    raise MatchError("UNSUPPORTED_AGGREGATE", f"{function.upper()} does not take values of type {column}")


def _is_orderable(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return all(_is_orderable(kind.field(i).type) for i in range(kind.num_fields))
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind))


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) and kind != pa.uint64())


def counted_rows(column: pa.Array | None, condition: pa.Array | None) -> Bools | None:
    """Return bool[n]: the value is not NULL and the condition TRUE; None when that is every row."""
    kept: Bools | None = None
    if column is not None and column.null_count:
        kept = numbers(pc.is_valid(column))
    if condition is not None:
        true = numbers(pc.fill_null(condition, False))
        kept = true if kept is None else kept & true
    return kept


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """Return the values of an array of numbers or booleans without NULLs as own numpy array."""
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values if values.flags.writeable and values.flags.c_contiguous else values.copy()


def count(runs: LabelRuns, view: View, rows: RowSet, kept: Bools | None) -> Int64s:
    """Return int64[k]: how many rows of `rows` that are `kept` each value sees."""
    if kept is None:
        return runs.count(view, rows)
    return runs.total(view, rows, _prefix_sums(kept.astype(np.int64)))


def sum_exactly(
    runs: LabelRuns, view: View, rows: RowSet, column: pa.Array, kept: Bools | None, kind: pa.DataType
) -> tuple[pa.Array, Bools]:
    """Sum whole numbers, durations or decimals without rounding.

    Returns
    -------
    pa.Array[k], bool[k]
        The sums as `kind`, NULL where no row is kept or the sum does not fit; and where it
        does not fit.
    """
    limbs = [runs.total(view, rows, _prefix_sums(_masked(limb, kept))) for limb in _limbs(column)]
    filled = count(runs, view, rows, kept) > 0
    _carry(limbs)
    fits = (limbs[-1] >= -_HALF_LIMB) & (limbs[-1] < _HALF_LIMB)
    if len(limbs) == 2:
        values = (limbs[1] << _LIMB) | limbs[0]
        return pa.array(values, mask=~(filled & fits)).cast(kind), ~fits
    low = ((limbs[1] << _LIMB) | limbs[0]).view(np.uint64)
    high = (limbs[3] << _LIMB) | limbs[2]
    fits &= _within(high, low, kind.precision)
    return _decimals(high, low, filled & fits, kind), ~fits


def _limbs(column: pa.Array) -> Limbs:
    """Split values into 32-bit limbs, lowest first; only the highest has a sign."""
    if pa.types.is_decimal(column.type):
        words = _words(column).view(np.int32)
        return [words[:, i].astype(np.int64) & _LIMB_MASK for i in range(3)] + [words[:, 3].astype(np.int64)]
    values = numbers(pc.fill_null(column.cast(pa.int64()), 0))
    return [values & _LIMB_MASK, values >> _LIMB]


def _words(column: pa.Array) -> Int64s:
    """Return the values of decimals as int64[n, 2], low word first (arbitrary where NULL)."""
    if len(column) == 0:
        return np.empty((0, 2), np.int64)
    return np.frombuffer(column.buffers()[1], np.int64, 2 * len(column), 16 * column.offset).reshape(-1, 2)


def _masked(values: Int64s, kept: Bools | None) -> Int64s:
    return values if kept is None else np.where(kept, values, 0)


def _carry(limbs: Limbs) -> None:
    for i in range(len(limbs) - 1):
        limbs[i + 1] = limbs[i + 1] + (limbs[i] >> _LIMB)
        limbs[i] = limbs[i] & _LIMB_MASK


def _within(high: Int64s, low: npt.NDArray[np.uint64], precision: int) -> Bools:
    """Tell which 128-bit values have no more than `precision` digits."""
    below = _less(high, low, 10**precision)
    above = ~_less(high, low, 1 - 10**precision)
    return below & above


def _less(high: Int64s, low: npt.NDArray[np.uint64], bound: int) -> Bools:
    bound_high, bound_low = np.int64(bound >> 64), np.uint64(bound & (2**64 - 1))
    return np.asarray((high < bound_high) | ((high == bound_high) & (low < bound_low)))


def _decimals(high: Int64s, low: npt.NDArray[np.uint64], valid: Bools, kind: pa.DataType) -> pa.Array:
    words = np.empty((len(high), 2), np.uint64)
    words[:, 0], words[:, 1] = low, high.view(np.uint64)
    bitmap = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(high), [bitmap, pa.py_buffer(words)])


def sum_doubles(
    runs: LabelRuns, view: View, rows: RowSet, column: pa.Array, kept: Bools | None, mean: bool
) -> pa.Array:
    """Return the sums (or means) of numbers as doubles, added in row order; NULL where no row is kept."""
    values: Float64s = numbers(pc.fill_null(column.cast(pa.float64(), safe=False), 0.0))
    sums, counts = _scan_sums(view, runs.arrays, runs.members(rows), _EVERY_ROW if kept is None else kept, values)
    empty = counts == 0
    if mean:
        sums = sums / np.where(empty, 1, counts)
    return pa.array(sums, mask=empty)


def extremes(runs: LabelRuns, view: View, rows: RowSet, column: pa.Array, kept: Bools | None, largest: bool) -> Int64s:
    """Return int64[k]: the first row that holds the least or greatest value seen, −1 if there is none."""
    keys = sort_keys(column)
    chosen = _EVERY_ROW if kept is None else kept
    return _scan_extremes(view, runs.arrays, runs.members(rows), chosen, keys if largest else ~keys)


def sort_keys(column: pa.Array) -> Int64s:
    """Return int64[n]: numbers that order as the values do (NULLs: any number).

    NaN is greatest and −0.0 equals 0.0; strings and binaries order by unsigned bytes; structs
    field by field, NULL fields first.
    """
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    if pa.types.is_floating(kind):
        return _float_keys(column)
    if pa.types.is_boolean(kind) or _is_whole(kind):
        return _filled(column.cast(pa.int64()))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return _filled(column.view(pa.int32())).astype(np.int64)
    if pa.types.is_temporal(kind):
        return _filled(column.view(pa.int64()))
    if pa.types.is_struct(kind):
        return _struct_ranks(column)
    if pa.types.is_decimal128(kind):
        low, high = _words(column).T
        if (low >> 63 == high).all():
            return np.array(low)
    return _ranks(column)


def _filled(column: pa.Array) -> npt.NDArray[Any]:
    return numbers(pc.fill_null(column, 0))


def _float_keys(column: pa.Array) -> Int64s:
    values: Float64s = _filled(column.cast(pa.float64(), safe=False)) + 0.0  # −0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    return np.where(bits < 0, ~bits ^ _SIGN, bits)


def _struct_ranks(column: pa.StructArray) -> Int64s:
    keys: list[npt.NDArray[Any]] = []
    for field in column.flatten():
        present = numbers(pc.is_valid(field))
        keys += [present, np.where(present, sort_keys(field), 0)]
    order = np.lexsort(keys[::-1]) if keys else np.arange(len(column))
    grows = np.zeros(len(column), np.bool_)
    for key in keys:
        grows[1:] |= key[order[1:]] != key[order[:-1]]
    ranks = np.empty(len(column), np.int64)
    ranks[order] = np.cumsum(grows)
    return ranks


def _ranks(column: pa.Array) -> Int64s:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    coded = column.dictionary_encode()
    order = numbers(pc.sort_indices(coded.dictionary))
    rank = np.zeros(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    ranks: Int64s = rank[numbers(pc.fill_null(coded.indices, len(order)))]
    return ranks


@njit(cache=True, nogil=True)
def _prefix_sums(values: Int64s) -> Int64s:
    sums = np.empty(values.shape[0] + 1, np.int64)
    total = 0
    for i in range(values.shape[0]):
        sums[i] = total
        total += values[i]
    sums[values.shape[0]] = total
    return sums


@njit(cache=True, nogil=True)
def _scan_sums(view: View, runs: RunArrays, members: Bools, kept: Bools, values: Float64s) -> tuple[Float64s, Int64s]:
    every = kept.shape[0] == 0
    sums, counts = np.zeros(view.row.shape[0], np.float64), np.zeros(view.row.shape[0], np.int64)
    match, here, run, total, count = -1, 0, 0, 0.0, 0
    for k in range(view.row.shape[0]):
        if view.run[k] < 0:
            continue
        if view.match[k] != match:
            match = view.match[k]
            here, run, total, count = runs.start[match], runs.offsets[match], 0.0, 0
        while here <= view.row[k]:
            while here >= runs.stop[run]:
                run += 1
            upper = min(runs.stop[run], view.row[k] + 1)
            if members[runs.label[run]]:
                for i in range(here, upper):
                    if every or kept[i]:
                        total += values[i]
                        count += 1
            here = upper
        sums[k], counts[k] = total, count
    return sums, counts


@njit(cache=True, nogil=True)
def _scan_extremes(view: View, runs: RunArrays, members: Bools, kept: Bools, keys: Int64s) -> Int64s:
    every = kept.shape[0] == 0
    located = np.full(view.row.shape[0], -1, np.int64)
    match, here, run, best = -1, 0, 0, -1
    for k in range(view.row.shape[0]):
        if view.run[k] < 0:
            continue
        if view.match[k] != match:
            match = view.match[k]
            here, run, best = runs.start[match], runs.offsets[match], -1
        while here <= view.row[k]:
            while here >= runs.stop[run]:
                run += 1
            upper = min(runs.stop[run], view.row[k] + 1)
            if members[runs.label[run]]:
                for i in range(here, upper):
                    if (every or kept[i]) and (best < 0 or keys[i] > keys[best]):
                        best = i
            here = upper
        located[k] = best
    return located
