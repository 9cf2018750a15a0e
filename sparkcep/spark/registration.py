"""Registers table functions with a session."""

from __future__ import annotations

from typing import Any, TypeVar

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.errors import PatternSyntaxError
from sparkcep.spark.arguments import Arguments
from sparkcep.spark.table_function import NAME, MatchPattern, RegisteredBatches, RegisteredRows, warn_of_keys
from sparkcep.spark.table_plan import planned_table

Session = TypeVar("Session", bound=SparkSession)


def register(spark: Session, name: str = NAME) -> Session:
    """Register the table function ``match_pattern(TABLE(t), pattern => '…', …)`` for plain SQL.

    For those who can send a session nothing but SQL text; where Python runs, `sparkcep.enable` and
    ``df.match_pattern`` know more and are faster.

    Parameters
    ----------
    spark
        The session, classic or Connect.
    name
        What the function shall be called.

    Returns
    -------
    SparkSession
        The session that was given.

    See Also
    --------
    enable : lets ``spark.sql`` understand the same calls, and MATCH_RECOGNIZE, with all of Spark's functions.

    Notes
    -----
    Arguments are those of `sparkcep.match_pattern`, as constants: texts, numbers, ``map('A', 'v > 1')``. The columns
    of the result and every fault of the pattern are known when Spark analyses the query. Spark hands over maps
    without their order, so ``measures => map(…)`` gives columns by name; a whole ``MATCH_RECOGNIZE (…)`` text as
    pattern keeps them as written.

    ``partition_by => 'k', order_by => 'ts'`` groups as GROUP BY does, NaN and texts in UTF8_LCASE included; other
    collations are refused. PARTITION BY and ORDER BY behind ``TABLE(t)`` are Spark's own: it compares keys in
    Python, so that NaN keys and collated keys fall apart; a warning says so where the table has such columns.
    Keys are then no columns of the result, WITHIN cannot measure time, and each partition is matched alone, which
    costs more where partitions are small.

    Conditions of one row are Spark's, any function included. What reads neighbours or other rows of the match, keys
    in brackets, and measures may hold arithmetic, comparison, logic, CASE, COALESCE, LEAST, GREATEST, ABS; the rest
    can be computed in the input or around the call. Measures may also list values, ``ARRAY_AGG(B.v)``.

    Event patterns take no ``matches => 'graph'`` and no condition that only joins can test.

    Rows come to Python one by one, and are matched many at a time. Texts with a collation come out as plain texts.

    Examples
    --------
    >>> sparkcep.register(spark)                                             # doctest: +SKIP
    >>> spark.sql('''SELECT * FROM match_pattern(                            # doctest: +SKIP
    ...     TABLE(stocks), partition_by => 'ticker', order_by => 'trade_date', pattern => 'STRT DOWN+ UP+',
    ...     define => map('DOWN', 'close < PREV(close)', 'UP', 'close > PREV(close)'),
    ...     measures => map('bottom', 'LAST(DOWN.close)', 'days', 'COUNT(*)'))''')
    """
    _register(spark, name, F.udtf(MatchPattern, useArrow=False))
    return spark


def register_pattern(spark: Session, name: str, pattern: str, schema: T.StructType | str, **arguments: Any) -> Session:
    """Register a pattern as a table function with a name and a fixed input.

    Parameters
    ----------
    spark
        The session, classic or Connect.
    name
        Of the function.
    pattern
        A whole ``MATCH_RECOGNIZE (…)`` text, or a row or event pattern that `arguments` complete.
    schema
        Of the table that the function will be called with: a StructType, or DDL text. Columns are found by name.
    **arguments
        Of `sparkcep.match_pattern`, as text: ``order_by``, ``define``, ``measures``, …

    Returns
    -------
    SparkSession
        The session that was given.

    Raises
    ------
    PatternSyntaxError, BindingError, PlanError
        At once; NEEDS_SPARK for what only Spark could compute: here conditions of one row are no exception.

    Notes
    -----
    The caller partitions and sorts, as the pattern says:
    ``SELECT * FROM funnel(TABLE(clicks) PARTITION BY user ORDER BY ts)``. Keys that Python tells apart and Spark
    does not (NaN, collations) fall apart; a warning says so where the pattern's keys can hold them.

    Where Spark has Arrow table functions (4.1 and later) rows come as Arrow batches, and the partitions of a batch
    are matched together; before, rows come one by one and each partition is matched alone.

    Examples
    --------
    >>> sparkcep.register_pattern(                                           # doctest: +SKIP
    ...     spark, "falls",
    ...     '''MATCH_RECOGNIZE (PARTITION BY ticker ORDER BY day MEASURES COUNT(*) AS days
    ...                         PATTERN (STRT DOWN+) DEFINE DOWN AS close < PREV(close))''',
    ...     "ticker STRING, day DATE, close DOUBLE",
    ... )
    >>> spark.sql("SELECT * FROM falls(TABLE(stocks) PARTITION BY ticker ORDER BY day)")  # doctest: +SKIP
    """
    table = T.StructType.fromDDL(schema) if isinstance(schema, str) else schema
    if not isinstance(table, T.StructType):
        raise PatternSyntaxError(
            "WRONG_ARGUMENT", "schema names the columns of a table", clause="schema", found=str(schema)
        )
    plan = planned_table(table, Arguments(pattern, **arguments), selects=False)
    warn_of_keys({key.name: key.kind for key in plan.keys})
    match = plan.match
    by_batches: Any = getattr(F, "arrow_udtf", None)
    kind: type = RegisteredRows if by_batches is None else RegisteredBatches
    # A class of its own, which Spark pickles with all that it holds.
    function = type(name, (kind,), {"match": match})
    if by_batches is None:
        _register(spark, name, F.udtf(function, returnType=match.schema, useArrow=False))
    else:
        _register(spark, name, by_batches(function, returnType=match.schema))
    return spark


def _register(spark: SparkSession, name: str, function: Any) -> None:
    spark.udtf.register(name, function)
