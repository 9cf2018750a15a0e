"""Slot code: listings, registers, and arithmetic at the edges (semantics.md §1.6–7)."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from sparkcep.engine.backtrack import backtrack
from sparkcep.engine.matches import Rows, Search
from sparkcep.engine.program import compile_program
from sparkcep.engine.slots import lower, operand_columns
from sparkcep.logical.slots import (
    ALL_ROWS,
    BIGINT,
    BOOLEAN,
    CURRENT_ROW,
    DOUBLE,
    STRING,
    Arithmetic,
    Choice,
    ClassifierOf,
    Comparison,
    ConstantValue,
    Logic,
    MatchNumber,
    Operand,
    Pick,
    Read,
    RowReference,
    RowSet,
    Running,
    SlotConditions,
    SlotExpression,
    SlotType,
    Unary,
)
from sparkcep.syntax.pattern import Label

A = RowSet(frozenset({0}))
LOW, HIGH = -(2**63), 2**63 - 1
NULL = ConstantValue(None, BIGINT)
TRUE, FALSE, UNKNOWN = (ConstantValue(value, BOOLEAN) for value in (True, False, None))


def whole(value: int | None, type_: SlotType = BIGINT) -> ConstantValue:
    return ConstantValue(value, type_)


def fraction(value: float | None) -> ConstantValue:
    return ConstantValue(value, DOUBLE)


def holds(condition: SlotExpression) -> bool:
    """Whether a condition over constants is TRUE."""
    code = lower(SlotConditions(("A",), (), (condition,)))
    rows = Rows(np.array([0, 1]), np.ones((1, 1), np.uint64))
    return len(backtrack(compile_program(Label("A"), ("A",)), code, rows, Search()).start) == 1


def same(left: SlotExpression, right: SlotExpression) -> bool:
    return holds(Comparison("<=>", left, right))


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (HIGH, "+", 1, None),
        (LOW, "+", -1, None),
        (HIGH, "+", LOW, -1),
        (LOW, "-", 1, None),
        (0, "-", LOW, None),
        (-1, "-", LOW, HIGH),
        (2**32, "*", 2**31, None),
        (2**32, "*", 2**31 - 1, 2**63 - 2**32),
        (LOW, "*", -1, None),
        (-1, "*", LOW, None),
        (LOW, "*", 1, LOW),
        (-(2**32), "*", 2**31, LOW),
        (3037000500, "*", 3037000500, None),
        (0, "*", LOW, 0),
        (7, "div", -2, -3),
        (-7, "div", 2, -3),
        (-6, "div", 2, -3),
        (LOW, "div", -1, None),
        (5, "div", -1, -5),
        (1, "div", 0, None),
        (7, "%", -2, 1),
        (-7, "%", 2, -1),
        (LOW, "%", -1, 0),
        (1, "%", 0, None),
        (None, "+", 1, None),
        (1, "div", None, None),
    ],
)
def test_whole_numbers(left: int | None, operator: Any, right: int | None, result: int | None) -> None:
    assert same(Arithmetic(operator, whole(left), whole(right), BIGINT), whole(result))


def test_a_result_outside_of_its_type_is_null() -> None:
    byte = SlotType("int", -128, 127)
    assert same(Arithmetic("+", whole(127), whole(1), byte), NULL)
    assert same(Arithmetic("-", whole(-127), whole(1), byte), whole(-128))
    assert same(Unary("-", whole(-128), byte), NULL)
    assert same(Unary("abs", whole(LOW), BIGINT), NULL)
    assert same(Unary("abs", whole(LOW + 1), BIGINT), whole(HIGH))
    assert same(Unary("rescale", whole(12), SlotType("int", -999, 999, 1)), whole(120))
    assert same(Unary("rescale", whole(12), SlotType("int", -999, 999, 2)), NULL)


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (1.0, "/", 0.0, None),
        (1.0, "/", -0.0, None),
        (1e308, "*", 10.0, math.inf),
        (math.inf, "-", math.inf, math.nan),
        (-7.5, "%", 2.0, -1.5),
        (7.5, "%", -2.0, 1.5),
        (1.0, "%", 0.0, None),
        (1.0, "+", None, None),
    ],
)
def test_fractions(left: float | None, operator: Any, right: float | None, result: float | None) -> None:
    assert same(Arithmetic(operator, fraction(left), fraction(right), DOUBLE), fraction(result))


def test_nan_is_equal_to_itself_and_greatest() -> None:
    nan, minus_zero, zero = fraction(math.nan), fraction(-0.0), fraction(0.0)
    for operator in ("=", "<=", ">="):
        assert holds(Comparison(operator, nan, nan))
        assert holds(Comparison(operator, minus_zero, zero))
    assert not holds(Comparison("!=", nan, nan))
    assert holds(Comparison(">", nan, fraction(math.inf)))
    assert not holds(Comparison("<", nan, nan))
    assert not holds(Comparison("<", minus_zero, zero))
    assert holds(Unary("is nan", nan, BOOLEAN))
    assert not holds(Unary("is nan", fraction(None), BOOLEAN))
    assert same(Pick("greatest", (fraction(1.0), nan, fraction(None)), DOUBLE), nan)
    assert same(Pick("least", (nan, fraction(None), fraction(1.0)), DOUBLE), fraction(1.0))


def test_big_whole_numbers_compare_exactly() -> None:
    assert holds(Comparison("<", whole(2**53), whole(2**53 + 1)))
    assert holds(Comparison(">=", whole(HIGH), whole(HIGH - 1)))
    assert holds(Comparison("!=", whole(LOW), whole(LOW + 1)))


def test_a_decimal_becomes_the_nearest_double() -> None:
    for scale, unscaled in itertools.product((0, 1, 5, 18), (1, 3, 123456789012345678, -999999999999999999, 2**53 + 1)):
        exact = float(Decimal(unscaled).scaleb(-scale))
        decimal = whole(unscaled, SlotType("int", LOW, HIGH, scale))
        assert same(Unary("to float", decimal, DOUBLE), fraction(exact)), (unscaled, scale)


def test_three_valued_logic() -> None:
    values = (True, False, None)
    for left, right in itertools.product(values, values):
        trees = ConstantValue(left, BOOLEAN), ConstantValue(right, BOOLEAN)
        conjunction = False if False in (left, right) else None if None in (left, right) else True
        disjunction = True if True in (left, right) else None if None in (left, right) else False
        assert same(Logic("and", *trees), ConstantValue(conjunction, BOOLEAN))
        assert same(Logic("or", *trees), ConstantValue(disjunction, BOOLEAN))
    assert same(Unary("not", UNKNOWN, BOOLEAN), UNKNOWN)
    assert holds(Unary("is null", UNKNOWN, BOOLEAN))
    assert holds(Unary("is false", FALSE, BOOLEAN))
    assert not holds(Unary("is true", UNKNOWN, BOOLEAN))
    assert not holds(Unary("is false", UNKNOWN, BOOLEAN))


def test_choices() -> None:
    assert same(Choice(UNKNOWN, whole(1), whole(2), BIGINT), whole(2))
    assert same(Choice(TRUE, whole(1), whole(2), BIGINT), whole(1))
    assert same(Pick("coalesce", (NULL, whole(3), whole(4)), BIGINT), whole(3))
    assert same(Pick("least", (whole(3), NULL, whole(-4)), BIGINT), whole(-4))
    assert same(Pick("greatest", (NULL, NULL), BIGINT), NULL)
    assert holds(Comparison("=", MatchNumber(), whole(1)))


def test_a_lone_constant_is_a_condition() -> None:
    assert holds(TRUE)
    assert not holds(FALSE)
    assert not holds(UNKNOWN)


OPERANDS = (Operand("v", BIGINT), Operand("x", DOUBLE), Operand("s", STRING), Operand("y", DOUBLE))


def conditions() -> SlotConditions:
    v, before = Read(0, CURRENT_ROW, BIGINT), Read(0, RowReference(A, "last", 1), BIGINT)
    falls = Comparison(">", before, v)
    deep = Comparison("<", Arithmetic("-", before, v, BIGINT), ConstantValue(5, BIGINT))
    mean = Running("avg", 0, BIGINT, A, DOUBLE)
    named = Comparison("=", ClassifierOf(CURRENT_ROW, -1), ConstantValue("A", STRING))
    first = Read(3, RowReference(ALL_ROWS, "first"), DOUBLE)
    return SlotConditions(
        ("A", "B", "C"),
        OPERANDS,
        (Logic("and", falls, deep), Logic("or", named, Comparison(">=", mean, first)), None),
    )


def test_listing_shows_shared_expressions_once() -> None:
    assert str(lower(conditions())) == "\n".join(
        [
            "A:",
            "  r2 = v at row",
            "  r3 = last row of {A}, 1",
            "  r4 = v at r3",
            "  r5 = r2 < r4",
            "  r6 = r4 - r2",
            "  r8 = r6 < 5",
            "  r9 = r5 and r8",
            "  test r9",
            "B:",
            "  r10 = classifier at row - 1",
            "  r12 = r10 = 'A'",
            "  r13 = first row of all rows",
            "  r14 = y at r13",
            "  r15 = avg of v over {A}",
            "  r16 = r14 <= r15",
            "  r17 = r12 or r16",
            "  test r17",
        ]
    )


def test_literals_and_codes() -> None:
    code = lower(conditions())
    assert code.literals == {"string": {"A", "B", "C"}}
    bound, registers = code.bound({"string": {"A": 4, "B": 6, "C": 7}})
    assert bound.classifiers.tolist() == [4, 6, 7]
    assert registers.integers[11] == 4
    assert code.row_sets == (A,)
    assert operand_columns(OPERANDS) == ((False, 0), (True, 0), (False, 1), (True, 1))


def test_decimal_literals_are_exact() -> None:
    decimal = SlotType("code", scale=3, domain="decimal")
    read = Read(0, CURRENT_ROW, decimal)
    big = 12345678901234567890123456789012345678
    tree = Comparison("<", read, ConstantValue(big, decimal))
    code = lower(SlotConditions(("A",), (Operand("d", decimal),), (tree,)))
    assert code.literals == {"decimal": {Decimal("12345678901234567890123456789012345.678")}}


@pytest.mark.parametrize(
    "tree",
    [
        Comparison("=", whole(1), fraction(1.0)),
        Arithmetic("/", whole(1), whole(1), BIGINT),
        Comparison("=", Running("sum", 1, DOUBLE, A, BIGINT), whole(1)),
    ],
)
def test_a_tree_of_mixed_kinds_is_refused(tree: SlotExpression) -> None:
    with pytest.raises(TypeError):
        lower(SlotConditions(("A",), OPERANDS, (tree,)))
