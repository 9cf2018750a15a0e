"""All matches that one event completes, as a small graph cut out of the match graph.

Matches that are out of the window are gone, and unions that only one node refers to are dissolved,
so that a graph is linear in the part of the match graph it comes from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import Nodes, Stream, Window
from sparkcep.engine.event_windows import in_window
from sparkcep.engine.match_graph import UNION
from sparkcep.engine.matches import Int32s, Int64s

_GONE, _SEEN, _DISSOLVED = -1, -2, -3


class ClosedGraph(NamedTuple):
    """The matches that end at one event.

    Nodes stand in order of time; a node without predecessors is the first event of a match.

    Attributes
    ----------
    rows : int64[n]
        Row of each node's event, −1 for a union of its predecessors.
    components : int32[n]
        What took the event, −1 for a union.
    offsets : int64[n + 1]
    preds : int32[e]
        Predecessors of node i are ``preds[offsets[i]:offsets[i + 1]]``, all less than i.
    roots : int32[r]
        The nodes that matches end in.
    """

    rows: Int64s
    components: Int32s
    offsets: Int64s
    preds: Int32s
    roots: Int32s

    def counts(self) -> list[int]:
        """Return how many beginnings of matches end in each node: exact, however many."""
        counts: list[int] = []
        preds, offsets = self.preds.tolist(), self.offsets.tolist()
        for node in range(len(self.rows)):
            before = preds[offsets[node] : offsets[node + 1]]
            counts.append(sum(counts[i] for i in before) if before else 1)
        return counts

    def total(self) -> int:
        """Return how many matches there are."""
        counts = self.counts()
        return sum(counts[root] for root in self.roots.tolist())


class GraphCutter:
    """Cuts closed graphs out of a match graph; scratch memory is shared by all of them.

    Parameters
    ----------
    nodes, size
        The match graph, and how many nodes it has.
    stream, window
        The rows at hand; the window of the whole match.
    """

    def __init__(self, nodes: Nodes, size: int, stream: Stream, window: Window) -> None:
        self.nodes, self.stream, self.window = nodes, stream, window
        self.marks: Int64s = np.full(size, _GONE, np.int64)
        self.uses: Int64s = np.zeros(size, np.int64)
        self.stack: Int64s = np.empty(size + 2, np.int64)

    def cut(self, row: int, ends: Int64s) -> ClosedGraph:
        """Return the matches that end in the nodes `ends`, all of them of the event at `row`."""
        found = np.zeros(2, np.int64)
        lowest = _mark(self.nodes, ends, self.stream, self.window, row, self.marks, self.uses, found)
        size, edges = int(found[0]), int(found[1])
        graph = ClosedGraph(
            np.empty(size, np.int64), np.empty(size, np.int32), np.zeros(size + 1, np.int64), np.empty(edges, np.int32),
            np.empty(edges, np.int32),
        )  # fmt: skip
        _cut(self.nodes, ends, lowest, self.stream, self.window, row, self.marks, self.uses, self.stack, graph, found)
        return graph._replace(preds=graph.preds[: graph.offsets[-1]], roots=graph.roots[: found[0]])


@compiled
def _mark(
    nodes: Nodes, ends: Int64s, stream: Stream, window: Window, row: int, marks: Int64s, uses: Int64s, found: Int64s
) -> int:
    """Mark what is below `ends` and inside of the window, count what refers to it; return the lowest node.

    `found` becomes the number of nodes that stay, and a bound on the number of their edges and roots.
    """
    lowest, highest, edges = ends[0], ends[0], ends.shape[0]
    for i in range(ends.shape[0]):
        marks[ends[i]] = _SEEN
        uses[ends[i]] += 1
        lowest, highest = min(lowest, ends[i]), max(highest, ends[i])
    kept, node = 0, highest
    while node >= lowest:
        if marks[node] != _GONE:
            if nodes.component[node] == UNION and uses[node] == 1:
                marks[node] = _DISSOLVED
            else:
                kept += 1
            for side in range(2):
                child = nodes.left[node] if side == 0 else nodes.right[node]
                if child >= 0 and in_window(stream, window, nodes.last_start[child], row):
                    marks[child] = _SEEN
                    uses[child] += 1
                    edges += 1
                    lowest = min(lowest, child)
        node -= 1
    found[0], found[1] = kept, edges
    return lowest


@compiled
def _cut(
    nodes: Nodes, ends: Int64s, lowest: int, stream: Stream, window: Window, row: int, marks: Int64s, uses: Int64s,
    stack: Int64s, graph: ClosedGraph, found: Int64s,
) -> None:  # fmt: skip
    """Write the marked nodes; `found[0]` becomes the number of roots, and the scratch is clean again."""
    highest = lowest
    for i in range(ends.shape[0]):
        highest = max(highest, ends[i])
    place, edge = 0, 0
    for node in range(lowest, highest + 1):
        uses[node] = 0
        if marks[node] == _GONE or marks[node] == _DISSOLVED:
            continue
        marks[node] = place
        graph.rows[place], graph.components[place] = nodes.row[node], nodes.component[node]
        for side in range(2):
            child = nodes.left[node] if side == 0 else nodes.right[node]
            if child >= 0 and marks[child] != _GONE and in_window(stream, window, nodes.last_start[child], row):
                edge = _reach(nodes, child, stream, window, row, marks, stack, graph.preds, edge)
        place += 1
        graph.offsets[place] = edge
    roots = 0
    for i in range(ends.shape[0]):
        roots = _reach(nodes, ends[i], stream, window, row, marks, stack, graph.roots, roots)
    found[0] = roots
    for node in range(lowest, highest + 1):
        marks[node] = _GONE


@inlined
def _reach(
    nodes: Nodes, node: int, stream: Stream, window: Window, row: int, marks: Int64s, stack: Int64s, targets: Int32s,
    at: int,
) -> int:  # fmt: skip
    """Write the nodes that stand for `node`, itself or what a dissolved union holds; return the place behind."""
    top = 1
    stack[0] = node
    while top > 0:
        top -= 1
        reached = stack[top]
        if marks[reached] >= 0:
            targets[at] = marks[reached]
            at += 1
            continue
        for side in range(2):
            child = nodes.right[reached] if side == 0 else nodes.left[reached]
            if in_window(stream, window, nodes.last_start[child], row):
                stack[top] = child
                top += 1
    return at
