"""What the benchmarks of runs drive by hand: the kernel counts and merges what the paper's tables count."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.events import KernelRun
from benchmarks.sase import Query, stock
from sparkcep.engine import run_lists as lists
from sparkcep.engine import runs_kernel
from sparkcep.engine.events import COUNT, EventRows, EventSearch, TimeUnits
from sparkcep.engine.runs import RunsMatcher, _Push
from sparkcep.engine.runs_program import compile_runs
from tests.engine.event_workloads import typed


@pytest.mark.parametrize("query", [Query("p1", "s3", 50), Query("p2", "s2", 50)])
def test_merged_and_separate_runs_end_alike(query: Query) -> None:
    rows = query.rows(stock(5_000))
    merged, apart = KernelRun(query, rows), KernelRun(query, rows, merges=False)
    for kernel in (merged, apart):
        kernel.run()
    assert 0 < merged.completions <= apart.completions
    assert 0 < merged.visits <= apart.visits
    assert merged.peak <= apart.peak


@pytest.mark.parametrize(
    ("ranges", "partial"),
    [
        ((17, 13, 9, 5), [19_929, 63_145, 76_038, 41_788, 5_983]),
        ((5, 9, 13, 17), [19_929, 16_349, 10_255, 6_111, 6_329]),
    ],
)
def test_partial_matches_of_separate_runs(ranges: tuple[int, ...], partial: list[int]) -> None:
    """Yi et al. 2016: of five types, each partial match is one run, and ends in a node of its own."""
    events, given = typed(ranges)
    matcher = RunsMatcher(compile_runs(events, EventSearch(output=COUNT, merge_runs=False), TimeUnits().window))
    assert nodes_by_type(matcher, given, len(partial)) == partial


def nodes_by_type(matcher: RunsMatcher, given: EventRows, types: int) -> list[int]:
    """Advance over all events; count the nodes of the match graph by the type of their events."""
    push, found = _Push(matcher, given, {}), np.zeros(types, np.int64)
    pools = matcher.pools
    pools.reserve_classes(int(given.classes.max()) + 1)
    kinds = np.log2(given.conditions[0]).astype(np.int64)
    while True:
        before = int(pools.control[lists.NODES])
        status = runs_kernel.advance(matcher.program.tables, push.given, pools.rules, pools.pools, pools.control)
        rows = pools.pools.nodes.row[before : int(pools.control[lists.NODES])]
        found += np.bincount(kinds[rows], minlength=types)
        pools.control[lists.COMPLETIONS] = 0
        if status == lists.DONE:
            return found.tolist()
        pools.make_room(push.given.stream, int(pools.control[lists.ROW]))
