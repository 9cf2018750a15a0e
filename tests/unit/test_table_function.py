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

from sparkcep.errors import BindingError, SparkcepError, SparkcepWarning
from sparkcep.logical.row_types import RowTypes
from sparkcep.spark import table_function
from sparkcep.spark.arguments import Arguments
from sparkcep.spark.table_function import MatchPattern, RegisteredBatches
from sparkcep.spark.table_match import RowExpressions
from sparkcep.spark.table_plan import planned_table
from sparkcep.spark.table_types import spark_type

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
    ("CAST(i AS DECIMAL(12, 2))", "decimal(12,2)", [Decimal(1), Decimal(-7), None, Decimal(2**31 - 1)]),
    ("nullif(i, 1) IS NULL", "boolean", [True, False, True, False]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "values"), CASES, ids=[case[0] for case in CASES])
def test_expressions_of_one_row(text: str, kind: str, values: list[Any]) -> None:
    types = RowTypes({name: spark for name, (spark, _) in COLUMNS.items()})
    expression = types.expression(text, "MEASURES")
    assert expression.spark_type == kind
    columns = {name: array for name, (_, array) in COLUMNS.items()}
    (found,) = RowExpressions([(expression, spark_type(kind))]).arrays(columns)
    assert found.to_pylist() == values


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
    groups = ["upper(k) = 'A'", "CAST(CASE WHEN (d) = 0 THEN 0 ELSE (d) END AS STRING)"]
    assert [column.name for column in found.partitionBy] == [f"pmod(hash({', '.join(groups)}), 1024)"]
    assert [(order.name, order.ascending, order.overrideNullsFirst) for order in found.orderBy] == [
        *((group, True, None) for group in groups), ("t", False, False), ("v", True, True),
    ]  # fmt: skip
    assert found.schema.names == ["key", "d", "fall", "n"]
    selected = {column.alias or column.name: column.name for column in found.select}
    assert "RLIKE 'a'" in selected["__cep_k0"]
    # What else a row holds, Spark has added.
    assert list(selected) == ["key", "`d`", "__cep_g1", "`v`", "__cep_k0"]
    function = MatchPattern(found)
    bit = 4
    for group, v, mask in [("0.5", 5, bit), ("0.5", 3, bit), ("0.5", 2, bit), ("0.5", 1, 0), ("NaN", 0, bit)]:
        function.eval(T.Row(late=None, v=v, key=True, d=float(group), __cep_g1=group, __cep_k0=mask))
    assert list(function.terminate()) == [(True, 0.5, 3, 3)]
    assert list(MatchPattern(found).terminate()) == []


def test_events_of_a_partition_are_matched() -> None:
    pattern = "SEQ(A a, B+ b[]) WHERE b.v > a.v WITHIN 5"
    found = analyze(pattern=pattern, partition_by="k", order_by="t", type_column="k")
    event = "struct<k:string,t:int,v:int,d:double>"
    assert [(field.name, field.dataType.simpleString()) for field in found.schema] == [
        ("k", "string"), ("match_number", "bigint"), ("match_start", "int"), ("match_end", "int"),
        ("match_time", "int"), ("a", event), ("b", f"array<{event}>"),
    ]  # fmt: skip
    names = [column.alias or column.name.strip("`") for column in found.select]
    function = MatchPattern(found)
    a, b = (2, 4)
    for k, t, v, mask in [("x", 1, 1, a), ("x", 2, 0, b), ("x", 3, 2, b), ("x", 7, 9, b), ("y", 8, 9, b)]:
        function.eval(T.Row(**{name: {"k": k, "t": t, "v": v, "d": 0.5}.get(name, mask) for name in names}))
    rows = {t: {"k": "x", "t": t, "v": v, "d": 0.5} for t, v in [(1, 1), (3, 2)]}
    assert function.terminate() == [("x", 1, 1, 3, 3, rows[1], [rows[3]])]


def test_returned_values_of_events() -> None:
    pattern = "SEQ(A a, B? b[]) WITHIN 5 RETURN a.v + 1 AS next, ARRAY_AGG(b.d) AS all, COALESCE(b[1].k, 'none') AS k2"
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({}, {"next": "int", "all": "array<double>", "k2": "string"}),
        ({"timeouts": True}, {"next": "int", "all": "array<double>", "k2": "string", "match_status": "string",
                              "waiting_for": "string", "deadline": "int"}),
    ]  # fmt: skip
    for more, columns in cases:
        found = analyze(pattern=pattern, order_by="t", type_column="k", **more)
        assert {field.name: field.dataType.simpleString() for field in found.schema} == columns
    counted = analyze(pattern="SEQ(A a, B b)", partition_by="k", order_by="t", type_column="k", matches="count")
    assert counted.schema.simpleString() == "struct<k:string,match_count:decimal(38,0)>"


@pytest.mark.parametrize("most", [1, 5, 1000])
def test_rows_are_matched_when_many_have_come(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(table_function, "_ROWS_AT_ONCE", most)
    found = analyze(
        T.StructType(SCHEMA.fields[:3]), pattern="S DOWN+", partition_by="k", order_by="t",
        define={"DOWN": "v < PREV(v)"}, measures={"n": "COUNT(*)", "next": "NEXT(v)", "number": "MATCH_NUMBER()"},
    )  # fmt: skip
    names = [column.alias or column.name.strip("`") for column in found.select]
    function, rows, early = MatchPattern(found), [], 0
    for key, length in [("a", 4), (None, 1), ("b", 12), ("c", 2), ("d", 3)]:
        for place in range(length):
            values = {"k": key, "v": -(place % 4)}
            answer = function.eval(T.Row(**{name: values.get(name, 0) for name in names})) or []
            early += bool(answer)
            rows += answer
    rows += function.terminate()
    assert rows == [
        ("a", 4, None, 1), ("b", 4, 0, 1), ("b", 4, 0, 2), ("b", 4, None, 3), ("c", 2, None, 1), ("d", 3, None, 1),
    ]  # fmt: skip
    assert (early > 0) == (most < 1000)


def test_slices_wait_for_the_rows_behind_them() -> None:
    """Rows of many partitions in one batch are matched together, whatever the batches are."""
    match = planned_table(SCHEMA, Arguments(WHOLE), selects=False).match
    rows = [(f"{key}", t, v, 0.5) for key in range(40) for t, v in enumerate([5, 3, 2, 4])]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], ["k", "t", "v", "d"])
    table = table.cast(pa.schema([("k", "string"), ("t", "int32"), ("v", "int32"), ("d", "double")]))
    for size in (160, 50, 7):
        function = type("falls", (RegisteredBatches,), {"match": match})
        found, calls, last, instance = [], 0, None, function()
        for batch in table.to_batches(size):
            for start in range(batch.num_rows):
                key = batch["k"][start].as_py()
                if key != last and last is not None:
                    answers = list(instance.terminate())
                    calls += bool(answers)
                    found += [row for answer in answers for row in answer.to_pylist()]
                    instance = function()
                last = key
                instance.eval(batch.slice(start, 1))
        found += [row for answer in instance.terminate() for row in answer.to_pylist()]
        instance.cleanup()
        assert found == [{"k": f"{key}", "n": 3} for key in range(40)]
        assert calls <= 40 * 4 / size * 5
    waiting = function()
    waiting.eval(table.to_batches()[0].slice(0, 4))
    list(waiting.terminate())
    with pytest.raises(RuntimeError, match="not its last one"):
        waiting.cleanup()


WHOLE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n
    PATTERN (S DOWN+) DEFINE DOWN AS v < PREV(v) AND NEXT(k) IS NOT NULL)"""

EVENTS: dict[str, Any] = {"pattern": "SEQ(A a, B b)", "type_column": "k", "measures": None}
EVENT_FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("MISSING_ORDER", {"order_by": None}),
    ("MISSING_ORDER", {"order_by": None, "measures": {"n": "a.v"}, "within": 3}),
    ("NEEDS_SPARK", {"matches": "graph"}),
    ("NEEDS_SPARK", {"null_order_value": "drop"}),
    ("UNSUPPORTED_CONDITION", {"pattern": "SEQ(A a, B b) WHERE levenshtein(a.k, b.k) < 2"}),
    ("NEEDS_SPARK", {"pattern": "SEQ(A a, B b) WHERE [upper(k)]"}),
    ("WRONG_WITHIN", {"order_by": "t DESC", "within": 3}),
]
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("NEEDS_SPARK", {"measures": {"n": "upper(LAST(k))"}}),
    ("NEEDS_SPARK", {"measures": {"n": "collect_set(v)"}}),
    ("NEEDS_SPARK", {"define": {"A": "abs(PREV(v)) > sqrt(v)"}}),
    ("UNRESOLVED_COLUMN", {"define": {"A": "vv > 1"}}),
    ("UNKNOWN_ARGUMENT", {"bogus": 1}),
    ("MISSING_ORDER", {"partition_by": "k", "order_by": None}),
    ("MISSING_ORDER", {"within": 3, "order_by": None}),
    ("NO_RESULT", {"measures": None}),
    ("NEEDS_SPARK", {"null_order_value": "drop"}),
    ("WRONG_LANGUAGE", {"strategy": "strict"}),
    *((code, EVENTS | more) for code, more in EVENT_FAULTS),
]


@pytest.mark.parametrize(("code", "arguments"), FAULTS)
def test_faults_of_a_call(code: str, arguments: dict[str, Any]) -> None:
    call = {"pattern": "A", "order_by": "t", "measures": {"n": "COUNT(*)"}, **arguments}
    with pytest.raises(SparkcepError) as caught:
        analyze(T.StructType(SCHEMA.fields[:3]), **call)
    assert caught.value.code == code


def test_keys_that_may_look_different() -> None:
    with pytest.warns(SparkcepWarning, match=r"\(d\); for such keys write partition_by"):
        analyze(pattern="A", measures={"n": "COUNT(*)"})
    words = T.StructType([T.StructField("k", T.StringType("UNICODE_CI")), T.StructField("t", T.IntegerType())])
    with pytest.raises(BindingError, match="UNSUPPORTED_KEY"):
        analyze(words, pattern="A", partition_by="k", order_by="t")
    cased = T.StructType([T.StructField("k", T.StringType("UTF8_LCASE")), T.StructField("t", T.IntegerType())])
    found = analyze(cased, pattern="A", partition_by="k", order_by="t")
    assert found.orderBy[0].name == "collate(lower(k), 'UTF8_BINARY')"
    months = T.StructType([T.StructField("m", T.YearMonthIntervalType()), T.StructField("t", T.IntegerType())])
    with pytest.raises(BindingError, match="UNSUPPORTED_TYPE"):
        analyze(months, pattern="A", order_by="t", rows_per_match="all")
