"""The jobs in sql/: head and totals of each result against sql/golden; SPARKCEP_WRITE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "sql" / "golden"
HEAD = 20
# Job: its input, and the column that is summed up.
JOBS = {
    "late_departures": ("flights", "departures"),
    "v_shapes": ("stocks", "days"),
    "checkout_loop": ("shop_events", "rounds"),
    "sugar_highs_and_lows": ("glucose", "minutes_of_fall"),
    "low_after_high": ("glucose", "minutes"),
    "back_to_shipping": ("shop_events", "seconds"),
}


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, DataFrame]:
    return {}


def result(spark: SparkSession, results: dict[str, DataFrame], job: str) -> DataFrame:
    if job not in results:
        table, _ = JOBS[job]
        spark.read.parquet(str(ROOT / f"examples/data/{table}.parquet")).createOrReplaceTempView(table)
        results[job] = sparkcep.sql(spark, (ROOT / f"sql/{job}.sql").read_text(encoding="utf-8")).persist()
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
def test_head(spark: SparkSession, results: dict[str, DataFrame], job: str) -> None:
    frame = result(spark, results, job)
    head = [[text(value) for value in row] for row in frame.limit(HEAD).collect()]
    compare(GOLDEN / f"{job}.csv", [frame.columns, *head])


def test_totals(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    """Every row counts: the fingerprint is taken over all columns of all rows."""
    rows = [["job", "rows", "summed", "total", "largest", "fingerprint"]]
    for job, (_, summed) in JOBS.items():
        frame = result(spark, results, job)
        fingerprint = F.bit_xor(F.xxhash64(*(F.col(name).cast("string") for name in frame.columns)))
        total = frame.agg(F.count("*"), F.lit(summed), F.sum(summed), F.max(summed), fingerprint).first()
        assert total is not None
        rows.append([job, *map(text, total)])
    compare(GOLDEN / "totals.csv", rows)


def test_late_departures_known(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    frame = result(spark, results, "late_departures")
    assert frame.agg(F.count("*"), F.sum("departures"), F.max("departures")).first() == (2025, 6797, 9)


def test_v_shapes_known(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    frame = result(spark, results, "v_shapes")
    assert frame.agg(F.count("*"), F.sum("days")).first() == (2020, 9867)


def test_low_after_high_known(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    assert result(spark, results, "low_after_high").count() == 56
    every_pair = (ROOT / "sql/low_after_high.sql").read_text(encoding="utf-8").replace("_next_match {", "_any_match {")
    assert sparkcep.sql(spark, every_pair).count() == 194


def test_back_to_shipping_known(spark: SparkSession, results: dict[str, DataFrame]) -> None:
    assert result(spark, results, "back_to_shipping").count() == 28
