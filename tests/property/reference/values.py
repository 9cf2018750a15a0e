"""SQL values as Python objects: comparison, arithmetic, casts, order.

bigint is int, int is Int32, double is float, decimal is Decimal, string is str, timestamp is
datetime, date is date, a day-time interval is timedelta, NULL is None.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from tests.property.reference.errors import ReferenceError_


class Int32(int):
    """A value of Spark's type int: what small whole literals are."""


class ArithmeticFault(Exception):
    """Overflow or division by zero."""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    if is_number(left) and is_number(right):
        if isinstance(left, float) or isinstance(right, float):
            return float(left), float(right)
        return left, right
    if isinstance(left, dt.date) and isinstance(right, dt.date):
        return _as_timestamp(left), _as_timestamp(right)
    if isinstance(left, str) and isinstance(right, dt.date):
        return cast(left, "TIMESTAMP"), _as_timestamp(right)
    if isinstance(left, dt.date) and isinstance(right, str):
        return _as_timestamp(left), cast(right, "TIMESTAMP")
    if type(left) is not type(right):
        raise ReferenceError_(f"{left!r} and {right!r} cannot be compared")
    return left, right


def _as_timestamp(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)


def compare(left: Any, right: Any) -> int:
    """Return −1, 0 or 1 for two values that are not NULL; NaN is the greatest and equals itself."""
    left, right = _comparable(left, right)
    left_nan, right_nan = (isinstance(side, float) and math.isnan(side) for side in (left, right))
    if left_nan or right_nan:
        return int(left_nan) - int(right_nan)
    return int(left > right) - int(left < right)


class SortKey:
    """Wraps a value that is not NULL so that sorted() follows `compare`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: SortKey) -> bool:
        return compare(self.value, other.value) < 0


def group_key(value: Any) -> Any:
    """Return a hashable stand-in under which GROUP BY would put equal values together."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return (type(value).__name__, value) if isinstance(value, bool) else value


def _in_range(value: int, *operands: Any) -> int:
    narrow = all(isinstance(operand, Int32) for operand in operands)
    bits = 31 if narrow else 63
    if not -(2**bits) <= value < 2**bits:
        raise ArithmeticFault("overflow")
    return Int32(value) if narrow else value


def _truncated_division(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return math.fmod(left, right) if math.isfinite(left) and not math.isnan(right) else math.nan
    return left - right * _truncated_division(left, right) if isinstance(left, int) else left % right


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    """Apply + − * / % DIV to two values that are not NULL; raise ArithmeticFault where ANSI SQL fails."""
    if not (is_number(left) and is_number(right)):
        return _with_time(operator, left, right)
    if operator == "/" and not (isinstance(left, Decimal) or isinstance(right, Decimal)):
        left, right = float(left), float(right)
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    if operator in ("/", "%", "DIV") and right == 0:
        raise ArithmeticFault("divide by zero")
    whole = isinstance(left, int) and isinstance(right, int)
    match operator:
        case "+":
            result = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case "/":
            return left / right
        case "%":
            result = _remainder(left, right)
        case "DIV":
            quotient = _truncated_division(int(left), int(right)) if whole else int(left / right)
            return _in_range(quotient)
        case _:
            raise ReferenceError_(f"unknown operator {operator}")
    return _in_range(result, left, right) if whole else result


def _with_time(operator: str, left: Any, right: Any) -> Any:
    if operator == "-" and isinstance(left, dt.datetime) and isinstance(right, dt.date):
        return left - _as_timestamp(right)
    if operator == "-" and isinstance(left, dt.date) and isinstance(right, dt.date):
        return _as_timestamp(left) - _as_timestamp(right)
    if operator in "+-" and isinstance(right, dt.timedelta) and isinstance(left, dt.date | dt.timedelta):
        start = _as_timestamp(left) if isinstance(left, dt.date) else left
        return start + right if operator == "+" else start - right
    raise ReferenceError_(f"{left!r} {operator} {right!r} is not defined")


def negated(value: Any) -> Any:
    return _in_range(-value, value) if isinstance(value, int) else -value


def absolute(value: Any) -> Any:
    return _in_range(abs(value), value) if isinstance(value, int) else abs(value)


def total(values: Iterable[Any]) -> Any:
    """Return the sum, added in order; a sum of whole numbers is a bigint."""
    result: Any = None
    for value in values:
        addend = int(value) if isinstance(value, int) else value
        result = addend if result is None else arithmetic("+", result, addend)
    return result


def average(values: list[Any]) -> Any:
    if not values:
        return None
    return total(float(value) for value in values) / len(values)


def cast(value: Any, target: str) -> Any:
    """Cast a value that is not NULL."""
    match target:
        case "BIGINT" | "LONG":
            return _in_range(int(value))
        case "INT" | "INTEGER":
            return _in_range(Int32(int(value)), Int32())
        case "DOUBLE":
            return float(value)
        case "STRING":
            return str(value).lower() if isinstance(value, bool) else str(value)
        case "BOOLEAN":
            return value.strip().lower() in ("true", "t", "yes", "y", "1") if isinstance(value, str) else bool(value)
        case "TIMESTAMP":
            return dt.datetime.fromisoformat(value) if isinstance(value, str) else _as_timestamp(value)
        case "DATE":
            return dt.date.fromisoformat(value[:10]) if isinstance(value, str) else value
        case _:
            raise ReferenceError_(f"no cast to {target}")


_UNITS = {"DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1, "WEEK": 604800, "MILLISECOND": 0.001}


def interval(amount: str, unit: str) -> dt.timedelta:
    """Return a day-time interval; months and years have no fixed length and are refused."""
    name = unit.upper().removesuffix("S")
    if name not in _UNITS:
        raise ReferenceError_(f"interval unit {unit} has no fixed length; use days or smaller units")
    return dt.timedelta(seconds=float(amount) * _UNITS[name])


def like(value: str, pattern: str) -> bool:
    translated = "".join({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(translated, value, re.DOTALL) is not None
