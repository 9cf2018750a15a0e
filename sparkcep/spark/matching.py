"""From a bound clause to a DataFrame: prepare, match in ``mapInArrow``, finish. Runs no job."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.automaton import Automaton, compile_automaton
from sparkcep.engine.matches import PAST_LAST_ROW, TO_FIRST, TO_LAST, TO_NEXT_ROW, MatchLabel, Search
from sparkcep.engine.program import Program, compile_program
from sparkcep.engine.slots import SlotCode, lower
from sparkcep.errors import PlanError
from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.outputs import Gathered, Matched, Numbered, Output, OutputRows
from sparkcep.logical.slots import ALL_ROWS, SlotConditions
from sparkcep.planning.planner import choose
from sparkcep.planning.plans import Decision, Options
from sparkcep.planning.row_slices import NEXT_ROW, sliced_rows
from sparkcep.planning.slices import Slices
from sparkcep.planning.windows import FixedRows, TypeOf, fixed_rows
from sparkcep.spark.batch import MatchTask, SliceGroups
from sparkcep.spark.candidates import Candidates
from sparkcep.spark.executors import on_executors
from sparkcep.spark.finish import finished, matcher_schema
from sparkcep.spark.observation import Groups, Observed
from sparkcep.spark.prepare import Preparation, Prepared
from sparkcep.spark.source import Source
from sparkcep.spark.types import time_units
from sparkcep.spark.windows import WindowPreparation

if TYPE_CHECKING:
    from sparkcep.spark.event_batch import EventTask
    from sparkcep.spark.event_sampling import EventSample

SKIPS = {"past last row": PAST_LAST_ROW, "to next row": TO_NEXT_ROW, "to first": TO_FIRST, "to last": TO_LAST}
_PLAIN_NAME = re.compile(r"[^.`]+")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pattern compiled for the engine that was chosen."""

    decision: Decision
    automaton: Automaton | None
    program: Program
    code: SlotCode
    too_large: str | None
    fixed: FixedRows | None = None
    slices: Slices | None = None

    @property
    def labels(self) -> tuple[MatchLabel, ...]:
        """The labels of the compiled form that runs."""
        return self.program.labels if self.automaton is None else self.automaton.labels


def compiled(match: LogicalMatch, options: Options, type_of: TypeOf | None = None) -> Compiled:
    """Compile the pattern and choose the engine; `type_of` tells Spark's types of columns."""
    too_large = None
    automaton: Automaton | None = None
    try:
        automaton = compile_automaton(match.pattern, match.variables)
    except PlanError as error:
        too_large = error.message
    states = len(automaton.positions) if automaton is not None else None
    fixed = fixed_rows(match, type_of)
    decision = choose(match, options, states=states, too_large=too_large, fixed=fixed)
    slots = match.slots or SlotConditions(match.variables, (), tuple(None for _ in match.variables))
    program = compile_program(match.pattern, match.variables)
    used = automaton if decision.chosen.name == "sweep" else None
    by_window = fixed if decision.chosen.name == "window" and not isinstance(fixed, str) else None
    return Compiled(decision, used, program, lower(slots), too_large, by_window)


def matched_frame(source: Source, match: LogicalMatch, plan: Compiled, options: Options) -> DataFrame:
    """Return the DataFrame of matches."""
    if plan.fixed is not None:
        return _window_frame(source, match, plan.fixed)
    if plan.slices is not None:
        return _sliced_frame(source, match, plan, plan.slices, options)
    prepared = Preparation(source, match).prepared()
    task = match_task(match, prepared, plan, options)
    schema = matcher_schema(task.output, prepared.frame.schema)
    groups = Groups(plan.decision.chosen.name, match.prefix)
    emitted = emitted_rows(prepared.frame, task, schema, source.observed, groups)
    return finished(emitted, match, task.output, prepared.originals, source.alias)


def _window_frame(source: Source, match: LogicalMatch, rows: FixedRows) -> DataFrame:
    preparation = WindowPreparation(source, match, rows)
    output = output_rows(match, preparation.matched())
    # No column crosses into Python, so none has to be brought back.
    unchanged = {name: T.NullType() for name in preparation.kinds}
    return finished(preparation.emitted(output), match, output, unchanged, source.alias)


def _sliced_frame(source: Source, match: LogicalMatch, plan: Compiled, slices: Slices, options: Options) -> DataFrame:
    """Match slices of partitions; then let the skip rule choose among the candidates of all slices."""
    orders = Preparation(source, match).early().orders
    candidates = sliced_rows(match, slices, tuple(order.name for order in orders if order.name is not None))
    prepared = Preparation(source, candidates, slices=slices).prepared()
    task = match_task(candidates, prepared, plan, options)
    in_turn = match.after_match.mode != NEXT_ROW
    task = replace(task, slices=SliceGroups(slices.own, alternating=not prepared.keys, in_turn=in_turn))
    emitted = emitted_rows(
        prepared.frame,
        task,
        matcher_schema(task.output, prepared.frame.schema),
        None,
        Groups(plan.decision.chosen.name, match.prefix),
    )
    output = output_rows(match, prepared.passed)
    number = next((each.name for each in match.outputs if isinstance(each, Numbered)), None)
    found = Candidates(emitted, slices, prepared.keys, orders, number)
    matches = found.in_turn() if in_turn else found.numbered_by_begin()
    return finished(matches, match, output, prepared.originals, source.alias)


def match_task(match: LogicalMatch, prepared: Prepared, plan: Compiled, options: Options) -> MatchTask:
    """Return what workers do with the prepared rows."""
    slots = match.slots.operands if match.slots is not None and plan.automaton is None else ()
    return MatchTask(
        labels=plan.labels,
        automaton=plan.automaton,
        program=plan.program if plan.automaton is None else None,
        code=plan.code if plan.automaton is None else None,
        operands=slots,
        masks=prepared.masks,
        always=always_true(match),
        order=prepared.order,
        order_name=match.order_by[0].expression,
        search=_search(match, prepared, options),
        output=output_rows(match, prepared.passed),
        columns=tuple(prepared.frame.columns),
        keys=prepared.keys,
        key_texts=prepared.key_texts,
        told=prepared.told,
        target=match.after_match.target,
    )


def emitted_rows(
    frame: DataFrame,
    task: MatchTask | EventTask,
    schema: T.StructType,
    observed: Observed | None,
    groups: Groups,
    sample: EventSample | None = None,
) -> DataFrame:
    """Return what workers make of prepared rows; an observation looks at them as `groups` and `sample` say."""
    sent = plainly_named(frame)
    if observed is None:
        return sent.mapInArrow(on_executors(task.run), schema)
    return observed.emitted(sent, task, schema, groups, sample)


def plainly_named(frame: DataFrame) -> DataFrame:
    """Number the columns of a frame if mapInArrow cannot find one by its name: it reads a dot as a field."""
    if all(_PLAIN_NAME.fullmatch(name) for name in frame.columns):
        return frame
    return frame.toDF(*(f"c{position}" for position in range(len(frame.columns))))


def output_rows(match: LogicalMatch, passed: tuple[str, ...]) -> OutputRows:
    """Return what the matcher shall emit; `passed` are the columns handed on."""
    outputs: list[Output] = list(match.outputs)
    one = match.rows_per_match == "one"
    if one:
        outputs += [Gathered(name, name, ALL_ROWS, "last") for name in match.bare_columns if name not in passed]
    unmatched = match.rows_per_match == "all with unmatched"
    if unmatched:
        outputs.append(Matched(f"{match.prefix}_matched"))
    if not passed and not outputs:
        # An Arrow batch without columns has no rows either.
        outputs.append(Numbered(f"{match.prefix}_number"))
    return OutputRows(
        mode="one" if one else "all",
        show_empty=match.rows_per_match in ("all", "all with unmatched"),
        unmatched=unmatched,
        passed=passed,
        outputs=tuple(outputs),
        variables=match.variables,
    )


def always_true(match: LogicalMatch) -> tuple[int, ...]:
    """Return the bits of conditions that have no row-only part."""
    words = [0] * max(1, -(-len(match.conditions) // 64))
    for index, condition in enumerate(match.conditions):
        if condition.row_only is None:
            words[index // 64] |= 1 << (index % 64)
    return tuple(words)


def _search(match: LogicalMatch, prepared: Prepared, options: Options) -> Search:
    rows = match.skip_rows.variables if match.skip_rows is not None else None
    search = Search(
        skip=SKIPS[match.after_match.mode],
        skip_variables=tuple(sorted(rows)) if rows else (),
        max_steps=options.max_steps,
    )
    if match.within is None:
        return search
    if match.within.unit == "events":
        return replace(search, max_rows=int(match.within.amount) - (not match.within.inclusive))
    assert prepared.order_type is not None
    window = time_units(prepared.order_type, match.within).window(match.within)
    return replace(search, within=window.amount, inclusive=window.inclusive)
