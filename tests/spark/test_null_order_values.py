"""Rows whose first order value is NULL: a place of their own, unless WITHIN measures them or they are dropped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import BindingError


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT * FROM VALUES ('x', 1, 1), ('x', NULL, 2), ('x', 3, 3) AS t(k, i, v)")


@pytest.mark.parametrize(
    "order", [F.col, lambda name: F.col(name).asc(), lambda name: F.col(name).asc_nulls_last()], ids=["", "asc", "last"]
)
def test_columns_drop_as_names_do(rows: DataFrame, order: Callable[[str], Column]) -> None:
    found = sparkcep.match_pattern(
        rows,
        "A+",
        partition_by="k",
        order_by=[order("i")],
        measures={"vs": "ARRAY_AGG(v)"},
        null_order_value="drop",
    )
    assert [row.vs for row in found.collect()] == [[1, 3]]


def test_nothing_is_dropped_from_a_computed_sort_order_in_silence(rows: DataFrame) -> None:
    with pytest.raises(BindingError, match="null_order_value"):
        sparkcep.match_pattern(rows, "A", partition_by="k", order_by=[(F.col("i") + 1).desc()], null_order_value="drop")
