"""Classes of events: equal keys share a code, over all batches of a group."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engine.event_classes import EventClasses

NO_STARTS = np.empty(0, np.int64)
FIRST = np.zeros(1, np.int64)


def codes(*columns: pa.Array, batches: int = 1) -> list[int]:
    names = [f"k{i}" for i in range(len(columns))]
    table = pa.table(dict(zip(names, columns, strict=True)))
    classes = EventClasses(names)
    found: list[int] = []
    size = -(-table.num_rows // batches)
    for first in range(0, table.num_rows, size):
        found += classes.coded(table.slice(first, size), NO_STARTS if first else FIRST).tolist()
    return found


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.string(), ["x", "y"]),
        (pa.binary(), [b"x", b"y"]),
        (pa.int32(), [1, 2]),
        (pa.bool_(), [True, False]),
        (pa.decimal128(30, 2), [Decimal("1.00"), Decimal("2.00")]),
        (pa.date32(), [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
        (pa.timestamp("us", "UTC"), [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]),
        (pa.float32(), [0.5, 1.5]),
        (pa.list_(pa.int64()), [[1, 2], [1, 3]]),
        (pa.struct({"f": pa.string()}), [{"f": "x"}, {"f": "y"}]),
    ],
    ids=str,
)
def test_values_of_every_type_are_told_apart_over_batches(kind: pa.DataType, values: list[Any]) -> None:
    one, other = values
    found = codes(pa.array([one, other, None, one, None, other], kind), batches=3)
    assert found == [0, 1, -1, 0, -1, 1]


def test_nan_equals_nan_and_zeros_are_one() -> None:
    found = codes(pa.array([math.nan, -0.0, 0.0, -math.nan, math.nan], pa.float64()), batches=2)
    assert found == [0, 1, 1, 0, 0]
    nested = codes(pa.array([[math.nan], [-0.0], [0.0], [math.nan]], pa.list_(pa.float64())), batches=2)
    assert nested == [0, 1, 1, 0]


def test_times_outside_of_the_years_of_python() -> None:
    far = pa.array([2**62, 5, 2**62], pa.int64()).view(pa.timestamp("us"))
    assert codes(far) == [0, 1, 0]


def test_keys_of_two_columns() -> None:
    letters, numbers = pa.array(["x", "x", "y", None, "x"]), pa.array([1, 2, 1, 1, 1])
    found = codes(letters, numbers, batches=2)
    assert found[0] == found[4]
    assert len({found[0], found[1], found[2]}) == 3
    assert found[3] == -1


def test_without_keys_all_are_one_class() -> None:
    assert EventClasses(()).coded(pa.table({"x": [1, 2]}), FIRST).tolist() == [0, 0]


def test_a_new_group_lets_old_codes_go() -> None:
    classes = EventClasses(["k"])
    classes.coded(pa.table({"k": ["a", "b", "c"]}), FIRST)
    found = classes.coded(pa.table({"k": ["c", "d", "c", "d"]}), np.array([1]))
    assert found.tolist() == [2, 0, 1, 0]
    assert classes.coded(pa.table({"k": ["c", "d"]}), NO_STARTS).tolist() == [1, 0]
