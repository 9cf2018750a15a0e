"""Row patterns over DataFrames beside the lines of the table of features: arguments, names, laziness, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import BindingError


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


def found(df: DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows as plain tuples, in order."""
    return [tuple(row) for row in df.collect()]


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


def test_partition_columns_have_sparks_names(prices: DataFrame) -> None:
    matched = prices.match_pattern("A", partition_by=["upper(k)", F.col("t").alias("day")], order_by="t")
    assert matched.columns == prices.select(F.expr("upper(k)"), F.col("t").alias("day")).columns
    keys = [F.upper("k"), F.round(F.col("t") / 2.5, 1), F.col("v") % 2]
    matched = prices.match_pattern("A", partition_by=keys, order_by="t", rows_per_match="all")
    assert matched.columns == [*prices.select(*keys).columns, "t", "k", "v"]


def test_no_partition_is_warned_about(prices: DataFrame) -> None:
    with pytest.warns(sparkcep.errors.SparkcepWarning, match="one partition"):
        prices.match_pattern("A", order_by="t")


def test_unmatched_rows_have_null_measures(letters: DataFrame) -> None:
    matched = letters.where("t < 4").match_pattern(
        "A", partition_by="k", order_by="t", define={"A": "t = 2"}, rows_per_match="all with unmatched",
        measures={"m": "MATCH_NUMBER()", "n": "COUNT(*)", "constant": "'x'", "own": "t + 1"},
    )  # fmt: skip
    assert found(matched) == [("k", 1, *[None] * 4), ("k", 2, 1, 1, "x", 3), ("k", 3, *[None] * 4)]


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


def test_building_runs_no_spark_job(prices: DataFrame, jobs_begun: Callable[[], int]) -> None:
    before = jobs_begun()
    for rows_per_match in ("one", "all with unmatched"):
        prices.match_pattern(
            "S DOWN+ UP+", partition_by="k", order_by="t", rows_per_match=rows_per_match, within=10,
            define={"DOWN": "v < LAST(v, 1)", "UP": "v > PREV(v) AND SUM(UP.v) < 100"},
            measures={"n": "COUNT(*)", "p": "percentile(v, 0.5)", "l": "listagg(k)", "c": "CLASSIFIER()"},
        ).explain()  # fmt: skip
    sparkcep.plan(prices, "A B", partition_by="k", order_by="t").explain()
    assert jobs_begun() == before
    prices.match_pattern("S DOWN+", partition_by="k", order_by="t", define={"DOWN": "v < PREV(v)"}).collect()
    assert jobs_begun() > before


def test_rule_breaking_is_a_binding_error(prices: DataFrame) -> None:
    with pytest.raises(BindingError):
        prices.match_pattern("A", partition_by="k", order_by="t", define={"B": "v > 1"})


def test_errors_on_data_count_rows_that_were_let_go(spark: SparkSession) -> None:
    """With WITHIN a long partition is matched in parts; positions still count from its first row."""
    rows = spark.sql("SELECT 'k' AS k, id AS t FROM range(140000)")
    matched = rows.match_pattern(
        "A (B | C)", partition_by="k", order_by="t", within=10, after_match="to last C",
        define={"A": "t % 50000 = 0", "B": "t = 100001"},
    )  # fmt: skip
    told = r"C took no row in match 3 from row 100,001 \(t = 100000\) of partition k = 'k'"
    with pytest.raises(Exception, match=told):
        matched.collect()
