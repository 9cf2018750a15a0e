"""The kernel of the `runs` engine: moves runs over events (NFA^b, Agrawal et al. 2008).

Runs are kept in lists by class and state, so that an event visits only the runs that wait for
something like it. Equal runs are merged: same state, same rights, same values that a later
condition can read. States are visited from the last to the first, and what an event adds to a state that
has not been visited is put in afterwards, so that no run sees an event twice.
"""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import Awaited, RunTables, Stream
from sparkcep.engine.event_windows import in_window, is_open
from sparkcep.engine.matches import Int64s, UInt64s
from sparkcep.engine.run_edges import Input, all_bits, is_late, stopped_loops, try_edges
from sparkcep.engine.run_lists import (
    BUCKETS,
    CLASSES,
    COMPLETIONS,
    DONE,
    EXPIRED,
    FEWEST_BUCKETS,
    LIVE,
    NO_ROOM,
    NODES,
    OVER_BUDGET,
    PEAK,
    PENDING,
    REMOVED,
    ROW,
    START,
    USED,
    VISITS,
    Pools,
    Rules,
    bucket_of,
    float_bits,
    free_run,
    is_equal,
    put_run,
)
from sparkcep.engine.run_modes import mode_after, mode_passed_over
from sparkcep.engine.time_outs import note_expired


@compiled
def advance(tables: RunTables, given: Input, rules: Rules, pools: Pools, control: Int64s) -> int:
    """Go on from row ``control[ROW]``.

    Returns
    -------
    int
        DONE; NO_ROOM when a pool is too small for the next row, OVER_BUDGET when too many runs live.
    """
    stream, states = given.stream, tables.states.current.shape[0]
    for row in range(control[ROW], stream.classes.shape[0]):
        control[ROW] = row
        if given.starts[row]:
            _end_group(tables, stream, rules, pools, control, row)
        if control[LIVE] > rules.max_live:
            return OVER_BUDGET
        if not _has_room(rules, pools, control):
            return NO_ROOM
        own = stream.classes[row]
        if own >= 0:
            stream.ordinals[row] = pools.class_counts[own]
            pools.class_counts[own] += 1
            control[CLASSES] = max(control[CLASSES], own + 1)
        elif not tables.has_until:
            continue
        first, last = (0, control[CLASSES]) if tables.has_until else (own, own + 1)
        for class_of in range(first, last):
            control[PENDING] = -1
            # Where nothing is alive, the start is all there is to visit.
            for step in range(0 if control[LIVE] else states, states + 1):
                state = states - 1 - step if step < states else states
                hears = class_of != own
                waits = tables.contiguous and state < states
                if waits or hears or _is_interesting(tables, stream.conditions, state, states, row):
                    _visit_lists(tables, given, rules, pools, control, state, class_of, row, hears)
            _put_pending(tables.awaited, pools, rules, control)
        if own >= 0:
            _note_witnesses(tables, stream.conditions, pools.last_witness, own, row)
        control[PEAK] = max(control[PEAK], control[LIVE])
    control[ROW] = stream.classes.shape[0]
    return DONE


@inlined
def _has_room(rules: Rules, pools: Pools, control: Int64s) -> bool:
    """Whether the next row can be taken whatever it does."""
    most = (control[LIVE] + 1) * rules.fan_out + 4
    free = pools.runs.state.shape[0] - 1 - control[LIVE]
    nodes = pools.nodes.row.shape[0] - control[NODES]
    table = pools.table.shape[0] // 2 - control[USED]
    completions = pools.completions.shape[1] - control[COMPLETIONS]
    if rules.times_out and pools.expired.shape[1] - control[EXPIRED] <= 2 * (most + control[LIVE]):
        return False
    if pools.buckets.shape[0] and control[LIVE] > 2 * control[BUCKETS]:
        return False
    return free > most and nodes > 2 * most + control[LIVE] and table > most + control[LIVE] and completions > most


@inlined
def _is_interesting(tables: RunTables, conditions: UInt64s, state: int, states: int, row: int) -> bool:
    """Whether an event can move a run of a state at all."""
    edges = tables.edges
    for edge in range(edges.offsets[state], edges.offsets[state + 1]):
        if all_bits(conditions, row, edges.bits, edge):
            return True
    if state == states:
        return False
    order_first = tables.states.first[state]
    for local in range(tables.states.size[state]):
        if tables.components.has_until[order_first + local] and (tables.states.relevant[state] >> local) & 1:
            return True
    return False


@inlined
def _note_witnesses(tables: RunTables, conditions: UInt64s, last_witness: Int64s, class_of: int, row: int) -> None:
    for gap in range(tables.gaps.quick.shape[0]):
        if tables.gaps.quick[gap] and all_bits(conditions, row, tables.gaps.bits, gap):
            last_witness[gap, class_of] = row


@compiled
def end_group(tables: RunTables, stream: Stream, rules: Rules, pools: Pools, control: Int64s) -> None:
    """Let go all runs behind the last row; classes start anew."""
    _end_group(tables, stream, rules, pools, control, stream.classes.shape[0])


@inlined
def _end_group(tables: RunTables, stream: Stream, rules: Rules, pools: Pools, control: Int64s, end: int) -> None:
    lists = control[CLASSES] * tables.states.current.shape[0]
    _end_runs(tables, stream, rules, pools, control, pools.heads, lists, end)
    _end_runs(tables, stream, rules, pools, control, pools.buckets, control[BUCKETS] * tables.awaited.states, end)
    control[BUCKETS] = FEWEST_BUCKETS
    for class_of in range(control[CLASSES]):
        pools.class_counts[class_of] = 0
        for gap in range(pools.last_witness.shape[0]):
            pools.last_witness[gap, class_of] = -1
    control[CLASSES] = 0


@inlined
def _end_runs(
    tables: RunTables,
    stream: Stream,
    rules: Rules,
    pools: Pools,
    control: Int64s,
    heads: Int64s,
    lists: int,
    end: int,
) -> None:
    for place in range(lists):
        run = heads[place]
        heads[place] = -1
        while run >= 0:
            following = pools.runs.following[run]
            if rules.times_out:
                note_expired(tables, stream, pools, control, run, end, True)
            free_run(pools, control, run)
            run = following


# -- one event ----------------------------------------------------------------------------------


@inlined
def _visit_lists(
    tables: RunTables,
    given: Input,
    rules: Rules,
    pools: Pools,
    control: Int64s,
    state: int,
    class_of: int,
    row: int,
    hears: bool,
) -> None:
    """Let an event pass the runs of a class in a state (the last one: the start) that it may move."""
    awaited, operands = tables.awaited, given.operands
    for at in range(awaited.offsets[state], awaited.offsets[state + 1]):
        column, heads = awaited.columns[at], pools.heads
        place = class_of * tables.states.current.shape[0] + state
        if column >= 0:
            heads = pools.buckets
            if awaited.is_float[state]:
                absent, value = operands.float_nulls[column, row], float_bits(operands.floats[column, row])
            else:
                absent, value = operands.integer_nulls[column, row], operands.integers[column, row]
            if absent:
                continue
            place = bucket_of(awaited, control, state, class_of, value)
        _visit(tables, given, rules, pools, control, heads, place, state, class_of, row, hears)


@inlined
def _visit(
    tables: RunTables,
    given: Input,
    rules: Rules,
    pools: Pools,
    control: Int64s,
    heads: Int64s,
    place: int,
    state: int,
    class_of: int,
    row: int,
    hears: bool,
) -> None:
    """Let an event pass the runs on a list.

    Runs that only hear of it, an event of another class, look out for UNTIL and nothing else.
    """
    runs, states = pools.runs, tables.states.current.shape[0]
    at_start = state == states
    previous, run = np.int64(-1), np.int64(START) if at_start else heads[place]
    if hears and at_start:
        run = np.int64(-1)
    while run >= 0:
        following = np.int64(-1) if at_start else runs.following[run]
        if not at_start and (runs.class_of[run] != class_of or runs.seen[run] >= row):
            # Lists of values hold several classes, and may be visited once more for another column.
            previous, run = run, following
            continue
        mode, stopped = runs.mode[run], runs.stopped[run]
        inside = at_start or _is_inside(tables, given.stream, pools, run, row, hears)
        alive = inside and (at_start or hears or not is_late(tables, given.stream, pools, run, row))
        if alive and not at_start:
            control[VISITS] += 1
            if tables.contiguous and not hears and runs.seen[run] < row - 1:
                mode = mode_passed_over(tables, state, runs.leaves[run], mode)
            stopped = stopped_loops(tables, given, pools, state, run, row, stopped)
        if alive and mode and not hears:
            outcome = try_edges(tables, given, rules, pools, control, state, class_of, run, row, mode, stopped)
            if not at_start and tables.states.is_sequence[state]:
                mode = mode_after(tables, state, runs.leaves[run], mode, outcome)
        if rules.merges and alive and mode == 0 and not at_start and _continues(pools, control, run):
            _continue(pools, control, run)
            mode, stopped = runs.mode[run], runs.stopped[run]
        if not at_start and (not alive or mode != runs.mode[run] or stopped != runs.stopped[run]):
            if previous < 0:
                heads[place] = following
            else:
                runs.following[previous] = following
            if alive and mode:
                _keep_changed(pools, control, run, mode, stopped)
            else:
                if rules.times_out:
                    note_expired(tables, given.stream, pools, control, run, row, not inside)
                free_run(pools, control, run)
        else:
            previous = run
        if not (at_start or hears):
            runs.seen[run] = row
        run = following


@inlined
def _put_pending(awaited: Awaited, pools: Pools, rules: Rules, control: Int64s) -> None:
    """Put runs on their lists that must not see the event again."""
    run = control[PENDING]
    while run >= 0:
        following = pools.runs.following[run]
        put_run(awaited, pools, rules, control, run)
        run = following


@inlined
def _continues(pools: Pools, control: Int64s, run: int) -> bool:
    """Tell whether the newest run that waits to be put in has grown out of a run and is equal to it."""
    runs, new = pools.runs, control[PENDING]
    if new < 0 or pools.nodes.left[runs.tip[new]] != runs.tip[run]:
        return False
    return is_equal(runs, pools.vectors, new, run)


@inlined
def _continue(pools: Pools, control: Int64s, run: int) -> None:
    """Let a run that would end go on as the newest one that waits: it keeps its places in list and table."""
    runs, new = pools.runs, control[PENDING]
    control[PENDING] = runs.following[new]
    runs.tip[run] = runs.tip[new]
    free_run(pools, control, new)


@inlined
def _is_inside(tables: RunTables, stream: Stream, pools: Pools, run: int, row: int, hears: bool) -> bool:
    """Tell whether the window of the youngest start of a run is open at an event of its own or another class."""
    start = pools.nodes.last_start[pools.runs.tip[run]]
    if hears:
        return is_open(stream, tables.window, pools.class_counts, start, row)
    return in_window(stream, tables.window, start, row)


@inlined
def _keep_changed(pools: Pools, control: Int64s, run: int, mode: int, stopped: int) -> None:
    """Take a run out of the table; it goes back to its list with the new ones."""
    runs = pools.runs
    if runs.place[run] >= 0:
        pools.table[runs.place[run]] = REMOVED
        runs.place[run] = -1
    runs.mode[run], runs.stopped[run] = mode, stopped
    runs.following[run] = control[PENDING]
    control[PENDING] = run
