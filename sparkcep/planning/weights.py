"""What work takes, in visits of `runs`: measured by ``python -m benchmarks calibrate``, which writes this file."""

from __future__ import annotations

from typing import NamedTuple


class Weights(NamedTuple):
    """What one job, row, visit, stored partial match and shuffled row takes."""

    job: float
    row: float
    visit: float
    stored: float
    shuffled: float


WEIGHTS = {
    "runs": Weights(5e6, 108.0, 1.0, 0.0, 0.0),
    "ordered": Weights(5e6, 116.0, 2.0, 0.0, 0.0),
    "tree": Weights(5e6, 120.0, 2.5, 0.0, 0.0),
    "join": Weights(5e6, 15.0, 3.0, 0.0, 100.0),
}
