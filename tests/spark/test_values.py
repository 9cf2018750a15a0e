"""Values keep Spark's meaning on their way through the matcher: every type, NULL, NaN, −0.0, collations."""

from __future__ import annotations

from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep  # noqa: F401  (attaches match_pattern)
from sparkcep.errors import BindingError

# One expression per type, over id 1 to 4; row 4 is NULL everywhere.
TYPES = {
    "tinyint": "CAST(id AS TINYINT)",
    "smallint": "CAST(id * 1000 AS SMALLINT)",
    "int": "CAST(id AS INT)",
    "bigint": "id + 9007199254740992",
    "float": "CAST(id / 3 AS FLOAT)",
    "double": "CASE id WHEN 1 THEN CAST('NaN' AS DOUBLE) WHEN 2 THEN -0.0D ELSE id / 3D END",
    "decimal": "CAST(id AS DECIMAL(10, 2)) / 7",
    "wide_decimal": "CAST('1234567890123456789012345678901234567' AS DECIMAL(38, 1)) + id",
    "boolean": "id = 1",
    "string": "concat('ü', id)",
    "empty_string": "''",
    "char_like": "CAST(id AS VARCHAR(3))",
    "collated": "collate(concat('Ab', id), 'UTF8_LCASE')",
    "icu_collated": "collate(concat('Ab', id), 'UNICODE_CI')",
    "binary": "encode(concat('ü', id), 'utf-8')",
    "date": "date'1582-10-01' + CAST(id AS INT)",
    "timestamp": "timestamp'9999-12-31 23:59:59.999999' - make_dt_interval(id)",
    "timestamp_ntz": "timestamp_ntz'0001-01-01 00:00:00.000001' + make_dt_interval(id)",
    "day_time": "make_dt_interval(id, 1, 2, 3.000004)",
    "year_month": "make_ym_interval(id, -1)",
    "calendar": "make_interval(id, 1, 0, 2, 3)",
    "array": "array(id, NULL)",
    "empty_array": "slice(array(id), 1, 0)",
    "map": "map(id, 'x', id + 1, NULL)",
    "struct": "named_struct('a', id, 'b', named_struct('c', concat('s', id)))",
    "deep": "array(named_struct('m', map('k', array(CAST(id AS DECIMAL(20, 5))))))",
    "variant": "parse_json(concat('{\"a\": [', id, ', null]}'))",
    "variant_in_array": "array(parse_json(CAST(id AS STRING)))",
    "intervals_inside": "array(named_struct('y m', make_ym_interval(id, 1), 'c', map(1, make_interval(id, 1))), NULL)",
    "intervals_as_keys": "map(make_ym_interval(1, 1), named_struct('n', make_interval(0, 0, 0, id)))",
    "void": "NULL",
}


@pytest.fixture(scope="module")
def every_type(spark: SparkSession) -> DataFrame:
    columns = [f"CASE WHEN id < 4 THEN {text} END AS `{name}`" for name, text in TYPES.items()]
    return spark.sql(f"SELECT 'k' AS k, id, {', '.join(columns)} FROM range(1, 5)")


def shown(df: DataFrame, names: list[str]) -> list[tuple[Any, ...]]:
    """Return types, and values as text, which is the one form every type has."""
    texts = [F.col(f"`{name}`").cast("string").alias(name) for name in names]
    kinds = [(name, kind) for name, kind in df.dtypes if name in names]
    return [*kinds, *(tuple(row) for row in df.orderBy("id").select(*texts).collect())]


def test_every_type_passes_through_all_rows_unchanged(every_type: DataFrame) -> None:
    matched = every_type.match_pattern("A+", partition_by="k", order_by="id", rows_per_match="all")
    assert shown(matched, list(TYPES)) == shown(every_type, list(TYPES))


def test_every_type_is_gathered_unchanged(every_type: DataFrame) -> None:
    names = [name for name in TYPES if name != "void"]
    measures = {"id": "LAST(id)", **{name: f"LAST(A.{name})" for name in names}}
    matched = every_type.match_pattern("A", partition_by="k", order_by="id", measures=measures)
    assert shown(matched, names) == shown(every_type, names)


def test_every_type_is_collected_unchanged(every_type: DataFrame) -> None:
    names = [name for name in TYPES if name != "void"]
    measures = {"id": "LAST(id)", **{name: f"ARRAY_AGG({name})" for name in names}}
    matched = every_type.match_pattern("A+", partition_by="k", order_by="id", measures=measures)
    texts = [F.col(name).cast("string").alias(name) for name in names]
    plain = every_type.orderBy("id").coalesce(1).groupBy("k").agg(*(F.array_agg(name).alias(name) for name in names))
    assert matched.select(*texts).collect() == plain.select(*texts).collect()
    assert matched.select(*names).dtypes == plain.select(*names).dtypes


def test_neighbours_of_every_type(every_type: DataFrame) -> None:
    names = [name for name in TYPES if name != "void"]
    define = {"B": " AND ".join(f"(PREV({name}) IS NOT NULL)" for name in names)}
    matched = every_type.match_pattern(
        "A B", partition_by="k", order_by="id", define=define, measures={"at": "LAST(id)"}, after_match="to next row"
    )
    assert [row.at for row in matched.collect()] == [2, 3, 4]


@pytest.mark.parametrize(
    "key",
    [
        "CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN CAST('NaN' AS DOUBLE) ELSE double(id % 2) * -0.0D END",
        "CASE WHEN id % 2 = 0 THEN 0.0D ELSE -0.0D END",
        "CASE WHEN id % 2 = 0 THEN CAST('NaN' AS FLOAT) END",
        "collate(CASE id % 3 WHEN 0 THEN 'abc' WHEN 1 THEN 'ABC' END, 'UTF8_LCASE')",
        "collate(CASE WHEN id % 2 = 0 THEN 'straße' ELSE 'STRASSE' END, 'UNICODE_CI_AI')",
        "named_struct('a', CASE WHEN id % 2 = 0 THEN NULL ELSE 0.0D END)",
        "array(CASE WHEN id % 2 = 0 THEN CAST('NaN' AS DOUBLE) ELSE 1D END)",
        "encode(CAST(id % 2 AS STRING), 'utf-8')",
        "make_ym_interval(id % 2)",
    ],
)
def test_keys_are_grouped_as_group_by_groups_them(spark: SparkSession, key: str) -> None:
    rows = spark.sql(f"SELECT id, {key} AS k FROM range(12)")
    matched = rows.match_pattern("^ A+ $", partition_by="k", order_by="id", measures={"ids": "ARRAY_AGG(id)"})
    plain = rows.groupBy("k").agg(F.array_sort(F.array_agg("id")).alias("ids"))
    assert sorted(row.ids for row in matched.select("ids").collect()) == sorted(
        row.ids for row in plain.select("ids").collect()
    )


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("bigint", "9007199254740992", "9007199254740993"),
        ("bigint", "-9223372036854775808", "9223372036854775807"),
        ("decimal(38,0)", "99999999999999999999999999999999999998", "99999999999999999999999999999999999999"),
        ("decimal(38,20)", "0.00000000000000000001", "0.00000000000000000002"),
        ("decimal(18,2)", "-0.01", "0.00"),
        ("decimal(10,2)", "9.99", "10.00"),
        ("double", "Infinity", "NaN"),
        ("double", "-Infinity", "-0.0"),
        ("float", "1.0000001", "1.0000002"),
        ("string", "Z", "a"),
        ("string", "", "a"),
        ("string", "a", "ab"),
        ("string", "z", "é"),
        ("string", "\uffff", "😀"),
        ("binary", "Z", "a"),
        ("date", "0001-01-01", "9999-12-31"),
        ("timestamp", "9999-12-31 23:59:59.999998", "9999-12-31 23:59:59.999999"),
        ("timestamp_ntz", "0001-01-01 00:00:00", "0001-01-01 00:00:00.000001"),
        ("boolean", "false", "true"),
        ("interval day to second", "-1 00:00:00.000001", "-1 00:00:00.000000"),
    ],
)
def test_match_dependent_comparisons_are_exact(spark: SparkSession, kind: str, low: str, high: str) -> None:
    value = f"CAST(CASE WHEN id % 2 = 0 THEN '{low}' ELSE '{high}' END AS {kind})"
    rows = spark.sql(f"SELECT 'k' AS k, id, {value} AS v FROM range(4)")
    define = {"B": "v > FIRST(v)", "C": "v = FIRST(v) AND v < LAST(v, 1) AND v = LEAST(FIRST(v), LAST(v, 1))"}
    measures = {"ids": "ARRAY_AGG(id)", "low": "MIN(v) <=> FIRST(v)", "high": "MAX(v) <=> LAST(B.v)"}
    matched = rows.match_pattern("A B C", partition_by="k", order_by="id", define=define, measures=measures)
    assert [tuple(row)[1:] for row in matched.collect()] == [([0, 1, 2], True, True)]


@pytest.mark.parametrize("kind", ["double", "float"])
def test_nan_and_negative_zero_compare_as_in_spark(spark: SparkSession, kind: str) -> None:
    rows = spark.sql(
        f"SELECT 'k' AS k, id, CAST(s AS {kind}) AS v "
        "FROM VALUES (1, 'NaN'), (2, 'NaN'), (3, '-0.0'), (4, '0') AS t(id, s)"
    )
    matched = rows.match_pattern(
        "A B", partition_by="k", order_by="id", define={"B": "v = LAST(A.v)"}, measures={"at": "FIRST(id)"},
        after_match="to next row",
    )  # fmt: skip
    assert [row.at for row in matched.collect()] == [1, 3]


def test_collated_strings_are_compared_by_their_collation_or_refused(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT 'k' AS k, id, collate(s, 'UTF8_LCASE') AS s FROM VALUES (1, 'abc'), (2, 'ABC'), (3, 'x') AS t(id, s)"
    )
    asked = {
        "partition_by": "k",
        "order_by": "id",
        "measures": {"at": "FIRST(id)", "top": "MAX(s)", "n": "COUNT(DISTINCT s)"},
    }
    matched = rows.match_pattern("A B", define={"B": "s = PREV(s)"}, **asked)
    assert [(row.at, row.n) for row in matched.collect()] == [(1, 1)]
    with pytest.raises(BindingError, match="collation"):
        rows.match_pattern("A B", define={"B": "s = FIRST(s)"}, **asked)


def test_names_with_dots_blanks_quotes_and_keywords(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT 'k' AS `my key`, id AS `order`, id AS `a.b`, id * 2 AS `x``y`, 'é' AS `select`, id AS `été` "
        "FROM range(3)"
    )
    matched = rows.match_pattern(
        "A B", partition_by="`my key`", order_by="`order`", rows_per_match="all",
        define={"B": "`a.b` > LAST(A.`a.b`) AND `x``y` >= PREV(`x``y`) AND `été` > 0"},
        measures={"n": "SUM(`a.b`)", "q": "A.`x``y`", "measure with blanks": "`select`", "m.dot": "FIRST(`été`)"},
    )  # fmt: skip
    assert matched.columns == [
        "my key",
        "order",
        "n",
        "q",
        "measure with blanks",
        "m.dot",
        "a.b",
        "x`y",
        "select",
        "été",
    ]
    assert [tuple(row) for row in matched.collect()] == [
        ("k", 0, 0, 0, "é", 0, 0, 0, "é", 0), ("k", 1, 1, 0, "é", 0, 1, 2, "é", 1),
    ]  # fmt: skip


def test_columns_whose_names_look_hidden(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'k' AS k, id AS __cep_r, id AS __cep_k0, id AS __given_0 FROM range(3)")
    matched = rows.match_pattern(
        "A B", partition_by=[F.upper("k").alias("u")], order_by=F.col("__cep_r") + 0, rows_per_match="all",
        define={"B": F.col("__given_0") > 0}, measures={"n": "FIRST(__cep_k0)"},
    )  # fmt: skip
    assert [tuple(row) for row in matched.drop("k").collect()] == [("K", 0, 0, 0, 0), ("K", 0, 1, 1, 1)]


def test_result_of_all_rows_keeps_schema_and_rows(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'k' AS k, id AS t, named_struct('a', id, 'b', array(id)) AS s FROM range(4)")
    matched = rows.match_pattern("A+", partition_by="k", order_by="t", rows_per_match="all")
    assert_df_equality(matched, rows, ignore_nullable=True, ignore_row_order=True)
