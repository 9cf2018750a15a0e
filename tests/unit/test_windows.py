"""Patterns of a fixed number of rows: which of them window functions can match, and why not the others."""

from __future__ import annotations

from typing import Any

import pytest

from sparkcep.errors import PlanError
from sparkcep.logical.binder import bind
from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.exclusive import exclusive
from sparkcep.logical.slot_text import SlotText
from sparkcep.planning.planner import choose
from sparkcep.planning.plans import Options
from sparkcep.planning.windows import FixedRows, fixed_rows, rows_fetched
from sparkcep.syntax.clause import AfterMatch, Definition, Fragment, MatchRecognize, Measure
from sparkcep.syntax.row_pattern import parse_row_pattern
from tests.unit.test_event_binder import COLUMNS, SomeTypes

NEXT = AfterMatch("to next row")
FUNNEL = {"A": "sym = 'view'", "B": "sym = 'cart'", "C": "sym = 'buy'"}


def bound(
    pattern: str, define: dict[str, str] | None = None, measures: dict[str, str] | None = None, **more: Any
) -> LogicalMatch:
    clause = MatchRecognize(
        parse_row_pattern(pattern),
        order_by=(Fragment("t"),),
        definitions=tuple(Definition(name, Fragment(text)) for name, text in (define or {}).items()),
        measures=tuple(Measure(name, Fragment(text)) for name, text in (measures or {}).items()),
        **more,
    )
    return bind(clause, tuple(COLUMNS), SomeTypes())


def served(match: LogicalMatch) -> FixedRows:
    found = fixed_rows(match, lambda _column: "bigint")
    assert isinstance(found, FixedRows), found
    return found


@pytest.mark.parametrize(
    ("pattern", "variables"),
    [
        ("A", "A"),
        ("A B C", "ABC"),
        ("A{3} B", "AAAB"),
        ("(A B{2}){2} ()", "ABBABB"),
        ("A {- B -} C", "ABC"),
        ("A{16}", "A" * 16),
    ],
)
def test_rows_of_a_pattern(pattern: str, variables: str) -> None:
    match = bound(pattern, after_match=NEXT)
    assert "".join(match.variables[variable] for variable in served(match).variables) == variables


@pytest.mark.parametrize(
    ("match", "reason"),
    [
        (bound("A B+"), "B+ is no fixed sequence of rows"),
        (bound("A (B | C)"), "B | C is no fixed sequence"),
        (bound("PERMUTE(A, B)"), "PERMUTE(A, B) is no fixed sequence"),
        (bound("^ A"), "^ is no fixed sequence"),
        (bound("A{17}"), "more than 16 rows"),
        (bound("(A{1000}){1000}"), "more than 16 rows"),
        (bound("() ()"), "a match has no row"),
        (bound("A B", rows_per_match="all"), "one row per match only"),
        (bound("A B C"), "keep matches apart"),
        (bound("A B C", {"A": "v > 3", "B": "v < 9", "C": "v > 5"}), "keep matches apart"),
        (bound("A B", {"B": "v > MATCH_NUMBER()"}), "MATCH_NUMBER()"),
        (bound("A B", after_match=AfterMatch("to first", "A")), "SKIP TO A fails at the first match"),
    ],
)
def test_patterns_that_windows_do_not_serve(match: LogicalMatch, reason: str) -> None:
    found = fixed_rows(match, lambda _column: "bigint")
    assert isinstance(found, str)
    assert reason in found
    with pytest.raises(PlanError) as caught:
        choose(match, Options(plan="window"), states=3, too_large=None, fixed=found)
    assert caught.value.code == "ILLEGAL_PLAN"
    assert reason in str(caught.value)


def test_sums_of_wide_decimals_stay_with_the_matcher() -> None:
    match = bound("A", measures={"s": "SUM(v)"})
    assert isinstance(fixed_rows(match, lambda _column: "decimal(35,2)"), FixedRows)
    assert "35 digits only" in str(fixed_rows(match, lambda _column: "decimal(36,2)"))
    assert "35 digits only" in str(fixed_rows(match))


@pytest.mark.parametrize(
    ("match", "step", "overlaps"),
    [
        (bound("A B C", after_match=NEXT), 1, "allowed"),
        (bound("A"), 1, "allowed"),
        (bound("A B C", FUNNEL), 3, "none"),
        (bound("A B"), 2, "neighbours"),
        (bound("A A B", {"A": "sym = 'view'", "B": "sym = 'cart'"}), 3, "none"),
        (bound("A B C D", {"A": "v < 3", "C": "v > 3"}, after_match=AfterMatch("to first", "C")), 2, "neighbours"),
        (bound("A B C", after_match=AfterMatch("to last", "B")), 1, "allowed"),
    ],
)
def test_how_matches_follow_one_another(match: LogicalMatch, step: int, overlaps: str) -> None:
    found = served(match)
    assert (found.step, found.overlaps) == (step, overlaps)


def test_conditions_read_known_rows() -> None:
    match = bound(
        "A B C",
        {
            "B": "v > A.v AND COUNT(*) = 2",
            "C": "v > FIRST(B.v) AND v > LAST(v, 2) AND SUM(A.v) > 3 AND CLASSIFIER(A) = 'A'",
        },
        after_match=NEXT,
    )
    rows = served(match)
    told = SlotText(match.variables, match.slots.operands if match.slots else (), {})
    first, second, third = (None if tree is None else told.of(tree) for tree in rows.conditions)
    assert first is None
    assert second is not None
    assert third is not None
    assert "2 = 2" in second
    assert "'A' = 'A'" in third
    assert rows_fetched(match, rows) == 3  # v of two rows, and that there is a third one


def test_the_cheapest_plan_is_chosen() -> None:
    match = bound("A B C", FUNNEL, {"began": "A.t", "ended": "C.t"})
    fixed = served(match)
    assert choose(match, Options(), states=3, too_large=None, fixed=fixed).chosen.name == "window"
    wide = bound("A{16}", measures={f"m{i}": f"LAST(v + {i}, {i})" for i in range(16)}, after_match=NEXT)
    assert choose(wide, Options(), states=16, too_large=None, fixed=served(wide)).chosen.name == "sweep"


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("sym = 'view'", "sym = 'buy'", True),
        ("(sym = 'view' AND v > 3)", "v < 1 AND 'buy' = sym", True),
        ("sym = 'view'", "sym = 'VIEW'", False),
        ("sym = 'true'", "sym = 't'", False),
        ("sym = '1'", "sym = '01'", False),
        ("sym = 'view'", "x = 'buy'", False),
        ("v < w", "v >= w", True),
        ("v < w", "w < v", True),
        ("v < w", "v <> w", False),
        ("v = w", "v <> w", True),
        ("v <= w", "w <= v", False),
        ("v + 1 < w", "w <= v + 1", True),
        ("v < 3", "v >= 3", True),
        ("v <= 3", "v >= 3", False),
        ("v = 1", "v = 2", True),
        ("v > 3", "4 > v", False),
        ("v > 5", "4 > v", True),
        ("x = 16777217", "x = 16777216", False),
        ("x = 0.1", "x = 0.2", False),
        ("rand() < 1", "rand() >= 1", False),
        ("v < 1 OR v > 3", "v = 2", False),
        ("NOT v = 1", "v = 1", False),
        ("v <> 1", "v = 2", False),
        ("v = 1", None, False),
        ("not ( readable", "v = 1", False),
    ],
)
def test_conditions_that_exclude_each_other(one: str | None, other: str | None, apart: bool) -> None:
    assert exclusive(one, other) is apart
    assert exclusive(other, one) is apart
