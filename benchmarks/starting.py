"""Benchmark of the first query in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.data import events
from benchmarks.jobs import Scale, run
from benchmarks.race import race
from benchmarks.report import Result
from benchmarks.session import session
from benchmarks.workloads import V_SHAPE


def first_query(scale: Scale) -> Result:
    """Measure bar 11: fresh processes that count behind Spark's floor, against ones that match."""
    events(scale.rows)
    jobs = {name: lambda name=name: _process(name, scale.rows) for name in ("floor", "match")}
    timings = race(jobs, repeats=scale.repeats)
    floor, match = timings["floor"], timings["match"]
    result = Result("start", "First query of a fresh process", {"rows": scale.rows, "repeats": scale.repeats})
    result.records += [
        {"process": name, "seconds": timing.median, "spread": timing.spread} for name, timing in timings.items()
    ]
    result.at_most("seconds over plain Spark", match.median - floor.median, 1)
    return result


def _process(name: str, rows: int) -> None:
    command = [sys.executable, "-m", "benchmarks.starting", name, str(rows)]
    subprocess.run(command, cwd=Path(__file__).parents[1], env=dict(os.environ), check=True, capture_output=True)


def main(name: str, rows: int) -> None:
    """Open a session, run one query."""
    begin = time.perf_counter()
    with session() as spark:
        frame = spark.read.parquet(str(events(rows)))
        opened = time.perf_counter()
        run(V_SHAPE.floor(frame, "g100000") if name == "floor" else V_SHAPE.matched(frame, "g100000"))
        print(opened - begin, time.perf_counter() - opened)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
