"""Statistics of an event pattern, measured on a bounded sample of its input: one Spark job."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.planning.lazy import obstacle, spark_condition
from sparkcep.planning.planner import choose_for_events
from sparkcep.planning.plans import Options
from sparkcep.planning.statistics import SampledEvents, Statistics
from sparkcep.spark.event_arguments import EventClause
from sparkcep.spark.event_plan import EventPlan
from sparkcep.spark.event_sampling import EventSample, event_sample
from sparkcep.spark.executors import on_executors
from sparkcep.spark.matching import plainly_named
from sparkcep.spark.source import Source

ROWS_PER_PARTITION = 20_000
_COLUMN = "tally"


@dataclass(frozen=True, slots=True)
class AnalysisTask:
    """What a worker does."""

    sample: EventSample

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count all rows of one Spark partition, and look closer at the first of them."""
        counter, count = self.sample.counter(), 0
        for batch in batches:
            counter.push(batch.rename_columns(list(self.sample.task.columns)))
            count += batch.num_rows
        tally = counter.finish()
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
    planned = choose_for_events(plan.events, Options(plan="ordered"), sampled=False)
    work = AnalysisTask(event_sample(plan.events, plan.task(), plan.units, planned.estimates, ROWS_PER_PARTITION))
    emitted = plainly_named(plan.prepared.frame).mapInArrow(on_executors(work.run), f"{_COLUMN} string")
    return _statistics([json.loads(row[0]) for row in emitted.collect()], plan.events)


def _statistics(tallies: list[dict[str, Any]], events: LogicalEvents) -> Statistics:
    """Put the counts of all Spark partitions together."""
    labels = [variable.label for variable in events.variables]
    rows, in_windows, classes = (sum(tally[name] for tally in tallies) for name in ("rows", "in_windows", "classes"))
    counts, present = Counter[str](), Counter[str]()
    tested, passed = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for tally in tallies:
        present.update({labels[variable]: count for variable, count in tally["present"]})
        counts.update({labels[variable]: count for variable, count in tally["events"]})
        for (one, other), of, held in tally["pairs"]:
            tested[labels[one], labels[other]] += of
            passed[labels[one], labels[other]] += held
    sample = SampledEvents(rows, in_windows, counts, tested, passed)
    return Statistics(
        sample.rates(),
        sample.selectivities(),
        {label: count / classes for label, count in present.items()},
        min(1.0, max(tally["largest"] for tally in tallies) / rows) if rows else None,
        sum(tally["all"] for tally in tallies),
    )
