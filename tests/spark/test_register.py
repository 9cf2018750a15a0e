"""Table functions of SQL: `sparkcep.register`, `sparkcep.register_pattern`, and the same groups as other doors."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import BindingError

pytestmark = pytest.mark.usefixtures("functions")

TICKS = """SELECT *, CAST(v AS DOUBLE) / 2 AS half, CAST(v AS DECIMAL(5, 2)) AS price,
    TIMESTAMP '2024-01-01 00:00:00' + t * INTERVAL '1' MINUTE AS at FROM VALUES
    ('a', 1, 9), ('a', 2, 7), ('a', 3, 8), ('a', 4, 6), ('a', 5, NULL), ('b', 1, 3), ('b', 2, 2), ('b', 3, 5)
    AS (k, t, v)"""
KEYS = """SELECT * FROM VALUES (1, 'NaN', 'a'), (2, 'NaN', 'A'), (1, '-0.0', NULL), (2, '0.0', NULL),
    (1, NULL, 'b'), (2, NULL, 'B') AS (t, number, word)"""

COUNT = "map('n', 'COUNT(*)')"


@pytest.fixture(scope="module")
def functions(spark: SparkSession) -> Iterator[None]:
    sparkcep.register(spark)
    spark.sql(TICKS).createOrReplaceTempView("register_ticks")
    spark.sql(f"SELECT t, CAST(number AS DOUBLE) AS number, collate(word, 'UTF8_LCASE') AS word FROM ({KEYS})"
              ).createOrReplaceTempView("register_keys")  # fmt: skip
    yield
    for view in ("register_ticks", "register_keys"):
        spark.catalog.dropTempView(view)


def rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(text).collect()), key=repr)


CALL = """match_pattern(TABLE(register_ticks), partition_by => 'k', order_by => '{order}', pattern => 'S DOWN UP?',
    define => map('DOWN', 'v < PREV(v) AND upper(k) <> "X"', 'UP', 'UP.v > DOWN.v AND k LIKE "_"'),
    measures => map('t0', 'FIRST(t)', 'drop', 'FIRST(v) - LAST(DOWN.v)', 'name', "COALESCE(LAST(UP.k), 'none')",
                    'total', 'SUM(price)', 'mean', 'AVG(half)', 'label', 'CLASSIFIER()', 'later', 'LAST(at)'),
    {rest})"""


def test_the_function_returns_what_the_dataframe_returns(spark: SparkSession) -> None:
    define = {"DOWN": "v < PREV(v) AND upper(k) <> 'X'", "UP": "UP.v > DOWN.v AND k LIKE '_'"}
    measures = {
        "t0": "FIRST(t)", "drop": "FIRST(v) - LAST(DOWN.v)", "name": "COALESCE(LAST(UP.k), 'none')",
        "total": "SUM(price)", "mean": "AVG(half)", "label": "CLASSIFIER()", "later": "LAST(at)",
    }  # fmt: skip
    variants: list[tuple[str, str, dict[str, Any]]] = [
        ("at", "within => INTERVAL '1' MINUTE", {"within": "1 minute"}),
        ("t NULLS LAST", "rows_per_match => 'all with unmatched'", {"rows_per_match": "all with unmatched"}),
    ]
    for order, rest, arguments in variants:
        wanted = sparkcep.match_pattern(
            spark.table("register_ticks"), "S DOWN UP?", partition_by="k", order_by=order, define=define,
            measures=dict(sorted(measures.items())), **arguments,
        )  # fmt: skip
        found = spark.sql(f"SELECT * FROM {CALL.format(order=order, rest=rest)}")
        assert [(field.name, field.dataType) for field in found.schema] == [
            (field.name, field.dataType) for field in wanted.schema
        ]
        assert sorted(map(tuple, found.collect()), key=repr) == sorted(map(tuple, wanted.collect()), key=repr)


def test_groups_are_those_of_group_by(spark: SparkSession) -> None:
    """NULL, NaN, −0.0 and texts that differ in case only are one key each."""
    call = "match_pattern(TABLE(register_keys), partition_by => '{}', order_by => 't', pattern => 'A+', measures => {})"
    union = " UNION ALL ".join(f"SELECT n FROM {call.format(key, COUNT)}" for key in ("number", "word"))
    assert rows(spark, union) == [(2,)] * 6
    words = spark.sql(f"SELECT word FROM {call.format('word', COUNT)}")
    assert words.schema["word"].dataType.simpleString() == "string"
    assert {row["word"] for row in words.collect()} == {None, "a", "b"}


def test_partitions_of_the_call(spark: SparkSession) -> None:
    call = """match_pattern(TABLE(SELECT k, t, v FROM register_ticks) PARTITION BY k ORDER BY t, pattern => 'S DOWN+',
        define => map('DOWN', 'v < PREV(v)'), measures => map('b', 'FIRST(k)', 'c', 'COUNT(*)', 'd', 'LAST(v) * 2'))"""
    assert rows(spark, f"SELECT * FROM {call}") == [("a", 2, 12), ("a", 2, 14), ("b", 2, 4)]
    call = "match_pattern(TABLE(register_ticks) PARTITION BY upper(k) ORDER BY t, pattern => 'A+', measures => {})"
    assert rows(spark, f"SELECT * FROM {call.format(COUNT)}") == [(3,), (5,)]
    whole = """match_pattern(TABLE(register_ticks), pattern => 'MATCH_RECOGNIZE (
        ORDER BY at DESC, k MEASURES COUNT(*) AS n PATTERN (^ A+ $) DEFINE A AS COUNT(*) < 9)')"""
    assert rows(spark, f"SELECT * FROM {whole}") == [(8,)]


def test_faults_are_told_at_analysis(spark: SparkSession) -> None:
    text = "SELECT * FROM match_pattern(TABLE(register_ticks), order_by => 't', pattern => 'A )')"
    with pytest.raises(AnalysisException, match="UNBALANCED_BRACKET"):
        _ = spark.sql(text).schema


FALLS = """MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY at MEASURES COUNT(*) AS n, LAST(at) AS last, LAST(v) + 0.5 AS low
    PATTERN (S DOWN+) WITHIN INTERVAL '2' MINUTE DEFINE DOWN AS v < PREV(v) AND (k = 'a' OR v > S.v - 2))"""


def test_registered_patterns(spark: SparkSession) -> None:
    schema = spark.table("register_ticks").select("k", "at", "v").schema
    sparkcep.register_pattern(spark, "falls", FALLS, schema)
    try:
        found = spark.sql("SELECT * FROM falls(TABLE(register_ticks) PARTITION BY k ORDER BY at)")
        wanted = sparkcep.sql(spark, f"SELECT * FROM register_ticks {FALLS}")
        assert [(field.name, field.dataType) for field in found.schema] == [
            (field.name, field.dataType) for field in wanted.schema
        ]
        assert sorted(map(tuple, found.collect())) == sorted(map(tuple, wanted.collect()))
        assert dt.datetime(2024, 1, 1, 0, 2) in [row["last"] for row in wanted.collect()]
    finally:
        spark.sql("DROP TEMPORARY FUNCTION falls")
    with pytest.raises(BindingError, match="NEEDS_SPARK"):
        sparkcep.register_pattern(spark, "x", "A", "k STRING, t INT", order_by="t", define={"A": "upper(k) = 'A'"})
