"""Spark expressions of many families keep Spark's meaning in DEFINE, in MEASURES and inside navigation.

Every expression runs as a condition, on the row under test and on an earlier row of the match, and as
a measure, bare and inside FIRST and LAST; plain Spark says what must come out. The expressions of one
family share a Spark job: one measure each, or one pattern variable each over a partition of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

import sparkcep  # noqa: F401  (attaches match_pattern)
from tests.spark.frames import PYSPARK, type_of

ROWS = """
SELECT * FROM VALUES
  (1, 10, 5000000000, 1.5D, 1.50BD, 'apple pie', true, array(1, 2, 3), map('a', 1, 'b', 2), '{"a":{"b":"7"},"c":[1]}'),
  (2, -3, -7, 'NaN'::double, -0.25BD, 'Banana', false, array(4), map('a', 5), '{"a":{"b":"8"}}'),
  (3, 0, 9007199254740993, -0.0D, 12345678.90BD, 'cherry  ', true, array(9), map(), '{"c":[9]}'),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (5, 7, 0, 1e300D, 0.00BD, 'x%y_z', false, array(NULL, 8), map('b', NULL), '[1,2,3]'),
  (6, 2147483647, 1, 'Infinity'::double, 99999999.99BD, 'ünïcode ✓', true, array(7, 7, 7), map('c', 3), '{"a":1}')
AS t(id, i, big, d, dec, s, flag, arr, kv, js)
"""

INPUT = """
SELECT *, i AS `a.b`, s AS `two words`, i AS `select`, d AS first, s AS last, i AS running, big AS match_number,
  i AS `order`, parse_json(js) AS v, named_struct('f', i, 'g', named_struct('h', s)) AS st,
  transform(arr, x -> named_struct('f', x, 'g', x * 2)) AS structs,
  timestamp'2024-02-28 23:30:00' + make_interval(0, 0, 0, id) AS ts, date'2024-02-27' + id AS day,
  timestamp_ntz'2024-02-28 23:30:00' + make_dt_interval(id) AS ntz,
  make_dt_interval(id, 1) AS span, make_ym_interval(id, 2) AS months, encode(s, 'utf-8') AS bytes,
  collate(s, 'UTF8_LCASE') AS folded
FROM ({rows})
"""

# By family: a name, and the expression.
FAMILIES = {
    "arithmetic and logic": {
        "bare_column": "i",
        "arithmetic": "i / 2 + id - 1",
        "remainder_and_div": "id % 4 + id div 2",
        "bitwise": "id & 3 | 8 ^ 1",
        "shift_operators": "id << 2",
        "unary_minus": "-d",
        "comparison_chain": "id >= 2 AND NOT id = 4 OR s = 'x%y_z'",
        "bang": "!flag",
        "bang_equals": "id != 3 AND id <> 5",
        "null_safe_equal": "i <=> NULL",
        "null_safe_equal_twice": "(i <=> 10) <=> flag",
        "concatenation": "s || '-' || id",
        "case_searched": "CASE WHEN i > 5 THEN 'big' WHEN i IS NULL THEN 'none' ELSE 'small' END",
        "case_simple": "CASE id WHEN 1 THEN 'one' WHEN 2 THEN 'two' END",
        "between": "i BETWEEN -5 AND 7",
        "not_between": "i NOT BETWEEN 0 AND 7",
        "in_list": "id IN (1, 3, 5)",
        "not_in_with_null": "i NOT IN (1, NULL)",
        "like": "s LIKE '%an%'",
        "like_escape": "s LIKE 'x!%y!_%' ESCAPE '!'",
        "like_any": "s LIKE ANY ('a%', 'B%')",
        "like_all": "s LIKE ALL ('%e%', '%p%')",
        "ilike": "s ILIKE 'BANANA'",
        "rlike": r"s RLIKE '^[a-z]+ ?'",
        "raw_string": r"regexp_extract(s, r'(\w+)', 1)",
        "quote_in_string": "replace(s, 'p', 'it''s')",
        "double_quoted_string": 'concat("<", s, ">")',
        "is_distinct_from": "i IS DISTINCT FROM 10",
        "is_true": "flag IS NOT TRUE",
        "is_unknown": "flag IS UNKNOWN",
        "coalesce": "coalesce(i, id, 0)",
        "try_divide": "try_divide(i, id - 3)",
        "try_add_overflow": "try_add(i, 1)",
        "try_cast": "try_cast(s AS INT) IS NULL",
        "double_colon_cast": "i::string",
        "chained_cast": "dec::double::decimal(20,4)",
    },
    "literals, dates and nested types": {
        "decimal_literal": "dec + 1.5BD",
        "typed_number_literals": "1Y + 2S + 3L + 1.5F + 2.5D + 1e2",
        "date_literal": "date'2024-03-01' > day",
        "timestamp_literal": "ts >= timestamp'2024-03-01 00:00:00'",
        "timestamp_ntz_literal": "ntz < timestamp_ntz'2024-03-02 00:00:00'",
        "interval_literal": "ts + INTERVAL 1 DAY 2 HOURS",
        "interval_string": "ts - INTERVAL '1 02:03:04' DAY TO SECOND",
        "interval_of_months": "day + INTERVAL '1-2' YEAR TO MONTH",
        "interval_arithmetic": "span * 2 > INTERVAL '3' DAY",
        "year_month_interval": "months + INTERVAL '1' MONTH",
        "binary_literal": "bytes = X'42616E616E61'",
        "extract_field": "EXTRACT(DAY FROM ts) + date_part('hour', ts)",
        "date_trunc": "date_trunc('HOUR', ts)",
        "current_date_call": "current_date() > day",
        "array_index": "arr[0]",
        "array_literal": "array(1, id)[1]",
        "element_at": "try_element_at(arr, -1)",
        "struct_field": "st.f",
        "nested_struct_field": "st.g.h",
        "array_of_structs_field": "structs[0].f",
        "array_of_structs_fields": "structs.g",
        "named_struct": "named_struct('a', i, 'b', s).b",
        "struct_call": "struct(id, s).s",
    },
    "lambdas, variants, strings": {
        "map_access": "kv['a']",
        "map_functions": "map_keys(map_filter(kv, (k, x) -> x > 1))",
        "lambda_one": "transform(arr, x -> x - coalesce(i, 0) % 7)",
        "lambda_two": "transform(arr, (x, n) -> coalesce(x, 1) * n + id)",
        "lambda_hides_column": "transform(arr, id -> id + 1)",
        "lambda_named_as_variable": "transform(arr, A -> A + 1)",
        "exists": "EXISTS(arr, x -> x > 2)",
        "filter_function": "size(filter(arr, x -> x IS NOT NULL))",
        "aggregate_function": "aggregate(arr, 0, (acc, x) -> acc + coalesce(x, 0), acc -> acc * 10)",
        "nested_lambdas": "transform(arr, x -> aggregate(arr, x, (y, z) -> y + z))",
        "array_functions": "array_sort(array_distinct(array_compact(arr)))",
        "variant_path": "v:a.b::int",
        "variant_index": "v:c[0]::int",
        "variant_get": "try_variant_get(v, '$.a.b', 'int')",
        "variant_is_null": "is_variant_null(v:a)",
        "json_function": "get_json_object(js, '$.a.b')",
        "from_json": "from_json(js, 'a STRUCT<b: STRING>').a.b",
        "collation": "folded = 'BANANA'",
        "collate_operator": "s COLLATE UTF8_LCASE = 'APPLE PIE'",
        "string_functions": "upper(substring(s FROM 2 FOR 3)) || lpad(id, 3, '0')",
        "trim_syntax": "trim(TRAILING FROM s)",
        "position_syntax": "position('a' IN s)",
        "overlay_syntax": "overlay(s PLACING '_' FROM 1)",
    },
    "names and functions of the user": {
        "hash_functions": "xxhash64(i, s) % 97",
        "math_functions": "round(sqrt(abs(dec)), 2)",
        "nan": "isnan(d) OR d = 'NaN'",
        "negative_zero": "d = 0",
        "greatest_least": "greatest(i, id) - least(id, 3)",
        "if_function": "if(flag, i, -id)",
        "nvl2": "nvl2(i, 'v', 'n')",
        "zeroifnull": "zeroifnull(i) - nullifzero(id)",
        "scalar_subquery": "id > (SELECT avg(x) FROM VALUES (2), (4) AS q(x))",
        "block_comment": "i /* not LAST(A.x), nor a ) */ - 1",
        "line_comment": "i -- FIRST(A.x) ) \n - 1",
        "backquoted_name": "`two words`",
        "backquoted_dotted_name": "`a.b` - id",
        "backquoted_keyword": "`select` - `order`",
        "names_of_navigation": "first > 1 AND last IS NOT NULL",
        "name_of_match_number": "match_number + running",
        "mixed_case_names": "ID + Big",
        "python_udf": "plus_one(i)",
        "python_udf_inside": "coalesce(plus_one(i - id), -1) * 2",
        "sql_udf": "doubled(id)",
        "equal_null_function": "equal_null(i, NULL)",
        "try_to_number": "try_to_number(s, '999')",
        "array_join": "array_join(arr, ',', '?')",
        "md5": "length(md5(s))",
    },
}
if PYSPARK < (4, 1):  # v:a came with 4.1
    FAMILIES = {family: {n: t for n, t in told.items() if "v:" not in t} for family, told in FAMILIES.items()}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """Six rows with columns of many types and awkward names, and functions of the user's own."""
    spark.udf.register("plus_one", lambda x: None if x is None else (x + 1) % 1000, IntegerType())
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION doubled(x INT) RETURNS INT RETURN x * 2")
    frame = spark.sql(INPUT.format(rows=ROWS)).cache()
    yield frame
    frame.unpersist()
    spark.sql("DROP TEMPORARY FUNCTION doubled")
    spark.sql("DROP TEMPORARY FUNCTION plus_one")


Texts = dict[str, list[str | None]]


def measures(family: str, form: str) -> dict[str, str]:
    """Return one measure per expression, written into `form`; the line break ends a comment."""
    return {f"m_{name}": form.replace("…", f"{text}\n") for name, text in FAMILIES[family].items()}


def texts(measured: DataFrame, family: str) -> Texts:
    """Return type and value of every measure as text, in row order."""
    shown = [f"concat({type_of(f'm_{name}')}, ': ', CAST(m_{name} AS STRING)) AS {name}" for name in FAMILIES[family]]
    collected = measured.orderBy("row").selectExpr(*shown).collect()
    return {name: [row[name] for row in collected] for name in FAMILIES[family]}


def expected_texts(rows: DataFrame, family: str) -> Texts:
    """Return what plain Spark computes."""
    named = [f"{text} AS {name}" for name, text in measures(family, "(…)").items()]
    return texts(rows.selectExpr("id AS row", *named), family)


def condition_of(expression: str) -> str:
    """Return a condition that depends on the expression's value, whatever its type."""
    return f"length(CAST(({expression}\n) AS STRING)) % 2 = 1"


def expected_rows(rows: DataFrame, family: str) -> dict[str, set[int]]:
    """Return the rows that plain Spark's filter keeps."""
    named = [F.expr(condition_of(text)).alias(name) for name, text in FAMILIES[family].items()]
    collected = rows.select("id", *named).collect()
    return {name: {row.id for row in collected if row[name]} for name in FAMILIES[family]}


def rows_that_hold(rows: DataFrame, family: str, pattern: str, condition: str) -> dict[str, set[int]]:
    """Return, per expression, the rows where it holds as a condition.

    Partition k is for expression k: only its own variable can hold there.
    """
    expressions = FAMILIES[family]
    parts = range(len(expressions))
    matched = rows.crossJoin(rows.sparkSession.range(len(parts)).toDF("part")).match_pattern(
        pattern.replace("…", " | ".join(f"C{part}" for part in parts)),
        partition_by="part",
        order_by="id",
        define={
            f"C{part}": f"part = {part} AND {condition.replace('…', condition_of(text))}"
            for part, text in enumerate(expressions.values())
        },
        measures={"at": "FIRST(id)"},
        after_match="to next row",
    )
    found = {(row.part, row.at) for row in matched.collect()}
    return {name: {at for part, at in found if part == number} for number, name in enumerate(expressions)}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("form", ["…", "FIRST(…)", "FINAL LAST(…)"])
def test_measures_of_one_row(rows: DataFrame, family: str, form: str) -> None:
    asked = {"row": "FIRST(id)", **measures(family, form)}
    measured = rows.match_pattern("Z", partition_by="id", order_by="i", measures=asked)
    assert texts(measured, family) == expected_texts(rows, family)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("form", ["…", "LAST(…)"])
def test_measures_of_all_rows(rows: DataFrame, family: str, form: str) -> None:
    asked = {"row": "LAST(id)", **measures(family, form)}
    measured = rows.withColumn("k", F.lit(1)).match_pattern(
        "Z+", partition_by="k", order_by="id", measures=asked, rows_per_match="all"
    )
    assert texts(measured, family) == expected_texts(rows, family)


@pytest.mark.parametrize("family", FAMILIES)
def test_condition_of_the_row_under_test(rows: DataFrame, family: str) -> None:
    assert rows_that_hold(rows, family, "(…)", "…") == expected_rows(rows, family)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("condition", ["LAST(…, 1)", "PREV(…)"])
def test_condition_of_the_row_before(rows: DataFrame, family: str, condition: str) -> None:
    expected = {name: held - {6} for name, held in expected_rows(rows, family).items()}
    assert rows_that_hold(rows, family, "Z (…)", condition) == expected
