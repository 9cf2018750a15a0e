"""Puts matches into their order: decision, earliest start, fewest events, positions in variable order."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.found_matches import Found
from sparkcep.engine.matches import Bools, Int32s, Int64s

SEPARATOR = -1


def in_order(found: Found, rank: Int64s, variable: Int32s, variables: int) -> Int64s:
    """Return matches in their order.

    Parameters
    ----------
    rank : int64[matches]
        What comes before everything else: when a match is decided.
    variable : int32[events]
        What took each event.
    variables
        How many there are.
    """
    return _sorted(found, rank, variable, variables)[0]


def in_order_once(found: Found, rank: Int64s, variable: Int32s, variables: int) -> Int64s:
    """Return matches in their order, equal ones once; parameters as for `in_order`."""
    order, keys, key_offsets = _sorted(found, rank, variable, variables)
    kept = np.ones(found.matches, np.bool_)
    _mark_repeated(order, rank, keys, key_offsets, kept)
    return order[kept]


def _sorted(found: Found, rank: Int64s, variable: Int32s, variables: int) -> tuple[Int64s, Int64s, Int64s]:
    """Return the order, and the keys that matches of one rank are sorted by."""
    count = found.matches
    ascends = bool((rank[1:] >= rank[:-1]).all())
    order = np.arange(count) if ascends else np.argsort(rank, kind="stable").astype(np.int64)
    keys = np.empty(int(found.offsets[-1]) + count * variables, np.int64)
    key_offsets = found.offsets + variables * np.arange(count + 1, dtype=np.int64)
    _keys(found.rows, found.offsets, variable, variables, keys, key_offsets)
    _sort_ties(order, np.empty_like(order), rank, found.rows, found.offsets, keys, key_offsets)
    return order, keys, key_offsets


@compiled
def _keys(rows: Int64s, offsets: Int64s, variable: Int32s, variables: int, keys: Int64s, key_offsets: Int64s) -> None:
    """Write, per match, the rows of each variable in turn, a separator behind each."""
    for match in range(offsets.shape[0] - 1):
        at = key_offsets[match]
        for one in range(variables):
            for event in range(offsets[match], offsets[match + 1]):
                if variable[event] == one:
                    keys[at] = rows[event]
                    at += 1
            keys[at] = SEPARATOR
            at += 1


@compiled
def _sort_ties(
    order: Int64s, scratch: Int64s, rank: Int64s, rows: Int64s, offsets: Int64s, keys: Int64s, key_offsets: Int64s
) -> None:
    """Sort the stretches of `order` that have one rank."""
    first = 0
    while first < order.shape[0]:
        last = first + 1
        while last < order.shape[0] and rank[order[last]] == rank[order[first]]:
            last += 1
        width = 1
        while width < last - first:
            for low in range(first, last, 2 * width):
                _merge(
                    order,
                    scratch,
                    low,
                    min(low + width, last),
                    min(low + 2 * width, last),
                    rows,
                    offsets,
                    keys,
                    key_offsets,
                )
            width *= 2
        first = last


@inlined
def _merge(
    order: Int64s, scratch: Int64s, low: int, middle: int, high: int, rows: Int64s, offsets: Int64s, keys: Int64s,
    key_offsets: Int64s,
) -> None:  # fmt: skip
    for i in range(low, high):
        scratch[i] = order[i]
    left, right = low, middle
    for i in range(low, high):
        takes_right = left >= middle or (
            right < high and _compare(scratch[right], scratch[left], rows, offsets, keys, key_offsets) < 0
        )
        if takes_right:
            order[i] = scratch[right]
            right += 1
        else:
            order[i] = scratch[left]
            left += 1


@inlined
def _compare(one: int, other: int, rows: Int64s, offsets: Int64s, keys: Int64s, key_offsets: Int64s) -> int:
    start = rows[offsets[one]] - rows[offsets[other]]
    if start != 0:
        return start
    length = (offsets[one + 1] - offsets[one]) - (offsets[other + 1] - offsets[other])
    if length != 0:
        return length
    for i in range(key_offsets[one + 1] - key_offsets[one]):
        difference = keys[key_offsets[one] + i] - keys[key_offsets[other] + i]
        if difference != 0:
            return difference
    return 0


@compiled
def _mark_repeated(order: Int64s, rank: Int64s, keys: Int64s, key_offsets: Int64s, kept: Bools) -> None:
    """Mark what equals the match before it: sorted, equal ones stand together."""
    for i in range(1, order.shape[0]):
        one, other = order[i - 1], order[i]
        length = key_offsets[one + 1] - key_offsets[one]
        if rank[one] != rank[other] or length != key_offsets[other + 1] - key_offsets[other]:
            continue
        same = True
        for k in range(length):
            if keys[key_offsets[one] + k] != keys[key_offsets[other] + k]:
                same = False
                break
        if same:
            kept[i] = False
