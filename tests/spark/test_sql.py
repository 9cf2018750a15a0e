"""`sparkcep.sql`: MATCH_RECOGNIZE wherever a table may stand in a statement."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import BindingError, PatternSyntaxError, SparkcepError

pytestmark = pytest.mark.usefixtures("views", "no_views_left")


@pytest.fixture(scope="module")
def views(spark: SparkSession) -> Iterator[None]:
    """Two keys of rising and falling values, and names for the keys."""
    spark.sql(
        "SELECT * FROM VALUES ('a', 1, 9), ('a', 2, 7), ('a', 3, 8), ('a', 4, 6), ('a', 5, 7), "
        "('b', 1, 3), ('b', 2, 2), ('b', 3, 5) AS t(k, t, v)"
    ).createOrReplaceTempView("ticks")
    spark.sql("SELECT * FROM VALUES ('a', 'Alpha'), ('b', 'Beta') AS n(k, name)").createOrReplaceTempView("names")
    yield
    spark.catalog.dropTempView("ticks")
    spark.catalog.dropTempView("names")


FALL = """MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY t
  MEASURES MATCH_NUMBER() AS m, FIRST(t) AS t0, LAST(UP.v) AS top
  PATTERN (S DOWN UP)
  DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v))"""


def rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in sparkcep.sql(spark, text).collect()), key=repr)


ALL = [("a", 1, 1, 8), ("b", 1, 1, 5)]
EVERY = [("a", 1, 1, 8), ("a", 2, 3, 7), ("b", 1, 1, 5)]
NEXT_ROW = FALL.replace("PATTERN", "AFTER MATCH SKIP TO LAST UP PATTERN")


def test_a_clause_over_a_table(spark: SparkSession) -> None:
    assert rows(spark, f"SELECT * FROM ticks {FALL}") == ALL
    assert rows(spark, f"select m.top, upper(k) from ticks {NEXT_ROW} m where m.m > 1") == [(7, "A")]


def test_statement_without_a_clause(spark: SparkSession) -> None:
    assert rows(spark, "SELECT 'MATCH_RECOGNIZE (' AS x") == [("MATCH_RECOGNIZE (",)]


@pytest.mark.parametrize("alias", ["", "AS x", "x", "AS x (k, m, t0, top)", "x (k, m, t0, top)"])
def test_alias_and_column_aliases(spark: SparkSession, alias: str) -> None:
    assert rows(spark, f"SELECT * FROM ticks {NEXT_ROW} {alias}") == EVERY


def test_column_aliases_rename(spark: SparkSession) -> None:
    found = sparkcep.sql(spark, f"SELECT x.number, x.high FROM ticks {FALL} AS x (key, number, start, high)")
    assert found.columns == ["number", "high"]
    assert sorted(map(tuple, found.collect())) == [(1, 5), (1, 8)]


def test_alias_of_the_input_qualifies_columns(spark: SparkSession) -> None:
    text = """SELECT * FROM ticks AS q MATCH_RECOGNIZE (
      PARTITION BY q.k ORDER BY q.t MEASURES FIRST(q.t) AS t0, q.t AS t1, SUM(q.v) AS s, AVG(DOWN.v) AS d
      PATTERN (S DOWN) DEFINE DOWN AS q.v < PREV(q.v) AND DOWN.v < S.v) AS m"""
    assert rows(spark, text) == [("a", 1, 2, 16, 7.0), ("a", 3, 4, 14, 6.0), ("b", 1, 2, 5, 2.0)]


def test_several_clauses_per_query(spark: SparkSession) -> None:
    text = f"SELECT a.k, a.m, b.t0 FROM ticks {FALL} a JOIN ticks {NEXT_ROW} b ON a.k = b.k"
    assert rows(spark, text) == [("a", 1, 1), ("a", 1, 3), ("b", 1, 1)]
    union = f"SELECT k FROM ticks {FALL} UNION ALL SELECT k FROM (SELECT * FROM ticks WHERE k = 'b') {FALL}"
    assert rows(spark, union) == [("a",), ("b",), ("b",)]


def test_joins_on_both_sides(spark: SparkSession) -> None:
    text = f"SELECT n.name, f.top FROM names n LEFT JOIN ticks {FALL} f ON n.k = f.k JOIN names o ON o.k = f.k"
    assert rows(spark, text) == [("Alpha", 8), ("Beta", 5)]
    over_join = f"SELECT * FROM (SELECT t.*, name FROM ticks t JOIN names n ON t.k = n.k) {FALL}"
    assert rows(spark, over_join) == ALL


def test_common_tables(spark: SparkSession) -> None:
    text = f"""WITH early AS (SELECT * FROM ticks WHERE t <= 3), low AS (SELECT * FROM early WHERE v < 100),
      found (key, n, start, high) AS (SELECT * FROM low {NEXT_ROW})
      SELECT key, SUM(n) AS n FROM found GROUP BY key HAVING SUM(n) > 0 ORDER BY key"""
    assert rows(spark, text) == [("a", 1), ("b", 1)]


def test_sub_queries_anywhere(spark: SparkSession) -> None:
    text = f"""SELECT name, (SELECT MAX(top) FROM ticks {FALL}) AS best FROM names
      WHERE k IN (SELECT k FROM ticks {NEXT_ROW} WHERE m = 2) AND EXISTS (SELECT 1 FROM ticks {FALL})"""
    assert rows(spark, text) == [("Alpha", 8)]


def test_clause_over_clause(spark: SparkSession) -> None:
    outer = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY m MEASURES COUNT(*) AS n, LAST(top) AS x PATTERN (A+))"
    assert rows(spark, f"SELECT * FROM ticks {NEXT_ROW} {outer}") == [("a", 2, 7), ("b", 1, 5)]
    assert rows(spark, f"SELECT * FROM (SELECT * FROM ticks {NEXT_ROW} WHERE top > 5) {outer}") == [("a", 2, 7)]


def test_inline_table_and_function(spark: SparkSession) -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY x MEASURES COUNT(*) AS n PATTERN (A+))"
    assert rows(spark, f"SELECT * FROM VALUES (1, 2), (1, 3) AS t(k, x) {clause}") == [(1, 2)]
    assert rows(spark, f"SELECT * FROM (SELECT id AS x, 1 AS k FROM range(3)) {clause}") == [(1, 3)]


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        ("", [1, 4]),
        ("AFTER MATCH SKIP PAST LAST ROW", [1, 4]),
        ("AFTER MATCH SKIP TO NEXT ROW", [1, 2, 3]),
        ("AFTER MATCH SKIP TO FIRST B", [1, 2, 3]),
        ("AFTER MATCH SKIP TO LAST B", [1, 3]),
        ("AFTER MATCH SKIP TO B", [1, 3]),
        ("AFTER MATCH SKIP TO U", [1, 3]),
        ("after match skip to first u", [1, 2, 3]),
    ],
)
def test_all_skip_forms_and_subset(spark: SparkSession, skip: str, expected: list[int]) -> None:
    text = f"""SELECT t0 FROM (SELECT * FROM ticks WHERE k = 'a') MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
      MEASURES FIRST(t) AS t0 {skip} PATTERN (A B{{2}}) SUBSET U = (B), W = (A, B))"""
    expected = [start for start in expected if start <= 3]
    assert [start for (start,) in rows(spark, text)] == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("", [(1, 0), (2, 2), (3, 0)]),
        ("ONE ROW PER MATCH", [(1, 0), (2, 2), (3, 0)]),
        ("ALL ROWS PER MATCH", [(1, 0), (2, 1), (2, 2), (3, 0)]),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", [(1, 0), (2, 1), (2, 2), (3, 0)]),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", [(2, 1), (2, 2)]),
        ("all rows per match with unmatched rows", [(1, 0), (2, 1), (2, 2), (3, 0)]),
    ],
)
def test_all_rows_per_match_forms(spark: SparkSession, form: str, expected: list[tuple[int, int]]) -> None:
    text = f"""SELECT m, n FROM (SELECT * FROM ticks WHERE k = 'a' AND t < 5) MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS m, COUNT(*) AS n {form}
      PATTERN (A*) DEFINE A AS t IN (2, 3))"""
    assert rows(spark, text) == expected


def test_running_and_final_in_all_rows(spark: SparkSession) -> None:
    text = """SELECT k, t, r, f FROM ticks MATCH_RECOGNIZE (PARTITION BY k ORDER BY t
      MEASURES RUNNING COUNT(*) AS r, FINAL LAST(v) AS f ALL ROWS PER MATCH PATTERN (^ A+ $)) WHERE k = 'b'"""
    assert rows(spark, text) == [("b", 1, 1, 5), ("b", 2, 2, 5), ("b", 3, 3, 5)]


@pytest.mark.parametrize(
    ("within", "expected"),
    [("1", 2), ("2 EXCLUSIVE", 2), ("2", 3), ("2 INCLUSIVE", 3), ("3 EVENTS", 3), ("2.5", 3)],
)
def test_within_numbers(spark: SparkSession, within: str, expected: int) -> None:
    text = f"""SELECT MAX(n) FROM ticks MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n
      PATTERN (A+) WITHIN {within})"""
    assert rows(spark, text) == [(expected,)]


@pytest.mark.parametrize("within", ["INTERVAL 2 HOURS", "INTERVAL '2' HOUR", "INTERVAL '0 02:00:00' DAY TO SECOND"])
def test_within_intervals(spark: SparkSession, within: str) -> None:
    text = f"""SELECT n FROM (SELECT 'k' AS k, timestamp'2024-01-01' + make_dt_interval(0, id) AS ts FROM range(5))
      MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+) WITHIN {within})"""
    assert rows(spark, text) == [(2,), (3,)]


def test_quoted_names(spark: SparkSession) -> None:
    text = """SELECT `the key`, `first one`, c FROM (SELECT k AS `the key`, t AS `t.t`, v AS `select` FROM ticks)
      AS `my input` MATCH_RECOGNIZE (PARTITION BY `the key` ORDER BY `my input`.`t.t`
      MEASURES FIRST("lower case".`t.t`) AS `first one`, CLASSIFIER() AS c
      PATTERN ("lower case" `Back Quoted`) DEFINE "lower case" AS `select` > 8,
        `Back Quoted` AS "lower case".`t.t` = 1)"""
    assert rows(spark, text) == [("a", 1, "Back Quoted")]


def test_comments_strings_and_line_breaks(spark: SparkSession) -> None:
    clause = FALL.replace("DEFINE", "-- ) not an end\n DEFINE")
    text = f"""-- MATCH_RECOGNIZE (ORDER BY nothing)
      SELECT ')' AS x, /* FROM u MATCH_RECOGNIZE ( */ m FROM ticks {clause} WHERE ';' <> ')' -- the end"""
    assert rows(spark, text) == [(")", 1), (")", 1)]


def test_temporary_view_outlives_the_statement(spark: SparkSession) -> None:
    sparkcep.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW falls AS SELECT * FROM ticks {FALL}")
    assert rows(spark, "SELECT * FROM falls") == ALL
    assert spark.table("falls").count() == 2
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW tops AS SELECT MAX(top) AS top FROM falls")
    assert rows(spark, "SELECT * FROM tops") == [(8,)]


@pytest.mark.parametrize("head", ["CREATE VIEW x AS", "CREATE OR REPLACE VIEW x AS"])
def test_persistent_views_are_refused(spark: SparkSession, head: str) -> None:
    with pytest.raises(BindingError, match="PERSISTENT_OBJECT"):
        sparkcep.sql(spark, f"{head} SELECT * FROM ticks {FALL}")


def test_create_table_and_insert(spark: SparkSession) -> None:
    name = f"matches_{uuid.uuid4().hex}"
    try:
        sparkcep.sql(spark, f"CREATE TABLE {name} USING parquet AS SELECT * FROM ticks {FALL}")
        assert rows(spark, f"SELECT * FROM {name}") == ALL
        sparkcep.sql(spark, f"INSERT INTO {name} SELECT * FROM ticks {NEXT_ROW} WHERE m = 2")
        assert rows(spark, f"SELECT * FROM {name}") == EVERY
        sparkcep.sql(spark, f"INSERT OVERWRITE {name} SELECT * FROM ticks {NEXT_ROW}")
        assert rows(spark, f"SELECT * FROM {name}") == EVERY
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_explain_statement(spark: SparkSession) -> None:
    assert "MapInArrow" in rows(spark, f"EXPLAIN SELECT * FROM ticks {FALL}")[0][0]


def test_correlated_clause_is_refused(spark: SparkSession) -> None:
    text = f"SELECT name, (SELECT MAX(top) FROM (SELECT * FROM ticks WHERE k = n.k) {FALL}) FROM names n"
    with pytest.raises(BindingError, match="correlation"):
        sparkcep.sql(spark, text)


def test_lateral_clause_is_refused(spark: SparkSession) -> None:
    text = f"SELECT * FROM names n, LATERAL (SELECT * FROM ticks) {FALL}"
    with pytest.raises(SparkcepError, match="LATERAL"):
        sparkcep.sql(spark, text)


def test_parts_in_any_order_are_refused(spark: SparkSession) -> None:
    with pytest.raises(PatternSyntaxError):
        sparkcep.sql(spark, "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY t PARTITION BY k PATTERN (A))")


def test_errors_point_into_the_statement(spark: SparkSession) -> None:
    text = f"SELECT *\nFROM ticks {FALL.replace('LAST(UP.v)', 'LAST(UP.vv)')}"
    with pytest.raises(BindingError, match="there is no column 'vv'") as caught:
        sparkcep.sql(spark, text)
    assert caught.value.span is not None
    assert text[caught.value.span.start : caught.value.span.end] == "vv"


def test_options_reach_every_clause(spark: SparkSession) -> None:
    options = sparkcep.Options(plan="backtrack")
    found = sparkcep.sql(spark, f"SELECT * FROM ticks {FALL}", options=options)
    assert sorted(map(tuple, found.collect()), key=repr) == ALL


def test_running_a_statement_runs_no_job(spark: SparkSession, jobs_begun: Callable[[], int]) -> None:
    before = jobs_begun()
    sparkcep.sql(spark, f"SELECT * FROM ticks {FALL} a JOIN names USING (k)")
    assert jobs_begun() == before
