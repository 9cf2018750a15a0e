"""Rows and partitions as messages tell them: values as SQL literals, positions counted from one."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal

from sparkcep.errors import MatchError

_NAME_OR_CALL = re.compile(r"[\w.]+(\([^()]*\))?|\(.*\)|`.*`")


def literal_text(value: object) -> str:
    """Return a value as Spark's SQL would read it back, where it can.

    >>> literal_text("it's"), literal_text(None), literal_text(dt.date(2024, 1, 31))
    ("'it''s'", 'NULL', "DATE '2024-01-31'")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            # Timestamps come in the time zone of the session, which is the one Spark shows them in.
            return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case Decimal():
            return format(value, "f")
        case bytes():
            return f"X'{value.hex().upper()}'"
    return str(value)


def partition_text(keys: Iterable[tuple[str, object]]) -> str:
    """Name a partition by its keys and their values: ``partition tail_number = 'N14228'``."""
    told = ", ".join(f"{_bracketed(name)} = {literal_text(value)}" for name, value in keys)
    return f"partition {told}" if told else "the only partition"


def row_text(number: int, order_name: str | None = None, value: object = None, what: str = "row") -> str:
    """Name a row (or an event) by its position in its partition and, where there is one, its order value."""
    return f"{what} {number:,}" + (
        f" ({_bracketed(order_name)} = {literal_text(value)})" if order_name is not None else ""
    )


def raised_text(fault: MatchError) -> str:
    """Return an error for Spark to raise: it reads as one from a worker does, and what Spark adds stands apart."""
    return f"{type(fault).__module__}.{type(fault).__name__}: {fault}\n\n"


def _bracketed(expression: str) -> str:
    return expression if _NAME_OR_CALL.fullmatch(expression) else f"({expression})"
