"""The public functions: typed, lazy, and the same for classic Spark and Connect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkcep.errors import warn
from sparkcep.planning.plans import Options
from sparkcep.spark.arguments import Arguments, Duration, Expression, Expressions, read_arguments
from sparkcep.spark.plan import MatchPlan
from sparkcep.syntax.pattern import RowPattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def plan(
    df: DataFrame,
    pattern: str | RowPattern,
    *,
    partition_by: Expressions = None,
    order_by: Expressions = None,
    define: Mapping[str, Expression] | None = None,
    subset: Mapping[str, Sequence[str]] | None = None,
    measures: Mapping[str, str] | None = None,
    rows_per_match: str | None = None,
    after_match: str | None = None,
    within: Duration | None = None,
    inclusive: bool = True,
    null_order_value: str = "error",
    options: Options | None = None,
) -> MatchPlan:
    """Plan a row pattern without building its DataFrame; see `match_pattern` for the arguments.

    Returns
    -------
    MatchPlan
        ``.explain()`` tells the engine, why it was chosen, and the compiled program;
        ``.dataframe()`` is what `match_pattern` returns.
    """
    arguments = Arguments(
        pattern,
        partition_by,
        order_by,
        define,
        subset,
        measures,
        rows_per_match,
        after_match,
        within,
        inclusive,
        null_order_value,
    )
    clause, source = read_arguments(df, arguments)
    if not clause.partition_by:
        warn("no partition_by: all rows go to one partition and one core; name a key if there is one")
    return MatchPlan(source, clause, options or Options())


def match_pattern(df: DataFrame, pattern: str | RowPattern, **arguments: Any) -> DataFrame:
    """Find a row pattern in a DataFrame (ISO/IEC 19075-5).

    Parameters
    ----------
    df
        The rows. Nothing is computed until the result is used.
    pattern
        A row pattern such as ``"A B+ C"``, a whole ``MATCH_RECOGNIZE (…)`` text, or a tree of
        `sparkcep.syntax.pattern`.
    partition_by
        Key columns: names, SQL expressions or Columns. Patterns do not cross keys; NULL is a key.
    order_by
        What says in which order rows happened: ``"ts"``, ``"ts DESC NULLS LAST"``, or Columns.
    define
        A condition per variable, as SQL text or (for conditions of one row) as a Column. A
        variable without one is always true.
    subset
        Union variables: ``{"U": ["A", "B"]}``.
    measures
        Result columns: name and SQL text with FIRST, LAST, PREV, NEXT, CLASSIFIER(),
        MATCH_NUMBER(), aggregates and any function of Spark.
    rows_per_match
        "one" (default), "all", "all omit empty", "all with unmatched", or the SQL spelling.
    after_match
        "past last row" (default), "to next row", "to first X", "to last X".
    within
        Furthest distance between first and last row: ``"30 minutes"``, a timedelta, a number in
        units of the first order column, or ``"500 events"``.
    inclusive
        Whether a match of exactly that length counts.
    null_order_value
        With `within`: "error" or "drop" for rows whose first order value is NULL.
    options
        `sparkcep.Options`: speed and budgets, never rows.

    Returns
    -------
    DataFrame
        ONE ROW: partition columns, measures. ALL ROWS: partition columns, order columns,
        measures, the other columns.

    Raises
    ------
    PatternSyntaxError, BindingError, PlanError
        At once, with clause, position and hint.

    Examples
    --------
    >>> falls = df.match_pattern(                                           # doctest: +SKIP
    ...     "STRT DOWN+ UP+",
    ...     partition_by="ticker",
    ...     order_by="trade_date",
    ...     define={"DOWN": "close < PREV(close)", "UP": "close > PREV(close)"},
    ...     measures={"bottom": "LAST(DOWN.close)", "days": "COUNT(*)"},
    ... )
    """
    return plan(df, pattern, **arguments).dataframe()


def matcher(pattern: str | RowPattern, **arguments: Any) -> Callable[[DataFrame], DataFrame]:
    """Return `match_pattern` with everything but the DataFrame, for ``df.transform``.

    Examples
    --------
    >>> df.transform(sparkcep.matcher("A B", order_by="ts", define={"B": "v > PREV(v)"}))  # doctest: +SKIP
    """
    return lambda df: match_pattern(df, pattern, **arguments)


def sql(spark: SparkSession, text: str, *, options: Options | None = None) -> DataFrame:
    """Run a Spark SQL statement that may hold MATCH_RECOGNIZE clauses.

    Clauses may stand wherever a table may: several in a query, over tables, views, common table
    expressions, joins and sub-queries, with an alias and column aliases behind them. Everything
    outside the clauses reaches Spark as it was written.

    Parameters
    ----------
    spark
        The session, classic or Connect.
    text
        One statement.
    options
        `sparkcep.Options` for every clause in it.

    Returns
    -------
    DataFrame
        As ``spark.sql`` returns it.

    Raises
    ------
    PatternSyntaxError, BindingError, PlanError
        At once, with clause, position and hint; a persistent view or a correlated clause is
        refused.

    Examples
    --------
    >>> sparkcep.sql(spark, '''                                             # doctest: +SKIP
    ...     SELECT ticker, bottom
    ...     FROM stocks MATCH_RECOGNIZE (
    ...         PARTITION BY ticker ORDER BY trade_date
    ...         MEASURES LAST(DOWN.close) AS bottom
    ...         PATTERN (STRT DOWN+ UP+)
    ...         DEFINE DOWN AS close < PREV(close), UP AS close > PREV(close))''')
    """
    from sparkcep.spark.session import run_statement

    return run_statement(spark, text, options or Options())
