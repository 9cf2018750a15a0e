"""The sweep matcher: pattern × letters → matches (ISO/IEC 19075-5, 4.12–4.16)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.matches import PAST_LAST_ROW, TO_FIRST, TO_LAST, TO_NEXT_ROW, Matches, Rows, Search, SearchFault
from sparkcep.engine.sweep import sweep
from sparkcep.syntax.pattern import RowPattern, variables_of
from sparkcep.syntax.row_pattern import parse_row_pattern
from tests.engine import strategies as random
from tests.engine.searches import Found, found_in, letters, naive_search, outcome, rows_of

SMALL = settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def search_text(text: str, rows: str, search: Search | None = None) -> list[tuple[int, str]]:
    """Start and labels of each match; excluded labels in lower case."""
    pattern = parse_row_pattern(text)
    variables = variables_of(pattern)
    automaton = compile_automaton(pattern, variables)
    matches = sweep(automaton, rows_of([letters(rows)], variables), search or Search())
    return [
        (found.start, "".join(name.lower() if excluded else name for name, excluded in found.labels))
        for found in found_in(matches, automaton.labels, variables)
    ]


@pytest.mark.parametrize(
    ("pattern", "rows", "matches"),
    [
        ("A B+ C", "ABBBCD", [(0, "ABBBC")]),
        ("A B C", "ABBBCD", []),
        ("A | A B", "AB", [(0, "A")]),
        ("A B | A", "AB", [(0, "AB")]),
        ("A+ B", "AA[AB]A", [(0, "AAB")]),
        ("A+? B?", "A[AB]B", [(0, "AB")]),
        ("A B*", "ABBAB", [(0, "ABB"), (3, "AB")]),
        ("A*", "AAB", [(0, "AA"), (2, "")]),
        ("A*?", "AA", [(0, ""), (1, "")]),
        ("()", "AA", [(0, ""), (1, "")]),
        ("(A??)* B", "-B", [(1, "B")]),
        ("(A??)* B", "[AB][AB][AB]", [(0, "AAB")]),
        ("(E?){2,} Y", "[EY][EY][EY][EY][EY][EY]", [(0, "EEEEEY")]),
        ("(A*)*", "AA", [(0, "AA")]),
        ("()+", "A", [(0, "")]),
        ("A{2,3}", "AAAAAAA", [(0, "AAA"), (3, "AAA")]),
        ("A{2,3}?", "AAAAA", [(0, "AA"), (2, "AA")]),
        ("A{,2} B", "AAAB", [(1, "AAB")]),
        ("PERMUTE(A, B, C)", "CAB", [(0, "CAB")]),
        ("PERMUTE(A, B)", "[AB][AB]", [(0, "AB")]),
        ("PERMUTE(A+, B, C)", "ABCCAB", [(0, "ABC"), (3, "CAB")]),
        ("PERMUTE(A?, B)", "[AB]A", [(0, "B")]),
        ("PERMUTE(A, B?, C?) D", "AD", [(0, "AD")]),
        ("^ A", "AA", [(0, "A")]),
        ("A $", "AA", [(1, "A")]),
        ("^ A+ $", "AAB", []),
        ("A ^ B", "AB", []),
        ("A $ B", "AB", []),
        ("(^ A | B) C", "ACACBC", [(0, "AC"), (4, "BC")]),
        ("A (B | $)", "ABA", [(0, "AB"), (2, "A")]),
        ("A {- B+ -} C", "ABBC", [(0, "AbbC")]),
        ("{- A B -} B | C", "ABBC", [(0, "abB"), (3, "C")]),
        ("A | ()", "AB", [(0, "A"), (1, "")]),
        ("() | A", "A", [(0, "")]),
        ("A B", "", []),
    ],
)
def test_preferred_matches(pattern: str, rows: str, matches: list[tuple[int, str]]) -> None:
    assert search_text(pattern, rows) == matches


@pytest.mark.parametrize(
    ("pattern", "rows", "skip", "targets", "matches"),
    [
        ("A B+ C?", "ABBC", TO_NEXT_ROW, (), [(0, "ABBC")]),
        ("A+", "AAA", TO_NEXT_ROW, (), [(0, "AAA"), (1, "AA"), (2, "A")]),
        ("A B", "A[AB]B", TO_LAST, (1,), [(0, "AB"), (1, "AB")]),
        ("A B+", "A[AB]B", TO_FIRST, (1,), [(0, "ABB"), (1, "AB")]),
        ("A B*", "BAB", TO_FIRST, (1,), [(1, "AB")]),
        ("(A B)?", "BAB", TO_LAST, (1,), [(0, ""), (1, "AB"), (2, "")]),
    ],
)
def test_skip_modes(
    pattern: str, rows: str, skip: int, targets: tuple[int, ...], matches: list[tuple[int, str]]
) -> None:
    assert search_text(pattern, rows, Search(skip, targets)) == matches


@pytest.mark.parametrize(
    ("pattern", "rows", "skip", "targets", "fault"),
    [
        ("A+ B", "-AAB", TO_LAST, (0,), ("target is first row", 0, 2, 2)),
        ("A+ B", "-AAB", TO_FIRST, (0,), ("target is first row", 0, 1, 1)),
        ("A B?", "ABA", TO_LAST, (1,), ("target not bound", 0, 2, 2)),
    ],
)
def test_faults(pattern: str, rows: str, skip: int, targets: tuple[int, ...], fault: tuple[str, int, int, int]) -> None:
    with pytest.raises(SearchFault) as caught:
        search_text(pattern, rows, Search(skip, targets))
    assert (caught.value.kind, caught.value.group, caught.value.row, caught.value.number) == fault


def check(pattern: RowPattern, groups: list[list[set[str]]], search: Search, order: list[float] | None = None) -> None:
    try:
        expected = naive_search(pattern, groups, search, random.VARIABLES, order)
    except OverflowError:
        assume(False)
    automaton = compile_automaton(pattern, random.VARIABLES)
    rows = rows_of(groups, random.VARIABLES, order)
    assert outcome(lambda: found_in(sweep(automaton, rows, search), automaton.labels, random.VARIABLES)) == expected


@SMALL
@given(random.patterns, random.groups, random.searches())
def test_equals_the_definition(pattern: RowPattern, groups: list[list[set[str]]], search: Search) -> None:
    check(pattern, groups, search)
