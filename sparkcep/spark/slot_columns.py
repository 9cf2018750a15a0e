"""Match-dependent conditions as columns: slot trees computed by Spark itself, for plans without Python.

The columns mean exactly what the kernels compute (`sparkcep.engine.slot_code`): whole numbers are
bigints with try_ arithmetic, decimals unscaled, times in microseconds, dates in days; logic is three-valued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

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
    SparkCondition,
    Unary,
)
from sparkcep.logical.types import is_integral

Reader = Callable[[Read | SparkCondition], Column]

_WHOLE = {2**7 - 1: "tinyint", 2**15 - 1: "smallint", 2**31 - 1: "int"}
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_NULLS = {"bool": "boolean", "int": "bigint", "float": "double"}


def encoded(column: Column, operand: Operand, spark_type: T.DataType) -> Column:
    """Return an operand's value as conditions over matched rows compute with it.

    Parameters
    ----------
    column
        The value as Spark has it.
    operand
        What the conditions take it for.
    spark_type
        The type of `column`.

    Returns
    -------
    Column
        "bool": boolean; "int": bigint, decimals unscaled, timestamps and day-time intervals in
        microseconds, dates in days; "float": double; "code": the value itself. Booleans, bigints,
        doubles, strings, binaries and decimals of more than 18 digits are returned as they are.
    """
    if operand.type.kind == "float":
        return column if isinstance(spark_type, T.DoubleType) else column.cast("double")
    if operand.type.kind != "int" or isinstance(spark_type, T.LongType):
        return column
    if isinstance(spark_type, T.DecimalType):
        return _scaled_up(column, spark_type.scale)
    return in_units(column, spark_type)


def in_units(column: Column, spark_type: T.DataType) -> Column:
    """Return times as bigints: timestamps and day-time intervals in microseconds, dates in days.

    Decimals become bigints of their unscaled values, whole numbers bigints, fractions doubles.
    """
    if isinstance(spark_type, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(spark_type, T.TimestampNTZType):
        return _microseconds(column - F.expr(_EPOCH))
    if isinstance(spark_type, T.DayTimeIntervalType):
        return _microseconds(column)
    if isinstance(spark_type, T.DateType):
        return F.unix_date(column).cast("bigint")
    if isinstance(spark_type, T.DecimalType):
        return _scaled_up(column, spark_type.scale)
    return column.cast("bigint" if is_integral(spark_type.simpleString()) else "double")


def slot_column(tree: SlotExpression, read: Reader) -> Column:
    """Return a slot tree as a column.

    Parameters
    ----------
    tree
        Of reads, constants and what joins them.
    read
        Returns the column of an operand at a row, `encoded`; NULL where there is no such row. Of a condition that
        Spark computes, the column.

    Raises
    ------
    TypeError
        The tree holds a node that only a matcher can know: `Running`, `ClassifierOf`, `MatchNumber`.
    """
    match tree:
        case ConstantValue(value, kind):
            return _constant(value, kind)
        case Read() | SparkCondition():
            return read(tree)
        case Arithmetic(operator, left, right, kind):
            return _arithmetic(operator, slot_column(left, read), slot_column(right, read), kind)
        case Comparison(operator, left, right):
            return _comparison(operator, slot_column(left, read), slot_column(right, read))
        case Logic(operator, left, right):
            one, other = slot_column(left, read), slot_column(right, read)
            return one & other if operator == "and" else one | other
        case Unary():
            return _unary(tree, slot_column(tree.argument, read))
        case Choice(when, then, otherwise):
            return F.when(slot_column(when, read), slot_column(then, read)).otherwise(slot_column(otherwise, read))
        case Pick(function, arguments):
            return _pick(function, [slot_column(argument, read) for argument in arguments])
    raise TypeError(f"only a matcher knows the value of {tree!r}")


def _constant(value: object, kind: SlotType) -> Column:
    if value is None:
        name = _NULLS.get(kind.kind, kind.domain)
        return F.lit(None) if name == "decimal" else F.lit(None).cast("string" if name == "classifier" else name)
    if kind.kind == "int":
        return F.lit(value).cast("bigint")
    return F.lit(float(value)) if kind.kind == "float" else F.lit(value)  # type: ignore[arg-type]


def _arithmetic(operator: str, left: Column, right: Column, kind: SlotType) -> Column:
    if kind.kind == "float":
        return _float_arithmetic(operator, left, right)
    if operator == "div":
        # The lowest number divided by −1 is the one quotient that is out of range.
        quotient = F.call_function("div", left, F.nullif(right, F.lit(0).cast("bigint")))
        return _ranged(F.when(right == -1, F.try_subtract(_zero(), left)).otherwise(quotient), kind)
    functions = {"+": F.try_add, "-": F.try_subtract, "*": F.try_multiply, "%": F.try_mod}
    return _ranged(functions[operator](left, right), kind)


def _float_arithmetic(operator: str, left: Column, right: Column) -> Column:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return F.try_divide(left, right)
        case "%":
            return F.try_mod(left, right)
    raise TypeError(f"{operator} of float values")


def _ranged(value: Column, kind: SlotType) -> Column:
    """Return NULL where a bigint is out of the range of `kind`."""
    if (kind.low, kind.high) == (_LOWEST, _HIGHEST):
        return value
    if kind.low == -kind.high - 1 and kind.high in _WHOLE:
        return value.try_cast(_WHOLE[kind.high]).cast("bigint")
    digits = len(str(kind.high))
    if kind.low == -kind.high and kind.high == 10**digits - 1:
        return value.try_cast(f"decimal({digits},0)").cast("bigint")
    return F.when(value.between(kind.low, kind.high), value)


def _comparison(operator: str, left: Column, right: Column) -> Column:
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
    return left.eqNullSafe(right)


def _unary(tree: Unary, argument: Column) -> Column:
    is_float = tree.type.kind == "float"
    match tree.operator:
        case "not":
            return ~argument
        case "is null":
            return argument.isNull()
        case "is true":
            return F.coalesce(argument, F.lit(False))
        case "is false":
            return F.coalesce(~argument, F.lit(False))
        case "is nan":
            return F.isnan(argument)
        case "-":
            return F.negate(argument) if is_float else _ranged(F.try_subtract(_zero(), argument), tree.type)
        case "abs":
            # The lowest number has no absolute value.
            known = argument if is_float else F.nullif(argument, F.lit(_LOWEST))
            return F.abs(known) if is_float else _ranged(F.abs(known), tree.type)
        case "to float":
            return _divided(argument, tree.argument.type.scale)
        case "rescale":
            factor = 10 ** (tree.type.scale - tree.argument.type.scale)
            return _ranged(F.try_multiply(argument, F.lit(factor).cast("bigint")), tree.type)


def _divided(unscaled: Column, scale: int) -> Column:
    """Return unscaled / 10^scale as a double, rounded once: as a decimal it is exact."""
    if scale == 0:
        return unscaled.cast("double")
    unit = F.lit(Decimal(1).scaleb(-scale)).cast(f"decimal({scale},{scale})")
    return (unscaled.cast("decimal(19,0)") * unit).cast("double")


def _scaled_up(column: Column, scale: int) -> Column:
    if scale == 0:
        return column.cast("bigint")
    return (column * F.lit(10**scale).cast(f"decimal({scale + 1},0)")).cast("bigint")


def _microseconds(interval: Column) -> Column:
    """Return a day-time interval in microseconds: as seconds alone it casts to an exact decimal."""
    seconds = interval.cast("interval second").cast("decimal(19,6)")
    return (seconds * F.lit(1_000_000).cast("decimal(7,0)")).cast("bigint")


def _pick(function: str, arguments: Iterable[Column]) -> Column:
    chosen = list(arguments)
    if len(chosen) == 1:
        return chosen[0]
    return {"coalesce": F.coalesce, "least": F.least, "greatest": F.greatest}[function](*chosen)


def _zero() -> Column:
    return F.lit(0).cast("bigint")
