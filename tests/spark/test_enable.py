"""`sparkcep.enable`: spark.sql itself understands clauses and calls."""

from __future__ import annotations

import datetime as dt
import math
import os
import time
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import BindingError
from sparkcep.spark.literals import sql_literal

pytestmark = pytest.mark.usefixtures("no_views_left")


@pytest.fixture
def enabled(spark: SparkSession) -> Iterator[SparkSession]:
    yield sparkcep.enable(spark)
    sparkcep.disable(spark)


@pytest.fixture(scope="module")
def ticks(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "SELECT * FROM VALUES ('a', 1, 9), ('a', 2, 7), ('a', 3, 8), ('a', 4, 6), ('a', 5, 7), "
        "('b', 1, 3), ('b', 2, 2), ('b', 3, 5) AS t(k, t, v)"
    )


FALL = """MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY t MEASURES FIRST(t) AS t0, LAST(UP.v) AS top
  AFTER MATCH SKIP TO LAST UP PATTERN (X? S DOWN{1,2} UP) DEFINE X AS FALSE, DOWN AS v < PREV(v), UP AS v > PREV(v))"""
FALLS = [("a", 1, 8), ("a", 3, 7), ("b", 1, 5)]


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_enabling_and_disabling(spark: SparkSession, ticks: DataFrame) -> None:
    statement = f"SELECT * FROM {{ticks}} {FALL}"
    before = spark.sql
    assert sparkcep.enable(sparkcep.enable(spark)) is spark
    try:
        assert rows(spark.sql(statement, ticks=ticks)) == FALLS
        assert spark.sql.__doc__ == before.__doc__
    finally:
        assert sparkcep.disable(spark) is spark
    assert spark.sql == before
    assert "sql" not in vars(spark)
    sparkcep.disable(spark)
    ticks.createOrReplaceTempView("enabled_ticks")
    with pytest.raises(ParseException):
        spark.sql(f"SELECT * FROM enabled_ticks {FALL}")


def test_parameters(enabled: SparkSession, ticks: DataFrame) -> None:
    above = """SELECT k, n, {label} AS label, :high AS high
        FROM {ticks} t MATCH_RECOGNIZE (
            PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n PATTERN (A B{1,} C?)
            DEFINE A AS v >= :low, B AS B.v >= :low AND SUM(B.v) < :high, C AS v < :low)
        WHERE k = :key"""
    args = {"low": 6, "high": 21.5, "key": "a"}
    wanted = [("a", 4, "x", 21.5)]
    assert rows(enabled.sql(above, args=args, ticks=ticks, label="x")) == wanted
    order = [":high", ":low", ":low", ":high", ":low", ":key"]
    listed = above
    for name in order:
        listed = listed.replace(name, "?", 1)
    values = [args[name[1:]] for name in order]
    assert rows(enabled.sql(listed, values, ticks=ticks, label="x")) == wanted
    assert rows(enabled.sql(sqlQuery="SELECT ? + 1, 'match_recognize'", args=[1])) == [(2, "match_recognize")]
    with pytest.raises(BindingError, match="UNSUPPORTED_PARAMETER"):
        enabled.sql(above, args={**args, "low": ticks.v}, ticks=ticks, label="x")


def test_calls(enabled: SparkSession, ticks: DataFrame) -> None:
    call = """SELECT m.k, m.first, m.second FROM match_pattern(
        TABLE(SELECT * FROM {ticks} WHERE t < :end) PARTITION BY k ORDER BY t,
        pattern => 'SEQ(A a, B b) WHERE b.v = a.v - :step RETURN a.v AS first, b.v AS second', within => :within,
        types => map('A', 'v > :low', 'B', 'TRUE'), strategy => 'skip_till_any_match') AS m"""
    args = {"end": 5, "step": 2, "within": 3, "low": 7}
    assert rows(enabled.sql(call, args=args, ticks=ticks)) == [("a", 8, 6), ("a", 9, 7)]


def another_session(spark: SparkSession) -> SparkSession:
    remote = os.environ.get("SPARK_REMOTE")
    return SparkSession.builder.remote(remote).create() if remote else spark.newSession()


def test_statements_around_a_query(enabled: SparkSession, ticks: DataFrame) -> None:
    name = f"falls_{uuid.uuid4().hex}"
    query = f"SELECT * FROM {{ticks}} {FALL}"
    try:
        for head in ("CREATE OR REPLACE TEMPORARY VIEW", "CREATE GLOBAL TEMP VIEW"):
            enabled.sql(f"{head} {name} AS {query} WHERE t0 < 3", ticks=ticks)
        assert rows(enabled.sql(f"TABLE {name}")) == [FALLS[0], FALLS[2]]
        assert rows(another_session(enabled).sql(f"TABLE global_temp.{name}")) == [FALLS[0], FALLS[2]]
        enabled.catalog.dropTempView(name)
        enabled.sql(
            f"CREATE TABLE {name} USING parquet PARTITIONED BY (k) COMMENT 'falls' AS "
            f"WITH f AS ({query}) SELECT t0, top, k FROM f WHERE k = :key",
            args={"key": "a"},
            ticks=ticks,
        )
        enabled.sql(f"INSERT INTO {name} SELECT t0, top, k FROM {{ticks}} {FALL} WHERE k = ?", ["b"], ticks=ticks)
        assert rows(enabled.table(name).select("k", "t0", "top")) == FALLS
    finally:
        enabled.sql(f"DROP TABLE IF EXISTS {name}")
        enabled.catalog.dropGlobalTempView(name)
    assert "MapInArrow" in enabled.sql(f"EXPLAIN FORMATTED {query}", ticks=ticks).collect()[0][0]
    with pytest.raises(BindingError, match=r"PERSISTENT_OBJECT[^§]*EXPLAIN, CREATE \[GLOBAL\] TEMPORARY VIEW"):
        enabled.sql(f"CREATE VIEW {name} AS {query}", ticks=ticks)


VALUES: list[Any] = [
    None, True, 5, -7, 2**40, 1.5, -2e300, math.inf, -math.inf,
    "it's a \\ \"test\"\n%_", b"\x00\xff", dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30, 0, 5),
    dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
    dt.timedelta(days=1, microseconds=3), -dt.timedelta(hours=30), [1, 2],
]  # fmt: skip


def test_literals_have_the_value_and_type_of_lit(spark: SparkSession) -> None:
    ours = spark.sql("SELECT " + ", ".join(f"{sql_literal(value, 'p')} AS c{i}" for i, value in enumerate(VALUES)))
    wanted = spark.range(1).select(*[F.lit(value).alias(f"c{i}") for i, value in enumerate(VALUES)])
    assert [field.dataType for field in ours.schema] == [field.dataType for field in wanted.schema]
    assert ours.collect() == wanted.collect()


def test_literals_of_decimals(spark: SparkSession) -> None:
    """Exactly as wide as the value; F.lit of a Connect session widens some of them."""
    values = {"1.50": "decimal(3,2)", "-7": "decimal(1,0)", "1E+3": "decimal(4,0)"}
    texts = [f"{sql_literal(Decimal(text), 'p')} AS c{position}" for position, text in enumerate(values)]
    found = spark.sql(f"SELECT {', '.join(texts)}")
    assert [kind for _, kind in found.dtypes] == list(values.values())
    assert [tuple(row) for row in found.collect()] == [tuple(map(Decimal, values))]


def test_options_reach_every_clause(spark: SparkSession, ticks: DataFrame) -> None:
    sparkcep.enable(spark, options=sparkcep.Options(plan="join"))
    try:
        with pytest.raises(sparkcep.SparkcepError, match="join"):
            spark.sql(f"SELECT * FROM {{ticks}} {FALL}", ticks=ticks)
    finally:
        sparkcep.disable(spark)


def test_other_statements_cost_next_to_nothing() -> None:
    """The search for a clause in a text of 20 kB takes far less than a millisecond."""

    class Session:
        def sql(self, text: str, args: object = None) -> str:
            return text

    session: Any = Session()
    statement = "SELECT " + ", ".join(f"column_{number}" for number in range(1_500)) + " FROM t"
    sparkcep.enable(session)
    start = time.perf_counter()
    for _ in range(100):
        assert session.sql(statement) is statement
    assert (time.perf_counter() - start) / 100 < 1e-3
    sparkcep.disable(session)
    assert "sql" not in vars(session)
