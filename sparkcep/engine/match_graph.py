"""The shared match graph: nodes, unions, and letting go what can no longer be reached.

It takes the place of the versioned shared buffer (Agrawal et al. 2008, section 4.2): instead of
version numbers, every node knows the earliest and the latest first event below it.
"""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import Nodes, Stream, Window
from sparkcep.engine.event_windows import in_window, is_open
from sparkcep.engine.matches import Int64s

UNION = -1
NODE_WORDS = 9
# 10^38: counts from here on do not fit a decimal(38, 0); they stay at all ones.
LIMIT_HIGH, LIMIT_LOW = np.uint64(10**38 >> 64), np.uint64(10**38 & (2**64 - 1))
ALL_ONES = np.uint64(2**64 - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


def new_nodes(capacity: int) -> Nodes:
    """Return room for `capacity` nodes."""
    whole = [np.empty(capacity, np.int64) for _ in range(6)]
    row, left, right, first_start, last_start, longest = whole
    low, high = np.empty(capacity, np.uint64), np.empty(capacity, np.uint64)
    return Nodes(row, np.empty(capacity, np.int32), left, right, first_start, last_start, longest, low, high)


@inlined
def add_event(nodes: Nodes, node: int, row: int, component: int, left: int) -> None:
    """Write the node of an event that `component` took behind the matches of `left`."""
    nodes.row[node], nodes.component[node] = row, component
    nodes.left[node], nodes.right[node] = left, -1
    first = left < 0
    nodes.first_start[node] = row if first else nodes.first_start[left]
    nodes.last_start[node] = row if first else nodes.last_start[left]
    nodes.longest[node] = 1 if first else nodes.longest[left] + 1
    nodes.low[node] = _ONE if first else nodes.low[left]
    nodes.high[node] = _ZERO if first else nodes.high[left]


@inlined
def add_union(nodes: Nodes, node: int, left: int, right: int) -> None:
    """Write the union of two nodes."""
    nodes.row[node], nodes.component[node] = -1, UNION
    nodes.left[node], nodes.right[node] = left, right
    nodes.first_start[node] = min(nodes.first_start[left], nodes.first_start[right])
    nodes.last_start[node] = max(nodes.last_start[left], nodes.last_start[right])
    nodes.longest[node] = max(nodes.longest[left], nodes.longest[right])
    low, high = add_counts(nodes.low[left], nodes.high[left], nodes.low[right], nodes.high[right])
    nodes.low[node], nodes.high[node] = low, high


@inlined
def add_counts(
    low: np.uint64, high: np.uint64, more_low: np.uint64, more_high: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Add two counts; a sum of 10^38 and more becomes all ones and stays so."""
    if max(high, more_high) == ALL_ONES:
        return ALL_ONES, ALL_ONES
    total_low = low + more_low
    total_high = high + more_high + (_ONE if total_low < low else _ZERO)
    if total_high > LIMIT_HIGH or (total_high == LIMIT_HIGH and total_low >= LIMIT_LOW):
        return ALL_ONES, ALL_ONES
    return total_low, total_high


@compiled
def compact(
    nodes: Nodes,
    count: int,
    roots: Int64s,
    stream: Stream,
    window: Window,
    class_counts: Int64s,
    now: int,
    moved: Int64s,
) -> int:
    """Keep the nodes below `roots`, branches that fell out of the window at row `now` left out.

    Parameters
    ----------
    moved : int64[count]
        Filled in: the new place of each node, −1 where it is gone.

    Returns
    -------
    int
        How many nodes are left.
    """
    for node in range(count):
        moved[node] = -1
    for i in range(roots.shape[0]):
        if roots[i] >= 0:
            moved[roots[i]] = 0
    for node in range(count - 1, -1, -1):
        if moved[node] < 0:
            continue
        if not is_open(stream, window, class_counts, nodes.last_start[node], now):
            moved[node] = -1
            continue
        if nodes.left[node] >= 0:
            moved[nodes.left[node]] = 0
        if nodes.component[node] == UNION:
            moved[nodes.right[node]] = 0
    kept = 0
    for node in range(count):
        # A branch may have been marked before its last start was seen to be out of the window.
        if moved[node] < 0 or not is_open(stream, window, class_counts, nodes.last_start[node], now):
            moved[node] = -1
            continue
        kept = _move(nodes, node, kept, moved)
    return kept


@inlined
def _move(nodes: Nodes, node: int, place: int, moved: Int64s) -> int:
    """Write a node to its new place; a union with one branch left becomes that branch."""
    left = moved[nodes.left[node]] if nodes.left[node] >= 0 else np.int64(-1)
    if nodes.component[node] != UNION:
        moved[node] = place
        add_event(nodes, place, nodes.row[node], nodes.component[node], left)
        return place + 1
    right = moved[nodes.right[node]]
    if left < 0 or right < 0:
        moved[node] = max(left, right)
        return place
    moved[node] = place
    add_union(nodes, place, left, right)
    return place + 1


@compiled
def count_completions(
    nodes: Nodes, completions: Int64s, stream: Stream, window: Window, counted: Int64s, stack: Int64s, low: Int64s,
    high: Int64s, found: Int64s,
) -> None:  # fmt: skip
    """Count the matches of the first completions.

    Parameters
    ----------
    counted : int64[nodes]
        Scratch, all −1 at first: the row at which the count of a node in `low` and `high` was made.
    stack : int64[2 · nodes + 1]
    low, high : int64[nodes]
        Scratch.
    found : int64[2, k]
        Filled in: low and high words of the counts.
    """
    for i in range(found.shape[1]):
        row, node = completions[0, i], completions[1, i]
        _count_below(nodes, node, stream, window, row, counted, stack, low, high)
        found[0, i], found[1, i] = low[node], high[node]


@inlined
def _count_below(
    nodes: Nodes, node: int, stream: Stream, window: Window, row: int, counted: Int64s, stack: Int64s, low: Int64s,
    high: Int64s,
) -> None:  # fmt: skip
    """Count the matches that end in `node` and are inside of the window at `row`, those of other nodes on the way."""
    top, stack[0] = 1, node
    while top > 0:
        at = stack[top - 1]
        if counted[at] == row:
            top -= 1
            continue
        total_low, total_high, waits = _ZERO, _ZERO, False
        if _is_whole(nodes, at, stream, window, row):
            total_low, total_high = nodes.low[at], nodes.high[at]
        else:
            for child in (nodes.left[at], nodes.right[at]):
                if child < 0 or not in_window(stream, window, nodes.last_start[child], row):
                    continue
                if counted[child] != row:
                    stack[top] = child
                    top += 1
                    waits = True
                total_low, total_high = add_counts(total_low, total_high, np.uint64(low[child]), np.uint64(high[child]))
        if not waits:
            low[at], high[at], counted[at] = np.int64(total_low), np.int64(total_high), row
            top -= 1


@inlined
def _is_whole(nodes: Nodes, node: int, stream: Stream, window: Window, row: int) -> bool:
    """Whether all matches below a node are inside of the window."""
    return in_window(stream, window, nodes.first_start[node], row)
