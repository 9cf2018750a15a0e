"""The sweep matcher finds what the definition says, whole or in pieces, on random patterns and rows."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.matches import TO_NEXT_ROW, Rows, Search
from sparkcep.engine.sweep import sweep
from sparkcep.syntax import pattern as tree
from sparkcep.syntax.row_pattern import parse_row_pattern
from tests.engine import strategies as random
from tests.engine.searches import Found, found_in, naive_search, outcome, rows_of

PROFILE = settings(
    max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
PADDING = tuple(f"P{i}" for i in range(70))
Outcome = list[Found] | tuple[str, int, int, int]


def defined(
    pattern: tree.RowPattern, groups: list[list[set[str]]], search: Search, order: list[float] | None = None
) -> Outcome:
    try:
        return naive_search(pattern, groups, search, random.VARIABLES, order)
    except OverflowError:
        assume(False)
        raise


@PROFILE
@given(random.patterns, random.groups, random.searches())
def test_equals_the_definition(pattern: tree.RowPattern, groups: list[list[set[str]]], search: Search) -> None:
    automaton = compile_automaton(pattern, random.VARIABLES)
    rows = rows_of(groups, random.VARIABLES)
    found = outcome(lambda: found_in(sweep(automaton, rows, search), automaton.labels, random.VARIABLES))
    assert found == defined(pattern, groups, search)


@PROFILE
@given(random.patterns, random.groups, random.searches(), st.sampled_from([9, 70]), st.booleans())
def test_large_automata_and_many_variables(
    pattern: tree.RowPattern, groups: list[list[set[str]]], search: Search, positions: int, many: bool
) -> None:
    never = tree.Quantified(tree.Label("NEVER"), positions, positions)
    variables = (*random.VARIABLES, "NEVER") if not many else (*PADDING, "NEVER", *random.VARIABLES)
    targets = tuple(variables.index(random.VARIABLES[v]) for v in search.skip_variables)
    automaton = compile_automaton(tree.Alternation((never, pattern)), variables)
    rows, moved = rows_of(groups, variables), dataclasses.replace(search, skip_variables=targets)
    found = outcome(lambda: found_in(sweep(automaton, rows, moved), automaton.labels, variables))
    assert found == defined(pattern, groups, search)


@PROFILE
@given(
    random.patterns,
    st.lists(st.tuples(random.rows, st.sampled_from([0, 0, 0.5, 1, 3])), max_size=9),
    random.searches(),
    st.booleans(),
)
def test_uneven_order_values(
    pattern: tree.RowPattern, steps: list[tuple[set[str], float]], search: Search, inclusive: bool
) -> None:
    order = [sum(step for _, step in steps[: i + 1]) + 0.0 for i in range(len(steps))]
    groups, search = [[row for row, _ in steps]], dataclasses.replace(search, inclusive=inclusive)
    automaton = compile_automaton(pattern, random.VARIABLES)
    rows = rows_of(groups, random.VARIABLES, order)
    found = outcome(lambda: found_in(sweep(automaton, rows, search), automaton.labels, random.VARIABLES))
    assert found == defined(pattern, groups, search, order)


def in_pieces(
    pattern: tree.RowPattern, groups: list[list[set[str]]], search: Search, lengths: list[int]
) -> tuple[list[Found], int]:
    """Feed the last group piece by piece, each call from where the search has to go on; also the last resume."""
    automaton = compile_automaton(pattern, random.VARIABLES)
    before, last = groups[:-1], groups[-1]
    done = sum(map(len, before))
    rows = rows_of(before, random.VARIABLES)
    result = found_in(sweep(automaton, rows, search), automaton.labels, random.VARIABLES) if before else []
    resume, number, buffered = 0, 1, 0
    for length in [*lengths, len(last)]:
        buffered = min(len(last), buffered + length)
        piece = rows_of([last[resume:buffered]], random.VARIABLES)
        complete = buffered == len(last)
        piece = dataclasses.replace(piece, first_number=number, at_start=resume == 0, complete=complete)
        matches = sweep(automaton, piece, search)
        for found in found_in(matches, automaton.labels, random.VARIABLES):
            base = done + resume
            result.append(found._replace(group=len(before), start=base + found.start, end=base + found.end))
        resume, number = resume + matches.resume, matches.next_number
        if complete:
            break
    return result, resume


@PROFILE
@given(random.patterns, random.groups, random.searches(), st.lists(st.integers(0, 4), max_size=4))
def test_a_group_in_pieces_equals_the_whole(
    pattern: tree.RowPattern, groups: list[list[set[str]]], search: Search, lengths: list[int]
) -> None:
    expected = defined(pattern, groups, search)
    assume(isinstance(expected, list))
    assert in_pieces(pattern, groups, search, lengths) == (expected, len(groups[-1]))


@pytest.mark.parametrize("search", [Search(max_rows=2), Search(within=1)])
def test_starts_wait_until_their_window_is_closed(search: Search) -> None:
    automaton = compile_automaton(tree.Label("A"), "A")
    rows = dataclasses.replace(rows_of([[{"A"}], [{"A"}] * 5], "A"), complete=False)
    matches = sweep(automaton, rows, search)
    assert matches.start.tolist() == [0, 1, 2, 3]
    assert (matches.resume, matches.next_number) == (4, 4)


def test_without_a_limit_no_window_ever_closes() -> None:
    automaton = compile_automaton(tree.Label("A"), "A")
    rows = dataclasses.replace(rows_of([[{"A"}] * 3, [{"A"}] * 5], "A"), complete=False)
    matches = sweep(automaton, rows, Search())
    assert matches.start.tolist() == [0, 1, 2]
    assert (matches.resume, matches.next_number) == (3, 1)


@pytest.mark.parametrize("width", [1, 3, 700, 1500, 5000])
@pytest.mark.parametrize("padding", [0, 9])
def test_windows_and_groups_longer_than_a_block(width: int, padding: int) -> None:
    """Rows are A, some are B too: from each row the match ends with the last B of the window."""
    random_rows = np.random.default_rng(width)
    offsets = np.array([0, 4000, 4010, 4500, 9000])
    is_b = random_rows.random(9000) < 0.004
    rows = Rows(offsets, (1 + 2 * is_b.astype(np.uint64)).reshape(1, -1))
    never = f"NEVER{{{padding}}} | " if padding else ""
    automaton = compile_automaton(parse_row_pattern(f"{never}(A | B)+ B"), ("A", "B", "NEVER"))
    matches = sweep(automaton, rows, Search(TO_NEXT_ROW, max_rows=width))
    expected = []
    for begin, end in itertools.pairwise(offsets):
        ends = begin + np.flatnonzero(is_b[begin:end])
        for start in range(begin, end):
            inside = ends[(ends > start) & (ends < start + width)]
            if len(inside):
                expected.append((start, inside[-1] + 1))
    assert list(zip(matches.start.tolist(), matches.end.tolist(), strict=True)) == expected


@pytest.mark.parametrize("text", ["A+ B", "A B*? C", "(A | B)+ C", "A{2,3}? (B | C)*", "^ A | C"])
@pytest.mark.parametrize("search", [Search(), Search(TO_NEXT_ROW, max_rows=7), Search(within=4)])
def test_many_rows_and_groups(text: str, search: Search) -> None:
    draw = np.random.default_rng(5)
    drawn = draw.random((3000, 3)) < 0.6
    rows = [{name for name, satisfied in zip("ABC", row, strict=True) if satisfied} for row in drawn]
    borders = [0, *np.sort(draw.integers(0, 3000, 60)).tolist(), 3000]
    groups = [rows[a:b] for a, b in itertools.pairwise(borders)]
    pattern = parse_row_pattern(text)
    automaton = compile_automaton(pattern, random.VARIABLES)
    found = found_in(sweep(automaton, rows_of(groups, random.VARIABLES), search), automaton.labels, random.VARIABLES)
    assert found == naive_search(pattern, groups, search, random.VARIABLES)
