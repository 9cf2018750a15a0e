"""Patterns of a fixed number of rows: which condition each row must satisfy, at known distances.

Row i of every match has the same variable, so whatever a condition reads of the match lies a
constant number of rows away, and Spark can fetch it with LEAD in one window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.exclusive import exclusive
from sparkcep.logical.outputs import CLASSIFIER, Aggregated, Collected, Gathered
from sparkcep.logical.slots import (
    ALL_ROWS,
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    Arithmetic,
    Choice,
    ClassifierOf,
    Comparison,
    ConstantValue,
    Logic,
    MatchNumber,
    Pick,
    Read,
    RowReference,
    RowSet,
    Running,
    SlotExpression,
    SlotType,
    SparkCondition,
    Unary,
    nodes,
)
from sparkcep.logical.types import decimal_digits
from sparkcep.syntax.pattern import Concatenation, Empty, Exclusion, Label, Quantified, RowPattern, pattern_text

MOST_ROWS = 16
# Sums of sixteen such numbers are exact with the 38 digits of a decimal.
_DIGITS_TO_SUM = 35

TypeOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class FixedRows:
    """A pattern whose matches all have the same number of rows.

    Attributes
    ----------
    variables
        The variable's index of each row.
    conditions
        The match-dependent part of each row's condition; a `Read` names its row of the match by
        ``RowReference(ALL_ROWS, "first", row)``.
    step
        How many rows behind the start of a match the next one may start.
    overlaps
        "allowed": every start counts; "none": two candidates never lie closer than `step`; "neighbours":
        only candidates one row apart do, so of neighbouring ones every other counts.
    """

    variables: tuple[int, ...]
    conditions: tuple[SlotExpression | None, ...]
    step: int
    overlaps: Literal["allowed", "none", "neighbours"]

    def __len__(self) -> int:
        """Return the number of rows of a match."""
        return len(self.variables)

    def members(self, rows: RowSet, last: int | None = None) -> list[int]:
        """Return the rows of a match, up to `last`, whose variable is one of `rows`."""
        seen = self.variables if last is None else self.variables[: last + 1]
        return [row for row, variable in enumerate(seen) if rows.variables is None or variable in rows.variables]

    def located(self, rows: RowSet, end: str, offset: int, last: int | None = None) -> int | None:
        """Return the `offset`-th row of `rows` from the front or the back, None if there is none."""
        found = self.members(rows, last)
        if offset >= len(found):
            return None
        return found[offset] if end == "first" else found[-1 - offset]


class _Refused(ValueError):
    """The plan may not serve the pattern; the text says why."""


def fixed_rows(match: LogicalMatch, type_of: TypeOf | None = None) -> FixedRows | str:
    """Return the rows of a pattern that window functions can match, or why they cannot.

    Parameters
    ----------
    match
        The bound pattern.
    type_of
        Tells Spark's type of an input or hidden column; without it, sums of decimals are refused.
    """
    try:
        if match.rows_per_match != "one":
            raise _Refused("it gives one row per match only")
        names = _labels(match.pattern)
        variables = tuple(match.variables.index(name) for name in names)
        if not variables:
            raise _Refused("a match has no row")
        rows = FixedRows(variables, tuple(None for _ in variables), 1, "allowed")
        conditions = tuple(_condition(match, rows, row) for row in range(len(rows)))
        _check_sums(match, type_of)
        step = _step(match, rows)
        return FixedRows(variables, conditions, step, _overlaps(match, rows, step))
    except _Refused as refusal:
        return str(refusal)


def reads_neighbours(match: LogicalMatch) -> bool:
    """Tell whether conditions read neighbours, which takes a window of its own before that of the match."""
    return bool(match.numbered) or any(
        condition.row_only is not None and condition.row_only.numbered for condition in match.conditions
    )


def rows_fetched(match: LogicalMatch, rows: FixedRows) -> int:
    """Return how many values of later rows a window has to fetch: what the plan costs besides the sort."""
    fetched: set[tuple[str, int]] = {("", len(rows) - 1)}
    for row, variable in enumerate(rows.variables):
        if match.conditions[variable].row_only is not None:
            fetched.add(("", row))
    operands = match.slots.operands if match.slots is not None else ()
    for condition in rows.conditions:
        fetched |= {
            (operands[read.operand].column, read.at.offset) for read in nodes(condition) if isinstance(read, Read)
        }
    fetched |= set(values_measured(match, rows))
    return sum(row > 0 for _column, row in fetched)


def values_measured(match: LogicalMatch, rows: FixedRows) -> Iterable[tuple[str, int]]:
    """Yield the columns that measures read, each with the row of the match."""
    for output in match.outputs:
        yield from _output_reads(output, rows)
    yield from ((column, len(rows) - 1) for column in match.bare_columns)


def _output_reads(output: object, rows: FixedRows) -> Iterable[tuple[str, int]]:
    match output:
        case Gathered(_, column, of, end, offset) if column != CLASSIFIER:
            row = rows.located(of, end, offset)
            return [(column, row)] if row is not None else []
        case Aggregated(_, _, column, of, _, kept):
            return [(name, row) for name in (column, kept) if name is not None for row in rows.members(of)]
        case Collected(_, columns, of, _, kept):
            names = [name for name in (*columns, kept) if name is not None and name != CLASSIFIER]
            return [(name, row) for name in names for row in rows.members(of)]
    return []


def _labels(pattern: RowPattern) -> list[str]:
    """Return the variable of each row."""
    match pattern:
        case Label(name):
            found = [name]
        case Empty():
            found = []
        case Exclusion(part):
            found = _labels(part)
        case Concatenation(parts):
            found = [name for part in parts for name in _labels(part)]
        case Quantified(part, minimum, maximum) if minimum == maximum:
            found = _labels(part) * min(minimum, MOST_ROWS + 1)
        case _:
            raise _Refused(f"{pattern_text(pattern)} is no fixed sequence of rows")
    if len(found) > MOST_ROWS:
        raise _Refused(f"a match has more than {MOST_ROWS} rows")
    return found


def _step(match: LogicalMatch, rows: FixedRows) -> int:
    """Return how many rows behind the start of a match the search goes on."""
    mode = match.after_match.mode
    if mode == "past last row":
        return len(rows)
    if mode == "to next row":
        return 1
    assert match.skip_rows is not None
    step = rows.located(match.skip_rows, mode.removeprefix("to "), 0)
    if not step:
        raise _Refused(f"AFTER MATCH SKIP TO {match.after_match.target} fails at the first match")
    return step


def _overlaps(match: LogicalMatch, rows: FixedRows, step: int) -> Literal["allowed", "none", "neighbours"]:
    if step == 1:
        return "allowed"
    shifts = [shift for shift in range(1, step) if not _excluded(match, rows, shift)]
    if not shifts:
        return "none"
    if shifts == [1]:
        return "neighbours"
    raise _Refused(
        "its conditions do not keep matches apart that overlap, and to choose among those is no task for a window"
    )


def _excluded(match: LogicalMatch, rows: FixedRows, shift: int) -> bool:
    """Whether no two candidates start `shift` rows apart: some row would satisfy conditions that exclude each other."""
    texts = [
        condition.row_only.text if condition.row_only is not None else None
        for condition in (match.conditions[variable] for variable in rows.variables)
    ]
    return any(exclusive(later, earlier) for later, earlier in zip(texts[shift:], texts, strict=False))


def _check_sums(match: LogicalMatch, type_of: TypeOf | None) -> None:
    """Refuse sums that could overflow on the way to a result that does not."""
    for output in match.outputs:
        if isinstance(output, Aggregated) and output.function == "sum" and output.column is not None:
            digits = decimal_digits(type_of(output.column)) if type_of is not None else (_DIGITS_TO_SUM + 1, 0)
            if digits is not None and digits[0] > _DIGITS_TO_SUM:
                raise _Refused(f"it sums decimals of up to {_DIGITS_TO_SUM} digits only")


def _condition(match: LogicalMatch, rows: FixedRows, row: int) -> SlotExpression | None:
    tree = match.slots.conditions[rows.variables[row]] if match.slots is not None else None
    return at_known_rows(tree, rows, row, match.variables) if tree is not None else None


def at_known_rows(tree: SlotExpression, rows: FixedRows, row: int, names: Sequence[str]) -> SlotExpression:
    """Return a condition of a row with all it says of the match replaced by constants and reads of known rows.

    Parameters
    ----------
    tree
        The match-dependent condition of the variable of `row`.
    rows
        The rows of every match; only their variables count.
    row
        The row under test, the last one of the match so far.
    names
        The variables' names by index.

    Raises
    ------
    ValueError
        The condition reads MATCH_NUMBER().
    """
    return _Resolution(rows, row, names)._of(tree)


class _Resolution:
    def __init__(self, rows: FixedRows, row: int, names: Sequence[str]) -> None:
        self.rows, self.row, self.names = rows, row, names

    def _of(self, tree: SlotExpression) -> SlotExpression:
        match tree:
            case Read(operand, at, kind):
                return self._read(operand, self._located(at), kind)
            case Running():
                return self._aggregate(tree)
            case SparkCondition():
                raise ValueError("conditions of row patterns come apart")
            case ClassifierOf(at, shift):
                return self._classifier(self._located(at), shift)
            case MatchNumber():
                raise _Refused("a condition reads MATCH_NUMBER(), which only a search in order knows")
            case Arithmetic() | Comparison() | Logic():
                return replace(tree, left=self._of(tree.left), right=self._of(tree.right))
            case Unary():
                return replace(tree, argument=self._of(tree.argument))
            case Choice():
                when, then, otherwise = map(self._of, (tree.when, tree.then, tree.otherwise))
                return replace(tree, when=when, then=then, otherwise=otherwise)
            case Pick():
                return replace(tree, arguments=tuple(map(self._of, tree.arguments)))
            case ConstantValue():
                return tree

    def _located(self, at: RowReference) -> int | None:
        return self.rows.located(at.rows, at.end, at.offset, self.row)

    def _read(self, operand: int, row: int | None, kind: SlotType) -> SlotExpression:
        return ConstantValue(None, kind) if row is None else Read(operand, RowReference(ALL_ROWS, "first", row), kind)

    def _classifier(self, row: int | None, shift: int) -> SlotExpression:
        inside = row is not None and 0 <= row + shift <= self.row
        return ConstantValue(
            self.names[self.rows.variables[row + shift]] if inside and row is not None else None, STRING
        )

    def _aggregate(self, tree: Running) -> SlotExpression:
        """Return an aggregate over the rows so far, added up in their order as a matcher does."""
        members = self.rows.members(tree.rows, self.row)
        if tree.operand is None:
            return ConstantValue(len(members), BIGINT)
        assert tree.operand_type is not None
        kind = tree.operand_type
        values = [self._read(tree.operand, row, kind) for row in members]
        count = _added([_chosen(_is_null(value), _whole(0), _whole(1)) for value in values], _whole(0))
        if tree.function == "count":
            return count
        if not values:
            return ConstantValue(None, tree.type)
        if tree.function in ("min", "max"):
            return Pick("least" if tree.function == "min" else "greatest", tuple(values), tree.type)
        if tree.function == "sum":
            zero = ConstantValue(0.0 if tree.type.kind == "float" else 0, tree.type)
            total = _added([Pick("coalesce", (value, zero), tree.type) for value in values], zero)
        else:
            total = self._mean(values, count, kind)
        return _chosen(Comparison("=", count, _whole(0)), ConstantValue(None, tree.type), total)

    def _mean(self, values: list[SlotExpression], count: SlotExpression, kind: SlotType) -> SlotExpression:
        """Return the sum of unscaled values as doubles, scaled and divided."""
        zero, scale = ConstantValue(0.0, DOUBLE), 0
        if kind.kind != "float":
            scale = kind.scale
            plain = [replace(value, type=replace(kind, scale=0)) for value in values]
            values = [Unary("to float", value, DOUBLE) for value in plain]
        total = _added([Pick("coalesce", (value, zero), DOUBLE) for value in values], zero)
        if scale:
            total = Arithmetic("/", total, ConstantValue(10.0**scale, DOUBLE), DOUBLE)
        return Arithmetic("/", total, Unary("to float", count, DOUBLE), DOUBLE)


def _whole(value: int) -> ConstantValue:
    return ConstantValue(value, BIGINT)


def _is_null(value: SlotExpression) -> Unary:
    return Unary("is null", value, BOOLEAN)


def _chosen(when: SlotExpression, then: SlotExpression, otherwise: SlotExpression) -> Choice:
    return Choice(when, then, otherwise, otherwise.type)


def _added(values: Iterable[SlotExpression], zero: ConstantValue) -> SlotExpression:
    total: SlotExpression = zero
    for value in values:
        total = Arithmetic("+", total, value, zero.type)
    return total
