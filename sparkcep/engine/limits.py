"""How far a match may reach: WITHIN on the order values, and on the number of rows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numba import njit

from sparkcep.engine.matches import Float64s, Int64s, Rows, Search, UInt64s

OWN: tuple[Literal["C", "A", "W"], ...] = ("C", "A", "W")
"""What arrays have in common that kernels are compiled for: contiguous, aligned, writeable."""


def last_rows(rows: Rows, search: Search) -> Int64s:
    """Return the last row that a match from each row may reach.

    Returns
    -------
    Int64s
        int64[n], ascending within a group, one less than the row itself where not even one row
        fits; int64[0] if `search` has no limits.

    Raises
    ------
    ValueError
        `within` is given and `rows` have no order values.
    """
    if search.within is None and search.max_rows is None:
        return np.empty(0, np.int64)
    offsets = np.require(rows.group_offsets, np.int64, OWN)
    positions = np.arange(rows.count, dtype=np.int64)
    if search.within is not None:
        limits = _time_limits(rows, search, offsets, positions)
    else:
        limits = np.repeat(offsets[1:] - 1, np.diff(offsets))
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
        limits = _limits_of_floats(np.require(order, np.float64, OWN), offsets, float(within), bool(search.inclusive))
        return limits
    largest = 2**64 - 1
    whole = largest if math.isinf(within) else min(math.floor(within), largest)
    limits = _limits_of_whole(np.require(order, np.int64, OWN).view(np.uint64), offsets, np.uint64(whole))
    return limits


@njit(cache=True, nogil=True)
def _limits_of_whole(order: UInt64s, offsets: Int64s, within: np.uint64) -> Int64s:
    """Return int64[n]: per row the last row of its group at most `within` after it.

    `order` holds the bits of int64 values: in ascending order their differences, as unsigned
    numbers, are exact.
    """
    limits = np.empty(order.size, np.int64)
    for group in range(offsets.size - 1):
        behind = offsets[group]
        for row in range(offsets[group], offsets[group + 1]):
            behind = max(behind, row)
            while behind < offsets[group + 1] and order[behind] - order[row] <= within:
                behind += 1
            limits[row] = behind - 1
    return limits


@njit(cache=True, nogil=True)
def _limits_of_floats(order: Float64s, offsets: Int64s, within: float, inclusive: bool) -> Int64s:
    """Return int64[n] as `_limits_of_whole`; NaN equals NaN and is greater than all else, as in Spark."""
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


@njit(nogil=True)
def _distance(first: float, last: float) -> float:
    if first == last or (np.isnan(first) and np.isnan(last)):
        return 0.0
    return np.inf if np.isnan(last) else last - first
