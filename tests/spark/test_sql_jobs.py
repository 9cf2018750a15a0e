"""The library in sql/: every job, through each door, against sql/golden; SPARKCEP_WRITE_GOLDEN=1 writes it anew.

Golden rows are not merely what came out: where the data are generated, scripts/make_example_data.py knows the
answers it planted; where they are real, a few lines of Python without any pattern matcher find them again.
"""

from __future__ import annotations

import csv
import json
import os
import re
import runpy
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache, reduce
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.cli import main
from sparkcep.display import text_table
from sparkcep.spark.files import read_table

ROOT = Path(__file__).parents[2]
DATA = ROOT / "examples" / "data"
GOLDEN = ROOT / "sql" / "golden"
JOBS = sorted(path.stem for path in (ROOT / "sql").glob("*.sql"))
HEAD = 20
# Jobs with too many rows for their golden file, and the column that is summed up instead.
SUMMED = {
    "late_departures": "departures",
    "v_shapes": "days",
    "checkout_loop": "rounds",
    "sugar_highs_and_lows": "minutes_of_fall",
    "low_after_high": "minutes",
    "back_to_shipping": "seconds",
}


def text_of(job: str) -> str:
    return (ROOT / f"sql/{job}.sql").read_text(encoding="utf-8")


def inputs_of(job: str) -> dict[str, str]:
    """Read the tables of a job from the command in its header."""
    (command,) = re.findall(rf"^--     sparkcep run sql/{job}\.sql (.*)$", text_of(job), re.MULTILINE)
    return {name: str(ROOT / path) for name, path in re.findall(r"--input (\w+)=(\S+)", command)}


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    found: dict[str, DataFrame] = {}
    yield found
    for frame in found.values():
        frame.unpersist()


def result(spark: SparkSession, results: dict[str, DataFrame], job: str) -> DataFrame:
    if job not in results:
        for name, path in inputs_of(job).items():
            read_table(spark, path).createOrReplaceTempView(name)
        results[job] = sparkcep.sql(spark, text_of(job)).persist()
    return results[job]


def text(value: object) -> str:
    return "" if value is None else str(value)


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def compare(path: Path, rows: list[list[str]]) -> None:
    if os.environ.get("SPARKCEP_WRITE_GOLDEN"):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    assert rows_of(path) == rows


@pytest.mark.parametrize("job", JOBS)
def test_job(spark: SparkSession, results: dict[str, DataFrame], capsys: pytest.CaptureFixture[str], job: str) -> None:
    frame = result(spark, results, job)
    rows = (frame.limit(HEAD) if job in SUMMED else frame).collect()
    compare(GOLDEN / f"{job}.csv", [frame.columns, *([text(value) for value in row] for row in rows)])
    inputs = [part for name, path in inputs_of(job).items() for part in ("--input", f"{name}={path}")]
    assert main(["run", str(ROOT / f"sql/{job}.sql"), *inputs, "--show", "3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(text_table(frame.columns, rows[:3]) + "\n\n")
    if job not in SUMMED:
        assert shown.splitlines()[-1].startswith(f"{len(rows)} rows")


def totals(frames: dict[str, DataFrame]) -> list[list[str]]:
    """Return a line for each job, in one Spark job; the fingerprint is taken over all columns of all rows."""
    lines = []
    for job, frame in frames.items():
        summed = SUMMED.get(job)
        sums = [F.sum(summed), F.max(summed)] if summed else [F.lit(None), F.lit(None)]
        fingerprint = F.bit_xor(F.xxhash64(*(F.col(name).cast("string") for name in frame.columns)))
        values = (F.lit(job), F.count("*"), F.lit(summed), *sums, fingerprint)
        lines.append(frame.agg(*(value.cast("string").alias(f"c{i}") for i, value in enumerate(values))))
    return sorted([text(value) for value in row] for row in reduce(DataFrame.union, lines).collect())


def test_totals_and_views_in_an_enabled_session(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    """Every row counts; and spark.sql itself makes views of the jobs that give the same."""
    expected = totals({job: result(spark, results, job) for job in JOBS})
    head = ["job", "rows", "summed", "total", "largest", "fingerprint"]
    compare(GOLDEN / "totals.csv", [head, *(line for line in expected if line[0] in SUMMED)])
    sparkcep.enable(spark)
    try:
        for job in JOBS:
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW job_{job} AS\n{text_of(job)}")
        found = totals({job: spark.table(f"job_{job}") for job in JOBS})
    finally:
        sparkcep.disable(spark)
        for job in JOBS:
            spark.catalog.dropTempView(f"job_{job}")
    assert found == expected


@cache
def planted() -> dict[str, tuple[Any, list[list[str]]]]:
    """Return job → its table as it is made, and the rows it has to find."""
    made = [make() for make in runpy.run_path(str(ROOT / "scripts/make_example_data.py"))["TABLES"]]
    return {job: (one, [list(map(text, row)) for row in rows]) for one in made for job, rows in one.answers.items()}


@pytest.mark.parametrize("job", sorted(planted()))
def test_planted_answers_are_the_golden_rows(job: str) -> None:
    made, answers = planted()[job]
    assert rows_of(GOLDEN / f"{job}.csv")[1:] == answers
    assert rows_of(DATA / f"{made.table}.csv") == [list(made.columns), *(list(map(text, row)) for row in made.rows)]


def test_retried_tasks_in_the_log() -> None:
    attempts: dict[tuple[int, int, int], list[tuple[int, bool, str]]] = {}
    for line in (DATA / "task_events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        info = event["Task Info"]
        task = (event["Stage ID"], event["Stage Attempt ID"], info["Index"])
        attempts.setdefault(task, []).append((info["Attempt"], info["Failed"], info["Executor ID"]))
    expected = []
    for task, ends in sorted(attempts.items()):
        failed, executors = [end[1] for end in sorted(ends)], [end[2] for end in sorted(ends)]
        if failed == [True, True, False] and executors[2] not in executors[:2]:
            expected.append([*map(str, task), *executors])
    assert [row[:6] for row in rows_of(GOLDEN / "task_retries.csv")[1:]] == expected
    assert len(expected) == 2


def table_rows(name: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return rows of a Parquet file, sorted by these columns."""
    table = pq.read_table(DATA / f"{name}.parquet", columns=list(columns))
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize(
    ("job", "expression"),
    [
        ("v_shapes", ".D+U+"),
        ("w_shapes", ".D{3,}U{3,}D{3,}U{3,}"),
        ("ten_day_declines", ".D{10,}"),
    ],
)
def test_shapes_by_regular_expressions(
    spark: SparkSession, results: dict[str, DataFrame], job: str, expression: str
) -> None:
    """Days as letters: U for a higher close than the day before, D for a lower one."""
    expected: set[tuple[str, date, date]] = set()
    for ticker, rows in groupby(table_rows("stocks", "ticker", "trade_date", "close"), key=lambda row: row[0]):
        days = list(rows)
        letters = "=" + "".join("U" if b[2] > a[2] else "D" if b[2] < a[2] else "=" for a, b in pairwise(days))
        found = re.finditer(expression, letters)
        expected |= {(ticker, days[one.start()][1], days[one.end() - 1][1]) for one in found}
    rows = result(spark, results, job).select("ticker", "start_date", "end_date").collect()
    assert sorted(map(tuple, rows)) == sorted(expected)


def test_the_funnel_by_a_loop() -> None:
    steps = ("cart", "shipping_details", "payment_details", "purchase")
    names = ("", "1 cart", "2 shipping", "3 payment", "4 purchase")
    visits: Counter[tuple[str, str]] = Counter()
    errors: Counter[tuple[str, str]] = Counter()
    events = table_rows("shop_events", "session_id", "occurred_at", "event", "platform")
    for _, rows in groupby(events, key=lambda row: row[0]):
        reached = failed = 0
        visit = list(rows)
        platform = visit[0][3]
        for _, _, event, _ in visit:
            if reached < len(steps) and event == steps[reached]:
                reached += 1
            failed += reached == 3 and event == "payment_error"
        visits[platform, names[reached]] += 1
        errors[platform, names[reached]] += failed
    expected = [[*key, str(visits[key]), str(errors[key])] for key in sorted(visits) if key[1]]
    golden = [[row[0], row[1], row[2], row[4]] for row in rows_of(GOLDEN / "shop_funnel.csv")[1:]]
    assert golden == expected


def test_late_departures_known(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    frame = result(spark, results, "late_departures")
    assert frame.agg(F.count("*"), F.sum("departures"), F.max("departures")).first() == (2025, 6797, 9)


def test_low_after_high_known(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    assert result(spark, results, "low_after_high").count() == 56
    every_pair = text_of("low_after_high").replace("_next_match {", "_any_match {")
    assert sparkcep.sql(spark, every_pair).count() == 194
