"""Arrow columns as numbers."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkcep.engine.columns import condition_words, decode_operands, group_starts, order_values
from sparkcep.errors import MatchError
from sparkcep.logical.slots import BIGINT, BOOLEAN, DOUBLE, STRING, Operand, SlotType

DECIMAL = SlotType("code", domain="decimal")
BINARY = SlotType("code", domain="binary")
SMALL = settings(max_examples=100, deadline=None, derandomize=True)


def decoded(array: pa.Array | pa.ChunkedArray, type_: SlotType) -> list[Any]:
    """The decoded values of one column, with None for NULL."""
    numbers = decode_operands(pa.table({"c": array}), (Operand("c", type_),), {})
    values, nulls = (numbers.floats, numbers.float_nulls) if type_.kind == "float" else numbers[:2]
    return [None if absent else value for value, absent in zip(values[0].tolist(), nulls[0].tolist(), strict=True)]


@pytest.mark.parametrize(
    ("type_", "values", "numbers"),
    [
        (pa.int8(), [-128, None, 127], [-128, None, 127]),
        (pa.int16(), [None, -32768], [None, -32768]),
        (pa.int32(), [2**31 - 1, None], [2**31 - 1, None]),
        (pa.int64(), [2**63 - 1, None, -(2**63), 2**53 + 1], [2**63 - 1, None, -(2**63), 2**53 + 1]),
        (pa.date32(), [dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)], [1, None, -1]),
        (pa.timestamp("us"), [dt.datetime(1970, 1, 1, 0, 0, 1, 5), None], [1_000_005, None]),
        (pa.timestamp("us", "UTC"), [dt.datetime(9999, 12, 31), None], [253402214400 * 10**6, None]),
        (pa.timestamp("ms"), [dt.datetime(1970, 1, 1, 0, 0, 1), None], [10**6, None]),
        (pa.duration("us"), [dt.timedelta(seconds=-1), None], [-(10**6), None]),
        (pa.decimal128(18, 4), [Decimal("-99999999999999.9999"), None, Decimal("0.0001")], [-(10**18) + 1, None, 1]),
        (pa.decimal128(5, 0), [None, Decimal(-7)], [None, -7]),
    ],
)
def test_whole_numbers(type_: pa.DataType, values: list[Any], numbers: list[int | None]) -> None:
    array = pa.array(values, type_)
    assert decoded(array, BIGINT) == numbers
    assert decoded(array.slice(1), BIGINT) == numbers[1:]
    assert decoded(pa.chunked_array([array, array.slice(1)]), BIGINT) == numbers + numbers[1:]
    assert decoded(array.slice(0, 0), BIGINT) == []
    assert decoded(pa.chunked_array([], type_), BIGINT) == []


def test_booleans_and_fractions() -> None:
    assert decoded(pa.array([True, None, False]), BOOLEAN) == [1, None, 0]
    assert decoded(pa.array([0.5, None], pa.float32()), DOUBLE) == [0.5, None]
    assert decoded(pa.array([None, 1e308]), DOUBLE) == [None, 1e308]


def test_strings_are_ordered_by_unsigned_bytes() -> None:
    """As Spark orders UTF8_BINARY."""
    values = ["é", "z", "", None, "a\0", "a", "Z", "\U0001f600", "\uffff", "z"]
    ordered = sorted({v for v in values if v is not None}, key=lambda v: v.encode())
    ranks = [None if v is None else ordered.index(v) for v in values]
    for type_ in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        assert decoded(pa.array(values, type_), STRING) == ranks
    raw = [None if v is None else v.encode() for v in values]
    assert decoded(pa.array(raw, pa.binary()), BINARY) == ranks


def test_codes_of_a_domain_are_shared_by_columns_and_literals() -> None:
    table = pa.table({"s": ["b", None, "d"], "t": pa.array(["c", "b", "a"], pa.large_string()), "r": [b"b", b"", None]})
    operands = (Operand("s", STRING), Operand("r", BINARY), Operand("t", STRING))
    numbers = decode_operands(table, operands, {"string": ["e", "aa", "b"], "binary": [b"z"]})
    assert numbers.integers[0, [0, 2]].tolist() == [2, 4]
    assert numbers.integers[2].tolist() == [3, 2, 0]
    assert numbers.codes == {"string": {"aa": 1, "b": 2, "e": 5}, "binary": {b"z": 2}}


def test_literals_alone_have_codes() -> None:
    numbers = decode_operands(pa.table({"s": pa.array([None], pa.string())}), (), {"string": {"B", "A"}})
    assert numbers.codes == {"string": {"A": 0, "B": 1}}
    assert numbers.integers.shape == (0, 1)


def test_long_decimals_of_mixed_scales_are_compared_exactly() -> None:
    big = Decimal("99999999999999999999999999999999999999")
    table = pa.table(
        {
            "d": pa.array([big, Decimal(-1), None, Decimal(2)], pa.decimal128(38, 0)),
            "e": pa.array(map(Decimal, ("0.5", "-1.0", "1e-37", "0.1")), pa.decimal128(38, 37)),
        }
    )
    operands = (Operand("d", DECIMAL), Operand("e", DECIMAL))
    numbers = decode_operands(table, operands, {"decimal": {Decimal("0.50"), Decimal("-1.0000001")}})
    assert numbers.codes["decimal"] == {Decimal("0.5"): 4, Decimal("-1.0000001"): 0}
    assert numbers.integers[0, [0, 1, 3]].tolist() == [6, 1, 5]
    assert numbers.integers[1].tolist() == [4, 1, 2, 3]


@SMALL
@given(st.lists(st.decimals(-(10**6), 10**6, places=4) | st.none(), max_size=12), st.integers(0, 3))
def test_decimals_are_unscaled_exactly(values: list[Decimal | None], offset: int) -> None:
    array = pa.array(values, pa.decimal128(18, 4)).slice(offset)
    expected = [None if v is None else int(v.scaleb(4)) for v in values[offset:]]
    assert decoded(array, SlotType("int", scale=4)) == expected


def test_what_leaves_is_plain() -> None:
    table = pa.table({"i": [1, 2], "x": [1.0, None], "s": ["a", "b"]})
    numbers = decode_operands(table, (Operand("i", BIGINT), Operand("x", DOUBLE), Operand("s", STRING)), {})
    order = order_values(table.column("i"))
    words = condition_words([table.column("i")], np.zeros(1, np.uint64))
    for array in (*numbers[:4], order, words):
        assert array.flags.c_contiguous
        assert array.flags.writeable


@pytest.mark.parametrize(
    ("array", "type_"),
    [(pa.array(["a"]), BIGINT), (pa.array([1]), DOUBLE), (pa.array([Decimal(1)], pa.decimal128(19, 0)), BIGINT)],
)
def test_a_column_of_the_wrong_type_is_refused(array: pa.Array, type_: SlotType) -> None:
    with pytest.raises(TypeError):
        decoded(array, type_)


def test_order_values() -> None:
    assert order_values(pa.chunked_array([[1.5], [float("inf")]])).tolist() == [1.5, float("inf")]
    assert order_values(pa.array([Decimal("1.25")], pa.decimal128(10, 2))).tolist() == [125]
    assert order_values(pa.array([dt.datetime(1970, 1, 1, 0, 1)], pa.timestamp("us", "UTC"))).tolist() == [6 * 10**7]
    with pytest.raises(MatchError, match="row 11") as raised:
        order_values(pa.array([1, None, 3]), first_row=10)
    assert raised.value.code == "NULL_ORDER_VALUE"


def test_condition_words_of_small_masks() -> None:
    mask = pa.array([0b0001, 0b0110, 0b1011, -128], pa.int8())
    words = condition_words([mask], np.array([0b1000], np.uint64))
    assert words.tolist() == [[0b1000, 0b1011, 0b1101, 0b1001000]]
    assert group_starts(mask).tolist() == [0, 2]
    assert group_starts(pa.chunked_array([mask, mask])).dtype == np.int64
    assert condition_words([pa.array([], pa.int16())], np.zeros(2, np.uint64)).shape == (2, 0)


@SMALL
@given(st.data(), st.integers(1, 200))
def test_every_variable_finds_its_bit(data: st.DataObject, variables: int) -> None:
    satisfied = data.draw(st.sets(st.integers(0, variables - 1)))
    always = data.draw(st.sets(st.integers(0, variables - 1), max_size=3))
    columns = [0] * (1 + (variables - 1) // 62)
    for v in satisfied:
        columns[v // 62] |= 1 << 1 + v % 62
    fixed = [sum(1 << v % 64 for v in always if v // 64 == word) for word in range(1 + (variables - 1) // 64)]
    words = condition_words([pa.array([bits], pa.int64()) for bits in columns], np.array(fixed, np.uint64))
    found = {v for v in range(variables) if int(words[v // 64, 0]) >> v % 64 & 1}
    assert found == satisfied | always
