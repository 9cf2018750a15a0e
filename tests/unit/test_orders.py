"""Orders of variables: the papers' micro-case, and both algorithms against all permutations."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkcep.logical.slots import BIGINT, BOOLEAN, Comparison, ConstantValue, Logic, Unary
from sparkcep.planning.orders import MOST_VARIABLES, Extension, LeftDeep, cheapest_order, greedy_order
from sparkcep.planning.statistics import Estimates, Statistics, rule_of_thumb

SHARES = st.sampled_from([0.001, 0.01, 0.1, 0.5, 1.0])
RATES = st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0, 200.0])


@st.composite
def estimates(draw: st.DrawFn, most: int = 5) -> Estimates:
    count = draw(st.integers(1, most))
    shares = [[1.0] * count for _ in range(count)]
    for one in range(count):
        for other in range(one + 1):
            shares[one][other] = shares[other][one] = draw(SHARES)
    rates = tuple(draw(RATES) for _ in range(count))
    return Estimates(tuple("abcdefg"[:count]), rates, tuple(map(tuple, shares)))


def partial_matches(order: tuple[int, ...], given: Estimates) -> float:
    """Return the number of partial matches by its definition."""
    total, matches = 0.0, 1.0
    for place, variable in enumerate(order):
        matches *= given.rates[variable] * given.selectivities[variable][variable]
        for earlier in order[:place]:
            matches *= given.selectivities[variable][earlier]
        total += matches
    return total


def micro_case(a: float = 100, c: float = 10) -> Estimates:
    return Statistics({"A": a, "B": 15, "C": c}).estimates(("A", "B", "C"), ())


def test_the_micro_case_of_the_paper() -> None:
    given = micro_case()
    planned = greedy_order(given)
    assert [given.variables[v] for v in planned.order] == ["C", "B", "A"]
    texts = [
        {f"{given.variables[c.chosen.variable]}<{given.variables[c.rejected.variable]}" for c in place}  # type: ignore[union-attr]
        for place in planned.deciding
    ]
    assert texts == [{"C<B", "C<A"}, {"B<A"}, set()]
    choices = [choice for place in planned.deciding for choice in place]
    assert all(choice.holds(given) for choice in choices)
    assert not all(choice.holds(micro_case(c=16)) for choice in choices)
    assert all(choice.holds(micro_case(a=110)) for choice in choices)


@settings(max_examples=150, deadline=None)
@given(estimates())
def test_the_cheapest_order_is_the_cheapest_of_all(given: Estimates) -> None:
    planned = cheapest_order(given)
    costs = [partial_matches(order, given) for order in permutations(range(len(given.rates)))]
    assert planned.cost == pytest.approx(min(costs))
    assert partial_matches(planned.order, given) == pytest.approx(planned.cost)
    assert len(planned.deciding) == len(planned.order)
    for choice in (choice for place in planned.deciding for choice in place):
        assert choice.chosen.cost(given) <= choice.rejected.cost(given) * (1 + 1e-9)


@settings(max_examples=150, deadline=None)
@given(estimates())
def test_the_greedy_order_takes_the_least_extension_each_time(given: Estimates) -> None:
    planned = greedy_order(given)
    assert sorted(planned.order) == list(range(len(given.rates)))
    assert planned.cost == pytest.approx(partial_matches(planned.order, given))
    for place, variable in enumerate(planned.order):
        placed = planned.order[:place]
        costs = {v: Extension(v, placed).cost(given) for v in range(len(given.rates)) if v not in placed}
        assert costs[variable] == min(costs.values())
        assert {c.rejected for c in planned.deciding[place]} == {Extension(v, placed) for v in costs if v != variable}


def test_a_selective_condition_beats_a_rare_event() -> None:
    given = Statistics({"a": 5, "b": 100, "c": 20}, {("b", "a"): 0.01}).estimates(("a", "b", "c"), ())
    assert greedy_order(given).order == (0, 1, 2)
    assert cheapest_order(given).order == (0, 1, 2)
    assert LeftDeep((0, 1, 2)).cost(given) == pytest.approx(5 + 5 + 100)


def test_too_many_orders_are_refused() -> None:
    names = [f"v{i}" for i in range(MOST_VARIABLES + 1)]
    with pytest.raises(ValueError, match="too many orders"):
        cheapest_order(Statistics().estimates(names, ()))


def test_statistics_as_json() -> None:
    given = Statistics({"a": 2}, {("b", "a"): 0.25, ("a",): 0.5})
    assert Statistics.from_json(given.to_json()) == given
    for text in ("[]", "{}", '{"rates": 1, "selectivities": []}', '{"rates": {}, "selectivities": [1]}', "no"):
        with pytest.raises(ValueError, match=r"no statistics|Expecting"):
            Statistics.from_json(text)


@pytest.mark.parametrize(
    ("rates", "selectivities", "word"),
    [
        ({"a": -1.0}, {}, "rate of a"),
        ({"a": float("inf")}, {}, "rate of a"),
        ({}, {("a",): 1.5}, "share from 0 to 1"),
        ({}, {("a", "a"): 0.5}, "one variable or two"),
        ({}, {(): 0.5}, "one variable or two"),
        ({}, {("a", "b", "c"): 0.5}, "one variable or two"),
        ({}, {"a": 0.5}, "one variable or two"),
    ],
)
def test_statistics_that_mean_nothing(rates: dict[str, float], selectivities: dict[tuple[str, ...], float], word: str):
    with pytest.raises(ValueError, match=word):
        Statistics(rates, selectivities)


def test_rules_of_thumb_stand_in_for_what_is_unknown() -> None:
    one, other = ConstantValue(1, BIGINT), ConstantValue(2, BIGINT)
    equal, less = Comparison("=", one, other), Comparison("<", one, other)
    assert rule_of_thumb(Logic("and", equal, less)) == pytest.approx(0.05)
    assert rule_of_thumb(Logic("or", equal, less)) == pytest.approx(0.55)
    assert rule_of_thumb(Unary("not", equal, BOOLEAN)) == pytest.approx(0.9)
    conditions = [(frozenset({0, 1}), equal), (frozenset({0, 1}), less), (frozenset({0, 1, 2}), less)]
    given = Statistics({"b": 7}, {("c", "b"): 0.2}).estimates(("a", "b", "c"), conditions)
    assert given.rates == (1.0, 7.0, 1.0)
    assert given.selectivities[0][1] == given.selectivities[1][0] == pytest.approx(0.05)
    assert given.selectivities[1][2] == given.selectivities[2][1] == 0.2
    assert given.selectivities[0][2] == 1.0
