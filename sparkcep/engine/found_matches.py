"""Matches that are listed and judged, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparkcep.engine.absence import BY_EVENT, Moments
from sparkcep.engine.closed_graph import ClosedGraph
from sparkcep.engine.compiled import compiled
from sparkcep.engine.match_choice import all_matches
from sparkcep.engine.match_listing import Listing, first_of
from sparkcep.engine.matches import Int32s, Int64s


class Found(NamedTuple):
    """Matches that are listed and judged; arrays of length m but `rows` and `components`.

    `offsets` has m + 1 entries. `timed` is BY_EVENT, BY_WINDOW or NEVER.
    """

    offsets: Int64s
    rows: Int64s
    components: Int32s
    completed: Int64s
    order: Int64s
    class_of: Int64s
    timed: Int64s
    moments: Moments

    @property
    def matches(self) -> int:
        """The number of matches."""
        return len(self.completed)


def by_event(listing: Listing, count: int) -> Found:
    """Return listed matches that their last event decides."""
    moments = Moments(np.zeros(count, np.int64), np.zeros(count, np.float64))
    return as_found(listing, count, np.full(count, BY_EVENT, np.int64), moments)


def as_found(listing: Listing, count: int, timed: Int64s, moments: Moments) -> Found:
    """Return the first `count` matches of a listing."""
    return Found(*first_of(listing, count), timed, moments)


def found_in(graph: ClosedGraph, ways: Sequence[Sequence[int]] | None, row: int, class_of: int) -> Found:
    """Return matches of a graph, given as their nodes, or all of them; the event at `row` completes them."""
    if ways is None:
        offsets, nodes = all_matches(graph)
    else:
        offsets = np.cumsum([0, *map(len, ways)]).astype(np.int64)
        nodes = np.array([node for way in ways for node in way], np.int64)
    count = len(offsets) - 1
    return Found(
        offsets, graph.rows[nodes], graph.components[nodes], np.full(count, row), np.zeros(count, np.int64),
        np.full(count, class_of), np.full(count, BY_EVENT),
        Moments(np.zeros(count, np.int64), np.zeros(count, np.float64)),
    )  # fmt: skip


def selected(found: Found, chosen: Int64s) -> Found:
    """Return some matches, in the order of `chosen`."""
    if len(chosen) == found.matches and bool((chosen == np.arange(found.matches)).all()):
        return found
    lengths = (found.offsets[1:] - found.offsets[:-1])[chosen]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    rows, components = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int32)
    _copy_events(found.offsets, found.rows, found.components, chosen, rows, components)
    return Found(
        offsets, rows, components, found.completed[chosen], found.order[chosen],
        found.class_of[chosen], found.timed[chosen],
        Moments(found.moments.whole[chosen], found.moments.fraction[chosen]),
    )  # fmt: skip


@compiled
def _copy_events(
    offsets: Int64s, rows: Int64s, components: Int32s, chosen: Int64s, to_rows: Int64s, to_components: Int32s
) -> None:
    """Copy the events of the chosen matches, one match behind the other."""
    at = 0
    for match in chosen:
        for event in range(offsets[match], offsets[match + 1]):
            to_rows[at], to_components[at] = rows[event], components[event]
            at += 1


def together(one: Found, other: Found) -> Found:
    """Return the matches of both, one after the other."""
    return Found(
        np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]]),
        np.concatenate([one.rows, other.rows]),
        np.concatenate([one.components, other.components]),
        np.concatenate([one.completed, other.completed]),
        np.concatenate([one.order, other.order]),
        np.concatenate([one.class_of, other.class_of]),
        np.concatenate([one.timed, other.timed]),
        Moments(
            np.concatenate([one.moments.whole, other.moments.whole]),
            np.concatenate([one.moments.fraction, other.moments.fraction]),
        ),
    )


def moved(found: Found, first: int) -> Found:
    """Return matches in rows that are counted from row `first` on."""
    return found._replace(rows=found.rows - first, completed=found.completed - first)


def graph_of(found: Found) -> ClosedGraph:
    """Return matches that one event completes as a graph in which common beginnings are shared."""
    known: dict[tuple[int, int, int], int] = {}
    nodes: list[tuple[int, int, int]] = []
    ends = []
    offsets, rows, components = found.offsets.tolist(), found.rows.tolist(), found.components.tolist()
    for match in range(found.matches):
        at = -1
        for event in range(offsets[match], offsets[match + 1]):
            step = (at, rows[event], components[event])
            at = known.setdefault(step, len(nodes))
            if at == len(nodes):
                nodes.append(step)
        ends.append(at)
    order = np.argsort(np.array([row for _, row, _ in nodes], np.int64), kind="stable")
    place = np.empty(len(nodes), np.int32)
    place[order] = np.arange(len(nodes))
    sorted_nodes = [nodes[i] for i in order.tolist()]
    has_pred = [before >= 0 for before, _, _ in sorted_nodes]
    return ClosedGraph(
        np.array([row for _, row, _ in sorted_nodes], np.int64),
        np.array([component for _, _, component in sorted_nodes], np.int32),
        np.concatenate(([0], np.cumsum(has_pred))).astype(np.int64),
        np.array([place[before] for before, _, _ in sorted_nodes if before >= 0], np.int32),
        place[ends],
    )
