"""SQL statements with MATCH_RECOGNIZE or match_pattern: each becomes a hidden view, the rest is Spark's."""

from __future__ import annotations

import itertools
import re
import string
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession

from sparkcep.errors import BindingError, PatternSyntaxError, PlanError, Span, did_you_mean
from sparkcep.planning.plans import Options
from sparkcep.private_pyspark import column_text, speaks_connect
from sparkcep.spark.arguments import Arguments
from sparkcep.spark.literals import sql_literal
from sparkcep.spark.observation import Observed
from sparkcep.spark.plan import MatchPlan
from sparkcep.spark.planned import planned
from sparkcep.spark.quiet import query_errors_unlogged
from sparkcep.spark.source import Source
from sparkcep.spark.types import analysis_error
from sparkcep.syntax.parameters import POSITIONAL_NAME, Parameters, names_in, with_literals
from sparkcep.syntax.statements import Occurrence, rewrite
from sparkcep.syntax.table_call import TableCall

if TYPE_CHECKING:
    from sparkcep.spark.event_plan import EventPlan

_TABLE = re.compile(r"table or view (`[^`]+`(?:\.`[^`]+`)*) cannot be found")


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller gave for the parameters of a statement; see ``SparkSession.sql``.

    Attributes
    ----------
    args
        Values of ``?`` (a list) or of ``:name`` (a dict).
    fields
        What stands for ``{name}``: DataFrames, plain Columns, values.
    """

    args: dict[str, Any] | list[Any] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def parameters(self) -> Parameters:
        """Return them as the rewriting of statements asks for them."""
        by_key: dict[str | int, Any] = {}
        by_key.update(self.args if isinstance(self.args, dict) else enumerate(self.args or ()))
        views: dict[tuple[int, bool], str] = {}

        def literal(key: str | int) -> str:
            return sql_literal(by_key[key], f":{key}" if isinstance(key, str) else f"? number {key + 1}")

        def text_of(name: str, shared: bool) -> str | None:
            return _field_text(name, self.fields, views, shared)

        names = [key for key in by_key if isinstance(key, str)]
        count = len(by_key) if isinstance(self.args, list) else None
        return Parameters(names, count, literal, text_of, bool(self.fields))

    def named(self, text: str) -> dict[str, Any] | None:
        """Return those values, by name, that a rewritten text may still ask for; None where it asks for none."""
        if self.args is None:
            return None
        values = self.args
        if not isinstance(values, Mapping):
            values = {POSITIONAL_NAME.format(number): value for number, value in enumerate(values)}
        asked = names_in(text)
        return {name: value for name, value in values.items() if name in asked} or None


def run_statement(
    spark: SparkSession,
    text: str,
    options: Options,
    given: Given | None = None,
    run: Callable[..., DataFrame] | None = None,
    observe: object = None,
) -> DataFrame:
    """Run one statement; see `sparkcep.sql`.

    Parameters
    ----------
    given
        Values of parameters.
    run
        What runs what is left for Spark: ``spark.sql``, unless that is what called.
    observe
        What the caller wants to be observed.
    """
    given, run = given or Given(), run or spark.sql
    if not isinstance(given.args, dict | list | None):
        return run(text, given.args)  # Spark says what it takes
    parameters, observations = given.parameters(), _observations(observe)

    observed: list[Observed] = []

    def serve(occurrence: Occurrence) -> str:
        plan = _plan(spark, text, occurrence, options, given, parameters, observations)
        observed.extend([plan.observed] if plan.observed is not None else [])
        return _view(plan.dataframe(), occurrence.shared)

    rewritten = rewrite(text, serve, parameters)
    if rewritten == text:
        return run(text, given.args, **given.fields)
    if observed and speaks_connect(spark):
        raise PlanError(
            "UNSUPPORTED_OBSERVATION",
            "Connect does not tell observations of what a SQL statement reads",
            clause="observe",
            hint="use DataFrame.match_pattern, which can be observed on Connect too",
        )
    result = run(rewritten, given.named(rewritten))
    # Spark looks for observations in the plan it is asked to run, where a statement has names of views only.
    return result.select("*") if observed and result.columns else result


def statement_plans(spark: SparkSession, text: str, options: Options) -> list[MatchPlan | EventPlan]:
    """Return the plan of every clause of a statement, innermost and leftmost first; runs nothing of it."""
    plans: list[MatchPlan | EventPlan] = []

    def serve(occurrence: Occurrence) -> str:
        plans.append(_plan(spark, text, occurrence, options, Given(), Parameters(), _observations(None)))
        return _view(plans[-1].dataframe(), occurrence.shared)

    rewrite(text, serve)
    return plans


def _observations(observe: object) -> Iterator[object]:
    """Yield what to observe the clauses of a statement as; an Observation serves one of them."""
    yield observe
    for number in itertools.count(2):
        if observe is not None and not isinstance(observe, str):
            raise PatternSyntaxError(
                "CONTRADICTION",
                "an Observation serves one match, and the statement holds several",
                clause="observe",
                hint="give a name: the others are then name_2, name_3, …",
            )
        yield None if observe is None else f"{observe}_{number}"


def _plan(
    spark: SparkSession,
    text: str,
    occurrence: Occurrence,
    options: Options,
    given: Given,
    parameters: Parameters,
    observations: Iterator[object],
) -> MatchPlan | EventPlan:
    frame = _input(spark, text, occurrence, given)
    if isinstance(occurrence.clause, TableCall):
        # `read_table_call` has checked the names; what the values may be is checked where arguments are read.
        arguments = Arguments(**_with_literals(occurrence.clause.arguments, parameters))
        if arguments.observe is None:
            arguments = replace(arguments, observe=next(observations))
        return planned(frame, arguments, options, occurrence.relation_alias, in_sql=True)
    observe = next(observations)
    observed = None if observe is None else Observed(observe)
    source = Source(frame, tuple(frame.columns), occurrence.relation_alias, observed=observed)
    return MatchPlan(source, occurrence.clause, options)


def _with_literals(value: Any, parameters: Parameters) -> Any:
    """Fill in the parameters of the texts of a call."""
    if isinstance(value, str):
        return with_literals(value, parameters)
    if isinstance(value, list):
        return [_with_literals(item, parameters) for item in value]
    if isinstance(value, dict):
        return {key: _with_literals(item, parameters) for key, item in value.items()}
    return value


def _view(frame: DataFrame, shared: bool) -> str:
    """Give a frame a hidden name that lives as long as the session, or the application, as views made from it may."""
    name = f"sparkcep_{uuid.uuid4().hex}"
    if not shared:
        frame.createOrReplaceTempView(name)
        return name
    frame.createOrReplaceGlobalTempView(name)
    return f"{frame.sparkSession.conf.get('spark.sql.globalTempDatabase', 'global_temp')}.{name}"


def _field_text(name: str, fields: Mapping[str, Any], views: dict[tuple[int, bool], str], shared: bool) -> str | None:
    """Return what stands for ``{name}``; None where it is no field."""
    if re.split(r"[.\[]", name)[0] not in fields:
        return None
    value = string.Formatter().get_field(name, (), fields)[0]
    if isinstance(value, DataFrame):
        key = (id(value), shared)
        if key not in views:
            views[key] = _view(value, shared)
        return views[key]
    if not isinstance(value, Column):
        return sql_literal(value, f"{{{name}}}") if isinstance(value, str) else str(value)
    plain = column_text(value)
    if re.fullmatch(r"[\w.]+", plain) is None:
        raise BindingError(
            "UNSUPPORTED_PARAMETER",
            f"{{{name}}} is an expression; here only plain columns may stand.",
            clause="sql",
            found=repr(value)[:80],
            hint="write the expression as text",
        )
    return plain


def _input(spark: SparkSession, text: str, occurrence: Occurrence, given: Given) -> DataFrame:
    try:
        with query_errors_unlogged():
            frame = spark.sql(occurrence.relation, given.named(occurrence.relation))
            _ = frame.schema
    except (AnalysisException, ParseException) as error:
        raise _unreadable(spark, error, text, occurrence) from None
    return frame


def _unreadable(spark: SparkSession, error: AnalysisException, text: str, occurrence: Occurrence) -> BindingError:
    """Tell why the relation in front of a clause cannot be read."""
    told = analysis_error(error, occurrence.relation, "FROM", ())
    message, found, hint = told.message, told.found, told.hint
    if told.code == "UNRESOLVED_COLUMN":
        hint = "the input of MATCH_RECOGNIZE cannot read columns of the query around it (no correlation)"
    table = _TABLE.search(message)
    if table is not None:
        found = table[1].replace("`", "")
        message = f"there is no table or view '{found}'"
        hint = did_you_mean(found, [known.name for known in spark.catalog.listTables()])
    return BindingError(
        told.code,
        f"the input of MATCH_RECOGNIZE cannot be read: {message}",
        clause="FROM",
        text=text,
        span=_place(text, occurrence, found),
        found=found,
        hint=hint,
    )


def _place(text: str, occurrence: Occurrence, found: str | None) -> Span:
    """Return where a name stands: in the relation, else before it, where its common tables are."""
    whole = occurrence.span
    clause = text.lower().rfind("match_recognize", whole.start, whole.end)
    relation = Span(whole.start, clause if clause > whole.start else whole.end)
    for part in (relation, Span(0, whole.end)) if found else ():
        place = re.compile(rf"(?<!\w){re.escape(found or '')}(?!\w)", re.IGNORECASE).search(text, part.start, part.end)
        if place is not None:
            return Span(*place.span())
    return relation
