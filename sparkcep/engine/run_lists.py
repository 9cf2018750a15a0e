"""Lists of runs by class and state, the pool they live in, the table that finds equal ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import inlined
from sparkcep.engine.event_code import Vectors
from sparkcep.engine.event_tables import Awaited, Nodes, Runs
from sparkcep.engine.match_graph import add_union
from sparkcep.engine.matches import Int64s

(ROW, LIVE, FREE, TOP, NODES, COMPLETIONS, USED, PENDING, PEAK, VISITS, MERGED, CLASSES, EXPIRED, BUCKETS) = range(14)
CONTROL_SIZE = 14
DONE, NO_ROOM, OVER_BUDGET = range(3)
# What an event did to a run: its loop took it, or a next component would.
TOOK, BEGAN = 1, 2
START, SCRATCH_RUN = 0, 1
FEWEST_BUCKETS = 64
EMPTY, REMOVED = -1, -2
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Pools(NamedTuple):
    """Everything a matcher keeps between calls.

    Attributes
    ----------
    heads : int64[classes · states]
        First run of each list.
    buckets : int64[2^k · awaiting states]
        First run of each list of those that wait for a value, by a hash of class and value;
        ``control[BUCKETS]`` of the 2^k are in use.
    table : int64[2^k]
        Runs by a hash of what makes them equal.
    completions : int64[4, m]
        Row, node, order, class of what came to an end.
    last_witness : int64[gaps, classes]
        Row of the last event that satisfied a quick negation.
    class_counts : int64[classes]
        Rows of each class so far.
    expired : int64[4, m]
        Row, node, component that is waited for, row that its own window counts from (−1: none), of
        partial matches whose window closed; no room where nobody asks for them.
    """

    runs: Runs
    vectors: Vectors
    nodes: Nodes
    heads: Int64s
    buckets: Int64s
    table: Int64s
    completions: Int64s
    last_witness: Int64s
    class_counts: Int64s
    expired: Int64s


class Rules(NamedTuple):
    """Whether equal runs are merged, how many live ones there may be, the most edges out of a state.

    `times_out` tells whether partial matches whose window closes are asked for.
    """

    merges: bool
    max_live: int
    fan_out: int
    times_out: bool


@inlined
def new_run(pools: Pools, control: Int64s) -> int:
    """Return the place of a new run; there is room."""
    control[LIVE] += 1
    run = control[FREE]
    if run >= 0:
        control[FREE] = pools.runs.following[run]
        return run
    control[TOP] += 1
    return control[TOP] - 1


@inlined
def free_run(pools: Pools, control: Int64s, run: int) -> None:
    """Take a run out of the table and put it on the list of free ones."""
    if pools.runs.place[run] >= 0:
        pools.table[pools.runs.place[run]] = REMOVED
    pools.runs.place[run] = -1
    pools.runs.following[run] = control[FREE]
    control[FREE] = run
    control[LIVE] -= 1


@inlined
def put_run(awaited: Awaited, pools: Pools, rules: Rules, control: Int64s, run: int) -> None:
    """Put a run on its list, or merge it with an equal one."""
    runs = pools.runs
    if rules.merges:
        mask = pools.table.shape[0] - 1
        at, reused = np.int64(hash_run(runs, pools.vectors, run) & np.uint64(mask)), np.int64(-1)
        while pools.table[at] != EMPTY:
            other = pools.table[at]
            if other == REMOVED and reused < 0:
                reused = at
            if other >= 0 and is_equal(runs, pools.vectors, run, other):
                node = control[NODES]
                add_union(pools.nodes, node, runs.tip[other], runs.tip[run])
                control[NODES] += 1
                control[MERGED] += 1
                runs.tip[other] = node
                free_run(pools, control, run)
                return
            at = (at + 1) & mask
        # Equal runs follow one another to the same place: without reuse each would go one further.
        at, control[USED] = (reused, control[USED]) if reused >= 0 else (at, control[USED] + 1)
        pools.table[at] = run
        runs.place[run] = at
    link(awaited, pools, control, run)


@inlined
def link(awaited: Awaited, pools: Pools, control: Int64s, run: int) -> None:
    """Put a run on its list."""
    state, class_of = pools.runs.state[run], pools.runs.class_of[run]
    heads, place = pools.heads, class_of * awaited.slot.shape[0] + state
    slot = awaited.slot[state]
    if slot >= 0:
        value = (
            float_bits(pools.vectors.floats[run, slot])
            if awaited.is_float[state]
            else pools.vectors.integers[run, slot]
        )
        heads, place = pools.buckets, bucket_of(awaited, control, state, class_of, value)
    pools.runs.following[run] = heads[place]
    heads[place] = run


@inlined
def bucket_of(awaited: Awaited, control: Int64s, state: int, class_of: int, value: int) -> int:
    """Return the bucket of the runs that wait for a value; each state has its own ones."""
    mixed = (np.uint64(value) + np.uint64(class_of) * _MIX) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
    return np.int64((mixed >> np.uint64(32)) & np.uint64(control[BUCKETS] - 1)) * awaited.states + awaited.bucket[state]


@inlined
def float_bits(value: float) -> int:
    """Return the same number for doubles that Spark holds equal; others may share it."""
    if not np.isfinite(value):
        return np.int64(1)
    mantissa, exponent = math.frexp(value)
    return np.int64(mantissa * 2.0**53) + np.int64(exponent)


@inlined
def hash_run(runs: Runs, vectors: Vectors, run: int) -> np.uint64:
    """Hash what makes runs equal."""
    mixed = np.uint64(runs.state[run]) * _MIX + np.uint64(runs.class_of[run])
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX + np.uint64(runs.mode[run])
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX + np.uint64(runs.leaves[run])
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX + np.uint64(runs.stopped[run])
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX + vectors.nulls[run]
    for slot in range(vectors.integers.shape[1]):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX + np.uint64(vectors.integers[run, slot])
    return mixed ^ (mixed >> np.uint64(32))


@inlined
def is_equal(runs: Runs, vectors: Vectors, one: int, other: int) -> bool:
    """Tell whether two runs may do the same from now on."""
    if runs.state[one] != runs.state[other] or runs.class_of[one] != runs.class_of[other]:
        return False
    if runs.mode[one] != runs.mode[other] or vectors.nulls[one] != vectors.nulls[other]:
        return False
    if runs.leaves[one] != runs.leaves[other] or runs.stopped[one] != runs.stopped[other]:
        return False
    for slot in range(vectors.integers.shape[1]):
        if vectors.integers[one, slot] != vectors.integers[other, slot]:
            return False
    return True
