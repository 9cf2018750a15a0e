"""Benchmarks of whole jobs by plan: growing windows; growing output of those that Spark runs alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.any_order import WINDOWED
from benchmarks.event_jobs import WINDOW, planted
from benchmarks.jobs import Scale, run
from benchmarks.race import line_through, race
from benchmarks.report import Result
from benchmarks.session import session, task_seconds

PLANS = ("ordered", "tree", "join")
CROWD = 100
"""Events that a joined output takes its pairs from: 25 matches a row, where all are wanted."""
TEXTS = 40
"""Measures of a row match that are texts."""


def plan_windows(scale: Scale) -> Result:
    """Measure bar 6: the same output under windows of 1, 10 and 100 times the length."""
    title = "Cost of ordered, tree, join and window as the window grows, the same matches, whole jobs"
    result = Result("plan_windows", title, scale.settings())
    with session() as spark:
        rows = spark.read.parquet(str(planted(scale.rows)))
        for name, pattern in WINDOWED.items():
            for plan in PLANS:
                jobs = {factor: _within(rows, pattern, factor * WINDOW, plan) for factor in (1, 10, 100)}
                _flat(result, f"{name}, {plan}", jobs, scale)
        jobs = {factor: _fixed_within(rows, factor * WINDOW) for factor in (1, 10, 100)}
        _flat(result, "three rows, window", jobs, scale)
    return result


def _within(rows: DataFrame, pattern: str, window: int, plan: Any) -> DataFrame:
    import sparkcep

    return sparkcep.match_pattern(
        rows,
        f"{pattern} WITHIN {window} RETURN a.t AS began, c.t AS ended",
        order_by="t",
        type_column="kind",
        options=sparkcep.Options(plan=plan, slices="never"),
    )


def _fixed_within(rows: DataFrame, window: int) -> DataFrame:
    import sparkcep

    return sparkcep.match_pattern(
        rows,
        "A B C",
        partition_by="k",
        order_by="t",
        # Neighbours of one key are far nearer than the shortest window.
        define={name: f"kind = '{name}' AND amount = 1" for name in "ABC"},
        measures={"began": "A.t", "ended": "C.t"},
        within=str(window),
        options=sparkcep.Options(plan="window"),
    )


def _flat(result: Result, name: str, jobs: Mapping[int, DataFrame], scale: Scale) -> None:
    (matches,) = {job.count() for job in jobs.values()}
    timings = race({str(factor): lambda job=job: run(job) for factor, job in jobs.items()}, repeats=scale.repeats)
    medians = [timing.median for timing in timings.values()]
    for factor, timing in timings.items():
        line = {"pattern": name, "window": int(factor) * WINDOW, "matches": matches, "seconds": timing.median}
        result.records.append({**line, "÷ first": timing.median / medians[0], "spread": timing.spread})
    result.at_most(f"{name}: slowest window ÷ fastest", max(medians) / min(medians), 1.3)


def spark_output(scale: Scale) -> Result:
    """Measure bar 7: the same rows and pattern with a growing number of matches, by the processor time of the tasks."""
    title = "Cost of join and window against output size, processor time of all tasks"
    result = Result("spark_output", title, scale.settings())
    with session() as spark:
        for plan, matched, less in (("join", _joined_from, 4), ("window", _rows_from, 1)):
            rows = _crowds(spark, scale.rows // less)
            jobs = {share: matched(rows, share) for share in range(0, 101, 10)}
            sizes = [job.count() for job in jobs.values()]
            timings = race(
                {str(share): lambda job=job: run(job) for share, job in jobs.items()},
                repeats=scale.repeats,
                clock=lambda: task_seconds(spark),
            )
            slope, fixed, fit = line_through(sizes, [timing.median for timing in timings.values()])
            for size, timing in zip(sizes, timings.values(), strict=True):
                line = {"plan": plan, "matches": size, "seconds": timing.median}
                result.records.append({**line, "line": fixed + slope * size, "spread": timing.spread})
            result.at_least(f"{plan}: R² of seconds against matches", fit, 0.99)
    return result


def _crowds(spark: SparkSession, rows: int) -> DataFrame:
    """Return crowds of neighbours, an A and a B by turns, and for each pair of them a number from 0 to 99."""
    columns = ("id AS t", f"id DIV {CROWD} AS crowd", "IF(id % 2 = 0, 'A', 'B') AS kind")
    return spark.range(rows).selectExpr(*columns, "pmod(hash(id DIV 2), 100) AS v")


def _joined_from(rows: DataFrame, share: int) -> DataFrame:
    import sparkcep

    return sparkcep.match_pattern(
        rows,
        f"SEQ(A a, B b) WHERE a.crowd = b.crowd WITHIN {CROWD} RETURN a.t AS began, b.v AS second",
        order_by="t",
        types={"A": f"kind = 'A' AND v < {share}", "B": "kind = 'B'"},
        strategy="skip_till_any_match",
        options=sparkcep.Options(plan="join"),
    )


def _rows_from(rows: DataFrame, share: int) -> DataFrame:
    """Find at most one match in two rows: what a match costs is made visible by many measures of it."""
    import sparkcep

    texts = {f"text_{number}": f"concat_ws(' ', A.t + {number}, B.t, B.v)" for number in range(TEXTS)}
    return sparkcep.match_pattern(
        rows.selectExpr("*", "crowd % 100 AS g"),
        "A B",
        partition_by="g",
        order_by="t",
        define={"A": f"kind = 'A' AND v < {share}", "B": "kind = 'B'"},
        measures={"began": "A.t", "second": "B.v", **texts},
        options=sparkcep.Options(plan="window"),
    )
