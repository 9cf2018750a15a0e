"""The kernel of the `ordered` engine: binds events in any order of the components (lazy chain NFA).

For each event of the component that is bound first, events of the next one are looked up in its
sorted positions, within scoping bounds (Kolchinsky et al. 2015, section 5.1): behind the last bound
event of those that stand before it in the pattern, before the first one of those that stand behind
it, and where the window still holds all. The bounds go by the order of the pattern, never by the order
of binding, in which an event might be taken that no sequence allows for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.bound_rows import (
    BUCKET,
    EVALUATIONS,
    SHARED_CONTROL,
    first_above,
    first_as_late,
    first_behind,
    first_in_window,
    first_later,
    first_out_of_window,
    first_value,
    has_room,
    is_forbidden,
    is_in_time,
    is_true,
    write_match,
)
from sparkcep.engine.bound_tables import Positions, Rows
from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import EVENTS
from sparkcep.engine.event_windows import in_window, is_later
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.matches import Int64s
from sparkcep.engine.ordered_tables import Chain

# Besides what all searches count: the step to go on with.
STEP = SHARED_CONTROL
CONTROL_SIZE = SHARED_CONTROL + 1
DONE, FULL = range(2)


class Bound(NamedTuple):
    """The search: bound row per component, next and last candidate per step, rows of the bucket that may count.

    Attributes
    ----------
    rows : int64[k]
    cursor, limit : int64[k]
    scope : int64[3]
        The first and the last row that may take part in a match, and the first one that may end it.
    """

    rows: Int64s
    cursor: Int64s
    limit: Int64s
    scope: Int64s


def new_bound(components: int) -> Bound:
    """Return room for the search over so many components."""
    whole = [np.zeros(components, np.int64) for _ in range(3)]
    return Bound(whole[0], whole[1], whole[2], np.zeros(3, np.int64))


@compiled
def find(
    chain: Chain, given: Rows, positions: Positions, bound: Bound, ends: Int64s, lists: bool, listing: Listing,
    counts: Int64s, prefixes: Int64s, control: Int64s,
) -> int:  # fmt: skip
    """Find the matches whose last event is in rows ``ends[0]:ends[1]``; go on where `control` says.

    Parameters
    ----------
    lists
        Whether matches are listed; otherwise they are counted.
    listing
        Filled in.
    counts : int64[buckets]
        Matches are added up here.
    prefixes : int64[k]
        Partial matches, by number of events, are added up here.

    Returns
    -------
    int
        DONE, or FULL when there is no room for another match.
    """
    buckets, steps = positions.offsets.shape[1] - 1, chain.sequence.shape[0]
    while control[BUCKET] < buckets:
        bucket = control[BUCKET]
        if control[STEP] < 0:
            if not _is_promising(chain, given, positions, bound, ends, bucket):
                control[BUCKET] += 1
                continue
            control[STEP] = 0
            _scope(chain, given, positions, bound, bucket, 0)
        while control[STEP] >= 0:
            step = control[STEP]
            if bound.cursor[step] >= bound.limit[step]:
                control[STEP] -= 1
                continue
            if step == steps - 1 and chain.is_free and not lists:
                found = bound.limit[step] - bound.cursor[step]
                counts[bucket] += found
                prefixes[step] += found
                control[STEP] -= 1
                continue
            if lists and step == steps - 1 and not has_room(listing, control, steps):
                return FULL
            bound.rows[chain.sequence[step]] = positions.rows[bound.cursor[step]]
            bound.cursor[step] += 1
            if not _fits(chain, given, positions, bound, bucket, step, control):
                continue
            prefixes[step] += 1
            if step < steps - 1:
                control[STEP] += 1
                _scope(chain, given, positions, bound, bucket, step + 1)
            elif lists:
                write_match(
                    given.stream, bound.rows, steps, chain.first, chain.order, bound.rows[chain.end], listing, control
                )
            else:
                counts[bucket] += 1
        control[BUCKET] += 1
    return DONE


@inlined
def _is_promising(chain: Chain, given: Rows, positions: Positions, bound: Bound, ends: Int64s, bucket: int) -> bool:
    """Whether every component has an event in a bucket; sets the rows that may take part in a match."""
    first = first_behind(positions, chain.end, bucket, ends[0] - 1)
    last = first_behind(positions, chain.end, bucket, ends[1] - 1) - 1
    if last < first:
        return False
    row = positions.rows[first]
    if not in_window(given.stream, given.window, row, row):
        return False
    # Ordinals are those of a class, times those of all rows: the first row is as good as the first event.
    origin = row if given.window.kind == EVENTS else ends[0]
    bound.scope[0], bound.scope[1], bound.scope[2] = origin, ends[1] - 1, ends[0]
    for component in range(chain.sequence.shape[0]):
        low, high = positions.offsets[component, bucket], positions.offsets[component, bucket + 1]
        if low == high:
            return False
        at = first_in_window(given, positions.rows, low, high, origin)
        if at < high and component != chain.end:
            bound.scope[0] = min(bound.scope[0], positions.rows[at])
    return True


@inlined
def _scope(chain: Chain, given: Rows, positions: Positions, bound: Bound, bucket: int, step: int) -> None:
    """Find the candidates of a step: by the neighbours in the pattern that are bound, and by the window."""
    component, rows = chain.sequence[step], positions.rows
    low, high = _candidates(chain, positions, bound, bucket, step)
    lower, upper = np.int64(-1), np.int64(2**62)
    earliest, latest = np.int64(2**62), np.int64(-1)
    for before in range(step):
        other = chain.sequence[before]
        row = bound.rows[other]
        earliest, latest = min(earliest, row), max(latest, row)
        if chain.precedes[other, component]:
            lower = max(lower, row)
        elif chain.precedes[component, other]:
            upper = min(upper, row)
    if given.strict:
        if lower >= 0:
            low = first_later(given.stream, rows, low, high, lower)
        if upper < 2**62:
            high = first_as_late(given.stream, rows, low, high, upper)
    first, last = bound.scope[0], bound.scope[1]
    if component == chain.end:
        first = max(first, bound.scope[2])
    low = first_above(rows, low, high, max(lower, first - 1))
    high = first_above(rows, low, high, min(upper - 1, last))
    if step > 0:
        low = first_in_window(given, rows, low, high, latest)
        high = first_out_of_window(given, rows, low, high, earliest)
    bound.cursor[step], bound.limit[step] = low, high


@inlined
def _candidates(chain: Chain, positions: Positions, bound: Bound, bucket: int, step: int) -> tuple[int, int]:
    """Return the candidates of a step in a bucket: where they are looked up, those with the value of a bound event."""
    listed, source = chain.lists[step], chain.sources[step, 0]
    low, high = positions.offsets[listed, bucket], positions.offsets[listed, bucket + 1]
    if source < 0:
        return low, high
    row, column = bound.rows[source], chain.sources[step, 1]
    if positions.absent[column, row]:
        return low, low
    value = positions.keys[column, row]
    low = first_value(positions.values, low, high, value, False)
    return low, first_value(positions.values, low, high, value, True)


@inlined
def _fits(
    chain: Chain, given: Rows, positions: Positions, bound: Bound, bucket: int, step: int, control: Int64s
) -> bool:
    """Tell whether the event of a step goes with those that are bound."""
    return (
        _is_apart(chain, given, bound, step)
        and _is_in_time(chain, given, bound, step)
        and not _is_forbidden(chain, positions, bound, bucket, step)
        and _conditions_hold(chain, given, bound, step, control)
    )


@inlined
def _is_apart(chain: Chain, given: Rows, bound: Bound, step: int) -> bool:
    """Tell whether the event is another one than those of parts that may interleave with its own."""
    component = chain.sequence[step]
    row = bound.rows[component]
    for before in range(step):
        other = chain.sequence[before]
        if chain.precedes[other, component] or chain.precedes[component, other]:
            continue
        taken = bound.rows[other]
        if taken == row or (given.strict and not is_later(given.stream, min(taken, row), max(taken, row))):
            return False
    return True


@inlined
def _is_in_time(chain: Chain, given: Rows, bound: Bound, step: int) -> bool:
    """Tell whether components are near enough to those before them."""
    for at in range(chain.window_offsets[step], chain.window_offsets[step + 1]):
        component = chain.windows[at]
        if not is_in_time(given, bound.rows, chain.lasts, chain.before, component, chain.first + component):
            return False
    return True


@inlined
def _is_forbidden(chain: Chain, positions: Positions, bound: Bound, bucket: int, step: int) -> bool:
    """Tell whether a witness of a negation lies between its neighbours."""
    for at in range(chain.gap_offsets[step], chain.gap_offsets[step + 1]):
        if is_forbidden(positions, bound.rows, chain.lasts, chain.gap_before, chain.gap_after, chain.gaps[at], bucket):
            return True
    return False


@inlined
def _conditions_hold(chain: Chain, given: Rows, bound: Bound, step: int, control: Int64s) -> bool:
    """Tell whether all conditions of a step are TRUE; a candidate that is tested counts as one evaluation."""
    first, last = chain.test_offsets[step], chain.test_offsets[step + 1]
    if first < last:
        control[EVALUATIONS] += 1
    holds = True
    for at in range(first, last):
        holds = holds and is_true(given, bound.rows, chain.tests[at])
    return holds
