"""What workers do with the prepared rows of an event pattern, and what has to be settled before."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import ALL, COUNT, GRAPH, NON_OVERLAPPING, ONE_PER_START, EventSearch, TimeUnits
from sparkcep.engine.matches import MatchLabel
from sparkcep.engine.runs_program import RunsProgram
from sparkcep.errors import BindingError
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.implied_keys import implied_keys
from sparkcep.logical.outputs import OutputRows
from sparkcep.planning.plans import Options
from sparkcep.spark.event_arguments import EventClause
from sparkcep.spark.event_batch import EventTask
from sparkcep.spark.matching import always_true, output_rows
from sparkcep.spark.prepare import Prepared, output_columns
from sparkcep.spark.types import measured_units, time_units

OUTPUTS = {
    "all": ALL,
    "non_overlapping": NON_OVERLAPPING,
    "one_per_start": ONE_PER_START,
    "count": COUNT,
    "graph": GRAPH,
}
COUNT_COLUMN = "match_count"


def event_search(clause: EventClause, options: Options, *, sliced: bool = False) -> EventSearch:
    """Return which matches are wanted, and the budget for finding them.

    Of the matches that begin with one event, only the first that is completed may be one of those that do not overlap:
    where it overlaps the one before, so do those completed later. So slices look for it.
    """
    search = EventSearch(
        output=OUTPUTS[clause.matches],
        strict_time=clause.strict_time,
        merge_runs=options.merge_runs,
        max_partial_matches=options.max_partial_matches,
        limit=clause.limit,
        sample=clause.sample,
        seed=options.seed,
        timeouts=clause.timeouts,
    )
    if not sliced or search.output != NON_OVERLAPPING:
        return search
    return replace(search, output=ONE_PER_START, limit=None)


def with_implied_keys(events: LogicalEvents, clause: EventClause, texts: Collection[str]) -> LogicalEvents:
    """Return the pattern with a class per value of what equalities tie together.

    Only the classes of ``[key]`` say which matches overlap, so none is added there; and an event without a
    class starts no partial match that could time out. Texts with a
    collation are left alone: they may look different and be equal.

    Parameters
    ----------
    texts
        Names of the input columns that are texts and compared by their bytes.
    """
    if clause.matches == "non_overlapping" or clause.timeouts:
        return events
    tied = [events.operands[operand] for operand in implied_keys(events)]
    added = [operand.column for operand in tied if operand.type.kind in ("int", "float") or operand.column in texts]
    return replace(events, keys=tuple(dict.fromkeys([*events.keys, *added])))


def measuring_clause(events: LogicalEvents, clause: EventClause) -> str | None:
    """Return the clause that measures time by the first order column, if one does."""
    by_time = [named for named, within in events.windows if within.unit != "events"]
    return by_time[0] if by_time else "strict_time" if clause.strict_time else None


def tells_decisions(events: LogicalEvents) -> bool:
    """Tell whether the time at which a match was decided is asked for, or orders the matches."""
    return events.time is not None or events.ends_in_absence


def window_units(events: LogicalEvents, kind: T.DataType | None, clause: EventClause) -> TimeUnits:
    """Return the units of the order column, checked against every window; `kind` is None where none measures."""
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


def event_task(
    events: LogicalEvents,
    clause: EventClause,
    prepared: Prepared,
    program: RunsProgram | BoundProgram,
    *,
    sliced: bool = False,
) -> EventTask:
    """Return what workers do with the prepared rows.

    Parameters
    ----------
    sliced
        Whether partitions are cut into slices.
    """
    match = events.match
    told = events.ends_in_absence or events.waiting is not None
    return EventTask(
        program=program,
        operands=events.operands,
        classes=events.keys,
        masks=prepared.masks,
        always=always_true(match),
        order=prepared.order,
        order_clause=measuring_clause(events, clause) or "",
        numbered_by=prepared.decided if prepared.order is None and told else None,
        order_name=match.order_by[0].expression,
        output=event_output(events, clause, prepared),
        columns=tuple(prepared.frame.columns),
        partition=prepared.keys,
        partition_texts=prepared.key_texts,
        told=prepared.told or prepared.decided,
        labels=tuple(variable.label for variable in events.variables),
        sliced=sliced,
        alternating=sliced and not prepared.keys,
    )


def event_output(events: LogicalEvents, clause: EventClause, prepared: Prepared) -> EventOutput:
    """Return what leaves the matcher."""
    labels = tuple(MatchLabel(index, False) for index in range(len(events.variables)))
    counts = clause.matches == "count"
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
