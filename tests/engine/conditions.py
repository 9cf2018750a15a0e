"""Match-dependent conditions by definition: trees evaluated over lists of Python values."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sparkcep.engine.matches import Search
from sparkcep.logical import slots
from sparkcep.logical.slots import RowReference, RowSet, SlotConditions, SlotExpression, SlotType
from sparkcep.syntax import pattern as tree
from tests.engine.naive import Naive, Taken, Way
from tests.engine.searches import Found, fits, next_row

Value = Any
COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def ordered(value: Value) -> tuple[int, Value]:
    """A key that orders as Spark does: NaN equals itself and is greatest."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


@dataclass
class Match:
    """A match under construction: the operands' values by row, the variables of its rows, its first row."""

    columns: Sequence[Sequence[Value]]
    names: Sequence[str]
    first: int
    variables: Sequence[int]
    number: int

    def rows(self, of: RowSet) -> list[int]:
        return [self.first + i for i, v in enumerate(self.variables) if of.variables is None or v in of.variables]

    def row(self, at: RowReference) -> int | None:
        rows = self.rows(at.rows)
        if at.offset >= len(rows):
            return None
        return rows[at.offset] if at.end == "first" else rows[-1 - at.offset]

    def value(self, e: SlotExpression) -> Value:
        match e:
            case slots.ConstantValue(value):
                return value
            case slots.MatchNumber():
                return self.number
            case slots.Read(operand, at):
                row = self.row(at)
                return None if row is None else self.columns[operand][row]
            case slots.ClassifierOf(at, shift):
                row = self.row(at)
                place = -1 if row is None else row + shift - self.first
                return self.names[self.variables[place]] if 0 <= place < len(self.variables) else None
            case slots.Running():
                return self.aggregate(e)
            case slots.Logic(name, left, right):
                return logic(name, self.value(left), self.value(right))
            case slots.Choice(when, then, otherwise):
                return self.value(then) if self.value(when) is True else self.value(otherwise)
            case slots.Pick(name, arguments):
                values = [v for v in map(self.value, arguments) if v is not None]
                if not values:
                    return None
                return values[0] if name == "coalesce" else (min if name == "least" else max)(values, key=ordered)
            case slots.Comparison(name, left, right):
                return compare(name, self.value(left), self.value(right))
            case slots.Arithmetic(name, left, right, type_):
                return arithmetic(name, self.value(left), self.value(right), type_)
            case slots.Unary(name, argument, type_):
                return unary(name, self.value(argument), argument.type, type_)
        raise TypeError(e)

    def aggregate(self, e: slots.Running) -> Value:
        rows = self.rows(e.rows)
        if e.operand is None:
            return len(rows)
        values = [v for v in (self.columns[e.operand][row] for row in rows) if v is not None]
        if e.function == "count":
            return len(values)
        if not values:
            return None
        if e.function in ("min", "max"):
            return (min if e.function == "min" else max)(values, key=ordered)
        if e.function == "avg":
            scale = e.operand_type.scale if e.operand_type else 0
            return functools.reduce(lambda total, v: total + float(v), values, 0.0) / 10**scale / len(values)
        total: Value = 0
        for value in values:
            total = in_range(total + value, e.type)
            if total is None:
                return None
        return total


def in_range(value: Value, type_: SlotType) -> Value:
    return value if type_.kind == "float" or type_.low <= value <= type_.high else None


def logic(name: str, left: bool | None, right: bool | None) -> bool | None:
    decisive = name == "or"
    if decisive in (left, right):
        return decisive
    return None if left is None or right is None else not decisive


def compare(name: str, left: Value, right: Value) -> bool | None:
    if name == "<=>":
        return left is right if left is None or right is None else ordered(left) == ordered(right)
    return None if left is None or right is None else bool(COMPARISONS[name](ordered(left), ordered(right)))


def arithmetic(name: str, left: Value, right: Value, type_: SlotType) -> Value:
    if left is None or right is None or (name in ("/", "%", "div") and right == 0):
        return None
    if name in ("div", "%") and type_.kind != "float":
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return in_range(quotient if name == "div" else left - quotient * right, type_)
    if name == "%":
        return math.nan if math.isinf(left) else math.fmod(left, right)
    operators = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    return in_range(operators[name](left, right), type_)


def unary(name: str, value: Value, of: SlotType, type_: SlotType) -> Value:
    tests = {"is null": value is None, "is true": value is True, "is false": value is False}
    if name in tests:
        return tests[name]
    if name == "is nan":
        return isinstance(value, float) and math.isnan(value)
    if value is None:
        return None
    if name == "not":
        return not value
    if name == "to float":
        return value / 10**of.scale
    if name == "rescale":
        return in_range(value * 10 ** (type_.scale - of.scale), type_)
    return in_range(-value if name == "-" else abs(value), type_)


@dataclass
class NaiveDependent(Naive):
    """A naive search whose variables have match-dependent conditions, too."""

    conditions: SlotConditions | None = None
    columns: Sequence[Sequence[Value]] = ()
    number: int = 1

    def ways(self, p: tree.RowPattern, row: int, taken: Taken, excluded: bool) -> Iterator[Way]:
        for end, so_far in super().ways(p, row, taken, excluded):
            if not isinstance(p, tree.Label) or self.holds(p.name, so_far):
                yield end, so_far

    def holds(self, name: str, taken: Taken) -> bool:
        assert self.conditions is not None
        names = self.conditions.variables
        condition = self.conditions.conditions[names.index(name)]
        variables = [names.index(label) for label, _ in taken]
        match = Match(self.columns, names, self.first, variables, self.number)
        return condition is None or match.value(condition) is True


def search_by_definition(
    pattern: tree.RowPattern,
    groups: Sequence[Sequence[set[str]]],
    search: Search,
    conditions: SlotConditions,
    columns: Sequence[Sequence[Value]],
) -> list[Found] | tuple[str, int, int, int]:
    """All matches by definition, or kind, group, row and number of the fault; order values are row numbers."""
    result: list[Found] = []
    base = 0
    for group, rows in enumerate(groups):
        mine = [column[base : base + len(rows)] for column in columns]
        naive = NaiveDependent(list(rows), fits(search, range(len(rows))), conditions=conditions, columns=mine)
        row = 0
        while row < len(rows):
            way = naive.preferred(pattern, row)
            if way is None:
                row += 1
                continue
            end, labels = way
            following = next_row(search, conditions.variables, row, end, labels)
            if isinstance(following, str):
                return following, group, base + row, naive.number
            result.append(Found(group, base + row, base + end, naive.number, labels))
            row, naive.number = following, naive.number + 1
        base += len(rows)
    return result
