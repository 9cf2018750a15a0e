"""A planned event pattern: bound, compiled, and turned into a DataFrame. Runs no job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import ALL, COUNT, GRAPH, NON_OVERLAPPING, ONE_PER_START, EventSearch, TimeUnits
from sparkcep.engine.matches import MatchLabel
from sparkcep.engine.runs_program import RunsProgram, compile_runs
from sparkcep.errors import BindingError
from sparkcep.explain import explained_events
from sparkcep.logical.event_binder import bind_events
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.implied_keys import implied_keys
from sparkcep.logical.outputs import Numbered, OutputRows
from sparkcep.planning.counters import Counters
from sparkcep.planning.planner import choose_for_events
from sparkcep.planning.plans import Decision, Options, PlanName
from sparkcep.planning.semi_joins import choose_semi_join
from sparkcep.planning.slices import Slices, choose_slices, sliced
from sparkcep.spark.bound_programs import program_for
from sparkcep.spark.event_arguments import EventClause
from sparkcep.spark.event_batch import EventTask
from sparkcep.spark.expansion import described, graph_fields
from sparkcep.spark.finish import counted, finished, matcher_schema
from sparkcep.spark.join_plan import joined_frame
from sparkcep.spark.matching import always_true, emitted_rows, output_rows
from sparkcep.spark.observation import Groups, counters_of
from sparkcep.spark.plan import is_aggregate
from sparkcep.spark.prepare import Preparation, Prepared, output_columns
from sparkcep.spark.settings import settings_that_matter
from sparkcep.spark.slices import counted_over_slices, numbered_over_slices
from sparkcep.spark.source import Source
from sparkcep.spark.types import SparkTypes, measured_units, time_units

OUTPUTS = {
    "all": ALL,
    "non_overlapping": NON_OVERLAPPING,
    "one_per_start": ONE_PER_START,
    "count": COUNT,
    "graph": GRAPH,
}
COUNT_COLUMN = "match_count"


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
        self.events = _with_implied_keys(_bound(source, clause), source, clause)
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
        measured = _measuring_clause(self.events, clause)
        self.preparation = Preparation(source, self.events.match, self.events, measured, semi_join, self.slices)
        if self.slices is not None:
            self._cut(self.slices)
        self.prepared = self.preparation.prepared()
        self.search = EventSearch(
            output=OUTPUTS[clause.matches],
            strict_time=clause.strict_time,
            merge_runs=options.merge_runs,
            max_partial_matches=options.max_partial_matches,
            limit=clause.limit,
            sample=clause.sample,
            seed=options.seed,
            timeouts=clause.timeouts,
        )
        self.units = _units(self.events, self.prepared, clause)
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
            sampled=self._clause.sample is not None,
            orders_by_column=by_column,
        )
        return None if name == "join" else found

    def _cut(self, slices: Slices) -> None:
        """Let matches begin in their slices."""
        preparation, limited = self.preparation, self._clause.limit is not None
        orders = tuple(order.name for order in preparation.early().orders if order.name is not None)
        self.events = sliced(self.events, slices, orders, numbered=limited)
        preparation.events, preparation.match = self.events, self.events.match

    @property
    def sorts_as_a_whole(self) -> bool:
        """Whether the rows of a partition are sorted by one task."""
        return self.slices is None and self.compiled.decision.chosen.name != "join"

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
            emitted = self._numbered_over_slices(emitted, self.slices)
        found = finished(emitted, self.events.match, task.output.rows, originals, self._source.alias)
        return found if self.events.graph is None else described(found, self.events, self._source.alias)

    def _emitted(self, task: EventTask, schema: T.StructType) -> DataFrame:
        partitions: Literal["whole", "one", "cut"] = "one" if not self.prepared.keys else "whole"
        if self.slices is not None and self.prepared.keys:
            partitions = "cut"
        groups = Groups(self.compiled.decision.chosen.name, self.events.match.prefix, partitions)
        return emitted_rows(self.prepared.frame, task, schema, self._source.observed, groups)

    def _numbered_over_slices(self, emitted: DataFrame, slices: Slices) -> DataFrame:
        """Number matches over all slices, where somebody asks for their numbers."""
        number = next((o.name for o in self.events.match.outputs if isinstance(o, Numbered)), None)
        if number is None:
            return emitted
        ends = [name for name in emitted.columns if name.startswith(slices.end)]
        orders = self.preparation.early().orders
        found = numbered_over_slices(emitted, number, self.prepared.keys, ends, orders)
        return found if self._clause.limit is None else found.where(F.col(number) <= self._clause.limit)

    def _joined(self) -> DataFrame:
        return joined_frame(
            self.preparation,
            self.prepared,
            self.events,
            self.estimates,
            None if self._options.stats is None else self._options.stats.rows,
            self.units,
            self.search,
            self._output(self.prepared),
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
        events, prepared, match = self.events, self.prepared, self.events.match
        assert self.compiled.program is not None, "joins have no task"
        told = events.ends_in_absence or events.waiting is not None
        return EventTask(
            program=self.compiled.program,
            operands=events.operands,
            classes=events.keys,
            masks=prepared.masks,
            always=always_true(match),
            order=prepared.order,
            order_clause=_measuring_clause(events, self._clause) or "",
            numbered_by=prepared.decided if prepared.order is None and told else None,
            order_name=match.order_by[0].expression,
            output=self._output(prepared),
            columns=tuple(prepared.frame.columns),
            partition=prepared.keys,
            partition_texts=prepared.key_texts,
            told=prepared.told or prepared.decided,
            labels=tuple(variable.label for variable in events.variables),
            sliced=self.slices is not None,
            alternating=self.slices is not None and not prepared.keys,
        )

    def _output(self, prepared: Prepared) -> EventOutput:
        events = self.events
        labels = tuple(MatchLabel(index, False) for index in range(len(events.variables)))
        counts = self._clause.matches == "count"
        if counts:
            rows = OutputRows("one", False, False, prepared.passed, (), events.match.variables)
        else:
            rows = output_rows(events.match, prepared.passed)
        times = [name for name in (prepared.order, prepared.decided, prepared.told) if name is not None]
        read = [] if counts else [name for name in output_columns(events.match) if name not in events.filled_in]
        columns = tuple(dict.fromkeys([*prepared.passed, *read, *times]))
        time = None if counts else events.time
        count = COUNT_COLUMN if counts else None
        shown = tuple(variable.label for variable in events.variables)
        return EventOutput(rows, labels, columns, time, prepared.decided, count, events.graph, shown, events.waiting)


def _bound(source: Source, clause: EventClause) -> LogicalEvents:
    aliases = (source.alias,) if source.alias else ()
    frame = source.frame.alias(source.alias) if source.alias else source.frame
    return bind_events(
        clause.pattern,
        source.columns,
        SparkTypes(frame),
        types=clause.types,
        type_column=clause.type_column,
        strategy=clause.strategy,
        within=clause.within,
        partition_by=clause.partition_by,
        order_by=clause.order_by,
        measures=clause.measures,
        aliases=aliases,
        is_aggregate=lambda name: is_aggregate(source.frame, name),
        matches=clause.matches,
        inclusive=clause.inclusive,
        timeouts=clause.timeouts,
    )


def _with_implied_keys(events: LogicalEvents, source: Source, clause: EventClause) -> LogicalEvents:
    """Return the pattern with a class per value of what equalities tie together.

    Only the classes of ``[key]`` say which matches overlap, so none is added there; and an event without a
    class starts no partial match that could time out. Texts with a
    collation are left alone: they may look different and be equal.
    """
    if clause.matches == "non_overlapping" or clause.timeouts:
        return events
    texts = {field.name for field in source.frame.schema.fields if field.dataType == T.StringType()}
    tied = [events.operands[operand] for operand in implied_keys(events)]
    added = [operand.column for operand in tied if operand.type.kind in ("int", "float") or operand.column in texts]
    return replace(events, keys=tuple(dict.fromkeys([*events.keys, *added])))


def _measuring_clause(events: LogicalEvents, clause: EventClause) -> str | None:
    """Return the clause that measures time by the first order column, if one does."""
    by_time = [named for named, within in events.windows if within.unit != "events"]
    return by_time[0] if by_time else "strict_time" if clause.strict_time else None


def _units(events: LogicalEvents, prepared: Prepared, clause: EventClause) -> TimeUnits:
    """Return the units of the order column, checked against every window."""
    kind = prepared.order_type
    if kind is None:
        return TimeUnits()
    for named, within in events.windows:
        if within.unit != "events":
            time_units(kind, within, named)
    units = measured_units(kind)
    if units is None:
        raise BindingError(
            "WRONG_ARGUMENT",
            f"strict_time cannot measure '{kind.simpleString()}'",
            clause="strict_time",
            found=kind.simpleString(),
            allowed="numbers, decimals of up to 18 digits, dates, timestamps",
        )
    return units
