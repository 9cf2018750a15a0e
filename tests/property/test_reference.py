"""The reference on random cases: it ends, its output has the promised shape, its laws hold."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.property.comparison import compare
from tests.property.reference import ReferenceError_, StepLimitReached, match_rows
from tests.property.reference.patterns import (
    Choice_,
    Edge,
    Pattern,
    Permute,
    Repeat,
    Sequence_,
    Variable,
    read_pattern,
)
from tests.property.strategies import Case, cases, patterns, variables_in

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


def _expression(node: Pattern) -> str:
    """Return `node` as a regular expression over one letter per row."""
    match node:
        case Variable(name):
            return name.lower()
        case Edge(symbol):
            return r"\A" if symbol == "^" else r"\Z"
        case Sequence_(parts):
            return "".join(_expression(part) for part in parts)
        case Choice_(parts):
            return f"(?:{'|'.join(_expression(part) for part in parts)})"
        case Permute(parts):
            orders = itertools.permutations([_expression(part) for part in parts])
            return f"(?:{'|'.join(''.join(order) for order in orders)})"
        case Repeat(part, least, most, greedy):
            bounds = f"{{{least},{'' if most is None else most}}}"
            return f"(?:{_expression(part)}){bounds}{'' if greedy else '?'}"


def _repeats_nothing(node: Pattern) -> bool:
    """Tell whether a loop's part may be empty: there row patterns and Python's expressions differ."""
    if isinstance(node, Repeat):
        return re.fullmatch(_expression(node.part), "") is not None or _repeats_nothing(node.part)
    return any(_repeats_nothing(part) for part in getattr(node, "parts", ()))


def _spans(expression: str, text: str) -> list[tuple[int, int]]:
    compiled, found, start = re.compile(expression), [], 0
    while start < len(text):
        match = compiled.match(text, start)
        if match is not None:
            found.append(match.span())
        start = start + 1 if match is None or match.end() == start else match.end()
    return found


@settings(QUICK, max_examples=300)
@given(patterns(), st.text("abcd", min_size=1, max_size=8))
def test_disjoint_letters_match_as_a_regular_expression_does(pattern: str, text: str) -> None:
    root = read_pattern(pattern).root
    assume(not _repeats_nothing(root))
    _, rows = match_rows(
        ["i", "e"],
        list(enumerate(text)),
        pattern=pattern,
        order_by=["i"],
        define={name: f"e = '{name.lower()}'" for name in variables_in(pattern)},
        measures={"s": "FIRST(i)", "n": "COUNT(*)"},
    )
    spans = _spans(_expression(root), text)
    compare([(start if end > start else None, end - start) for start, end in spans], rows)
