"""Runs that wait for a value meet the events that have it, and no others."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from sparkcep.engine import run_lists as lists
from sparkcep.engine.events import EventRows, EventSearch, TimeUnits
from sparkcep.engine.runs import RunsMatcher
from sparkcep.engine.runs_program import RunsProgram, compile_runs
from sparkcep.logical.event_bound import EventComponent, EventOrder, EventTest, EventVariable, LogicalEvents
from sparkcep.logical.slots import (
    BIGINT,
    CURRENT_ROW,
    DOUBLE,
    Comparison,
    Logic,
    Operand,
    Read,
    RowReference,
    RowSet,
    SlotExpression,
    SlotType,
)
from sparkcep.syntax.event_pattern import Strategy
from tests.spark.test_event_batch import MATCH

A, B, C = range(3)
NAN = float("nan")


def same(operand: int, variable: int, other: int, kind: SlotType) -> Comparison:
    """Return: `operand` of the event at hand equals `other` of the last event of `variable`."""
    taken = RowReference(RowSet(frozenset({variable})), "last")
    return Comparison("=", Read(operand, CURRENT_ROW, kind), Read(other, taken, kind))


def program(
    tests: tuple[SlotExpression | None, ...],
    before: tuple[frozenset[int], ...],
    kind: SlotType,
    strategy: Strategy = "skip_till_any_match",
    until: int | None = None,
) -> RunsProgram:
    components = tuple(
        EventComponent(
            v, 1, None if v == until else 1, v == until, strategy, EventTest((v,), test), EventTest((v,), test),
            until=EventTest((0,)) if v == until else None,
        )
        for v, test in enumerate(tests)
    )  # fmt: skip
    variables = tuple(EventVariable(name, name.lower(), False, False) for name in "ABC"[: len(tests)])
    operands = (Operand("x", kind), Operand("y", kind))
    events = LogicalEvents(MATCH, variables, (EventOrder(components, before),), (), operands, None)
    return compile_runs(events, EventSearch(), TimeUnits().window)


def pushed(compiled: RunsProgram, kinds: list[int], columns: list[list[Any]]) -> tuple[list[tuple[int, ...]], int]:
    """Return the matches over one group in two pushes, and how many runs events have met."""
    matcher, found, count = RunsMatcher(compiled), list[tuple[int, ...]](), len(kinds)
    is_float = compiled.operands[0].type == DOUBLE
    for first, last in ((0, count // 3), (count // 3, count)):
        part = [column[first:last] for column in columns]
        nulls = np.array([[value is None for value in column] for column in part])
        values = np.array([[value or 0 for value in column] for column in part], np.float64 if is_float else np.int64)
        nothing = (np.empty((0, last - first), values.dtype), np.empty((0, last - first), np.bool_))
        whole, fraction = (nothing, (values, nulls)) if is_float else ((values, nulls), nothing)
        rows = EventRows(
            np.array([0] if first == 0 else [], np.int64), np.array([kinds[first:last]], np.uint64), None,
            np.zeros(last - first, np.int64), whole[0].astype(np.int64), whole[1], fraction[0].astype(np.float64),
            fraction[1], last == count,
        )  # fmt: skip
        matches = matcher.push(rows, {})
        found += [
            tuple(matches.position[one:other].tolist()) for one, other in itertools.pairwise(matches.offsets.tolist())
        ]
    return sorted(found), int(matcher.pools.control[lists.VISITS])


def equal(one: Any, other: Any) -> bool:
    return one is not None and other is not None and (one == other or (one != one and other != other))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (BIGINT, [0, 1, -1, 2**62, -(2**63), None, 64, 128]),
        (DOUBLE, [0.0, -0.0, NAN, float("inf"), -float("inf"), 0.5, 1e300, 5e-324, None]),
    ],
)
@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
def test_equal_values_meet(kind: SlotType, values: list[Any], strategy: Strategy) -> None:
    compiled = program((None, same(0, A, 0, kind)), (frozenset(), frozenset({0})), kind, strategy)
    assert compiled.tables.awaited.slot[0] >= 0
    random = np.random.default_rng(1)
    drawn = [values[i] for i in random.integers(0, len(values), 200)]
    kinds = random.choice([0, 1, 2, 3], 200).tolist()
    found, _ = pushed(compiled, kinds, [drawn, drawn])
    expected = []
    for a in (i for i in range(200) if kinds[i] & 1):
        ends = [b for b in range(a + 1, 200) if kinds[b] & 2 and equal(drawn[a], drawn[b])]
        expected += [(a, b) for b in (ends if strategy == "skip_till_any_match" else ends[:1])]
    assert found == sorted(expected)


def test_two_columns_may_meet_one_value() -> None:
    tests = (None, same(0, A, 0, BIGINT), same(1, A, 0, BIGINT))
    compiled = program(tests, (frozenset(), frozenset({0}), frozenset({0})), BIGINT)
    awaited = compiled.tables.awaited
    assert sorted(np.diff(awaited.offsets)[:-1].tolist())[-1] == 2
    random = np.random.default_rng(2)
    x, y = random.integers(0, 4, (2, 60)).tolist()
    kinds = random.integers(0, 8, 60).tolist()
    found, _ = pushed(compiled, kinds, [x, y])
    expected = [
        tuple(sorted((a, b, c)))
        for a, b, c in itertools.product(range(60), repeat=3)
        if a < min(b, c) and b != c and kinds[a] & 1 and kinds[b] & 2 and kinds[c] & 4 and x[b] == x[a] == y[c]
    ]
    assert found == sorted(expected)


def test_events_meet_the_runs_of_their_value_only() -> None:
    compiled = program((None, same(0, A, 0, BIGINT)), (frozenset(), frozenset({0})), BIGINT)
    many = 5000
    values = [*range(many), *range(many)]
    found, visits = pushed(compiled, [1] * many + [2] * many, [values, values])
    assert found == [(i, many + i) for i in range(many)]
    # Lists hold two runs on average, however many there are.
    assert visits <= 4 * many


def test_runs_that_must_hear_of_every_event_wait_for_no_value() -> None:
    before = (frozenset(), frozenset({0}))
    for compiled in (
        program((None, same(0, A, 0, BIGINT)), before, BIGINT, "strict"),
        program((None, same(0, A, 0, BIGINT)), before, BIGINT, "partition_contiguity"),
        program((None, same(0, A, 0, BIGINT)), before, BIGINT, until=B),
        program((None, Comparison("<", *_sides(same(0, A, 0, BIGINT)))), before, BIGINT),
        program((None, Logic("or", same(0, A, 0, BIGINT), same(1, A, 1, BIGINT))), before, BIGINT),
    ):
        assert compiled.tables.awaited.states == 0


def _sides(test: Comparison) -> tuple[SlotExpression, SlotExpression]:
    return test.left, test.right
