"""Everything sparkcep uses of PySpark that PySpark does not promise, and since when it holds.

Seen on PySpark 4.0.0 and 4.3, on classic sessions and on Connect. Whoever adds to this file says why no public
way exists; ``tests/unit/test_private_use.py`` finds uses anywhere else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

# PySparkLogger is public, the names of the loggers that report failing queries are not, and there is no setting
# that quiets them alone. A name that no longer exists makes a new logger that nobody uses.
QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

_TEXT = re.compile(r"Column<'(.*)'>", re.DOTALL)


def column_text(column: Column) -> str:
    """Return a column's expression as PySpark writes it; the name of a plain column, ``x ASC NULLS FIRST`` of a sort.

    A Column offers neither its name nor its sort order, only the form it prints in.
    """
    printed = _TEXT.fullmatch(repr(column))
    return printed[1] if printed else repr(column)


def speaks_connect(session: SparkSession) -> bool:
    """Whether a session speaks to a Connect server.

    PySpark tells that about the whole process only; the name of the module has been the same since 3.4.
    """
    return type(session).__module__.startswith("pyspark.sql.connect")


def cores_of(session: SparkSession) -> int | None:
    """Return how many tasks run at once, None where the session does not tell.

    Only the context of classic sessions knows; a setting holds the number only if somebody set it.
    """
    return None if speaks_connect(session) else session.sparkContext.defaultParallelism


def under_spark_submit(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether spark-submit started this Python: then a Java machine with its settings runs already.

    The variable is how the two find each other; asking for the context instead would start one.
    """
    return "PYSPARK_GATEWAY_PORT" in environment
