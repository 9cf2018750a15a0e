"""A few cheap bodies that together make every public call; what ``make test`` runs of this folder."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import pytest

import sparkcep
from tests.spark.test_analysis import test_rates_and_selectivities
from tests.spark.test_clauses import prices, test_building_runs_no_spark_job
from tests.spark.test_enable import enabled, test_parameters, ticks
from tests.spark.test_match_graphs import test_partitions_are_numbered_and_cut_one_by_one
from tests.spark.test_register import functions, test_registered_patterns
from tests.spark.test_sql import test_a_clause_over_a_table, test_errors_point_into_the_statement, views
from tests.spark.test_values import every_type, test_every_type_is_gathered_unchanged

__all__ = [
    "enabled", "every_type", "functions", "prices", "test_a_clause_over_a_table", "test_building_runs_no_spark_job",
    "test_errors_point_into_the_statement", "test_every_type_is_gathered_unchanged", "test_parameters",
    "test_partitions_are_numbered_and_cut_one_by_one", "test_rates_and_selectivities", "test_registered_patterns",
    "ticks", "views",
]  # fmt: skip

pytestmark = pytest.mark.usefixtures("functions", "views", "no_views_left")
HERE = Path(__file__).parent
# Of tests/spark, what needs no session.
WITHOUT_SPARK = {"test_event_batch"}


def test_every_body_is_inherited() -> None:
    bodies = {path.stem for path in (HERE.parent / "spark").glob("test_*.py")} - WITHOUT_SPARK
    assert bodies - {path.stem for path in HERE.glob("test_*.py")} == set()
    for name in bodies:
        assert f"from tests.spark.{name} import *" in (HERE / f"{name}.py").read_text(encoding="utf-8")
        body = importlib.import_module(f"tests.spark.{name}")
        assert not hasattr(body, "__all__"), "import * takes every test"


def test_nothing_here_has_a_java_machine() -> None:
    assert "py4j" not in sys.modules or sys.modules["pyspark"].SparkContext._gateway is None


def test_every_public_call_takes_a_session_or_a_frame_of_any_kind() -> None:
    """The calls that speak to Spark, and where they are made on Connect."""
    calls = {
        name
        for name in sparkcep.__all__
        if inspect.isfunction(found := getattr(sparkcep, name))
        and {"spark", "df"} & set(inspect.signature(found).parameters)
    }
    texts = "\n".join(path.read_text(encoding="utf-8") for path in HERE.parent.glob("spark/test_*.py"))
    texts += (HERE / "shipping_application.py").read_text(encoding="utf-8")
    assert {name for name in calls if f"{name}(" not in texts} == set()
