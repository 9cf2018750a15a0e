"""Arithmetic between values of matched rows, typed as Spark types it."""

from __future__ import annotations

from typing import Literal

from sparkcep.logical.slots import BIGINT, Arithmetic, ConstantValue, SlotExpression, Unary
from sparkcep.logical.types import decimal_digits, is_day_time, is_integral
from sparkcep.logical.values import Value, Values, result, to_type, unscaled_type

DAY_IN_MICROSECONDS = 86_400_000_000
TIMESTAMPS = ("timestamp", "timestamp_ntz")


def lower_arithmetic(operator: str, left: Value, right: Value, values: Values) -> Value:
    """Return ``left operator right``.

    Raises
    ------
    ValueError
        When the kernel cannot give Spark's answer exactly; the text says why.
    """
    temporal = _temporal(operator, left, right, values)
    if temporal is not None:
        return temporal
    spark_type = values.spark_type(f"CAST(NULL AS {_known(left)}) {operator} CAST(NULL AS {_known(right)})")
    if spark_type == "float":
        raise ValueError("FLOAT arithmetic rounds to 32 bits: cast to DOUBLE")
    if spark_type == "double" or is_integral(spark_type):
        wanted = "double" if operator == "/" else spark_type
        sides = [to_type(side, wanted, values).expression for side in (left, right)]
        return result(_operation(operator, sides[0], sides[1], values.slot_type(wanted)), wanted)
    if decimal_digits(spark_type) is not None:
        return _decimal(operator, left, right, spark_type, values)
    raise ValueError(f"{left.spark_type} {operator} {right.spark_type} cannot be computed over matched rows")


def _known(value: Value) -> str:
    return "int" if value.spark_type == "void" else value.spark_type


def _operation(operator: str, left: SlotExpression, right: SlotExpression, kind: object) -> Arithmetic:
    return Arithmetic(operator, left, right, kind)  # type: ignore[arg-type]


def _decimal(operator: str, left: Value, right: Value, spark_type: str, values: Values) -> Value:
    """Unscaled 64-bit arithmetic: sides at the result's scale, except that a product adds the scales."""
    if operator in ("/", "div"):
        raise ValueError("decimal division rounds by rules of its own: cast one side to DOUBLE")
    spark_type = unscaled_type(spark_type, (left, right))
    kind = values.slot_type(spark_type)
    scales = [_scale(left), _scale(right)] if operator == "*" else [kind.scale, kind.scale]
    if operator == "*" and sum(scales) != kind.scale:
        raise ValueError("this decimal product loses digits: cast one side to DOUBLE")
    sides = [
        to_type(side, f"decimal(18,{scale})", values).expression
        for side, scale in zip((left, right), scales, strict=True)
    ]
    return result(_operation(operator, sides[0], sides[1], kind), spark_type)


def _scale(value: Value) -> int:
    digits = decimal_digits(value.spark_type)
    return digits[1] if digits else 0


def _temporal(operator: str, left: Value, right: Value, values: Values) -> Value | None:
    """Dates, timestamps and day-time intervals; None for anything else."""
    a, b = left.spark_type, right.spark_type
    spark_type = None
    if operator == "-" and a == b and a in (*TIMESTAMPS, "date"):
        spark_type = "interval day to second" if a in TIMESTAMPS else "interval day"
    elif operator in "+-" and is_day_time(b) and (a in TIMESTAMPS or is_day_time(a)):
        spark_type = a if a in TIMESTAMPS else "interval day to second"
    elif operator == "+" and is_day_time(a) and b in TIMESTAMPS:
        spark_type = b
    elif operator in "+-" and a == "date" and is_integral(b):
        spark_type = "date"
    if spark_type is None:
        return None
    sides = [to_type(side, side.spark_type, values).expression for side in (left, right)]
    difference = _operation(operator, sides[0], sides[1], BIGINT)
    if spark_type == "interval day":
        difference = _operation("*", difference, ConstantValue(DAY_IN_MICROSECONDS, BIGINT), BIGINT)
    return result(difference, spark_type)


def lower_negation(operator: Literal["-", "abs"], value: Value, values: Values) -> Value:
    """Return ``-value`` or ``ABS(value)``, of the argument's type."""
    argument = to_type(value, value.spark_type, values).expression
    return result(Unary(operator, argument, argument.type), value.spark_type)
