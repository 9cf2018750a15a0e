"""The table of features of row patterns (docs/reference/features.md), a test or several for each line, named after it.

More about measures is in test_expressions.py and test_aggregates.py, about types in test_values.py, about SQL
statements in test_sql.py, about arguments in test_clauses.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import SparkcepError
from tests.spark.feature_cases import CONDITIONS, DIPS, ORDERS, PATTERNS, RELATIONS, ROWS, SKIPS, UNKNOWN

ONE_PARTITION = "ignore:no partition_by"


@pytest.fixture(scope="module")
def prices(spark: SparkSession) -> DataFrame:
    """Two tickers: a falls and rises, b rises alone."""
    return spark.createDataFrame(
        [("a", 1, 9), ("a", 2, 7), ("a", 3, 5), ("a", 4, 6), ("a", 5, 8), ("a", 6, 4), ("b", 1, 1), ("b", 2, 2)],
        "k string, t int, v int",
    )


@pytest.fixture(scope="module")
def letters(spark: SparkSession) -> DataFrame:
    """Rows 1 to 6 of one key."""
    return spark.sql("SELECT 'k' AS k, id AS t FROM range(1, 7)")


def built(argument: Any) -> Any:
    """Columns can be built only once a session runs, so parameters hold functions that build them."""
    return argument() if callable(argument) else argument


def found(df: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows as plain tuples, in order."""
    return [tuple(row) for row in df.collect()]


def labels(letters: DataFrame, pattern: str, **arguments: Any) -> list[str]:
    """Return the classifiers of each match, one text per match."""
    matched = letters.match_pattern(
        pattern, partition_by="k", order_by="t", measures={"l": "array_join(array_agg(CLASSIFIER()), '')"}, **arguments
    )
    return [row.l for row in matched.collect()]


# -- FROM clause ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visits(spark: SparkSession) -> Iterator[None]:
    """A table and a view of the same visits, and a table of names."""
    rows = "VALUES ('a', 1, 9), ('a', 2, 7), ('a', 3, 8), ('b', 1, 3), ('b', 2, 2), ('b', 3, 5) AS t(k, t, v)"
    spark.sql(f"CREATE TABLE visits_table USING parquet AS SELECT * FROM {rows}")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW visits AS SELECT * FROM visits_table")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW names AS SELECT * FROM VALUES ('a', 'Ann'), ('b', 'Bob') AS n(k, name)")
    yield
    spark.sql("DROP VIEW names")
    spark.sql("DROP VIEW visits")
    spark.sql("DROP TABLE visits_table")


@pytest.mark.filterwarnings(ONE_PARTITION)
@pytest.mark.usefixtures("visits", "no_views_left")
@pytest.mark.parametrize("relation", RELATIONS)
def test_from_clause_any_number_per_query_over_tables_views_ctes_sub_queries_joins_aliases_and_column_aliases(
    spark: SparkSession, relation: str
) -> None:
    text, expected = RELATIONS[relation]
    assert sorted(found(sparkcep.sql(spark, text)), key=repr) == expected


@pytest.mark.usefixtures("visits")
@pytest.mark.parametrize(
    "relation",
    [
        "SELECT * FROM visits_table",
        "SELECT * FROM visits",
        "WITH w AS (SELECT * FROM visits) SELECT * FROM w",
        "SELECT * FROM (SELECT * FROM visits)",
        "SELECT v.* FROM visits v JOIN names n ON v.k = n.k",
    ],
)
def test_the_same_from_a_dataframe_method(spark: SparkSession, relation: str) -> None:
    given: dict[str, Any] = {
        "partition_by": "k", "order_by": "t", "define": {"DOWN": "v < PREV(v)", "UP": "v > PREV(v)"},
        "measures": {"start": "FIRST(t)", "top": "LAST(UP.v)"},
    }  # fmt: skip
    dips = spark.sql(relation).match_pattern("S DOWN UP", **given)
    assert dips.columns == ["k", "start", "top"]
    assert sorted(found(dips)) == DIPS
    again = dips.toDF("key", "begun", "high").alias("d").join(dips.alias("m"), F.expr("d.key = m.k AND d.high = m.top"))
    assert sorted(found(again.select("d.key", "begun", "m.top"))) == DIPS


# -- PARTITION BY, ORDER BY --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys",
    ["k", ["k"], "upper(k)", lambda: [F.col("k")], lambda: [F.upper("k"), "v > 100"], lambda: F.upper("k").alias("u")],
)
def test_partition_by_columns_and_expressions(prices: DataFrame, keys: Any) -> None:
    matched = prices.match_pattern("A+", partition_by=built(keys), order_by="t", measures={"n": "COUNT(*)"})
    assert sorted(row.n for row in matched.collect()) == [2, 6]


@pytest.mark.filterwarnings(ONE_PARTITION)
def test_partition_by_is_optional(prices: DataFrame) -> None:
    assert found(prices.match_pattern("A+", order_by=["k", "t"], measures={"n": "COUNT(*)"})) == [(8,)]


def test_partition_by_null_key_is_a_group(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(None, 1), (None, 2), (1, 1)], "k int, t int")
    matched = rows.match_pattern("A+", partition_by="k", order_by="t", measures={"n": "COUNT(*)"})
    assert sorted(found(matched), key=str) == [(1, 1), (None, 2)]


@pytest.mark.parametrize(("order", "expected"), ORDERS)
def test_order_by_columns_and_expressions_asc_desc_nulls_first_last(
    spark: SparkSession, order: Any, expected: list[int | None]
) -> None:
    rows = spark.createDataFrame([("k", 2), ("k", None), ("k", 3), ("k", 1)], "k string, v int")
    order = order.split(", ") if isinstance(order, str) else built(order)
    measures = {"seen": "transform(array_agg(coalesce(v, 0)), x -> nullif(x, 0))"}
    matched = rows.match_pattern("A+", partition_by="k", order_by=order, measures=measures)
    assert matched.collect()[0].seen == expected


def test_order_by_several_columns(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("k", a, b) for a, b in itertools.product([1, None, 2], [1, 2])], "k string, a int, b int"
    )
    matched = rows.match_pattern(
        "A+", partition_by="k", order_by=["a DESC NULLS LAST", "b ASC"],
        measures={"seen": "array_agg(concat_ws('-', coalesce(a, 0), b))"},
    )  # fmt: skip
    assert matched.collect()[0].seen == ["2-1", "2-2", "1-1", "1-2", "0-1", "0-2"]


# -- MEASURES ---------------------------------------------------------------------------------------


def test_measures_with_any_spark_function_around_navigation_and_aggregates_and_bare_columns(prices: DataFrame) -> None:
    matched = prices.where("k = 'a'").match_pattern(
        "S DOWN+ UP+", partition_by="k", order_by="t", define={"DOWN": "v < PREV(v)", "UP": "v > PREV(v)"},
        measures={
            "bare": "DOWN.v",
            "plain": "upper(k) || v",
            "bare_in_function": "concat_ws('-', S.v, DOWN.v, UP.v)",
            "navigation": "round(log2(FIRST(v) - LAST(DOWN.v, 1)) + PREV(FIRST(UP.v)), 1)",
            "two_rows": "levenshtein(repeat('x', FIRST(S.v)), repeat('x', LAST(UP.v)))",
            "aggregate": "format_number(SUM(v) / COUNT(DOWN.*), 2)",
            "both": "CASE WHEN MAX(v) = FIRST(v) THEN named_struct('low', MIN(v), 'list', array(S.t, LAST(t))) END",
            "lambda": "transform(array_agg(v), x -> x - LAST(DOWN.v))",
        },
    )  # fmt: skip
    assert matched.collect()[0].asDict(recursive=True) == {
        "k": "a", "bare": 5, "plain": "A8", "bare_in_function": "9-5-8", "navigation": 6.0, "two_rows": 1,
        "aggregate": "17.50", "both": {"low": 5, "list": [1, 5]}, "lambda": [4, 2, 0, 1, 3],
    }  # fmt: skip


# -- rows per match ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows_per_match", "expected"), ROWS)
def test_all_rows_show_empty_omit_empty_with_unmatched_rows(
    letters: DataFrame, rows_per_match: str, expected: list[Any]
) -> None:
    matched = letters.where("t < 5").match_pattern(
        "A*", partition_by="k", order_by="t", define={"A": "t IN (2, 3)"}, rows_per_match=rows_per_match,
        measures={"m": "MATCH_NUMBER()", "n": "COUNT(*)", "c": "CLASSIFIER()"},
    )  # fmt: skip
    assert matched.columns == ["k", "t", "m", "n", "c"]
    assert found(matched.drop("k")) == expected


def test_one_row(letters: DataFrame) -> None:
    matched = letters.where("t < 4").match_pattern(
        "A*", partition_by="k", order_by="t", define={"A": "t = 2"}, rows_per_match="ONE ROW PER MATCH",
        measures={"m": "MATCH_NUMBER()", "n": "COUNT(*)", "at": "t", "a": "A.t"},
    )  # fmt: skip
    assert found(matched) == [("k", 1, 0, None, None), ("k", 2, 1, 2, 2), ("k", 3, 0, None, None)]


# -- after match skip -------------------------------------------------------------------------------


@pytest.mark.parametrize(("after_match", "expected"), SKIPS)
def test_after_match_skip_past_last_row_to_next_row_to_first_last_or_union_variable(
    letters: DataFrame, after_match: str | None, expected: list[int]
) -> None:
    matched = letters.match_pattern(
        "A B B",
        partition_by="k",
        order_by="t",
        subset={"U": ["B"]},
        measures={"at": "FIRST(t)"},
        after_match=after_match,
    )
    assert [row.at for row in matched.collect()] == expected


@pytest.mark.parametrize(
    ("after_match", "code"), [("to first A", "SKIP_TO_FIRST_ROW"), ("to last C", "SKIP_TARGET_NOT_FOUND")]
)
def test_after_match_skip_both_errors(letters: DataFrame, after_match: str, code: str) -> None:
    matched = letters.match_pattern(
        "A B C?", partition_by="k", order_by="t", define={"C": "false"}, after_match=after_match
    )
    with pytest.raises(Exception, match=code):
        matched.collect()


# -- patterns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pattern", "define", "expected"), PATTERNS)
def test_concatenation_alternation_groups_quantifiers_greedy_and_reluctant_empty_branches_and_empty_sub_patterns(
    letters: DataFrame, pattern: str, define: dict[str, str], expected: list[str]
) -> None:
    assert labels(letters, pattern, define=define) == expected


@pytest.mark.parametrize(
    ("pattern", "define", "expected"),
    [
        ("PERMUTE(A, B, C)", {"A": "t = 3", "B": "t = 1"}, ["BCA"]),
        ("PERMUTE(A, B+)", {"A": "t = 3"}, ["BBA"]),
    ],
)
def test_permute(letters: DataFrame, pattern: str, define: dict[str, str], expected: list[str]) -> None:
    assert labels(letters, pattern, define=define) == expected


def test_permute_beyond_seven_parts(letters: DataFrame) -> None:
    rows = letters.sparkSession.sql("SELECT 'k' AS k, id AS t FROM range(12)")
    parts = "ABCDEFGHIJKL"
    define = {name: f"t = {11 - position}" for position, name in enumerate(parts)}
    assert labels(rows, f"PERMUTE({', '.join(parts)})", define=define) == [parts[::-1]]


def test_permute_beyond_seven_parts_with_match_dependent_conditions(letters: DataFrame) -> None:
    rows = letters.sparkSession.sql("SELECT 'k' AS k, id AS t FROM range(12)")
    parts = "ABCDEFGHIJKL"
    define = {name: f"t = {11 - position} AND COUNT(*) > 0" for position, name in enumerate(parts)}
    assert labels(rows, f"PERMUTE({', '.join(parts)})", define=define) == [parts[::-1]]


@pytest.mark.parametrize(
    ("pattern", "define", "expected"),
    [
        ("^ A B", {}, ["AB"]),
        ("A B $", {}, ["AB"]),
        ("A (^ B | $)", {}, ["A"]),
        ("A+ ^ B", {}, []),
        ("(^ A B $ | C)", {}, ["C"] * 6),
        ("(^ A | B)+ $", {}, ["ABBBBB"]),
        ("(^ A | B $)", {}, ["A", "B"]),
    ],
)
def test_anchors_anywhere(letters: DataFrame, pattern: str, define: dict[str, str], expected: list[str]) -> None:
    assert labels(letters, pattern, define=define) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^ A {- B+ -} C $", [("A", 1, 4), ("C", 6, 4)]),
        ("^ {- A B -} (C | D)+ $", [("C", 3, 1), ("C", 4, 1), ("C", 5, 1), ("C", 6, 1)]),
        ("^ (A {- B -})+ $", [("A", 1, 3), ("A", 3, 3), ("A", 5, 3)]),
        ("^ {- A B+ -} $", []),
    ],
)
def test_exclusion(letters: DataFrame, pattern: str, expected: list[tuple[Any, ...]]) -> None:
    matched = letters.match_pattern(
        pattern, partition_by="k", order_by="t", rows_per_match="all",
        measures={"c": "CLASSIFIER()", "n": "RUNNING COUNT(*)", "all_b": "FINAL COUNT(B.*)"},
    )  # fmt: skip
    assert found(matched.select("c", "n", "all_b")) == expected
    assert [row.t for row in matched.collect()] == [n for _, n, _ in expected]


def test_subset(letters: DataFrame) -> None:
    matched = letters.match_pattern(
        "A B C", partition_by="k", order_by="t", subset={"U": ["A", "C"], "W": ["B", "C"]},
        define={"C": "t > FIRST(U.t) + 1 AND COUNT(W.*) = 2"},
        measures={"u": "array_agg(U.t)", "w": "FIRST(W.t)", "c": "CLASSIFIER(U)", "s": "SUM(W.t)"},
    )  # fmt: skip
    assert found(matched) == [("k", [1, 3], 2, "C", 5), ("k", [4, 6], 5, "C", 11)]


# -- conditions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS)
def test_define_optional_other_variables_navigation_aggregates_classifier_match_number(
    letters: DataFrame, condition: Any, expected: list[str]
) -> None:
    define = {} if condition is None else {"B": built(condition)}
    assert (
        labels(letters, "(A B | A C)" if "C." in str(condition) else "A B", define=define, subset={"U": ["A", "B"]})
        == expected
    )


def test_running_aggregates_in_define(letters: DataFrame) -> None:
    define = {"A": "SUM(A.t) < 7 AND COUNT(*) < 4", "B": "t > AVG(A.t) AND MAX(A.t) - MIN(A.t) <= 2 AND COUNT(A.t) > 1"}
    assert labels(letters, "A+ B", define=define) == ["AAAB"]


def test_every_running_aggregate_agrees_with_its_measure(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT 'k' AS k, id AS t, CASE WHEN id % 3 > 0 THEN cast(id * 7 % 5 AS double) END AS v FROM range(12)"
    )
    for call in ("COUNT(v)", "SUM(v)", "AVG(v)", "MIN(v)", "MAX(v)", "COUNT(A.*)", "SUM(A.t)"):
        measured = rows.match_pattern(
            "A+", partition_by="k", order_by="t", measures={"x": call}, rows_per_match="all"
        ).collect()
        threshold = measured[5].x
        held = rows.match_pattern(
            "A{6} B*", partition_by="k", order_by="t", define={"A": f"COUNT(*) < 6 OR {call} = {threshold}"},
            measures={"at": "LAST(A.t)"},
        ).collect()  # fmt: skip
        assert held[0].at == 5, call


def test_any_aggregate_in_measures_with_distinct_filter_order_by_inside_and_user_defined(
    spark: SparkSession, prices: DataFrame
) -> None:
    def spread(values: pd.Series) -> float:
        return float(values.max() - values.min())

    spark.udf.register("spread", F.pandas_udf(spread, "double"))
    try:
        matched = prices.where("k = 'a'").match_pattern(
            "A B+", partition_by="k", order_by="t",
            measures={
                "distinct": "COUNT(DISTINCT v % 3)", "filter": "SUM(v) FILTER (WHERE v > 5)",
                "ordered": "ARRAY_AGG(v ORDER BY v DESC)", "all_three": "LISTAGG(DISTINCT v % 2) FILTER (WHERE t > 1)",
                "group": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY B.v)", "statistics": "ROUND(STDDEV(v), 2)",
                "by": "MAX_BY(CLASSIFIER(), -t)", "own": "spread(B.v)", "own_of_all": "spread(v)",
            },
        )  # fmt: skip
        assert matched.collect()[0].asDict() == {
            "k": "a", "distinct": 3, "filter": 30, "ordered": [9, 8, 7, 6, 5, 4], "all_three": "10", "group": 6.0,
            "statistics": 1.87, "by": "A", "own": 4.0, "own_of_all": 5.0,
        }  # fmt: skip
    finally:
        spark.sql("DROP TEMPORARY FUNCTION spread")


def test_running_and_final(letters: DataFrame) -> None:
    matched = letters.where("t < 4").match_pattern(
        "A+", partition_by="k", order_by="t", rows_per_match="all",
        measures={
            "r": "RUNNING LAST(t)", "f": "FINAL LAST(t)", "first": "FINAL FIRST(t, 1)", "n": "RUNNING COUNT(*)",
            "m": "FINAL SUM(t)", "bare": "t", "default": "SUM(A.t)", "list": "FINAL ARRAY_AGG(t)",
        },
    )  # fmt: skip
    assert found(matched.drop("k")) == [
        (1, 1, 3, 2, 1, 6, 1, 1, [1, 2, 3]),
        (2, 2, 3, 2, 2, 6, 2, 3, [1, 2, 3]),
        (3, 3, 3, 2, 3, 6, 3, 6, [1, 2, 3]),
    ]


# -- within ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("within", "inclusive", "expected"),
    [
        (2, True, ["AAA", "AAA"]),
        (2, False, ["AA", "AA", "AA"]),
        ("4 EVENTS", True, ["AAAA", "AA"]),
        ("4 events", False, ["AAA", "AAA"]),
    ],
)
def test_within_numbers_and_events(letters: DataFrame, within: Any, inclusive: bool, expected: list[str]) -> None:
    assert labels(letters, "A+", within=within, inclusive=inclusive) == expected


@pytest.mark.filterwarnings(ONE_PARTITION)
@pytest.mark.parametrize("within", ["3 hours", "4 EVENTS"])
def test_within_time_or_events_together_with_all_of_the_above(spark: SparkSession, within: str) -> None:
    rows = spark.sql("SELECT 'k' AS k, timestamp'2024-01-01' + make_dt_interval(0, id) AS ts, id AS v FROM range(8)")
    matched = rows.match_pattern(
        "(PERMUTE(A, B) {- C* -} (D | E)+ | ^ () $)",
        partition_by="upper(k)", order_by=["ts ASC NULLS LAST", "v DESC"], subset={"U": ["D", "E"]}, within=within,
        define={"B": "v % 2 = 1", "D": "SUM(U.v) < 9 AND v > LAST(B.v) AND CLASSIFIER(U) = 'D' AND PREV(v) = v - 1"},
        after_match="to next row", rows_per_match="all omit empty",
        measures={
            "m": "MATCH_NUMBER()", "c": "CLASSIFIER()", "s": "FINAL SUM(U.v)", "r": "RUNNING COUNT(U.*)",
            "x": "ts - FIRST(ts)", "e": "concat(LAST(B.v), '/', PREV(FIRST(U.v)))",
            "l": "FINAL ARRAY_AGG(v ORDER BY -v)",
        },
    )  # fmt: skip
    assert matched.where("x > INTERVAL '3' HOUR").count() == 0
    assert found(matched.where("m IN (1, 2)").select("m", "v", "c", "s", "r", "e", "l")) == [
        (1, 0, "A", 3, 0, None, [3, 2, 1, 0]), (1, 1, "B", 3, 0, None, [3, 2, 1, 0]),
        (1, 3, "D", 3, 1, "1/2", [3, 2, 1, 0]),
        (2, 1, "B", 4, 0, None, [4, 3, 2, 1]), (2, 2, "A", 4, 0, None, [4, 3, 2, 1]),
        (2, 4, "D", 4, 1, "1/3", [4, 3, 2, 1]),
    ]  # fmt: skip
    rows.createOrReplaceTempView("hours")
    try:
        unit = within if "EVENTS" in within else "INTERVAL '3' HOUR"
        text = f"""SELECT h.n FROM hours MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n
          AFTER MATCH SKIP TO LAST B PATTERN (A+ B) WITHIN {unit}) AS h"""
        assert found(sparkcep.sql(spark, text)) == [(4,), (4,), (2,)]
    finally:
        spark.catalog.dropTempView("hours")


# -- plans ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("condition", "count"), [("t < 0", 200_000), ("t < FIRST(A.t)", 300)])
def test_linear_time_of_row_only_conditions_and_full_match_dependent_ones(
    spark: SparkSession, condition: str, count: int
) -> None:
    """(A*)* B with no B takes exponential time by naive backtracking.

    A row-only condition is swept in linear time. What the match-dependent one reads, FIRST(A.t),
    tells paths apart: work grows with about the cube of the rows, hence the short partition.
    """
    rows = spark.sql(f"SELECT 'k' AS k, id AS t FROM range({count})")
    matched = rows.match_pattern("^ (A* C*)* B", partition_by="k", order_by="t", define={"B": condition})
    assert matched.count() == 0


@pytest.mark.parametrize(("arguments", "hint"), UNKNOWN)
def test_unknown_names_and_types_fail_at_plan_time_with_position_and_hint(
    prices: DataFrame, arguments: dict[str, Any], hint: str
) -> None:
    given = {"partition_by": "k", "order_by": "t", **arguments}
    with pytest.raises(SparkcepError, match=hint) as caught:
        prices.match_pattern("A", **given)
    assert caught.value.clause
    assert caught.value.text
    assert caught.value.span is not None


@pytest.mark.parametrize(
    ("condition", "engine", "told"),
    [
        ("v > PREV(v)", "sweep", "B: bit (behind the window): "),
        ("v > 3 AND v > LAST(A.v)", "backtrack", "B: bit (before the shuffle): (v > 3); while matching: "),
    ],
)
def test_explain_compiled_program_and_chosen_plan(prices: DataFrame, condition: str, engine: str, told: str) -> None:
    text = sparkcep.plan(prices, "A B+", partition_by="k", order_by="t", define={"B": condition}).explain()
    assert f" * {engine}: " in text
    assert told in text
    program = text.split("Program:\n")[1].split("\nSlots:")[0].splitlines()
    assert len(program) > 2
    assert any("B" in line for line in program)
