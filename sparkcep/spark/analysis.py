"""Statistics of an event pattern, measured on a bounded sample of its input: one Spark job."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pyarrow as pa

from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.events import COUNT, EventSearch
from sparkcep.engine.ordered_program import OrderedProgram, compile_ordered
from sparkcep.engine.runs_program import compile_runs
from sparkcep.logical.event_bound import EventComponent, EventOrder, EventTest, LogicalEvents
from sparkcep.planning.lazy import BoundCondition, bound_conditions, obstacle, spark_condition
from sparkcep.planning.planner import choose_for_events
from sparkcep.planning.plans import Options
from sparkcep.planning.statistics import Statistics
from sparkcep.spark.bound_programs import ordered_program
from sparkcep.spark.event_arguments import EventClause
from sparkcep.spark.event_batch import EventDriver, EventTask
from sparkcep.spark.event_plan import EventPlan
from sparkcep.spark.executors import on_executors
from sparkcep.spark.matching import plainly_named
from sparkcep.spark.source import Source

ROWS_PER_PARTITION = 20_000
_COLUMN = "tally"


@dataclass(frozen=True, slots=True)
class PatternOrder:
    """Binds components in the order of the pattern."""

    count: int

    def __call__(self, counts: object) -> tuple[int, ...]:
        """Return the places of all components."""
        return tuple(range(self.count))


@dataclass(frozen=True, slots=True)
class AnalysisTask:
    """What a worker needs: how rows are read, the pattern, and one pattern per pair of variables."""

    task: EventTask
    program: OrderedProgram
    pairs: dict[tuple[int, int], OrderedProgram]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count all rows of one Spark partition, and look closer at the first of them."""
        from sparkcep.engine.event_statistics import StatisticsMatcher  # here: the driver of Spark needs no kernels

        matcher = StatisticsMatcher(self.program, self.pairs)
        driver, left, count = EventDriver(self.task, matcher), ROWS_PER_PARTITION, 0
        for batch in batches:
            if left > 0:
                list(driver.push(batch.rename_columns(list(self.task.columns)).slice(0, left)))
            left -= min(left, batch.num_rows)
            count += batch.num_rows
        list(driver.finish())
        tally = matcher.tally
        told = {
            "all": count,
            "rows": tally.rows,
            "in_windows": tally.in_windows,
            "classes": tally.classes,
            "largest": tally.largest,
            "present": list(tally.present.items()),
            "events": list(tally.events.items()),
            "pairs": [(pair, tested, tally.passed[pair]) for pair, tested in tally.tested.items()],
        }
        yield pa.RecordBatch.from_arrays([pa.array([json.dumps(told)])], names=[_COLUMN])


def sampled(source: Source, clause: EventClause, rows: int) -> Statistics | None:
    """Measure rates and selectivities on some rows of the input; runs a job. None where no plan would use them.

    Which share of the partitions holds an event, and which the largest one, a few rows do not tell.
    """
    plan = EventPlan(replace(source, frame=source.frame.limit(rows)), clause, Options())
    if obstacle(plan.events) is not None or spark_condition(plan.events) is not None:
        return None
    found = analyzed(plan)
    return Statistics(found.rates, found.selectivities)


def analyzed(plan: EventPlan) -> Statistics:
    """Measure rates and selectivities; runs a job.

    Raises
    ------
    PlanError
        ILLEGAL_PLAN: no plan would use them, with the reason.
    """
    events = plan.events
    planned = choose_for_events(events, Options(plan="ordered"), sampled=False)
    task = plan.task()
    base = task.program.base if isinstance(task.program, BoundProgram) else task.program
    work = AnalysisTask(task, ordered_program(events, base, planned.estimates), _pairs(plan, base.search.strict_time))
    emitted = plainly_named(plan.prepared.frame).mapInArrow(on_executors(work.run), f"{_COLUMN} string")
    return _statistics([json.loads(row[0]) for row in emitted.collect()], events)


def _pairs(plan: EventPlan, strict_time: bool) -> dict[tuple[int, int], OrderedProgram]:
    """Return a pattern of two events for each pair of variables that some condition compares."""
    events, found = plan.events, dict[tuple[int, int], OrderedProgram]()
    for order in events.orders:
        conditions = bound_conditions(order, events)
        for i, j in combinations(range(len(order.components)), 2):
            trees = [tree for read, tree in conditions if read == {i, j}]
            pair = order.components[i].variable, order.components[j].variable
            if trees and pair not in found:
                both = order.components[i], order.components[j]
                before = (frozenset[int](), frozenset({0} if i in order.before[j] else ()))
                one = replace(events, orders=(EventOrder((_alone(both[0]), _alone(both[1])), before),))
                found[pair] = _pair(plan, one, [(frozenset({0, 1}), tree) for tree in trees], strict_time)
    return found


def _alone(component: EventComponent) -> EventComponent:
    """Return a component that looks at its own event only."""
    own = EventTest(component.begin.bits)
    return replace(component, begin=own, take=own, within=None)


def _pair(
    plan: EventPlan, events: LogicalEvents, conditions: list[BoundCondition], strict_time: bool
) -> OrderedProgram:
    """Compile a pattern of two events, all pairs of which are to be tested."""
    base = compile_runs(events, EventSearch(output=COUNT, strict_time=strict_time), plan.units.window)
    program = compile_ordered(events, base, [conditions], [PatternOrder(2)])
    return replace(program, patterns=(replace(program.patterns[0], equalities=()),))


def _statistics(tallies: list[dict[str, Any]], events: LogicalEvents) -> Statistics:
    """Put the counts of all Spark partitions together."""
    labels = [variable.label for variable in events.variables]
    rows, in_windows, classes = (sum(tally[name] for tally in tallies) for name in ("rows", "in_windows", "classes"))
    counts, present = Counter[str](), Counter[str]()
    tested, passed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for tally in tallies:
        present.update({labels[variable]: count for variable, count in tally["present"]})
        counts.update({labels[variable]: count for variable, count in tally["events"]})
        for (one, other), of, held in tally["pairs"]:
            tested[labels[one], labels[other]] += of
            passed[labels[one], labels[other]] += held
    return Statistics(
        {label: count / rows * in_windows / rows for label, count in counts.items()} if rows else {},
        # Where none passed, the share is at most about one of as many.
        {pair: max(passed[pair], 0.5) / count for pair, count in tested.items() if count},
        {label: count / classes for label, count in present.items()},
        min(1.0, max(tally["largest"] for tally in tallies) / rows) if rows else None,
        sum(tally["all"] for tally in tallies),
    )
