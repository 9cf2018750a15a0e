"""Measures what units of work take and writes the weights of the cost model: ``python -m benchmarks calibrate``."""

from __future__ import annotations

import inspect
import pprint
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.grid import Measured, measure
from benchmarks.grid_workloads import workloads
from benchmarks.jobs import Scale
from benchmarks.report import Result
from sparkcep.planning import weights
from sparkcep.planning.costs import Work
from sparkcep.planning.weights import WEIGHTS, Weights

# Other workloads than those of the grid, which judges.
SEED = 1977


def calibrate(scale: Scale) -> Result:
    """Fit the weights to the seconds of `scale.rows` workloads, and write them."""
    measured = [each for each in measure(workloads(scale.rows, SEED), scale.repeats) if each.works]
    fitted = {plan: fit(plan, measured) for plan in WEIGHTS}
    unit = fitted["runs"].visit
    result = Result("calibration", "What units of work take", {"workloads": scale.rows, "repeats": scale.repeats})
    for plan, found in fitted.items():
        nanoseconds = {name: 1e9 * value for name, value in found._asdict().items()}
        result.records.append({"plan": plan, **nanoseconds})
    write({plan: Weights(*(value / unit for value in found)) for plan, found in fitted.items()})
    return result


def fit(plan: str, measured: Iterable[Measured]) -> Weights:
    """Return the seconds of each kind of work: none negative, and the squares of relative errors the least."""
    known = [each for each in measured if plan in each.works and plan in each.seconds]
    work = np.array([amounts(each.works[plan], each.rows or 0.0) for each in known])
    relative = work / np.array([[each.median(plan)] for each in known])
    return Weights(*_least_squares(relative))


def amounts(work: Work, rows: float) -> Sequence[float]:
    """Return how much of each kind of work a plan does in all, in the order of `Weights`."""
    reads = max(work.reads, 1)
    return reads, reads * rows, work.visits * rows, work.stored * rows, work.shuffled * rows


def _least_squares(work: np.ndarray) -> list[float]:
    """Return weights ≥ 0 by which the lines come nearest to 1: those of the best subset of columns."""
    best, left = [0.0] * work.shape[1], np.inf
    for size in range(1, work.shape[1] + 1):
        for columns in map(list, combinations(range(work.shape[1]), size)):
            found, *_ = np.linalg.lstsq(work[:, columns], np.ones(len(work)), rcond=None)
            error = float(((work[:, columns] @ found - 1) ** 2).sum())
            if (found >= 0).all() and error < left:
                best, left = [0.0] * work.shape[1], error
                for column, value in zip(columns, found, strict=True):
                    best[column] = float(value)
    return best


def write(found: dict[str, Weights]) -> None:
    """Put weights into the module that the planner reads."""
    path = Path(inspect.getfile(weights))
    head, assigned, _ = path.read_text().partition("WEIGHTS = ")
    rounded = {plan: Weights(*(float(f"{value:.3g}") for value in each)) for plan, each in found.items()}
    path.write_text(head + assigned + pprint.pformat(rounded, width=118, sort_dicts=False).replace("'", '"') + "\n")
