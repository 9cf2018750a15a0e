"""pyspark.daemon for tests: what every worker would import, and load of compiled kernels, it has before it forks.

A worker of its own, from nothing, is in test_cli.py. Frozen objects are spared by the collection that a worker
does after each task.
"""

from __future__ import annotations

import gc

import pandas as pd  # noqa: F401
from pyspark.daemon import manager

import sparkcep.spark.batch  # noqa: F401
from tests.engine import test_backtrack, test_measures, test_sweep
from tests.spark import test_event_batch as events


def load_kernels() -> None:
    """Run each engine once."""
    test_sweep.search_text("A B", "AB")
    test_backtrack.search_values("A B", [1, 2], B=test_backtrack.rises(test_backtrack.A))
    test_measures.test_empty_matches_and_unmatched_rows()
    events.found(events.task(events.events("skip_till_next_match")), events.stream("a1 b2"), 2)


if __name__ == "__main__":
    load_kernels()
    gc.freeze()
    manager()
