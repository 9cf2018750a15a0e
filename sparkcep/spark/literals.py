"""Python values as SQL text: the value and type that `pyspark.sql.functions.lit` gives them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal

from pyspark.sql import Column

from sparkcep.errors import BindingError

_NAMED_DOUBLES = {math.inf: "DOUBLE('Infinity')", -math.inf: "DOUBLE('-Infinity')"}
_ALLOWED = (
    "None, bool, int, float, str, bytes, Decimal, date, datetime, timedelta, and lists and dicts of them; "
    "outside of the clause whatever Spark takes"
)


def sql_literal(value: object, name: str) -> str:
    r"""Return SQL text of a value.

    Parameters
    ----------
    value
        A Python value; datetimes without a zone are local times, as in PySpark.
    name
        Of the parameter, for the error.

    Raises
    ------
    BindingError
        UNSUPPORTED_PARAMETER: a Column, or a value that is no constant of SQL.

    Examples
    --------
    >>> sql_literal([1, -2.5, "it's"], "x")
    "ARRAY(1, -2.5e0, 'it\\'s')"
    """
    if isinstance(value, list | tuple):
        return f"ARRAY({', '.join(sql_literal(item, name) for item in value)})"
    if isinstance(value, Mapping):
        items = [sql_literal(item, name) for pair in value.items() for item in pair]
        return f"MAP({', '.join(items)})"
    text = _scalar(value)
    if text is None:
        kind = "a Column" if isinstance(value, Column) else f"of type {type(value).__name__}"
        raise BindingError(
            "UNSUPPORTED_PARAMETER",
            f"parameter {name} is {kind}; inside of MATCH_RECOGNIZE and match_pattern parameters become literals.",
            clause="args",
            found=repr(value)[:80],
            allowed=_ALLOWED,
            hint="compute it as a column of the input" if isinstance(value, Column) else None,
        )
    return text


def _scalar(value: object) -> str | None:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return _double(value)
        case Decimal() if value.is_finite():
            text = f"{value:f}"
            return text if "." in text else text + "."
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case dt.datetime():
            moment = value.astimezone(dt.timezone.utc).replace(tzinfo=None)  # one meaning in any session
            return f"TIMESTAMP '{moment.isoformat(' ')}Z'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case dt.timedelta():
            return _interval(value)
    return None


def _double(value: float) -> str:
    if math.isnan(value):
        return "DOUBLE('NaN')"
    text = _NAMED_DOUBLES.get(value) or repr(value)
    return text if "e" in text or "D" in text else text + "e0"


def _interval(value: dt.timedelta) -> str:
    sign = "-" if value < dt.timedelta(0) else ""
    rest = abs(value)
    minutes, seconds = divmod(rest.seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{rest.microseconds:06}"
    return f"INTERVAL '{sign}{rest.days} {clock}' DAY TO SECOND"
