"""The sweep matcher finds what the definition says, whole or in pieces, on random patterns and rows."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.matches import Search
from sparkcep.engine.sweep import sweep
from sparkcep.syntax import pattern as tree
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
