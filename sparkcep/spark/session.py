"""SQL statements with MATCH_RECOGNIZE clauses: each clause becomes a hidden view, the rest is Spark's."""

from __future__ import annotations

import uuid

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import BindingError
from sparkcep.planning.plans import Options
from sparkcep.spark.plan import MatchPlan
from sparkcep.spark.prepare import Source
from sparkcep.spark.quiet import query_errors_unlogged
from sparkcep.syntax.statements import Occurrence, rewrite


def run_statement(spark: SparkSession, text: str, options: Options) -> DataFrame:
    """Run one statement; see `sparkcep.sql`."""
    return spark.sql(rewrite(text, lambda occurrence: _served(spark, occurrence, options)))


def statement_plans(spark: SparkSession, text: str, options: Options) -> list[MatchPlan]:
    """Return the plan of every clause of a statement, innermost and leftmost first; runs nothing of it."""
    plans: list[MatchPlan] = []

    def serve(occurrence: Occurrence) -> str:
        plans.append(_plan(spark, occurrence, options))
        return _view(plans[-1].dataframe())

    rewrite(text, serve)
    return plans


def _served(spark: SparkSession, occurrence: Occurrence, options: Options) -> str:
    return _view(_plan(spark, occurrence, options).dataframe())


def _plan(spark: SparkSession, occurrence: Occurrence, options: Options) -> MatchPlan:
    frame = _input(spark, occurrence)
    source = Source(frame, tuple(frame.columns), occurrence.relation_alias)
    return MatchPlan(source, occurrence.clause, options)


def _view(frame: DataFrame) -> str:
    """Give a frame a hidden name that lives as long as the session, as views made from it may."""
    name = f"sparkcep_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return name


def _input(spark: SparkSession, occurrence: Occurrence) -> DataFrame:
    try:
        with query_errors_unlogged():
            frame = spark.sql(occurrence.relation)
            _ = frame.schema
    except (AnalysisException, ParseException) as error:
        code = error.getCondition() or "ANALYSIS_ERROR"
        message = str(error).strip().split("\n", 1)[0].removeprefix(f"[{code}]").strip()
        hint = "name a table or view of the session" if "TABLE" in code else None
        if code.startswith("UNRESOLVED_COLUMN"):
            hint = "the input of MATCH_RECOGNIZE cannot read columns of the query around it (no correlation)"
        raise BindingError(
            code.split(".", 1)[0],
            f"the input of MATCH_RECOGNIZE cannot be read: {message}",
            clause="FROM",
            text=occurrence.relation,
            hint=hint,
        ) from None
    return frame
