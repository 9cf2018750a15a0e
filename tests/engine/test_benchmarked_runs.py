"""What the benchmarks of runs drive by hand: the kernel counts and merges what the paper's tables count."""

from __future__ import annotations

import pytest

from benchmarks.events import KernelRun
from benchmarks.sase import Query, stock


@pytest.mark.parametrize("query", [Query("p1", "s3", 50), Query("p2", "s2", 50)])
def test_merged_and_separate_runs_end_alike(query: Query) -> None:
    rows = query.rows(stock(5_000))
    merged, apart = KernelRun(query, rows), KernelRun(query, rows, merges=False)
    for kernel in (merged, apart):
        kernel.run()
    assert 0 < merged.completions <= apart.completions
    assert 0 < merged.visits <= apart.visits
    assert merged.peak <= apart.peak
