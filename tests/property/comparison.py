"""Results compared as multisets of rows."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any


def canonical(value: Any) -> Any:
    """Return a hashable stand-in: NaN equals NaN, −0.0 equals 0.0, 1 equals 1.0, and True is not 1."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, int | float | Decimal):
        return ("number", value)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, Mapping):
        return tuple((name, canonical(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(canonical(item) for item in value)
    return value


def compare(
    expected: Iterable[Sequence[Any]], actual: Iterable[Sequence[Any]], columns: Sequence[str] | None = None
) -> None:
    """Raise AssertionError unless both hold the same rows, each as often, in any order."""
    wanted, found = [tuple(row) for row in expected], [tuple(row) for row in actual]
    missing = _minus(wanted, found)
    surplus = _minus(found, wanted)
    if not missing and not surplus:
        return
    lines = [f"{len(wanted)} rows expected, {len(found)} found"]
    if columns is not None:
        lines.append(f"    {_shown(columns)}")
    lines += [f"  - {_shown(row)}" for row in missing[:20]]
    lines += [f"  + {_shown(row)}" for row in surplus[:20]]
    more = max(0, len(missing) - 20) + max(0, len(surplus) - 20)
    lines += [f"  … {more} more"] if more else []
    raise AssertionError("\n".join([*lines, "(- expected and missing, + found and not expected)"]))


def _minus(rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    left = Counter(canonical(row) for row in others)
    remaining = []
    for row in rows:
        if left[canonical(row)] > 0:
            left[canonical(row)] -= 1
        else:
            remaining.append(row)
    return remaining


def _shown(row: Sequence[Any]) -> str:
    return " | ".join("NULL" if value is None else str(value) for value in row)
