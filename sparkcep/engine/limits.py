"""How far a match may reach from each row: WITHIN, by order value or by number of rows."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparkcep.engine.matches import Float64s, Int64s, Rows, Search, UInt64s


def row_limits(rows: Rows, search: Search) -> Int64s:
    """Return the last row that a match from each row may reach.

    Returns
    -------
    int64[n], or int64[0] without limits
        Never beyond the row's group; the row before the start where not even one row fits.

    Raises
    ------
    ValueError
        `search.within` is given, but `rows.order` is not.
    """
    offsets = np.require(rows.group_offsets, np.int64, ("C", "W"))
    positions = np.arange(rows.count, dtype=np.int64)
    if search.within is not None:
        limits = _time_limits(rows, search, offsets, positions)
    elif search.max_rows is not None:
        limits = np.repeat(offsets[1:] - 1, np.diff(offsets))
    else:
        return np.empty(0, np.int64)
    if search.max_rows is not None:
        limits = np.minimum(limits, positions + (min(search.max_rows, rows.count) - 1))
    return limits


def _time_limits(rows: Rows, search: Search, offsets: Int64s, positions: Int64s) -> Int64s:
    within, order = search.within, rows.order
    if order is None or within is None:
        raise ValueError("a limit on the order values needs the order values")
    if math.isnan(within) or within < 0:
        return positions - 1
    limits: Int64s
    if order.dtype.kind == "f":
        values = np.require(order, np.float64, ("C", "W"))
        limits = _limits_of_floats(values, offsets, float(within), bool(search.inclusive))
        return limits
    largest = 2**64 - 1
    whole = largest if math.isinf(within) else min(math.floor(within), largest)
    bits = np.require(order, np.int64, ("C", "W")).view(np.uint64)
    limits = _limits_of_integers(bits, offsets, np.uint64(whole))
    return limits


@njit(cache=True, nogil=True, error_model="numpy")
def _limits_of_integers(order: UInt64s, offsets: Int64s, within: np.uint64) -> Int64s:
    """Return the limits for the bits of int64 values: ascending, their unsigned differences are exact."""
    limits = np.empty(order.size, np.int64)
    for group in range(offsets.size - 1):
        behind = offsets[group]
        for row in range(offsets[group], offsets[group + 1]):
            behind = max(behind, row)
            while behind < offsets[group + 1] and order[behind] - order[row] <= within:
                behind += 1
            limits[row] = behind - 1
    return limits


@njit(cache=True, nogil=True, error_model="numpy")
def _limits_of_floats(order: Float64s, offsets: Int64s, within: float, inclusive: bool) -> Int64s:
    """Return the limits for doubles; NaN equals NaN and is greater than all else, as in Spark."""
    limits = np.empty(order.size, np.int64)
    for group in range(offsets.size - 1):
        behind = offsets[group]
        for row in range(offsets[group], offsets[group + 1]):
            behind = max(behind, row)
            while behind < offsets[group + 1]:
                distance = _distance(order[row], order[behind])
                if distance > within or (distance == within and not inclusive):
                    break
                behind += 1
            limits[row] = behind - 1
    return limits


@njit(cache=True, nogil=True, error_model="numpy")
def _distance(first: float, last: float) -> float:
    if first == last or (math.isnan(first) and math.isnan(last)):
        return 0.0
    return np.inf if math.isnan(last) else last - first
