"""Table functions without Spark: types by rules, values by slots, plans, faults."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T
from pyspark.sql.udtf import AnalyzeArgument

from sparkcep.engine.slot_arrays import computed
from sparkcep.errors import BindingError, SparkcepError, SparkcepWarning
from sparkcep.logical.row_types import RowTypes
from sparkcep.spark.table_function import MatchPattern
from sparkcep.spark.table_types import arrow_type, spark_type, typed_array

BIG = 2**63 - 1
COLUMNS: dict[str, tuple[str, pa.Array]] = {
    "i": ("int", pa.array([1, -7, None, 2**31 - 1], pa.int32())),
    "l": ("bigint", pa.array([BIG, -BIG - 1, 3, None], pa.int64())),
    "d": ("double", pa.array([1.5, math.nan, None, -0.0])),
    "s": ("string", pa.array(["b", None, "a", "é"])),
    "p": ("decimal(6,2)", pa.array([Decimal("1.50"), None, Decimal("-3.25"), Decimal("0.00")], pa.decimal128(6, 2))),
    "b": ("boolean", pa.array([True, False, None, True])),
    "day": ("date", pa.array([dt.date(2024, 1, 1), None, dt.date(1969, 12, 31), dt.date(2024, 3, 1)])),
    "at": ("timestamp_ntz", pa.array([dt.datetime(2024, 1, 1), None, dt.datetime(1969, 12, 31, 23), None])),
}

CASES: list[tuple[str, str, list[Any]]] = [
    ("i + 1", "int", [2, -6, None, None]),
    ("l + 1", "bigint", [None, -BIG, 4, None]),
    ("l * i", "bigint", [BIG, None, None, None]),
    ("i div 2", "bigint", [0, -3, None, 2**30 - 1]),
    ("i % 4", "int", [1, -3, None, 3]),
    ("i / 0", "double", [None, None, None, None]),
    ("-l", "bigint", [-BIG, None, -3, None]),
    ("abs(i)", "int", [1, 7, None, 2**31 - 1]),
    ("d > 1", "boolean", [True, True, None, False]),
    ("d = 0", "boolean", [False, False, None, True]),
    ("d <=> d", "boolean", [True, True, True, True]),
    ("p * 2 - 1.5", "decimal(18,2)", [Decimal("1.50"), None, Decimal("-8.00"), Decimal("-1.50")]),
    ("p > i", "boolean", [True, None, None, False]),
    ("s >= 'b' OR b", "boolean", [True, None, None, True]),
    ("NOT b AND s IS NULL", "boolean", [False, True, False, False]),
    ("COALESCE(s, 'none')", "string", ["b", "none", "a", "é"]),
    ("CASE WHEN i > 0 THEN 'up' WHEN i < 0 THEN s END", "string", ["up", None, None, "up"]),
    ("GREATEST(i, l)", "bigint", [BIG, -7, 3, 2**31 - 1]),
    ("LEAST(d, 1e0)", "double", [1.0, 1.0, 1.0, -0.0]),
    ("s IN ('a', 'b')", "boolean", [True, None, True, False]),
    ("i BETWEEN 0 AND 5", "boolean", [True, False, None, False]),
    ("day + 1", "date", [dt.date(2024, 1, 2), None, dt.date(1970, 1, 1), dt.date(2024, 3, 2)]),
    ("day > DATE '2024-01-31'", "boolean", [False, None, False, True]),
    ("at + INTERVAL '90' MINUTE", "timestamp_ntz",
     [dt.datetime(2024, 1, 1, 1, 30), None, dt.datetime(1970, 1, 1, 0, 30), None]),
    ("at - at", "interval day to second", [dt.timedelta(0), None, dt.timedelta(0), None]),
    ("nullif(i, 1) IS NULL", "boolean", [True, False, True, False]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "values"), CASES, ids=[case[0] for case in CASES])
def test_expressions_of_one_row(text: str, kind: str, values: list[Any]) -> None:
    types = RowTypes({name: spark for name, (spark, _) in COLUMNS.items()})
    expression = types.expression(text, "MEASURES")
    assert expression.spark_type == kind
    assert expression.slots is not None
    columns = [(COLUMNS[read.column][1], read.cast) for read, _ in expression.reads]
    operands = [column if cast is None else column.cast(arrow_type(spark_type(cast), "")) for column, cast in columns]
    found = computed(expression.slots, operands, [kind for _, kind in expression.reads], 4)
    assert typed_array(found, spark_type(kind)).to_pylist() == values


def test_types_by_rules() -> None:
    types = RowTypes({"i": "int", "s": "string", "f": "float", "p": "decimal(38,10)"}, spark_computes_rows=True)
    texts = ["sum(i)", "avg(i)", "count(*)", "max(s)", "sum(p)", "CAST(NULL AS BIGINT)", "s LIKE 'a%'"]
    told = types.types(texts, clause="X")
    wanted = ["bigint", "double", "bigint", "string", "decimal(38,10)", "bigint", "boolean"]
    assert told == wanted
    for text in ("upper(s)", "s || 'x'", "i = s", "f + f", "x.y", "CAST(s AS INT)"):
        with pytest.raises(BindingError, match="NEEDS_SPARK"):
            types.expression(text, "X")
    with pytest.raises(BindingError, match=r"there is no column 'ss'"):
        types.expression("ss > 'a'", "X")


SCHEMA = T.StructType.fromJson(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in [("k", "string"), ("t", "integer"), ("v", "integer"), ("d", "double")]
        ],
    }
)


def analyze(schema: T.StructType = SCHEMA, **values: Any) -> Any:
    def constant(value: Any) -> AnalyzeArgument:
        return AnalyzeArgument(T.NullType(), value, False, True)

    table = AnalyzeArgument(schema, None, True, False)
    pattern, *rest = (constant(value) for value in values.values())
    return MatchPattern.analyze(table, pattern, **dict(zip(list(values)[1:], rest, strict=True)))


def test_rows_of_a_partition_are_matched() -> None:
    found = analyze(
        pattern="S DOWN+", partition_by="upper(k) = 'A' AS key, d", order_by="t DESC NULLS LAST, v",
        define={"DOWN": "v < PREV(v) AND k RLIKE 'a'"}, measures={"n": "COUNT(*)", "fall": "FIRST(v) - LAST(v)"},
    )  # fmt: skip
    assert [column.name for column in found.partitionBy] == [
        "upper(k) = 'A'", "CAST(CASE WHEN (d) = 0 THEN 0 ELSE (d) END AS STRING)",
    ]  # fmt: skip
    assert [(order.name, order.ascending, order.overrideNullsFirst) for order in found.orderBy] == [
        ("t", False, False), ("v", True, True),
    ]  # fmt: skip
    assert found.schema.names == ["key", "d", "fall", "n"]
    selected = {column.alias or column.name: column.name for column in found.select}
    assert "RLIKE 'a'" in selected["__cep_k0"]
    assert list(selected) == ["key", "`d`", "`v`", "__cep_k0"]  # what else a row holds, Spark has added
    function = MatchPattern(found)
    bit = 4
    for v, mask in [(5, bit), (3, bit), (2, bit), (1, 0), (7, bit)]:
        function.eval(T.Row(late=None, v=v, key=True, d=0.5, __cep_k0=mask))
    assert list(function.terminate()) == [(True, 0.5, 3, 3)]
    assert list(MatchPattern(found).terminate()) == []


FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("NEEDS_SPARK", {"measures": {"n": "upper(LAST(k))"}}),
    ("NEEDS_SPARK", {"measures": {"n": "array_agg(v)"}}),
    ("NEEDS_SPARK", {"define": {"A": "abs(PREV(v)) > sqrt(v)"}}),
    ("UNRESOLVED_COLUMN", {"define": {"A": "vv > 1"}}),
    ("UNKNOWN_ARGUMENT", {"bogus": 1}),
    ("MISSING_ORDER", {"partition_by": "k", "order_by": None}),
    ("MISSING_ORDER", {"within": 3, "order_by": None}),
    ("NO_RESULT", {"measures": None}),
    ("NEEDS_SPARK", {"null_order_value": "drop"}),
    ("WRONG_LANGUAGE", {"strategy": "strict"}),
    ("UNSUPPORTED_PATTERN", {"pattern": "SEQ(A a, B b)"}),
]


@pytest.mark.parametrize(("code", "arguments"), FAULTS)
def test_faults_of_a_call(code: str, arguments: dict[str, Any]) -> None:
    call = {"pattern": "A", "order_by": "t", "measures": {"n": "COUNT(*)"}, **arguments}
    with pytest.raises(SparkcepError) as caught:
        analyze(T.StructType(SCHEMA.fields[:3]), **call)
    assert caught.value.code == code


def test_keys_that_may_look_different() -> None:
    with pytest.warns(SparkcepWarning, match=r"\(d\); write partition_by"):
        analyze(pattern="A", measures={"n": "COUNT(*)"})
    words = T.StructType([T.StructField("k", T.StringType("UNICODE_CI")), T.StructField("t", T.IntegerType())])
    with pytest.raises(BindingError, match="UNSUPPORTED_KEY"):
        analyze(words, pattern="A", partition_by="k", order_by="t")
    cased = T.StructType([T.StructField("k", T.StringType("UTF8_LCASE")), T.StructField("t", T.IntegerType())])
    found = analyze(cased, pattern="A", partition_by="k", order_by="t")
    assert found.partitionBy[0].name == "collate(lower(k), 'UTF8_BINARY')"
    months = T.StructType([T.StructField("m", T.YearMonthIntervalType()), T.StructField("t", T.IntegerType())])
    with pytest.raises(BindingError, match="UNSUPPORTED_TYPE"):
        analyze(months, pattern="A", order_by="t", rows_per_match="all")
