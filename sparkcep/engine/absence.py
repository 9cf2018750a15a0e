"""Judges negations on whole matches: an event that satisfies one inside its gap forbids the match.

Only those come here that the place of their neighbours does not decide (see `Gaps.quick`):
at an end of the order, with a time of their own, or with a condition that reads other events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_code import Vectors
from sparkcep.engine.event_kernels import condition_holds, update_vector
from sparkcep.engine.event_tables import BEFORE, BEHIND, EVENTS, NO_WINDOW, RunTables
from sparkcep.engine.event_windows import in_own_window, in_window
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.matches import Float64s, Int64s, UInt64s
from sparkcep.engine.run_edges import Input
from sparkcep.engine.time_outs import row_at

OPEN_END = 2**62
DROPPED, KEPT, UNDECIDED = range(3)
BY_EVENT, BY_WINDOW, NEVER = range(3)


class Moments(NamedTuple):
    """Order values at which matches were decided: int64[m] or float64[m], as the order column is."""

    whole: Int64s
    fraction: Float64s


@compiled
def judge(
    tables: RunTables,
    given: Input,
    vectors: Vectors,
    initial_nulls: UInt64s,
    listing: Listing,
    count: int,
    verdicts: Int64s,
    timed: Int64s,
    moments: Moments,
) -> None:
    """Judge the first `count` matches of a listing.

    Parameters
    ----------
    vectors
        Run 1 of it is scratch.
    verdicts : int64[count]
        Filled in: DROPPED, KEPT, or UNDECIDED while a window is open.
    timed : int64[count]
        Filled in: BY_EVENT; BY_WINDOW when a window decides that closes at `moments`; NEVER when that
        window closes behind the data.
    moments
        Filled in.
    """
    for match in range(count):
        verdicts[match], timed[match] = KEPT, BY_EVENT
        replayed = False
        for gap in range(tables.gaps.quick.shape[0]):
            if tables.gaps.quick[gap] or tables.gaps.order[gap] != listing.order[match]:
                continue
            if tables.gaps.has_own[gap]:
                replayed = False  # what it reads depends on where in the match it is
            elif tables.gaps.test[gap] >= 0 and not replayed:
                _replay(tables, given, vectors, initial_nulls[0], listing, match, gap, 0)
                replayed = True
            verdict = _judge_gap(tables, given, vectors, initial_nulls[0], listing, match, gap)
            verdicts[match] = min(verdicts[match], verdict) if verdict == DROPPED else max(verdicts[match], verdict)
            if verdict == DROPPED:
                break
            if tables.gaps.trails[gap] and _ends_with(tables, listing, match, gap):
                _note_deadline(tables, given, listing, match, gap, timed, moments)


@inlined
def _replay(
    tables: RunTables,
    given: Input,
    vectors: Vectors,
    nulls: np.uint64,
    listing: Listing,
    match: int,
    gap: int,
    behind: int,
) -> None:
    """Let run 1 take the events of a match: its vector then holds what a gap right before event `behind` reads."""
    vectors.nulls[1] = nulls
    for slot in range(vectors.integers.shape[1]):
        vectors.integers[1, slot] = 0
    components, done = tables.components, np.uint64(0)
    seen, previous = np.int64(0), np.int64(-1)
    for event in range(listing.offsets[match], listing.offsets[match + 1]):
        component = np.int64(listing.components[event])
        bit = np.int64(1) << np.int64(components.local[component])
        takes = (
            (components.is_loop[component] and component == previous)
            if tables.gaps.is_sequential[gap]
            else seen & bit != 0
        )
        seen |= bit
        previous = component
        side = 2 if takes else 0
        first, last = components.updates[component, side], components.updates[component, side + 1]
        row = listing.rows[event]
        for at in range(first, last):
            slot = np.uint64(tables.updates[at, 1])
            own = tables.gaps.own[gap, tables.updates[at, 1]]
            is_known = (done >> slot) & np.uint64(1) != np.uint64(0)
            if (own == BEFORE and event >= behind) or (own == BEHIND and (event < behind or is_known)):
                continue
            done |= np.uint64(1) << slot
            update_vector(tables.updates, at, at + 1, given.operands, vectors, 1, row, row)


@inlined
def _previous(tables: RunTables, listing: Listing, match: int, gap: int) -> int:
    """Return the row of the last event before a gap, −1 if none stands before it."""
    found = -1
    for event in range(listing.offsets[match], listing.offsets[match + 1]):
        if tables.gaps.before[gap, listing.components[event]]:
            found = max(found, listing.rows[event])
    return found


@inlined
def _starts_with(tables: RunTables, listing: Listing, match: int, gap: int) -> bool:
    """Tell whether a match begins with what a gap at the start stands before."""
    first = listing.components[listing.offsets[match]]
    return not tables.gaps.is_sequential[gap] or tables.gaps.after[gap, first]


@inlined
def _ends_with(tables: RunTables, listing: Listing, match: int, gap: int) -> bool:
    """Tell whether a match ends in what a gap at the end stands behind."""
    last = listing.components[listing.offsets[match + 1] - 1]
    return not tables.gaps.is_sequential[gap] or tables.gaps.before[gap, last]


@inlined
def _judge_gap(
    tables: RunTables, given: Input, vectors: Vectors, nulls: np.uint64, listing: Listing, match: int, gap: int
) -> int:
    gaps, first, last = tables.gaps, listing.offsets[match], listing.offsets[match + 1]
    if gaps.leads[gap]:
        if not _starts_with(tables, listing, match, gap):
            return KEPT
        if gaps.has_own[gap]:
            _replay(tables, given, vectors, nulls, listing, match, gap, first)
        return _judge_start(tables, given, vectors, listing.rows[first], listing.rows[last - 1], gap)
    if gaps.trails[gap] and not _ends_with(tables, listing, match, gap):
        return KEPT
    if gaps.trails[gap] or not gaps.is_sequential[gap]:
        previous, following = _previous(tables, listing, match, gap), np.int64(OPEN_END)
        for event in range(first, last):
            if gaps.after[gap, listing.components[event]]:
                following = min(following, listing.rows[event])
        if gaps.has_own[gap]:
            _replay(tables, given, vectors, nulls, listing, match, gap, last)
        return _judge_between(tables, given, vectors, listing, match, gap, previous, following)
    for event in range(first, last - 1):
        # A loop that goes on keeps its component: a gap lies where one component ends and the next one begins.
        if gaps.before[gap, listing.components[event]] and gaps.after[gap, listing.components[event + 1]]:
            previous, following = listing.rows[event], listing.rows[event + 1]
            if gaps.has_own[gap]:
                _replay(tables, given, vectors, nulls, listing, match, gap, event + 1)
            verdict = _judge_between(tables, given, vectors, listing, match, gap, previous, following)
            if verdict != KEPT:
                return verdict
    return KEPT


@inlined
def _judge_start(tables: RunTables, given: Input, vectors: Vectors, first: int, last: int, gap: int) -> int:
    """Judge a gap before the first event of a match."""
    stream, gaps = given.stream, tables.gaps
    own = gaps.windows.kind[gap] != NO_WINDOW
    for row in range(first - 1, -1, -1):
        if stream.group_ends[row] != stream.group_ends[first]:
            return KEPT
        if stream.classes[row] != stream.classes[first]:
            continue
        near = (
            in_own_window(stream, gaps.windows, gap, row, first) if own else in_window(stream, tables.window, row, last)
        )
        if not near:
            return KEPT
        if _is_witness(tables, given, vectors, gap, row):
            return DROPPED
    return KEPT


@inlined
def _judge_between(
    tables: RunTables,
    given: Input,
    vectors: Vectors,
    listing: Listing,
    match: int,
    gap: int,
    previous: int,
    following: int,
) -> int:
    """Judge a gap between two events, or behind the last one."""
    stream, gaps = given.stream, tables.gaps
    first, last = listing.rows[listing.offsets[match]], listing.rows[listing.offsets[match + 1] - 1]
    own = gaps.windows.kind[gap] != NO_WINDOW
    end = min(following, stream.group_ends[first])
    for row in range(previous + 1, min(end, stream.classes.shape[0])):
        if stream.classes[row] != stream.classes[first]:
            continue
        if own and not in_own_window(stream, gaps.windows, gap, previous, row):
            return KEPT
        if following == OPEN_END and not own and not in_window(stream, tables.window, first, row):
            return KEPT
        if (following < OPEN_END or own or row > last) and _is_witness(tables, given, vectors, gap, row):
            return DROPPED
    return UNDECIDED if end == OPEN_END else KEPT


@inlined
def _is_witness(tables: RunTables, given: Input, vectors: Vectors, gap: int, row: int) -> bool:
    for word in range(given.stream.conditions.shape[0]):
        bits = tables.gaps.bits[gap, word]
        if given.stream.conditions[word, row] & bits != bits:
            return False
    return condition_holds(given.code, given.registers, given.operands, vectors, tables.gaps.test[gap], 1, row)


@inlined
def _note_deadline(
    tables: RunTables, given: Input, listing: Listing, match: int, gap: int, timed: Int64s, moments: Moments
) -> None:
    """Remember the latest moment at which a window at the end of a match closes."""
    stream = given.stream
    own = tables.gaps.windows.kind[gap] != NO_WINDOW
    origin = _previous(tables, listing, match, gap) if own else listing.rows[listing.offsets[match]]
    kind = tables.gaps.windows.kind[gap] if own else tables.window.kind
    length = tables.gaps.windows.length[gap] if own else tables.window.length
    fraction = tables.gaps.windows.fraction[gap] if own else tables.window.fraction
    if kind == EVENTS:
        origin, length, fraction = row_at(given.stream, origin, length), 0, 0.0
    if origin < 0 or timed[match] == NEVER:
        timed[match] = NEVER
        return
    first = timed[match] == BY_EVENT
    timed[match] = BY_WINDOW
    if stream.whole.shape[0]:
        moment = stream.whole[origin] + length
        moments.whole[match] = moment if first else max(moments.whole[match], moment)
    else:
        later = stream.fraction[origin] + fraction
        moments.fraction[match] = later if first else max(moments.fraction[match], later)
