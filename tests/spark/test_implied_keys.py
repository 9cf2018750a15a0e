"""Equalities that say what ``[key]`` says: the same matches, and a plan that tells of classes."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep

ROWS = [
    (0, "A", "u", 0.0), (1, "A", None, math.nan), (2, "A", "v", None), (3, "B", "v", -0.0), (4, "B", None, None),
    (5, "A", "", math.nan), (6, "B", "", 1.0), (7, "B", "u", math.nan), (8, "C", None, 0.0), (9, "C", "u", math.nan),
    (10, "C", "", 1.0), (11, "C", "v", None), (12, "B", "v", 0.0), (13, "C", "v", -0.0), (14, "C", "U", 1.0),
]  # fmt: skip
ARGUMENTS = {"partition_by": "one", "order_by": "i", "type_column": "kind"}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "i int, kind string, k string, x double").selectExpr("*", "1 AS one")


@pytest.mark.parametrize("column", ["k", "x"])
@pytest.mark.parametrize("strategy", ["skip_till_next_match", "skip_till_any_match"])
def test_same_matches_as_with_a_key(events: DataFrame, column: str, strategy: str) -> None:
    equal = f"WHERE a.{column} = b.{column} AND b.{column} = c.{column}"
    found = [
        events.match_pattern(
            f"SEQ(A a, B b, C c) {where} RETURN a.i AS a, b.i AS b, c.i AS c", strategy=strategy, **ARGUMENTS
        ).collect()
        for where in (equal, f"WHERE [{column}]")
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 1


def test_the_plan_tells_of_it(events: DataFrame) -> None:
    where = "WHERE a.k = c.k AND b.k = a.k"
    told = sparkcep.plan(events, f"SEQ(A a, ~(B b), C c) {where}", **ARGUMENTS).explain()
    assert "Class of an event: k" in told


def test_non_overlapping_has_the_classes_of_the_pattern(events: DataFrame) -> None:
    pattern = "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k RETURN a.i AS a, c.i AS c"
    found = events.match_pattern(pattern, matches="non_overlapping", **ARGUMENTS)
    assert [tuple(row)[1:] for row in found.collect()] == [(0, 9)]
