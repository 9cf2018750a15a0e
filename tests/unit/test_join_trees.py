"""Join trees: dynamic programming against all trees over the same leaves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from sparkcep.planning.join_trees import JoinTree, cheapest_tree
from sparkcep.planning.statistics import Estimates, Statistics
from tests.unit.test_orders import estimates


def all_trees(first: int, last: int) -> Iterator[JoinTree]:
    if last - first == 1:
        yield JoinTree(first, last)
    for cut in range(first + 1, last):
        for left in all_trees(first, cut):
            for right in all_trees(cut, last):
                yield JoinTree(first, last, (left, right))


def cost(tree: JoinTree, given: Estimates) -> float:
    """Return cost(L) + cost(R) + card(L) · card(R) · SEL(L, R), straight from the definition."""
    if tree.parts is None:
        return given.events(tree.first)
    return sum(cost(part, given) for part in tree.parts) + cardinality(tree, given)


def cardinality(tree: JoinTree, given: Estimates) -> float:
    if tree.parts is None:
        return given.events(tree.first)
    left, right = tree.parts
    share = given.between(range(left.first, left.last), range(right.first, right.last))
    return cardinality(left, given) * cardinality(right, given) * share


@settings(max_examples=150, deadline=None)
@given(estimates(most=6))
def test_the_cheapest_tree_is_the_cheapest_of_all(given: Estimates) -> None:
    planned = cheapest_tree(given)
    costs = [cost(tree, given) for tree in all_trees(0, len(given.rates))]
    assert planned.cost == pytest.approx(min(costs))
    assert cost(planned.tree, given) == pytest.approx(planned.cost)
    assert planned.tree.cost(given) == pytest.approx(planned.cost)
    assert len(planned.deciding) == len(given.rates) - 1
    for choice in (choice for node in planned.deciding for choice in node):
        assert choice.chosen.cost(given) <= choice.rejected.cost(given) * (1 + 1e-9)


def test_a_rare_pair_is_joined_first() -> None:
    given = Statistics({"a": 100, "b": 100, "c": 2, "d": 2}).estimates(("a", "b", "c", "d"), ())
    planned = cheapest_tree(given)
    assert planned.tree.text(given.variables) == "(a (b (c d)))"
    assert planned.cost == 204 + 4 + 400 + 40_000
    selective = Statistics({"a": 100, "b": 100, "c": 2, "d": 2}, {("a", "b"): 0.0004})
    assert cheapest_tree(selective.estimates(("a", "b", "c", "d"), ())).tree.text(given.variables) == "((a b) (c d))"


def test_a_change_that_would_change_the_tree_is_noticed() -> None:
    before, after = (Statistics({"a": 10, "b": 10, "c": rate}).estimates(("a", "b", "c"), ()) for rate in (1, 1000))
    choices = [choice for node in cheapest_tree(before).deciding for choice in node]
    assert cheapest_tree(before).tree.text(before.variables) == "(a (b c))"
    assert all(choice.holds(before) for choice in choices)
    assert not all(choice.holds(after) for choice in choices)


def test_one_leaf_and_none() -> None:
    assert cheapest_tree(Statistics({"a": 3}).estimates(("a",), ())).cost == 3
    with pytest.raises(ValueError, match="one leaf"):
        cheapest_tree(Statistics().estimates((), ()))
