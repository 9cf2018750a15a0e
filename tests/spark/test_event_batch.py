"""The driver of event patterns without Spark: batches, groups, whole groups, budgets, faults."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import COUNT, EventSearch, TimeUnits
from sparkcep.engine.matches import MatchLabel
from sparkcep.engine.runs import RunsMatcher
from sparkcep.engine.runs_program import compile_runs
from sparkcep.errors import MatchError
from sparkcep.logical.bound import Condition, LogicalMatch
from sparkcep.logical.calls import SortKey
from sparkcep.logical.event_bound import EventComponent, EventOrder, EventTest, EventVariable, LogicalEvents
from sparkcep.logical.outputs import Collected, Gathered, Numbered, OutputRows
from sparkcep.logical.slots import CURRENT_ROW, STRING, Comparison, Operand, Read, RowReference, RowSet
from sparkcep.spark.event_batch import EventDriver, EventTask
from sparkcep.syntax.clause import AfterMatch, Within
from sparkcep.syntax.event_pattern import Strategy
from sparkcep.syntax.pattern import Empty

A, B = RowSet(frozenset({0})), RowSet(frozenset({1}))
MATCH = LogicalMatch(
    Empty(), ("A", "B"), {}, (), (SortKey("t", True, True),), "one", AfterMatch(), None, None,
    (Condition("type A"), Condition("type B")), None, (), (), (), (), (), (), (), "__cep",
)  # fmt: skip
SAME_NAME = Comparison("=", Read(0, CURRENT_ROW, STRING), Read(0, RowReference(A, "last"), STRING))


def events(strategy: Strategy, *, same_name: bool = False, **changes: Any) -> LogicalEvents:
    """Return SEQ(A a, B+ b[]), with b.name = a.name if asked for."""
    test = EventTest((1,), SAME_NAME if same_name else None)
    components = (
        EventComponent(0, 1, 1, False, strategy, EventTest((0,)), EventTest((0,))),
        EventComponent(1, 1, None, True, strategy, test, test),
    )
    return LogicalEvents(**{
        "match": MATCH,
        "variables": (EventVariable("A", "a", False, False), EventVariable("B", "b", True, False)),
        "orders": (EventOrder(components, (frozenset(), frozenset({0}))),),
        "keys": (), "operands": (Operand("name", STRING),) if same_name else (), "within": None, **changes,
    })  # fmt: skip


def task(pattern: LogicalEvents, search: EventSearch | None = None, *, window: bool = False) -> EventTask:
    search = search or EventSearch()
    outputs = (Numbered("n"), Gathered("a", "i", A, "first"), Collected("b", ("i",), B))
    count = "match_count" if search.output == COUNT else None
    rows = OutputRows("one", False, False, ("k",), () if count else outputs, ("A", "B"))
    labels = (MatchLabel(0, False), MatchLabel(1, False))
    return EventTask(
        compile_runs(pattern, search, TimeUnits().window), pattern.operands, pattern.keys, ("m",), (0,),
        "t" if window else None, "WITHIN", None, "t", EventOutput(rows, labels, ("k", "i", "t"), None, None, count),
        ("k", "t", "i", "name", "sym", "m"), ("k",), ("k",), "t", ("a", "b"),
    )  # fmt: skip


def stream(text: str) -> pa.Table:
    """Return rows such as ``a1x``: type, position in its group (a word ``|`` ends it), and name."""
    found: dict[str, list[Any]] = {name: [] for name in ("k", "t", "i", "name", "sym", "m")}
    group, number = 0, 0
    for word in text.split():
        if word == "|":
            group, number = group + 1, 0
            continue
        values = (f"g{group}", number, word[:2], word[2:] or None, word[2:] or None)
        bits = (number == 0) | (2 if word[0] == "a" else 4 if word[0] == "b" else 0)
        for name, value in zip(found, (*values, bits), strict=True):
            found[name].append(value)
        number += 1
    kinds = {"name": pa.string(), "sym": pa.string(), "m": pa.int8()}
    return pa.table({name: pa.array(values, kinds.get(name)) for name, values in found.items()})


def found(job: EventTask, rows: pa.Table, size: int, rows_per_push: int = 1) -> list[tuple[Any, ...]]:
    driver = EventDriver(job, RunsMatcher(job.program), rows_per_push)
    batches = [batch for part in rows.to_batches(max_chunksize=size) for batch in driver.push(part)]
    batches += list(driver.finish())
    assert all(batch.num_rows for batch in batches)
    return [tuple(_plain(value) for value in row.values()) for batch in batches for row in batch.to_pylist()]


def _plain(value: Any) -> Any:
    return [item["f0"] for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("rows_per_push", [1, 4, 100])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_groups_over_batches(size: int, rows_per_push: int) -> None:
    rows = stream("a1 b2 c3 b4 | b1 a2 b3 | c1 | a1 b2")
    assert found(task(events("skip_till_next_match")), rows, size, rows_per_push) == [
        ("g0", 1, "a1", ["b2"]),
        ("g0", 2, "a1", ["b2", "b4"]),
        ("g1", 1, "a2", ["b3"]),
        ("g3", 1, "a1", ["b2"]),
    ]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_classes_and_null_keys(size: int) -> None:
    pattern = events("skip_till_next_match", keys=("sym",))
    rows = stream("a1x a2y a3 b4y b5 b6x | b1x a2x b3x")
    assert [row[2:] for row in found(task(pattern), rows, size)] == [
        ("a2", ["b4"]), ("a1", ["b6"]), ("a2", ["b3"]),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 100])
def test_strings_are_compared_over_batches(size: int) -> None:
    job = task(events("skip_till_next_match", same_name=True))
    assert job.whole_groups
    rows = stream("a1y b2x b3y | a1x b2x")
    assert [row[2:] for row in found(job, rows, size)] == [("a1", ["b3"]), ("a1", ["b2"])]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_counts_of_groups_with_matches(size: int) -> None:
    job = task(events("skip_till_any_match"), EventSearch(output=COUNT))
    rows = stream("a1 b2 b3 b4 | a1 | a1 b2")
    assert [(key, int(count)) for key, count in found(job, rows, size)] == [("g0", 7), ("g2", 1)]


@pytest.mark.parametrize("sample", [3, 0.3])
def test_a_sample_does_not_depend_on_batches(sample: int | float) -> None:
    pattern = events("skip_till_any_match", within=Within("number", "4"))
    job = task(pattern, EventSearch(sample=sample), window=True)
    rows = stream("a1 b2 b3 b4 a5 b6 c7 b8 a9 b0 b1 | a1 b2 b3 a4 b5 b6")
    whole = found(job, rows, 100)
    assert len(whole) == 6 if sample == 3 else whole
    for size in (1, 2, 5):
        assert found(job, rows, size) == whole


def most_kept(search: EventSearch) -> tuple[int, int]:
    """Push 500 rows, ten at a time; return how many were kept at most, and how many matches came."""
    job = task(events("skip_till_next_match", within=Within("number", "3")), search, window=True)
    driver = EventDriver(job, RunsMatcher(job.program), 10)
    rows = stream(" ".join(["a1", "b2", "c3", "c4", "c5"] * 100))
    kept, matches = [], 0
    for batch in rows.to_batches(max_chunksize=10):
        matches += sum(out.num_rows for out in driver.push(batch))
        kept.append(sum(table.num_rows for table in driver.kept._tables))
    return max(kept), matches + sum(out.num_rows for out in driver.finish())


def test_rows_of_a_sample_are_kept_and_no_others() -> None:
    most, found = most_kept(EventSearch(sample=1))
    assert most <= 30
    assert found == 1


def test_rows_out_of_the_window_are_let_go() -> None:
    most, found = most_kept(EventSearch())
    assert most <= 20
    assert found == 100


def test_a_null_order_value_names_event_and_partition() -> None:
    job = task(events("skip_till_next_match", within=Within("number", "3")), window=True)
    rows = stream("a1 b2 | a1 b2 b3")
    rows = rows.set_column(1, "t", pa.array([0, 1, 0, None, 2]))
    for size in (1, 100):
        with pytest.raises(MatchError, match="which is NULL in event 2 of partition k = 'g1'") as caught:
            found(job, rows, size)
        assert caught.value.code == "NULL_ORDER_VALUE"


def test_the_budget_names_event_partition_and_step() -> None:
    search = EventSearch(max_partial_matches=2, merge_runs=False)
    job = task(events("skip_till_next_match", within=Within("number", "90")), search, window=True)
    rows = stream("a1 b2 | a1 a2 a3 a4")
    for size in (1, 100):
        with pytest.raises(MatchError) as caught:
            found(job, rows, size)
        assert caught.value.code == "PARTIAL_MATCH_BUDGET_EXCEEDED"
        for word in ("2 are allowed", "event 4 (t = 3)", "k = 'g1'", "'a'", "matches='count'", "WITHIN"):
            assert word in str(caught.value)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_what_has_expired_is_not_in_the_budget(size: int) -> None:
    search = EventSearch(max_partial_matches=4, merge_runs=False)
    job = task(events("skip_till_next_match", within=Within("number", "2")), search, window=True)
    assert len(found(job, stream("a1 " * 20 + "b2"), size)) == 2


def test_a_count_of_more_than_38_digits_is_a_fault() -> None:
    job = task(events("skip_till_any_match"), EventSearch(output=COUNT))
    for loops in (127, 300):
        with pytest.raises(MatchError, match="partition k = 'g0'") as caught:
            found(job, stream(" ".join(["a1", *(["b2"] * loops)])), 50)
        assert caught.value.code == "MATCH_COUNT_OVERFLOW"
