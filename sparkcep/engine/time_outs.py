"""Partial matches whose window closed: what they waited for, and until when."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_code import Vectors
from sparkcep.engine.event_kernels import is_null
from sparkcep.engine.event_tables import EVENTS, NO_WINDOW, RunTables, Stream
from sparkcep.engine.event_windows import in_own_window, in_window
from sparkcep.engine.matches import Float64s, Int64s
from sparkcep.engine.run_lists import EXPIRED, Pools
from sparkcep.engine.run_modes import mode_passed_over

BY_WINDOW, NEVER = 1, 2


@inlined
def note_expired(
    tables: RunTables, stream: Stream, pools: Pools, control: Int64s, run: int, row: int, closed: bool
) -> None:
    """Note a run that ends at `row`, if a window ended it.

    Parameters
    ----------
    row
        The event at hand, or the row behind its group.
    closed
        Whether the window of the whole match has closed, or all have because the data end.
    """
    component = _waits_for(tables, pools.vectors, pools.runs.state[run], run)
    if component < 0:
        return
    node = pools.runs.tip[run]
    origin = _origin(tables, pools.vectors, component, tables.states.current[pools.runs.state[run]], run)
    if origin < 0 and tables.window.kind == NO_WINDOW:
        return
    if not closed and (origin < 0 or in_own_window(stream, tables.components.windows, component, origin, row)):
        return
    if _ended_before(tables, stream, pools, run, component, origin, row):
        return
    at = control[EXPIRED]
    pools.expired[0, at], pools.expired[1, at] = row, node
    pools.expired[2, at], pools.expired[3, at] = component, origin
    control[EXPIRED] = at + 1


@inlined
def _waits_for(tables: RunTables, vectors: Vectors, state: int, run: int) -> int:
    """Return the component that a run needs next, −1 if it may end where it is."""
    if not tables.states.is_sequence[state]:
        return -1
    current = tables.states.current[state]
    taken = tables.components.taken[current]
    if (
        tables.components.is_loop[current]
        and taken >= 0
        and vectors.integers[run, taken] < tables.components.least[current]
    ):
        return current
    return tables.states.following[state]


@inlined
def _origin(tables: RunTables, vectors: Vectors, component: int, current: int, run: int) -> int:
    """Return the row that the own window of a component counts from, −1 if it has none."""
    slot = tables.components.origin[component, 1 if component == current else 0]
    if slot < 0 or is_null(vectors.nulls[run], slot) or tables.components.windows.kind[component] == NO_WINDOW:
        return -1
    return vectors.integers[run, slot]


@inlined
def _ended_before(
    tables: RunTables, stream: Stream, pools: Pools, run: int, component: int, origin: int, row: int
) -> bool:
    """Tell whether an event that was not shown to a contiguous run had ended it while its windows were open."""
    runs, unseen = pools.runs, pools.runs.seen[run] + 1
    if not tables.contiguous or unseen >= row:
        return False
    if mode_passed_over(tables, runs.state[run], runs.leaves[run], runs.mode[run]):
        return False
    own = origin < 0 or in_own_window(stream, tables.components.windows, component, origin, unseen)
    return own and in_window(stream, tables.window, pools.nodes.last_start[runs.tip[run]], unseen)


@compiled
def deadlines(
    tables: RunTables, stream: Stream, firsts: Int64s, waiting: Int64s, origins: Int64s, timed: Int64s, whole: Int64s,
    fraction: Float64s,
) -> None:  # fmt: skip
    """Tell when the first of the windows of partial matches closed.

    Parameters
    ----------
    firsts, waiting, origins : int64[m]
        Row of the first event, component that is waited for, row its own window counts from or −1.
    timed : int64[m]
        Filled in: BY_WINDOW, or NEVER when a window of events closes behind the data.
    whole : int64[m]
    fraction : float64[m]
        Filled in: the order value, in the one that the order column has.
    """
    windows = tables.components.windows
    for i in range(firsts.shape[0]):
        timed[i] = NEVER
        own, window = waiting[i], tables.window
        _close(stream, window.kind, window.length, window.fraction, firsts[i], i, timed, whole, fraction)
        if origins[i] >= 0:
            _close(
                stream, windows.kind[own], windows.length[own], windows.fraction[own], origins[i], i, timed, whole,
                fraction,
            )  # fmt: skip


@inlined
def _close(
    stream: Stream, kind: int, length: int, distance: float, origin: int, i: int, timed: Int64s, whole: Int64s,
    fraction: Float64s,
) -> None:  # fmt: skip
    """Let the deadline of partial match `i` be no later than the end of a window from `origin` on."""
    if kind == NO_WINDOW:
        return
    if kind == EVENTS:
        origin, length, distance = row_at(stream, origin, length), 0, 0.0
        if origin < 0:
            return
    is_first = timed[i] == NEVER
    timed[i] = BY_WINDOW
    if stream.whole.shape[0]:
        moment = stream.whole[origin] + length
        whole[i] = moment if is_first else min(whole[i], moment)
    else:
        late = stream.fraction[origin] + distance
        fraction[i] = late if is_first or late < fraction[i] or np.isnan(fraction[i]) else fraction[i]


@inlined
def row_at(stream: Stream, origin: int, distance: int) -> int:
    """Return the row of the class `distance` events behind `origin`, −1 if it is behind the data."""
    for row in range(origin, min(stream.group_ends[origin], stream.classes.shape[0])):
        if stream.classes[row] == stream.classes[origin] and stream.ordinals[row] - stream.ordinals[origin] == distance:
            return row
    return -1
