"""The kernel of the `runs` engine: moves runs over events (NFA^b, Agrawal et al. 2008).

Runs are kept in lists by class and state, so that an event visits only the runs that wait for
something like it. Equal runs are merged: same state, same rights, same values that a later
condition can read. States are visited from the last to the first, and what an event adds to a state that
has not been visited is put in afterwards, so that no run sees an event twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_code import ConditionCode, Operands, Vectors, condition_holds, is_null, update_vector
from sparkcep.engine.event_tables import (
    LOOPING,
    WAITING,
    Components,
    RunTables,
    Stream,
    in_own_window,
    in_window,
    is_open,
)
from sparkcep.engine.match_graph import add_event
from sparkcep.engine.matches import Bools, Int64s, UInt64s
from sparkcep.engine.run_lists import (
    BEGAN,
    CLASSES,
    COMPLETIONS,
    DONE,
    EXPIRED,
    LIVE,
    NO_ROOM,
    NODES,
    OVER_BUDGET,
    PEAK,
    PENDING,
    REMOVED,
    ROW,
    SCRATCH_RUN,
    START,
    TOOK,
    USED,
    VISITS,
    Pools,
    Rules,
    free_run,
    is_equal,
    new_run,
    put_run,
)
from sparkcep.engine.run_modes import mode_after, mode_passed_over
from sparkcep.engine.slot_code import Registers
from sparkcep.engine.time_outs import note_expired

_ONE, _ZERO = np.uint64(1), np.uint64(0)


class Input(NamedTuple):
    """The rows of a call, where groups start, and what conditions need to read them."""

    stream: Stream
    starts: Bools
    operands: Operands
    code: ConditionCode
    registers: Registers


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
            for step in range(states + 1):
                state = states - 1 - step if step < states else states
                hears = class_of != own
                waits = tables.contiguous and state < states
                if waits or hears or _is_interesting(tables, stream.conditions, state, states, row):
                    _visit(tables, given, rules, pools, control, state, class_of, row, hears)
            _put_pending(pools, rules, control, states)
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
    return free > most and nodes > 2 * most + control[LIVE] and table > most + control[LIVE] and completions > most


@inlined
def _all_bits(conditions: UInt64s, row: int, bits: UInt64s, index: int) -> bool:
    missing = _ZERO
    for word in range(conditions.shape[0]):
        missing |= bits[index, word] & ~conditions[word, row]
    return missing == _ZERO


@inlined
def _is_interesting(tables: RunTables, conditions: UInt64s, state: int, states: int, row: int) -> bool:
    """Whether an event can move a run of a state at all."""
    edges = tables.edges
    for edge in range(edges.offsets[state], edges.offsets[state + 1]):
        if _all_bits(conditions, row, edges.bits, edge):
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
        if tables.gaps.quick[gap] and _all_bits(conditions, row, tables.gaps.bits, gap):
            last_witness[gap, class_of] = row


@compiled
def end_group(tables: RunTables, stream: Stream, rules: Rules, pools: Pools, control: Int64s) -> None:
    """Let go all runs behind the last row; classes start anew."""
    _end_group(tables, stream, rules, pools, control, stream.classes.shape[0])


@inlined
def _end_group(tables: RunTables, stream: Stream, rules: Rules, pools: Pools, control: Int64s, end: int) -> None:
    states = tables.states.current.shape[0]
    for class_of in range(control[CLASSES]):
        for place in range(class_of * states, (class_of + 1) * states):
            run = pools.heads[place]
            pools.heads[place] = -1
            while run >= 0:
                following = pools.runs.following[run]
                if rules.times_out:
                    note_expired(tables, stream, pools, control, run, end, True)
                free_run(pools, control, run)
                run = following
        pools.class_counts[class_of] = 0
        for gap in range(pools.last_witness.shape[0]):
            pools.last_witness[gap, class_of] = -1
    control[CLASSES] = 0


# -- one event ----------------------------------------------------------------------------------


@inlined
def _visit(
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
    """Let an event pass the runs of a class in a state (the last one: the start).

    Runs that only hear of it, an event of another class, look out for UNTIL and nothing else.
    """
    runs, states = pools.runs, tables.states.current.shape[0]
    at_start = state == states
    previous, run = np.int64(-1), np.int64(START) if at_start else pools.heads[class_of * states + state]
    if hears and at_start:
        run = np.int64(-1)
    while run >= 0:
        following = np.int64(-1) if at_start else runs.following[run]
        mode, stopped = runs.mode[run], runs.stopped[run]
        alive = at_start or _is_alive(tables, given.stream, pools, run, row, hears)
        if alive and not at_start:
            control[VISITS] += 1
            if tables.contiguous and not hears and runs.seen[run] < row - 1:
                mode = mode_passed_over(tables, state, runs.leaves[run], mode)
            stopped = _stopped(tables, given, pools, state, run, row, stopped)
        if alive and mode and not hears:
            outcome = _try_edges(tables, given, rules, pools, control, state, class_of, run, row, mode, stopped)
            if not at_start and tables.states.is_sequence[state]:
                mode = mode_after(tables, state, runs.leaves[run], mode, outcome)
        if rules.merges and alive and mode == 0 and not at_start and _continues(pools, control, run):
            _continue(pools, control, run)
            mode, stopped = runs.mode[run], runs.stopped[run]
        if not at_start and (not alive or mode != runs.mode[run] or stopped != runs.stopped[run]):
            if previous < 0:
                pools.heads[class_of * states + state] = following
            else:
                runs.following[previous] = following
            if alive and mode:
                _keep_changed(pools, control, run, mode, stopped)
            else:
                if rules.times_out:
                    note_expired(tables, given.stream, pools, control, run, row, not alive)
                free_run(pools, control, run)
        else:
            previous = run
        if not (at_start or hears):
            runs.seen[run] = row
        run = following


@inlined
def _put_pending(pools: Pools, rules: Rules, control: Int64s, states: int) -> None:
    """Put runs on their lists that must not see the event again."""
    run = control[PENDING]
    while run >= 0:
        following = pools.runs.following[run]
        put_run(pools, rules, control, states, run)
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
def _is_alive(tables: RunTables, stream: Stream, pools: Pools, run: int, row: int, hears: bool) -> bool:
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


@inlined
def _stopped(tables: RunTables, given: Input, pools: Pools, state: int, run: int, row: int, stopped: int) -> int:
    """Return the loops whose UNTIL has come, the event at `row` included."""
    components, first = tables.components, tables.states.first[state]
    for local in range(tables.states.size[state]):
        component = first + local
        if not components.has_until[component] or not (tables.states.relevant[state] >> local) & 1:
            continue
        if (stopped >> local) & 1 or not _all_bits(given.stream.conditions, row, components.until_bits, component):
            continue
        if condition_holds(
            given.code, given.registers, given.operands, pools.vectors, components.until[component], run, row
        ):
            stopped |= 1 << local
    return stopped


@inlined
def _try_edges(
    tables: RunTables,
    given: Input,
    rules: Rules,
    pools: Pools,
    control: Int64s,
    state: int,
    class_of: int,
    run: int,
    row: int,
    mode: int,
    stopped: int,
) -> int:
    """Follow every edge that the event satisfies; tell whether a loop took it, or a next component would."""
    outcome, edges, components = 0, tables.edges, tables.components
    for edge in range(edges.offsets[state], edges.offsets[state + 1]):
        component, takes = edges.component[edge], edges.takes[edge]
        if not _all_bits(given.stream.conditions, row, edges.bits, edge):
            continue
        if takes and not _may_take_more(components, pools.vectors, run, component, mode, stopped):
            continue
        if not _in_time(tables, given.stream, pools.vectors, run, component, takes, row):
            continue
        if not condition_holds(given.code, given.registers, given.operands, pools.vectors, edges.test[edge], run, row):
            continue
        if components.leave[component] >= 0 and not components.is_loop[component]:
            _take(tables, given, pools.vectors, edge, run, SCRATCH_RUN, row)
            if not _may_leave(tables, given, pools.vectors, SCRATCH_RUN, component, row):
                continue
        outcome |= TOOK if takes else BEGAN
        free = mode & WAITING != 0 or pools.runs.leaves[run] & edges.leaves[edge] == edges.leaves[edge]
        if takes or (free and not _forbidden(tables, pools, edge, run, class_of)):
            _extend(tables, given, rules, pools, control, edge, state, class_of, run, row, stopped)
    return outcome


@inlined
def _may_take_more(components: Components, vectors: Vectors, run: int, component: int, mode: int, stopped: int) -> bool:
    if not mode & LOOPING or (stopped >> np.int64(components.local[component])) & 1:
        return False
    most = components.most[component]
    return most < 0 or vectors.integers[run, components.taken[component]] < most


@inlined
def _in_time(
    tables: RunTables, stream: Stream, vectors: Vectors, run: int, component: int, takes: bool, row: int
) -> bool:
    """Tell whether the component's own window and strict_time allow for the event."""
    origin = tables.components.origin[component, 1 if takes else 0]
    waited = origin >= 0 and not is_null(vectors.nulls[run], origin)
    windows = tables.components.windows
    if waited and not in_own_window(stream, windows, component, vectors.integers[run, origin], row):
        return False
    if tables.strict_time < 0 or is_null(vectors.nulls[run], tables.strict_time):
        return True
    last = vectors.integers[run, tables.strict_time]
    if stream.whole.shape[0]:
        return stream.whole[last] < stream.whole[row]
    return stream.fraction[last] < stream.fraction[row] or (
        np.isnan(stream.fraction[row]) and not np.isnan(stream.fraction[last])
    )


@inlined
def _forbidden(tables: RunTables, pools: Pools, edge: int, run: int, class_of: int) -> bool:
    """Tell whether a witness of a negation came behind the component before it."""
    edges = tables.edges
    for at in range(edges.gap_offsets[edge], edges.gap_offsets[edge + 1]):
        gap = edges.gaps[at]
        if pools.last_witness[gap, class_of] > pools.vectors.integers[run, tables.gaps.edge[gap]]:
            return True
    return False


@inlined
def _extend(
    tables: RunTables,
    given: Input,
    rules: Rules,
    pools: Pools,
    control: Int64s,
    edge: int,
    state: int,
    class_of: int,
    run: int,
    row: int,
    stopped: int,
) -> None:
    """Make the run that takes the event along an edge; note the match if it is one."""
    runs, vectors, states = pools.runs, pools.vectors, tables.states
    component, target = tables.edges.component[edge], tables.edges.target[edge]
    new, node = new_run(pools, control), control[NODES]
    control[NODES] += 1
    add_event(pools.nodes, node, row, component, runs.tip[run])
    _take(tables, given, vectors, edge, run, new, row)
    if not tables.edges.takes[edge]:
        stopped &= ~(1 << np.int64(tables.components.local[component]))
    leaves = runs.leaves[run] | (1 << np.int64(tables.components.local[component]))
    if not _may_leave(tables, given, vectors, new, component, row):
        leaves ^= 1 << np.int64(tables.components.local[component])
    if states.final[target] >= 0 and leaves & states.final[target] == states.final[target]:
        at = control[COMPLETIONS]
        control[COMPLETIONS] += 1
        pools.completions[0, at], pools.completions[1, at] = row, node
        pools.completions[2, at], pools.completions[3, at] = tables.components.order[component], class_of
    if not states.is_open[target]:
        free_run(pools, control, new)
        return
    _forget(vectors, new, states.dead[target])
    runs.leaves[new], runs.stopped[new] = leaves & states.relevant[target], stopped & states.relevant[target]
    runs.state[new], runs.class_of[new], runs.tip[new], runs.seen[new] = target, class_of, node, row
    runs.mode[new] = LOOPING if states.is_loop[target] else WAITING
    if state < states.current.shape[0] and target <= state:
        runs.following[new] = control[PENDING]
        control[PENDING] = new
    else:
        put_run(pools, rules, control, states.current.shape[0], new)


@inlined
def _take(tables: RunTables, given: Input, vectors: Vectors, edge: int, run: int, new: int, row: int) -> None:
    """Let run `new` remember what `run` does when it takes the event along an edge."""
    for slot in range(vectors.integers.shape[1]):
        vectors.integers[new, slot] = vectors.integers[run, slot]
    vectors.nulls[new] = vectors.nulls[run]
    component, side = tables.edges.component[edge], 2 if tables.edges.takes[edge] else 0
    first, last = tables.components.updates[component, side], tables.components.updates[component, side + 1]
    update_vector(tables.updates, first, last, given.operands, vectors, new, row, row)


@inlined
def _may_leave(tables: RunTables, given: Input, vectors: Vectors, run: int, component: int, row: int) -> bool:
    """Tell whether a component has taken enough, and what must hold when it is left."""
    taken = tables.components.taken[component]
    if taken >= 0 and vectors.integers[run, taken] < tables.components.least[component]:
        return False
    return condition_holds(
        given.code, given.registers, given.operands, vectors, tables.components.leave[component], run, row
    )


@inlined
def _forget(vectors: Vectors, run: int, dead: np.uint64) -> None:
    """Give slots that nobody will read one value, so that runs can be equal."""
    for slot in range(vectors.integers.shape[1]):
        if (dead >> np.uint64(slot)) & _ONE != _ZERO:
            vectors.integers[run, slot] = 0
            vectors.nulls[run] &= ~(_ONE << np.uint64(slot))
