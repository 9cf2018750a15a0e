"""A bounded number of events is counted: how many each variable may take, how many pairs satisfy conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.events import COUNT, EventSearch, TimeUnits
from sparkcep.engine.ordered_program import OrderedProgram, compile_ordered
from sparkcep.engine.runs_program import compile_runs
from sparkcep.logical.event_bound import EventComponent, EventOrder, EventTest, LogicalEvents
from sparkcep.planning.lazy import BoundCondition, bound_conditions
from sparkcep.planning.statistics import Estimates
from sparkcep.spark.bound_programs import ordered_program
from sparkcep.spark.event_batch import EventDriver, EventTask

if TYPE_CHECKING:
    from sparkcep.engine.event_statistics import Tally


_OF_PAIRS = ("tested", "passed")


@dataclass(frozen=True, slots=True)
class PatternOrder:
    """Binds components in the order of the pattern."""

    count: int

    def __call__(self, counts: object) -> tuple[int, ...]:
        """Return the places of all components."""
        return tuple(range(self.count))


@dataclass(frozen=True, slots=True)
class EventSample:
    """What a worker needs to count the first events of a Spark partition.

    Attributes
    ----------
    task
        How rows are read.
    program
        The pattern.
    pairs
        For each pair of variables with conditions on both, the pattern that holds nothing else.
    rows
        How many rows are looked at.
    """

    task: EventTask
    program: OrderedProgram
    pairs: dict[tuple[int, int], OrderedProgram]
    rows: int

    def counter(self) -> SampleCounter:
        """Return what counts the events of one Spark partition."""
        return SampleCounter(self)

    @property
    def variables(self) -> list[int]:
        """The variables whose events are counted: negated ones are not."""
        of_component = self.program.base.tables.components.variable
        return sorted({int(of_component[p.first + k]) for p in self.program.patterns for k in range(p.size)})

    def names(self) -> list[str]:
        """Return what the numbers of `numbers_of` are called."""
        labels = self.task.labels
        pairs = [f"{labels[one]} {labels[other]}" for one, other in self.pairs]
        by_variable = [f"events {labels[variable]}" for variable in self.variables]
        return ["rows", "in_windows", *by_variable, *(f"{what} {pair}" for what in _OF_PAIRS for pair in pairs)]

    def numbers_of(self, tally: Tally) -> list[int]:
        """Return what was counted, as numbers that add up; `names` tells what they are called."""
        by_variable = [tally.events.get(variable, 0) for variable in self.variables]
        tested, passed = ([counts.get(pair, 0) for pair in self.pairs] for counts in (tally.tested, tally.passed))
        return [tally.rows, tally.in_windows, *by_variable, *tested, *passed]


class SampleCounter:
    """Counts the first rows that it is pushed."""

    def __init__(self, sample: EventSample) -> None:
        from sparkcep.engine.event_statistics import StatisticsMatcher  # here: the driver of Spark needs no kernels

        self._sample = sample
        self._matcher = StatisticsMatcher(sample.program, sample.pairs)
        self._driver = EventDriver(sample.task, self._matcher)
        self._left = sample.rows

    def push(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch, as far as they are among the first ones."""
        if self._left > 0:
            list(self._driver.push(batch.slice(0, self._left)))
            self._left -= min(self._left, batch.num_rows)

    def finish(self) -> Tally:
        """Return what was counted."""
        list(self._driver.finish())
        return self._matcher.tally

    def numbers(self) -> list[int]:
        """Finish; return what was counted as `EventSample.numbers_of` does."""
        return self._sample.numbers_of(self.finish())


def event_sample(
    events: LogicalEvents, task: EventTask, units: TimeUnits, estimates: Sequence[Estimates], rows: int
) -> EventSample:
    """Return what counts events of a pattern that has no `obstacle`.

    Parameters
    ----------
    events
        The bound pattern.
    task
        What finds its matches.
    units
        How order values count in its window.
    estimates
        By order of the pattern.
    rows
        How many rows of a Spark partition are looked at.
    """
    base = task.program.base if isinstance(task.program, BoundProgram) else task.program
    pairs = _pairs(events, units, base.search.strict_time)
    return EventSample(task, ordered_program(events, base, estimates), pairs, rows)


def _pairs(events: LogicalEvents, units: TimeUnits, strict_time: bool) -> dict[tuple[int, int], OrderedProgram]:
    """Return a pattern of two events for each pair of variables that some condition compares."""
    found = dict[tuple[int, int], OrderedProgram]()
    for order in events.orders:
        conditions = bound_conditions(order, events)
        for i, j in combinations(range(len(order.components)), 2):
            trees = [tree for read, tree in conditions if read == {i, j}]
            pair = order.components[i].variable, order.components[j].variable
            if trees and pair not in found:
                both = order.components[i], order.components[j]
                before = (frozenset[int](), frozenset({0} if i in order.before[j] else ()))
                one = replace(events, orders=(EventOrder((_alone(both[0]), _alone(both[1])), before),))
                found[pair] = _pair(one, units, [(frozenset({0, 1}), tree) for tree in trees], strict_time)
    return found


def _alone(component: EventComponent) -> EventComponent:
    """Return a component that looks at its own event only."""
    own = EventTest(component.begin.bits)
    return replace(component, begin=own, take=own, within=None)


def _pair(
    events: LogicalEvents, units: TimeUnits, conditions: list[BoundCondition], strict_time: bool
) -> OrderedProgram:
    """Compile a pattern of two events, all pairs of which are to be tested."""
    base = compile_runs(events, EventSearch(output=COUNT, strict_time=strict_time), units.window)
    program = compile_ordered(events, base, [conditions], [PatternOrder(2)])
    return replace(program, patterns=(replace(program.patterns[0], equalities=()),))
