"""A planned event pattern: bound, compiled, and turned into a DataFrame. Runs no job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.runs_program import RunsProgram, compile_runs
from sparkcep.explain import explained_events
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.outputs import Numbered
from sparkcep.planning.counters import Counters
from sparkcep.planning.lazy import obstacle
from sparkcep.planning.planner import choose_for_events
from sparkcep.planning.plans import Decision, Options, PlanName
from sparkcep.planning.semi_joins import choose_semi_join
from sparkcep.planning.slices import APART, Slices, choose_slices, is_numbered, sliced
from sparkcep.spark.bound_programs import program_for
from sparkcep.spark.candidates import Candidates
from sparkcep.spark.event_arguments import EventClause
from sparkcep.spark.event_batch import EventTask
from sparkcep.spark.event_sampling import EventSample, event_sample
from sparkcep.spark.event_tasks import (
    event_output,
    event_search,
    event_task,
    measuring_clause,
    window_units,
    with_implied_keys,
)
from sparkcep.spark.expansion import described, graph_fields
from sparkcep.spark.finish import counted, finished, matcher_schema
from sparkcep.spark.join_plan import joined_frame
from sparkcep.spark.matching import emitted_rows
from sparkcep.spark.observation import Groups, Observed, counters_of
from sparkcep.spark.plan import is_aggregate
from sparkcep.spark.prepare import Preparation
from sparkcep.spark.settings import settings_that_matter, tasks_at_once
from sparkcep.spark.slices import counted_over_slices
from sparkcep.spark.source import Source
from sparkcep.spark.types import SparkTypes

# Rows of each Spark partition of which an observation measures statistics: little work beside a match.
OBSERVED_ROWS = 4_000


@dataclass(frozen=True, slots=True)
class CompiledEvents:
    """An event pattern compiled for the engine that was chosen; joins need no program."""

    decision: Decision
    program: RunsProgram | BoundProgram | None


class EventPlan:
    """An event pattern bound to an input, with the engine that was chosen for it.

    Attributes
    ----------
    events
        The bound pattern.
    compiled
        The compiled pattern and the planner's decision.
    units
        How order values count in windows.
    """

    def __init__(self, source: Source, clause: EventClause, options: Options) -> None:
        self._source = source
        self._clause = clause
        self._options = options
        texts = {field.name for field in source.frame.schema.fields if field.dataType == T.StringType()}
        self.events = with_implied_keys(_bound(source, clause), clause, texts)
        planned = choose_for_events(
            self.events,
            options,
            sampled=clause.sample is not None,
            matches=clause.matches,
            orders_by_column=bool(source.sort_orders),
        )
        self.estimates = planned.estimates
        name = planned.decision.chosen.name
        semi_join = choose_semi_join(self.events, options)
        self.slices = self._slices(options, name)
        self._numbered = clause.limit is not None or is_numbered(self.events.match)
        measured = measuring_clause(self.events, clause)
        self.preparation = Preparation(source, self.events.match, self.events, measured, semi_join, self.slices)
        if self.slices is not None:
            self._cut(self.slices)
        self.prepared = self.preparation.prepared()
        self.search = event_search(clause, options, sliced=self.slices is not None)
        self.units = window_units(self.events, self.prepared.order_type, clause)
        notes = tuple(chosen.text for chosen in (semi_join, self.slices) if chosen is not None)
        decision = replace(planned.decision, notes=notes)
        self.compiled = CompiledEvents(decision, None if name == "join" else self._program(name))

    def _program(self, name: PlanName) -> RunsProgram | BoundProgram:
        program = compile_runs(self.events, self.search, self.units.window)
        return program_for(name, self.events, program, self.estimates)

    def _slices(self, options: Options, name: PlanName) -> Slices | None:
        """Return how partitions are cut; joins sort none."""
        by_column = bool(self._source.sort_orders)
        found = choose_slices(
            self.events,
            options,
            self._clause.matches,
            lambda: tasks_at_once(self._source.frame.sparkSession),
            sampled=self._clause.sample is not None,
            observed=self._source.observed is not None,
            orders_by_column=by_column,
        )
        return None if name == "join" else found

    def _cut(self, slices: Slices) -> None:
        """Let matches begin in their slices."""
        preparation = self.preparation
        orders = tuple(order.name for order in preparation.early().orders if order.name is not None)
        self.events = sliced(self.events, slices, orders, numbered=self._numbered, apart=self._apart)
        preparation.events, preparation.match = self.events, self.events.match

    @property
    def _apart(self) -> bool:
        """Whether matches that do not overlap are asked for."""
        return self._clause.matches == APART

    @property
    def sorts_as_a_whole(self) -> bool:
        """Whether the rows of a partition are sorted by one task."""
        return self.slices is None and self.compiled.decision.chosen.name != "join"

    @property
    def observed(self) -> Observed | None:
        """What is observed of the match."""
        return self._source.observed

    def dataframe(self) -> DataFrame:
        """Return the DataFrame of matches; runs no job."""
        if self.compiled.decision.chosen.name == "join":
            return self._joined()
        prepared, task = self.prepared, self.task()
        sent = prepared.frame.schema
        originals = dict(prepared.originals)
        if task.output.count is not None:
            passed = matcher_schema(task.output.rows, sent)
            schema = T.StructType([*passed.fields, T.StructField(task.output.count, T.DecimalType(38, 0))])
            emitted = self._emitted(task, schema)
            found = counted(emitted, task.output.rows, originals)
            return found if self.slices is None else counted_over_slices(found, task.output.count, prepared.keys)
        if self.events.time is not None:
            assert prepared.decided is not None
            added = T.StructField(self.events.time, sent[prepared.decided].dataType)
            sent = T.StructType([*sent.fields, added])
            originals[self.events.time] = originals[prepared.decided]
        if self.events.waiting is not None:
            sent = T.StructType([*sent.fields, T.StructField(self.events.waiting, T.StringType())])
        schema = matcher_schema(task.output.rows, sent)
        if self.events.graph is not None:
            schema = T.StructType([*schema.fields, *graph_fields(self.events.graph)])
        emitted = self._emitted(task, schema)
        if self.slices is not None:
            emitted = self._over_slices(emitted, self.slices)
        found = finished(emitted, self.events.match, task.output.rows, originals, self._source.alias)
        return found if self.events.graph is None else described(found, self.events, self._source.alias)

    def _emitted(self, task: EventTask, schema: T.StructType) -> DataFrame:
        partitions: Literal["whole", "one", "cut"] = "one" if not self.prepared.keys else "whole"
        if self.slices is not None and self.prepared.keys:
            partitions = "cut"
        groups = Groups(self.compiled.decision.chosen.name, self.events.match.prefix, partitions)
        return emitted_rows(self.prepared.frame, task, schema, self._source.observed, groups, self._sample(task))

    def _sample(self, task: EventTask) -> EventSample | None:
        """Return what measures statistics while the match runs, if it is observed and a plan would use them."""
        if self._source.observed is None or obstacle(self.events) is not None:
            return None
        return event_sample(self.events, task, self.units, self.estimates, OBSERVED_ROWS)

    def _over_slices(self, emitted: DataFrame, slices: Slices) -> DataFrame:
        """Choose among the matches of all slices, and number them where somebody asks for their numbers."""
        number = next((o.name for o in self.events.match.outputs if isinstance(o, Numbered)), None)
        candidates = Candidates(emitted, slices, self.prepared.keys, self.preparation.early().orders, number)
        if self._apart:
            candidates = replace(candidates, frame=candidates.apart(len(self.events.keys)))
        if not self._numbered:
            return candidates.frame
        assert number is not None
        found, limit = candidates.numbered_by_completion(), self._clause.limit
        return found if limit is None else found.where(F.col(number) <= limit)

    def _joined(self) -> DataFrame:
        return joined_frame(
            self.preparation,
            self.prepared,
            self.events,
            self.estimates,
            None if self._options.stats is None else self._options.stats.rows,
            self.units,
            self.search,
            event_output(self.events, self._clause, self.prepared),
            self._source.observed,
        )

    def explain(self, format: str = "text", *, observed: str | Observation | Counters | None = None) -> str:
        """Say how the pattern will be matched: engine, orders, components with their tests, windows.

        Parameters
        ----------
        format
            "text", "mermaid" for a flow chart of the way of the data, "html" for a page that stands alone.
        observed
            What was given as ``observe=`` of a match that has run, or its counters: they are told too.
        """
        settings, counters = settings_that_matter(self._source.frame.sparkSession), counters_of(observed)
        return explained_events(self._clause.pattern, self.events, self.compiled.decision, format, settings, counters)

    def task(self) -> EventTask:
        """Return what workers do with the prepared rows."""
        program = self.compiled.program
        assert program is not None, "joins have no task"
        return event_task(self.events, self._clause, self.prepared, program, sliced=self.slices is not None)


def _bound(source: Source, clause: EventClause) -> LogicalEvents:
    aliases = (source.alias,) if source.alias else ()
    frame = source.frame.alias(source.alias) if source.alias else source.frame
    return clause.bound(
        source.columns,
        SparkTypes(frame),
        aliases=aliases,
        is_aggregate=lambda name: is_aggregate(source.frame, name),
    )
