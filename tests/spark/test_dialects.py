"""Questions of other systems, asked here: the differences that change rows, and what is told of them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import sparkcep

ROWS = "(SELECT * FROM (VALUES (1, 10), (2, 11), (4, 12), (NULL, 13)) AS x (t, v))"
TIMES = "TIMESTAMP '2026-03-02 10:00:00' + make_dt_interval(0, 0, m)"
MINUTES = f"(SELECT {TIMES} AS t, m FROM (VALUES (0), (5), (10)) AS x(m))"


def asked(spark: SparkSession, dialect: str, text: str, *told: str) -> list[tuple[object, ...]]:
    with pytest.warns(sparkcep.SparkcepWarning) as warned:
        frame = sparkcep.sql(spark, text, dialect=dialect)
    (warning,) = warned
    for part in told:
        assert part in str(warning.message)
    assert warning.filename == __file__
    return [tuple(row) for row in frame.collect()]


def test_trino_sorts_null_last_and_quotes_names(spark: SparkSession) -> None:
    text = f"""
        SELECT "first", n, strpos(way, 'up') AS place FROM {ROWS} AS r MATCH_RECOGNIZE (
            ORDER BY t
            MEASURES FIRST(v) AS "first", COUNT("up".v) AS n, LAST(CLASSIFIER()) AS way
            PATTERN (STRT "up"+)
            DEFINE "up" AS "up".v > PREV("up".v)) AS m"""
    told = ("ORDER BY t: NULLS LAST added", "around the clauses the text was translated too")
    assert asked(spark, "trino", text, *told) == [(10, 3, 1)]
    spark_text = text.replace('"first"', "first").replace("strpos(way, 'up')", "locate('up', way)")
    assert [tuple(row) for row in sparkcep.sql(spark, spark_text).collect()] == [(10, 2, 1)], "NULL comes first"


def test_oracle_sorts_null_first_when_descending(spark: SparkSession) -> None:
    text = f"""
        SELECT n FROM {ROWS} MATCH_RECOGNIZE (
            ORDER BY t DESC MEASURES NVL(SUM(DOWN.v), 0) AS n PATTERN (STRT DOWN+)
            DEFINE DOWN AS DOWN.v < PREV(DOWN.v)) m"""
    assert asked(spark, "oracle", text, "ORDER BY t DESC: NULLS FIRST added", "NVL(SUM(DOWN.v), 0) became") == [(33,)]


def test_snowflake_says_lag_and_lead(spark: SparkSession) -> None:
    text = f"""
        SELECT * FROM {ROWS} MATCH_RECOGNIZE (
            ORDER BY t MEASURES COUNT(*) AS n, LAST(v)::STRING AS s PATTERN (UP+)
            DEFINE UP AS v > LAG(v) AND IFF(LEAD(v, 1) IS NULL, FALSE, TRUE)) AS m"""
    told = ("DEFINE UP: LAG became PREV; DEFINE UP: LEAD became NEXT", "NULLS LAST added")
    assert asked(spark, "snowflake", text, *told) == [(2, "12")]


def test_flink_goes_on_at_the_next_row_and_leaves_the_edge_out(spark: SparkSession) -> None:
    clause = "ORDER BY t MEASURES FIRST(m) AS a, LAST(m) AS b PATTERN (A B+) WITHIN INTERVAL '10' MINUTE"
    text = f"SELECT * FROM {MINUTES} MATCH_RECOGNIZE ({clause}) AS q ORDER BY a"
    told = ("WITHIN: EXCLUSIVE added", "AFTER MATCH SKIP TO NEXT ROW added")
    assert asked(spark, "flink", text, *told) == [(0, 5), (5, 10)]
    assert [tuple(row) for row in sparkcep.sql(spark, text).collect()] == [(0, 10)]


def test_nothing_is_told_where_nothing_changed(spark: SparkSession) -> None:
    text = (
        f"SELECT * FROM {ROWS} AS r MATCH_RECOGNIZE (ORDER BY v NULLS LAST MEASURES COUNT(*) AS n PATTERN (A B)) AS m"
    )
    assert sparkcep.sql(spark, text, dialect="trino").count() == 2
