"""Recipes that run in a session of their caller: what tools ask for is lazy, and what tasks do is done."""

from __future__ import annotations

import ast
import importlib.util
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.frames import skip_unless_told_of_writes

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples/recipes"
FLIGHTS = str(ROOT / "examples/data/flights.parquet")
# Without one, Spark looks into the file in a job, on Connect whenever it analyses what is read from it.
SCHEMA = "tail_number string, scheduled_departure timestamp_ntz, carrier string, flight int, departure_delay int"


class Dbt:
    """What dbt gives to a model."""

    class Config(dict[str, Any]):
        def __call__(self, **given: Any) -> None:
            self.update(given)

    def __init__(self, tables: dict[str, DataFrame], **settings: Any) -> None:
        self.tables, self.config = tables, self.Config(settings)

    def ref(self, name: str) -> DataFrame:
        return self.tables[name]


def flights_of_a_week(spark: SparkSession) -> DataFrame:
    return spark.read.schema(SCHEMA).parquet(FLIGHTS).where("scheduled_departure < TIMESTAMP_NTZ '2013-01-08'")


def test_dbt_model_is_lazy_and_takes_settings(spark: SparkSession, jobs_begun: Callable[[], int]) -> None:
    model = runpy.run_path(str(RECIPES / "dbt/models/late_chains.py"))["model"]
    flights = flights_of_a_week(spark)
    before = jobs_begun()
    dbt = Dbt({"flights": flights}, minutes=60)
    chains = model(dbt, spark)
    assert jobs_begun() == before
    assert dbt.config["materialized"] == "table"
    rows = chains.collect()
    assert rows
    assert min(row.departures for row in rows) == 3
    assert min(row.worst_delay for row in rows) >= 60


def test_airflow_task_writes_and_counts(spark: SparkSession, tmp_path: Path, jobs_begun: Callable[[], int]) -> None:
    skip_unless_told_of_writes(spark)
    work = runpy.run_path(str(RECIPES / "airflow/late_departures.py"))
    flights = flights_of_a_week(spark)
    before = jobs_begun()
    work["late_chains"](flights)
    assert jobs_begun() == before
    source, target = str(tmp_path / "flights"), str(tmp_path / "chains")
    flights.write.parquet(source)
    assert work["find_late_chains"](source, target) == spark.read.parquet(target).count() > 0


def test_airflow_dag_calls_the_task_as_it_is() -> None:
    tree = ast.parse((RECIPES / "airflow/late_departures_dag.py").read_text(encoding="utf-8"))
    (imported,) = [
        node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "late_departures"
    ]
    names = {alias.name for alias in imported.names}
    calls = [
        n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names
    ]
    work = runpy.run_path(str(RECIPES / "airflow/late_departures.py"))
    for call in calls:
        parameters = work[call.func.id].__code__.co_argcount  # type: ignore[attr-defined]
        assert len(call.args) == parameters
    assert calls


@pytest.mark.skipif(importlib.util.find_spec("airflow") is None, reason="Airflow is not installed")
def test_airflow_reads_the_dag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RECIPES / "airflow"))
    read = runpy.run_path(str(RECIPES / "airflow/late_departures_dag.py"))
    assert set(read["late_departures"]().task_ids) == {"find", "report"}
