"""Races against other matchers: the same file, the same match set first, then time."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from benchmarks.data import FOLDER, SEED
from benchmarks.event_jobs import Prepared
from benchmarks.jobs import Scale, run
from benchmarks.peers.environment import EPIGREP, PYCER, NotAvailable, Peer, PeerProcess
from benchmarks.peers.serving import digest
from benchmarks.race import Timing, race
from benchmarks.report import Result
from benchmarks.session import session

KEYS = 100


@dataclass(frozen=True)
class RaceJob:
    """A job under the name that the peer's script knows it by."""

    name: str
    pattern: str
    strategy: str
    within: int | None = None

    def matched(self, rows: DataFrame) -> DataFrame:
        """Return the matches: the numbers of their events."""
        return rows.match_pattern(**self.arguments())  # type: ignore[operator]

    def arguments(self) -> dict[str, Any]:
        """Return what match_pattern is told; windows of both peers end before their edge or after it."""
        return {
            "pattern": self.pattern,
            "partition_by": "k",
            "order_by": "t",
            "type_column": "kind",
            "strategy": self.strategy,
            "within": self.within,
            "inclusive": self.within is None,
        }


NEXT, ANY = "skip_till_next_match", "skip_till_any_match"
_STEPS = "SEQ(A a, B b WITHIN 3000, C c WITHIN 3000) RETURN a.i AS a, b.i AS b, c.i AS c"
_OF_C = "RETURN a.i AS a, c.i AS c"
AGAINST_EPIGREP = (
    RaceJob("a b c, next", _STEPS, NEXT),
    RaceJob("a b c, any", _STEPS, ANY),
    RaceJob("a no b c, next", f"SEQ(A a, ~B b, C c WITHIN 3000) {_OF_C}", NEXT),
    RaceJob("a c of equal x, next", f"SEQ(A a, C c WITHIN 3000) WHERE a.x = c.x {_OF_C}", NEXT),
)
AGAINST_PYCER = (
    RaceJob("a b c, any, one window", "SEQ(A a, B b, C c) RETURN a.i AS a, b.i AS b, c.i AS c", ANY, 3000),
    RaceJob(
        "a b+ c, any, one window", "SEQ(A a, B+ b[], C c) RETURN a.i AS a, ARRAY_AGG(b.i) AS b, c.i AS c", ANY, 1500
    ),
)


def against_epigrep(scale: Scale) -> Result:
    """Measure bar 5: epigrep on the jobs its language can say (it has no loops)."""
    return _raced("epigrep", EPIGREP, AGAINST_EPIGREP, scale)


def against_pycer(scale: Scale) -> Result:
    """Measure bar 5: CORE through pycer, skip-till-any with one window."""
    return _raced("pycer", PYCER, AGAINST_PYCER, scale)


def _raced(name: str, peer: Peer, jobs: tuple[RaceJob, ...], scale: Scale) -> Result:
    title = f"Against {peer.package} {peer.version}, {KEYS} keys"
    result = Result(name, title, scale.settings(keys=KEYS))
    file = stream(scale.rows)
    with tempfile.TemporaryDirectory() as folder, session() as spark:
        try:
            process = PeerProcess(peer, file, Path(folder))
            process.ask("load")
        except NotAvailable as reason:
            result.settings["skipped"] = str(reason)
            return result
        for job in jobs:
            try:
                _race_job(result, job, process, spark, file, scale)
            except NotAvailable as reason:
                result.settings[f"skipped, {job.name}"] = str(reason)
                break
        process.close()
    return result


def _race_job(
    result: Result, job: RaceJob, process: PeerProcess, spark: SparkSession, file: Path, scale: Scale
) -> None:
    whole = job.matched(read(spark, file))
    ours, theirs = digest(numbers_of(whole)), process.ask(f"hash {job.name}")
    same = ours == theirs
    if not same:
        print(f"{job.name}: different semantics, {ours['count']} matches here, {theirs['count']} there", flush=True)
    prepared = Prepared(read(spark, file), **job.arguments())
    pairs = {
        "match": (prepared.run, lambda: process.ask(f"match {job.name}")),
        "whole": (lambda: run(whole), lambda: process.ask(f"whole {job.name}")),
    }
    for part, (here, there) in pairs.items():
        timings = race({"here": here, "there": there}, repeats=scale.repeats)
        ratio = timings["there"].median / timings["here"].median
        result.records.append(race_record(job.name, part, timings, ours, theirs, scale.rows))
        if same:
            result.at_least(f"{job.name}, {part}: their time ÷ ours", ratio, 1)


def race_record(
    name: str, part: str, timings: dict[str, Timing], ours: dict[str, Any], theirs: dict[str, Any], rows: int
) -> dict[str, Any]:
    """Return a line of the table: of a job, or a part of it, here and there."""
    here, there = timings["here"], timings["there"]
    return {
        "job": name,
        "part": part,
        "match sets": "same" if ours == theirs else "different semantics",
        "matches": ours["count"],
        "their matches": theirs["count"],
        "their time ÷ ours": there.median / here.median,
        "s": here.median,
        "their s": there.median,
        "spread": here.spread,
        "their spread": there.spread,
        "events/s": round(rows / here.median),
        "their events/s": round(rows / there.median),
        "matches/s": round(ours["count"] / here.median),
    }


def numbers_of(found: DataFrame) -> Iterator[tuple[int, ...]]:
    """Return the numbers of each match's events, in order of time."""
    for row in found.drop("k").toArrow().to_pylist():
        numbers: list[int] = []
        for value in row.values():
            numbers += value if isinstance(value, list) else [value]
        yield tuple(numbers)


def read(spark: SparkSession, file: Path) -> DataFrame:
    """Return the rows of the file."""
    return spark.read.csv(str(file), header=True, schema="i bigint, t bigint, k int, kind string, x int")


def stream(rows: int) -> Path:
    """Return the file of `rows` events: number, time, key, kind (A, B, C or N) and a value of 0 … 4."""
    file = FOLDER / f"race_{rows}.csv"
    if file.exists():
        return file
    random = np.random.default_rng(SEED)
    times = np.cumsum(random.integers(1, 4, rows))
    keys, values = random.integers(0, KEYS, rows), random.integers(0, 5, rows)
    kinds = random.choice(np.array(list("ABCN")), rows, p=(0.2, 0.2, 0.1, 0.5))
    FOLDER.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".part")
    with unfinished.open("w", newline="") as lines:
        out = csv.writer(lines)
        out.writerow(("i", "t", "k", "kind", "x"))
        columns = (times, keys, kinds, values)
        out.writerows(zip(range(rows), *(column.tolist() for column in columns), strict=True))
    return unfinished.rename(file)
