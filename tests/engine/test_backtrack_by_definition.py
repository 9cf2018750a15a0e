"""The backtracking matcher against the definition, on random patterns, conditions and rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from sparkcep.engine.backtrack import backtrack
from sparkcep.engine.columns import decode_operands
from sparkcep.engine.matches import Search
from sparkcep.engine.program import compile_program
from sparkcep.engine.slots import lower
from sparkcep.logical.slots import SlotConditions, SlotExpression
from sparkcep.syntax.pattern import RowPattern
from sparkcep.syntax.row_pattern import parse_row_pattern
from tests.engine import condition_strategies as dependent
from tests.engine import strategies as random
from tests.engine.conditions import search_by_definition
from tests.engine.searches import Found, found_in, outcome, rows_of
from tests.engine.strategies import VARIABLES

SMALL = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
Columns = tuple[list[Any], list[Any], list[Any]]
Outcome = list[Found] | tuple[str, int, int, int]


def search_by_machine(
    pattern: RowPattern,
    groups: list[list[set[str]]],
    search: Search,
    conditions: SlotConditions,
    columns: Columns,
    **options: int,
) -> Outcome:
    program, code = compile_program(pattern, VARIABLES), lower(conditions)
    rows = rows_of(groups, VARIABLES)
    types = (pa.int64(), pa.float64(), pa.string())
    table = pa.table({name: pa.array(c, t) for name, c, t in zip("vxs", columns, types, strict=True)})
    decoded = decode_operands(table, conditions.operands, code.literals)
    rows.integers, rows.integer_nulls, rows.floats, rows.float_nulls, codes = decoded
    return outcome(
        lambda: found_in(backtrack(program, code, rows, search, codes, **options), program.labels, VARIABLES)
    )


@st.composite
def cases(draw: st.DrawFn, rows: st.SearchStrategy[set[str]]) -> tuple[list[list[set[str]]], Columns]:
    groups = draw(st.lists(st.lists(rows, max_size=7), min_size=1, max_size=2))
    count = sum(map(len, groups))
    values = [dependent.whole_values, dependent.fractions, dependent.words]
    v, x, s = (draw(st.lists(each, min_size=count, max_size=count)) for each in values)
    return groups, (v, x, s)


def check_agreement(
    pattern: RowPattern, groups: list[list[set[str]]], search: Search, conditions: SlotConditions, columns: Columns
) -> None:
    try:
        expected = search_by_definition(pattern, groups, search, conditions, columns)
    except OverflowError:
        assume(False)
    assert search_by_machine(pattern, groups, search, conditions, columns, patience=0) == expected
    assert search_by_machine(pattern, groups, search, conditions, columns, memo=False) == expected
    assert search_by_machine(pattern, groups, search, conditions, columns, patience=8) == expected


often = st.sets(st.sampled_from(VARIABLES), min_size=2)


@SMALL
@given(random.patterns, cases(random.rows), random.searches())
def test_patterns_alone(pattern: RowPattern, case: tuple[list[list[set[str]]], Columns], search: Search) -> None:
    check_agreement(
        pattern, case[0], search, SlotConditions(VARIABLES, dependent.OPERANDS, (None, None, None)), case[1]
    )


@SMALL
@given(random.patterns, cases(often), random.searches(), dependent.conditions)
def test_match_dependent_conditions(
    pattern: RowPattern,
    case: tuple[list[list[set[str]]], Columns],
    search: Search,
    conditions: tuple[SlotExpression | None, ...],
) -> None:
    check_agreement(pattern, case[0], search, SlotConditions(VARIABLES, dependent.OPERANDS, conditions), case[1])


LOOPS = ["(A | B)+ C", "(A | B | C)* C", "(A? B?){0,3} C", "(A B | A)+ C", "(A | B){2,4} (A | B)+ C", "(A+ B*)+ C"]


@SMALL
@given(
    st.sampled_from(LOOPS),
    st.lists(st.tuples(often, dependent.whole_values, dependent.fractions, dependent.words), min_size=3, max_size=9),
    st.tuples(st.none() | dependent.mild, st.none() | dependent.mild, dependent.booleans(1)),
)
@example("(A | B)+ C", [({"A", "B", "C"}, 1, 1.0, "A")] * 6, (None, None, None))
def test_paths_through_loops(
    text: str, rows: list[tuple[set[str], Any, Any, Any]], conditions: tuple[SlotExpression | None, ...]
) -> None:
    variables, v, x, s = (list(column) for column in zip(*rows, strict=True))
    slots = SlotConditions(VARIABLES, dependent.OPERANDS, conditions)
    check_agreement(parse_row_pattern(text), [variables], Search(), slots, (v, x, s))
