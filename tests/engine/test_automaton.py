"""Automata of the sweep matcher: pattern → states and edges in order of preference (ISO/IEC 19075-5, 4.14)."""

from __future__ import annotations

import pickle

import pytest

from sparkcep.engine.automaton import ACCEPT, ACCEPT_AT_END, Automaton, compile_automaton
from sparkcep.engine.program import compile_program
from sparkcep.errors import PlanError
from sparkcep.syntax.pattern import variables_of
from sparkcep.syntax.row_pattern import parse_row_pattern


def compiled(text: str, max_states: int = 1024) -> Automaton:
    pattern = parse_row_pattern(text)
    return compile_automaton(pattern, variables_of(pattern), max_states)


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("A B", ["start -> 0 A", "0 A -> 1 B", "1 B -> accept"]),
        ("A | A B", ["start -> 0 A, 1 A", "0 A -> accept", "1 A -> 2 B", "2 B -> accept"]),
        ("A+", ["start -> 0 A", "0 A -> 0 A, accept"]),
        ("A*? B", ["start -> 1 B, 0 A", "0 A -> 1 B, 0 A", "1 B -> accept"]),
        ("A+?", ["start -> 0 A", "0 A -> accept"]),
        ("A{2,3}", ["start -> 0 A", "0 A -> 1 A", "1 A -> 2 A, accept", "2 A -> accept"]),
        ("A{2,}", ["start -> 0 A", "0 A -> 1 A", "1 A -> 1 A, accept"]),
        ("()", ["start -> accept"]),
        ("()*", ["start -> accept"]),
        ("(A*)*", ["start -> 0 A, accept", "0 A -> 0 A, accept"]),
        ("(A??)*", ["start -> 0 A, accept", "0 A -> 0 A, accept"]),
        ("A* A* B", ["start -> 0 A, 1 A, 2 B", "0 A -> 0 A, 1 A, 2 B", "1 A -> 1 A, 2 B", "2 B -> accept"]),
        ("A $", ["start -> 0 A", "0 A -> accept at $"]),
        ("A (B | $)", ["start -> 0 A", "0 A -> 1 B, accept at $", "1 B -> accept"]),
        ("A ($ | B | ())", ["start -> 0 A", "0 A -> accept at $, 1 B, accept", "1 B -> accept"]),
        ("A $ B", ["start -> 0 A", "0 A -> nothing"]),
        ("A ^ B", ["start -> 0 A", "0 A -> nothing"]),
        (
            "^ A | B",
            ["start -> 0 B", "start of partition -> 1 A, 0 B", "0 B -> accept", "1 A -> accept"],
        ),
        ("A {- B -}", ["start -> 0 A", "0 A -> 1 {- B -}", "1 {- B -} -> accept"]),
        (
            "PERMUTE(A, B)",
            ["start -> 0 A, 1 B", "0 A -> 2 B", "1 B -> 3 A", "2 B -> accept", "3 A -> accept"],
        ),
        (
            "PERMUTE(A?, B)",
            ["start -> 0 A, 1 B, 2 B", "0 A -> 1 B", "1 B -> accept", "2 B -> 3 A, accept", "3 A -> accept"],
        ),
    ],
)
def test_listing(pattern: str, lines: list[str]) -> None:
    listed = str(compiled(pattern)).splitlines()
    assert renumbered(listed) == renumbered(lines)


def renumbered(lines: list[str]) -> list[str]:
    """The lines, sorted, with states numbered by first appearance: which numbers they have is free."""
    words = [word for line in lines for word in line.replace(",", " ,").split()]
    numbers = {old: str(new) for new, old in enumerate(dict.fromkeys(word for word in words if word.isdigit()))}
    renamed = [" ".join(numbers.get(word, word) for word in line.replace(",", " ,").split()) for line in lines]
    return sorted(renamed)


def test_permutations_share_the_sets_of_used_parts() -> None:
    assert len(compiled("PERMUTE(A, B, C, D, E, F, G)").positions) == 7 * 2**6


def test_starts_differ_only_with_an_anchor() -> None:
    assert compiled("A ^ B").edges[-2] == compiled("A ^ B").edges[-1]
    anchored = compiled("^ A")
    assert anchored.edges[-2:] == ((0,), ())


def test_nothing_behind_acceptance_is_kept() -> None:
    for edges in compiled("(A | () | B)*? | C").edges:
        assert ACCEPT not in edges[:-1]
    assert compiled("$").edges[-1] == (ACCEPT_AT_END,)


def test_labels_are_those_of_the_program() -> None:
    pattern = parse_row_pattern("A {- A B -} (B | C)* A")
    variables = variables_of(pattern)
    assert compile_automaton(pattern, variables).labels == compile_program(pattern, variables).labels


def test_automata_can_be_sent_elsewhere() -> None:
    automaton = compiled("A+ (B | PERMUTE(C, D))")
    assert pickle.loads(pickle.dumps(automaton)) == automaton


@pytest.mark.parametrize("pattern", ["A{1025}", "A{2,2000000000}", "(A?){600}", "PERMUTE(A,B,C,D,E,F,G,H,I,J,K,L)"])
def test_too_large(pattern: str) -> None:
    with pytest.raises(PlanError) as caught:
        compiled(pattern)
    assert caught.value.code == "PATTERN_TOO_LARGE"


def test_the_limit_on_states() -> None:
    assert len(compiled("A{10}", max_states=10).positions) == 10
    with pytest.raises(PlanError, match="at most 9 states"):
        compiled("A{10}", max_states=9)
