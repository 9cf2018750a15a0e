"""The public functions: typed, lazy, and the same for classic Spark and Connect."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from sparkcep.errors import BindingError, warn
from sparkcep.planning.plans import Options
from sparkcep.planning.statistics import Statistics
from sparkcep.spark.arguments import Arguments, Duration, Expression, Expressions
from sparkcep.spark.expansion import expanded
from sparkcep.spark.plan import MatchPlan
from sparkcep.spark.planned import planned
from sparkcep.syntax.builder import Pattern
from sparkcep.syntax.dialects import translate
from sparkcep.syntax.event_pattern import EventPattern
from sparkcep.syntax.pattern import RowPattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

    from sparkcep.spark.event_plan import EventPlan

_P = ParamSpec("_P")


def plan(
    df: DataFrame,
    pattern: str | RowPattern | EventPattern | Pattern,
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
    strategy: str | None = None,
    types: Mapping[str, Expression] | None = None,
    type_column: Expression | None = None,
    matches: str = "all",
    timeouts: bool = False,
    limit: int | None = None,
    sample: int | float | None = None,
    strict_time: bool = False,
    options: Options | None = None,
    observe: str | Observation | None = None,
) -> MatchPlan | EventPlan:
    """Plan a pattern without building its DataFrame; see `match_pattern` for the arguments.

    Returns
    -------
    MatchPlan or EventPlan
        Of a row pattern or an event pattern. ``.explain()`` tells the engine, why it was chosen,
        and what it tests; ``.dataframe()`` is what `match_pattern` returns.
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
        strategy,
        types,
        type_column,
        matches,
        timeouts,
        limit,
        sample,
        strict_time,
        observe,
    )
    return planned(df, arguments, options or Options())


def analyze(df: DataFrame, pattern: str | EventPattern | Pattern, **arguments: Any) -> Statistics:
    """Measure, on a bounded sample, what the planner and the engines like to know of an event pattern.

    Runs a job: rows are sorted as for `match_pattern`, and the first 20,000 of each Spark partition are counted
    and paired.

    Parameters
    ----------
    df, pattern, **arguments
        As for `match_pattern`.

    Returns
    -------
    Statistics
        Events per window of each variable, and the share of pairs inside of the window that satisfies the
        conditions on two variables; for ``Options(stats=…)``.

    Raises
    ------
    PlanError
        ILLEGAL_PLAN: the events of the pattern cannot be bound in another order, so nothing is to be chosen.
    BindingError
        WRONG_LANGUAGE: a row pattern is given.

    Examples
    --------
    >>> stats = sparkcep.analyze(clicks, "SEQ(View a, Buy b) WITHIN 1 hour", ...)  # doctest: +SKIP
    >>> sparkcep.Options(stats=stats)  # doctest: +SKIP
    """
    from sparkcep.spark.analysis import analyzed
    from sparkcep.spark.event_plan import EventPlan

    planned_pattern = plan(df, pattern, **arguments)
    if not isinstance(planned_pattern, EventPlan):
        raise BindingError(
            "WRONG_LANGUAGE", "statistics choose the order in which events are bound; this is a row pattern",
            clause="pattern", allowed="an event pattern, such as SEQ(A a, B b)",
        )  # fmt: skip
    return analyzed(planned_pattern)


def _with_parameters_of(
    source: Callable[Concatenate[DataFrame, _P], Any],
) -> Callable[[Callable[..., DataFrame]], Callable[Concatenate[DataFrame, _P], DataFrame]]:
    """Let help, editors and type checkers see what a function hands on."""

    def decorate(function: Callable[..., DataFrame]) -> Callable[Concatenate[DataFrame, _P], DataFrame]:
        shown = inspect.signature(source).replace(return_annotation="DataFrame")
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return decorate


@_with_parameters_of(plan)
def match_pattern(df: DataFrame, pattern: str | RowPattern | EventPattern | Pattern, **arguments: Any) -> DataFrame:
    """Find a row pattern (ISO/IEC 19075-5) or an event pattern (SASE+) in a DataFrame.

    Parameters
    ----------
    df
        The rows. Nothing is computed until the result is used.
    pattern
        A row pattern such as ``"A B+ C"``, a whole ``MATCH_RECOGNIZE (…)`` text, or a tree of
        `sparkcep.syntax.pattern`; or an event pattern: text that begins with ``SEQ(``, ``AND(`` or
        ``OR(`` (with ``PATTERN`` before it or without) and may go on with WHERE, WITHIN and RETURN,
        or what `sparkcep.seq`, `all_of` and `any_of` build.
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
        MATCH_NUMBER(), aggregates and any function of Spark. In event patterns they say the same
        as RETURN: ``a.ts``, ``b[1].v``, ``b[b.LEN].v``, ``COUNT(b)``, ``SUM(b.v)``.
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
    strategy
        Event patterns: what may be passed over between events: "strict", "partition_contiguity",
        "skip_till_next_match" (default) or "skip_till_any_match".
    types
        Event patterns: what an event of a type is: ``{"Shelf": "event = 'shelf'"}``, SQL text or Column.
    type_column
        Event patterns: the column that holds the names of types that `types` does not tell.
    matches
        Event patterns: "all", "non_overlapping", "one_per_start", "count", which gives one row per
        partition, or "graph": one row per event that completes matches, which holds all of them as
        a graph; `sparkcep.expand` lists them.
    timeouts
        Event patterns: whether partial matches whose window closed come too. The result then ends
        in match_status ('match' or 'timeout'), waiting_for (the variable) and deadline.
    limit
        Event patterns: so many matches at most per partition, the first ones.
    sample
        Event patterns: so many matches per partition (int), or each with this chance (float below
        1.0), drawn uniformly; `Options.seed` makes another draw.
    strict_time
        Event patterns: whether the first order value must grow from component to component.
    options
        `sparkcep.Options`: speed and budgets, never rows.
    observe
        A name, or a `pyspark.sql.Observation`: rows, partitions, ties, matches and the work it took are counted
        while a job runs; `sparkcep.read_observation` reads them, and so do listeners of Spark, by the name.

    Returns
    -------
    DataFrame
        ONE ROW: partition columns, measures. ALL ROWS: partition columns, order columns,
        measures, the other columns. Event patterns: partition columns, match_number, match_start,
        match_end, match_time, and per variable a struct of all columns, for loops an array of
        structs; with RETURN or `measures` these behind the partition columns.

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
    >>> thefts = df.match_pattern(                                          # doctest: +SKIP
    ...     "SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours RETURN a.ts AS taken, c.ts AS gone",
    ...     partition_by="shop",
    ...     order_by="ts",
    ...     types={"Shelf": "reader = 'shelf'", "Register": "reader = 'register'", "Exit": "reader = 'exit'"},
    ... )
    """
    return plan(df, pattern, **arguments).dataframe()


def matcher(pattern: str | RowPattern | EventPattern | Pattern, **arguments: Any) -> Callable[[DataFrame], DataFrame]:
    """Return `match_pattern` with everything but the DataFrame, for ``df.transform``.

    Examples
    --------
    >>> df.transform(sparkcep.matcher("A B", order_by="ts", define={"B": "v > PREV(v)"}))  # doctest: +SKIP
    """
    return lambda df: match_pattern(df, pattern, **arguments)


def expand(df: DataFrame, *, limit: int | None = None, sample: int | float | None = None, seed: int = 0) -> DataFrame:
    """List the matches that the graphs of ``matches="graph"`` hold.

    Parameters
    ----------
    df
        What ``match_pattern(…, matches="graph")`` returned, filtered or saved and read again if need be.
    limit
        So many matches at most per partition, the first ones, found without listing the others.
    sample
        So many matches per partition (int), or each with this chance (float below 1.0), drawn
        uniformly without listing the others.
    seed
        Of the random numbers: the same seed over the same rows draws the same matches.

    Returns
    -------
    DataFrame
        The columns of ``matches="all"``: partition columns, match_number, match_start, match_end,
        match_time, and per variable a struct of all columns or an array of such structs.
        match_number counts the matches that are returned, per partition, in their order.

    Raises
    ------
    BindingError
        NO_MATCH_GRAPH: the DataFrame holds no graph that tells of its pattern.
    PatternSyntaxError
        WRONG_ARGUMENT: `limit` or `sample` are no such numbers.

    Examples
    --------
    >>> graphs = df.match_pattern(                                          # doctest: +SKIP
    ...     "SEQ(Login a, Retry+ b[], Block c)", strategy="skip_till_any_match", matches="graph", order_by="ts"
    ... )
    >>> sparkcep.expand(graphs, limit=10)                                   # doctest: +SKIP
    """
    return expanded(df, limit, sample, seed)


def sql(
    spark: SparkSession,
    text: str,
    args: dict[str, Any] | list[Any] | None = None,
    *,
    options: Options | None = None,
    dialect: str | None = None,
    observe: str | Observation | None = None,
    **fields: Any,
) -> DataFrame:
    """Run a Spark SQL statement that may hold MATCH_RECOGNIZE clauses and calls of match_pattern.

    Clauses may stand wherever a table may: several in a query, over tables, views, common table
    expressions, joins and sub-queries, with an alias and column aliases behind them. So may the
    table function ``match_pattern(TABLE(t) PARTITION BY … ORDER BY …, pattern => '…')``, whose
    other arguments are those of `sparkcep.match_pattern`, given as constants: texts, numbers,
    TRUE, FALSE, ``map('name', 'text')``, ``array('text')``. Everything outside reaches Spark as it
    was written.

    Parameters
    ----------
    spark
        The session, classic or Connect.
    text
        One statement.
    args
        Values of its parameters ``:name`` (a dict) or ``?`` (a list), as ``spark.sql`` takes them. Inside of
        clauses they become literals. ``?`` and ``{2}`` in a row pattern are quantifiers, never parameters.
    options
        `sparkcep.Options` for every clause in it.
    dialect
        "trino", "oracle", "snowflake" or "flink": the statement is translated first, and what was changed is
        warned about; see `sparkcep.translate`.
    observe
        As in `sparkcep.match_pattern`. The first clause has this name, innermost and leftmost ones first, others
        have ``name_2``, ``name_3``, …; an Observation serves a statement of one clause. A call of match_pattern may
        have a name of its own: ``observe => 'name'``.
    **fields
        What stands for ``{name}``: DataFrames, plain Columns, values.

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
    >>> sparkcep.sql(spark, '''                                             # doctest: +SKIP
    ...     SELECT * FROM match_pattern(
    ...         TABLE(readings) PARTITION BY shop ORDER BY ts,
    ...         pattern => 'SEQ(shelf a, ~(register b), exit c) WHERE [tag_id]',
    ...         within => '12 hours', type_column => 'reader')''')
    """
    from sparkcep.spark.session import Given, run_statement

    if dialect is not None:
        translated = translate(text, dialect)
        text = translated.text
        if translated.changes:
            warn(f"Translated from {dialect}: {'; '.join(translated.changes)}.")
    return run_statement(spark, text, options or Options(), Given(args, fields), observe=observe)
