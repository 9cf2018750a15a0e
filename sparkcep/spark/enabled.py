"""``spark.sql`` of a session that understands MATCH_RECOGNIZE and match_pattern(TABLE …)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

from sparkcep.planning.plans import Options
from sparkcep.syntax.statements import may_hold_clause

Session = TypeVar("Session", bound=SparkSession)
_MARK = "__sparkcep_replaces__"


def enable(spark: Session, *, options: Options | None = None) -> Session:
    """Let ``spark.sql`` understand MATCH_RECOGNIZE and ``match_pattern(TABLE(t) …, pattern => '…')``.

    Both may stand wherever a table may, in queries and in EXPLAIN, CREATE [GLOBAL] TEMPORARY VIEW … AS,
    CREATE TABLE … AS and INSERT; see `sparkcep.sql`. Every other statement reaches Spark as before: its text is
    searched for two words, which takes microseconds.

    Parameters
    ----------
    spark
        The session, classic or Connect. The object itself is changed: ``spark.sql``, nothing else; other
        sessions, and other Python objects of the same session, are not.
    options
        `sparkcep.Options` for every clause. Enabling a session again changes them.

    Returns
    -------
    SparkSession
        The session that was given.

    See Also
    --------
    disable : undoes it.
    sql : one statement, without changing the session.

    Notes
    -----
    ``args=`` and keyword arguments are those of ``SparkSession.sql``. ``?`` and ``{2,3}`` in a row pattern are
    quantifiers, never parameters. Inside of clauses parameters become literals; in the texts of match_pattern's
    arguments ``:name`` is a parameter if `args` names it.

    Examples
    --------
    >>> spark = sparkcep.enable(spark)                                       # doctest: +SKIP
    >>> spark.sql(                                                           # doctest: +SKIP
    ...     '''SELECT * FROM {ticks} MATCH_RECOGNIZE (
    ...            PARTITION BY ticker ORDER BY at
    ...            MEASURES COUNT(*) AS days
    ...            PATTERN (STRT DOWN{2,})
    ...            DEFINE DOWN AS close < PREV(close) - :step)''',
    ...     args={"step": 2},
    ...     ticks=ticks,
    ... )
    """
    from sparkcep.spark.session import Given, run_statement  # here: a session may be enabled and never match

    disable(spark)
    original: Callable[..., DataFrame] = spark.sql
    chosen = options or Options()

    @wraps(original)
    def sql(sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803 (callers may use the name)
        if not isinstance(sqlQuery, str) or not may_hold_clause(sqlQuery):
            return original(sqlQuery, args, **kwargs)
        return run_statement(spark, sqlQuery, chosen, Given(args, kwargs), original)

    setattr(sql, _MARK, vars(spark).get("sql"))
    spark.sql = sql  # type: ignore[method-assign]
    return spark


def disable(spark: Session) -> Session:
    """Give a session its own ``spark.sql`` back.

    Parameters
    ----------
    spark
        A session, enabled or not. Views made while it was enabled go on working.

    Returns
    -------
    SparkSession
        The session that was given.

    Examples
    --------
    >>> spark = sparkcep.disable(spark)                                      # doctest: +SKIP
    """
    enabled = vars(spark).get("sql")
    if enabled is None or not hasattr(enabled, _MARK):
        return spark
    before = getattr(enabled, _MARK)
    if before is None:
        del spark.sql
    else:
        spark.sql = before  # type: ignore[method-assign]
    return spark
