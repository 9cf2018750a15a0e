"""SQL statements with MATCH_RECOGNIZE or match_pattern: each becomes a hidden view, the rest is Spark's."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import BindingError, Span, did_you_mean
from sparkcep.planning.plans import Options
from sparkcep.spark.arguments import Arguments
from sparkcep.spark.plan import MatchPlan
from sparkcep.spark.planned import planned
from sparkcep.spark.quiet import query_errors_unlogged
from sparkcep.spark.source import Source
from sparkcep.spark.types import analysis_error
from sparkcep.syntax.statements import Occurrence, rewrite
from sparkcep.syntax.table_call import TableCall

if TYPE_CHECKING:
    from sparkcep.spark.event_plan import EventPlan

_TABLE = re.compile(r"table or view (`[^`]+`(?:\.`[^`]+`)*) cannot be found")


def run_statement(spark: SparkSession, text: str, options: Options) -> DataFrame:
    """Run one statement; see `sparkcep.sql`."""
    return spark.sql(rewrite(text, lambda occurrence: _view(_plan(spark, text, occurrence, options).dataframe())))


def statement_plans(spark: SparkSession, text: str, options: Options) -> list[MatchPlan | EventPlan]:
    """Return the plan of every clause of a statement, innermost and leftmost first; runs nothing of it."""
    plans: list[MatchPlan | EventPlan] = []

    def serve(occurrence: Occurrence) -> str:
        plans.append(_plan(spark, text, occurrence, options))
        return _view(plans[-1].dataframe())

    rewrite(text, serve)
    return plans


def _plan(spark: SparkSession, text: str, occurrence: Occurrence, options: Options) -> MatchPlan | EventPlan:
    frame = _input(spark, text, occurrence)
    if isinstance(occurrence.clause, TableCall):
        # `read_table_call` has checked the names; what the values may be is checked where arguments are read.
        arguments = Arguments(**occurrence.clause.arguments)  # type: ignore[arg-type]
        return planned(frame, arguments, options, occurrence.relation_alias, in_sql=True)
    source = Source(frame, tuple(frame.columns), occurrence.relation_alias)
    return MatchPlan(source, occurrence.clause, options)


def _view(frame: DataFrame) -> str:
    """Give a frame a hidden name that lives as long as the session, as views made from it may."""
    name = f"sparkcep_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return name


def _input(spark: SparkSession, text: str, occurrence: Occurrence) -> DataFrame:
    try:
        with query_errors_unlogged():
            frame = spark.sql(occurrence.relation)
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
