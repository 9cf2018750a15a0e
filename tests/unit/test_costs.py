"""What the cost model counts, worked out by hand."""

from __future__ import annotations

import pytest

from sparkcep.planning.costs import Work, arrangements, work_in_order, work_of_runs, work_of_tree
from sparkcep.planning.join_trees import JoinTree
from sparkcep.planning.statistics import Estimates
from sparkcep.planning.weights import WEIGHTS

SHARES = ((1.0, 0.5, 1.0), (0.5, 1.0, 0.1), (1.0, 0.1, 1.0))
APART = Estimates(("a", "b", "c"), (10.0, 20.0, 30.0), SHARES)
# b and c have to be equal in some column.
TIED = Estimates(APART.variables, APART.rates, SHARES, ((False,) * 3, (False, False, True), (False, True, False)))


def test_a_sequence_takes_one_of_all_orders_of_its_events() -> None:
    assert [arrangements(k, in_sequence=True) for k in (1, 2, 3, 4)] == pytest.approx([1, 1, 1 / 2, 1 / 6])
    assert [arrangements(k, in_sequence=False) for k in (1, 2, 3)] == [1, 2, 3]


def test_binding_in_an_order() -> None:
    assert work_in_order(APART, (0, 1, 2), in_sequence=True).visits == pytest.approx(10 + 10 * 20 + 100 * 30 / 2)
    assert work_in_order(APART, (0, 1, 2), in_sequence=False).visits == pytest.approx(10 + 400 + 100 * 30 * 3)
    assert work_in_order(TIED, (0, 1, 2), in_sequence=True).visits == pytest.approx(10 + 200 + 100 * 3 / 2)
    assert work_in_order(TIED, (2, 1, 0), in_sequence=True).visits == pytest.approx(30 + 30 * 2 + 60 * 10 / 2)


def test_runs_that_no_later_condition_tells_apart_are_one() -> None:
    assert work_of_runs(APART, in_sequence=True, merges=True) == Work(10 + 200 + 20 * 30 / 2, 10 + 20)
    assert work_of_runs(APART, in_sequence=True, merges=False) == Work(10 + 200 + 100 * 30 / 2, 10 + 100)


def test_joining_by_a_tree() -> None:
    tree = JoinTree(0, 3, (JoinTree(0, 1), JoinTree(1, 3, (JoinTree(1, 2), JoinTree(2, 3)))))
    assert work_of_tree(APART, tree, in_sequence=True) == Work(60 + 600 + 10 * 60 / 2, 20 + 30 + 10 + 60)
    assert work_of_tree(TIED, tree, in_sequence=True) == Work(60 + 60 + 10 * 60 / 2, 20 + 30 + 10 + 60)


def test_what_a_job_takes_is_shared_by_its_rows() -> None:
    weights = WEIGHTS["runs"]
    work = Work(visits=300, stored=40).per_event(60)
    of_matching = (weights.visit * 300 + weights.stored * 40) / 60
    assert work.cost("runs", 1000) == pytest.approx(weights.job / 1000 + weights.row + of_matching)
    assert work.cost("runs", None) == pytest.approx(work.cost("runs", 1_000_000))
    assert Work(0, reads=3).cost("join", 1000) == pytest.approx(3 * Work(0).cost("join", 1000))
