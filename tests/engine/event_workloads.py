"""Event patterns and streams of the papers, and what engines find in them, for tests of engines alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import numpy as np

from sparkcep.engine.events import EventMatches, EventRows
from sparkcep.engine.slots import Codes
from sparkcep.logical.bound import Condition, LogicalMatch
from sparkcep.logical.calls import SortKey
from sparkcep.logical.event_bound import EventComponent, EventOrder, EventTest, EventVariable, LogicalEvents
from sparkcep.logical.slots import (
    BIGINT,
    CURRENT_ROW,
    DOUBLE,
    Arithmetic,
    Comparison,
    ConstantValue,
    Operand,
    Read,
    RowReference,
    RowSet,
    SlotExpression,
    SlotType,
)
from sparkcep.syntax.clause import AfterMatch, Within
from sparkcep.syntax.pattern import Empty

Conditions = dict[int, SlotExpression]


def pattern(names: str, conditions: Conditions, operands: tuple[Operand, ...], within: Within) -> LogicalEvents:
    """Return SEQ of single events under skip-till-any; conditions are on components, bit k says its type."""
    places = range(len(names))
    match = LogicalMatch(
        Empty(), tuple(names.upper()), {}, (), (SortKey("t", True, True),), "one", AfterMatch(), None, None,
        tuple(Condition(f"type {name}") for name in names), None, (), (), (), (), (), (), (), "__cep",
    )  # fmt: skip
    tests = [EventTest((k,), conditions.get(k)) for k in places]
    components = tuple(EventComponent(k, 1, 1, False, "skip_till_any_match", tests[k], tests[k]) for k in places)
    variables = tuple(EventVariable(name.upper(), name, False, False) for name in names)
    order = EventOrder(components, tuple(frozenset(range(k)) for k in places))
    return LogicalEvents(match, variables, (order,), (), operands, within)


def taken(operand: int, variable: int, kind: SlotType) -> Read:
    return Read(operand, RowReference(RowSet(frozenset({variable})), "last"), kind)


def current(operand: int, kind: SlotType) -> Read:
    return Read(operand, CURRENT_ROW, kind)


def rows(
    conditions: np.ndarray, order: np.ndarray, integers: np.ndarray | None = None, floats: np.ndarray | None = None
) -> EventRows:
    """Return events of one partition, in order; `conditions` are bits."""
    count = len(order)
    integers = np.empty((0, count), np.int64) if integers is None else integers
    floats = np.empty((0, count), np.float64) if floats is None else floats
    return EventRows(
        np.zeros(1, np.int64), conditions.astype(np.uint64)[None, :], order.astype(np.int64), np.zeros(count, np.int64),
        integers, np.zeros(integers.shape, np.bool_), floats, np.zeros(floats.shape, np.bool_), True,
    )  # fmt: skip


def piece(whole: EventRows, first: int, last: int) -> EventRows:
    """Return some rows of one partition, as they come in one push."""
    part = slice(first, last)
    order = None if whole.order is None else whole.order[part]
    return EventRows(
        np.zeros(int(first == 0), np.int64), whole.conditions[:, part], order, whole.classes[part],
        whole.integers[:, part], whole.integer_nulls[:, part], whole.floats[:, part], whole.float_nulls[:, part],
        last == whole.count,
    )  # fmt: skip


def less(operand: int, own: int, other: int) -> dict[int, SlotExpression]:
    """Return ``other.x < own.x`` as the condition of `own`."""
    return {own: Comparison("<", taken(operand, other, BIGINT), current(operand, BIGINT))}


def equal(operand: int, own: int, other: int, kind: SlotType) -> dict[int, SlotExpression]:
    """Return ``other.x = own.x`` as the condition of `own`."""
    return {own: Comparison("=", taken(operand, other, kind), current(operand, kind))}


def correlated(own: int, other: int) -> SlotExpression:
    """Return ``own.z1 * other.z1 + … > 0.8``."""
    products = [Arithmetic("*", taken(k, other, DOUBLE), current(k, DOUBLE), DOUBLE) for k in range(20)]
    summed = reduce(lambda left, right: Arithmetic("+", left, right, DOUBLE), products)
    return Comparison(">", summed, ConstantValue(0.8, DOUBLE))


def stocks(share: float) -> tuple[LogicalEvents, EventRows]:
    """Return G-LAZY: 41 tickers with their history, and a, b, c whose histories are alike."""
    random = np.random.default_rng(7)
    market, own = random.standard_normal(600), random.standard_normal((600, 41))
    price = 100 + np.cumsum(0.6 * market[:, None] + 0.8 * own, axis=0)
    history = np.stack([price[minute - 19 : minute + 1].T for minute in range(19, 600)])
    history -= history.mean(axis=2, keepdims=True)
    history /= np.linalg.norm(history, axis=2, keepdims=True)
    role = np.repeat([1, 2, 4], [20, 20, 1])
    kept = np.ones((581, 41), np.bool_)
    kept[:, 40] = np.random.default_rng(8).random(581) < share
    minutes = np.broadcast_to(np.arange(581)[:, None], (581, 41))[kept]
    bits = np.broadcast_to(role, (581, 41))[kept]
    operands = tuple(Operand(f"z{k + 1}", DOUBLE) for k in range(20))
    events = pattern(
        "abc", {1: correlated(1, 0), 2: correlated(2, 1)}, operands, Within("number", "20", inclusive=False)
    )
    return events, rows(bits, minutes, floats=np.ascontiguousarray(history[kept].T))


def changing() -> tuple[LogicalEvents, EventRows]:
    """Return a stream whose rare role changes every 100,000 events, and a.x < b.x < c.x."""
    random = np.random.default_rng(7)
    u, x = random.random(600_000), random.integers(0, 1000, 600_000)
    bits = np.empty(600_000, np.int64)
    for stage, rare in enumerate("cabcab"):
        part = slice(100_000 * stage, 100_000 * (stage + 1))
        roles = [1 << "abc".index(role) for role in "abc".replace(rare, "")] + [1 << "abc".index(rare)]
        bits[part] = np.select([u[part] < 0.495, u[part] < 0.99], roles[:2], roles[2])
    events = pattern(
        "abc", less(0, 1, 0) | less(0, 2, 1), (Operand("x", BIGINT),), Within("number", "100", inclusive=False)
    )
    return events, rows(bits, np.arange(600_000), x[None, :])


def typed(ranges: Sequence[int]) -> tuple[LogicalEvents, EventRows]:
    """Return G-APAM: five types, each compared with the one before, with selectivities by `ranges`."""
    random, count = np.random.default_rng(7), 100_000
    kind = random.integers(0, 5, count)
    columns = []
    for k, size in enumerate(ranges, 1):
        left, right = random.integers(0, 1000, count), random.integers(0, size, count)
        columns.append(np.where(kind == k - 1, left, np.where(kind == k, right, 0)))
    conditions = {k: condition for own in range(1, 5) for k, condition in less(own - 1, own, own - 1).items()}
    operands = tuple(Operand(f"attr{k}", BIGINT) for k in range(1, 5))
    events = pattern("ABCDE", conditions, operands, Within("number", "2000", inclusive=False))
    return events, rows(1 << kind, np.arange(count), np.stack(columns))


class Matcher(Protocol):
    """An engine."""

    def push(self, rows: EventRows, codes: Codes) -> EventMatches: ...


def results(matcher: Matcher, given: EventRows, size: int) -> list[tuple[int, ...]]:
    """Return matches as their number, positions and variables, or the counts, pushed `size` rows at a time."""
    found: list[tuple[int, ...]] = []
    for first in range(0, given.count, size):
        part = matcher.push(piece(given, first, min(first + size, given.count)), {})
        ends = zip(part.offsets[:-1].tolist(), part.offsets[1:].tolist(), part.number.tolist(), strict=True)
        found += [(n, *part.position[a:b].tolist(), *part.variable[a:b].tolist()) for a, b, n in ends]
        found += [(count,) for _, count in part.counts]
        assert not len(part.position) or part.position.min() >= 0
    return found


def total(found: EventMatches) -> int:
    return sum(count for _, count in found.counts)
