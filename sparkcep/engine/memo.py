"""Remembers choices that failed, under exact keys.

A choice is entered under its key before it is explored. Whoever meets the key again may fail
at once: the first visit has failed, or is still open below, in which case whatever the second
visit finds, the first one finds too. Choices on the way to a match have not failed; the trail
holds exactly those that are open, so a match takes just them out again.

Keys are an append-only list; a table of their indexes, open-addressed, finds them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.history import History
from sparkcep.engine.history_kernels import first_row, last_row
from sparkcep.engine.live_state import (
    COUNT_OF,
    DEPTH,
    FIRST_OF,
    FLOAT_OF,
    INTEGER_OF,
    LABEL_AT_FIRST,
    LABEL_AT_LAST,
    LABEL_FROM_END,
    LAST_OF,
    LIMIT,
    LOOP_COUNT,
    LOOP_PROGRESS,
    NUMBER,
    ROWS_OF,
    UNKEYED,
)
from sparkcep.engine.matches import Bools, Int64s

FRESH, KNOWN, NO_ROOM = range(3)
MAX_WORDS = 1 << 24
FIRST_KEYS = 1 << 10
NO_LABEL, NOT_YET = -1, -2
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_INDEX_BITS = 32


class Memo(NamedTuple):
    """Failed and open choices.

    Attributes
    ----------
    ranges, atoms
        What makes up the keys: see `sparkcep.engine.live_state.key_layout`.
    keys : int64[capacity, width]
        Instruction, row, values of the atoms.
    alive : bool[capacity]
        False for choices that turned out to lead to a match.
    table : int64[2^k]
        Generation in the upper half, index of a key plus 1 in the lower one.
    trail : int64[capacity]
        Indexes of the keys that are open, in order of entry.
    scratch : int64[width]
        The key in question.
    """

    ranges: Int64s
    atoms: Int64s
    keys: Int64s
    alive: Bools
    table: Int64s
    trail: Int64s
    scratch: Int64s


def new_memo(ranges: Int64s, atoms: Int64s, capacity: int) -> Memo:
    """Return an empty memo with room for `capacity` keys."""
    width = 2 + int((ranges[:, 1] - ranges[:, 0]).max(initial=0))
    slots = 1 << max(4, (2 * capacity - 1).bit_length())
    return Memo(
        ranges,
        atoms,
        keys=np.empty((capacity, width), np.int64),
        alive=np.zeros(capacity, np.bool_),
        table=np.zeros(slots, np.int64),
        trail=np.empty(capacity, np.int64),
        scratch=np.zeros(width, np.int64),
    )


def grown_memo(memo: Memo, count: int, generation: int) -> Memo:
    """Return a memo with the same `count` keys and four times the room."""
    grown = new_memo(memo.ranges, memo.atoms, 4 * len(memo.keys))
    grown.keys[:count] = memo.keys[:count]
    grown.alive[:count] = memo.alive[:count]
    grown.trail[: len(memo.trail)] = memo.trail
    _reindex(grown, count, generation)
    return grown


def may_grow(memo: Memo) -> bool:
    """Tell whether four times the room stays within MAX_WORDS."""
    return 4 * memo.keys.size <= MAX_WORDS


@compiled
def _reindex(memo: Memo, count: int, generation: int) -> None:
    mask = len(memo.table) - 1
    for key in range(count):
        width = 2 + memo.ranges[memo.keys[key, 0], 1] - memo.ranges[memo.keys[key, 0], 0]
        place = _hash(memo.keys[key], width) & mask
        while memo.table[place] >> _INDEX_BITS == generation:
            place = (place + 1) & mask
        memo.table[place] = (generation << _INDEX_BITS) + key + 1


@inlined
def _hash(key: Int64s, width: int) -> int:
    value = np.uint64(0)
    for i in range(width):
        value = (value ^ np.uint64(key[i])) * _MULTIPLIER
        value ^= value >> np.uint64(29)
    return int(np.int64(value >> np.uint64(1)))


@compiled
def enter(memo: Memo, width: int, count: int, generation: int) -> tuple[int, int]:
    """Enter the choice whose key is in ``memo.scratch``.

    Returns
    -------
    answer : int
        FRESH, KNOWN (fail at once) or NO_ROOM (nothing was entered).
    key : int
        The index of a FRESH key; `count` if it is a new one.
    """
    mask = len(memo.table) - 1
    place = _hash(memo.scratch, width) & mask
    while memo.table[place] >> _INDEX_BITS == generation:
        key = (memo.table[place] & ((1 << _INDEX_BITS) - 1)) - 1
        if _equals(memo, key, width):
            answer = KNOWN if memo.alive[key] else FRESH
            memo.alive[key] = True
            return answer, key
        place = (place + 1) & mask
    if count == len(memo.keys):
        return NO_ROOM, 0
    for i in range(width):
        memo.keys[count, i] = memo.scratch[i]
    memo.alive[count] = True
    memo.table[place] = (generation << _INDEX_BITS) + count + 1
    return FRESH, count


@inlined
def _equals(memo: Memo, key: int, width: int) -> bool:
    for i in range(width):  # noqa: SIM110 - a kernel's loop
        if memo.keys[key, i] != memo.scratch[i]:
            return False
    return True


@compiled
def write_key(
    memo: Memo,
    history: History,
    state: Int64s,
    loops: int,
    pc: int,
    row: int,
    start: int,
    limit: int,
    number: int,
) -> int:
    """Write the key of the choice at `pc` and `row` to ``memo.scratch``; return its width, or UNKEYED.

    `state` holds count and round start of each of `loops` loops, then the used parts of each permutation.
    """
    first, last = memo.ranges[pc, 0], memo.ranges[pc, 1]
    if first == UNKEYED:
        return UNKEYED
    memo.scratch[0] = pc
    memo.scratch[1] = row
    for at in range(first, last):
        kind, a = memo.atoms[at, 0], memo.atoms[at, 1]
        if kind < NUMBER:
            value = _of_history(history, kind, a, memo.atoms[at, 2], memo.atoms[at, 3], row - start, start)
        elif kind == NUMBER:
            value = number
        elif kind == LIMIT:
            value = limit
        elif kind == LOOP_COUNT:
            value = state[2 * a]
        elif kind == LOOP_PROGRESS:
            value = np.int64(state[2 * a + 1] < row)
        else:
            value = state[2 * loops + a]
        memo.scratch[2 + at - first] = value
    return int(2 + last - first)


@inlined
def _of_history(history: History, kind: int, a: int, b: int, c: int, taken: int, start: int) -> int:
    """Return the value of an atom of the match's past."""
    value = 0
    if kind == LAST_OF:
        value = last_row(history, a, b, taken, start)
    elif kind == FIRST_OF:
        value = first_row(history, a, b, taken, start)
        if value < 0:
            value = -1 - (taken if a < 0 else history.set_counts[taken, a])
    elif kind == DEPTH:
        value = min(taken, a + 1)
    elif kind == ROWS_OF:
        value = taken if a < 0 else history.set_counts[taken, a]
    elif kind == COUNT_OF:
        value = history.counts[taken, a]
    elif kind == INTEGER_OF:
        value = history.integers[taken, a]
    elif kind == FLOAT_OF:
        value = history.float_bits[taken, a]
    elif kind == LABEL_FROM_END:
        value = _variable(history, taken - 1 - a, taken)
    elif kind == LABEL_AT_LAST:
        at = last_row(history, a, b, taken, start)
        value = NO_LABEL if at < 0 else _variable(history, at + c - start, taken)
    elif kind == LABEL_AT_FIRST:
        at = first_row(history, a, b, taken, start)
        value = NO_LABEL if at < 0 else _variable(history, at + c - start, taken)
    return value


@inlined
def _variable(history: History, entry: int, taken: int) -> int:
    if entry < 0:
        return NO_LABEL
    return int(history.variables[entry]) if entry < taken else NOT_YET
