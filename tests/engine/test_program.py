"""Programs of the backtracking matcher: pattern → numbered instructions (ISO/IEC 19075-5, 4.14)."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sparkcep.engine import program as machine
from sparkcep.engine.matches import MatchLabel
from sparkcep.engine.program import Program, compile_program, has_choice
from sparkcep.errors import PlanError
from sparkcep.syntax.pattern import variables_of
from sparkcep.syntax.row_pattern import parse_row_pattern


def compiled(text: str) -> Program:
    pattern = parse_row_pattern(text)
    return compile_program(pattern, variables_of(pattern))


def listing(text: str) -> list[str]:
    """The instructions without their addresses."""
    return [line.split(": ", 1)[1] for line in str(compiled(text)).splitlines()]


@pytest.mark.parametrize(
    ("pattern", "instructions"),
    [
        ("A B", ["match A", "match B", "done"]),
        ("()", ["done"]),
        ("A | B | ()", ["split 1, 3", "match A", "jump 6", "split 4, 6", "match B", "jump 6", "done"]),
        ("A?", ["split 1, 2", "match A", "done"]),
        ("A??", ["split 2, 1", "match A", "done"]),
        ("A*", ["split 1, 3", "match A", "jump 0", "done"]),
        ("A*?", ["split 3, 1", "match A", "jump 0", "done"]),
        ("A+", ["match A", "split 0, 2", "done"]),
        ("A+?", ["match A", "split 2, 0", "done"]),
        ("(A B)+", ["match A", "match B", "split 0, 3", "done"]),
        ("A{3}", ["enter loop 0", "round loop 0", "match A", "repeat loop 0 {3,3} body 1", "done"]),
        ("A{2,}?", ["enter loop 0", "round loop 0", "match A", "repeat loop 0 {2,}? body 1", "done"]),
        ("A{,4}", ["enter loop 0", "split 2, 5", "round loop 0", "match A", "repeat loop 0 {0,4} body 2", "done"]),
        (
            "(A??)*",
            [
                "enter loop 0",
                "split 2, 6",
                "round loop 0",
                "split 5, 4",
                "match A",
                "repeat loop 0 {0,} body 2",
                "done",
            ],
        ),
        ("^ A $", ["anchor ^", "match A", "anchor $", "done"]),
        ("{- A B -} A", ["match {- A -}", "match {- B -}", "match A", "done"]),
        (
            "PERMUTE(A, B)",
            [
                *("permute 0 enter", "permute 0 next of 2, exit 8", "jump 4", "jump 6"),
                *("match A", "jump 1", "match B", "jump 1", "done"),
            ],
        ),
        (
            "PERMUTE(A+, B)",
            ["split 1, 5", "match A", "split 1, 3", "match B", "jump 8", "match B", "match A", "split 6, 8", "done"],
        ),
    ],
)
def test_listing(pattern: str, instructions: list[str]) -> None:
    assert listing(pattern) == instructions


@pytest.mark.parametrize(
    ("pattern", "same_as"),
    [
        ("(^)*", "()"),
        ("(^){2,}", "^"),
        ("(^ | $)+", "(^ | $)"),
        ("()+", "()"),
        ("A{1}", "A"),
        ("A{1,}", "A+"),
        ("A{0,1}?", "A??"),
    ],
)
def test_equal_programs(pattern: str, same_as: str) -> None:
    assert listing(pattern) == listing(same_as)


def test_labels_tell_variable_and_exclusion_apart() -> None:
    program = compiled("A {- A B -} B A")
    assert program.labels == (MatchLabel(0, False), MatchLabel(0, True), MatchLabel(1, True), MatchLabel(1, False))
    assert [i.a for i in program.instructions if i.op == machine.MATCH] == [0, 1, 2, 3, 0]


def test_a_program_is_as_long_as_its_pattern() -> None:
    assert len(compiled("A{600}").instructions) == len(compiled("A{2}").instructions)
    assert len(compiled("PERMUTE(A, B, C, D, E, F, G, H, I, J)").instructions) == 33


def test_encoding() -> None:
    program = compiled("A{2,5}? B")
    op, a, b, c, d = program.encode()
    assert op.tolist() == [machine.ENTER, machine.ROUND, machine.MATCH, machine.REPEAT_RELUCTANT, machine.MATCH, 10]
    assert (a[3], b[3], c[3], d[3]) == (0, 2, 5, 1)
    assert all(column.dtype == np.int64 and column.flags.c_contiguous for column in (op, a, b, c, d))
    assert (program.loops, program.permutations) == (1, 0)


def test_programs_can_be_sent_elsewhere() -> None:
    program = compiled("A+ (B | PERMUTE(C, D))")
    assert pickle.loads(pickle.dumps(program)) == program


@pytest.mark.parametrize("pattern", ["A", "A B{3} ^", "{- A -}", "(A B){2}"])
def test_no_choice(pattern: str) -> None:
    assert not has_choice(parse_row_pattern(pattern))


@pytest.mark.parametrize("pattern", ["A?", "A{2,3}", "A | B", "PERMUTE(A, B)", "A {- B* -}"])
def test_choice(pattern: str) -> None:
    assert has_choice(parse_row_pattern(pattern))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("PERMUTE(A+, B, C, D, E, F, G)", "7 parts, some with choices"),
        ("PERMUTE(" + ", ".join(f"V{i}" for i in range(64)) + ")", "PERMUTE of 64 parts"),
        ("PERMUTE(PERMUTE(A?,B,C,D,E,F), B, C, D, E, PERMUTE(A?,B,C,D,E,F))", "too many instructions"),
    ],
)
def test_too_large(pattern: str, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        compiled(pattern)
    assert caught.value.code == "PATTERN_TOO_LARGE"
