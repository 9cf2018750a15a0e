"""Rows that an event pattern can do without are dropped before the shuffle, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.spark.event_plan import EventPlan

ROWS = [(1, "A", 1), (2, "N", 2), (3, "B", 3), (4, None, 4), (5, "B", 50), (6, "X", 6), (7, "C", 7), (8, "A", 8)]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "t int, kind string, v int")


def sent(events: DataFrame, pattern: str, **arguments: Any) -> int:
    """Return how many rows the matcher is given."""
    arguments = {"partition_by": "1 AS one", "order_by": "t", "type_column": "kind"} | arguments
    plan = sparkcep.plan(events, pattern, **arguments)
    assert isinstance(plan, EventPlan)
    return plan.prepared.frame.count()


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("SEQ(A a, C c)", 3),
        ("SEQ(A a, ~(X x), C c)", 4),
        ("SEQ(A a, B+ b[] UNTIL (v = 6), C c)", 6),
        ("OR(A a, X x)", 3),
        ("AND(A a, B b) WHERE skip_till_any_match { b.v > 10 }", 3),
        ("SEQ(A a, _ b) WHERE b.v > 5", 5),
        ("SEQ(A a, _ b) WHERE b.v > a.v", 8),
        ("SEQ(A a, C c) WHERE strict(a, c) {}", 8),
        ("SEQ(A a, C c) WHERE partition_contiguity(a, c) {}", 8),
        ("SEQ(A a, C c) WITHIN 3 EVENTS", 8),
        ("SEQ(A a, C c WITHIN 3 EVENTS)", 8),
    ],
)
def test_rows_that_reach_the_matcher(events: DataFrame, pattern: str, rows: int) -> None:
    assert sent(events, pattern) == rows


def test_types_by_conditions(events: DataFrame) -> None:
    types = {"Low": "v < 3", "High": "v > 40"}
    assert sent(events, "SEQ(Low a, High b)", types=types, type_column=None) == 3


def test_a_null_order_value_is_told_wherever_it_stands(spark: SparkSession) -> None:
    rows: Sequence[Any] = [(1, "A"), (None, "N"), (2, "B")]
    frame = spark.createDataFrame(rows, "t int, kind string")
    found = frame.match_pattern("SEQ(A a, B b) WITHIN 5", partition_by="1 AS one", order_by="t", type_column="kind")
    with pytest.raises(PySparkException, match="NULL_ORDER_VALUE"):
        found.collect()


def test_explain_tells_what_is_dropped(events: DataFrame) -> None:
    arguments: dict[str, Any] = {"partition_by": "1 AS one", "order_by": "t", "type_column": "kind"}
    dropped = sparkcep.plan(events, "SEQ(A a, C c) WHERE c.v > 5", **arguments).explain()
    assert "Rows that satisfy none of these are dropped before the shuffle: 0 and 2; 1" in dropped
    kept = sparkcep.plan(events, "SEQ(A a, C c) WITHIN 3 EVENTS", **arguments).explain()
    assert "All rows go through the shuffle" in kept
