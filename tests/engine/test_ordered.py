"""The `ordered` engine on the workloads of the papers it comes from: matches, evaluations, partial matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest

from sparkcep.engine.events import COUNT, NON_OVERLAPPING, ONE_PER_START, EventRows, EventSearch, TimeUnits
from sparkcep.engine.ordered import OrderedMatcher
from sparkcep.engine.ordered_program import OrderedProgram, compile_ordered
from sparkcep.engine.runs import RunsMatcher
from sparkcep.engine.runs_program import compile_runs
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.slots import BIGINT, DOUBLE, Operand
from sparkcep.planning.lazy import GreedyChooser, bound_conditions, estimates_of
from sparkcep.planning.statistics import Statistics
from sparkcep.syntax.clause import Within
from tests.engine.event_workloads import changing, equal, less, pattern, piece, results, rows, stocks, total, typed


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


# -- Kolchinsky et al. 2015 --------------------------------------------------------------------------


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
