"""Picks non-overlapping matches from the match graph without listing the others.

All matches that one event completes end at that event, so at most one of them is output per class:
the one with the earliest start behind the last output match, the fewest events, the least positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparkcep.engine.compiled import compiled
from sparkcep.engine.event_tables import Nodes, Stream, Window
from sparkcep.engine.match_listing import (
    LISTED,
    LISTED_EVENTS,
    Listing,
    Scratch,
    first_fewest,
    first_of,
    list_fewest,
    new_listing,
)
from sparkcep.engine.matches import Int64s
from sparkcep.engine.run_pools import RunPools, too_many_matches

MOST_TIES = 100_000
UNLIMITED = 2**62
AT, GROUP, NUMBER, TIES = range(4)
_EVENTS_PER_MATCH = 4


def first_of_events(
    pools: RunPools, stream: Stream, count: int, borders: Int64s, ends: Int64s, group: tuple[int, int], limit: int
) -> Listing:
    """Return the matches that start earliest behind the one picked before and have the fewest events, by event.

    An event that completes such a match may complete several of them: the first in order is the one to pick.

    Parameters
    ----------
    count
        How many completions there are.
    borders : int64[b]
        Rows at which groups start.
    ends : int64[classes]
        The row of the event that completed the last match picked of each class; changed. Those of groups before are
        before all rows of a group.
    group
        How many groups have started up to the first event, and the number of the next match of the open one.
    limit
        How many matches of a group are picked.
    """
    nodes, graph = pools.live_nodes, pools.pools
    length = np.empty(nodes, np.int64)
    scratch = Scratch(np.empty(2 * nodes + 2, np.int64), np.empty(2 * nodes + 2, np.int64), length.copy())
    listing, done = new_listing(count, count * _EVENTS_PER_MATCH), np.zeros(2, np.int64)
    state, start = np.array([0, *group, 0], np.int64), np.full(nodes, -1, np.int64)
    while not _list_by_event(
        graph.nodes, graph.completions, count, stream, pools.program.tables.window, borders, ends, limit, start,
        length, scratch, listing, done, state,
    ):  # fmt: skip
        if state[TIES] >= MOST_TIES:
            raise too_many_matches()
        listing = _with_more_room(listing, int(done[LISTED]))
    return first_of(listing, int(done[LISTED]))


def _with_more_room(listing: Listing, count: int) -> Listing:
    larger = new_listing(2 * len(listing.completed), 2 * len(listing.rows))
    events = int(listing.offsets[count])
    larger.offsets[: count + 1] = listing.offsets[: count + 1]
    larger.rows[:events], larger.components[:events] = listing.rows[:events], listing.components[:events]
    larger.completed[:count], larger.order[:count] = listing.completed[:count], listing.order[:count]
    larger.class_of[:count] = listing.class_of[:count]
    return larger


@compiled
def _list_by_event(
    nodes: Nodes, completions: Int64s, count: int, stream: Stream, window: Window, borders: Int64s, ends: Int64s,
    limit: int, start: Int64s, length: Int64s, scratch: Scratch, listing: Listing, done: Int64s, state: Int64s,
) -> bool:  # fmt: skip
    """Go over the events that complete matches.

    Parameters
    ----------
    start, length, scratch
        As for `first_fewest` and `list_fewest`.
    state : int64[4]
        The next completion, how many groups have started, the number of the next match of the open one, and how
        many matches of one completion were listed when there was no room; changed.

    Returns
    -------
    bool
        False when there is no room: `state` and `done` are as they were in front of the event.
    """
    while state[AT] < count:
        first = last = state[AT]
        row, class_of = completions[0, first], completions[3, first]
        while last < count and completions[0, last] == row:
            last += 1
        while state[GROUP] < borders.shape[0] and borders[state[GROUP]] <= row:
            state[GROUP], state[NUMBER] = state[GROUP] + 1, 1
        listed, events = done[LISTED], done[LISTED_EVENTS]
        if state[NUMBER] <= limit and not _list_event(
            nodes, completions, first, last, stream, window, ends[class_of] + 1, start, length, scratch, listing, done,
            state,
        ):  # fmt: skip
            done[LISTED], done[LISTED_EVENTS] = listed, events
            return False
        if done[LISTED] > listed:
            ends[class_of] = row
            state[NUMBER] += 1
        state[AT] = last
    return True


@compiled
def _list_event(
    nodes: Nodes, completions: Int64s, first: int, last: int, stream: Stream, window: Window, floor: int,
    start: Int64s, length: Int64s, scratch: Scratch, listing: Listing, done: Int64s, state: Int64s,
) -> bool:  # fmt: skip
    """List what one event completes; False when there is no room."""
    for at in range(first, last):
        node, listed = completions[1, at], done[LISTED]
        if nodes.last_start[node] < floor:
            continue
        lowest = first_fewest(nodes, node, stream, window, completions[0, at], floor, start, length)
        complete = list_fewest(nodes, completions, at, start, length, scratch, listing, done, MOST_TIES)
        start[lowest : node + 1] = -1
        if not complete:
            state[TIES] = done[LISTED] - listed
            return False
    return True


def completions_by_event(completions: Int64s) -> Iterator[tuple[int, int, range]]:
    """Yield row, class and completions of each event; those of one event stand together."""
    rows, classes = completions[0], completions[3]
    borders = np.flatnonzero(np.diff(rows)) + 1
    for first, last in zip([0, *borders], [*borders, len(rows)], strict=True):
        yield int(rows[first]), int(classes[first]), range(int(first), int(last))
