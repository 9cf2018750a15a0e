"""Random match-dependent conditions over an int, a float and a string operand."""

from __future__ import annotations

import math
from functools import cache

from hypothesis import strategies as st

from sparkcep.logical import slots
from sparkcep.logical.slots import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    Operand,
    RowReference,
    RowSet,
    SlotExpression,
    SlotType,
)

OPERANDS = (Operand("v", BIGINT), Operand("x", DOUBLE), Operand("s", STRING))
SMALL = SlotType("int", -20, 20)
WORDS = ("", "A", "B", "b")
Trees = st.SearchStrategy[SlotExpression]

row_sets = st.one_of(st.just(slots.ALL_ROWS), st.frozensets(st.integers(0, 2), min_size=1).map(RowSet))
references = st.builds(RowReference, row_sets, st.sampled_from(["first", "last"]), st.sampled_from([0, 0, 0, 1, 1, 2]))
int_types = st.sampled_from([BIGINT, BIGINT, SMALL])
whole_values = st.one_of(st.none(), st.integers(-3, 8), st.sampled_from([2**63 - 1, -(2**63), 2**62 + 1]))
fractions = st.sampled_from([None, 0.0, -0.0, 1.0, 2.5, -3.5, math.nan, math.inf, -math.inf, 1e308])
words = st.sampled_from([None, *WORDS])


def aggregates(operand: int, of: SlotType, functions: list[str], type_: SlotType) -> Trees:
    return st.builds(slots.Running, st.sampled_from(functions), st.just(operand), st.just(of), row_sets, st.just(type_))


@cache
def ints(depth: int) -> Trees:
    leaves = st.one_of(
        st.builds(slots.Read, st.just(0), references, st.just(BIGINT)),
        st.builds(slots.Read, st.just(0), references, st.just(BIGINT)),
        st.builds(slots.ConstantValue, whole_values, st.just(BIGINT)),
        aggregates(0, BIGINT, ["sum", "min", "max", "count"], BIGINT),
        aggregates(0, BIGINT, ["sum"], SMALL),
        aggregates(1, DOUBLE, ["count"], BIGINT),
        st.builds(slots.Running, st.just("count"), st.none(), st.none(), row_sets, st.just(BIGINT)),
        st.just(slots.MatchNumber()),
    )
    if depth == 0:
        return leaves
    some = ints(depth - 1)
    return st.one_of(
        leaves,
        leaves,
        st.builds(slots.Arithmetic, st.sampled_from(["+", "-", "*", "div", "%"]), some, some, int_types),
        st.builds(slots.Unary, st.sampled_from(["-", "abs"]), some, int_types),
        choices(some, depth, BIGINT),
    )


@cache
def floats(depth: int) -> Trees:
    leaves = st.one_of(
        st.builds(slots.Read, st.just(1), references, st.just(DOUBLE)),
        st.builds(slots.ConstantValue, fractions, st.just(DOUBLE)),
        aggregates(1, DOUBLE, ["sum", "min", "max", "avg"], DOUBLE),
        aggregates(0, BIGINT, ["avg"], DOUBLE),
    )
    if depth == 0:
        return leaves
    some = floats(depth - 1)
    return st.one_of(
        leaves,
        st.builds(slots.Arithmetic, st.sampled_from(["+", "-", "*", "/", "%"]), some, some, st.just(DOUBLE)),
        st.builds(slots.Unary, st.sampled_from(["-", "abs"]), some, st.just(DOUBLE)),
        st.builds(slots.Unary, st.just("to float"), ints(depth - 1), st.just(DOUBLE)),
        choices(some, depth, DOUBLE),
    )


def choices(some: Trees, depth: int, type_: SlotType) -> Trees:
    several = st.lists(some, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(slots.Choice, booleans(depth - 1), some, some, st.just(type_)),
        st.builds(slots.Pick, st.sampled_from(["coalesce", "least", "greatest"]), several, st.just(type_)),
    )


strings = st.one_of(
    st.builds(slots.Read, st.just(2), references, st.just(STRING)),
    st.builds(slots.ConstantValue, words, st.just(STRING)),
    st.builds(slots.ClassifierOf, references, st.integers(-2, 1)),
    st.builds(slots.ClassifierOf, st.just(slots.CURRENT_ROW), st.integers(-3, 0)),
)


@cache
def booleans(depth: int) -> Trees:
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "<=>"])
    some = max(0, depth - 1)
    comparisons = st.one_of(
        st.builds(slots.Comparison, operators, ints(some), ints(some)),
        st.builds(slots.Comparison, operators, ints(some), ints(some)),
        st.builds(slots.Comparison, operators, floats(some), floats(some)),
        st.builds(slots.Comparison, operators, strings, strings),
        st.builds(slots.Unary, st.just("is nan"), floats(some), st.just(BOOLEAN)),
    )
    if depth == 0:
        return comparisons
    parts = booleans(depth - 1)
    return st.one_of(
        comparisons,
        comparisons,
        st.builds(slots.Logic, st.sampled_from(["and", "or"]), parts, parts),
        st.builds(slots.Unary, st.sampled_from(["not", "is null", "is true", "is false"]), parts, st.just(BOOLEAN)),
    )


# Mild conditions, which many rows satisfy, make longer matches.
mild = booleans(0).map(lambda c: slots.Logic("or", slots.Unary("is null", c, BOOLEAN), c))
conditions = st.tuples(*[st.one_of(st.none(), mild, booleans(2))] * 3)
