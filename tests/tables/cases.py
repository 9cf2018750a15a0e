"""The case tables: one format, read once, run by the reference and by every engine.

A case holds `columns`, `rows` (NULL is the string "NULL"), the arguments of ``match_pattern``
and either `expected`, the output rows as a multiset, or `error`, words of the message.
`expected` has the partition and measure columns only unless `all_columns` is true. `types`
names the Spark type of columns whose values TOML cannot write or whose type the values do
not show: double, bigint, smallint, string, boolean, timestamp, date, decimal(p,s). `refused` holds
words of the message with which the engines refuse what they cannot compute exactly; `expected` then
says what the reference finds. A number n in place of
`rows` stands for n rows of one column, 1 to n.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib  # pytest brings it

TABLES = Path(__file__).parent
ARGUMENTS = (
    "pattern",
    "partition_by",
    "order_by",
    "define",
    "measures",
    "subset",
    "rows_per_match",
    "after_match",
    "within",
    "inclusive",
    "null_order_value",
)
_READERS: dict[str, Callable[[Any], Any]] = {
    "double": float,
    "bigint": int,
    "smallint": int,
    "string": str,
    "boolean": bool,
    "timestamp": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "decimal": Decimal,
}


@dataclass(frozen=True)
class TableCase:
    """One case of a table.

    Attributes
    ----------
    arguments
        Keyword arguments of ``match_pattern``, those that the case gives.
    expected
        Output rows in any order, or None if an error is expected.
    error
        Words that the error's message contains.
    all_columns
        Whether `expected` has all output columns; else the partition and measure columns.
    types
        Spark's name of a column's type, for all columns that are not all NULL at least.
    refused
        Words of the message with which every engine refuses the case.
    """

    table: str
    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    arguments: dict[str, Any]
    expected: tuple[tuple[Any, ...], ...] | None
    error: tuple[str, ...]
    all_columns: bool
    types: dict[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    def visible(self, names: list[str]) -> list[str]:
        """Return the output columns that `expected` lists, given all of them."""
        if self.all_columns:
            return names
        wanted = [*self.arguments.get("partition_by", ()), *self.arguments.get("measures", {})]
        aliases = [text.rsplit(" AS ", 1)[-1] for text in wanted]
        return [name for name in names if name in aliases]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if value == "NULL" else value


def _inferred(values: list[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    names = {bool: "boolean", int: "bigint", float: "double", str: "string"}
    return names[kinds.pop()] if len(kinds) == 1 else "double" if kinds else "string"


def _case(table: str, raw: dict[str, Any]) -> TableCase:
    unknown = set(raw) - {"name", "columns", "rows", "types", "expected", "error", "refused", "all_columns", *ARGUMENTS}
    if unknown:
        raise ValueError(f"{table}: {raw['name']}: unknown keys {sorted(unknown)}")
    columns = raw["columns"]
    given = raw["rows"]
    rows = [[number + 1] for number in range(given)] if isinstance(given, int) else [_plain(row) for row in given]
    types = {name: _inferred([row[j] for row in rows]) for j, name in enumerate(columns)} | raw.get("types", {})
    converted = tuple(
        tuple(None if v is None else _READERS[types[c].split("(")[0]](v) for c, v in zip(columns, row, strict=True))
        for row in rows
    )
    expected = raw.get("expected")
    return TableCase(
        table,
        raw["name"],
        tuple(columns),
        converted,
        {name: raw[name] for name in ARGUMENTS if name in raw},
        None if expected is None else tuple(tuple(_plain(row)) for row in expected),
        tuple(raw.get("error", ())),
        raw.get("all_columns", False),
        types,
        tuple(raw.get("refused", ())),
    )


def load_cases(prefix: str = "row_") -> list[TableCase]:
    """Return all cases of the tables whose file name starts with `prefix`, by file and place."""
    return [
        _case(path.stem, raw)
        for path in sorted(TABLES.glob(f"{prefix}*.toml"))
        for raw in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]
