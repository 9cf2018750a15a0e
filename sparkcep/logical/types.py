"""Spark's types, by their simple names, as kernels see them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from sparkcep.logical.slots import BIGINT, BOOLEAN, DOUBLE, STRING, SlotType

if TYPE_CHECKING:
    from sparkcep.logical.hidden import HiddenColumns

_INTEGRAL_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_DAY_TIME = re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?$")
DECIMAL_DIGITS = 18


class TypeOracle(Protocol):
    """Asks Spark, without running a job, for the types of expressions over the input."""

    def attach(self, hidden: HiddenColumns) -> None:
        """Let expressions name hidden columns."""

    def types(self, expressions: Sequence[str], *, clause: str) -> list[str]:
        """Return the simple type name of each expression; raises BindingError on a name Spark does not know."""


def decimal_digits(spark_type: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type, None for any other.

    >>> decimal_digits("decimal(10,2)")
    (10, 2)
    """
    found = _DECIMAL.fullmatch(spark_type)
    return (int(found[1]), int(found[2])) if found else None


def is_integral(spark_type: str) -> bool:
    """Tell whether a type is one of tinyint, smallint, int, bigint."""
    return spark_type in _INTEGRAL_BITS


def is_day_time(spark_type: str) -> bool:
    """Tell whether a type is a day-time interval."""
    return _DAY_TIME.fullmatch(spark_type) is not None


def slot_type(spark_type: str) -> SlotType | None:
    """Return how a kernel sees values of a type, None when it cannot.

    Whole numbers, dates (days), timestamps and day-time intervals (microseconds) and
    decimals of up to 18 digits (unscaled) are 64-bit integers; wider decimals, strings in
    binary collation and binaries are ranks of the values present.

    >>> slot_type("decimal(10,2)")
    SlotType(kind='int', low=-9999999999, high=9999999999, scale=2, domain='')
    """
    if spark_type in _INTEGRAL_BITS:
        half = 2 ** (_INTEGRAL_BITS[spark_type] - 1)
        return SlotType("int", -half, half - 1)
    if spark_type in ("timestamp", "timestamp_ntz", "date") or is_day_time(spark_type):
        return BIGINT
    if spark_type in ("double", "float"):
        return DOUBLE
    if spark_type == "boolean":
        return BOOLEAN
    if spark_type in ("string", "string collate UTF8_BINARY") or re.fullmatch(r"(var)?char\(\d+\)", spark_type):
        return STRING
    if spark_type == "binary":
        return SlotType("code", domain="binary")
    return _decimal_slot(spark_type)


def _decimal_slot(spark_type: str) -> SlotType | None:
    digits = decimal_digits(spark_type)
    if digits is None:
        return None
    precision, scale = digits
    if precision > DECIMAL_DIGITS:
        return SlotType("code", domain="decimal")
    bound = 10**precision - 1
    return SlotType("int", -bound, bound, scale)


def refusal(spark_type: str) -> str:
    """Say why a type cannot take part in a match-dependent condition."""
    if spark_type.startswith("string collate"):
        return f"the collation of {spark_type} is not binary; compare lower(x) or collate(x, 'UTF8_BINARY')"
    if spark_type.startswith("interval") or spark_type == "calendar_interval":
        return f"{spark_type} has no fixed length; use a day-time interval"
    return f"{spark_type} has no order a kernel could use; take a field or an element of it"
