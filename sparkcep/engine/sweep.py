"""The sweep matcher: row patterns whose conditions are all bits, in time linear in rows and output.

No backtracking: a backward pass over the rows tells which states can still be accepted, and
the preferred match is read off forwards. The method is that of ordered automata with
look-ahead sets; the preferred match is the one of ISO/IEC 19075-5, 4.14 and 4.16.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from sparkcep.engine.automaton import ACCEPT, ACCEPT_AT_END, Automaton
from sparkcep.engine.limits import OWN, last_rows
from sparkcep.engine.matches import Matches, Rows, Search, SearchFault, UInt64s
from sparkcep.engine.sweep_kernels import sweep_groups
from sparkcep.engine.sweep_tables import (
    COUNT,
    FAULT,
    FIRST_ROW,
    GROUP,
    NOT_BOUND,
    NOTHING,
    NUMBER,
    RESUME,
    ROW,
    RUNS,
    STEPS,
    Graph,
    Int8s,
    Output,
    Rules,
    Sets,
)

MAX_COUNTED_LOOPS = 64
_FAULTS = {NOT_BOUND: "target not bound", FIRST_ROW: "target is first row"}


def sweep(automaton: Automaton, rows: Rows, search: Search) -> Matches:
    """Find the matches of `automaton` in all groups of `rows`.

    Parameters
    ----------
    automaton
        The pattern; bit v of the conditions decides its variable v alone.
    rows
        Rows of whole groups; of the last one perhaps only the first rows (`Rows.complete`).
        `order` is needed with `within` only, its values ascend.
    search
        Skip mode and limits.

    Returns
    -------
    Matches
        `run_label` indexes ``automaton.labels``.

    Raises
    ------
    SearchFault
        "target not bound", "target is first row".
    """
    skipped = np.array([label.variable in search.skip_variables for label in automaton.labels], dtype=np.bool_)
    rules = Rules(last_rows(rows, search), bool(rows.at_start), int(search.skip), skipped)
    found = sweep_groups(
        *_tables(automaton),
        np.require(rows.group_offsets, np.int64, OWN),
        np.require(rows.conditions, np.uint64, OWN),
        rules,
        bool(rows.complete),
        int(rows.first_number),
    )
    return _matches(found)


def _matches(found: Output) -> Matches:
    state = found.state
    count, runs, fault = int(state[COUNT]), int(state[RUNS]), int(state[FAULT])
    if fault in _FAULTS:
        raise SearchFault(_FAULTS[fault], int(state[GROUP]), int(state[ROW]), int(state[NUMBER]))
    group_of, start, end, number, run_end = found.matches[:, :count]
    return Matches(
        group=group_of,
        start=start,
        end=end,
        number=number,
        run_offsets=np.concatenate([np.zeros(1, np.int64), run_end]),
        run_label=found.run_label[:runs],
        run_length=found.run_length[:runs],
        resume=int(state[RESUME]),
        next_number=int(state[NUMBER]),
        steps=int(state[STEPS]),
    )


@functools.lru_cache(maxsize=32)
def _tables(automaton: Automaton) -> tuple[Sets, Graph]:
    edges, positions = automaton.edges, len(automaton.positions)
    loops = [p for p in range(positions) if p in edges[p]][:MAX_COUNTED_LOOPS]
    loop_of = np.full(positions, -1, np.int32)
    loop_of[loops] = np.arange(len(loops))
    graph = Graph(
        edge_offsets=np.cumsum([0, *map(len, edges)]).astype(np.int32),
        edge_targets=np.array([target for targets in edges for target in targets], dtype=np.int32),
        labels=np.array(automaton.positions, dtype=np.int32),
        loops=np.array(loops, dtype=np.int32),
        loop_of=loop_of,
        chosen=_chosen(edges, positions),
    )
    return _sets(automaton, loops), graph


def _sets(automaton: Automaton, loops: Sequence[int]) -> Sets:
    edges, positions = automaton.edges, len(automaton.positions)
    words = max(1, -(-positions // 64))
    variables = [automaton.labels[label].variable for label in automaton.positions]
    by_variable = np.zeros((max(variables, default=-1) + 1, words), np.uint64)
    preceding = np.zeros((positions, words), np.uint64)
    for position, variable in enumerate(variables):
        here = _set_of([position], words)
        by_variable[variable] |= here
        for target in edges[position]:
            if target >= 0:
                preceding[target] |= here
    accepting = [p for p in range(positions) if ACCEPT in edges[p]]
    accepting_at_end = [p for p in range(positions) if ACCEPT in edges[p] or ACCEPT_AT_END in edges[p]]
    better = [_set_of([t for t in edges[p][: edges[p].index(p)] if t >= 0], words) for p in loops]
    return Sets(
        satisfied=_by_byte(by_variable),
        preceding=_by_byte(preceding),
        accepting=_set_of(accepting, words),
        accepting_at_end=_set_of(accepting_at_end, words),
        better=np.array(better, dtype=np.uint64).reshape(len(loops), words),
    )


def _chosen(edges: tuple[tuple[int, ...], ...], positions: int) -> Int8s:
    """Return `Graph.chosen`."""
    if positions > 8:
        return np.empty((len(edges), 0), np.int8)
    chosen = np.full((len(edges), 256), NOTHING, np.int8)
    sets = np.arange(256)
    for state, targets in enumerate(edges):
        for target in reversed(targets):
            if target == ACCEPT:
                chosen[state] = ACCEPT
            elif target >= 0:
                chosen[state, sets >> target & 1 == 1] = target
    return chosen


def _set_of(positions: Sequence[int], words: int) -> UInt64s:
    """Return uint64[words] with the bits of `positions` set."""
    bits = np.zeros(words, np.uint64)
    for position in positions:
        bits[position // 64] |= np.uint64(1 << position % 64)
    return bits


def _by_byte(sets: UInt64s) -> UInt64s:
    """Return uint64[k, 256, words]: the union of the sets 8 k + i over the bits i of a byte."""
    size, words = sets.shape
    padded = np.zeros((-(-size // 8), 8, words), np.uint64)
    padded.reshape(-1, words)[:size] = sets
    table = np.zeros((len(padded), 256, words), np.uint64)
    for bit in range(8):
        chosen = (np.arange(256) >> bit & 1).astype(np.bool_)
        table[:, chosen] |= padded[:, bit : bit + 1]
    return table
