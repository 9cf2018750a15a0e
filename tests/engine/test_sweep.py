"""The sweep matcher: pattern × letters → matches (ISO/IEC 19075-5, 4.12–4.16)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.matches import TO_FIRST, TO_LAST, TO_NEXT_ROW, Search, SearchFault
from sparkcep.engine.sweep import sweep
from sparkcep.syntax.pattern import variables_of
from sparkcep.syntax.row_pattern import parse_row_pattern
from tests.engine.searches import found_in, letters, rows_of


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


@pytest.mark.parametrize(
    ("pattern", "rows", "search", "matches"),
    [
        ("A+", "AAAAA", Search(max_rows=2), [(0, "AA"), (2, "AA"), (4, "A")]),
        ("A+ B | A", "AAAB", Search(max_rows=3), [(0, "A"), (1, "AAB")]),
        ("A+ B | A", "AAAB", Search(within=2), [(0, "A"), (1, "AAB")]),
        ("A B* C", "ABBC", Search(max_rows=3), []),
        ("A B{3}|A B|A", "ABBB", Search(within=2), [(0, "AB")]),
        ("A+? B | A", "AAAB", Search(TO_NEXT_ROW, max_rows=3), [(0, "A"), (1, "AAB"), (2, "AB")]),
        ("A*", "AA", Search(within=-1), [(0, ""), (1, "")]),
        ("A+", "AAAA", Search(TO_NEXT_ROW, within=2), [(0, "AAA"), (1, "AAA"), (2, "AA"), (3, "A")]),
    ],
)
def test_a_limit_backs_off_to_the_next_preferred(
    pattern: str, rows: str, search: Search, matches: list[tuple[int, str]]
) -> None:
    assert search_text(pattern, rows, search) == matches


def ends(order: list[float] | list[int], within: float, inclusive: bool = True) -> list[int]:
    """Ends of the matches of A+ from each row, all rows in one group."""
    automaton = compile_automaton(parse_row_pattern("A+"), "A")
    rows = dataclasses.replace(rows_of([[{"A"}] * len(order)], "A"), order=np.array(order))
    return sweep(automaton, rows, Search(TO_NEXT_ROW, within=within, inclusive=inclusive)).end.tolist()


def test_differences_of_order_values_do_not_wrap() -> None:
    largest = 2**63 - 1
    assert ends([-largest, 0, largest], 2**63 - 1) == [2, 3, 3]
    assert ends([-largest, 0, largest], 2**64 - 2) == [3, 3, 3]
    assert ends([largest - 1, largest], 2) == [2, 2]


def test_floating_order_values() -> None:
    assert ends([0.0, 0.5, 1.0], 1.0) == [3, 3, 3]
    assert ends([0.0, 0.5, 1.0], 1.0, inclusive=False) == [2, 3, 3]
    assert ends([0.0, 0.5, 1.0], 0, inclusive=False) == []
    assert ends([-np.inf, -np.inf, 0.0, np.inf, np.nan, np.nan], 10.0) == [2, 2, 3, 4, 6, 6]
    assert ends([0, 1, 2], 1.5) == [2, 3, 3]


def test_groups_do_not_touch_and_numbers_begin_anew() -> None:
    automaton = compile_automaton(parse_row_pattern("^ A+ | B+ $"), "AB")
    groups = [letters("A"), [], letters("AAB"), letters("BBAB"), []]
    rows = dataclasses.replace(rows_of(groups, "AB"), first_number=7, at_start=False)
    matches = sweep(automaton, rows, Search())
    assert matches.group.tolist() == [2, 2, 3]
    assert matches.start.tolist() == [1, 3, 7]
    assert matches.end.tolist() == [3, 4, 8]
    assert matches.number.tolist() == [1, 2, 1]
    assert (matches.resume, matches.next_number) == (8, 1)


def test_first_group_goes_on_from_an_earlier_call() -> None:
    automaton = compile_automaton(parse_row_pattern("^ A"), "A")
    rows = rows_of([letters("A")], "A")
    assert sweep(automaton, dataclasses.replace(rows, first_number=7), Search()).number.tolist() == [7]
    matches = sweep(automaton, dataclasses.replace(rows, first_number=7, at_start=False), Search())
    assert (matches.number.tolist(), matches.next_number) == ([], 7)


def test_no_rows_at_all() -> None:
    automaton = compile_automaton(parse_row_pattern("A*"), "A")
    for groups in ([], [[]]):
        matches = sweep(automaton, rows_of(groups, "A"), Search())
        assert (len(matches.start), matches.resume, matches.next_number) == (0, 0, 1)


def test_arrays_of_the_caller_may_be_read_only_and_strided() -> None:
    automaton = compile_automaton(parse_row_pattern("A B"), "AB")
    rows = rows_of([letters("ABAB")], "AB")
    conditions = np.repeat(rows.conditions, 2, axis=1)[:, ::2]
    conditions.flags.writeable = False
    rows = dataclasses.replace(rows, conditions=conditions)
    assert sweep(automaton, rows, Search()).start.tolist() == [0, 2]


def test_runs_of_one_label_are_merged() -> None:
    automaton = compile_automaton(parse_row_pattern("A A{2} {- A -} B"), "AB")
    matches = sweep(automaton, rows_of([letters("AAAAB")], "AB"), Search())
    assert matches.run_length.tolist() == [3, 1, 1]
    assert [automaton.labels[i].excluded for i in matches.run_label] == [False, True, False]


@pytest.mark.parametrize(
    ("pattern", "search"),
    [
        ("A+ B", Search()),
        ("(A+)+ B", Search()),
        ("A* A* A* A* B", Search()),
        ("A* A* A* A* B", Search(TO_NEXT_ROW, within=10**6)),
        ("(A?){50} A{50}", Search()),
        ("(A?){50} A{50}", Search(within=10**6)),
        ("A+", Search()),
        ("A+", Search(TO_NEXT_ROW)),
        ("A+", Search(TO_NEXT_ROW, within=10**6)),
        ("A+", Search(TO_NEXT_ROW, max_rows=5_000)),
        ("A+? $", Search(TO_NEXT_ROW)),
        ("(A | B)+", Search(max_rows=10**6)),
    ],
)
def test_work_is_linear_in_rows(pattern: str, search: Search) -> None:
    tree = parse_row_pattern(pattern)
    automaton = compile_automaton(tree, "AB")
    for n in (4_000, 8_000, 16_000):
        assert sweep(automaton, rows_of([[{"A"}] * n], "AB"), search).steps <= 4 * n


def test_matches_of_many_runs() -> None:
    automaton = compile_automaton(parse_row_pattern("(A B)+"), "AB")
    matches = sweep(automaton, rows_of([letters("AB" * 20_000)], "AB"), Search())
    assert (matches.end.tolist(), len(matches.run_label)) == ([40_000], 40_000)
    assert matches.run_label.tolist() == [0, 1] * 20_000


def test_long_bounds() -> None:
    assert search_text("A{600}", "A" * 601) == [(0, "A" * 600)]
    assert search_text("(A?){50} A{50}", "A" * 70) == [(0, "A" * 70)]
