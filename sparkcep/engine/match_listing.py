"""Lists the matches that the match graph holds, one after the other, without recursion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import Nodes, Stream, Window
from sparkcep.engine.event_windows import in_window
from sparkcep.engine.match_graph import UNION
from sparkcep.engine.matches import Int32s, Int64s

LISTED, LISTED_EVENTS = range(2)


class Listing(NamedTuple):
    """Matches as lists of events.

    Attributes
    ----------
    offsets : int64[m + 1]
        Events of match i are ``offsets[i]:offsets[i + 1]``, in order of time.
    rows, components : int64[e], int32[e]
    completed, order, class_of : int64[m]
        Row of the event that completed it, order it belongs to, class.
    """

    offsets: Int64s
    rows: Int64s
    components: Int32s
    completed: Int64s
    order: Int64s
    class_of: Int64s


class Scratch(NamedTuple):
    """int64[s], int64[s], int64[longest]: nodes to visit, events behind them, the path so far."""

    nodes: Int64s
    depths: Int64s
    path: Int64s


def new_listing(matches: int, events: int) -> Listing:
    """Return room for some matches and events."""
    return Listing(
        np.zeros(matches + 1, np.int64),
        np.empty(events, np.int64),
        np.empty(events, np.int32),
        np.empty(matches, np.int64),
        np.empty(matches, np.int64),
        np.empty(matches, np.int64),
    )


def first_of(listing: Listing, count: int) -> Listing:
    """Return the first `count` matches."""
    events = int(listing.offsets[count])
    return Listing(
        listing.offsets[: count + 1], listing.rows[:events], listing.components[:events], listing.completed[:count],
        listing.order[:count], listing.class_of[:count],
    )  # fmt: skip


@compiled
def list_matches(
    nodes: Nodes,
    completions: Int64s,
    first: int,
    last: int,
    stream: Stream,
    window: Window,
    scratch: Scratch,
    listing: Listing,
    done: Int64s,
) -> int:
    """List the matches of completions ``first:last``.

    Parameters
    ----------
    done : int64[2]
        How many matches and events are listed so far; moved on.

    Returns
    -------
    int
        The completion to go on with: less than `last` when there is no room for all its matches.
    """
    for at in range(first, last):
        listed, events = done[LISTED], done[LISTED_EVENTS]
        if not _list_completion(nodes, completions, at, stream, window, scratch, listing, done):
            done[LISTED], done[LISTED_EVENTS] = listed, events
            return at
    return last


@inlined
def _list_completion(
    nodes: Nodes,
    completions: Int64s,
    at: int,
    stream: Stream,
    window: Window,
    scratch: Scratch,
    listing: Listing,
    done: Int64s,
) -> bool:
    row, top = completions[0, at], 1
    scratch.nodes[0], scratch.depths[0] = completions[1, at], 0
    while top > 0:
        top -= 1
        node, depth = scratch.nodes[top], scratch.depths[top]
        if not in_window(stream, window, nodes.last_start[node], row):
            continue
        left = nodes.left[node]
        if nodes.component[node] == UNION:
            scratch.nodes[top], scratch.depths[top] = nodes.right[node], depth
            scratch.nodes[top + 1], scratch.depths[top + 1] = left, depth
            top += 2
            continue
        scratch.path[depth] = node
        if left >= 0:
            scratch.nodes[top], scratch.depths[top] = left, depth + 1
            top += 1
        elif not _write(nodes, completions, at, scratch.path, depth + 1, listing, done):
            return False
    return True


@inlined
def _write(
    nodes: Nodes, completions: Int64s, at: int, path: Int64s, length: int, listing: Listing, done: Int64s
) -> bool:
    match, event = done[LISTED], done[LISTED_EVENTS]
    if match >= listing.completed.shape[0] or event + length > listing.rows.shape[0]:
        return False
    for i in range(length):
        node = path[length - 1 - i]
        listing.rows[event + i], listing.components[event + i] = nodes.row[node], nodes.component[node]
    listing.completed[match], listing.order[match] = completions[0, at], completions[2, at]
    listing.class_of[match] = completions[3, at]
    done[LISTED], done[LISTED_EVENTS] = match + 1, event + length
    listing.offsets[match + 1] = event + length
    return True


@compiled
def first_fewest(
    nodes: Nodes, node: int, stream: Stream, window: Window, row: int, floor: int, start: Int64s, length: Int64s
) -> int:
    """Find the earliest start at or behind `floor`, and the fewest events of a match from there to `node`.

    Parameters
    ----------
    start, length : int64[nodes]
        Scratch; `start` all −1 at first, and again afterwards but for the nodes below `node`, which
        hold their own answers.

    Returns
    -------
    int
        The lowest node that was looked at.
    """
    start[node] = 0
    lowest = node
    for at in range(node, -1, -1):
        if at < lowest:
            break
        if start[at] < 0:
            continue
        for child in (nodes.left[at], nodes.right[at]):
            if child >= 0 and _is_in_reach(nodes, child, stream, window, row, floor):
                start[child] = 0
                lowest = min(lowest, child)
    for at in range(lowest, node + 1):
        if start[at] < 0:
            continue
        left, right = nodes.left[at], nodes.right[at]
        if left < 0:
            start[at], length[at] = nodes.row[at], 1
            continue
        takes_left = _is_in_reach(nodes, left, stream, window, row, floor)
        chosen = left
        if nodes.component[at] == UNION:
            takes_right = _is_in_reach(nodes, right, stream, window, row, floor)
            better = start[right] < start[left] or (start[right] == start[left] and length[right] < length[left])
            chosen = right if not takes_left or (takes_right and better) else left
        start[at] = start[chosen]
        length[at] = length[chosen] + (0 if nodes.component[at] == UNION else 1)
    return lowest


@inlined
def _is_in_reach(nodes: Nodes, node: int, stream: Stream, window: Window, row: int, floor: int) -> bool:
    return nodes.last_start[node] >= floor and in_window(stream, window, nodes.last_start[node], row)


@compiled
def list_fewest(
    nodes: Nodes, completions: Int64s, at: int, start: Int64s, length: Int64s, scratch: Scratch, listing: Listing,
    done: Int64s, most: int,
) -> bool:  # fmt: skip
    """List the matches of a completion that start where `first_fewest` says and have no more events.

    Returns
    -------
    bool
        False when there is no room, or there are more than `most` of them.
    """
    root, top, before = completions[1, at], 1, done[LISTED]
    scratch.nodes[0], scratch.depths[0] = root, 0
    while top > 0:
        top -= 1
        node, depth = scratch.nodes[top], scratch.depths[top]
        if start[node] != start[root] or length[node] != length[root] - depth:
            continue
        left = nodes.left[node]
        if nodes.component[node] == UNION:
            for child in (nodes.right[node], left):
                scratch.nodes[top], scratch.depths[top] = child, depth
                top += 1
            continue
        scratch.path[depth] = node
        if left >= 0:
            scratch.nodes[top], scratch.depths[top] = left, depth + 1
            top += 1
        elif done[LISTED] - before >= most or not _write(
            nodes, completions, at, scratch.path, depth + 1, listing, done
        ):
            return False
    return True
