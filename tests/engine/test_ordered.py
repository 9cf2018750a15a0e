"""The `ordered` engine on the workloads of the papers it comes from: matches, evaluations, partial matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations

import numpy as np
import pytest

from sparkcep.engine.events import (
    COUNT,
    NON_OVERLAPPING,
    ONE_PER_START,
    EventMatches,
    EventRows,
    EventSearch,
    TimeUnits,
)
from sparkcep.engine.ordered import OrderedMatcher
from sparkcep.engine.ordered_program import OrderedProgram, compile_ordered
from sparkcep.engine.runs import RunsMatcher
from sparkcep.engine.runs_program import compile_runs
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
from sparkcep.planning.lazy import GreedyChooser, bound_conditions, estimates_of
from sparkcep.planning.statistics import Statistics
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
    return EventRows(
        np.zeros(int(first == 0), np.int64), whole.conditions[:, part], whole.order[part], whole.classes[part],
        whole.integers[:, part], whole.integer_nulls[:, part], whole.floats[:, part], whole.float_nulls[:, part],
        last == whole.count,
    )  # fmt: skip


@dataclass(frozen=True)
class Always:
    """Binds components in one order whatever the events are."""

    order: tuple[int, ...]

    def __call__(self, counts: Sequence[float]) -> tuple[int, ...]:
        return self.order


def program(
    events: LogicalEvents, chooser: Callable[[Sequence[float]], Sequence[int]], search: EventSearch
) -> OrderedProgram:
    base = compile_runs(events, search, TimeUnits().window)
    return compile_ordered(events, base, [bound_conditions(order, events) for order in events.orders], [chooser])


def greedy(events: LogicalEvents, selectivities: dict[tuple[str, ...], float] | None = None) -> GreedyChooser:
    return GreedyChooser(estimates_of(events.orders[0], events, Statistics({}, selectivities or {})))


def run(
    events: LogicalEvents, given: EventRows, chooser: Callable[[Sequence[float]], Sequence[int]], output: int = COUNT
):
    matcher = OrderedMatcher(program(events, chooser, EventSearch(output=output)))
    return matcher.push(given, {}), matcher.counters


def total(found: EventMatches) -> int:
    return sum(count for _, count in found.counts)


# -- Kolchinsky et al. 2015 --------------------------------------------------------------------------


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


EVALUATIONS = {
    1: {"bca": 2_678_080},
    0.02: {"abc": 4_395_537, "acb": 615_600, "bca": 36_600, "cab": 615_600, "cba": 36_600},
}


@pytest.mark.parametrize("order", ["abc", "acb", "bca", "cab", "cba"])
def test_evaluations_of_lazy_chains(order: str) -> None:
    events, given = stocks(0.02)
    matcher = OrderedMatcher(
        program(events, Always(tuple("abc".index(name) for name in order)), EventSearch(output=COUNT, strict_time=True))
    )
    assert total(matcher.push(given, {})) == 3_698
    assert matcher.counters.evaluations == EVALUATIONS[0.02][order]


def test_the_cheapest_chain_over_all_stocks() -> None:
    events, given = stocks(1)
    matcher = OrderedMatcher(program(events, Always((1, 2, 0)), EventSearch(output=COUNT, strict_time=True)))
    assert total(matcher.push(given, {})) == 453_151
    assert matcher.counters.evaluations == EVALUATIONS[1]["bca"]


def less(operand: int, own: int, other: int) -> dict[int, SlotExpression]:
    """Return ``other.x < own.x`` as the condition of `own`."""
    return {own: Comparison("<", taken(operand, other, BIGINT), current(operand, BIGINT))}


def test_a_hundred_a_and_b_and_one_c() -> None:
    x = Operand("x", BIGINT)
    bits = np.repeat([1, 2, 4], [100, 100, 1])
    events = pattern("abc", less(0, 1, 0) | less(0, 2, 1), (x,), Within("number", "1000"))
    values = np.concatenate([np.zeros(100), np.full(100, 9), [5]]).astype(np.int64)
    values[150] = 3
    given = rows(bits, np.arange(201), values[None, :])
    found, counters = run(events, given, greedy(events))
    assert (total(found), counters.evaluations) == (100, 200)
    _, eager = run(events, given, Always((0, 1, 2)))
    assert eager.evaluations >= 10_000


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


BEST_CHAINS = (613_767, 594_649, 666_724, 626_147, 642_964, 650_318)


def test_the_order_follows_the_events() -> None:
    events, given = changing()
    matcher = OrderedMatcher(program(events, greedy(events), EventSearch(output=COUNT)))
    matches, evaluations = 0, 0
    for stage, best in enumerate(BEST_CHAINS):
        matches += total(matcher.push(piece(given, 100_000 * stage, 100_000 * (stage + 1)), {}))
        assert matcher.counters.evaluations - evaluations <= 1.1 * best
        evaluations = matcher.counters.evaluations
    assert matches == 1_178_820
    assert matcher.counters.kept_events <= 100


# -- Yi et al. 2016 ----------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("ranges", "order", "partial"),
    [
        ((17, 13, 9, 5), "ABCDE", [19_929, 63_145, 76_038, 41_788, 5_983]),
        ((17, 13, 9, 5), "EDCBA", [20_116, 15_048, 12_744, 10_113, 5_983]),
        ((5, 9, 13, 17), "ABCDE", [19_929, 16_349, 10_255, 6_111, 6_329]),
    ],
)
def test_partial_matches_of_typed_events(ranges: Sequence[int], order: str, partial: list[int]) -> None:
    events, given = typed(ranges)
    found, counters = run(events, given, Always(tuple("ABCDE".index(name) for name in order)))
    assert total(found) == partial[-1]
    assert counters.partial_matches[0].tolist() == partial


# -- in every form of result -------------------------------------------------------------------------


def results(matcher: OrderedMatcher | RunsMatcher, given: EventRows, size: int) -> list[tuple[int, ...]]:
    """Return matches as their number, positions and variables, or the counts, pushed `size` rows at a time."""
    found: list[tuple[int, ...]] = []
    for first in range(0, given.count, size):
        part = matcher.push(piece(given, first, min(first + size, given.count)), {})
        ends = zip(part.offsets[:-1].tolist(), part.offsets[1:].tolist(), part.number.tolist(), strict=True)
        found += [(n, *part.position[a:b].tolist(), *part.variable[a:b].tolist()) for a, b, n in ends]
        found += [count for _, count in part.counts]
        assert not len(part.position) or part.position.min() >= 0
    return found


@pytest.mark.parametrize(
    "search",
    [
        EventSearch(),
        EventSearch(limit=7),
        EventSearch(strict_time=True),
        EventSearch(output=NON_OVERLAPPING),
        EventSearch(output=ONE_PER_START, limit=20),
        EventSearch(output=COUNT),
    ],
)
def test_results_are_those_of_runs(search: EventSearch) -> None:
    random = np.random.default_rng(3)
    times, values = np.sort(random.integers(0, 120, 300)), random.integers(0, 6, (1, 300))
    given = rows(1 << random.integers(0, 4, 300), times, values)
    events = pattern("abc", less(0, 2, 0), (Operand("x", BIGINT),), Within("number", "5"))
    expected = results(RunsMatcher(compile_runs(events, search, TimeUnits().window)), given, 300)
    assert expected
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        for size in (1, 40, 300):
            assert results(OrderedMatcher(program(events, Always(order), search)), given, size) == expected


def equal(operand: int, own: int, other: int, kind: SlotType) -> dict[int, SlotExpression]:
    """Return ``other.x = own.x`` as the condition of `own`."""
    return {own: Comparison("=", taken(operand, other, kind), current(operand, kind))}


def test_equal_values_are_looked_up() -> None:
    random = np.random.default_rng(5)
    x, y = random.integers(0, 5, (1, 400)), random.choice([0.0, -0.0, 1.5, np.nan, -2.0, np.inf], (1, 400))
    given = rows(1 << random.integers(0, 3, 400), np.arange(400), x, y)
    given.integer_nulls[:], given.float_nulls[:] = random.random((2, 1, 400)) < 0.2
    operands = (Operand("x", BIGINT), Operand("y", DOUBLE))
    events = pattern("abc", equal(0, 1, 0, BIGINT) | equal(1, 2, 1, DOUBLE), operands, Within("number", "30"))
    expected = results(RunsMatcher(compile_runs(events, EventSearch(), TimeUnits().window)), given, 400)
    assert len(expected) > 100
    for order in permutations(range(3)):
        for size in (37, 400):
            assert results(OrderedMatcher(program(events, Always(order), EventSearch())), given, size) == expected


def test_what_is_looked_up_is_not_tested() -> None:
    bits, x = np.repeat([1, 2, 4], 500), np.tile(np.arange(500), 3)[None, :]
    events = pattern("abc", equal(0, 1, 0, BIGINT) | less(0, 2, 1), (Operand("x", BIGINT),), Within("number", "2000"))
    found, counters = run(events, rows(bits, np.arange(1500), x), Always((0, 1, 2)))
    assert total(found) == 500 * 499 // 2
    assert counters.evaluations == 500 * 500
    assert counters.partial_matches[0].tolist() == [500, 500, total(found)]
