"""Measures against a row-by-row computation, on random matches and values."""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal, localcontext
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkcep.logical.outputs import CLASSIFIER, Aggregated, Collected, Gathered, Matched, Numbered, OutputRows
from sparkcep.logical.slots import ALL_ROWS, RowSet
from tests.engine.measure_cases import FIRST_NUMBER, LABELS, VARIABLES, Found, Runs, assembled, values


def variables_of(runs: Runs) -> list[tuple[int, bool]]:
    return [(LABELS[label].variable, LABELS[label].excluded) for label, n in runs for _ in range(n)]


def expected_rows(count: int, found: Found, output: OutputRows) -> list[tuple[int, int, int]]:
    """List (match, row, last row seen); match −1 for unmatched rows, last row −1 for empty ones."""
    rows: list[tuple[int, int, int]] = []
    covered: set[int] = set()
    for m, (start, runs) in enumerate(found):
        taken = variables_of(runs)
        covered |= {start + i for i in range(len(taken))} | {start}
        if output.mode == "one":
            rows.append((m, start, start + len(taken) - 1 if taken else -1))
        elif taken:
            rows += [(m, start + i, start + i) for i, (_, excluded) in enumerate(taken) if not excluded]
        elif output.show_empty:
            rows.append((m, start, -1))
    if output.mode == "all" and output.unmatched:
        rows += [(-1, row, -1) for row in range(count) if row not in covered]
        rows.sort(key=lambda item: (found[item[0]][0] if item[0] >= 0 else item[1], item[0]))
    return rows


def expected(table: dict[str, list[Any]], found: Found, m: int, last: int, item: Any) -> Any:
    if isinstance(item, Matched):
        return m >= 0
    if m < 0:
        return None
    if isinstance(item, Numbered):
        return FIRST_NUMBER + m
    start, runs = found[m]
    taken = variables_of(runs)
    if item.final and taken:
        last = start + len(taken) - 1
    wanted = item.rows.variables
    seen = [start + i for i, (v, _) in enumerate(taken) if start + i <= last and (wanted is None or v in wanted)]
    classes = {start + i: VARIABLES[v] for i, (v, _) in enumerate(taken)}
    if isinstance(item, Gathered):
        if item.offset >= len(seen):
            return None
        row = seen[item.offset] if item.end == "first" else seen[-1 - item.offset]
        return classes.get(row + item.shift) if item.column == CLASSIFIER else table[item.column][row]
    if item.filter is not None:
        seen = [row for row in seen if table[item.filter][row] is True]
    if isinstance(item, Collected):
        columns = [classes if c == CLASSIFIER else table[c] for c in item.columns]
        return [{f"f{i}": column[row] for i, column in enumerate(columns)} for row in seen]
    return aggregate(item.function, [1 if item.column is None else table[item.column][row] for row in seen])


def aggregate(function: str, found: list[Any]) -> Any:
    found = [value for value in found if value is not None]
    if function == "count":
        return len(found)
    if not found:
        return None
    if function in {"min", "max"}:
        return (min if function == "min" else max)(
            found, key=lambda v: (math.isnan(v), 0 if math.isnan(v) else v) if isinstance(v, float) else v
        )
    if function == "avg" or isinstance(found[0], float):
        total = 0.0
        for value in found:
            total += float(value)
        return total / len(found) if function == "avg" else total
    with localcontext(Context(prec=60)):
        return sum(found[1:], start=found[0])


TYPES = {
    "i": pa.int32(),
    "l": pa.int64(),
    "d": pa.float64(),
    "f": pa.float32(),
    "s": pa.string(),
    "b": pa.binary(),
    "t": pa.timestamp("us", "UTC"),
    "y": pa.date32(),
    "u": pa.duration("us"),
    "n": pa.decimal128(12, 2),
    "w": pa.decimal128(30, 4),
    "q": pa.bool_(),
}
POOLS: dict[str, list[Any]] = {
    "i": [0, 1, -5, 2**31 - 1, -(2**31)],
    "l": [0, 7, -3, 2**59, -(2**59), 2**32, 2**32 - 1, -(2**32)],
    "d": [0.0, -0.0, 1.5, -2.25, 1e300, -1e300, math.inf, -math.inf, math.nan, 0.1],
    "f": [0.0, 1.5, -2.25, math.inf, math.nan],
    "s": ["", "a", "é", "z", "\U0001f600", "\uffff", "ab"],
    "b": [b"", b"a", b"\xff", b"\x00", b"\x00\x01"],
    "t": [datetime(1, 1, 1, tzinfo=timezone.utc), datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=timezone.utc)],
    "y": [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31)],
    "u": [timedelta(0), timedelta(microseconds=-1), timedelta(days=10**6), timedelta(days=-(10**6))],
    "n": [Decimal("0.00"), Decimal("-9999999999.99"), Decimal("12.34"), Decimal("9999999999.99")],
    "w": [Decimal("0.0000"), Decimal("9" * 26 + ".9999"), Decimal("-" + "9" * 26 + ".9999"), Decimal("0.0001")],
    "q": [True, False],
}
SUMMED, AVERAGED, ORDERED = "ildfunw", "ildf", "ildfsbtyunwq"


def table_of(count: int, choice: random.Random) -> pa.Table:
    nulls = choice.choice([0, 0.2, 0.6])

    def column(name: str) -> list[Any]:
        return [None if choice.random() < nulls else choice.choice(POOLS[name]) for _ in range(count)]

    table = pa.table({name: pa.array(column(name), kind) for name, kind in TYPES.items()})
    cut = choice.randrange(count + 1)
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


@st.composite
def searches(draw: st.DrawFn, count: int) -> Found:
    overlapping = draw(st.booleans())
    found: Found = []
    start = draw(st.integers(0, 2))
    while start < count:
        runs: Runs = []
        left = count - start
        for _ in range(draw(st.integers(0, 4))):
            length = draw(st.integers(0, min(left, 3)))
            runs.append((draw(st.integers(0, len(LABELS) - 1)), length))
            left -= length
        length = count - start - left
        found.append((start, runs if length else []))
        start += draw(st.integers(1, 3)) + (0 if overlapping else max(length - 1, 0))
    return found


SETS = st.sampled_from(
    [ALL_ROWS, *(RowSet(frozenset(v)) for v in [{0}, {1}, {2}, {0, 1}, {1, 2}]), RowSet(frozenset())]
)


@st.composite
def measures(draw: st.DrawFn, name: str) -> Any:
    rows, final = draw(SETS), draw(st.booleans())
    condition = draw(st.sampled_from([None, "q"]))
    match draw(st.integers(0, 4)):
        case 0:
            column = draw(st.sampled_from([CLASSIFIER, "s", "l", "n"]))
            shift = draw(st.integers(-2, 2)) if column == CLASSIFIER else 0
            end: Any = draw(st.sampled_from(["first", "last"]))
            return Gathered(name, column, rows, end, draw(st.integers(0, 3)), shift, final)
        case 1:
            columns = tuple(draw(st.lists(st.sampled_from(["s", CLASSIFIER, "w"]), min_size=1, max_size=3)))
            return Collected(name, columns, rows, final, condition)
        case 2:
            return draw(st.sampled_from([Numbered(name), Matched(name)]))
        case _:
            function: Any = draw(st.sampled_from(["count", "sum", "avg", "min", "max"]))
            domain = {"sum": SUMMED, "avg": AVERAGED}.get(function, ORDERED)
            operand = None if function == "count" and draw(st.booleans()) else draw(st.sampled_from(domain))
            return Aggregated(name, function, operand, rows, final, condition)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return bool(left == right)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_equals_row_by_row_computation(data: st.DataObject) -> None:
    table = table_of(data.draw(st.integers(1, 14)), data.draw(st.integers(0, 2**32).map(random.Random)))
    columns = {name: table[name].to_pylist() for name in TYPES}
    found = data.draw(searches(table.num_rows))
    outputs = tuple(data.draw(measures(f"m{i}")) for i in range(data.draw(st.integers(1, 6))))
    mode: Any = data.draw(st.sampled_from(["one", "all"]))
    output = OutputRows(mode, data.draw(st.booleans()), data.draw(st.booleans()), ("l",), outputs, VARIABLES)
    batch = assembled(table, found, output)
    rows = expected_rows(table.num_rows, found, output)
    assert values(batch, "l") == [columns["l"][row] for _, row, _ in rows]
    for item in outputs:
        wanted = [expected(columns, found, m, last, item) for m, _, last in rows]
        got = values(batch, item.name)
        assert len(got) == len(wanted)
        assert all(map(same, got, wanted)), (item, got, wanted)
