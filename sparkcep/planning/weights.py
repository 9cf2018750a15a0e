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
    "runs": Weights(job=11200000.0, row=39.5, visit=1.0, stored=14.5, shuffled=0.0),
    "ordered": Weights(job=11200000.0, row=39.5, visit=1.1, stored=0.0, shuffled=0.0),
    "tree": Weights(job=11200000.0, row=39.5, visit=0.75, stored=15.2, shuffled=0.0),
    "join": Weights(job=4650000.0, row=6.21, visit=6.99, stored=0.0, shuffled=18.8),
}
