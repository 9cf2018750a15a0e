"""Kernels of the sweep matcher: mark what can still be accepted, then read off the matches.

Rows are swept in blocks. Going backwards over a block, each row gets the set of positions
that may take it such that acceptance stays reachable. With limits each such position also
gets the earliest last row that acceptance needs, so that one number tells for every start
whether the position is still open. Going forwards, the first open edge of each state is
taken: that is the preferred match, and no step is ever taken back.

Inner loops call no function with arrays: counting their references would cost more than a row.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from sparkcep.engine.automaton import ACCEPT
from sparkcep.engine.matches import PAST_LAST_ROW, TO_FIRST, TO_NEXT_ROW, Bools, Float64s, Int32s, Int64s, UInt64s

Int8s: TypeAlias = npt.NDArray[np.int8]

NOTHING = -3
MIN_BLOCK = 1024
FOUND, NOT_BOUND, FIRST_ROW = 0, -1, -2
GROUP, ROW, NUMBER, COUNT, RUNS, RESUME, FAULT, STEPS = range(8)
MATCH_FIELDS = 5

_BYTE = np.uint64(255)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


class Sets(NamedTuple):
    """Sets of positions of an automaton of p positions, as w words of 64 bits.

    Attributes
    ----------
    satisfied : uint64[variable bytes, 256, w]
        Positions whose variable is among the bits of one byte of the conditions.
    preceding : uint64[position bytes, 256, w]
        Positions with an edge to a position among the bits of one byte of a set.
    accepting, accepting_at_end : uint64[w]
        Positions with an edge that accepts before any row, behind the last row of the partition.
    better : uint64[l, w]
        Positions that the state of loop l prefers to itself.
    """

    satisfied: UInt64s
    preceding: UInt64s
    accepting: UInt64s
    accepting_at_end: UInt64s
    better: UInt64s


class Graph(NamedTuple):
    """States and edges of an automaton of p positions.

    Attributes
    ----------
    edge_offsets : int32[p + 3]
        Edges of state s are ``edge_offsets[s]:edge_offsets[s + 1]``; the last two states are the starts.
    edge_targets : int32[edges]
        Positions, ACCEPT or ACCEPT_AT_END.
    labels : int32[p]
        Label of each position.
    loops : int32[l]
        Positions with an edge to themselves whose repetitions are counted.
    loop_of : int32[p]
        Index into `loops`, or −1.
    chosen : int8[p + 2, 256] | int8[p + 2, 0]
        First edge target of a state before a row, by the set of positions that may take the row;
        for up to 8 positions.
    """

    edge_offsets: Int32s
    edge_targets: Int32s
    labels: Int32s
    loops: Int32s
    loop_of: Int32s
    chosen: Int8s


class Block(NamedTuple):
    """What the backward pass knows of some rows.

    Attributes
    ----------
    alive : uint64[rows, w]
        Positions that may take the row such that acceptance is reachable.
    earliest : int32[rows, p] | int32[0, p]
        Block row of the earliest last row of such an acceptance; with limits only.
    repeats : int32[rows, l] | int32[rows, 0]
        How many rows from here on a loop takes one after the other; for overlapping matches only.
    """

    alive: UInt64s
    earliest: Int32s
    repeats: Int32s


class Window(NamedTuple):
    """Starts first … covered − 1 of a group that ends before row `end`.

    `behind` is the row behind the partition, counted from `first`, or −1 if it is not known;
    `anchored` is the first row of the partition, or −1 if it is not here.
    """

    first: int
    covered: int
    end: int
    behind: int
    anchored: int


class Output(NamedTuple):
    """What a sweep found.

    Attributes
    ----------
    matches : int64[5 m]
        Per match group, start, end, number, end of its runs.
    run_label, run_length : int32[r], int64[r]
        Runs of all matches.
    state : int64[8]
        At GROUP … STEPS: group and row where the search stands, number of its next match, how
        many matches and runs there are, first start left undecided, fault code, work done.
    """

    matches: Int64s
    run_label: Int32s
    run_length: Int64s
    state: Int64s


_kernel = njit(cache=True, nogil=True)
_inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_kernel
def limits_of_whole(order: UInt64s, offsets: Int64s, within: np.uint64) -> Int64s:
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


@_kernel
def limits_of_floats(order: Float64s, offsets: Int64s, within: float, inclusive: bool) -> Int64s:
    """Return int64[n] as `limits_of_whole`; NaN equals NaN and is greater than all else, as in Spark."""
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


@_inner
def _distance(first: float, last: float) -> float:
    if first == last or (np.isnan(first) and np.isnan(last)):
        return 0.0
    return np.inf if np.isnan(last) else last - first


@_inner
def _holds(word: np.uint64, position: int) -> bool:
    """Tell whether the word of a set that `position` belongs to has its bit."""
    return (word >> np.uint64(position & 63)) & _ONE != _ZERO


@_inner
def _mark_alive(sets: Sets, conditions: UInt64s, first: int, rows: int, closes: bool, alive: UInt64s) -> None:
    """Fill `alive` for `rows` rows from `first` on; `closes`: the partition ends behind them."""
    words, variable_bytes, position_bytes = alive.shape[1], sets.satisfied.shape[0], sets.preceding.shape[0]
    if words > 1 or conditions.shape[0] > 1:
        _mark_alive_wide(sets, conditions, first, rows, closes, alive)
        return
    satisfied, preceding, accepting = sets.satisfied, sets.preceding, sets.accepting[0]
    reach = sets.accepting_at_end[0] if closes else accepting
    if variable_bytes == 1 and position_bytes == 1:
        for row in range(rows - 1, -1, -1):
            here = satisfied[0, conditions[0, first + row] & _BYTE, 0] & reach
            alive[row, 0] = here
            reach = accepting | preceding[0, here & _BYTE, 0]
        return
    for row in range(rows - 1, -1, -1):
        bits, here = conditions[0, first + row], _ZERO
        for k in range(variable_bytes):
            here |= satisfied[k, (bits >> np.uint64(8 * k)) & _BYTE, 0]
        here &= reach
        alive[row, 0] = here
        reach = accepting
        for k in range(position_bytes):
            reach |= preceding[k, (here >> np.uint64(8 * k)) & _BYTE, 0]


@_inner
def _mark_alive_wide(sets: Sets, conditions: UInt64s, first: int, rows: int, closes: bool, alive: UInt64s) -> None:
    """Do as `_mark_alive` for any number of positions and variables."""
    satisfied, preceding, accepting = sets.satisfied, sets.preceding, sets.accepting
    words = alive.shape[1]
    reach = (sets.accepting_at_end if closes else accepting).copy()
    for row in range(rows - 1, -1, -1):
        for w in range(words):
            alive[row, w] = _ZERO
        for k in range(satisfied.shape[0]):
            byte = (conditions[k >> 3, first + row] >> np.uint64(8 * (k & 7))) & _BYTE
            if byte:
                for w in range(words):
                    alive[row, w] |= satisfied[k, byte, w]
        for w in range(words):
            alive[row, w] &= reach[w]
            reach[w] = accepting[w]
        for k in range(preceding.shape[0]):
            byte = (alive[row, k >> 3] >> np.uint64(8 * (k & 7))) & _BYTE
            if byte:
                for w in range(words):
                    reach[w] |= preceding[k, byte, w]


@_inner
def _mark_earliest(sets: Sets, graph: Graph, rows: int, closes: bool, alive: UInt64s, earliest: Int32s) -> None:
    """Fill `earliest` for the positions that are alive on the first `rows` rows of a block."""
    edge_offsets, edge_targets = graph.edge_offsets, graph.edge_targets
    accepting = sets.accepting_at_end if closes else sets.accepting
    for row in range(rows - 1, -1, -1):
        for word in range(alive.shape[1]):
            if alive[row, word] == _ZERO:
                continue
            for position in range(64 * word, min(64 * word + 64, earliest.shape[1])):
                if not _holds(alive[row, word], position):
                    continue
                best = np.int32(row)
                if not _holds(accepting[word], position):
                    best = np.int32(0x7FFFFFFF)
                    for edge in range(edge_offsets[position], edge_offsets[position + 1]):
                        target = edge_targets[edge]
                        if target >= 0 and _holds(alive[row + 1, target >> 6], target):
                            best = min(best, earliest[row + 1, target])
                earliest[row, position] = best
        accepting = sets.accepting


@_inner
def _count_repeats(better: UInt64s, loops: Int32s, rows: int, alive: UInt64s, repeats: Int32s) -> None:
    """Fill `repeats` for the first `rows` rows of a block."""
    for row in range(rows - 1, -1, -1):
        for loop in range(loops.size):
            chosen = _holds(alive[row, loops[loop] >> 6], loops[loop])
            for word in range(alive.shape[1]):
                chosen = chosen and alive[row, word] & better[loop, word] == _ZERO
            following = repeats[row + 1, loop] if row + 1 < rows else 0
            repeats[row, loop] = following + 1 if chosen else 0


@_inner
def _cut_by_limit(earliest: Int32s, position: int, row: int, count: int, last: int) -> int:
    """Return how many of `count` rounds of a loop, from block row `row` on, leave acceptance by row `last` open.

    Along a loop the earliest acceptance never moves forwards, so a tail is cut off.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if earliest[row + middle, position] <= last:
            low = middle + 1
        else:
            high = middle
    return low


@_inner
def _skip_target(
    skip: int, skip_labels: Bools, start: int, run_label: Int32s, run_length: Int64s, first: int, runs: int
) -> int:
    """Return the first or last row of the skip target in runs first … runs − 1, or NOT_BOUND, or FIRST_ROW."""
    row, found = start, NOT_BOUND
    for run in range(first, runs):
        if skip_labels[run_label[run]]:
            found = row if skip == TO_FIRST else row + run_length[run] - 1
            if skip == TO_FIRST:
                break
        row += run_length[run]
    return FIRST_ROW if found == start else found


@_inner
def _read_off(
    graph: Graph, block: Block, window: Window, limits: Int64s, skip: int, skip_labels: Bools, output: Output
) -> bool:
    """Write the matches of the starts of a block behind those found so far.

    Goes on from ``state[ROW]``; returns True when all starts are done or one failed
    (``state[FAULT]``), False when there is no room for the match of that row.
    """
    edge_offsets, edge_targets, labels, loop_of, chosen = (
        graph.edge_offsets, graph.edge_targets, graph.labels, graph.loop_of, graph.chosen
    )  # fmt: skip
    alive, earliest, repeats = block.alive, block.earliest, block.repeats
    matches, run_label, run_length, state = output.matches, output.run_label, output.run_length, output.state
    first, limited, repeating = window.first, limits.size > 0, repeats.shape[1] > 0
    start, count, runs, steps, number = state[ROW], state[COUNT], state[RUNS], state[STEPS], state[NUMBER]
    by_table, room = chosen.shape[1] > 0 and not limited, run_label.size - 1
    while start < window.covered:
        source = np.int64(labels.size if start == window.anchored else labels.size + 1)
        last = (limits[start] if limited else window.end - 1) - first
        row, label, length, written, target = start - first, np.int32(-1), 0, runs, np.int32(0)
        while True:
            steps += 1
            if by_table and row <= last:
                target = np.int32(chosen[source, alive[row, 0]])
            else:
                target = np.int32(NOTHING)
                for edge in range(edge_offsets[source], edge_offsets[source + 1]):
                    to = edge_targets[edge]
                    open_ = to == ACCEPT or (to < 0 and row == window.behind)
                    if to >= 0 and row <= last and _holds(alive[row, to >> 6], to):
                        open_ = not limited or earliest[row, to] <= last
                    if open_:
                        target = to
                        break
            if target < 0 or written == room:
                break
            if labels[target] != label:
                if length > 0:
                    run_label[written], run_length[written] = label, length
                    written += 1
                label, length = labels[target], 0
            row, length, source = row + 1, length + 1, np.int64(target)
            if repeating and row <= last and loop_of[target] >= 0:
                taken = min(np.int64(repeats[row, loop_of[target]]), last - row + 1)
                if limited and taken > 0 and earliest[row + taken - 1, target] > last:
                    taken = _cut_by_limit(earliest, target, row, taken, last)
                row, length = row + taken, length + taken
        if target == NOTHING:
            start += 1
            continue
        if target >= 0 or MATCH_FIELDS * count == matches.size:
            break
        if length > 0:
            run_label[written], run_length[written] = label, length
            written += 1
        following = row + first
        if skip == TO_NEXT_ROW or following == start:
            following = start + 1
        elif skip != PAST_LAST_ROW:
            following = _skip_target(skip, skip_labels, start, run_label, run_length, runs, written)
            if following < 0:
                state[FAULT] = following
                break
        at = MATCH_FIELDS * count
        matches[at], matches[at + 1], matches[at + 2] = state[GROUP], start, row + first
        matches[at + 3], matches[at + 4] = number, written
        runs, count, number, start = written, count + 1, number + 1, following
    state[ROW], state[COUNT], state[RUNS], state[STEPS], state[NUMBER] = start, count, runs, steps, number
    return start >= window.covered or state[FAULT] != FOUND


@_inner
def _open_start(limits: Int64s, begin: int, end: int) -> int:
    """Return the first start of an incomplete group whose window may still grow."""
    if limits.size == 0:
        return begin
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if limits[middle] < end - 1:
            low = middle + 1
        else:
            high = middle
    return low


@_inner
def _doubled(values: Int64s) -> Int64s:
    """Return a copy with twice the room."""
    larger = np.empty(2 * values.size, values.dtype)
    for i in range(values.size):
        larger[i] = values[i]
    return larger


@_inner
def _new_block(rows: int, words: int, positions: int, loops: int, limited: bool, overlapping: bool) -> Block:
    return Block(
        np.empty((rows, words), np.uint64),
        np.empty((rows if limited else 0, positions), np.int32),
        np.empty((rows, loops if overlapping else 0), np.int32),
    )


@_kernel
def sweep_groups(
    sets: Sets,
    graph: Graph,
    offsets: Int64s,
    conditions: UInt64s,
    limits: Int64s,
    complete: bool,
    at_start: bool,
    first_number: int,
    skip: int,
    skip_labels: Bools,
) -> Output:
    """Match all groups; `limits` int64[n] holds the last row each start may reach, int64[0] for no limits."""
    limited, groups, overlapping = limits.size > 0, offsets.size - 1, skip != PAST_LAST_ROW
    words, positions, loops = sets.accepting.size, graph.labels.size, graph.loops.size
    state = np.array([0, 0, first_number, 0, 0, offsets[-1], FOUND, 0], np.int64)
    output = Output(np.empty(MATCH_FIELDS * 256, np.int64), np.empty(1024, np.int32), np.empty(1024, np.int64), state)
    block = _new_block(np.int64(MIN_BLOCK), words, positions, loops, limited, overlapping)
    for group in range(groups):
        begin, end = offsets[group], offsets[group + 1]
        closes = complete or group < groups - 1
        stop = end if closes else _open_start(limits, begin, end)
        state[GROUP], state[ROW], state[NUMBER] = group, begin, (first_number if group == 0 else 1)
        while state[ROW] < stop:
            first, covered, top = state[ROW], stop, end - 1
            if limited:
                covered = min(stop, max(first + MIN_BLOCK, limits[first] + 1))
                top = limits[covered - 1]
            rows, at_end = max(0, top - first + 1), closes and top == end - 1
            if rows > block.alive.shape[0]:
                block = _new_block(rows, words, positions, loops, limited, overlapping)
            _mark_alive(sets, conditions, first, rows, at_end, block.alive)
            if limited:
                _mark_earliest(sets, graph, rows, at_end, block.alive, block.earliest)
            if overlapping:
                _count_repeats(sets.better, graph.loops, rows, block.alive, block.repeats)
            state[STEPS] += rows
            anchored = begin if group > 0 or at_start else -1
            window = Window(first, covered, end, end - first if closes else -1, anchored)
            while not _read_off(graph, block, window, limits, skip, skip_labels, output):
                matches, run_label, run_length, state = output
                output = Output(_doubled(matches), _doubled(run_label), _doubled(run_length), state)
            if state[FAULT] != FOUND:
                return output
        if not closes:
            state[RESUME] = state[ROW]
    return output
