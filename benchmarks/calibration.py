"""Measures what units of work take and writes the weights of the cost model: ``python -m benchmarks calibrate``."""

from __future__ import annotations

import inspect
import pprint
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.grid import Measured, measure
from benchmarks.jobs import Scale
from benchmarks.report import Result
from sparkcep.planning import weights
from sparkcep.planning.costs import Work
from sparkcep.planning.weights import Weights

# Other workloads than those of the grid, which judges.
SEED = 1977
# Engines of one Spark job, whose rows and job take the same.
KERNELS = ("runs", "ordered", "tree")
# Seconds that work takes at least: in small workloads what takes little disappears behind what a job takes anyway.
# A row of the floor takes 1 µs, a shuffled one half of it; kernels alone make some 50 M visits per second.
LEAST = {
    "runs": Weights(0.0, 1e-6, 2e-8, 2e-8, 0.0),
    "ordered": Weights(0.0, 1e-6, 2e-8, 0.0, 0.0),
    "tree": Weights(0.0, 1e-6, 2e-8, 2e-8, 0.0),
    "join": Weights(0.0, 5e-8, 5e-8, 0.0, 5e-7),
}
_SHARED = 2


def calibrate(scale: Scale) -> Result:
    """Fit the weights to the seconds of `scale.rows` workloads, and write them."""
    measured = [each for each in measure(SEED, scale.rows, scale.repeats) if each.works]
    fitted = fit(measured)
    unit = fitted["runs"].visit
    result = Result("calibration", "What units of work take", {"workloads": scale.rows, "repeats": scale.repeats})
    for plan, found in fitted.items():
        nanoseconds = {name: 1e9 * value for name, value in found._asdict().items()}
        result.records.append({"plan": plan, **nanoseconds})
    write({plan: Weights(*(value / unit for value in found)) for plan, found in fitted.items()})
    return result


def fit(measured: Sequence[Measured]) -> dict[str, Weights]:
    """Return the seconds of each kind of work, at least `LEAST`, by which the squares of relative errors are least."""
    return _fitted(measured, KERNELS) | _fitted(measured, ("join",))


def _fitted(measured: Sequence[Measured], plans: Sequence[str]) -> dict[str, Weights]:
    """Fit plans that share what a job and a row take."""
    own = len(Weights._fields) - _SHARED
    lines, left = [], []
    for number, plan in enumerate(plans):
        for each in measured:
            if plan in each.works and plan in each.seconds:
                work = np.array(amounts(each.works[plan], each.rows or 0.0)) / each.median(plan)
                line = np.zeros(_SHARED + own * len(plans))
                line[:_SHARED] = work[:_SHARED]
                line[_SHARED + own * number : _SHARED + own * (number + 1)] = work[_SHARED:]
                lines.append(line)
                left.append(1 - work @ np.array(LEAST[plan]))
    found = _least_squares(np.array(lines), np.array(left))
    more = {plan: found[_SHARED + own * k : _SHARED + own * (k + 1)] for k, plan in enumerate(plans)}
    added = {plan: np.concatenate((found[:_SHARED], more[plan])) for plan in plans}
    return {plan: Weights(*(np.array(LEAST[plan]) + added[plan]).tolist()) for plan in plans}


def amounts(work: Work, rows: float) -> Sequence[float]:
    """Return how much of each kind of work a plan does in all, in the order of `Weights`."""
    reads = max(work.reads, 1)
    return reads, reads * rows, work.visits * rows, work.stored * rows, work.shuffled * rows


def _least_squares(work: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return weights ≥ 0 by which the lines come nearest to `seconds`: those of the best subset of columns."""
    best, left = np.zeros(work.shape[1]), np.inf
    filled = [column for column in range(work.shape[1]) if work[:, column].any()]
    for size in range(1, len(filled) + 1):
        for columns in map(list, combinations(filled, size)):
            found, *_ = np.linalg.lstsq(work[:, columns], seconds, rcond=None)
            error = float(((work[:, columns] @ found - seconds) ** 2).sum())
            if (found >= 0).all() and error < left:
                best, left = np.zeros(work.shape[1]), error
                best[columns] = found
    return best


def write(found: dict[str, Weights]) -> None:
    """Put weights into the module that the planner reads."""
    path = Path(inspect.getfile(weights))
    head, assigned, _ = path.read_text().partition("WEIGHTS = ")
    rounded = {plan: Weights(*(float(f"{value:.3g}") for value in each)) for plan, each in found.items()}
    path.write_text(head + assigned + pprint.pformat(rounded, width=118, sort_dicts=False).replace("'", '"') + "\n")
