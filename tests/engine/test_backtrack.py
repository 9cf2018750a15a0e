"""The backtracking matcher by example (ISO/IEC 19075-5, 4.12–4.16)."""

from __future__ import annotations

import numpy as np
import pytest

from sparkcep.engine.backtrack import backtrack
from sparkcep.engine.matches import PAST_LAST_ROW, TO_FIRST, TO_LAST, TO_NEXT_ROW, Matches, Rows, Search, SearchFault
from sparkcep.engine.program import compile_program
from sparkcep.engine.slots import lower
from sparkcep.logical.slots import (
    ALL_ROWS,
    BIGINT,
    BOOLEAN,
    CURRENT_ROW,
    STRING,
    ClassifierOf,
    Comparison,
    ConstantValue,
    Logic,
    MatchNumber,
    Operand,
    Read,
    RowReference,
    RowSet,
    Running,
    SlotConditions,
    SlotExpression,
    Unary,
)
from sparkcep.syntax.pattern import variables_of
from sparkcep.syntax.row_pattern import parse_row_pattern
from tests.engine.searches import found_in, letters, rows_of

V = (Operand("v", BIGINT),)
CURRENT = Read(0, CURRENT_ROW, BIGINT)
A, B = RowSet(frozenset({0})), RowSet(frozenset({1}))


def last(rows: RowSet, offset: int = 0) -> Read:
    return Read(0, RowReference(rows, "last", offset), BIGINT)


def first(rows: RowSet) -> Read:
    return Read(0, RowReference(rows, "first"), BIGINT)


def running(function: str, rows: RowSet) -> Running:
    return Running(function, 0, BIGINT, rows, BIGINT)  # type: ignore[arg-type]


def constant(value: int) -> ConstantValue:
    return ConstantValue(value, BIGINT)


def is_variable(name: str, shift: int = 0) -> Comparison:
    return Comparison("=", ClassifierOf(CURRENT_ROW, shift), ConstantValue(name, STRING))


def rises(rows: RowSet) -> SlotExpression:
    """v is greater than at the row before in `rows`, if there is one."""
    before = last(rows, 1)
    return Logic("or", Unary("is null", before, BOOLEAN), Comparison(">", CURRENT, before))


def search_rows(
    text: str,
    rows: Rows,
    conditions: dict[str, SlotExpression],
    search: Search | None = None,
    **options: int,
) -> tuple[Matches, list[tuple[int, str]]]:
    """The matches, and start and labels of each; excluded labels in lower case."""
    pattern = parse_row_pattern(text)
    variables = variables_of(pattern)
    program = compile_program(pattern, variables)
    code = lower(SlotConditions(variables, V, tuple(conditions.get(name) for name in variables)))
    codes = {"string": {name: i for i, name in enumerate(sorted({*variables, "nobody"}))}}
    matches = backtrack(program, code, rows, search or Search(), codes, **options)
    found = [
        (match.start, "".join(name.lower() if excluded else name for name, excluded in match.labels))
        for match in found_in(matches, program.labels, variables)
    ]
    return matches, found


def search_text(
    text: str, rows: str, search: Search | None = None, **conditions: SlotExpression
) -> list[tuple[int, str]]:
    variables = variables_of(parse_row_pattern(text))
    given = rows_of([letters(rows)], variables)
    found = [search_rows(text, given, conditions, search, patience=p)[1] for p in (0, 99)]
    assert found[0] == found[1]
    return found[0]


def search_values(
    text: str, values: list[int], search: Search | None = None, **conditions: SlotExpression
) -> list[tuple[int, str]]:
    """Rows that satisfy the row-only conditions of all variables."""
    variables = variables_of(parse_row_pattern(text))
    found = [search_rows(text, with_values(values, variables), conditions, search, patience=p)[1] for p in (0, 99)]
    assert found[0] == found[1]
    return found[0]


def with_values(values: list[int] | np.ndarray, variables: tuple[str, ...], but: str = "") -> Rows:
    """One group of rows that satisfy all variables except `but`."""
    bits = sum(1 << i for i, name in enumerate(variables) if name not in but)
    numbers = np.array(values, np.int64)[np.newaxis]
    count = numbers.shape[1]
    return Rows(
        np.array([0, count]),
        np.full((1, count), bits, np.uint64),
        np.arange(count),
        integers=numbers,
        integer_nulls=np.zeros(numbers.shape, np.bool_),
    )


@pytest.mark.parametrize(
    ("pattern", "rows", "matches"),
    [
        ("A B+ C", "ABBBCD", [(0, "ABBBC")]),
        ("A | A B", "AB", [(0, "A")]),
        ("A+ B", "AA[AB]A", [(0, "AAB")]),
        ("A*", "AAB", [(0, "AA"), (2, "")]),
        ("A*?", "AA", [(0, ""), (1, "")]),
        ("()", "AA", [(0, ""), (1, "")]),
        ("(A??)* B", "-B", [(1, "B")]),
        ("(A??)* B", "[AB][AB][AB]", [(0, "AAB")]),
        ("(E?){2,} Y", "[EY][EY][EY][EY][EY][EY]", [(0, "EEEEEY")]),
        ("(A*)*", "AA", [(0, "AA")]),
        ("A{2,3}", "AAAAAAA", [(0, "AAA"), (3, "AAA")]),
        ("A{2,3}?", "AAAAA", [(0, "AA"), (2, "AA")]),
        ("(A{2} B){2}", "AABAABAAB", [(0, "AABAAB")]),
        ("PERMUTE(A, B, C)", "CAB", [(0, "CAB")]),
        ("PERMUTE(A, B)", "[AB][AB]", [(0, "AB")]),
        ("PERMUTE(A, B?, C?) D", "AD", [(0, "AD")]),
        ("PERMUTE(A, B)", "[AB]A", [(0, "BA")]),
        ("(A | A A){2} B", "AAAAB", [(0, "AAAAB")]),
        ("(PERMUTE(A, B))+ C", "ABBAABC", [(0, "ABBAABC")]),
        ("^ A", "AA", [(0, "A")]),
        ("A $", "AA", [(1, "A")]),
        ("A $ B", "AB", []),
        ("(^ A | B) C", "ACACBC", [(0, "AC"), (4, "BC")]),
        ("A {- B+ -} C", "ABBC", [(0, "AbbC")]),
        ("A | ()", "AB", [(0, "A"), (1, "")]),
        ("A B", "", []),
    ],
)
def test_preferred_matches(pattern: str, rows: str, matches: list[tuple[int, str]]) -> None:
    assert search_text(pattern, rows) == matches


@pytest.mark.parametrize(
    ("skip", "targets", "matches"),
    [
        (PAST_LAST_ROW, (), [(0, "ABBC")]),
        (TO_NEXT_ROW, (), [(0, "ABBC"), (3, "C")]),
        (TO_FIRST, (1, 2), [(0, "ABBC"), (3, "C")]),
        (TO_LAST, (0, 1), [(0, "ABBC"), (3, "C")]),
    ],
)
def test_skip_modes(skip: int, targets: tuple[int, ...], matches: list[tuple[int, str]]) -> None:
    """semantics.md §2.15; a match that starts at its target would never end."""
    search = Search(skip, targets)
    if skip == TO_FIRST:
        with pytest.raises(SearchFault) as raised:
            search_text("A B+ C | C", "ABBC", search)
        assert (raised.value.kind, raised.value.row, raised.value.number) == ("target is first row", 3, 2)
        return
    if skip == TO_LAST:
        with pytest.raises(SearchFault) as raised:
            search_text("A B+ C | C", "ABBC", search)
        assert (raised.value.kind, raised.value.row) == ("target not bound", 3)
        return
    assert search_text("A B+ C | C", "ABBC", search) == matches


def test_limits_let_the_pattern_back_off() -> None:
    """semantics.md §2.20."""
    assert search_text("A+ | B", "AAAAA", Search(within=2)) == [(0, "AAA"), (3, "AA")]
    assert search_text("A+", "AAAAA", Search(max_rows=2)) == [(0, "AA"), (2, "AA"), (4, "A")]
    assert search_text("A+", "AAA", Search(within=-1)) == []
    assert search_text("A+ B", "AAAB", Search(max_rows=3)) == [(1, "AAB")]


def test_navigation() -> None:
    assert search_values("A B+ C+", [9, 7, 5, 6, 8, 4], B=Comparison("<", CURRENT, last(ALL_ROWS, 1))) == [
        (0, "ABBC" + "CC")
    ]
    falls, climbs = Comparison("<", CURRENT, last(ALL_ROWS, 1)), Comparison(">", CURRENT, last(ALL_ROWS, 1))
    assert search_values("A B+ C+", [9, 7, 5, 6, 8, 4, 3, 9], B=falls, C=climbs) == [(0, "ABBCC"), (5, "ABC")]
    assert search_values("A+ B", [5, 6, 7, 4], A=rises(A), B=Comparison("<", CURRENT, first(A))) == [(0, "AAAB")]


def test_aggregates() -> None:
    """semantics.md §2.7: the row under test is taken in."""
    low = Comparison("<=", running("sum", A), constant(16))
    assert search_values("A+", [7, 9, 10, 5, 10], A=low) == [(0, "AA"), (2, "AA"), (4, "A")]
    few = Comparison("<=", Running("count", None, None, A, BIGINT), constant(2))
    assert search_values("A+ B", [1, 1, 1, 1], A=few) == [(0, "AAB")]
    two = Comparison("=", running("sum", A), constant(2))
    assert search_values("A+ B", [5, 1, 1, 9], B=two) == [(1, "AAB")]
    least = Comparison("=", running("min", RowSet(frozenset({0, 1}))), constant(3))
    assert search_values("A+ B", [5, 4, 3, 9], B=least) == [(0, "AAAB")]


def test_classifier_tells_paths_apart() -> None:
    """semantics.md §2.13."""
    assert search_values("(A | B) C", [1, 2], C=is_variable("B", -1)) == [(0, "BC")]
    assert search_values("(A | B)+ C", [1, 2, 3], C=is_variable("nobody", -2)) == []
    assert search_values("(A | B)+ C", [1, 2, 3], C=is_variable("B", -1)) == [(0, "ABC")]
    assert search_values("(A | B)+ C", [1, 2, 3, 4], C=is_variable("B", -2)) == [(0, "ABAC")]
    first_is_b = Comparison("=", ClassifierOf(RowReference(ALL_ROWS, "first")), ConstantValue("B", STRING))
    assert search_values("(A | B)+ C", [1, 2, 3, 4], C=first_is_b) == [(0, "BAAC")]


def test_match_number() -> None:
    odd = Comparison("!=", MatchNumber(), constant(2))
    assert search_values("A B? | B", [1, 1, 1, 1, 1], B=odd) == [(0, "AB"), (2, "A"), (3, "AB")]


def test_several_groups_and_the_first_one_continued() -> None:
    rows = rows_of([letters("AAB"), [], letters("BA")], ("A", "B"))
    rows.first_number, rows.at_start = 5, False
    matches, found = search_rows("^? (A | B)", rows, {})
    assert [name for _, name in found] == ["A", "A", "B", "B", "A"]
    assert matches.group.tolist() == [0, 0, 0, 2, 2]
    assert matches.number.tolist() == [5, 6, 7, 1, 2]
    assert (matches.resume, matches.next_number) == (5, 3)
    _, anchored = search_rows("^ A", rows_of([letters("A"), letters("A")], ("A",)), {})
    assert anchored == [(0, "A"), (1, "A")]


def test_an_open_group_is_decided_as_far_as_its_windows_are_closed() -> None:
    rows = rows_of([letters("AAAAAA")], ("A",))
    rows.complete = False
    matches, found = search_rows("A+", rows, {}, Search(within=2))
    assert found == [(0, "AAA")]
    assert (matches.resume, matches.next_number) == (3, 2)
    matches, found = search_rows("A+", rows, {}, Search(max_rows=2))
    assert found == [(0, "AA"), (2, "AA")]
    assert matches.resume == 4
    matches, found = search_rows("A+", rows, {})
    assert (found, matches.resume, matches.next_number) == ([], 0, 1)
    matches, found = search_rows("A+ $", rows, {}, Search(within=2))
    assert (found, matches.resume) == ([], 3)


def test_budget() -> None:
    with pytest.raises(SearchFault) as raised:
        search_text("A+ B", "AAAAAAAA", Search(max_steps=10))
    assert raised.value.kind == "budget"


LONG = 20_000


@pytest.mark.parametrize(
    ("pattern", "per_row"),
    [
        ("A+ B", 10),
        ("(A+)+ B", 30),
        ("A* A* A* A* B", 60),
        ("(A | C)+ B", 40),
        ("(A+ B)?", 15),
        ("A{3,} B", 30),
        ("((A | C){2,5})+ B", 90),
    ],
)
@pytest.mark.parametrize("dependent", [False, True])
def test_work_over_a_failing_run_is_linear(pattern: str, per_row: int, dependent: bool) -> None:
    variables = variables_of(parse_row_pattern(pattern))
    everyone = frozenset(i for i, name in enumerate(variables) if name != "B")
    condition = rises(RowSet(everyone))
    conditions = {name: condition for name in variables if name != "B"} if dependent else {}
    rows = with_values(np.arange(LONG), variables, but="B")
    matches, _ = search_rows(pattern, rows, conditions)
    assert matches.steps < per_row * LONG


def test_a_bounded_loop_before_a_loop_is_polynomial() -> None:
    matches, _ = search_rows("(A?){20} A{20} B", with_values(np.arange(2000), ("A", "B"), but="B"), {"A": rises(A)})
    assert matches.steps < 400 * 2000


def test_a_long_match_needs_no_call_stack() -> None:
    matches, _ = search_rows("A+", with_values(np.arange(300_000), ("A",)), {"A": rises(A)})
    assert matches.run_length.tolist() == [300_000]


def test_a_full_memo_still_finds_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkcep.engine.memo.MAX_WORDS", 5000)
    values = np.concatenate([np.arange(3000), [-1]])
    below = Comparison("<", CURRENT, constant(0))
    matches, found = search_rows("A+ B", with_values(values, ("A", "B")), {"A": rises(A), "B": below}, patience=0)
    assert [len(labels) for _, labels in found] == [3001]
    assert matches.steps > 0
