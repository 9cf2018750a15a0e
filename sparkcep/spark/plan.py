"""A planned match: what `sparkcep.plan` returns."""

from __future__ import annotations

from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812

from sparkcep.explain import explained
from sparkcep.logical.binder import bind
from sparkcep.planning.counters import Counters
from sparkcep.planning.plans import Options
from sparkcep.planning.row_slices import choose_row_slices
from sparkcep.spark.matching import Compiled, compiled, matched_frame
from sparkcep.spark.observation import Observed, counters_of
from sparkcep.spark.quiet import query_errors_unlogged
from sparkcep.spark.settings import settings_that_matter, tasks_at_once
from sparkcep.spark.source import Source
from sparkcep.spark.types import SparkTypes, quoted
from sparkcep.syntax.clause import MatchRecognize

_AGGREGATES: dict[str, bool] = {}


class MatchPlan:
    """A pattern bound to an input, with the engine that was chosen for it.

    Attributes
    ----------
    match
        The bound pattern.
    compiled
        The compiled pattern and the planner's decision.
    """

    def __init__(self, source: Source, clause: MatchRecognize, options: Options) -> None:
        self._source = source
        self._options = options
        aliases = (source.alias,) if source.alias else ()
        frame = source.frame.alias(source.alias) if source.alias else source.frame
        types = SparkTypes(frame)
        self.match = bind(
            clause,
            source.frame.columns,
            types,
            aliases=aliases,
            is_aggregate=lambda name: is_aggregate(source.frame, name),
        )
        whole = compiled(self.match, options, lambda name: types.types([quoted(name)], clause="MEASURES")[0])
        slices = choose_row_slices(
            self.match,
            options,
            whole.decision,
            lambda: tasks_at_once(source.frame.sparkSession),
            observed=source.observed is not None,
            orders_by_column=bool(source.sort_orders),
        )
        notes = () if slices is None else (f"{slices.text}; then the skip rule chooses among all of them",)
        self.compiled: Compiled = replace(whole, decision=replace(whole.decision, notes=notes), slices=slices)

    @property
    def sorts_as_a_whole(self) -> bool:
        """Whether the rows of a partition are sorted by one task."""
        return self.compiled.slices is None

    @property
    def observed(self) -> Observed | None:
        """What is observed of the match."""
        return self._source.observed

    def dataframe(self) -> DataFrame:
        """Return the DataFrame of matches; runs no job."""
        return matched_frame(self._source, self.match, self.compiled, self._options)

    def explain(self, format: str = "text", *, observed: str | Observation | Counters | None = None) -> str:
        """Say how the pattern will be matched: engine, reasons, conditions, program.

        Parameters
        ----------
        format
            "text", "mermaid" for a flow chart of the way of the data, "html" for a page that stands alone.
        observed
            What was given as ``observe=`` of a match that has run, or its counters: they are told too.
        """
        settings = settings_that_matter(self._source.frame.sparkSession)
        return explained(self.match, self.compiled, format, settings, counters_of(observed))


def is_aggregate(frame: DataFrame, name: str) -> bool:
    """Tell whether a function that is not in our list is an aggregate; asks Spark's catalog once a name."""
    known = _AGGREGATES.get(name.lower())
    if known is None:
        known = not hasattr(F, name.lower()) and _found_aggregate(frame, name)
        _AGGREGATES[name.lower()] = known
    return known


def _found_aggregate(frame: DataFrame, name: str) -> bool:
    catalog = frame.sparkSession.catalog
    if not catalog.functionExists(quoted(name)):
        return False
    home = catalog.getFunction(quoted(name)).className
    if home.startswith("org.apache.spark.sql.catalyst.expressions."):
        return ".aggregate." in home
    return _needs_grouping(frame, f"{name}(NULL)") or _needs_grouping(frame, f"{name}(NULL, NULL)")


def _needs_grouping(frame: DataFrame, call: str) -> bool:
    """An aggregate cannot stand beside a plain column."""
    try:
        with query_errors_unlogged():
            _ = frame.select(F.expr(call), F.col(quoted(frame.columns[0]))).schema
    except AnalysisException as error:
        return "GROUP" in (error.getCondition() or str(error))
    return False
