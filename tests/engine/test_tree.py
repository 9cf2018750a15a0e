"""The `tree` engine on the workloads of the papers, and against the other engines on random streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest

from sparkcep.engine.events import (
    COUNT,
    NON_OVERLAPPING,
    ONE_PER_START,
    BudgetExceeded,
    EventRows,
    EventSearch,
    TimeUnits,
)
from sparkcep.engine.runs import RunsMatcher
from sparkcep.engine.runs_program import compile_runs
from sparkcep.engine.tree import TreeMatcher
from sparkcep.engine.tree_program import Shape, TreeChooser, compile_tree
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.slots import BIGINT, DOUBLE, Logic, Operand
from sparkcep.planning.lazy import bound_conditions, estimates_of
from sparkcep.planning.statistics import Statistics
from sparkcep.planning.trees import loop_takes, tree_chooser, tree_obstacle
from sparkcep.syntax.clause import Within
from tests.engine.event_workloads import equal, less, pattern, results, rows, stocks, total, typed
from tests.unit.test_event_binder import bound

LEFT_DEEP, RIGHT_DEEP = ((((0, 1), 2), 3), 4), (0, (1, (2, (3, 4))))


@dataclass(frozen=True)
class Always:
    """Joins by one tree whatever the events are."""

    shape: Shape

    def __call__(self, rates: Sequence[float], witnesses: Sequence[float]) -> Shape:
        return self.shape


def trees(first: int, last: int) -> Iterator[Shape]:
    """Yield all trees over some components in a row."""
    if last - first == 1:
        yield first
    for cut in range(first + 1, last):
        for left in trees(first, cut):
            for right in trees(cut, last):
                yield left, right


def matcher(
    events: LogicalEvents, chooser: TreeChooser | None = None, search: EventSearch | None = None
) -> TreeMatcher:
    search = search or EventSearch(output=COUNT)
    base = compile_runs(events, search, TimeUnits().window)
    (order,) = events.orders
    chooser = chooser or tree_chooser(order, estimates_of(order, events, Statistics()))
    return TreeMatcher(compile_tree(events, base, [bound_conditions(order, events)], [chooser]))


@pytest.mark.parametrize(
    ("ranges", "shape", "partial"),
    [
        ((17, 13, 9, 5), LEFT_DEEP, [63_145, 76_038, 41_788, 5_983]),
        ((17, 13, 9, 5), RIGHT_DEEP, [15_048, 12_744, 10_113, 5_983]),
        ((5, 9, 13, 17), LEFT_DEEP, [16_349, 10_255, 6_111, 6_329]),
        ((17, 13, 9, 5), None, None),
        ((5, 9, 13, 17), None, None),
    ],
)
def test_partial_matches_of_typed_events(ranges: Sequence[int], shape: Shape | None, partial: list[int] | None) -> None:
    events, given = typed(ranges)
    engine = matcher(events, None if shape is None else Always(shape))
    assert total(engine.push(given, {})) == {17: 5_983, 5: 6_329}[ranges[0]]
    (counted,) = engine.counters.partial_matches
    if partial is not None:
        assert [counted[node] for node in sorted(counted, key=len)] == partial


@pytest.mark.parametrize(("share", "count"), [(1, 453_151), (0.02, 3_698)])
def test_stocks(share: float, count: int) -> None:
    events, given = stocks(share)
    engine = matcher(events, None, EventSearch(output=COUNT, strict_time=True))
    assert total(engine.push(given, {})) == count
    if share < 1:
        assert engine.counters.evaluations == 36_600


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
    given = rows(1 << random.integers(0, 5, 300), times, values)
    events = pattern("abcd", less(0, 2, 0) | less(0, 3, 1), (Operand("x", BIGINT),), Within("number", "8"))
    expected = results(RunsMatcher(compile_runs(events, search, TimeUnits().window)), given, 300)
    assert expected
    for shape in trees(0, 4):
        for size in (1, 40, 300):
            assert results(matcher(events, Always(shape), search), given, size) == expected


def test_equal_values_are_looked_up() -> None:
    random = np.random.default_rng(5)
    x, y = random.integers(0, 3, (1, 400)), random.choice([0.0, -0.0, np.nan, np.inf], (1, 400))
    given = rows(1 << random.integers(0, 4, 400), np.arange(400), x, y)
    given.integer_nulls[:], given.float_nulls[:] = random.random((2, 1, 400)) < 0.2
    operands = (Operand("x", BIGINT), Operand("y", DOUBLE))
    conditions = equal(0, 1, 0, BIGINT) | equal(1, 2, 1, DOUBLE) | equal(0, 3, 0, BIGINT)
    events = pattern("abcd", conditions, operands, Within("number", "40"))
    expected = results(RunsMatcher(compile_runs(events, EventSearch(), TimeUnits().window)), given, 400)
    assert len(expected) > 100
    for shape in trees(0, 4):
        for size in (37, 400):
            assert results(matcher(events, Always(shape), EventSearch()), given, size) == expected


def test_stores_grow_and_are_swept() -> None:
    """Thousands of partial matches are alive, and many more come and go."""
    random = np.random.default_rng(11)
    x = random.integers(0, 40, (1, 3000))
    given = rows(1 << random.choice(4, 3000, p=(0.47, 0.47, 0.03, 0.03)), np.arange(3000), x)
    conditions = equal(0, 2, 0, BIGINT) | less(0, 3, 1)
    events = pattern("abcd", conditions, (Operand("x", BIGINT),), Within("number", "200"))
    search = EventSearch(output=COUNT)
    expected = results(RunsMatcher(compile_runs(events, search, TimeUnits().window)), given, 3000)
    for shape in (((0, 1), (2, 3)), (((0, 1), 2), 3), ((0, (1, 2)), 3)):
        engine = matcher(events, Always(shape), search)
        assert results(engine, given, 3000) == expected
    assert engine.counters.kept_events == 0


def test_the_budget_counts_partial_matches_that_are_stored_and_alive() -> None:
    bits = np.repeat([1, 2, 1, 2, 4], [10, 10, 10, 10, 1])
    events = pattern("abc", {}, (), Within("number", "20"))
    left_deep = Always(((0, 1), 2))
    given = rows(bits, np.arange(41))
    assert total(matcher(events, left_deep, EventSearch(output=COUNT, max_partial_matches=100)).push(given, {})) == 100
    with pytest.raises(BudgetExceeded) as caught:
        matcher(events, left_deep, EventSearch(output=COUNT, max_partial_matches=99)).push(given, {})
    assert (caught.value.count, caught.value.variable, caught.value.position) == (100, 1, 19)
    # Without stored partial matches there is nothing to count.
    engine = matcher(events, Always((0, (1, 2))), EventSearch(output=COUNT, max_partial_matches=1))
    assert total(engine.push(given, {})) == 100


@pytest.mark.parametrize(
    ("fifth", "inclusive", "expected"),
    [
        (7, False, [(6, 10, 12, 15)]),
        (2, False, [(6, 10, 12, 15)]),
        (2, True, [(5, 10, 12, 15), (6, 10, 12, 15)]),
    ],
)
def test_the_edge_of_a_window(fifth: int, inclusive: bool, expected: list[tuple[int, ...]]) -> None:
    """The example of Yi et al. 2016: two equalities and an inequality over four types."""
    stream = f"a1(2) c2(3,1) b3(1) c4(2,5) a5({fifth}) a6(1) b7(9) c8(6,6) a9(9) b10(3) b11(4) c12(3,7) a13(3) c14(3,6)"
    found = [re.fullmatch(r"(\w)\d+\((\d+),?(\d*)\)", event) for event in f"{stream} d15(5,7)".split()]
    bits = np.array([1 << "abcd".index(event[1]) for event in found if event])
    values = np.array([(int(event[2]), int(event[3] or 0)) for event in found if event]).T
    conditions = less(0, 3, 0) | equal(0, 2, 1, BIGINT)
    both = Logic("and", conditions[3], equal(1, 3, 2, BIGINT)[3])
    operands = (Operand("attr1", BIGINT), Operand("attr2", BIGINT))
    events = pattern("abcd", conditions | {3: both}, operands, Within("number", "10", inclusive=inclusive))
    given = rows(bits, np.arange(1, 16), np.ascontiguousarray(values))
    for shape in trees(0, 4):
        matches = results(matcher(events, Always(shape), EventSearch()), given, 15)
        assert [tuple(row + 1 for row in match[1:5]) for match in matches] == expected


TEXTS = (
    "AND(A a, B b, C c) WHERE a.v < b.v AND b.v < c.v WITHIN 8",
    "AND(A a, SEQ(B b, C c), A d) WHERE a.v = d.v WITHIN 7",
    "SEQ(A a, AND(B b, C c), ~D d, A e) WHERE b.v = c.v WITHIN 12",
    "SEQ(A a, ~D d, B b, ~C c, A e) WHERE a.v < e.v WITHIN 12",
    "SEQ(A a, ~D d, B b, C c) WHERE d.v = a.v WITHIN 10",
    "SEQ(A a, OR(B b, SEQ(C c, D d)), A? e, D f) WHERE a.v <= f.v WITHIN 8",
    "SEQ(A a, B b WITHIN 3, C c, D d WITHIN 2) WHERE a.v = c.v",
    "SEQ(A a, B+ b[], C c) WITHIN 8",
    "SEQ(A+ a[], B b, C+ c[]) WHERE a[i].v >= a[i-1].v AND c[i].v > c[1].v AND b.v < c[1].v WITHIN 9",
    "SEQ(A a, B{2,3} b[], C c) WHERE b[1].v > a.v AND c.v >= b[b.LEN].v WITHIN 15",
    "SEQ(A+ a[], ~D d, B b, C c) WHERE a[i].v = a[i-1].v AND a[1].v = c.v WITHIN 20",
    "SEQ(A+ a[], B+ b[]) WHERE b[i].v > b[i-1].v WITHIN 8",
    "SEQ(A{2} a[], B* b[], C c) WHERE a[i].v != a[i-1].v WITHIN 10",
    "SEQ(A+ a[]) WHERE a[i].v > a[i-1].v WITHIN 8",
)


def stream(events: LogicalEvents, count: int, seed: int) -> EventRows:
    """Return random events of four types; `v` is NULL now and then."""
    random = np.random.default_rng(seed)
    kinds = random.choice(list("ABCD"), count)
    words = [condition.row_only.text if condition.row_only else "" for condition in events.match.conditions]
    bits = sum((kinds == text[-2]).astype(np.int64) << bit for bit, text in enumerate(words))
    times = np.sort(random.integers(0, count, count))
    given = rows(np.asarray(bits), times, random.integers(0, 4, (len(events.operands), count)))
    given.integers[:] = given.integers[:1]
    given.integer_nulls[:] = random.random(count) < 0.05
    return given


def shapes(events: LogicalEvents) -> Iterator[list[TreeChooser]]:
    """Yield left-deep trees, right-deep ones, and ones that are halved again and again."""
    sizes = [len(order.components) for order in events.orders]
    for cut in (lambda first, last: last - 1, lambda first, last: first + 1, lambda first, last: (first + last) // 2):
        yield [Always(cut_at(0, size, cut)) for size in sizes]


def cut_at(first: int, last: int, cut: Callable[[int, int], int]) -> Shape:
    middle = cut(first, last)
    return first if last - first == 1 else (cut_at(first, middle, cut), cut_at(middle, last, cut))


@pytest.mark.parametrize("text", TEXTS)
def test_every_operator_agrees_with_runs(text: str) -> None:
    events = bound(text, strategy="skip_till_any_match")
    assert tree_obstacle(events) is None
    given = stream(events, 90, len(text))
    conditions = [bound_conditions(order, events) for order in events.orders]
    takes = [loop_takes(order, events) for order in events.orders]
    for search in (EventSearch(), EventSearch(strict_time=True), EventSearch(output=COUNT)):
        base = compile_runs(events, search, TimeUnits().window)
        expected = results(RunsMatcher(base), given, 90)
        assert expected
        chosen: list[TreeChooser] = [
            tree_chooser(order, estimates_of(order, events, Statistics())) for order in events.orders
        ]
        for choosers in [chosen, *shapes(events)]:
            for size in (7, 90):
                engine = TreeMatcher(compile_tree(events, base, conditions, choosers, takes))
                assert results(engine, given, size) == expected


def test_all_sequences_of_a_loop_are_listed_or_exceed_the_budget() -> None:
    events = bound("SEQ(A a, B+ b[], C c)", strategy="skip_till_any_match")
    words = [condition.row_only.text if condition.row_only else "" for condition in events.match.conditions]
    bits = [1 << next(bit for bit, text in enumerate(words) if text[-2] == kind) for kind in "A" + 13 * "B" + "C"]
    given = rows(np.array(bits), np.arange(15), np.zeros((len(events.operands), 15), np.int64))
    conditions = [bound_conditions(order, events) for order in events.orders]
    takes = [loop_takes(order, events) for order in events.orders]
    for choosers in shapes(events):
        base = compile_runs(events, EventSearch(), TimeUnits().window)
        found = TreeMatcher(compile_tree(events, base, conditions, choosers, takes)).push(given, {})
        assert (found.count, len(found.position)) == (2**13 - 1, 2 * (2**13 - 1) + 13 * 2**12)
        small = compile_runs(events, EventSearch(max_partial_matches=1000), TimeUnits().window)
        with pytest.raises(BudgetExceeded) as caught:
            TreeMatcher(compile_tree(events, small, conditions, choosers, takes)).push(given, {})
        assert (caught.value.count, caught.value.variable) == (1001, 1)


def test_items_of_loops_are_swept() -> None:
    """Items get new numbers where partial matches hold them."""
    events = bound("SEQ(A a, B+ b[], C c, D d) WHERE a.v = d.v WITHIN 12", strategy="skip_till_any_match")
    given = stream(events, 700, 5)
    base = compile_runs(events, EventSearch(output=COUNT), TimeUnits().window)
    expected = results(RunsMatcher(base), given, 700)
    conditions = [bound_conditions(order, events) for order in events.orders]
    takes = [loop_takes(order, events) for order in events.orders]
    listed = compile_runs(events, EventSearch(), TimeUnits().window)
    all_matches = results(RunsMatcher(listed), given, 700)
    with patch("sparkcep.engine.tree_stores.FEWEST", 8):
        for choosers in shapes(events):
            assert results(TreeMatcher(compile_tree(events, base, conditions, choosers, takes)), given, 700) == expected
            engine = TreeMatcher(compile_tree(events, listed, conditions, choosers, takes))
            assert results(engine, given, 700) == all_matches
