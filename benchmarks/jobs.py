"""Benchmarks of whole Spark jobs against their floors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.data import events
from benchmarks.race import Timing, line_through, paired_ratio, race
from benchmarks.report import Result
from benchmarks.session import CORES, SHUFFLE_PARTITIONS, session
from benchmarks.workloads import ALWAYS, FAILING, FUNNEL, PATHOLOGICAL, SHAPES, STRICT, V_SHAPE, Workload

MIB = 2**20


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rows: int
    repeats: int

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return what a result says about it."""
        return {
            "rows": self.rows,
            "repeats": self.repeats,
            "cores": CORES,
            "shuffle partitions": SHUFFLE_PARTITIONS,
            **more,
        }


def run(frame: DataFrame) -> None:
    """Compute a DataFrame and throw it away."""
    frame.write.format("noop").mode("overwrite").save()


def shapes(scale: Scale) -> Result:
    """Measure bar 1: common patterns over 100,000 keys, whole job ÷ floor."""
    result = Result("shapes", "Whole job ÷ floor", scale.settings(keys=100_000))
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        for workload in SHAPES:
            record = against_floor(rows, workload, "g100000", scale)
            result.records.append(record)
            result.at_most(f"{workload.name}: job ÷ floor", record["ratio"], 1.15)
    return result


def groups(scale: Scale) -> Result:
    """Measure bar 2: the same rows as few large and many small partitions."""
    result = Result("groups", "The same rows as 1 to 1,000,000 partitions", scale.settings())
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        for workload in (V_SHAPE, FUNNEL, FAILING):
            ratios = []
            for count in (1, 100, 10_000, 1_000_000):
                record = against_floor(rows, workload, f"g{count}", scale)
                ratios.append(record["ratio"])
                result.records.append({"query": record["query"], "keys": count, **record})
            result.at_most(f"{workload.name}: largest ÷ smallest ratio", max(ratios) / min(ratios), 1.5)
    return result


def window_plan(scale: Scale) -> Result:
    """Measure a three-step strict pattern as LEAD columns against the sweep."""
    import sparkcep

    result = Result("window_plan", "A three-step strict pattern without Python", scale.settings(keys=100_000))
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        plans = {name: sparkcep.Options(plan=name) for name in ("window", "sweep")}
        found = {name: STRICT.matched(rows, "g100000", options=options) for name, options in plans.items()}
        jobs = {"floor": STRICT.floor(rows, "g100000"), **found}
        timings = race({name: lambda job=job: run(job) for name, job in jobs.items()}, repeats=scale.repeats)
        for name, frame in found.items():
            record = _record(name, timings[name], timings["floor"], scale.rows, frame.count())
            # The plan has no workers: what is seen are those of the other jobs.
            shown = {head: value for head, value in record.items() if head != "query" and not head.endswith("MiB")}
            result.records.append({"plan": name, **shown})
    result.at_least("seconds of sweep ÷ window", paired_ratio(timings["sweep"], timings["window"]), 1.3)
    return result


def output(scale: Scale) -> Result:
    """Measure bar 7: the same rows and pattern with a growing number of output rows."""
    result = Result("output", "Cost against output size, ten rows per match", scale.settings(keys=100))
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        jobs = {share: _ten_rows_from(rows, share) for share in range(0, 101, 10)}
        timings = race({str(share): lambda job=job: run(job) for share, job in jobs.items()}, repeats=scale.repeats)
        sizes = [job.count() for job in jobs.values()]
    medians = [timing.median for timing in timings.values()]
    slope, fixed, fit = line_through(sizes, medians)
    for size, timing in zip(sizes, timings.values(), strict=True):
        result.records.append(
            {
                "output rows": size,
                "seconds": timing.median,
                "line": fixed + slope * size,
                "spread": timing.spread,
                "worker MiB": round(timing.peak / MIB),
            }
        )
    result.at_least("R² of seconds against output rows", fit, 0.99)
    return result


def _ten_rows_from(rows: DataFrame, share: int) -> DataFrame:
    import sparkcep

    return sparkcep.match_pattern(
        rows,
        "A B{9}",
        partition_by="g100",
        order_by="ts",
        define={"A": f"amount < {10 * share}", "B": ALWAYS},
        measures={"n": "MATCH_NUMBER()", "began": "FINAL FIRST(ts)"},
        rows_per_match="all",
        after_match="to next row",
    )


def pathological(scale: Scale) -> Result:
    """Measure bar 8: patterns that ruin naive matchers, over one partition: time."""
    result = Result("pathological", "Pathological patterns, one partition", scale.settings())
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        for workload in PATHOLOGICAL:
            record = against_floor(rows, workload, "g1", scale)
            result.records.append(record)
            result.at_most(f"{workload.name}: job ÷ floor", record["ratio"], 3)
    return result


def memory(scale: Scale) -> Result:
    """Measure bar 8, memory: pathological patterns over a quarter, half and all of the rows."""
    result = Result("memory", "Memory of a worker, pathological patterns, one partition", scale.settings())
    with session(reuse_workers=False) as spark:
        spark.conf.set("spark.sql.shuffle.partitions", 1)
        for workload in PATHOLOGICAL:
            quarter, half, whole = (_peak(spark, workload, scale.rows * part // 4, scale) for part in (1, 2, 4))
            record = {"query": workload.name, "¼ MiB": quarter // MIB, "½ MiB": half // MIB, "1 MiB": whole // MIB}
            result.records.append(record)
            # Twice the rows may take twice the memory above what a worker holds anyway.
            growth = (whole - half) / max(half - quarter, 4 * MIB)
            result.at_most(f"{workload.name}: growth of ½ → 1 ÷ growth of ¼ → ½", growth, 2.6)
    return result


def _peak(spark: SparkSession, workload: Workload, rows: int, scale: Scale) -> int:
    frame = spark.read.parquet(str(events(rows)))
    timings = race(
        {"job": lambda: run(workload.matched(frame, "g1"))}, repeats=scale.repeats, warm_up=0, watch_every=0.1
    )
    return timings["job"].peak


def against_floor(rows: DataFrame, workload: Workload, key: str, scale: Scale) -> dict[str, Any]:
    """Run a workload and its floor in turns; return a record of both."""
    found = workload.matched(rows, key)
    least = workload.floor(rows, key)
    timings = race({"floor": lambda: run(least), "job": lambda: run(found)}, repeats=scale.repeats)
    return _record(workload.name, timings["job"], timings["floor"], scale.rows, found.count())


def _record(name: str, job: Timing, floor: Timing, rows: int, matches: int) -> dict[str, Any]:
    return {
        "query": name,
        "ratio": job.median / floor.median,
        "job s": job.median,
        "floor s": floor.median,
        "job spread": job.spread,
        "floor spread": floor.spread,
        "rows/s": round(rows / job.median),
        "matches": matches,
        "matches/s": round(matches / job.median),
        "worker MiB": round(job.peak / MIB),
        "floor MiB": round(floor.peak / MIB),
    }
