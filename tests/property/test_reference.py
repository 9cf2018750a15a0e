"""The reference on random cases: it ends, its output has the promised shape, its laws hold."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.property.comparison import compare
from tests.property.reference import ReferenceError_, StepLimitReached
from tests.property.strategies import Case, cases

QUICK = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)


def outcome(case: Case) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return names and rows; cases that fail on their data or take too long judge nothing here."""
    try:
        return case.expected()
    except StepLimitReached:
        assume(False)
    except ReferenceError_ as error:
        if error.stage == "plan":
            raise
        assume(False)
    raise AssertionError


@pytest.mark.parametrize("dependent", [True, False], ids=["match-dependent", "row-only"])
def test_random_cases_run(dependent: bool) -> None:
    @QUICK
    @given(cases(dependent))
    def run(case: Case) -> None:
        names, rows = outcome(case)
        assert all(len(row) == len(names) for row in rows)

    run()


@QUICK
@given(cases())
def test_row_order_of_the_input_does_not_matter(case: Case) -> None:
    names, rows = outcome(case)
    _, again = outcome(Case(case.columns, case.rows[::-1], case.arguments))
    compare(rows, again, names)


def test_a_difference_is_readable() -> None:
    with pytest.raises(AssertionError, match=r"(?s)2 rows expected, 2 found.*- 1 \| NULL.*\+ 1 \| 2"):
        compare([(1, None), (0.0, float("nan"))], [(-0.0, float("nan")), (1, 2)], ["a", "b"])


def test_true_is_not_one_and_rows_are_counted() -> None:
    compare([([1, None],), (1.0,)], [(1,), ([1.0, None],)])
    with pytest.raises(AssertionError):
        compare([(True,)], [(1,)])
    with pytest.raises(AssertionError):
        compare([(1,), (1,)], [(1,)])
