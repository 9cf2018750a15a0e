"""Output rows and measures by example."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engine import aggregates, gather, measures, take
from sparkcep.errors import MatchError
from sparkcep.logical.outputs import CLASSIFIER, Aggregated, Collected, Gathered, Matched, Numbered
from sparkcep.logical.slots import ALL_ROWS, RowSet
from tests.engine.measure_cases import LABELS, assembled, each, matches_of, one, rows_of, values

A, B, C = (RowSet(frozenset({i})) for i in range(3))
NUMBERS = pa.table({"v": pa.array(range(10))})
LAST_V = Gathered("m", "v", ALL_ROWS, "last")


def test_one_row_per_match_takes_the_first_row_and_looks_from_the_last() -> None:
    output = one(
        Gathered("a", "v", A, "last"), Gathered("b", "v", B, "first", 1), Numbered("n"), Matched("is"), passed=("v",)
    )
    batch = assembled(NUMBERS, [(1, [(0, 2), (1, 3)]), (6, []), (7, [(1, 1)])], output)
    assert batch.to_pylist() == [
        {"v": 1, "a": 2, "b": 4, "n": 7, "is": True},
        {"v": 6, "a": None, "b": None, "n": 8, "is": True},
        {"v": 7, "a": None, "b": None, "n": 9, "is": True},
    ]


def test_running_and_final() -> None:
    """semantics.md §2.1–3."""
    output = each(
        Gathered("r", "v", A, "first", 2), Gathered("f", "v", A, "first", 2, final=True), Gathered("l", "v", A, "last")
    )
    batch = assembled(NUMBERS, [(1, [(0, 3), (1, 1)])], output)
    assert values(batch, "r") == [None, None, 3, 3]
    assert values(batch, "f") == [3, 3, 3, 3]
    assert values(batch, "l") == [1, 2, 3, 3]


def test_excluded_rows_are_left_out_and_counted() -> None:
    """semantics.md §2.18."""
    output = each(Aggregated("n", "count", None, ALL_ROWS), Gathered("b", "v", B, "last"), passed=("v",))
    batch = assembled(NUMBERS, [(2, [(0, 1), (3, 3), (2, 1)])], output)
    assert batch.to_pylist() == [{"v": 2, "n": 1, "b": None}, {"v": 6, "n": 5, "b": 5}]


def test_empty_matches_and_unmatched_rows() -> None:
    """semantics.md §2.17."""
    outputs = (
        Gathered("g", "v", ALL_ROWS, "last"),
        Aggregated("c", "count", None, ALL_ROWS),
        Aggregated("s", "sum", "v", ALL_ROWS),
        Collected("l", ("v",), ALL_ROWS),
        Numbered("n"),
        Matched("is"),
    )
    table = NUMBERS.slice(0, 5)
    found: Any = [(1, []), (2, [(0, 2)])]
    nothing = {"g": None, "c": None, "s": None, "l": None, "n": None, "is": False}
    empty: Any = {"v": 1, "g": None, "c": 0, "s": None, "l": [], "n": 7, "is": True}
    shown = assembled(table, found, each(*outputs, passed=("v",), unmatched=True)).to_pylist()
    assert shown[0] == {"v": 0, **nothing}
    assert shown[1] == empty
    assert [row["v"] for row in shown] == [0, 1, 2, 3, 4]
    assert shown[4] == {"v": 4, **nothing}
    omitted = assembled(table, found, each(*outputs, passed=("v",), empty=False, unmatched=True))
    assert values(omitted, "v") == [0, 2, 3, 4]
    assert values(omitted, "n") == [None, 8, 8, None]


def test_only_decided_rows_are_unmatched() -> None:
    output = each(LAST_V, passed=("v",), unmatched=True)
    assert values(assembled(NUMBERS, [(1, [(0, 2)])], output, resume=5), "v") == [0, 1, 2, 3, 4]
    assert values(assembled(NUMBERS, [(1, [(0, 6)])], output, resume=3), "v") == [0, 1, 2, 3, 4, 5, 6]
    assert values(assembled(NUMBERS, [(4, [(0, 2)])], output, resume=6, covered=3), "v") == [3, 4, 5]


def test_overlapping_matches_repeat_their_rows() -> None:
    batch = assembled(NUMBERS, [(0, [(0, 3)]), (1, [(0, 1), (1, 1)])], each(Numbered("n"), passed=("v",)))
    assert batch.to_pylist() == [{"v": v, "n": n} for v, n in [(0, 7), (1, 7), (2, 7), (1, 8), (2, 8)]]


@pytest.mark.parametrize(
    ("shift", "wanted"), [(0, ["A", "A", "B", "C"]), (-1, [None, "A", "A", "B"]), (1, ["A", "B", "C", None])]
)
def test_classifier_moves_inside_the_match(shift: int, wanted: list[str | None]) -> None:
    output = each(Gathered("c", CLASSIFIER, ALL_ROWS, "last", shift=shift))
    assert values(assembled(NUMBERS, [(3, [(0, 2), (1, 1), (2, 1)])], output), "c") == wanted


def test_collected_prefixes_and_filter() -> None:
    table = pa.table({"v": [1, 2, 3], "keep": [True, None, True]})
    output = each(
        Collected("r", ("v", CLASSIFIER), ALL_ROWS), Collected("f", ("v",), ALL_ROWS, final=True, filter="keep")
    )
    batch = assembled(table, [(0, [(0, 1), (1, 2)])], output)
    rows = [{"f0": 1, "f1": "A"}, {"f0": 2, "f1": "B"}, {"f0": 3, "f1": "B"}]
    assert values(batch, "r") == [rows[:1], rows[:2], rows]
    assert values(batch, "f") == [[{"f0": 1}, {"f0": 3}]] * 3


def variant() -> pa.Field:
    parts = [pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False, {"variant": "true"})]
    return pa.field("x", pa.struct(parts), False, {"k": "v"})


@pytest.mark.parametrize(
    ("field", "found"),
    [
        (variant(), [{"value": b"a", "metadata": b"m"}, {"value": b"b", "metadata": b"m"}]),
        (pa.field("x", pa.map_(pa.string(), pa.list_(pa.int8()))), [[("a", [1, None])], []]),
        (pa.field("x", pa.dictionary(pa.int8(), pa.string())), ["a", "b"]),
        (pa.field("x", pa.timestamp("us", "Europe/Berlin")), [1, 2]),
        (pa.field("x", pa.decimal128(38, 18)), [Decimal("1.5"), Decimal("-2")]),
        (pa.field("x", pa.binary(3)), [b"abc", b"def"]),
        (pa.field("x", pa.large_string()), ["a", "b"]),
        (pa.field("x", pa.null()), [None, None]),
        # From pyarrow 18 on.
        *([(pa.field("x", pa.uuid()), [b"0" * 16, b"1" * 16])] if hasattr(pa, "uuid") else []),
    ],
    ids=lambda value: str(value.type)[:20] if isinstance(value, pa.Field) else "",
)
def test_every_type_passes_through(field: pa.Field, found: list[Any]) -> None:
    storage = pa.array(found, getattr(field.type, "storage_type", field.type))
    column = storage if storage.type == field.type else pa.ExtensionArray.from_storage(field.type, storage)
    table = pa.Table.from_batches([pa.record_batch([column], schema=pa.schema([field]))] * 2)
    output = each(Gathered("g", "x", B, "last"), Collected("c", ("x",), ALL_ROWS), passed=("x",), unmatched=True)
    batch = assembled(table, [(1, [(0, 1), (1, 1)])], output)
    first, second = column[0].as_py(), column[1].as_py()
    assert values(batch, "x") == [first, second, first, second]
    assert values(batch, "g") == [None, None, first, None]
    assert values(batch, "c") == [None, [{"f0": second}], [{"f0": second}, {"f0": first}], None]
    assert batch.schema.field("g").metadata == field.metadata


@pytest.mark.parametrize("mode", [one, each])
def test_no_matches_and_no_rows(mode: Any) -> None:
    outputs = (
        LAST_V,
        Gathered("c", CLASSIFIER, A, "first", final=True),
        Aggregated("s", "sum", "v", A, final=True),
        Aggregated("x", "max", "v", A),
        Aggregated("d", "sum", "d", A),
        Collected("l", ("v", CLASSIFIER), ALL_ROWS, final=True),
    )
    table = pa.table({"v": pa.array([1, 2]), "d": pa.array([None, 1], pa.decimal128(38, 2))})
    assert assembled(table, [], mode(*outputs, passed=("v",))).num_rows == 0
    assert assembled(table.slice(0, 0), [], mode(*outputs, passed=("v",))).num_rows == 0
    unmatched = assembled(table, [], each(*outputs, passed=("v",), unmatched=True))
    assert values(unmatched, "v") == [1, 2]
    assert all(values(unmatched, item.name) == [None, None] for item in outputs)


@pytest.mark.parametrize("kind", [pa.int64(), pa.duration("us")])
def test_sum_beyond_64_bits_is_an_error(kind: pa.DataType) -> None:
    table = pa.table({"v": pa.array([2**62, 2**62, -1], kind)})
    output = one(Aggregated("total", "sum", "v", ALL_ROWS))
    assert values(assembled(table, [(0, [(0, 3)])], output), "total") == pa.array([2**63 - 1], kind).to_pylist()
    with pytest.raises(MatchError, match="match 8 that starts at row 0") as caught:
        assembled(table, [(0, []), (0, [(0, 2)])], output)
    assert (caught.value.code, caught.value.clause) == ("ARITHMETIC_OVERFLOW", "MEASURES total")


def test_decimal_sums_are_exact_and_null_beyond_38_digits() -> None:
    nines, minus = Decimal("9" * 38), Decimal("-" + "9" * 38)
    table = pa.table({"v": pa.array([nines, nines, minus, minus, Decimal(1)], pa.decimal128(38, 0))})
    output = each(Aggregated("s", "sum", "v", ALL_ROWS))
    assert values(assembled(table, [(0, [(0, 5)])], output), "s") == [nines, None, nines, 0, 1]
    assert values(assembled(table, [(2, [(0, 2)])], output), "s") == [minus, None]


def test_sum_types() -> None:
    table = pa.table({"n": pa.array([Decimal("1.50")], pa.decimal128(7, 2)), "f": pa.array([0.5], pa.float32())})
    batch = assembled(table, [(0, [(0, 1)])], one(Aggregated("n", "sum", "n", A), Aggregated("f", "sum", "f", A)))
    assert batch.schema.types == [pa.decimal128(17, 2), pa.float64()]
    assert batch.to_pylist() == [{"n": Decimal("1.50"), "f": 0.5}]


def test_doubles_are_added_in_row_order() -> None:
    table = pa.table({"v": [1e308, 1e308, -1e308, float("nan"), 1.0, 2.0]})
    batch = assembled(table, [(0, [(0, 3)]), (3, [(0, 1)]), (4, [(0, 2)])], one(Aggregated("s", "sum", "v", A)))
    assert str(values(batch, "s")) == "[inf, nan, 3.0]"


@pytest.mark.parametrize(
    ("found", "kind", "least", "greatest"),
    [
        ([1.0, float("nan"), -1.0], pa.float64(), -1.0, math.nan),
        (["é", "z", "\U0001f600", "\uffff"], pa.string(), "z", "\U0001f600"),
        ([b"\xff", b"\x00", b""], pa.binary(), b"", b"\xff"),
        ([Decimal(10**30), Decimal(-(10**30)), Decimal(0)], pa.decimal128(38, 0), Decimal(-(10**30)), Decimal(10**30)),
        ([-(2**63), 2**63 - 1, 2**63 - 2], pa.int64(), -(2**63), 2**63 - 1),
        ([timedelta(1), timedelta(-1)], pa.duration("us"), timedelta(-1), timedelta(1)),
        (["b", "a", "c"], pa.dictionary(pa.int32(), pa.string()), "a", "c"),
        (
            [{"a": 1, "b": "y"}, {"a": None, "b": "z"}, {"a": 1, "b": "x"}],
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
            {"a": None, "b": "z"},
            {"a": 1, "b": "y"},
        ),
    ],
)
def test_extremes(found: list[Any], kind: pa.DataType, least: Any, greatest: Any) -> None:
    table = pa.table({"v": pa.array([*found, None], kind)})
    output = one(Aggregated("least", "min", "v", A), Aggregated("greatest", "max", "v", A))
    batch = assembled(table, [(0, [(0, len(found) + 1)])], output)
    assert batch.schema.types == [kind, kind]
    assert values(batch, "least") == [least]
    assert repr(values(batch, "greatest")) == repr([greatest])


@pytest.mark.parametrize(
    ("function", "kind"), [("sum", pa.string()), ("avg", pa.decimal128(5, 2)), ("min", pa.list_(pa.int8()))]
)
def test_aggregates_refuse_types(function: Any, kind: pa.DataType) -> None:
    with pytest.raises(MatchError, match="does not take values of type") as caught:
        measures.output_schema(pa.schema([("v", kind)]), one(Aggregated("x", function, "v", A)))
    assert (caught.value.code, caught.value.clause) == ("UNSUPPORTED_AGGREGATE", "MEASURES x")


def test_lists_beyond_32_bit_offsets_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "LARGEST_OFFSET", 5)
    monkeypatch.setattr(take, "LARGEST_OFFSET", 5)
    table = pa.table({"v": [[1, 2], [], [3]]})
    found: Any = [(0, [(0, 3)])]
    assert assembled(table, found, one(Collected("l", ("v",), ALL_ROWS))).num_rows == 1
    for item in (Collected("l", ("v",), ALL_ROWS), Gathered("l", "v", ALL_ROWS, "first")):
        with pytest.raises(MatchError, match="column l would hold more than 5 elements"):
            assembled(table, found, each(item))


def test_nested_lists_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(take, "LARGEST_OFFSET", 5)
    deep = pa.array([{"x": [[]]}, {"x": [[1, 2, 3]]}, None])
    assert take.take(deep, np.array([1, -1, 0, 0, 0]), "d").to_pylist()[0] == {"x": [[1, 2, 3]]}
    with pytest.raises(MatchError, match="column d"):
        take.take(deep.slice(1), np.array([0, 0]), "d")


def test_long_matches_without_a_walk_over_rows() -> None:
    """200,000 overlapping matches, 2 · 10^10 rows in all: only their runs may be visited."""
    count = 200_000
    table = pa.table({"v": np.arange(count)})
    outputs = (
        Gathered("a", "v", A, "first", 1),
        Gathered("b", "v", ALL_ROWS, "last", 1),
        Aggregated("n", "count", None, A),
        Aggregated("p", "count", "v", A),
        Aggregated("s", "sum", "v", A),
    )
    batch = assembled(table, [(start, [(0, count - start)]) for start in range(count)], one(*outputs))
    assert batch.slice(count - 2).to_pylist() == [
        {"a": count - 1, "b": count - 2, "n": 2, "p": 2, "s": 2 * count - 3},
        {"a": None, "b": None, "n": 1, "p": 1, "s": count - 1},
    ]


def test_one_match_of_many_runs() -> None:
    count = 100_000
    table = pa.table({"v": np.arange(count)})
    outputs = (
        Gathered("f", "v", B, "first", 30_000),
        Gathered("l", "v", B, "last", 30_000),
        Aggregated("n", "count", None, B),
        Aggregated("x", "min", "v", B),
        Aggregated("m", "avg", "v", B),
    )
    batch = assembled(table, [(0, [(i % 2, 1) for i in range(count)])], each(*outputs))
    assert batch.slice(count - 1).to_pylist() == [
        {"f": 60_001, "l": count - 60_001, "n": 50_000, "x": 1, "m": 50_000.0}
    ]
    assert values(batch.slice(60_000, 2), "l") == [None, 1]


def test_record_batches_and_read_only_matches_are_accepted() -> None:
    table = pa.record_batch({"v": pa.array([1.5, 2.5])})
    matches = matches_of([(0, [(0, 2)])], 2)
    for name in ("start", "end", "run_offsets", "run_label", "run_length"):
        getattr(matches, name).flags.writeable = False
    batch = measures.assemble(table, rows_of(2), matches, LABELS, one(Aggregated("m", "max", "v", A)))
    assert values(batch, "m") == [2.5]


def test_kernels_have_one_signature() -> None:
    for module in (aggregates, gather, measures):
        for name, kernel in vars(module).items():
            assert len(getattr(kernel, "signatures", ())) <= 1, name
