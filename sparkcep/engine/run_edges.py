"""What an event does to one run of the `runs` engine: it is tested against the edges and taken along them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import inlined
from sparkcep.engine.event_code import ConditionCode, Operands, Vectors
from sparkcep.engine.event_kernels import condition_holds, is_null, update_vector
from sparkcep.engine.event_tables import EVENTS, LOOPING, WAITING, Components, RunTables, Stream
from sparkcep.engine.event_windows import in_own_window, is_later
from sparkcep.engine.match_graph import add_event
from sparkcep.engine.matches import Bools, Int64s, UInt64s
from sparkcep.engine.run_lists import (
    BEGAN,
    COMPLETIONS,
    NODES,
    PENDING,
    SCRATCH_RUN,
    TOOK,
    Pools,
    Rules,
    free_run,
    new_run,
    put_run,
)
from sparkcep.engine.slot_code import Registers

_ONE, _ZERO = np.uint64(1), np.uint64(0)


class Input(NamedTuple):
    """The rows of a call, where groups start, and what conditions need to read them."""

    stream: Stream
    starts: Bools
    operands: Operands
    code: ConditionCode
    registers: Registers


@inlined
def all_bits(conditions: UInt64s, row: int, bits: UInt64s, index: int) -> bool:
    """Tell whether an event satisfies all row conditions of an entry."""
    missing = _ZERO
    for word in range(conditions.shape[0]):
        missing |= bits[index, word] & ~conditions[word, row]
    return missing == _ZERO


@inlined
def stopped_loops(tables: RunTables, given: Input, pools: Pools, state: int, run: int, row: int, stopped: int) -> int:
    """Return the loops whose UNTIL has come, the event at `row` included."""
    components, first = tables.components, tables.states.first[state]
    for local in range(tables.states.size[state]):
        component = first + local
        if not components.has_until[component] or not (tables.states.relevant[state] >> local) & 1:
            continue
        if (stopped >> local) & 1 or not all_bits(given.stream.conditions, row, components.until_bits, component):
            continue
        if condition_holds(
            given.code, given.registers, given.operands, pools.vectors, components.until[component], run, row
        ):
            stopped |= 1 << local
    return stopped


@inlined
def try_edges(
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
        if not all_bits(given.stream.conditions, row, edges.bits, edge):
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
    return is_later(stream, vectors.integers[run, tables.strict_time], row)


@inlined
def is_late(tables: RunTables, stream: Stream, pools: Pools, run: int, row: int) -> bool:
    """Tell whether the own windows of all that a run may take have closed at `row`."""
    state, edges, components = pools.runs.state[run], tables.edges, tables.components
    if not tables.states.is_timed[state]:
        return False
    for edge in range(edges.offsets[state], edges.offsets[state + 1]):
        component = edges.component[edge]
        origin = components.origin[component, 1 if edges.takes[edge] else 0]
        if is_null(pools.vectors.nulls[run], origin):
            return False
        # Windows of events count those of one class.
        if components.windows.kind[component] == EVENTS and stream.classes[row] != pools.runs.class_of[run]:
            return False
        if in_own_window(stream, components.windows, component, pools.vectors.integers[run, origin], row):
            return False
    return True


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
        put_run(tables.awaited, pools, rules, control, new)


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
