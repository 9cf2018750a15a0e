"""The fit of the cost model's weights, and the workloads that it is fitted to."""

from __future__ import annotations

from itertools import islice

import pytest

from benchmarks.calibration import KERNELS, amounts, fit
from benchmarks.grid import Measured
from benchmarks.grid_workloads import GridWorkload, workloads
from sparkcep.planning.costs import Work
from sparkcep.planning.weights import Weights

GIVEN = {
    "runs": Weights(0.3, 2e-6, 3e-8, 4e-7, 0.0),
    "ordered": Weights(0.3, 2e-6, 5e-8, 0.0, 0.0),
    "tree": Weights(0.3, 2e-6, 4e-8, 5e-8, 0.0),
    "join": Weights(0.1, 2e-7, 9e-8, 0.0, 1e-6),
}


def measured(workload: GridWorkload, works: dict[str, Work], rows: float) -> Measured:
    seconds = {
        plan: [sum(weight * amount for weight, amount in zip(GIVEN[plan], amounts(work, rows), strict=True))]
        for plan, work in works.items()
    }
    return Measured(workload, {}, "join", "runs", works, rows, seconds)


def test_weights_are_found_again() -> None:
    workload = next(workloads(3))
    seen = [
        measured(workload, dict.fromkeys(KERNELS, Work(v, s)) | {"join": Work(v, 0, s, reads)}, rows)
        for v in (1, 40)
        for s in (0.5, 3)
        for reads in (2, 3)
        for rows in (1e4, 2e5)
    ]
    for plan, weights in fit(seen).items():
        assert weights == pytest.approx(GIVEN[plan], rel=1e-6, abs=1e-12)


def test_workloads_are_the_same_for_one_seed() -> None:
    first = [(each.pattern, each.rows) for each in islice(workloads(5), 10)]
    assert first == [(each.pattern, each.rows) for each in islice(workloads(5), 10)]
    assert first != [(each.pattern, each.rows) for each in islice(workloads(6), 10)]
    table = first[0][1].table()
    assert table.num_rows == first[0][1].count
    assert {"t", "k", "kind", "x", "y", "v"} == set(table.column_names)
