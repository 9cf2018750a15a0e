"""Benchmarks of whole Spark jobs with event patterns: against the floor, against windows, against output."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks.data import FOLDER, SEED, events
from benchmarks.jobs import MIB, Scale, against_floor, run
from benchmarks.race import line_through, race
from benchmarks.report import Result
from benchmarks.session import session
from benchmarks.workloads import Workload

KEYS, PLANTED_KEYS = 1000, 100
PLANTED_EVERY = 200_000
WINDOW = 1000
BATCH = 10_000


@dataclass(frozen=True)
class EventWorkload(Workload):
    """An event pattern over the events; `bits` and `columns` are what the floor sends."""

    def matched(self, events: DataFrame, key: str | None) -> DataFrame:
        """Return the matches."""
        import sparkcep

        return sparkcep.match_pattern(events, self.pattern, partition_by=key, order_by="ts", **self.arguments)


def _rising(name: str, more: str = "") -> EventWorkload:
    pattern = f"""SEQ(_+ a[], _ b)
        WHERE skip_till_next_match {{
            a[1].amount % 500 = 0 AND a[i].price > a[i-1].price AND b.amount < 150 {more}
        }}
        WITHIN 500 EVENTS
        RETURN a[1].ts AS began, COUNT(a) AS n"""
    return EventWorkload(name, pattern, {}, {}, ("amount % 500 = 0", "amount < 150"), ("ts", "price"))


RISING = _rising("SASE, skip till next, Kleene")


def event_shapes(scale: Scale) -> Result:
    """Measure bar 1, event patterns: p2 s3 of Agrawal et al. over 100,000 keys, whole job ÷ floor."""
    result = Result("event_shapes", "Event patterns: whole job ÷ floor", scale.settings())
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        for keys in (100_000, 100):
            record = against_floor(rows, RISING, f"g{keys}", scale)
            result.records.append({"query": record["query"], "keys": keys, **record})
            result.at_most(f"{RISING.name}, {keys:,} keys: job ÷ floor", record["ratio"], 1.15)
    return result


WINDOWED = {
    "row conditions, [key]": "SEQ(A a, B b, C c) WHERE [k] AND a.amount < 900",
    "row conditions, [key], any": "SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.amount < 900 }",
    "row conditions, [key], loop": "SEQ(A a, B+ b[], C c) WHERE [k] AND a.amount < 900",
    "equalities of all": "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k",
    "equality of two": "SEQ(A a, B b, D c) WHERE a.k = b.k",
}


def windows(scale: Scale) -> Result:
    """Measure bar 6: the same output under windows of 1, 10 and 100 times the length.

    There is no D, so the last pattern finds nothing; its equality does not tie all events together.
    """
    result = Result("windows", "Cost as the window grows, the same matches", scale.settings(keys=KEYS))
    with session() as spark:
        rows = spark.read.parquet(str(planted(scale.rows)))
        for name, pattern in WINDOWED.items():
            jobs = {factor: _within(rows, pattern, factor * WINDOW) for factor in (1, 10, 100)}
            timings = race(
                {str(factor): lambda job=job: run(job) for factor, job in jobs.items()}, repeats=scale.repeats
            )
            (matches,) = {job.count() for job in jobs.values()}
            medians = [timings[str(factor)].median for factor in jobs]
            for factor in jobs:
                timing = timings[str(factor)]
                result.records.append(
                    {
                        "pattern": name,
                        "window": factor * WINDOW,
                        "matches": matches,
                        "seconds": timing.median,
                        "÷ first": timing.median / medians[0],
                        "spread": timing.spread,
                        "worker MiB": round(timing.peak / MIB),
                    }
                )
            result.at_most(f"{name}: slowest window ÷ fastest", max(medians) / min(medians), 1.3)
    return result


def _within(rows: DataFrame, pattern: str, window: int) -> DataFrame:
    import sparkcep

    return sparkcep.match_pattern(
        rows,
        f"{pattern} WITHIN {window} RETURN a.t AS began, c.t AS ended",
        partition_by="one",
        order_by="t",
        type_column="kind",
    )


def planted(rows: int) -> Path:
    """Return a file whose matches lie close together, and which is full of beginnings that never end.

    Most keys have A and B and never C, so their runs live as long as the window. The others have
    nothing but N and, once in 200,000 rows, A, B and C within 100 rows.
    Columns: ``t`` (ascending by 1), ``k``, ``kind``, ``amount``, ``one`` (always 1).
    """
    file = FOLDER / f"planted_{rows}.parquet"
    if file.exists():
        return file
    random = np.random.default_rng(SEED)
    keys, kinds = (
        random.integers(PLANTED_KEYS, KEYS, rows),
        random.choice(np.array(list("ABN")), rows, p=(0.2, 0.2, 0.6)),
    )
    amounts = random.integers(0, 1000, rows)
    for place in range(PLANTED_EVERY // 2, rows, PLANTED_EVERY):
        for key in range(PLANTED_KEYS):
            # A row each of A, B, C; the keys' rows lie within each other's.
            for step, kind in enumerate("ABC"):
                at = place + key + PLANTED_KEYS * step
                if at < rows:
                    keys[at], kinds[at], amounts[at] = key, kind, 1
    columns = {"t": np.arange(rows), "k": keys, "kind": kinds, "amount": amounts, "one": np.ones(rows, np.int32)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file.with_suffix(".part"))
    return file.with_suffix(".part").rename(file)


def event_output(scale: Scale) -> Result:
    """Measure bar 7, event patterns: the same rows and pattern with a growing number of matches of ten events.

    Whole jobs by the clock on the wall, and the matcher alone, in this process, by that of the processor.
    """
    result = Result("event_output", "Cost against output size, ten events per match", scale.settings(keys=100))
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        jobs = {share: _ten_events_from(rows, share) for share in range(0, 101, 10)}
        whole = race({str(share): lambda job=job: run(job) for share, job in jobs.items()}, repeats=scale.repeats)
        matchers = {str(share): Prepared(rows, **_ten_events(share)) for share in jobs}
        sizes = [10 * job.count() for job in jobs.values()]
    alone = race({name: job.run for name, job in matchers.items()}, repeats=scale.repeats, clock=time.process_time)
    for part, timings in (("whole job", whole), ("matcher alone", alone)):
        slope, fixed, fit = line_through(sizes, [timing.median for timing in timings.values()])
        for size, timing in zip(sizes, timings.values(), strict=True):
            result.records.append(
                {
                    "part": part,
                    "events in matches": size,
                    "seconds": timing.median,
                    "line": fixed + slope * size,
                    "spread": timing.spread,
                    "worker MiB": round(timing.peak / MIB),
                }
            )
        result.at_least(f"{part}: R² of seconds against events in matches", fit, 0.99)
    return result


def _ten_events_from(rows: DataFrame, share: int) -> DataFrame:
    import sparkcep

    return sparkcep.match_pattern(rows, **_ten_events(share))


def _ten_events(share: int) -> dict[str, Any]:
    return {
        "pattern": "SEQ(A a, _{9} b[]) RETURN a.ts AS began, ARRAY_AGG(b.amount) AS amounts",
        "partition_by": "g100",
        "order_by": "ts",
        "types": {"A": f"amount < {10 * share}"},
        "strategy": "strict",
    }


class Prepared:
    """The part of a job that is ours alone, on one core: sorted rows as batches in, matches as batches out."""

    def __init__(self, rows: DataFrame, **arguments: Any) -> None:
        import sparkcep

        plan: Any = sparkcep.plan(rows, **arguments)
        self.task = plan.task()
        table: pa.Table = plan.prepared.frame.toArrow()
        self.batches = table.combine_chunks().to_batches(max_chunksize=BATCH)

    def run(self) -> int:
        """Match; return the number of matches."""
        return sum(batch.num_rows for batch in self.task.run(iter(self.batches)))
