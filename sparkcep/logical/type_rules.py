"""Spark's rules for the types of arithmetic, aggregates and choices, where no Spark is at hand to be asked.

Types are simple names, as in `sparkcep.logical.types`. Wherever there is a session, ask it (`TypeOracle`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.logical.types import decimal_digits, is_day_time, is_integral

_INTEGRAL = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_LOSSLESS = {"date": ("timestamp_ntz",), "float": ("double",), "boolean": ("tinyint", "smallint", "int", "bigint")}
MOST_DIGITS = 38


def is_lossless(have: str, wanted: str) -> bool:
    """Tell whether every value of a type has an equal one in another type."""
    if have == wanted or wanted in _LOSSLESS.get(have, ()):
        return True
    if is_integral(have) and is_integral(wanted):
        return _INTEGRAL[have] <= _INTEGRAL[wanted]
    if wanted == "double":
        return is_integral(have) or decimal_digits(have) is not None
    into, digits = decimal_digits(wanted), decimal_digits(have) or ((_INTEGRAL[have], 0) if is_integral(have) else None)
    return (
        into is not None and digits is not None and into[1] >= digits[1] and into[0] - into[1] >= digits[0] - digits[1]
    )


def arithmetic_type(operator: str, left: str, right: str) -> str:
    """Return the type of ``left operator right``; ValueError where Spark converts a side first."""
    operator = operator.lower()
    if is_integral(left) and is_integral(right):
        if operator == "/":
            return "double"
        return "bigint" if operator == "div" else max(left, right, key=_INTEGRAL.__getitem__)
    if not _is_number(left) or not _is_number(right):
        raise ValueError(f"{left} {operator} {right} is Spark's to convert")
    if operator == "div":
        raise ValueError("DIV takes whole numbers")
    if "float" in (left, right) and operator != "/" and (is_integral(left) or is_integral(right)):
        raise ValueError("FLOAT and whole numbers become FLOAT or DOUBLE, as the session's ANSI mode says")
    if "double" in (left, right) or "float" in (left, right):
        only_float = left == right == "float" and operator != "/"
        return "float" if only_float else "double"
    if operator == "/":
        raise ValueError("decimal division rounds by rules of its own: cast one side to DOUBLE")
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    if operator == "*":
        return _decimal(p1 + p2 + 1, s1 + s2)
    if operator == "%":
        return _decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))
    return _decimal(max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2))


def aggregate_type(function: str, kind: str) -> str:
    """Return the type of SUM, AVG, MIN or MAX over values of a type; ValueError where only Spark knows it."""
    digits = decimal_digits(kind)
    if function in ("min", "max"):
        return kind
    if digits is not None:
        more, further = (10, 0) if function == "sum" else (4, 4)
        return f"decimal({min(MOST_DIGITS, digits[0] + more)},{min(MOST_DIGITS, digits[1] + further)})"
    if function == "sum" and (is_integral(kind) or is_day_time(kind)):
        return "bigint" if is_integral(kind) else "interval day to second"
    if not _is_number(kind):
        raise ValueError(f"{function.upper()} over {kind} is Spark's to compute")
    return "double"


def united_type(kinds: Sequence[str]) -> str:
    """Return the common type of COALESCE, CASE or LEAST; ValueError where Spark converts texts or times."""
    first = kinds[0]
    if all(kind == first for kind in kinds):
        return first
    if all(map(is_integral, kinds)):
        return max(kinds, key=_INTEGRAL.__getitem__)
    if all(map(_is_number, kinds)):
        if {"double", "float"} & set(kinds):
            return "double"
        scale = max(_digits(kind)[1] for kind in kinds)
        return _decimal(max(p - s for p, s in map(_digits, kinds)) + scale, scale, least=0)
    if all(map(is_day_time, kinds)):
        return "interval day to second"
    if set(kinds) == {"date", "timestamp_ntz"}:
        return "timestamp_ntz"
    raise ValueError(f"{' and '.join(dict.fromkeys(kinds))} are Spark's to convert into each other")


def _is_number(kind: str) -> bool:
    return is_integral(kind) or kind in ("float", "double") or decimal_digits(kind) is not None


def _digits(kind: str) -> tuple[int, int]:
    return decimal_digits(kind) or (_INTEGRAL[kind], 0)


def _decimal(precision: int, scale: int, least: int = 6) -> str:
    """Return a decimal type; beyond 38 digits Spark gives up digits behind the point, but not the last `least`."""
    if precision > MOST_DIGITS:
        scale = max(MOST_DIGITS - (precision - scale), min(scale, least))
    return f"decimal({min(precision, MOST_DIGITS)},{scale})"
