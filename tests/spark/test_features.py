"""The surface of row patterns over DataFrames: clauses, rows, skipping, patterns, conditions.

Measures are in test_aggregates.py, types in test_values.py, SQL statements in test_sql.py.
"""

from __future__ import annotations

import itertools
import uuid
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import BindingError, SparkcepError

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


FALL_AND_RISE: dict[str, Any] = {
    "partition_by": "k",
    "order_by": "t",
    "define": {"DOWN": "v < PREV(v)", "UP": "v > PREV(v)"},
    "measures": {"n": "COUNT(*)", "low": "LAST(DOWN.v)", "top": "LAST(UP.v)"},
}


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


# -- clauses --------------------------------------------------------------------------------------


def test_from_a_dataframe_method(prices: DataFrame) -> None:
    matched = prices.match_pattern("S DOWN+ UP+", **FALL_AND_RISE)
    assert matched.columns == ["k", "n", "low", "top"]
    assert found(matched) == [("a", 5, 5, 8)]


def test_function_method_matcher_and_plan_agree(spark: SparkSession, prices: DataFrame) -> None:
    arguments = {**FALL_AND_RISE, "rows_per_match": "all"}
    method = prices.match_pattern("S DOWN+ UP+", **arguments)
    assert_df_equality(method, sparkcep.match_pattern(prices, "S DOWN+ UP+", **arguments))
    assert_df_equality(method, prices.transform(sparkcep.matcher("S DOWN+ UP+", **arguments)))
    assert_df_equality(method, sparkcep.plan(prices, "S DOWN+ UP+", **arguments).dataframe())


def test_whole_clause_as_pattern(prices: DataFrame) -> None:
    text = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n, LAST(DOWN.v) AS low, LAST(UP.v) AS top
      PATTERN (S DOWN+ UP+) DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v))"""
    assert_df_equality(prices.match_pattern(text), prices.match_pattern("S DOWN+ UP+", **FALL_AND_RISE))


@pytest.mark.parametrize(
    "keys",
    ["k", ["k"], "upper(k)", lambda: [F.col("k")], lambda: [F.upper("k"), "v > 100"], lambda: F.upper("k").alias("u")],
)
def test_partition_by_columns_and_expressions(prices: DataFrame, keys: Any) -> None:
    matched = prices.match_pattern("A+", partition_by=built(keys), order_by="t", measures={"n": "COUNT(*)"})
    assert sorted(row.n for row in matched.collect()) == [2, 6]


def test_partition_columns_have_sparks_names(prices: DataFrame) -> None:
    keys = ["upper(k)", "v % 2 AS odd", F.col("t").alias("day")]
    matched = prices.match_pattern("A", partition_by=["upper(k)", F.col("t").alias("day")], order_by="t")
    assert matched.columns == prices.select(F.expr(keys[0]), keys[2]).columns


@pytest.mark.filterwarnings(ONE_PARTITION)
def test_partition_by_is_optional(prices: DataFrame) -> None:
    assert found(prices.match_pattern("A+", order_by=["k", "t"], measures={"n": "COUNT(*)"})) == [(8,)]


def test_no_partition_is_warned_about(prices: DataFrame) -> None:
    with pytest.warns(sparkcep.errors.SparkcepWarning, match="one partition"):
        prices.match_pattern("A", order_by="t")


def test_null_key_is_a_group(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(None, 1), (None, 2), (1, 1)], "k int, t int")
    matched = rows.match_pattern("A+", partition_by="k", order_by="t", measures={"n": "COUNT(*)"})
    assert sorted(found(matched), key=str) == [(1, 1), (None, 2)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("v", [None, 1, 2, 3]),
        ("v ASC NULLS LAST", [1, 2, 3, None]),
        ("v DESC", [3, 2, 1, None]),
        ("v DESC NULLS FIRST", [None, 3, 2, 1]),
        (lambda: F.col("v").desc_nulls_last(), [3, 2, 1, None]),
        (lambda: F.asc_nulls_last("v"), [1, 2, 3, None]),
        ("-v", [None, 3, 2, 1]),
        ("abs(v - 2), v DESC", [None, 2, 3, 1]),
        (["v IS NULL", "v % 2", "v"], [2, 1, 3, None]),
        (lambda: [F.col("v") % 2, F.col("v").desc()], [None, 2, 3, 1]),
    ],
)
def test_order_by_expressions_asc_desc_nulls(spark: SparkSession, order: Any, expected: list[int | None]) -> None:
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


# -- rows per match ---------------------------------------------------------------------------------

ROWS: list[tuple[str, list[tuple[int, int | None, int | None, str | None]]]] = [
    ("all", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
    ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
    ("all show empty", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
    ("all omit empty", [(2, 2, 1, "A"), (3, 2, 2, "A")]),
    ("All Rows Per Match Omit Empty Matches", [(2, 2, 1, "A"), (3, 2, 2, "A")]),
    ("all with unmatched", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
]


@pytest.mark.parametrize(("rows_per_match", "expected"), ROWS)
def test_rows_per_match(letters: DataFrame, rows_per_match: str, expected: list[Any]) -> None:
    matched = letters.where("t < 5").match_pattern(
        "A*", partition_by="k", order_by="t", define={"A": "t IN (2, 3)"}, rows_per_match=rows_per_match,
        measures={"m": "MATCH_NUMBER()", "n": "COUNT(*)", "c": "CLASSIFIER()"},
    )  # fmt: skip
    assert matched.columns == ["k", "t", "m", "n", "c"]
    assert found(matched.drop("k")) == expected


def test_one_row_per_match_with_empty_matches(letters: DataFrame) -> None:
    matched = letters.where("t < 4").match_pattern(
        "A*", partition_by="k", order_by="t", define={"A": "t = 2"}, rows_per_match="ONE ROW PER MATCH",
        measures={"m": "MATCH_NUMBER()", "n": "COUNT(*)", "at": "t", "a": "A.t"},
    )  # fmt: skip
    assert found(matched) == [("k", 1, 0, None, None), ("k", 2, 1, 2, 2), ("k", 3, 0, None, None)]


def test_unmatched_rows_have_null_measures(letters: DataFrame) -> None:
    matched = letters.where("t < 4").match_pattern(
        "A", partition_by="k", order_by="t", define={"A": "t = 2"}, rows_per_match="all with unmatched",
        measures={"m": "MATCH_NUMBER()", "n": "COUNT(*)", "constant": "'x'", "own": "t + 1"},
    )  # fmt: skip
    assert found(matched) == [("k", 1, *[None] * 4), ("k", 2, 1, 1, "x", 3), ("k", 3, *[None] * 4)]


# -- after match skip -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after_match", "expected"),
    [
        (None, [1, 4]),
        ("past last row", [1, 4]),
        ("AFTER MATCH SKIP PAST LAST ROW", [1, 4]),
        ("to next row", [1, 2, 3, 4]),
        ("to first B", [1, 2, 3, 4]),
        ("to last B", [1, 3]),
        ("to B", [1, 3]),
        ("skip to last u", [1, 3]),
        ("to first U", [1, 2, 3, 4]),
    ],
)
def test_after_match_skip(letters: DataFrame, after_match: str | None, expected: list[int]) -> None:
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
def test_skip_targets_that_fail_on_data(letters: DataFrame, after_match: str, code: str) -> None:
    matched = letters.match_pattern(
        "A B C?", partition_by="k", order_by="t", define={"C": "false"}, after_match=after_match
    )
    with pytest.raises(Exception, match=code):
        matched.collect()


# -- patterns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "define", "expected"),
    [
        ("A B", {}, ["AB"] * 3),
        ("A | A B", {}, ["A"] * 6),
        ("(A B | C)", {"A": "t = 2"}, ["C", "AB", "C", "C", "C"]),
        ("A (B | C)+", {"B": "t % 2 = 0", "C": "t % 3 = 0"}, ["ABCB", "AB"]),
        ("A*", {"A": "t > 2"}, ["", "", "AAAA"]),
        ("A+? B", {}, ["AB"] * 3),
        ("A?? B", {}, ["B"] * 6),
        ("A*? B", {"B": "t = 4"}, ["AAAB"]),
        ("A{4}", {}, ["AAAA"]),
        ("A{2,}", {}, ["A" * 6]),
        ("A{1,4}", {}, ["AAAA", "AA"]),
        ("A{,2}", {}, ["AA"] * 3),
        ("A{2,3}? B", {}, ["AAB"] * 2),
        ("() | A", {}, [""] * 6),
        ("A (| B)", {}, ["A"] * 6),
        ("(A | ){2} B", {}, ["AAB"] * 2),
        ("(A? B?)*", {}, ["ABABAB"]),
        ("(A*)* B", {"A": "t < 3"}, ["AAB", "B", "B", "B"]),
        ("PERMUTE(A, B, C)", {"A": "t = 3", "B": "t = 1"}, ["BCA"]),
        ("PERMUTE(A, B+)", {"A": "t = 3"}, ["BBA"]),
        ("^ A B", {}, ["AB"]),
        ("A B $", {}, ["AB"]),
        ("(^ A | B $)", {}, ["A", "B"]),
        ("A{- B -} C", {}, ["ABC"] * 2),
    ],
)
def test_patterns(letters: DataFrame, pattern: str, define: dict[str, str], expected: list[str]) -> None:
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


def test_anchors_and_exclusion_in_all_rows(letters: DataFrame) -> None:
    matched = letters.match_pattern(
        "^ A {- B+ -} C $", partition_by="k", order_by="t", rows_per_match="all",
        measures={"c": "CLASSIFIER()", "n": "RUNNING COUNT(*)", "all_b": "FINAL COUNT(B.*)"},
    )  # fmt: skip
    assert found(matched) == [("k", 1, "A", 1, 4), ("k", 6, "C", 6, 4)]


def test_subset(letters: DataFrame) -> None:
    matched = letters.match_pattern(
        "A B C", partition_by="k", order_by="t", subset={"U": ["A", "C"], "W": ["B", "C"]},
        define={"C": "t > FIRST(U.t) + 1 AND COUNT(W.*) = 2"},
        measures={"u": "array_agg(U.t)", "w": "FIRST(W.t)", "c": "CLASSIFIER(U)", "s": "SUM(W.t)"},
    )  # fmt: skip
    assert found(matched) == [("k", [1, 3], 2, "C", 5), ("k", [4, 6], 5, "C", 11)]


def test_quoted_variables_keep_their_case(letters: DataFrame) -> None:
    matched = letters.match_pattern(
        '"low" b "Two Words"', partition_by="k", order_by="t", define={'"low"': "t = 1", "b": 't > LAST("low".t)'},
        rows_per_match="all", measures={"c": "CLASSIFIER()", "x": '"Two Words".t'},
    )  # fmt: skip
    assert found(matched) == [("k", 1, "low", None), ("k", 2, "B", None), ("k", 3, "Two Words", 3)]


def test_pattern_variable_hides_a_column(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'k' AS k, id AS t, named_struct('t', -id) AS a FROM range(3)")
    assert found(rows.match_pattern("A+", partition_by="k", order_by="t", measures={"x": "LAST(a.t)"})) == [("k", 2)]
    assert found(rows.match_pattern("B+", partition_by="k", order_by="t", measures={"x": "LAST(a.t)"})) == [("k", -2)]


# -- conditions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (None, ["AB"] * 3),
        ("t = 3", ["AB"]),
        (lambda: F.col("t") == 3, ["AB"]),
        ("B.t = A.t + 1 AND A.t >= 4", ["AB"]),
        ("t > PREV(t, 2)", ["AB"] * 2),
        ("NEXT(t) IS NULL", ["AB"]),
        ("NEXT(t, 2) = t + 2", ["AB"] * 2),
        ("PREV(A.t) = t - 2", ["AB"] * 2),
        ("NEXT(A.t, 2) = t + 1", ["AB"] * 2),
        ("PREV(FIRST(t), 1) IS NULL", ["AB"]),
        ("NEXT(LAST(A.t), 1) = t", ["AB"] * 3),
        ("LAST(t, 1) = t - 1 AND FIRST(t, 1) = t", ["AB"] * 3),
        ("CLASSIFIER() = 'B' AND CLASSIFIER(A) = 'A' AND PREV(CLASSIFIER()) = 'A'", ["AB"] * 3),
        ("NEXT(CLASSIFIER()) IS NULL", ["AB"] * 3),
        ("MATCH_NUMBER() = 2", []),
        ("MATCH_NUMBER() = 1", ["AB"]),
        ("COUNT(*) = 2 AND COUNT(A.*) = 1 AND SUM(t) > 6", ["AB"] * 2),
        ("COALESCE(LAST(C.t), -1) = -1", ["AB"] * 3),
    ],
)
def test_define(letters: DataFrame, condition: Any, expected: list[str]) -> None:
    define = {} if condition is None else {"B": built(condition)}
    assert labels(letters, "(A B | A C)" if "C." in str(condition) else "A B", define=define) == expected


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


def test_within_time_with_everything_else(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'k' AS k, timestamp'2024-01-01' + make_dt_interval(0, id) AS ts, id AS v FROM range(8)")
    matched = rows.match_pattern(
        "PERMUTE(A, B) {- C* -} (D | E)+",
        partition_by="k", order_by="ts", subset={"U": ["D", "E"]}, within="3 hours", after_match="to next row",
        define={"B": "v % 2 = 1", "D": "SUM(U.v) < 9 AND v > LAST(B.v)"}, rows_per_match="all omit empty",
        measures={"m": "MATCH_NUMBER()", "c": "CLASSIFIER()", "s": "FINAL SUM(U.v)", "x": "ts - FIRST(ts)"},
    )  # fmt: skip
    assert matched.where("x > INTERVAL '3' HOUR").count() == 0
    assert found(matched.where("m = 1").select("v", "c")) == [(0, "A"), (1, "B"), (3, "D")]


# -- plan time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"define": {"A": "vv > 1"}}, "there is no column 'vv'"),
        ({"define": {"A": "v > LAST(A.vv)"}}, "there is no column 'vv'"),
        ({"measures": {"x": "FIRST(pricee)"}}, "there is no column 'pricee'"),
        ({"measures": {"x": "Q.v"}}, "neither a pattern variable nor a column"),
        ({"partition_by": "kk"}, "there is no column 'kk'"),
        ({"order_by": "tt"}, "there is no column 'tt'"),
        ({"define": {"A": "v + 1"}}, "takes conditions"),
        ({"define": {"A": "no_such_function(v)"}}, "no_such_function"),
        ({"define": {"A": "v > array(v)"}}, "."),
        ({"measures": {"x": "SUM(k, v)"}}, "."),
        ({"measures": {"x": "percentile(v)"}}, "."),
        ({"measures": {"x": "date_add(FIRST(array(v)), 1)"}}, "."),
        ({"measures": {"x": "COUNT(*) FILTER (WHERE v)"}}, "FILTER takes a condition"),
        ({"measures": {"x": "SUM(v) || array(v)"}}, "."),
    ],
)
def test_unknown_names_and_types_fail_at_plan_time(prices: DataFrame, arguments: dict[str, Any], hint: str) -> None:
    given = {"partition_by": "k", "order_by": "t", **arguments}
    with pytest.raises(SparkcepError, match=hint) as caught:
        prices.match_pattern("A", **given)
    assert caught.value.clause
    assert caught.value.text


def test_building_runs_no_spark_job(spark: SparkSession, prices: DataFrame) -> None:
    tracker = spark.sparkContext.statusTracker()
    group = f"building {uuid.uuid4()}"
    spark.sparkContext.setJobGroup(group, "no job may run here")
    try:
        for rows_per_match in ("one", "all with unmatched"):
            prices.match_pattern(
                "S DOWN+ UP+", partition_by="k", order_by="t", rows_per_match=rows_per_match, within=10,
                define={"DOWN": "v < LAST(v, 1)", "UP": "v > PREV(v) AND SUM(UP.v) < 100"},
                measures={"n": "COUNT(*)", "p": "percentile(v, 0.5)", "l": "listagg(k)", "c": "CLASSIFIER()"},
            ).explain()  # fmt: skip
        sparkcep.plan(prices, "A B", partition_by="k", order_by="t").explain()
        jobs = tracker.getJobIdsForGroup(group)
        assert list(jobs) == []
        prices.match_pattern("A", partition_by="k", order_by="t").collect()
        assert list(tracker.getJobIdsForGroup(group)) != []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_explain_names_engine_and_conditions(prices: DataFrame) -> None:
    plain = sparkcep.plan(prices, "S DOWN+ UP+", **FALL_AND_RISE).explain()
    dependent = sparkcep.plan(prices, "A B", partition_by="k", order_by="t", define={"B": "v > LAST(A.v)"}).explain()
    assert "sweep" in plain
    assert "backtrack" in dependent
    assert "v < PREV(v)" in plain or "DOWN" in plain


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


def test_rule_breaking_is_a_binding_error(prices: DataFrame) -> None:
    with pytest.raises(BindingError):
        prices.match_pattern("A", partition_by="k", order_by="t", define={"B": "v > 1"})
