"""The library in sql/: every job, through each door of SQL, against sql/golden; SPARKCEP_WRITE_GOLDEN=1 writes it anew.

Golden rows are not merely what came out: where the data are generated, scripts/make_example_data.py knows the
answers it planted; where they are real, a few lines of Python without any pattern matcher find them again.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import runpy
from collections import Counter
from datetime import date
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row, SparkSession

import sparkcep
from sparkcep.api import sql
from sparkcep.cli import main
from sparkcep.spark.files import read_table

ROOT = Path(__file__).parents[2]
DATA = ROOT / "examples" / "data"
GOLDEN = ROOT / "sql" / "golden"
JOBS = sorted(path.stem for path in (ROOT / "sql").glob("*.sql"))
HEAD = 20
FEW = "N12"
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


class Result(NamedTuple):
    """What an enabled session makes of a job; each is run once."""

    columns: list[str]
    rows: list[Row]

    def texts(self) -> list[list[str]]:
        return [[text(value) for value in row] for row in self.rows]


Results = dict[str, Result]


@pytest.fixture(scope="module")
def results() -> Results:
    return {}


def result(spark: SparkSession, results: Results, job: str) -> Result:
    if job not in results:
        for name, path in inputs_of(job).items():
            read_table(spark, path).createOrReplaceTempView(name)
        try:
            frame = sparkcep.enable(spark).sql(text_of(job))
        finally:
            sparkcep.disable(spark)
        results[job] = Result(frame.columns, frame.collect())
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
def test_job(spark: SparkSession, results: Results, job: str) -> None:
    found = result(spark, results, job)
    compare(GOLDEN / f"{job}.csv", [found.columns, *found.texts()[: HEAD if job in SUMMED else None]])


def test_totals(spark: SparkSession, results: Results) -> None:
    """Every row counts: the fingerprint is taken over all columns of all rows."""
    lines = [["job", "rows", "summed", "total", "largest", "fingerprint"]]
    for job, summed in SUMMED.items():
        found = result(spark, results, job)
        values = [row[summed] for row in found.rows]
        fingerprint = hashlib.sha256(json.dumps(sorted(found.texts())).encode()).hexdigest()[:16]
        lines.append([job, str(len(values)), summed, str(sum(values)), str(max(values)), fingerprint])
    compare(GOLDEN / "totals.csv", lines)


@pytest.fixture(scope="module")
def few_flights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the flights of some aircraft: sorting all of them once is enough."""
    path = str(tmp_path_factory.mktemp("data") / "flights.parquet")
    table = pq.read_table(DATA / "flights.parquet", filters=[("tail_number", "<", FEW)])
    pq.write_table(table, path, coerce_timestamps="us")
    return path


@pytest.mark.parametrize("first", range(0, len(JOBS), 4))
def test_views_from_the_command_line(
    spark: SparkSession,
    no_views_left: None,
    results: Results,
    few_flights: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
) -> None:
    """Four files in one call, each as a view of its own; it hands them to `sparkcep.sql`, as they are."""
    taken: list[str] = []
    monkeypatch.setattr("sparkcep.api.sql", lambda spark, text: taken.append(text) or sql(spark, text))
    statements, parts, expected = [], [], []
    for job in JOBS[first : first + 4]:
        found = result(spark, results, job)
        statements.append(f"CREATE OR REPLACE TEMPORARY VIEW job_{job} AS\n{text_of(job).strip()}")
        values = ", ".join(f"CAST(`{name}` AS STRING)" for name in found.columns)
        parts.append(f"SELECT '{job}' AS job, array({values}) AS v FROM job_{job}")
        rows = [row for row in found.rows if job != "late_departures" or row.tail_number < FEW]
        expected += [(job, list(map(text, row))) for row in rows]
    tables = {name: path for job in JOBS[first : first + 4] for name, path in inputs_of(job).items()}
    tables |= {"flights": few_flights} if "flights" in tables else {}
    inputs = [part for name, path in tables.items() for part in ("--input", f"{name}={path}")]
    statements.append("\nUNION ALL ".join(parts))
    (tmp_path / "all.sql").write_text(";\n".join(statements), encoding="utf-8")
    assert main(["run", str(tmp_path / "all.sql"), *inputs, "--output", str(tmp_path / "out.json")]) == 0
    assert taken == statements
    lines = [line for path in (tmp_path / "out.json").glob("*.json") for line in path.read_text("utf-8").splitlines()]
    assert sorted((row["job"], list(map(text, row["v"]))) for row in map(json.loads, lines)) == sorted(expected)


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
def test_shapes_by_regular_expressions(spark: SparkSession, results: Results, job: str, expression: str) -> None:
    """Days as letters: U for a higher close than the day before, D for a lower one."""
    expected: set[tuple[str, date, date]] = set()
    for ticker, rows in groupby(table_rows("stocks", "ticker", "trade_date", "close"), key=lambda row: row[0]):
        days = list(rows)
        letters = "=" + "".join("U" if b[2] > a[2] else "D" if b[2] < a[2] else "=" for a, b in pairwise(days))
        found = re.finditer(expression, letters)
        expected |= {(ticker, days[one.start()][1], days[one.end() - 1][1]) for one in found}
    rows = result(spark, results, job).rows
    assert sorted((row.ticker, row.start_date, row.end_date) for row in rows) == sorted(expected)


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


def test_late_departures_known(spark: SparkSession, results: Results) -> None:
    departures = [row.departures for row in result(spark, results, "late_departures").rows]
    assert (len(departures), sum(departures), max(departures)) == (2025, 6797, 9)


def test_low_after_high_known(spark: SparkSession, results: Results) -> None:
    assert len(result(spark, results, "low_after_high").rows) == 56
    every_pair = text_of("low_after_high").replace("_next_match {", "_any_match {")
    assert sql(spark, every_pair).count() == 194
