"""Small DataFrames with explicit types, made of literals so that Spark plans them without a Python worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def literal_frame(
    spark: SparkSession, columns: Sequence[str], types: Mapping[str, str], rows: Sequence[Sequence[Any]]
) -> DataFrame:
    """Return the rows as a DataFrame; `types` names the Spark type of every column."""
    if not rows:
        return spark.createDataFrame([], ", ".join(f"`{name}` {types[name]}" for name in columns))
    values = ", ".join(
        f"({', '.join(_literal(value, types[name]) for name, value in zip(columns, row, strict=True))})" for row in rows
    )
    return spark.sql(f"SELECT * FROM VALUES {values} AS t({', '.join(f'`{name}`' for name in columns)})")


def _literal(value: Any, kind: str) -> str:
    if value is None:
        return f"CAST(NULL AS {kind})"
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{text}' AS {kind})"
