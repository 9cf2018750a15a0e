"""Any aggregate in MEASURES, with DISTINCT, FILTER and ORDER BY inside, user-defined too.

Plain Spark aggregates of the same rows say what must come out: of the whole match in ONE ROW and
under FINAL, of the rows so far under RUNNING.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep  # noqa: F401  (attaches match_pattern)
from tests.spark.frames import PYSPARK, type_of

ROWS = """
SELECT * FROM VALUES
  ('a', 1, 3, 1.25BD, 0.5D, 'x', true, 'p'), ('a', 2, NULL, -2.50BD, 'NaN'::double, 'y', false, 'q'),
  ('a', 3, 3, NULL, -0.0D, NULL, NULL, 'p'), ('a', 4, -7, 99999999.99BD, 2.5D, 'x', true, 'q'),
  ('b', 1, NULL, NULL, NULL, NULL, NULL, NULL), ('c', 1, 2147483647, 0.01BD, 1D, 'z', false, 'p'),
  ('c', 2, 2147483647, 0.02BD, 3D, 'ä', true, 'p')
AS t(k, t, i, dec, d, s, flag, g)
"""

# Aggregates whose result over the rows of a match must be Spark's own.
AGGREGATES = [
    "COUNT(*)", "COUNT(i)", "COUNT(DISTINCT i)", "COUNT(DISTINCT i, s)", "COUNT(i, s)", "COUNT_IF(i > 0)",
    "SUM(i)", "SUM(DISTINCT i)", "SUM(dec)", "SUM(DISTINCT dec)", "SUM(d)", "SUM(i * 2L)", "TRY_SUM(i)",
    "AVG(i)", "AVG(dec)", "AVG(DISTINCT i)", "AVG(d)", "TRY_AVG(dec)", "MEAN(i)",
    "MIN(s)", "MAX(dec)", "MIN(d)", "MAX(d)", "MIN(flag)", "MAX(s)", "MAX(struct(i, s))", "MIN(named_struct('x', i))",
    "MIN_BY(s, i)", "MAX_BY(s, t)", "MAX_BY(dec, d)",
    "STDDEV(i)", "STDDEV_POP(d)", "VARIANCE(dec)", "VAR_POP(i)", "SKEWNESS(i)", "KURTOSIS(d)", "CORR(i, t)",
    "COVAR_SAMP(i, t)", "REGR_SLOPE(i, t)", "MEDIAN(i)", "MODE(g)",
    "PERCENTILE(i, 0.25)", "PERCENTILE(i, array(0.5, 0.9))", "PERCENTILE_APPROX(i, 0.5)", "APPROX_COUNT_DISTINCT(s)",
    "BIT_AND(i)", "BIT_OR(i)", "BIT_XOR(t)", "BOOL_AND(flag)", "EVERY(flag)", "SOME(flag)", "ANY(flag)",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY i DESC)", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY t)",
    "MODE() WITHIN GROUP (ORDER BY g)",
    "SUM(i) FILTER (WHERE flag)", "COUNT(*) FILTER (WHERE s = 'x')", "COUNT(DISTINCT i) FILTER (WHERE t > 1)",
    "MAX(s) FILTER (WHERE i IS NULL)", "STDDEV(i) FILTER (WHERE t <> 2)", "AVG(dec) FILTER (WHERE d >= 0)",
    "SUM(i) + COUNT(*) * 2", "ROUND(AVG(d) / NULLIF(STDDEV(t), 0), 3)", "CAST(MAX(i) AS STRING) || MIN(s)",
]  # fmt: skip

if PYSPARK < (4, 3):  # divided by zero where a column holds one value
    AGGREGATES.remove("CORR(i, t)")

# Lists: Spark promises no order there, a pattern does.
LISTS: dict[str, Any] = {
    "ARRAY_AGG(t)": [1, 2, 3, 4],
    "COLLECT_LIST(i)": [3, 3, -7],
    "ARRAY_AGG(t ORDER BY t DESC)": [4, 3, 2, 1],
    "ARRAY_AGG(t ORDER BY i, t DESC)": [2, 4, 3, 1],
    "ARRAY_AGG(t ORDER BY i DESC NULLS FIRST, t)": [2, 1, 3, 4],
    "ARRAY_AGG(t ORDER BY s NULLS LAST)": [1, 4, 2, 3],
    "ARRAY_AGG(t ORDER BY d DESC, t)": [2, 4, 1, 3],
    "ARRAY_AGG(DISTINCT i)": [3, -7],
    "ARRAY_AGG(t) FILTER (WHERE flag)": [1, 4],
    "ARRAY_AGG(t ORDER BY t DESC) FILTER (WHERE i IS NOT NULL)": [4, 3, 1],
    "ARRAY_AGG(i + t ORDER BY -t)": [-3, 6, 4],
    "ARRAY_AGG(CLASSIFIER())": ["A", "B", "B", "B"],
    "COLLECT_SET(g)": ["p", "q"],
    "ARRAY_AGG(named_struct('t', t).t)": [1, 2, 3, 4],
    "ARRAY_AGG(B.t ORDER BY B.t DESC)": [4, 3, 2],
    "ARRAY_AGG(C.t)": [],
    "LISTAGG(s, ',')": "x,y,x",
    "LISTAGG(s)": "xyx",
    "LISTAGG(DISTINCT s, '-')": "x-y",
    "STRING_AGG(g, '|')": "p|q|p|q",
    "LISTAGG(s, ',') WITHIN GROUP (ORDER BY t DESC)": "x,y,x",
    "LISTAGG(g, '') WITHIN GROUP (ORDER BY g DESC, t)": "qqpp",
    "LISTAGG(t, ';') FILTER (WHERE t > 1)": "2;3;4",
    "FIRST_VALUE(g)": "p",
    "LAST_VALUE(g)": "q",
    "ANY_VALUE(g)": "p",
    "COUNT(B.*)": 3,
    "COUNT(DISTINCT CLASSIFIER())": 2,
    "MAX(CLASSIFIER())": "B",
    "SUM(B.i)": -4,
    "COUNT(C.t)": 0,
    "SUM(C.i)": None,
    "STDDEV(C.i)": None,
    "LISTAGG(C.s, ',')": None,
    "array_join(transform(ARRAY_AGG(t), x -> x * 10), '+')": "10+20+30+40",
    "SUM(t ORDER BY t DESC)": 10,
    "FIRST_VALUE(g ORDER BY t DESC)": "q",
    "size(ARRAY_AGG(t)) + element_at(ARRAY_AGG(t), 1)": 5,
}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    frame = spark.sql(ROWS).cache()
    yield frame
    frame.unpersist()


def named(calls: list[str], form: str = "…") -> dict[str, str]:
    return {f"m{number}": form.replace("…", call) for number, call in enumerate(calls)}


def as_texts(df: DataFrame, count: int) -> list[tuple[Any, ...]]:
    """Return keys, types and values as text; a double keeps a float's digits."""
    kinds = dict(df.dtypes)
    shown = []
    for name in (f"m{number}" for number in range(count)):
        value = (
            f"CAST(CAST(round({name}, 9) + 0 AS FLOAT) AS STRING)"
            if kinds[name] == "double"
            else f"CAST({name} AS STRING)"
        )
        shown.append(f"concat({type_of(name)}, ' ', coalesce({value}, 'NULL'))")
    return [tuple(row) for row in df.selectExpr("k", "t", *shown).orderBy("k", "t").collect()]


CHUNKS = [AGGREGATES[start : start + 16] for start in range(0, len(AGGREGATES), 16)]


@pytest.mark.parametrize("calls", CHUNKS, ids=[chunk[0] for chunk in CHUNKS])
def test_any_aggregate_in_one_row(rows: DataFrame, calls: list[str]) -> None:
    asked = {"t": "LAST(t)", **named(calls)}
    matched = rows.match_pattern("A B*", partition_by="k", order_by="t", measures=asked)
    plain = rows.groupBy("k").agg(
        F.max("t").alias("t"), *(F.expr(call).alias(name) for name, call in named(calls).items())
    )
    assert as_texts(matched, len(calls)) == as_texts(plain, len(calls))


@pytest.mark.parametrize("calls", CHUNKS, ids=[chunk[0] for chunk in CHUNKS])
def test_any_aggregate_in_all_rows_running(rows: DataFrame, calls: list[str]) -> None:
    matched = rows.match_pattern("A B*", partition_by="k", order_by="t", measures=named(calls), rows_per_match="all")
    so_far = rows.alias("o").join(
        rows.select(F.col("k").alias("kk"), F.col("t").alias("upto")), F.expr("k = kk AND t <= upto")
    )
    plain = so_far.groupBy("k", F.col("upto")).agg(*(F.expr(call).alias(name) for name, call in named(calls).items()))
    assert as_texts(matched, len(calls)) == as_texts(plain.withColumnRenamed("upto", "t"), len(calls))


FINAL = [call for call in AGGREGATES if call.count("(") == 1 or "FILTER" in call]


def test_any_aggregate_in_all_rows_final(rows: DataFrame) -> None:
    calls = FINAL[::2]
    matched = rows.match_pattern(
        "A B*", partition_by="k", order_by="t", measures=named(calls, "FINAL …"), rows_per_match="all"
    )
    plain = rows.groupBy("k").agg(*(F.expr(call).alias(name) for name, call in named(calls).items()))
    assert as_texts(matched, len(calls)) == as_texts(rows.select("k", "t").join(plain, "k"), len(calls))


def test_lists_and_orders_in_one_row(rows: DataFrame) -> None:
    calls = list(LISTS)
    matched = rows.where("k = 'a'").match_pattern(
        "A B* C*?", partition_by="k", order_by="t", measures=named(calls), define={"C": "false"}
    )
    row = matched.collect()[0]
    assert {call: row[f"m{number}"] for number, call in enumerate(calls)} == LISTS


def test_lists_and_orders_in_all_rows_running(rows: DataFrame) -> None:
    calls = [
        "ARRAY_AGG(t ORDER BY t DESC)",
        "LISTAGG(s, ',')",
        "COUNT(DISTINCT i)",
        "FINAL LISTAGG(g)",
        "ARRAY_AGG(B.t)",
    ]
    matched = rows.where("k = 'a'").match_pattern(
        "A B*", partition_by="k", order_by="t", measures=named(calls), rows_per_match="all"
    )
    assert [tuple(row[f"m{number}"] for number in range(5)) for row in matched.collect()] == [
        ([1], "x", 1, "pqpq", []),
        ([2, 1], "x,y", 1, "pqpq", [2]),
        ([3, 2, 1], "x,y", 1, "pqpq", [2, 3]),
        ([4, 3, 2, 1], "x,y,x", 2, "pqpq", [2, 3, 4]),
    ]


def test_lists_over_unmatched_and_empty_matches(rows: DataFrame) -> None:
    matched = rows.where("k = 'a'").match_pattern(
        "A*", partition_by="k", order_by="t", define={"A": "t = 2"}, rows_per_match="all with unmatched",
        measures={"l": "ARRAY_AGG(t)", "n": "COUNT(DISTINCT t)", "p": "PERCENTILE(t, 0.5)", "j": "LISTAGG(t)"},
    )  # fmt: skip
    assert [(row.t, row.l, row.n, row.p, row.j) for row in matched.collect()] == [
        (1, [], 0, None, None), (2, [2], 1, 2.0, "2"), (3, [], 0, None, None), (4, [], 0, None, None),
    ]  # fmt: skip


def test_user_defined_pandas_aggregates(spark: SparkSession, rows: DataFrame) -> None:
    def spread(values: pd.Series) -> float:
        return float(values.max() - values.min())

    def weighted(values: pd.Series, weights: pd.Series) -> float:
        return float((values * weights).sum())

    spark.udf.register("spread", F.pandas_udf(spread, "double"))
    spark.udf.register("weighted", F.pandas_udf(weighted, "double"))
    try:
        calls = {"s": "spread(t)", "b": "spread(B.t)", "w": "weighted(t, t + 1)", "x": "ROUND(spread(t) / 2, 1)"}
        one = rows.match_pattern("A B*", partition_by="k", order_by="t", measures=calls)
        assert sorted(map(tuple, one.collect())) == [
            ("a", 3.0, 2.0, 40.0, 1.5), ("b", 0.0, None, 2.0, 0.0), ("c", 1.0, 0.0, 8.0, 0.5),
        ]  # fmt: skip
        both = {"r": "RUNNING spread(t)", "f": "FINAL spread(t)"}
        every = rows.where("k = 'a'").match_pattern(
            "A B*", partition_by="k", order_by="t", measures=both, rows_per_match="all"
        )
        assert [(row.t, row.r, row.f) for row in every.orderBy("t").collect()] == [
            (1, 0.0, 3.0), (2, 1.0, 3.0), (3, 2.0, 3.0), (4, 3.0, 3.0),
        ]  # fmt: skip
    finally:
        spark.sql("DROP TEMPORARY FUNCTION spread")
        spark.sql("DROP TEMPORARY FUNCTION weighted")


def test_user_defined_sql_function_around_aggregates(spark: SparkSession, rows: DataFrame) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION ratio(x DOUBLE, y DOUBLE) RETURNS DOUBLE RETURN try_divide(x, y)")
    try:
        matched = rows.where("k = 'a'").match_pattern(
            "A+", partition_by="k", order_by="t", measures={"x": "ratio(SUM(t), COUNT(*))"}
        )
        assert matched.collect()[0].x == 2.5
    finally:
        spark.sql("DROP TEMPORARY FUNCTION ratio")


def test_sums_over_wide_decimals_and_intervals(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT 'k' AS k, id AS t, CAST('12345678901234567890123456789.678' AS DECIMAL(38,3)) AS w, "
        "make_dt_interval(id, 1) AS span, make_ym_interval(1, id) AS months FROM range(3)"
    )
    asked = {
        "s": "SUM(w)",
        "a": "AVG(w)",
        "m": "MAX(w)",
        "span": "SUM(span)",
        "mean": "AVG(span)",
        "long": "MAX(months)",
    }
    matched = rows.match_pattern("A+", partition_by="k", order_by="t", measures={**asked, "months": "SUM(months)"})
    plain = rows.groupBy("k").agg(
        *(F.expr(call).alias(name) for name, call in {**asked, "months": "SUM(months)"}.items())
    )
    assert matched.dtypes == plain.dtypes
    texts = ["k", *(f"CAST({name} AS STRING)" for name in plain.columns[1:])]
    assert matched.selectExpr(*texts).collect() == plain.selectExpr(*texts).collect()
    assert matched.select("s").collect()[0].s == Decimal("37037036703703703670370370369.034")
    assert matched.select("span").collect()[0].span == dt.timedelta(days=3, hours=3)
