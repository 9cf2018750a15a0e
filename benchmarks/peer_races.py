"""Races of row patterns: against other matchers, and against what one writes without any."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sparkcep
from benchmarks.data import FOLDER, events
from benchmarks.jobs import Scale, run
from benchmarks.peers.environment import FLINK, PANDAS_MATCH_RECOGNIZE, SECONDS, NotAvailable, Peer, PeerProcess
from benchmarks.peers.row_jobs import FUNNEL, STRICT, TURN, V_SHAPE, RowJob
from benchmarks.peers.serving import digest
from benchmarks.peers.with_apply_in_pandas import funnel, v_shape
from benchmarks.peers.with_lead_columns import strict_funnel
from benchmarks.race import Job, Timing, race
from benchmarks.races import race_record
from benchmarks.report import Result
from benchmarks.session import session
from benchmarks.workloads import Workload

ROWS_OF_KEY = 50
SCHEMA = "i bigint, ts timestamp, key int, kind string, price double"
IN_MEMORY, FROM_FILE = "from memory", "from file"
BUDGET = 60.0
"""Seconds after which a pair of jobs is not repeated any more, for peers that take very long."""
Answer = TypeVar("Answer")


def apply_in_pandas(scale: Scale) -> Result:
    """Measure bar 4: `applyInPandas` with a loop in Python, whole Spark jobs over the same Parquet files."""
    keys = scale.rows // ROWS_OF_KEY
    result = Result(
        "apply_in_pandas",
        f"Against applyInPandas with a loop, {keys:,} keys",
        scale.settings(keys=keys, budget=f"{BUDGET:g} s"),
    )
    with session() as spark:
        rows = read_events(spark, scale.rows, keys)
        for job, by_hand in ((FUNNEL, funnel), (V_SHAPE, v_shape)):
            _race_by_hand(result, job, sparkcep.Options(), by_hand(rows), rows, scale, at_least=10)
    return result


def lead_columns(scale: Scale) -> Result:
    """Measure a strict pattern of three rows against `lead` columns, whole Spark jobs over the same Parquet files."""
    result = Result(
        "lead_columns",
        "Against lead columns written by hand, 100,000 keys",
        scale.settings(keys=100_000, budget=f"{BUDGET:g} s"),
    )
    with session() as spark:
        rows = read_events(spark, scale.rows, 100_000)
        for plan in ("auto", "window"):
            options = sparkcep.Options(plan=plan)
            job = STRICT._replace(name=f"{STRICT.name}, plan {plan}")
            _race_by_hand(result, job, options, strict_funnel(rows), rows, scale, at_least=None)
    return result


def _race_by_hand(
    result: Result,
    job: RowJob,
    options: sparkcep.Options,
    by_hand: DataFrame,
    rows: DataFrame,
    scale: Scale,
    at_least: float | None,
) -> None:
    found = matched(rows, job, options)
    try:
        ours, theirs = digest(numbers_of(found)), digest(capped(by_hand, numbers_of))
        pair = {"here": partial(run, found), "there": partial(capped, by_hand, run)}
        timings = _timed(pair, scale.repeats)
    except NotAvailable as reason:
        result.settings[f"skipped, {job.name}"] = str(reason)
        return
    result.records.append(_record(job.name, FROM_FILE, timings, ours, theirs, scale.rows))
    if ours == theirs and at_least is not None:
        ratio = timings["there"].median / timings["here"].median
        result.at_least(f"{job.name}: their time ÷ ours", ratio, at_least)


def _timed(jobs: Mapping[str, Job], repeats: int) -> dict[str, Timing]:
    """Run jobs in turns; the comparison of their matches has warmed up both matchers."""
    return race(jobs, repeats=repeats, warm_up=0, budget=BUDGET)


def _record(
    name: str, part: str, timings: dict[str, Timing], ours: dict[str, Any], theirs: dict[str, Any], rows: int
) -> dict[str, Any]:
    record = race_record(name, part, timings, ours, theirs, rows)
    return {**record, "repeats": len(timings["here"].seconds)}


def capped(frame: DataFrame, action: Callable[[DataFrame], Answer]) -> Answer:
    """Run a job that may not take longer than other matchers may.

    Raises
    ------
    NotAvailable
        When it took longer and was ended.
    """
    context = frame.sparkSession.sparkContext
    ended = threading.Event()

    def end() -> None:
        ended.set()
        context.cancelAllJobs()

    limit = threading.Timer(SECONDS, end)
    limit.start()
    try:
        return action(frame)
    except Exception:  # of several kinds, depending on what the job was doing
        if ended.is_set():
            raise NotAvailable(f"no answer within {SECONDS} s") from None
        raise
    finally:
        limit.cancel()


@dataclass(frozen=True)
class Field:
    """What a race is run on: rows in how many keys, from a file, from memory or both."""

    keys: int
    rows: int
    parts: tuple[str, ...]

    def __str__(self) -> str:
        """Return it as a table says it."""
        return f"{self.keys:,} key{'s' * (self.keys > 1)}, {self.rows:,} rows"


def pandas_match_recognize(scale: Scale) -> Result:
    """Measure bar 5: pandas-match-recognize; it takes far longer for many keys than for one."""
    fields = (
        Field(1, scale.rows, (IN_MEMORY, FROM_FILE)),
        Field(1000, scale.rows // 10, (FROM_FILE,)),
    )
    return _raced("pandas_match_recognize", PANDAS_MATCH_RECOGNIZE, (FUNNEL, V_SHAPE), fields, scale)


def flink(scale: Scale) -> Result:
    """Measure bar 5: Flink SQL as a batch."""
    field = Field(scale.rows // ROWS_OF_KEY, scale.rows, (FROM_FILE,))
    return _raced("flink", FLINK, (FUNNEL, TURN), [field], scale)


def _raced(name: str, peer: Peer, jobs: Sequence[RowJob], fields: Sequence[Field], scale: Scale) -> Result:
    result = Result(name, f"Against {peer.package} {peer.version}", scale.settings(budget=f"{BUDGET:g} s"))
    with session() as spark:
        for field in fields:
            try:
                _race_on(field, result, peer, jobs, spark, scale.repeats)
            except NotAvailable as reason:
                result.settings[f"skipped, {field}"] = str(reason)
    return result


def _race_on(
    field: Field, result: Result, peer: Peer, jobs: Sequence[RowJob], spark: SparkSession, repeats: int
) -> None:
    file = steps(field.rows, field.keys)
    with tempfile.TemporaryDirectory() as folder:
        process = PeerProcess(peer, file, Path(folder))
        try:
            process.ask("load")
            for job in jobs:
                _race_job(field, result, process, job, spark.read.csv(str(file), schema=SCHEMA), repeats)
        finally:
            process.close()


def _race_job(field: Field, result: Result, process: PeerProcess, job: RowJob, rows: DataFrame, repeats: int) -> None:
    name = f"{job.name}, {field}"
    theirs = process.ask(f"hash {job.name}")
    ours = digest(numbers_of(matched(rows, job)))
    if ours != theirs:
        print(f"{name}: different semantics, {ours['count']} matches here, {theirs['count']} there", flush=True)
    for part in field.parts:
        kept = rows.cache() if part == IN_MEMORY else rows
        found = matched(kept, job)
        command = f"{'match' if part == IN_MEMORY else 'whole'} {job.name}"
        least = floor(kept, job)
        jobs = {"here": partial(run, found), "there": partial(process.ask, command), "floor": partial(run, least)}
        timings = _timed(jobs, repeats)
        kept.unpersist(blocking=True)
        floors = {"Spark's floor s": timings["floor"].median}
        result.records.append(_record(name, part, timings, ours, theirs, field.rows) | floors)
        if ours == theirs:
            ratio = timings["there"].median / timings["here"].median
            result.at_least(f"{name}, {part}: their time ÷ ours", ratio, 1)


def matched(rows: DataFrame, job: RowJob, options: sparkcep.Options | None = None) -> DataFrame:
    """Return the matches: the numbers of their first and last row."""
    first, *_, last = job.pattern.replace("+", "").split()
    found = sparkcep.match_pattern(
        rows,
        job.pattern,
        partition_by="key",
        order_by="ts",
        define=job.define,
        measures={"first_i": f"FIRST({first}.i)", "last_i": f"LAST({last}.i)"},
        options=options,
    )
    return found.select("first_i", "last_i")


def floor(rows: DataFrame, job: RowJob) -> DataFrame:
    """Return what Spark itself must do for a job: sort and number the rows, hand them to Python, count them."""
    of_one_row = tuple(condition for condition in job.define.values() if "price" not in condition)
    return Workload(job.name, job.pattern, job.define, {}, bits=of_one_row, columns=("i",)).floor(rows, "key")


def numbers_of(found: DataFrame) -> Iterator[tuple[int, ...]]:
    """Return the numbers of each match's first and last row."""
    table = found.toArrow()
    return zip(table["first_i"].to_pylist(), table["last_i"].to_pylist(), strict=True)


def read_events(spark: SparkSession, rows: int, keys: int) -> DataFrame:
    """Return the events with that many keys, from Parquet."""
    read = spark.read.parquet(str(events(rows)))
    key = (F.col("g100000") % keys).cast("int")
    return read.select(F.col("ts").cast("bigint").alias("i"), "ts", key.alias("key"), "kind", "price")


def steps(rows: int, keys: int) -> Path:
    """Return the file with the same rows as CSV, without a line of names."""
    file = FOLDER / f"steps_{rows}_{keys}.csv"
    if file.exists():
        return file
    read = pq.read_table(events(rows))
    times = pc.cast(pc.cast(read["ts"], pa.timestamp("s", "UTC")), pa.timestamp("s"))
    key = pa.array(read["g100000"].to_numpy() % keys, pa.int32())
    columns: dict[str, Any] = {"i": pc.cast(times, pa.int64()), "ts": times, "key": key}
    table = pa.table(columns | {"kind": read["kind"], "price": read["price"]})
    unfinished = file.with_suffix(".part")
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    pyarrow.csv.write_csv(table, unfinished, options)
    return unfinished.rename(file)
