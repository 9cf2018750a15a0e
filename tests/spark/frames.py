"""What tests with Spark share: small DataFrames of literals, plans as text, plans made in other threads."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any
from unittest.mock import patch

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

PYSPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))


def literal_frame(
    spark: SparkSession, columns: Sequence[str], types: Mapping[str, str], rows: Sequence[Sequence[Any]]
) -> DataFrame:
    """Return the rows as a DataFrame that Spark plans without a Python worker; `types` names each column's type."""
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


def skip_unless_told_of_writes(spark: SparkSession) -> None:
    """Skip a test that observes what is written, where Spark tells nothing of that."""
    if PYSPARK < (4, 1) and type(spark) is not SparkSession:
        pytest.skip("Connect of Spark 4.0 tells no observations of what is written")


def type_of(column: str) -> str:
    """Return the call that tells a column's type.

    A string is a string in UTF8_BINARY; Connect writes that out where the schema of a frame comes from Python.
    """
    return f"replace(typeof({column}), ' collate UTF8_BINARY')"


def physical_plan(frame: DataFrame) -> str:
    """Return what ``explain`` prints, on every kind of session."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        frame.explain()
    return printed.getvalue()


@contextmanager
def warnings_unheard() -> Iterator[None]:
    """Let sparkcep warn into the void; enter it before other threads start to plan, leave it after they end.

    Filters of warnings hold for the test that runs, in the main thread and while it runs. Another thread may
    warn between two tests, or when "error" is set already and what the marks ignore is not.
    """
    with patch("sparkcep.errors.warnings"):
        yield
