"""Plans a pattern for a table function: from the table's schema and constant arguments, without a session."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.program import compile_program
from sparkcep.engine.slots import lower
from sparkcep.errors import BindingError, PlanError
from sparkcep.logical.binder import bind
from sparkcep.logical.slots import Operand, SlotConditions
from sparkcep.planning.planner import choose
from sparkcep.planning.plans import Options
from sparkcep.spark.arguments import Arguments, read_arguments
from sparkcep.spark.batch import MatchTask
from sparkcep.spark.event_arguments import is_event_pattern
from sparkcep.spark.matching import Compiled, match_task
from sparkcep.spark.prepare import Prepared
from sparkcep.spark.table_event_plan import EventPatternPlanner
from sparkcep.spark.table_planner import Key, TablePlan, TablePlanner, refused
from sparkcep.syntax.clause import Fragment

NO_WINDOW = "a table function gets its rows one partition after the other, and has no window of Spark"


class RowPatternPlanner(TablePlanner):
    """Plans a row pattern."""

    def __init__(self, schema: T.StructType, arguments: Arguments, *, selects: bool, ordered: bool) -> None:
        super().__init__(schema, selects=selects, ordered=ordered)
        frame: Any = SimpleNamespace(columns=list(schema.names))
        clause, source = read_arguments(frame, arguments)
        if source.drop_null_order:
            raise refused("null_order_value='drop'", "null_order_value", "filter such rows: TABLE(SELECT … WHERE …)")
        if not ordered:
            clause = replace(clause, order_by=(Fragment("0"),))
        self.match = bind(clause, schema.names, self.types)

    def prepared(
        self, keys: tuple[Key, ...], order: str | None, masks: tuple[str, ...], passed: tuple[str, ...]
    ) -> Prepared:
        """Return the prepared rows, without a frame."""
        by_time = self.match.within is not None and self.match.within.unit != "events"
        measured = self.measured(order, "WITHIN") if by_time else None
        told = order if self.match.after_match.target is not None or by_time else None
        return self.without_frame(keys, masks, passed, order=measured, told=told)

    def task(self, prepared: Prepared) -> MatchTask:
        """Return what finds the matches."""
        return match_task(self.match, prepared, self._compiled(), Options())

    def operands(self) -> tuple[Operand, ...]:
        """Return the operand columns of conditions that read other rows."""
        return self.match.slots.operands if self.match.slots is not None else ()

    def _compiled(self) -> Compiled:
        match, too_large, automaton = self.match, None, None
        try:
            automaton = compile_automaton(match.pattern, match.variables)
        except PlanError as error:
            too_large = error.message
        states = len(automaton.positions) if automaton is not None else None
        decision = choose(match, Options(), states=states, too_large=too_large, fixed=NO_WINDOW)
        slots = match.slots or SlotConditions(match.variables, (), tuple(None for _ in match.variables))
        used = automaton if decision.chosen.name == "sweep" else None
        program = compile_program(match.pattern, match.variables)
        return Compiled(decision, used, program, lower(slots), too_large)


def planned_table(schema: T.StructType, arguments: Arguments, *, selects: bool) -> TablePlan:
    """Plan a pattern over a table of a schema; see `TablePlanner`.

    Raises
    ------
    PatternSyntaxError, BindingError, PlanError
        As for `sparkcep.match_pattern`; NEEDS_SPARK where only Spark could compute something.
    """
    whole = isinstance(arguments.pattern, str) and arguments.pattern.lstrip().upper().startswith("MATCH_RECOGNIZE")
    ordered = whole or bool(arguments.order_by)
    if arguments.partition_by and not ordered:
        raise BindingError(
            "MISSING_ORDER",
            "partition_by comes with order_by: Spark sorts by both",
            clause="order_by",
            allowed="order_by => 'ts'",
        )
    if arguments.observe is not None:
        raise refused("observe", "observe", "sparkcep.sql(…, observe='name') or DataFrame.match_pattern")
    planner = EventPatternPlanner if is_event_pattern(arguments.pattern) else RowPatternPlanner
    return planner(schema, arguments, selects=selects, ordered=ordered).plan()
