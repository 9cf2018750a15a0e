"""Lists, picks and draws matches of a closed graph without going through the others."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from heapq import merge
from itertools import islice

import numpy as np

from sparkcep.engine.closed_graph import ClosedGraph
from sparkcep.engine.compiled import compiled
from sparkcep.engine.matches import Int64s

MOST_LISTED = 2**30


def all_matches(graph: ClosedGraph) -> tuple[Int64s, Int64s]:
    """Return all matches of a graph, in no order.

    Returns
    -------
    offsets : int64[m + 1]
    nodes : int64[e]
        The nodes of match i, in order of time, are ``nodes[offsets[i]:offsets[i + 1]]``.

    Raises
    ------
    OverflowError
        They have more than 2^30 events.
    """
    counts = graph.counts()
    matches, events = sum(counts[root] for root in graph.roots.tolist()), _events(graph, counts)
    if events > MOST_LISTED:
        raise OverflowError(matches)
    offsets, nodes = np.zeros(matches + 1, np.int64), np.empty(events, np.int64)
    size = len(graph.rows)
    deep = len(graph.preds) + len(graph.roots) + 1
    _list_paths(graph, np.empty(deep, np.int64), np.empty(deep, np.int64), np.empty(size, np.int64), offsets, nodes)
    return offsets, nodes


def _events(graph: ClosedGraph, counts: list[int]) -> int:
    """Return the sum of the lengths of all matches."""
    sums: list[int] = []
    preds, offsets = graph.preds.tolist(), graph.offsets.tolist()
    for node, row in enumerate(graph.rows.tolist()):
        before = preds[offsets[node] : offsets[node + 1]]
        sums.append(sum(sums[i] for i in before) + (counts[node] if row >= 0 else 0))
    return sum(sums[root] for root in graph.roots.tolist())


@compiled
def _list_paths(
    graph: ClosedGraph, stack: Int64s, depths: Int64s, path: Int64s, offsets: Int64s, nodes: Int64s
) -> None:
    """Write every way from a root to a node without predecessors, backwards."""
    match = 0
    for root in range(graph.roots.shape[0]):
        top = 1
        stack[0], depths[0] = graph.roots[root], 0
        while top > 0:
            top -= 1
            node, depth = stack[top], depths[top]
            if graph.rows[node] >= 0:
                path[depth] = node
                depth += 1
            first, last = graph.offsets[node], graph.offsets[node + 1]
            for edge in range(first, last):
                stack[top], depths[top] = graph.preds[edge], depth
                top += 1
            if first == last:
                event = offsets[match]
                for i in range(depth):
                    nodes[event + i] = path[depth - 1 - i]
                match += 1
                offsets[match] = event + depth


def first_matches(graph: ClosedGraph, most: int) -> list[tuple[int, ...]]:
    """Return the first `most` matches: earliest start, fewest events, least rows in order of time.

    A match is the tuple of its nodes. Only the best `most` beginnings are kept per node, so the cost
    does not depend on how many matches there are.
    """
    best: list[list[_Beginning]] = []
    preds, offsets = graph.preds.tolist(), graph.offsets.tolist()
    for node, row in enumerate(graph.rows.tolist()):
        before = [best[i] for i in preds[offsets[node] : offsets[node + 1]]]
        if not before:
            best.append([((row, 1, (row,)), (node,))])
            continue
        chosen = list(islice(merge(*before), most))
        if row >= 0:
            chosen = [((start, n + 1, (*rows, row)), (*way, node)) for (start, n, rows), way in chosen]
        best.append(chosen)
    return [way for _, way in islice(merge(*(best[root] for root in graph.roots.tolist())), most)]


_Beginning = tuple[tuple[int, int, tuple[int, ...]], tuple[int, ...]]


def match_at(graph: ClosedGraph, counts: list[int], rank: int) -> tuple[int, ...]:
    """Return one of the matches, counted from 0 in an order of the graph's own; `counts` are its `counts()`."""
    way = []
    choices = graph.roots.tolist()
    while choices:
        for node in choices:
            if rank < counts[node]:
                break
            rank -= counts[node]
        if graph.rows[node] >= 0:
            way.append(node)
        choices = graph.preds[graph.offsets[node] : graph.offsets[node + 1]].tolist()
    return tuple(reversed(way))


class Draw:
    """Draws from a stream of items of which only the number is told: so many of all, or a share.

    A number is drawn without replacement, every subset as likely as any other of its size (a
    reservoir with skips, Li 1994, algorithm L); of a share each item has the same chance. Same
    seed, same stream: same draw.

    Parameters
    ----------
    size
        How many (int) or which share (float).
    seed
        Of the random numbers.
    """

    def __init__(self, size: int | float, seed: int) -> None:
        self.size = size
        self.random = random.Random(seed)
        self.passed = 0
        self.filled = 0
        self.weight = 1.0
        self.next = 0
        if isinstance(size, float):
            self.weight = size
            self.next = self._skip()

    def take(self, items: int) -> Iterator[tuple[int, int]]:
        """Let `items` items pass; yield slot and place among them of each that is drawn.

        What is drawn into a slot later replaces what was there; with a share every slot is new.
        """
        end = self.passed + items
        while self.next < end:
            place = self.next - self.passed
            yield self._slot(), place
            self.next += 1 + self._skip()
        self.passed = end

    def _slot(self) -> int:
        """Return where the next item goes."""
        size = self.size
        if isinstance(size, int) and self.filled == size:
            self._lighten(size)
            return self.random.randrange(size)
        self.filled += 1
        if isinstance(size, int) and self.filled == size:
            self._lighten(size)
        return self.filled - 1

    def _lighten(self, size: int) -> None:
        """Lower the chance to enter a full reservoir of `size`."""
        self.weight *= math.exp(math.log(1 - self.random.random()) / size)

    def _skip(self) -> int:
        """Return how many items are passed over: geometric, exact to the last digit though numbers are large."""
        if self.weight >= 1:
            return 0
        length = math.floor(math.log(1 - self.random.random()) / math.log1p(-self.weight))
        # A double has 53 bits: those below are drawn as well.
        lost = max(0, length.bit_length() - 53)
        return length + (self.random.getrandbits(lost) if lost else 0)
