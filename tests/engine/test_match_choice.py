"""Matches of a graph: all, the first ones, drawn ones; against walking through the graph one step at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkcep.engine.closed_graph import ClosedGraph
from sparkcep.engine.found_matches import found_in, graph_of
from sparkcep.engine.match_choice import Draw, all_matches, first_matches, match_at


@st.composite
def graphs(draw: st.DrawFn) -> ClosedGraph:
    """Return a graph with unions, several nodes per event, several roots."""
    rows: list[int] = []
    preds: list[list[int]] = []
    for node in range(draw(st.integers(1, 9))):
        before = sorted(draw(st.sets(st.integers(0, node - 1), max_size=3))) if node else []
        union = len(before) > 1 and draw(st.booleans())
        latest = max((_latest(rows, preds, i) for i in before), default=-1)
        rows.append(-1 if union else latest + draw(st.integers(1, 2)))
        preds.append(before)
    roots = sorted(draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=3)))
    return ClosedGraph(
        np.array(rows, np.int64),
        np.where(np.array(rows) < 0, -1, 0).astype(np.int32),
        np.cumsum([0, *map(len, preds)]).astype(np.int64),
        np.array([i for before in preds for i in before], np.int32),
        np.array(roots, np.int32),
    )


def _latest(rows: list[int], preds: list[list[int]], node: int) -> int:
    return rows[node] if rows[node] >= 0 else max(_latest(rows, preds, i) for i in preds[node])


def walked(graph: ClosedGraph) -> list[tuple[int, ...]]:
    """Return all matches as their nodes, by recursion."""

    def ending_in(node: int) -> list[tuple[int, ...]]:
        before = graph.preds[graph.offsets[node] : graph.offsets[node + 1]].tolist()
        own = (node,) if graph.rows[node] >= 0 else ()
        return [(*way, *own) for i in before for way in ending_in(i)] if before else [own]

    return [way for root in graph.roots.tolist() for way in ending_in(root)]


def rank(graph: ClosedGraph, way: tuple[int, ...]) -> tuple[int, int, list[int]]:
    rows = graph.rows[list(way)].tolist()
    return rows[0], len(rows), rows


@settings(deadline=None)  # the first example compiles a kernel
@given(graphs())
def test_all_matches_are_counted_and_listed(graph: ClosedGraph) -> None:
    offsets, nodes = all_matches(graph)
    listed = [tuple(nodes[offsets[i] : offsets[i + 1]].tolist()) for i in range(len(offsets) - 1)]
    assert Counter(listed) == Counter(walked(graph))
    assert graph.total() == len(listed)


@given(graphs(), st.integers(1, 6))
def test_first_matches_are_the_first_of_all(graph: ClosedGraph, most: int) -> None:
    found = [rank(graph, way) for way in first_matches(graph, most)]
    assert found == sorted(rank(graph, way) for way in walked(graph))[:most]


@given(graphs())
def test_every_match_has_a_rank(graph: ClosedGraph) -> None:
    counts = graph.counts()
    assert Counter(match_at(graph, counts, i) for i in range(graph.total())) == Counter(walked(graph))


@settings(deadline=None)
@given(graphs())
def test_listed_matches_make_a_graph_of_the_same_matches(graph: ClosedGraph) -> None:
    again = graph_of(found_in(graph, None, 0, 0))
    shown = [graph.rows[list(way)].tolist() for way in walked(graph)]
    distinct = {tuple(rows) for rows in shown}
    assert {tuple(again.rows[list(way)].tolist()) for way in walked(again)} == distinct


@pytest.mark.parametrize("size", [1, 3, 0.25])
def test_a_draw_is_uniform(size: float) -> None:
    often = Counter[int]()
    runs = 4000
    for seed in range(runs):
        draw, slots, passed = Draw(size, seed), {}, 0
        for items in (4, 1, 5):
            for slot, place in draw.take(items):
                slots[slot] = passed + place
            passed += items
        often.update(slots.values())
    expected = runs * (size if isinstance(size, float) else size / 10)
    # Five standard deviations of a binomial.
    allowed = 5 * (expected * (1 - expected / runs)) ** 0.5
    assert [item for item in range(10) if abs(often[item] - expected) > allowed] == []


def test_a_draw_from_more_items_than_a_word_can_count() -> None:
    halves = Counter[int]()
    for seed in range(500):
        slots = dict(Draw(4, seed).take(2**100))
        assert len(slots) == 4
        halves.update(place >> 99 for place in slots.values())
        halves.update(["odd"] if any(place % 2 for place in slots.values()) else [])  # type: ignore[list-item]
    assert abs(halves[0] - 1000) < 150
    assert halves["odd"] > 400  # type: ignore[index]
