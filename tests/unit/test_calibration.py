"""The fit of the cost model's weights, and the workloads that it is fitted to."""

from __future__ import annotations

from itertools import islice

import pytest

from benchmarks.calibration import amounts, fit
from benchmarks.grid import Measured
from benchmarks.grid_workloads import GridWorkload, workloads
from sparkcep.planning.costs import Work
from sparkcep.planning.weights import Weights


def measured(workload: GridWorkload, work: Work, rows: float, weights: Weights) -> Measured:
    seconds = sum(weight * amount for weight, amount in zip(weights, amounts(work, rows), strict=True))
    return Measured(workload, {}, "join", "runs", {"join": work}, rows, {"join": [seconds]})


def test_weights_are_found_again() -> None:
    given = Weights(job=0.2, row=2e-6, visit=5e-8, stored=0.0, shuffled=1e-6)
    (workload,) = workloads(1, 3)
    works = [Work(v, s, h, reads) for v in (1, 40) for s in (0, 3) for h in (0.5, 2) for reads in (2, 3)]
    seen = [measured(workload, work, rows, given) for work in works for rows in (1e4, 2e5)]
    assert fit("join", seen) == pytest.approx(given, rel=1e-6, abs=1e-12)


def test_workloads_are_the_same_for_one_seed() -> None:
    first = [(each.pattern, each.rows) for each in workloads(10, 5)]
    assert first == [(each.pattern, each.rows) for each in islice(workloads(20, 5), 10)]
    assert first != [(each.pattern, each.rows) for each in workloads(10, 6)]
    table = first[0][1].table()
    assert table.num_rows == first[0][1].count
    assert {"t", "k", "kind", "x", "y", "v"} == set(table.column_names)
