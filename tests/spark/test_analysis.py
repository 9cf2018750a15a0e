"""sparkcep.analyze: rates per window and selectivities, counted by hand on a few rows."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import sparkcep

ROWS = [
    ("g", 1, "A", 5), ("g", 2, "A", 1), ("g", 3, "B", 3), ("g", 4, "C", 9), ("g", 5, "B", 0), ("g", 9, "B", 7),
    ("h", 1, "B", 1), ("h", 2, "A", 2), ("h", 3, "B", 8), ("h", 3, "C", 8),
]  # fmt: skip


def test_rates_and_selectivities(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, "k string, t int, type string, v int")
    given = {"partition_by": "k", "order_by": "t", "type_column": "type", "strategy": "skip_till_any_match"}
    pattern = "SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v = c.v AND c.v > 5 WITHIN 2"
    found = sparkcep.analyze(frame, pattern, **given)
    # Windows of 2 hold 3 3 3 2 1 1 and 4 3 2 1 rows from each row on.
    assert found.rates == {"a": pytest.approx(3 / 10 * 2.3), "b": pytest.approx(0.5 * 2.3), "c": pytest.approx(0.46)}
    # a b inside of the window: 5 3, 1 3, 2 8; b c: 3 9, 1 8, 8 8.
    assert found.selectivities == {("a", "b"): pytest.approx(2 / 3), ("b", "c"): pytest.approx(1 / 3)}
    # Of two partitions both hold A and B, and C; one has 6 of 10 rows.
    assert found.presence == {"a": 1.0, "b": 1.0, "c": 1.0}
    assert (found.largest, found.rows) == (pytest.approx(0.6), 10)
    options = sparkcep.Options(stats=sparkcep.Statistics.from_json(found.to_json()), plan="ordered")
    assert "(c, b, a)" in sparkcep.plan(frame, pattern, options=options, **given).explain()
    matches = sparkcep.match_pattern(frame, f"{pattern} RETURN a.v AS a, c.v AS c", options=options, **given)
    assert [(row.k, row.a, row.c) for row in matches.collect()] == [("h", 2, 8)]


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
def test_patterns_that_no_statistics_help(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, "k string, t int, type string, v int")
    given = {"order_by": "t", "type_column": "type", "strategy": "skip_till_any_match"}
    with pytest.raises(sparkcep.PlanError, match="b takes several events"):
        sparkcep.analyze(frame, "SEQ(A a, B+ b[])", **given)
    with pytest.raises(sparkcep.BindingError, match="this is a row pattern"):
        sparkcep.analyze(frame, "A B", order_by="t", define={"A": "v > 1"})


def test_a_sample_is_measured_when_it_is_asked_for(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, "k string, t int, type string, v int")
    given = {"partition_by": "k", "order_by": "t", "type_column": "type"}
    pattern = "SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v = c.v AND c.v > 5 WITHIN 2"
    options = sparkcep.Options(sample=10)
    plan = sparkcep.plan(frame, pattern, strategy="skip_till_any_match", options=options, **given)
    assert "(c, b, a): about" in plan.explain()
    assert "(c, b, a): about" not in sparkcep.plan(frame, pattern, options=options, **given).explain()
    with pytest.raises(ValueError, match="sample is a number of rows"):
        sparkcep.Options(sample=0)
