"""Puts matches into their order: decision, earliest start, fewest events, positions in variable order."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import Components
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.matches import Bools, Int64s

SEPARATOR = -1


def in_order(listing: Listing, count: int, rank: Int64s, components: Components, variables: int) -> Int64s:
    """Return the first `count` matches of a listing in their order, equal ones once.

    Parameters
    ----------
    rank : int64[count]
        What comes before everything else: when a match is decided.
    """
    order = np.argsort(rank, kind="stable").astype(np.int64)
    offsets = listing.offsets[: count + 1]
    keys = np.empty(int(offsets[-1]) + count * variables, np.int64)
    key_offsets = offsets + variables * np.arange(count + 1, dtype=np.int64)
    _keys(listing, count, components, variables, keys, key_offsets)
    _sort_ties(order, np.empty_like(order), rank, listing.rows, offsets, keys, key_offsets)
    kept = np.ones(count, np.bool_)
    _mark_repeated(order, rank, keys, key_offsets, kept)
    return order[kept]


@compiled
def _keys(
    listing: Listing, count: int, components: Components, variables: int, keys: Int64s, key_offsets: Int64s
) -> None:
    """Write, per match, the rows of each variable in turn, a separator behind each."""
    for match in range(count):
        at = key_offsets[match]
        for variable in range(variables):
            for event in range(listing.offsets[match], listing.offsets[match + 1]):
                if components.variable[listing.components[event]] == variable:
                    keys[at] = listing.rows[event]
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
