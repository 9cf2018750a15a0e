"""Kernels of the sweep matcher: mark what can still be accepted, then read off the matches.

Rows are swept in blocks. Going backwards over a block, each row gets the set of positions
that may take it such that acceptance stays reachable. With limits each such position also
gets the earliest last row that acceptance needs, so that one number tells for every start
whether the position is still open. Going forwards, the first open edge of each state is
taken: that is the preferred match, and no step is ever taken back.

Inner loops call no function with arrays: counting their references would cost more than a row.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparkcep.engine.automaton import ACCEPT
from sparkcep.engine.compiled import inlined
from sparkcep.engine.matches import PAST_LAST_ROW, TO_FIRST, TO_NEXT_ROW, Bools, Int32s, Int64s, UInt64s
from sparkcep.engine.sweep_tables import (
    COUNT,
    FAULT,
    FIRST_ROW,
    FOUND,
    GROUP,
    MATCH_FIELDS,
    MIN_BLOCK,
    NOT_BOUND,
    NOTHING,
    NUMBER,
    RESUME,
    ROW,
    RUNS,
    STEPS,
    Block,
    Graph,
    Int8s,
    Output,
    Rules,
    Sets,
    Window,
)

_BYTE = np.uint64(255)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)

_kernel = njit(cache=True, nogil=True)
_inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_inner
def _holds(word: np.uint64, position: int) -> bool:
    """Tell whether the word of a set that `position` belongs to has its bit."""
    return (word >> np.uint64(position & 63)) & _ONE != _ZERO


@_inner
def _mark_alive(sets: Sets, conditions: UInt64s, offsets: Int64s, window: Window, alive: UInt64s) -> None:
    """Fill `alive` for the rows of a block."""
    if alive.shape[1] > 1 or conditions.shape[0] > 1:
        _mark_alive_wide(sets, conditions, offsets, window, alive)
        return
    satisfied, preceding, accepting = sets.satisfied, sets.preceding, sets.accepting[0]
    variable_bytes, position_bytes, first = satisfied.shape[0], preceding.shape[0], window.first
    for group in range(window.groups - 1, window.group - 1, -1):
        low, high = max(offsets[group], first), min(offsets[group + 1], window.until)
        reach = sets.accepting_at_end[0] if group < window.closed and high == offsets[group + 1] else accepting
        if variable_bytes == 1 and position_bytes == 1:
            for row in range(high - 1, low - 1, -1):
                here = satisfied[0, conditions[0, row] & _BYTE, 0] & reach
                alive[row - first, 0] = here
                reach = accepting | preceding[0, here & _BYTE, 0]
            continue
        for row in range(high - 1, low - 1, -1):
            bits, here = conditions[0, row], _ZERO
            for k in range(variable_bytes):
                here |= satisfied[k, (bits >> np.uint64(8 * k)) & _BYTE, 0]
            here &= reach
            alive[row - first, 0] = here
            reach = accepting
            for k in range(position_bytes):
                reach |= preceding[k, (here >> np.uint64(8 * k)) & _BYTE, 0]


@_inner
def _mark_alive_wide(sets: Sets, conditions: UInt64s, offsets: Int64s, window: Window, alive: UInt64s) -> None:
    """Do as `_mark_alive` for any number of positions and variables."""
    satisfied, preceding, accepting = sets.satisfied, sets.preceding, sets.accepting
    words = alive.shape[1]
    reach = np.empty(words, np.uint64)
    for group in range(window.groups - 1, window.group - 1, -1):
        low, high = max(offsets[group], window.first), min(offsets[group + 1], window.until)
        closes = group < window.closed and high == offsets[group + 1]
        for w in range(words):
            reach[w] = sets.accepting_at_end[w] if closes else accepting[w]
        for row in range(high - window.first - 1, low - window.first - 1, -1):
            for w in range(words):
                alive[row, w] = _ZERO
            for k in range(satisfied.shape[0]):
                byte = (conditions[k >> 3, window.first + row] >> np.uint64(8 * (k & 7))) & _BYTE
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
def _mark_earliest(sets: Sets, graph: Graph, offsets: Int64s, window: Window, alive: UInt64s, earliest: Int32s) -> None:
    """Fill `earliest` for the positions that are alive on the rows of a block.

    Behind the last row of a group in the block nothing but acceptance is reachable.
    """
    edge_offsets, edge_targets, accepting, at_end = (
        graph.edge_offsets, graph.edge_targets, sets.accepting, sets.accepting_at_end
    )  # fmt: skip
    for group in range(window.groups - 1, window.group - 1, -1):
        low, high = max(offsets[group], window.first), min(offsets[group + 1], window.until)
        for row in range(high - window.first - 1, low - window.first - 1, -1):
            closes = row == high - window.first - 1
            for word in range(alive.shape[1]):
                here, accepted = alive[row, word], at_end[word] if closes else accepting[word]
                if here == _ZERO:
                    continue
                for position in range(64 * word, min(64 * word + 64, earliest.shape[1])):
                    if not _holds(here, position):
                        continue
                    best = np.int32(row)
                    if not _holds(accepted, position):
                        best = np.int32(0x7FFFFFFF)
                        for edge in range(edge_offsets[position], edge_offsets[position + 1]):
                            to = edge_targets[edge]
                            if to >= 0 and _holds(alive[row + 1, to >> 6], to) and earliest[row + 1, to] < best:
                                best = earliest[row + 1, to]
                    earliest[row, position] = best


@_inner
def _count_repeats(
    better: UInt64s, loops: Int32s, offsets: Int64s, window: Window, alive: UInt64s, repeats: Int32s
) -> None:
    """Fill `repeats` for the rows of a block."""
    for group in range(window.groups - 1, window.group - 1, -1):
        low, high = max(offsets[group], window.first), min(offsets[group + 1], window.until)
        for row in range(high - window.first - 1, low - window.first - 1, -1):
            for loop in range(loops.size):
                chosen = _holds(alive[row, loops[loop] >> 6], loops[loop])
                for word in range(alive.shape[1]):
                    chosen = chosen and alive[row, word] & better[loop, word] == _ZERO
                following = repeats[row + 1, loop] if row + 1 < high - window.first else 0
                repeats[row, loop] = following + 1 if chosen else 0


@_inner
def _repetitions(repeats: Int32s, earliest: Int32s, loop: int, position: int, row: int, last: int) -> int:
    """Return how many rows from block row `row` on the loop at `position` takes one after the other.

    Along a loop the earliest acceptance never moves forwards, so a limit cuts off a tail.
    """
    low, high = 0, min(np.int64(repeats[row, loop]), last - row + 1)
    if earliest.shape[0] == 0 or high == 0 or earliest[row + high - 1, position] <= last:
        return high
    while low < high:
        middle = (low + high) // 2
        if earliest[row + middle, position] <= last:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _following(
    skip: int, skip_labels: Bools, start: int, behind: int, run_label: Int32s, run_length: Int64s, first: int, runs: int
) -> int:
    """Return where to search on behind a match of rows start … behind − 1 in runs first … runs − 1.

    For skip targets NOT_BOUND or FIRST_ROW where the standard has an error.
    """
    if skip == TO_NEXT_ROW or behind == start:
        return start + 1
    if skip == PAST_LAST_ROW:
        return behind
    row, found = start, NOT_BOUND
    for run in range(first, runs):
        if skip_labels[run_label[run]]:
            found = row if skip == TO_FIRST else row + run_length[run] - 1
            if skip == TO_FIRST:
                break
        row += run_length[run]
    return FIRST_ROW if found == start else found


@inlined
def _next_start(chosen: Int8s, alive: UInt64s, source: int, later: int, row: int, stop: int) -> int:
    """Return the first row from `row` on that takes an edge, at most `stop`; later rows start from state `later`.

    Most rows of most data start nothing: they are passed over without the bookkeeping of a match.
    """
    while row < stop and chosen[source, alive[row, 0]] == NOTHING:
        source, row = later, row + 1
    return row


@inlined
def _take_rows(
    chosen: Int8s, alive: UInt64s, labels: Int32s, source: int, row: int, last: int, written: int, run_label: Int32s,
    run_length: Int64s,
) -> tuple[int, int, int, np.int32]:  # fmt: skip
    """Take edges over rows as long as one is open; write the runs behind the first `written` ones.

    Returns
    -------
    tuple
        State, next row, runs written, and what ended it: ACCEPT or, if there are no more rows or no more room, 0.
    """
    begun, target, label, before = row, np.int32(0), np.int32(-1), written
    while row <= last and written < run_label.size:
        to = np.int64(chosen[source, alive[row, 0]])
        if to < 0:
            target = np.int32(to)
            break
        if labels[to] != label:
            if written > before:
                run_length[written - 1] = row - begun
            begun, label, written = row, labels[to], written + 1
            run_label[written - 1] = label
        source, row = to, row + 1
    if written > before:
        run_length[written - 1] = row - begun
    return source, row, written, target


@inlined
def _take_edges(
    graph: Graph, block: Block, run_label: Int32s, run_length: Int64s, state: Int64s, source: int, row: int,
    written: int, last: int, end: int, limited: bool, closes: bool,
) -> tuple[int, int, np.int32]:  # fmt: skip
    """Do as `_take_rows` where limits and repeated loops count as well, or states have no table of choices.

    `closes` tells whether row `end`, behind the last one that is here, is behind the last one of the partition.
    """
    edge_offsets, edge_targets, labels, _, loop_of, chosen = graph
    alive, earliest, repeats = block
    label, target = np.int32(-1), np.int32(0)
    while target >= 0 and written < run_label.size:
        state[STEPS] += 1
        target, surveyed = np.int32(NOTHING), chosen.shape[1] > 0 and row <= last
        if surveyed:
            target = np.int32(chosen[source, alive[row, 0]])
            surveyed = not limited or target < 0 or earliest[row, target] <= last
        for edge in range(edge_offsets[source], edge_offsets[source if surveyed else source + 1]):
            to = edge_targets[edge]
            is_open = to == ACCEPT or (to < 0 and row == end and closes)
            if to >= 0 and row <= last and _holds(alive[row, to >> 6], to):
                is_open = not limited or earliest[row, to] <= last
            target = to if is_open else np.int32(NOTHING)
            if is_open:
                break
        if target >= 0:
            if labels[target] != label:
                label, written = labels[target], written + 1
                run_label[written - 1], run_length[written - 1] = label, 0
            source, row, taken = np.int64(target), row + 1, 1
            if repeats.shape[1] > 0 and row <= last and loop_of[target] >= 0:
                taken += _repetitions(repeats, earliest, loop_of[target], target, row, last)
            run_length[written - 1] += taken
            row += taken - 1
    return row, written, target


@_inner
def _read_off(graph: Graph, block: Block, offsets: Int64s, window: Window, rules: Rules, output: Output) -> bool:
    """Write the matches of the starts of a block behind those found so far.

    Goes on from ``state[ROW]``; returns True when all starts are done or one failed
    (``state[FAULT]``), False when there is no room for the match of that row.
    """
    labels, chosen, alive = graph.labels, graph.chosen, block.alive
    matches, run_label, run_length, state = output
    limits, at_start, skip, skip_labels = rules
    limited, first, positions = limits.size > 0, window.first, labels.size
    quick = chosen.shape[1] > 0 and not limited and block.repeats.shape[1] == 0
    group, start, number, count, runs = state[GROUP], state[ROW], state[NUMBER], state[COUNT], state[RUNS]
    while start < window.covered:
        while start >= offsets[group + 1]:
            group, number = group + 1, 1
        end, begins = offsets[group + 1] - first, start == offsets[group] and (group > 0 or at_start)
        source, last = positions + (0 if begins else 1), (limits[start] - first if limited else end - 1)
        row, written, target = start - first, runs, np.int32(0)
        if quick:
            passed = _next_start(chosen, alive, source, positions + 1, row, min(end, window.covered - first)) - row
            if passed > 0:
                start, state[STEPS] = start + passed, state[STEPS] + passed
                continue
            source, row, written, target = _take_rows(
                chosen, alive, labels, source, row, last, runs, run_label, run_length
            )
            state[STEPS] += row + first - start + (target < 0)
        if target >= 0 and written < run_label.size:
            row, written, target = _take_edges(
                graph, block, run_label, run_length, state, source, row, written, last, end, limited,
                group < window.closed,
            )  # fmt: skip
        if target == NOTHING:
            start += 1
            continue
        if target >= 0 or count == matches.shape[1]:
            break
        following = _following(skip, skip_labels, start, row + first, run_label, run_length, runs, written)
        if following < 0:
            state[FAULT] = following
            break
        matches[0, count], matches[1, count], matches[2, count] = group, start, row + first
        matches[3, count], matches[4, count] = number, written
        start, number, count, runs = following, number + 1, count + 1, written
    state[GROUP], state[ROW], state[NUMBER], state[COUNT], state[RUNS] = group, start, number, count, runs
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
def _next_window(offsets: Int64s, limits: Int64s, closed: int, group: int, start: int) -> Window:
    """Return the block that begins at `start`: the rest of some small groups, or a part of a large one.

    With limits a part reaches as far as its last start may, and its starts as far as its
    first start may: so no row is in more than two blocks, and a block is as long as a window.
    """
    groups = offsets.size - 1
    while group < groups and start >= offsets[group + 1]:
        group += 1
    upto = group
    while upto < closed and offsets[upto + 1] - start <= MIN_BLOCK:
        upto += 1
    if upto > group:
        return Window(start, offsets[upto], offsets[upto], group, upto, closed)
    if group == groups:
        return Window(start, start, start, group, group, closed)
    covered = offsets[group + 1] if group < closed else _open_start(limits, start, offsets[group + 1])
    until = offsets[group + 1]
    if limits.size > 0 and covered > start:
        covered = min(covered, max(start + MIN_BLOCK, limits[start] + 1))
        until = max(start, limits[covered - 1] + 1)
    return Window(start, covered, until, group, group + 1, closed)


@_inner
def _roomier(output: Output) -> Output:
    """Return `output` with twice the room."""
    rooms, runs = output.matches.shape[1], output.run_label.size
    matches = np.empty((MATCH_FIELDS, 2 * rooms), np.int64)
    for i in range(MATCH_FIELDS):
        for match in range(rooms):
            matches[i, match] = output.matches[i, match]
    run_label, run_length = np.empty(2 * runs, np.int32), np.empty(2 * runs, np.int64)
    for run in range(runs):
        run_label[run], run_length[run] = output.run_label[run], output.run_length[run]
    return Output(matches, run_label, run_length, output.state)


@_inner
def _new_block(rows: int, words: int, positions: int, loops: int, limited: bool, overlapping: bool) -> Block:
    return Block(
        np.empty((rows, words), np.uint64),
        np.empty((rows if limited else 0, positions), np.int32),
        np.empty((rows, loops if overlapping else 0), np.int32),
    )


@_kernel
def sweep_groups(
    sets: Sets, graph: Graph, offsets: Int64s, conditions: UInt64s, rules: Rules, complete: bool, first_number: int
) -> Output:
    """Match all groups; `complete`: the last one ends here."""
    limited, groups, overlapping = rules.limits.size > 0, offsets.size - 1, rules.skip != PAST_LAST_ROW
    words, positions, loops = sets.accepting.size, graph.labels.size, graph.loops.size
    closed = groups if complete else groups - 1
    state = np.array([0, offsets[0], first_number, 0, 0, offsets[-1], FOUND, 0], np.int64)
    # Room that is never written costs no memory.
    output = Output(
        np.empty((MATCH_FIELDS, offsets[-1] // 4 + 256), np.int64),
        np.empty(offsets[-1] // 2 + 1024, np.int32),
        np.empty(offsets[-1] // 2 + 1024, np.int64),
        state,
    )
    block = _new_block(np.int64(MIN_BLOCK), words, positions, loops, limited, overlapping)
    while True:
        window = _next_window(offsets, rules.limits, closed, state[GROUP], state[ROW])
        if window.covered <= window.first:
            break
        rows = window.until - window.first
        if rows > block.alive.shape[0]:
            block = _new_block(rows, words, positions, loops, limited, overlapping)
        _mark_alive(sets, conditions, offsets, window, block.alive)
        if limited:
            _mark_earliest(sets, graph, offsets, window, block.alive, block.earliest)
        if overlapping:
            _count_repeats(sets.better, graph.loops, offsets, window, block.alive, block.repeats)
        state[STEPS] += rows
        while not _read_off(graph, block, offsets, window, rules, output):
            output = _roomier(output)
        if state[FAULT] != FOUND:
            return output
    if not complete:
        state[RESUME] = state[ROW]
    if state[GROUP] < groups - 1:
        state[NUMBER] = 1
    return output
