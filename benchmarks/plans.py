"""Benchmarks of the planner's choices on whole Spark jobs: joins, semi-joins, slices of one huge partition."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.data import FOLDER, SEED
from benchmarks.jobs import Scale, run
from benchmarks.race import Timing, paired_ratio, race
from benchmarks.report import Result
from benchmarks.session import bind, session, stages
from benchmarks.workloads import count_rows

VALUES = 100_000
JOINED_WINDOW = 100_000
JOINED = f"""SEQ(A a, B b, C c) WHERE skip_till_any_match {{ a.x = b.x AND b.y = c.y }} WITHIN {JOINED_WINDOW}
    RETURN a.t AS began, c.t AS ended"""

KEYS, CLOSING = 100_000, 1_000
CLOSED = "SEQ(A a, B b, C c) WITHIN 1000000 RETURN a.t AS began, c.t AS ended"

SLICED_WINDOW = 1000
SLICED = f"""SEQ(A+ a[], B b) WHERE skip_till_next_match {{ a[1].x % 500 = 0 AND a[i].x > a[i-1].x AND b.x < 20000 }}
    WITHIN {SLICED_WINDOW} RETURN a[1].t AS began, b.t AS ended, COUNT(a) AS n"""
CLOSE = """SEQ(A a, B b) WHERE skip_till_any_match { abs(a.x - b.x) + abs(a.y - b.y) < 1000 }
    WITHIN %d RETURN a.t AS began, b.t AS ended"""
# By what is compared with every event that may begin a match.
SLICED_PATTERNS = {"little": SLICED, "some 50 events": CLOSE % 100, "some 100 events": CLOSE % 200}

FIVE_TYPES = (((17, 13, 9, 5), 5_983), ((5, 9, 13, 17), 6_329))
COMPARED = """SEQ(A a, B b, C c, D d, E e) WHERE skip_till_any_match { a.attr1 < b.attr1 AND b.attr2 < c.attr2
    AND c.attr3 < d.attr3 AND d.attr4 < e.attr4 } WITHIN 2000 EXCLUSIVE RETURN a.t AS began"""


def joins(scale: Scale) -> Result:
    """Measure pairwise equalities without a common key: joins against partial matches, in slices of time.

    Rates and selectivities are told; "auto" is the plan that they choose.
    """
    import sparkcep

    result = Result("joins", "Pairwise equalities, no key: joins ÷ runs", scale.settings(window=JOINED_WINDOW))
    told = sparkcep.Statistics(
        {"a": 0.4995 * JOINED_WINDOW, "b": 0.4995 * JOINED_WINDOW, "c": 0.001 * JOINED_WINDOW},
        {("a", "b"): 1 / VALUES, ("b", "c"): 1 / VALUES},
        rows=scale.rows,
    )
    plans = {
        "runs": sparkcep.Options(plan="runs"),
        "join, nothing told": sparkcep.Options(plan="join"),
        "auto": sparkcep.Options(stats=told),
    }
    given: dict[str, Any] = {"order_by": "t", "type_column": "kind"}
    with session() as spark:
        rows = spark.read.parquet(str(tied(scale.rows)))
        chosen = sparkcep.plan(rows, JOINED, options=plans["auto"], **given).compiled.decision.chosen.name
        jobs = {name: sparkcep.match_pattern(rows, JOINED, options=plan, **given) for name, plan in plans.items()}
        timings = race({name: lambda job=job: run(job) for name, job in jobs.items()}, repeats=scale.repeats)
        counts = {plan: job.count() for plan, job in jobs.items()}
        for plan, timing in timings.items():
            line = {"plan": plan, "seconds": timing.median, "spread": timing.spread, "matches": counts[plan]}
            result.records.append(line)
    result.at_least(f"seconds of runs ÷ auto, which is {chosen}", paired_ratio(timings["runs"], timings["auto"]), 3)
    result.at_most("difference of matches", float(max(counts.values()) - min(counts.values())), 0)
    return result


def semi_join(scale: Scale) -> Result:
    """Measure what a rare closing event leaves of the rows that are shuffled."""
    import sparkcep

    settings = scale.settings(keys=KEYS, closing=CLOSING)
    result = Result("semi_join", "A rare closing event: rows that are shuffled", settings)
    with session() as spark:
        rows = spark.read.parquet(str(closing(scale.rows)))
        statistics = sparkcep.Statistics({"a": 40, "b": 40, "c": 0.01}, presence={"a": 1, "b": 1, "c": 0.01})
        jobs = {
            name: rows.match_pattern(CLOSED, partition_by="k", order_by="t", type_column="kind", options=options)
            for name, options in {
                "never": sparkcep.Options(semi_join="never"),
                "auto": sparkcep.Options(stats=statistics),
            }.items()
        }
        timings = race({name: lambda job=job: run(job) for name, job in jobs.items()}, repeats=scale.repeats)
        shuffled = {name: shuffled_rows(spark, job) for name, job in jobs.items()}
        for name, timing in timings.items():
            line = {"semi_join": name, "seconds": timing.median, "spread": timing.spread, "shuffled": shuffled[name]}
            result.records.append({**line, "matches": jobs[name].count()})
    result.at_least("shuffled rows, never ÷ auto", shuffled["never"] / max(shuffled["auto"], 1), 50)
    return result


def shuffled_rows(spark: SparkSession, job: DataFrame) -> int:
    """Run a job; return the records that its widest stage wrote into the shuffle, as Spark's status store tells."""
    before = set(_written_by_stage(spark))
    run(job)
    return max(rows for stage, rows in _written_by_stage(spark).items() if stage not in before)


def _written_by_stage(spark: SparkSession) -> dict[int, int]:
    return {stage.stageId(): stage.shuffleWriteRecords() for stage in stages(spark)}


def slices(scale: Scale) -> Result:
    """Measure one huge partition in slices: on two cores against one; and once, for its matches, as a whole.

    The floor, Spark's sort of the same slices counted in ``mapInArrow``, tells what two cores are worth here. One
    core of Spark is one thread of Java: its Python worker, and Java's own threads, run on others where there are
    some. So a pattern that takes little more than the sort is measured like that, and with all of them bound to one
    processor; patterns that compare every A with many B take longer than the sort.
    """
    settings = scale.settings(window=SLICED_WINDOW)
    result = Result("slices", "One partition in slices of time", settings)
    missed = 0
    for compared in SLICED_PATTERNS:
        two, one = (_sliced(scale, compared, "auto", cores, 2) for cores in (2, 1))
        whole = _sliced(scale, compared, "never", 2, 2)
        result.records += [two, one, whole]
        settings[f"floor of {compared}: local[1] ÷ local[2]"] = round(one["floor s"] / two["floor s"], 2)
        bar = f"compared, {compared}: seconds with local[1] ÷ local[2]"
        result.at_least(bar, one["seconds"] / two["seconds"], 1.6)
        missed += abs(two["matches"] - whole["matches"])
    bound, two = _sliced(scale, "little", "auto", 1, 1), result.records[0]
    result.records.append(bound)
    result.at_least("compared, little: seconds on one processor ÷ on two", bound["seconds"] / two["seconds"], 1.6)
    result.at_most("difference of matches", float(missed), 0)
    return result


def _sliced(
    scale: Scale, compared: str, slices: Literal["auto", "never"], cores: int, processors: int
) -> dict[str, Any]:
    """Time a job; as a whole once, as it counts its matches."""
    import sparkcep

    pattern = SLICED_PATTERNS[compared]
    repeats = scale.repeats if slices == "auto" else 0
    with session(cores=cores) as spark:
        bind(set(range(processors)))
        rows = spark.read.parquet(str(tied(scale.rows)))
        options = sparkcep.Options(slices=slices)
        given: dict[str, Any] = {"order_by": "t", "type_column": "kind", "options": options}
        job = sparkcep.match_pattern(rows, pattern, **given)
        plan: Any = sparkcep.plan(rows, pattern, **given)
        floor = plan.prepared.frame.mapInArrow(count_rows, "n bigint")
        jobs = {"job": lambda: run(job), "floor": lambda: run(floor)} if repeats else {}
        timings = race(jobs, repeats=repeats)
        timing, least = timings.get("job", Timing()), timings.get("floor", Timing())
        begin = time.perf_counter()
        matches = job.count()
        if not repeats:
            timing.seconds.append(time.perf_counter() - begin)
            least.seconds.append(float("nan"))
    return {
        "compared": compared,
        "slices": slices,
        "cores": cores,
        "processors": processors,
        "seconds": timing.median,
        "spread": timing.spread,
        "floor s": least.median,
        "repeats": repeats or 1,
        "matches": matches,
    }


def apam(scale: Scale) -> Result:
    """Measure every plan on five event types, each compared with the one before (Yi et al. 2016)."""
    import sparkcep

    result = Result("apam", "Five types, 100,000 events of one partition: every plan", {"repeats": scale.repeats})
    with session() as spark:
        for experiment, (ranges, matches) in enumerate(FIVE_TYPES, 1):
            rows = spark.createDataFrame(_five_types(ranges))
            jobs = {
                plan: sparkcep.match_pattern(
                    rows, COMPARED, order_by="t", type_column="kind", options=sparkcep.Options(plan=plan)
                )
                for plan in ("runs", "ordered", "tree", "join")
            }
            counts = {plan: job.count() for plan, job in jobs.items()}
            timings = race({plan: lambda job=job: run(job) for plan, job in jobs.items()}, repeats=scale.repeats)
            for plan, timing in timings.items():
                line = {"experiment": experiment, "plan": plan, "seconds": timing.median, "spread": timing.spread}
                result.records.append({**line, "matches": counts[plan]})
                missing = float(abs(counts[plan] - matches))
                result.at_most(f"experiment {experiment}, {plan}: matches off {matches:,}", missing, 0)
    return result


def _five_types(ranges: tuple[int, ...]) -> pa.Table:
    random, count = np.random.default_rng(7), 100_000
    kind = random.integers(0, 5, count)
    columns = {}
    for k, most in enumerate(ranges, 1):
        left, right = random.integers(0, 1000, count), random.integers(0, most, count)
        columns[f"attr{k}"] = np.where(kind == k - 1, left, np.where(kind == k, right, 0))
    return pa.table({"t": np.arange(count), "kind": pa.array(np.array(list("ABCDE"))[kind]), **columns})


def tied(rows: int) -> Path:
    """Return a file of A, B and, rarely, C, with two columns of values that tie them together."""
    return _written(f"tied_{rows}", lambda: _tied(rows))


def _tied(rows: int) -> pa.Table:
    random = np.random.default_rng(SEED)
    share = random.random(rows)
    kind = np.where(share < 0.4995, "A", np.where(share < 0.999, "B", "C"))
    values = {name: random.integers(0, VALUES, rows) for name in ("x", "y")}
    return pa.table({"t": np.arange(rows), "kind": pa.array(kind), **values})


def closing(rows: int) -> Path:
    """Return a file of A and B over many keys, and of few C."""
    return _written(f"closing_{rows}", lambda: _closing(rows))


def _closing(rows: int) -> pa.Table:
    random = np.random.default_rng(SEED)
    keys, kind = random.integers(0, KEYS, rows), np.where(random.random(rows) < 0.5, "A", "B")
    kind[random.choice(rows, CLOSING, replace=False)] = "C"
    return pa.table({"t": np.arange(rows), "k": keys, "kind": pa.array(kind)})


def _written(name: str, made: Callable[[], pa.Table]) -> Path:
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        pq.write_table(made(), path, row_group_size=1_000_000)
    return path
