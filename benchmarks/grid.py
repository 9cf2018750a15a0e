"""The planner against the clock: every legal plan of many small random workloads, and which one "auto" takes."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.grid_workloads import GridWorkload, workloads
from benchmarks.jobs import Scale, run
from benchmarks.report import Result
from benchmarks.session import CORES, session
from sparkcep.planning.costs import Work

SEED = 2026
# A plan that takes longer is measured once; one that takes much longer is stopped.
REPEATED_BELOW, STOPPED_AFTER = 2.0, 5.0


@dataclass(slots=True)
class Measured:
    """What one workload showed.

    Attributes
    ----------
    costs, seconds
        Of every legal plan: by the model, in visits per row, and by the clock.
    auto, untold
        The plan that is chosen by measured statistics, and the one without any.
    works
        Of plans that statistics tell of: what the model says they do, per event.
    rows
        How many rows some variable can take.
    """

    workload: GridWorkload
    costs: dict[str, float]
    auto: str
    untold: str
    works: dict[str, Work]
    rows: float | None
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, plan: str) -> float:
        """Return the seconds of a plan."""
        return statistics.median(self.seconds[plan])

    @property
    def best(self) -> str:
        """The fastest plan."""
        return min(self.seconds, key=self.median)

    @property
    def worst(self) -> float:
        """Seconds of the slowest plan ÷ seconds of the best one."""
        return max(map(self.slowdown, self.seconds))

    def slowdown(self, plan: str) -> float:
        """Return seconds of a plan ÷ seconds of the best one."""
        return self.median(plan) / self.median(self.best)


def grid(scale: Scale) -> Result:
    """Measure whether the planner chooses well; `scale.rows` is the number of workloads."""
    measured = list(measure(SEED, scale.rows, scale.repeats))
    settings = {"workloads": len(measured), "repeats": scale.repeats, "seed": SEED}
    result = Result("grid", "The plan chosen by auto against the best of all legal plans", settings)
    result.records = [_record(each) for each in measured]
    slowdowns = [each.slowdown(each.auto) for each in measured]
    settings["workloads with a plan slower than 1.5 × the best"] = sum(each.worst > 1.5 for each in measured)
    result.at_least("share of workloads within 1.5 × of the best", _share(slowdowns, 1.5), 0.9)
    result.at_most("auto ÷ best, the worst workload", max(slowdowns), 5)
    return result


def _share(slowdowns: list[float], most: float) -> float:
    return sum(each <= most for each in slowdowns) / len(slowdowns)


def _record(each: Measured) -> dict[str, Any]:
    timed = {plan: f"{each.median(plan):.2f}" for plan in each.seconds}
    return {
        "workload": each.workload.name,
        "pattern": each.workload.pattern.replace("|", "\\|"),
        "rows": each.workload.rows.count,
        "keys": each.workload.rows.keys,
        "seconds": ", ".join(f"{plan} {seconds}" for plan, seconds in timed.items()),
        "auto": each.auto,
        "auto ÷ best": each.slowdown(each.auto),
        "nothing told": each.untold,
        "÷ best": each.slowdown(each.untold),
    }


def measure(seed: int, count: int, repeats: int) -> Iterator[Measured]:
    """Time every legal plan, in turns, of so many workloads that have several."""
    with session() as spark, tempfile.TemporaryDirectory() as folder:
        spark.conf.set("spark.sql.shuffle.partitions", CORES)  # as small as the workloads are
        spark.sparkContext.setLogLevel("OFF")  # else a plan that is stopped prints its whole stack
        # The first queries of a session take several times as long, and kernels may have to be compiled.
        for warm_up in islice(workloads(seed + 1), 10):
            _measured(spark, warm_up, Path(folder), 1, patience=600)
        drawn = (_measured(spark, workload, Path(folder), repeats) for workload in workloads(seed))
        yield from islice((each for each in drawn if each is not None), count)


def _measured(
    spark: SparkSession, workload: GridWorkload, folder: Path, repeats: int, *, patience: float = STOPPED_AFTER
) -> Measured | None:
    """Return what a workload shows; None where one plan alone may serve it."""
    import sparkcep

    path = folder / f"{workload.name}.parquet"
    pq.write_table(workload.rows.table(), path)
    rows = spark.read.parquet(str(path))
    is_event_pattern = workload.pattern.startswith(("SEQ", "AND"))
    told = sparkcep.analyze(rows, workload.pattern, **workload.arguments) if is_event_pattern else None
    options = sparkcep.Options(stats=told)

    def planned(given: sparkcep.Options) -> sparkcep.MatchPlan:
        return sparkcep.plan(rows, workload.pattern, options=given, **workload.arguments)

    decision = planned(options).compiled.decision
    costs = {each.name: each.cost for each in decision.candidates if each.cost is not None}
    if len(costs) < 2:
        return None
    untold = planned(sparkcep.Options()).compiled.decision.chosen.name
    works = {each.name: each.work for each in decision.candidates if each.work is not None}
    found = Measured(workload, costs, decision.chosen.name, untold, works, told.rows if told else None)
    jobs = {plan: planned(replace(options, plan=plan)).dataframe() for plan in costs}
    _time(spark, jobs, repeats, found.seconds, patience)
    return found


def _time(
    spark: SparkSession,
    jobs: Mapping[str, DataFrame],
    repeats: int,
    seconds: dict[str, list[float]],
    patience: float,
) -> None:
    """Run jobs in turns, after a warm-up; those that take long once."""
    for job in jobs.values():
        _seconds(spark, job, patience)
    for plan, job in jobs.items():
        # Behind a job that was stopped workers start anew, so that this one run alone tells nothing of others.
        seconds[plan] = [_seconds(spark, job, patience)]
    again = [plan for plan in jobs if seconds[plan][0] <= REPEATED_BELOW]
    for turn in range(repeats - 1):
        for plan in again if turn % 2 else again[::-1]:
            seconds[plan].append(_seconds(spark, jobs[plan], patience))


def _seconds(spark: SparkSession, job: DataFrame, patience: float) -> float:
    begin = time.perf_counter()
    with _stopped_after(spark, patience):
        run(job)
    return time.perf_counter() - begin


@contextmanager
def _stopped_after(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Cancel what runs too long; it counts as long as it ran."""
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        spark.sparkContext.cancelAllJobs()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        yield
    except Exception:
        if not stopped.is_set():
            raise
    finally:
        timer.cancel()
