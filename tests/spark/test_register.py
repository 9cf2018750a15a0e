"""Table functions of SQL: `sparkcep.register`, `sparkcep.register_pattern`, and the same groups as other doors."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import BindingError, SparkcepWarning

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
        ("at + INTERVAL '1' DAY", "within => INTERVAL '1' MINUTE", {"within": "1 minute"}),
        ("t NULLS LAST", "rows_per_match => 'all with unmatched'", {"rows_per_match": "all with unmatched"}),
    ]
    for order, rest, arguments in variants:
        wanted = sparkcep.match_pattern(
            spark.table("register_ticks"), "S DOWN UP?", partition_by="k", order_by=order, define=define,
            measures=dict(sorted(measures.items())), **arguments,
        )  # fmt: skip
        call = CALL.format(order=order.replace("'", "\\'"), rest=rest)
        found = spark.sql(f"SELECT * FROM {call}")
        assert [(field.name, field.dataType) for field in found.schema] == [
            (field.name, field.dataType) for field in wanted.schema
        ]
        assert sorted(map(tuple, found.collect()), key=repr) == sorted(map(tuple, wanted.collect()), key=repr)


def test_groups_are_those_of_group_by(spark: SparkSession) -> None:
    """NULL, NaN, −0.0 and texts that differ in case only are one key each, through every door."""
    keys = spark.table("register_keys")
    call = "match_pattern(TABLE(register_keys), partition_by => '{}', order_by => 't', pattern => 'A+', measures => {})"
    clause = "register_keys MATCH_RECOGNIZE (PARTITION BY {} ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+))"
    doors = {}
    for key in ("number", "word"):
        query = f"SELECT n FROM {clause.format(key)}"
        doors["DataFrame", key] = sparkcep.match_pattern(
            keys, "A+", partition_by=key, order_by="t", measures={"n": "COUNT(*)"}
        )
        doors["sql", key] = sparkcep.sql(spark, query)
        doors["enable", key] = sparkcep.enable(spark).sql(query)
        sparkcep.disable(spark)
        doors["function", key] = spark.sql(f"SELECT n FROM {call.format(key, COUNT)}")
    # Spark itself partitions, and knows NULL and −0.0.
    numbers = "TABLE(SELECT t, nanvl(number, 5D) AS number FROM register_keys) PARTITION BY number ORDER BY t"
    doors["PARTITION BY", "number"] = spark.sql(f"SELECT n FROM match_pattern({numbers}, pattern => 'A+',"
                                                f" measures => {COUNT})")  # fmt: skip
    frames = [frame.selectExpr(f"'{door}' AS door", f"'{key}' AS key", "n") for (door, key), frame in doors.items()]
    found = reduce(DataFrame.unionAll, frames).groupBy("door", "key").agg(F.collect_list("n").alias("sizes")).collect()
    assert {(row["door"], row["key"]): row["sizes"] for row in found} == {door: [2, 2, 2] for door in doors}


def test_collated_keys_come_out_as_plain_texts(spark: SparkSession) -> None:
    call = f"TABLE(register_keys), partition_by => 'word', order_by => 't', pattern => 'A+', measures => {COUNT}"
    words = spark.sql(f"SELECT word FROM match_pattern({call})")
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


EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("SEQ(A a, B+ b[]) WHERE a.price > b.v WITHIN 3 minutes", {}),
    ("SEQ(A a, ~B b) WITHIN 2 minutes RETURN a.t + 1 AS next, a.label AS label", {"timeouts": True}),
    ("SEQ(A a, B+ b[]) WHERE a.k < 'b' RETURN ARRAY_AGG(b.v) AS vs, SUM(b.half) AS half, COALESCE(a.k, '') AS k2", {}),
    ("AND(A a, B b)", {"strategy": "skip_till_any_match", "matches": "count"}),
]  # fmt: skip
TYPES = {"A": "v >= 7 AND at < now()", "B": "v < 7 AND upper(k) <> 'X'"}


def test_event_patterns(spark: SparkSession) -> None:
    """Columns, types and rows are those of the DataFrame, for names and for patterns in the call."""
    ticks = spark.sql(f"SELECT *, upper(k) AS label FROM ({TICKS})")
    ticks.createOrReplaceTempView("register_events")
    spelled = "map('A', \"v >= 7 AND at < now()\", 'B', \"v < 7 AND upper(k) <> 'X'\")"
    try:
        for pattern, more in EVENTS:
            wanted = sparkcep.match_pattern(ticks, pattern, partition_by="k", order_by="at", types=TYPES, **more)
            rest = "".join(f", {name} => {value!r}" for name, value in more.items())
            found = spark.sql(f"""SELECT * FROM match_pattern(TABLE(register_events), partition_by => 'k',
                order_by => 'at', pattern => "{pattern}", types => {spelled}{rest})""")
            assert found.schema.simpleString() == wanted.schema.simpleString()
            rows_wanted = sorted(map(tuple, wanted.collect()), key=repr)
            assert rows_wanted
            assert sorted(map(tuple, found.collect()), key=repr) == rows_wanted
    finally:
        spark.catalog.dropTempView("register_events")


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
        pattern, types = EVENTS[0][0], {"A": "v >= 7", "B": "v < 7"}
        ticks = spark.table("register_ticks").select("k", "at", "v", "price")
        arguments: dict[str, Any] = {"partition_by": "k", "order_by": "at", "types": types}
        sparkcep.register_pattern(spark, "drops", pattern, ticks.schema, **arguments)
        ticks.createOrReplaceTempView("register_prices")
        events = spark.sql("SELECT * FROM drops(TABLE(register_prices) PARTITION BY k ORDER BY at)").collect()
        assert sorted(events, key=repr) == sorted(
            sparkcep.match_pattern(ticks, pattern, **arguments).collect(), key=repr
        )
    finally:
        for name in ("falls", "drops"):
            spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
        spark.catalog.dropTempView("register_prices")
    with pytest.warns(SparkcepWarning, match=r"\(v\)"):
        sparkcep.register_pattern(spark, "by_number", "A", "v DOUBLE, t INT", partition_by="v", order_by="t")
    spark.sql("DROP TEMPORARY FUNCTION by_number")
    with pytest.raises(BindingError, match="NEEDS_SPARK"):
        sparkcep.register_pattern(spark, "x", "A", "k STRING, t INT", order_by="t", define={"A": "upper(k) = 'A'"})
