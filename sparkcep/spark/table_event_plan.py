"""Plans an event pattern for a table function."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.runs_program import compile_runs
from sparkcep.logical.outputs import Gathered, Output
from sparkcep.logical.row_types import HINT, RowExpression
from sparkcep.logical.slots import Operand
from sparkcep.planning.lazy import spark_condition
from sparkcep.planning.planner import choose_for_events
from sparkcep.planning.plans import Options
from sparkcep.spark.arguments import Arguments
from sparkcep.spark.batch import MatchTask
from sparkcep.spark.bound_programs import program_for
from sparkcep.spark.event_arguments import read_event_arguments
from sparkcep.spark.event_batch import EventTask
from sparkcep.spark.event_tasks import (
    COUNT_COLUMN,
    event_search,
    event_task,
    measuring_clause,
    tells_decisions,
    window_units,
    with_implied_keys,
)
from sparkcep.spark.prepare import Prepared
from sparkcep.spark.table_match import Result
from sparkcep.spark.table_planner import Key, TablePlanner, refused, unknown_order
from sparkcep.spark.types import check_classes
from sparkcep.syntax.clause import Fragment


class EventPatternPlanner(TablePlanner):
    """Plans an event pattern, for the engines that get their rows one partition after the other."""

    def __init__(self, schema: T.StructType, arguments: Arguments, *, selects: bool, ordered: bool) -> None:
        super().__init__(schema, selects=selects, ordered=ordered)
        frame: Any = SimpleNamespace(columns=list(schema.names))
        self.clause, source = read_event_arguments(frame, arguments)
        if source.drop_null_order:
            raise refused("null_order_value='drop'", "null_order_value", "filter such rows: TABLE(SELECT … WHERE …)")
        if self.clause.matches == "graph":
            raise refused("matches='graph'", "matches", "matches => 'count' counts them, or sparkcep.enable(spark)")
        clause = self.clause
        if not (ordered or clause.measures or clause.pattern.returns or clause.matches == "count"):
            raise unknown_order("match_start and match_end show an order column", "pattern")
        told = clause if ordered else replace(clause, order_by=(Fragment("0"),))
        bound = told.bound(schema.names, self.types)
        texts = {field.name for field in schema.fields if field.dataType == T.StringType()}
        self.events = with_implied_keys(bound, clause, texts)
        self.match = self.events.match

    def prepared(
        self, keys: tuple[Key, ...], order: str | None, masks: tuple[str, ...], passed: tuple[str, ...]
    ) -> Prepared:
        """Return the prepared rows, without a frame."""
        measuring = measuring_clause(self.events, self.clause)
        measured = None if measuring is None else self.measured(order, measuring)
        if order is None and tells_decisions(self.events):
            raise unknown_order("the end of a window is told by an order column", "WITHIN")
        decided = order if tells_decisions(self.events) else None
        check_classes(self.events.keys, self.kinds, self.match.hidden)
        return self.without_frame(keys, masks, passed, order=measured, told=order, decided=decided)

    def task(self, prepared: Prepared) -> EventTask:
        """Return what finds the matches."""
        events, clause, options = self.events, self.clause, Options()
        sampled = clause.sample is not None
        planned = choose_for_events(events, options, sampled=sampled, matches=clause.matches)
        if planned.decision.chosen.name == "join":
            if spark_condition(events) is not None:
                raise refused("a condition on several events that only Spark can compute", "WHERE", HINT)
            planned = choose_for_events(events, Options(plan="runs"), sampled=sampled, matches=clause.matches)
        units = window_units(events, prepared.order_type, clause)
        base = compile_runs(events, event_search(clause, options), units.window)
        program = program_for(planned.decision.chosen.name, events, base, planned.estimates)
        return event_task(events, clause, prepared, program)

    def operands(self) -> tuple[Operand, ...]:
        """Return the operand columns of conditions that read other events."""
        return self.events.operands

    def read_columns(self) -> tuple[str, ...]:
        """Return the columns that results and ``[key]`` tests read."""
        read = () if self.clause.matches == "count" else super().read_columns()
        return (*self.events.keys, *(name for name in read if name not in self.events.filled_in))

    def output_kind(self, output: Output) -> T.DataType:
        """Return the type of a column that the matcher adds."""
        if isinstance(output, Gathered) and output.column == self.events.waiting:
            return T.StringType()
        if isinstance(output, Gathered) and output.column == self.events.time:
            assert self.order is not None
            return self.kinds[self.order]
        return super().output_kind(output)

    def results(
        self, task: MatchTask | EventTask, passed: tuple[str, ...], order: str | None, keys: tuple[Key, ...]
    ) -> tuple[tuple[Result, ...], str | None]:
        """Return the columns of the result."""
        results, matched = super().results(task, passed, order, keys)
        if self.clause.matches == "count":
            results = (*results, Result(COUNT_COLUMN, RowExpression("", column=COUNT_COLUMN), T.DecimalType(38, 0)))
        return results, matched
