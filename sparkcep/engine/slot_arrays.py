"""Slot trees over the current row, computed for all rows of a table at once.

The numbers mean exactly what the kernels compute (`sparkcep.engine.slot_code`): whole numbers are int64
whose overflows are NULL, logic is three-valued, NaN is equal to itself and greatest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.engine.columns import CodeValue, decode_operands
from sparkcep.engine.matches import Bools
from sparkcep.logical.slots import (
    Arithmetic,
    Choice,
    Comparison,
    ConstantValue,
    Logic,
    Operand,
    Pick,
    Read,
    SlotExpression,
    SlotType,
    Unary,
    nodes,
)

_LOWEST = -(2**63)


class Computed(NamedTuple):
    """Values of a tree, a row each.

    Attributes
    ----------
    values : int64[n] or float64[n] or object[n]
        Booleans as 0 and 1; codes as the values they stand for, and None.
    nulls : bool[n]
        Where there is no value.
    """

    values: npt.NDArray[Any]
    nulls: Bools


def computed(tree: SlotExpression, operands: Sequence[pa.Array], kinds: Sequence[SlotType], rows: int) -> Computed:
    """Compute a tree of constants and reads of the current row.

    Parameters
    ----------
    operands
        The columns that reads name by index.
    kinds
        What the tree takes them for.
    rows
        How many rows there are.
    """
    columns = tuple(Operand(str(index), kind) for index, kind in enumerate(kinds))
    table = pa.Table.from_arrays(list(operands), [column.column for column in columns])
    literals: dict[str, list[CodeValue]] = {}
    for node in nodes(tree):
        if isinstance(node, ConstantValue) and node.type.kind == "code" and node.value is not None:
            literals.setdefault(node.type.domain, []).append(_code(node.value))
    decoded = decode_operands(table, columns, literals)
    wholes = iter(zip(decoded.integers, decoded.integer_nulls, strict=True))
    fractions = iter(zip(decoded.floats, decoded.float_nulls, strict=True))
    numbers = [Computed(*next(fractions if kind.kind == "float" else wholes)) for kind in kinds]
    found = _Evaluation(numbers, decoded.codes, rows).value(tree)
    if tree.type.kind != "code":
        return found
    return _decoded(found, tree.type, operands, kinds, numbers, decoded.codes)


def _code(value: object) -> CodeValue:
    assert isinstance(value, str | bytes | Decimal)
    return value


def _decoded(
    found: Computed,
    kind: SlotType,
    operands: Sequence[pa.Array],
    kinds: Sequence[SlotType],
    numbers: Sequence[Computed],
    codes: dict[str, dict[CodeValue, int]],
) -> Computed:
    """Return the values that ranks stand for."""
    by_rank: dict[int, Any] = {rank: literal for literal, rank in codes.get(kind.domain, {}).items()}
    for array, of_kind, ranks in zip(operands, kinds, numbers, strict=True):
        if of_kind.kind == "code" and of_kind.domain == kind.domain:
            valid = np.flatnonzero(~ranks.nulls)
            _, first = np.unique(ranks.values[valid], return_index=True)
            by_rank.update({int(ranks.values[i]): array[int(i)].as_py() for i in valid[first]})
    values = np.array([None if null else by_rank[int(rank)] for rank, null in zip(*found, strict=True)], dtype=object)
    return Computed(values, found.nulls)


class _Evaluation:
    def __init__(self, operands: Sequence[Computed], codes: dict[str, dict[CodeValue, int]], rows: int) -> None:
        self.operands, self.codes, self.rows = operands, codes, rows

    def value(self, tree: SlotExpression) -> Computed:
        match tree:
            case ConstantValue(value, kind):
                return self._constant(value, kind)
            case Read(operand=operand):
                return self.operands[operand]
            case Arithmetic(operator, left, right, kind):
                return _arithmetic(operator, self.value(left), self.value(right), kind)
            case Comparison(operator, left, right):
                return _comparison(operator, self.value(left), self.value(right))
            case Logic(operator, left, right):
                return _logic(operator, self.value(left), self.value(right))
            case Unary():
                return _unary(tree, self.value(tree.argument))
            case Choice(when, then, otherwise):
                test, one, other = self.value(when), self.value(then), self.value(otherwise)
                holds = (test.values != 0) & ~test.nulls
                return Computed(np.where(holds, one.values, other.values), np.where(holds, one.nulls, other.nulls))
            case Pick(function, arguments):
                return _pick(function, [self.value(argument) for argument in arguments])
        raise TypeError(f"only a matcher knows the value of {tree!r}")

    def _constant(self, value: object, kind: SlotType) -> Computed:
        if value is not None and kind.kind == "code":
            value = self.codes[kind.domain][_code(value)]
        number: Any = 0 if value is None else value
        values = np.full(self.rows, number, np.float64 if kind.kind == "float" else np.int64)
        return Computed(values, np.full(self.rows, value is None))


def _ranged(values: npt.NDArray[Any], nulls: Bools, kind: SlotType) -> Computed:
    return Computed(values, nulls | (values < kind.low) | (values > kind.high))


def _arithmetic(operator: str, left: Computed, right: Computed, kind: SlotType) -> Computed:
    a, b, nulls = left.values, right.values, left.nulls | right.nulls
    with np.errstate(all="ignore"):
        if kind.kind == "float":
            if operator in "/%":
                divisor = np.where(b == 0, 1.0, b)
                values = a / divisor if operator == "/" else np.fmod(a, divisor)
                return Computed(values, nulls | (b == 0))
            return Computed({"+": np.add, "-": np.subtract, "*": np.multiply}[operator](a, b), nulls)
        if operator in ("div", "%"):
            return _divided(operator, a, b, nulls, kind)
        if operator == "*":
            values = a * b
            over = (a != 0) & ((values // np.where(a == 0, 1, a) != b) | ((a == -1) & (b == _LOWEST)))
        else:
            values = a + b if operator == "+" else a - b
            other = b if operator == "+" else ~b
            over = ((a ^ values) & (other ^ values)) < 0
    return _ranged(values, nulls | over, kind)


def _divided(operator: str, a: npt.NDArray[Any], b: npt.NDArray[Any], nulls: Bools, kind: SlotType) -> Computed:
    """Divide whole numbers, towards zero; by zero is NULL, and so is what overflows."""
    nulls = nulls | (b == 0)
    divisor = np.where((b == 0) | (b == -1), 1, b)
    rest = np.fmod(a, divisor)
    if operator == "%":
        return _ranged(rest, nulls, kind)
    quotient = (a - rest) // divisor
    nulls = nulls | ((b == -1) & (a == _LOWEST))
    return _ranged(np.where(b == -1, -a, quotient), nulls, kind)


_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal, "!=": np.not_equal,
    "<=>": np.equal,
}  # fmt: skip


def _comparison(operator: str, left: Computed, right: Computed) -> Computed:
    a, b = _order(left.values, right.values)
    holds = _TESTS[operator](a, b)
    if operator == "<=>":
        same = np.where(left.nulls | right.nulls, left.nulls & right.nulls, holds)
        return Computed(same.astype(np.int64), np.zeros(len(same), np.bool_))
    return Computed(holds.astype(np.int64), left.nulls | right.nulls)


def _order(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return numbers that compare as the values do: of fractions, NaN is equal to itself and greatest."""
    if a.dtype != np.float64:
        return a, b
    not_a, not_b = np.isnan(a), np.isnan(b)
    if not (not_a.any() or not_b.any()):
        return a, b
    ordered = (np.where(not_a, 0.0, a) > np.where(not_b, 0.0, b)).astype(np.int64)
    ordered -= (np.where(not_a, 0.0, a) < np.where(not_b, 0.0, b)).astype(np.int64)
    either = not_a | not_b
    return np.where(either, not_a.astype(np.int64) - not_b.astype(np.int64), ordered), np.zeros(len(a), np.int64)


def _logic(operator: str, left: Computed, right: Computed) -> Computed:
    decides = 0 if operator == "and" else 1
    decided = ((left.values == decides) & ~left.nulls) | ((right.values == decides) & ~right.nulls)
    values = np.where(decided, decides, 1 - decides)
    return Computed(values, (left.nulls | right.nulls) & ~decided)


def _unary(tree: Unary, argument: Computed) -> Computed:
    values, nulls = argument
    known = np.zeros(len(values), np.bool_)
    match tree.operator:
        case "not":
            return Computed(1 - values, nulls)
        case "is null":
            return Computed(nulls.astype(np.int64), known)
        case "is true":
            return Computed(((values != 0) & ~nulls).astype(np.int64), known)
        case "is false":
            return Computed(((values == 0) & ~nulls).astype(np.int64), known)
        case "is nan":
            return Computed((np.isnan(values) & ~nulls).astype(np.int64), known)
        case "to float":
            return Computed(values / 10.0**tree.argument.type.scale, nulls)
        case "rescale":
            factor = np.full(len(values), 10 ** (tree.type.scale - tree.argument.type.scale), np.int64)
            return _arithmetic("*", argument, Computed(factor, known), tree.type)
    moved = -values if tree.operator == "-" else np.abs(values)
    if tree.type.kind == "float":
        return Computed(moved, nulls)
    return _ranged(moved, nulls | (values == _LOWEST), tree.type)


def _pick(function: str, arguments: Sequence[Computed]) -> Computed:
    values, nulls = arguments[0]
    for other in arguments[1:]:
        take = nulls & ~other.nulls
        if function != "coalesce":
            a, b = _order(other.values, values)
            better = a < b if function == "least" else a > b
            take |= better & ~other.nulls & ~nulls
        values, nulls = np.where(take, other.values, values), nulls & other.nulls
    return Computed(values, nulls)
