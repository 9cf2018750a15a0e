"""Partial matches that inner nodes of a join tree store, in the order of their last events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.bound_tables import Rows
from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import NO_WINDOW, Stream, Window
from sparkcep.engine.event_windows import in_window, is_later
from sparkcep.engine.matches import Int64s

# What is stored of a partial match: first and last row, the one before with the same hash, the key; then its rows.
(FIRST, LAST, LINK, KEY, HEAD) = range(5)
FEWEST = 1024
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Stores(NamedTuple):
    """Stores, one behind the other, each with room for some items and with a hash table; arrays of length s.

    Attributes
    ----------
    items : int64[total]
        Item i of a store begins at ``base + i * width``.
    base, width, capacity, taken
        Where it begins, fields per item, items that there is room for, items that are there.
    sweep_at
        As soon as there are so many items, those that are out of the window are taken away.
    heads : int64[2 · capacities]
        The last item of each hash, −1 for none.
    head_base, bits
        Where the hash table begins, and the logarithm of its size.
    key_place, key_column
        Component and row of `Positions.keys` that items are looked up by; −1 where they are not.
    """

    items: Int64s
    base: Int64s
    width: Int64s
    capacity: Int64s
    taken: Int64s
    sweep_at: Int64s
    heads: Int64s
    head_base: Int64s
    bits: Int64s
    key_place: Int64s
    key_column: Int64s


def new_stores(sizes: Int64s, keys: Int64s, capacity: Int64s | None = None) -> Stores:
    """Return empty stores.

    Parameters
    ----------
    sizes : int64[s]
        Components per store.
    keys : int64[s, 2]
        What their items are looked up by; −1: nothing.
    capacity : int64[s]
        Room per store, powers of two.
    """
    if capacity is None:
        capacity = np.full(len(sizes), FEWEST, np.int64)
    width, tables = sizes + HEAD, np.where(keys[:, 0] >= 0, 2 * capacity, 0)
    base = np.cumsum([0, *(width * capacity)]).astype(np.int64)
    head_base = np.cumsum([0, *tables]).astype(np.int64)
    bits = np.array([int(room).bit_length() for room in capacity], np.int64)
    return Stores(
        np.empty(base[-1], np.int64), base[:-1], width, capacity, np.zeros(len(sizes), np.int64),
        np.full(len(sizes), FEWEST, np.int64), np.full(head_base[-1], -1, np.int64), head_base[:-1], bits,
        keys[:, 0].copy(), keys[:, 1].copy(),
    )  # fmt: skip


def grown(stores: Stores, store: int) -> Stores:
    """Return the same with twice the room in one store."""
    capacity = stores.capacity.copy()
    capacity[store] *= 2
    keys = np.stack([stores.key_place, stores.key_column], axis=1)
    found = new_stores(stores.width - HEAD, keys, capacity)
    for s in range(len(capacity)):
        old, new, size = stores.base[s], found.base[s], stores.taken[s] * stores.width[s]
        found.items[new : new + size] = stores.items[old : old + size]
    found.taken[:], found.sweep_at[:] = stores.taken, stores.sweep_at
    _link_all(found)
    return found


@compiled
def _link_all(stores: Stores) -> None:
    for store in range(stores.taken.shape[0]):
        for item in range(stores.taken[store]):
            _link(stores, store, item)


@inlined
def _slot(stores: Stores, store: int, key: int) -> int:
    hashed = (np.uint64(key) * _MULTIPLIER) >> np.uint64(64 - stores.bits[store])
    return stores.head_base[store] + np.int64(hashed)


@inlined
def _link(stores: Stores, store: int, item: int) -> None:
    """Put an item into the hash table, before all that are there."""
    if stores.key_place[store] < 0:
        return
    at = stores.base[store] + item * stores.width[store]
    slot = _slot(stores, store, stores.items[at + KEY])
    stores.items[at + LINK] = stores.heads[slot]
    stores.heads[slot] = item


@inlined
def is_full(stores: Stores, store: int) -> bool:
    """Tell whether there is no room for another item."""
    return stores.taken[store] == stores.capacity[store]


@inlined
def append(stores: Stores, store: int, first: int, last: int, key: int) -> int:
    """Add an item; return where it begins."""
    item = stores.taken[store]
    at = stores.base[store] + item * stores.width[store]
    stores.items[at + FIRST], stores.items[at + LAST], stores.items[at + KEY] = first, last, key
    _link(stores, store, item)
    stores.taken[store] = item + 1
    return at


@inlined
def head_of(stores: Stores, store: int, key: int) -> int:
    """Return the last item whose key has the same hash, −1 if there is none."""
    return stores.heads[_slot(stores, store, key)]


@inlined
def _unlink_all(stores: Stores, store: int) -> None:
    if stores.key_place[store] < 0:
        return
    for item in range(stores.taken[store]):
        key = stores.items[stores.base[store] + item * stores.width[store] + KEY]
        stores.heads[_slot(stores, store, key)] = -1


@inlined
def clear(stores: Stores) -> None:
    """Take all items away."""
    for store in range(stores.taken.shape[0]):
        _unlink_all(stores, store)
        stores.taken[store], stores.sweep_at[store] = 0, FEWEST


@inlined
def sweep(stores: Stores, stream: Stream, window: Window, store: int, row: int) -> int:
    """Take away the items that no event from `row` on can go with; return how many they were."""
    if window.kind == NO_WINDOW:
        stores.sweep_at[store] *= 2
        return 0
    _unlink_all(stores, store)
    count, width, base = stores.taken[store], stores.width[store], stores.base[store]
    left = 0
    for item in range(count):
        at, to = base + item * width, base + left * width
        if in_window(stream, window, stores.items[at + FIRST], row):
            for place in range(width):
                stores.items[to + place] = stores.items[at + place]
            _link(stores, store, left)
            left += 1
    stores.taken[store], stores.sweep_at[store] = left, max(FEWEST, 2 * left)
    return count - left


@inlined
def first_item_in_window(stores: Stores, given: Rows, store: int, row: int) -> int:
    """Return the first item whose last event is near enough to `row`."""
    if given.window.kind == NO_WINDOW:
        return 0
    low, high = np.int64(0), stores.taken[store]
    while low < high:
        middle = (low + high) // 2
        last = stores.items[stores.base[store] + middle * stores.width[store] + LAST]
        if in_window(given.stream, given.window, last, row):
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_item_out_of_scope(stores: Stores, given: Rows, store: int, low: int, row: int) -> int:
    """Return the first item, from `low` on, whose last event does not come before `row`."""
    high = stores.taken[store]
    while low < high:
        middle = (low + high) // 2
        last = stores.items[stores.base[store] + middle * stores.width[store] + LAST]
        if last >= row or (given.strict and not is_later(given.stream, last, row)):
            high = middle
        else:
            low = middle + 1
    return low
