"""Measures rates of variables and selectivities of conditions on some events, in place of matching them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from sparkcep.engine.compiled import compiled
from sparkcep.engine.event_input import stream_of
from sparkcep.engine.event_tables import NO_WINDOW, Stream, Window
from sparkcep.engine.event_windows import in_window
from sparkcep.engine.events import EventMatches, EventRows
from sparkcep.engine.matches import Int64s
from sparkcep.engine.ordered import OrderedMatcher
from sparkcep.engine.ordered_program import OrderedProgram
from sparkcep.engine.slots import Codes

# So many neighbouring rows at a time are paired: the work is at most the square of it.
ROWS_PER_SAMPLE = 2000

Pair: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Tally:
    """What was counted on some events.

    Attributes
    ----------
    rows
        Events that have a class.
    in_windows
        Summed over them: the events of its class inside of the window from it on.
    classes
        Partitions, or their classes, that were seen; one that is pushed in parts counts for each.
    largest
        Events of the largest partition.
    events, present
        Per variable the events that satisfy what it asks of one event, and the classes that hold one.
    tested, passed
        Per pair of variables the pairs of events inside of the window, and those that satisfy its conditions.
    """

    rows: int = 0
    in_windows: int = 0
    classes: int = 0
    largest: int = 0
    events: dict[int, int] = field(default_factory=dict)
    present: dict[int, int] = field(default_factory=dict)
    tested: dict[Pair, int] = field(default_factory=dict)
    passed: dict[Pair, int] = field(default_factory=dict)


class StatisticsMatcher:
    """Takes events as a matcher does; finds nothing, and counts.

    Parameters
    ----------
    program
        The compiled pattern.
    pairs
        For each pair of variables with conditions on both, the pattern that holds nothing else.
    """

    def __init__(self, program: OrderedProgram, pairs: dict[Pair, OrderedProgram]) -> None:
        self.program, self.pairs = program, pairs
        self.tally = Tally()
        self.seen = 0

    def push(self, rows: EventRows, codes: Codes) -> EventMatches:
        """Count the next events; pairs are formed among them only."""
        self._count_events(rows)
        for first in range(0, rows.count, ROWS_PER_SAMPLE):
            part = _part(rows, first, first + ROWS_PER_SAMPLE)
            for pair, program in self.pairs.items():
                matcher = OrderedMatcher(program)
                matcher.push(part, codes)
                passed = int(matcher.counters.partial_matches[0][-1])
                self.tally.tested[pair] = self.tally.tested.get(pair, 0) + matcher.counters.evaluations
                self.tally.passed[pair] = self.tally.passed.get(pair, 0) + passed
        self.seen += rows.count
        return EventMatches(needed_from=self.seen)

    def _count_events(self, rows: EventRows) -> None:
        groups = np.searchsorted(rows.starts, np.arange(rows.count), side="right")
        keys = groups * (int(rows.classes.max(initial=0)) + 1) + rows.classes
        classed = np.flatnonzero(rows.classes >= 0)
        by_key = classed[np.argsort(keys[classed], kind="stable")]
        _, firsts, sizes = np.unique(keys[by_key], return_index=True, return_counts=True)
        ordinals = np.zeros(rows.count, np.int64)
        ordinals[by_key] = np.arange(len(by_key)) - np.repeat(firsts, sizes)
        tally, window = self.tally, self.program.base.tables.window
        tally.rows += len(by_key)
        tally.classes += len(firsts)
        tally.largest = max(tally.largest, int(np.bincount(groups, minlength=1).max()))
        if window.kind == NO_WINDOW:
            tally.in_windows += int((sizes * sizes).sum())
        else:
            tally.in_windows += rows_in_windows(stream_of(rows, rows.starts, ordinals), window, by_key, keys)
        variables, counted = self.program.base.tables.components.variable, set[int]()
        for pattern in self.program.patterns:
            for k in range(pattern.size):
                variable = int(variables[pattern.first + k])
                if variable not in counted:
                    bits = pattern.bits[k][:, None]
                    satisfying = ((rows.conditions[:, by_key] & bits) == bits).all(axis=0)
                    tally.events[variable] = tally.events.get(variable, 0) + int(satisfying.sum())
                    present = len(np.unique(keys[by_key[satisfying]]))
                    tally.present[variable] = tally.present.get(variable, 0) + present
                    counted.add(variable)


@compiled
def rows_in_windows(stream: Stream, window: Window, by_key: Int64s, keys: Int64s) -> int:
    """Return, summed over rows, how many of the same key are inside of the window from each on."""
    total, end, count = 0, 0, by_key.shape[0]
    for place in range(count):
        row = by_key[place]
        end = max(end, place)
        while end < count and keys[by_key[end]] == keys[row] and in_window(stream, window, row, by_key[end]):
            end += 1
        total += end - place
    return total


def _part(rows: EventRows, first: int, last: int) -> EventRows:
    """Return some rows as if there were no others."""
    part = slice(first, last)
    return EventRows(
        rows.starts[(rows.starts >= first) & (rows.starts < last)] - first,
        rows.conditions[:, part],
        None if rows.order is None else rows.order[part],
        rows.classes[part],
        rows.integers[:, part],
        rows.integer_nulls[:, part],
        rows.floats[:, part],
        rows.float_nulls[:, part],
        True,
    )
