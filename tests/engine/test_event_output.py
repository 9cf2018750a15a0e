"""Output of event patterns: rows of far events side by side, times of decisions, counts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import EventMatches
from sparkcep.engine.kept_rows import KeptRows, ties
from sparkcep.engine.matches import MatchLabel
from sparkcep.logical.outputs import Collected, Gathered, Numbered, OutputRows
from sparkcep.logical.slots import ALL_ROWS, RowSet

A, B = RowSet(frozenset({0})), RowSet(frozenset({1}))
LABELS = (MatchLabel(0, False), MatchLabel(1, False))
OUTPUTS = (
    Numbered("n"),
    Gathered("a", "x", A, "first"),
    Collected("b", ("x",), B),
    Gathered("t", "time", ALL_ROWS, "last"),
)


def matches(*found: tuple[list[int], list[int]], **given: Any) -> EventMatches:
    """Return matches of positions and variables."""
    count = len(found)
    lengths = [len(positions) for positions, _ in found]
    return EventMatches(
        offsets=np.cumsum([0, *lengths]).astype(np.int64),
        position=np.array([p for positions, _ in found for p in positions], np.int64),
        variable=np.array([v for _, variables in found for v in variables], np.int32),
        number=np.arange(1, count + 1, dtype=np.int64),
        time=given.get("time"),
        timed=np.array(given.get("timed", [False] * count), np.bool_),
        never=np.array(given.get("never", [False] * count), np.bool_),
        counts=given.get("counts", []),
        needed_from=0,
    )


def output(**changes: Any) -> EventOutput:
    rows = OutputRows("one", False, False, ("k",), OUTPUTS, ("A", "B"))
    return EventOutput(**{
        "rows": rows, "labels": LABELS, "columns": ("k", "x"), "time": "time", "source": "ts", "count": None, **changes,
    })  # fmt: skip


def kept(out: EventOutput, *tables: pa.Table, numbers: list[list[int]] | None = None) -> KeptRows:
    rows = out.kept("k")
    for i, table in enumerate(tables):
        rows.append(table, None if numbers is None else np.array(numbers[i], np.int64))
    return rows


def table(first: int, count: int, times: pa.Array | None = None) -> pa.Table:
    values = list(range(first, first + count))
    return pa.table({"k": ["p"] * count, "x": values, "ts": values if times is None else times})


def test_events_of_several_batches_and_matches_that_share_them() -> None:
    out = output()
    rows = kept(out, table(0, 3), table(3, 3), table(6, 2))
    found = matches(([0, 4, 7], [0, 1, 1]), ([0, 7], [0, 1]), ([1, 2, 3], [1, 0, 1]))
    batch = next(out.batches(found, rows))
    assert batch.column("n").to_pylist() == [1, 2, 3]
    assert batch.column("a").to_pylist() == [0, 0, 2]
    assert [[item["f0"] for item in items] for items in batch.column("b").to_pylist()] == [[4, 7], [7], [1, 3]]
    assert batch.column("t").to_pylist() == [7, 7, 3]


def test_rows_are_let_go_by_batches() -> None:
    out = output()
    rows = kept(out, table(0, 3), table(3, 3))
    rows.let_go(4, np.empty(0, np.int64))
    assert rows.value(1, "x") is None
    assert rows.value(4, "x") == 4
    assert next(out.batches(matches(([3, 5], [0, 1])), rows)).column("a").to_pylist() == [3]


def test_decided_by_a_window_or_never() -> None:
    out = output()
    found = matches(
        ([0], [0]), ([1], [0]), ([2], [0]), time=np.array([9, 9, 9]), timed=[True, False, False],
        never=[False, False, True],
    )  # fmt: skip
    assert next(out.batches(found, kept(out, table(0, 3)))).column("t").to_pylist() == [9, 1, None]


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (pa.int8(), 127, 127),
        (pa.int8(), 128, None),
        (pa.int64(), 2**62, 2**62),
        (pa.float64(), 2.5, 2.5),
        (pa.float32(), 2.5, 2.5),
        (pa.date32(), 1, dt.date(1970, 1, 2)),
        (pa.date32(), 2**40, None),
        (pa.timestamp("us"), 1_000_000, dt.datetime(1970, 1, 1, 0, 0, 1)),
        (pa.decimal128(5, 2), 12345, Decimal("123.45")),
        (pa.decimal128(5, 2), 123456, None),
    ],
)
def test_times_come_in_the_type_of_the_order_column(kind: pa.DataType, value: Any, told: Any) -> None:
    out = output()
    rows = kept(out, table(0, 1, pa.nulls(1, kind)))
    found = matches(([0], [0]), time=np.array([value]), timed=[True])
    assert next(out.batches(found, rows)).column("t").to_pylist() == [told]


def test_times_told_as_numbers_of_order_values() -> None:
    out = output()
    rows = kept(out, table(0, 2, pa.array(["u", "u"])), table(2, 2, pa.array(["v", "w"])), numbers=[[0, 0], [1, 2]])
    found = matches(([0], [0]), ([0], [0]), time=np.array([2, 0]), timed=[True, True])
    assert next(out.batches(found, rows)).column("t").to_pylist() == ["w", "u"]


def test_neighbours_with_equal_values_share_a_number() -> None:
    numbers, last = ties(pa.chunked_array([["u", "u", None]]), (-1, None))
    assert numbers.tolist() == [0, 0, 1]
    numbers, _ = ties(pa.chunked_array([[None, "v"]]), last)
    assert numbers.tolist() == [1, 2]


def test_counts() -> None:
    rows = OutputRows("one", False, False, ("k",), (), ("A", "B"))
    out = output(rows=rows, time=None, source=None, count="match_count")
    found = matches(counts=[(1, 10**30)])
    assert next(out.batches(found, kept(out, table(0, 2)))).to_pylist() == [{"k": "p", "match_count": Decimal(10**30)}]
    with pytest.raises(OverflowError):
        list(out.batches(matches(counts=[(1, 10**38)]), kept(out, table(0, 2))))
