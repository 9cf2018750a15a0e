"""The plan without Python: what Spark runs, measures of all types, several partitions, errors of the data."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import PlanError
from tests.property.comparison import compare
from tests.spark.frames import physical_plan

EVENTS = """
    SELECT 'k' || (id % 7) AS k, id AS i,
        element_at(array('view', 'cart', 'buy', 'view', 'cart'), CAST(hash(id) % 3 AS int) + 3) AS kind,
        CAST(id % 11 AS tinyint) AS small, 4000000000000000000 AS big,
        CAST(CAST(id AS decimal(12,2)) / 3 AS decimal(12,2)) AS d,
        CAST(id AS double) / 7 AS x, CAST(id / 3 AS float) AS f,
        TIMESTAMP'2024-01-01' + make_dt_interval(0, 0, id) AS ts,
        make_dt_interval(id) AS days, make_ym_interval(id, 1) AS months, IF(id % 4 = 0, NULL, id) AS v,
        TIMESTAMP_NTZ'2024-03-31 02:00:00' + make_dt_interval(0, id) AS n, named_struct('a', id, 'b', 'x') AS s
    FROM range(200)
"""
FUNNEL = {"A": "kind = 'view'", "B": "kind = 'cart'", "C": "kind = 'buy'"}
MEASURES = {
    "began": "A.ts",
    "number": "MATCH_NUMBER()",
    "smalls": "SUM(small)",
    "ds": "SUM(d)",
    "mean": "AVG(d)",
    "xs": "SUM(x)",
    "fs": "AVG(B.f)",
    "vs": "SUM(v) FILTER (WHERE v > 5)",
    "many": "COUNT(v)",
    "some": "COUNT(*) FILTER (WHERE v % 2 = 0)",
    "least": "MIN(v)",
    "most": "MAX(x)",
    "month": "CAST(MAX(A.months) AS STRING)",
    "day": "SUM(days)",
    "last": "CLASSIFIER()",
    "before": "PREV(LAST(v), 2)",
    "behind": "NEXT(C.v)",
    "none": "LAST(B.v, 1)",
    "list": "ARRAY_AGG(v)",
    "named": "LISTAGG(CLASSIFIER(), ',')",
    "median": "MEDIAN(v)",
    "struct": "A.s",
    "bare": "f * 2",
}
DEPENDENT = {
    "A": "v > 0",
    "B": "v > A.v AND d > A.d AND n > A.n AND kind <> A.kind",
    "C": "x > AVG(x) AND days - A.days > INTERVAL '1' DAY AND ts - FIRST(ts) < INTERVAL '1' HOUR AND f <> LAST(B.f)",
}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.sql(EVENTS).repartition(5, "i").cache()


def planned(events: DataFrame, name: str, pattern: str, **arguments: Any) -> DataFrame:
    given = {"partition_by": "k", "order_by": "i", **arguments}
    return sparkcep.plan(events, pattern, **given, options=sparkcep.Options(plan=name)).dataframe()  # type: ignore[arg-type]


def test_no_python_one_exchange_one_sort(events: DataFrame) -> None:
    measures = {"began": "A.ts", "n": "MATCH_NUMBER()"}
    for define, pattern in ((FUNNEL, "A B C"), ({"B": "x > PREV(x)"}, "A B"), (DEPENDENT, "A B C")):
        skip = "to next row" if define is DEPENDENT else "past last row"
        plan = sparkcep.plan(
            events, pattern, partition_by="k", order_by="i", define=define, measures=measures, after_match=skip
        )
        assert plan.compiled.decision.chosen.name == "window"
        told = physical_plan(plan.dataframe())
        assert "Python" not in told
        assert "MapInArrow" not in told
        assert told.count("Sort [") == 1
        assert told.count("Exchange hashpartitioning(k") == 1
    assert "MapInArrow" in physical_plan(planned(events, "sweep", "A B C", define=FUNNEL, measures=measures))


@pytest.mark.parametrize(
    ("pattern", "engine", "arguments"),
    [
        ("A B C", "sweep", {"define": FUNNEL, "measures": MEASURES}),
        (
            "A B C",
            "backtrack",
            {"define": DEPENDENT, "measures": MEASURES, "after_match": "to next row", "within": "50"},
        ),
        ("A B", "sweep", {"define": {"B": "x > PREV(x)"}, "measures": {"n": "MATCH_NUMBER()", "i": "FIRST(i)"}}),
    ],
)
def test_many_partitions_give_what_the_matcher_gives(
    events: DataFrame, pattern: str, engine: str, arguments: dict[str, Any]
) -> None:
    spark = events.sparkSession
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        frames = [planned(events, name, pattern, **arguments) for name in ("window", engine)]
        assert frames[0].schema.simpleString() == frames[1].schema.simpleString()
        found, expected = ([tuple(row) for row in frame.collect()] for frame in frames)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before or "")
    assert len(expected) > 5
    compare(expected, found)


def test_a_forced_plan_that_may_not_serve_is_refused(events: DataFrame) -> None:
    with pytest.raises(PlanError, match=r"B\+ is no fixed sequence of rows") as caught:
        planned(events, "window", "A B+")
    assert caught.value.code == "ILLEGAL_PLAN"
    assert caught.value.allowed == "sweep, backtrack"
    with pytest.raises(PlanError, match="this is an event pattern"):
        sparkcep.plan(
            events, "SEQ(A a, B b)", types={"A": "v > 1", "B": "v > 2"}, partition_by="k", order_by="i",
            options=sparkcep.Options(plan="window"),
        )  # fmt: skip


def test_errors_of_the_data_are_told(events: DataFrame) -> None:
    arguments: dict[str, Any] = {"measures": {"s": "SUM(big)"}}
    with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW"):
        planned(
            events.where("i BETWEEN 100 AND 120"), "window", "A B{2}", after_match="to next row", **arguments
        ).collect()
    nulls = events.select("k", F.when(F.col("i") > 150, F.col("i")).alias("i"), "v").where("i IS NULL OR i > 190")
    told = []
    for name in ("window", "sweep"):
        with pytest.raises(PySparkException) as caught:
            planned(nulls.where("k = 'k1'"), name, "A B", within=5).collect()
        message = str(caught.value)
        told.append(message[message.index("[NULL_ORDER_VALUE]") :].partition(" (in")[0])
    assert told[0] == told[1] == "[NULL_ORDER_VALUE] WITHIN measures 'i', which is NULL in row 1 of partition k = 'k1'"
