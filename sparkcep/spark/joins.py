"""Event patterns as Spark joins: the join tree of ZStream (Mei and Madden 2009) over DataFrames.

Every variable is a selection of the input; partial matches are joined on what must be equal, partition,
class and equalities of conditions, and on buckets of time as long as the window, so that pairs far apart are not
tried; keys alone do where the input is known to hold few windows. An event is a struct, so that it travels through
joins as one column. A negation is an anti-join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from sparkcep.engine.events import EventWindow
from sparkcep.logical.event_bound import EventGap, LogicalEvents
from sparkcep.logical.slots import CURRENT_ROW, Read, SlotExpression, SparkCondition, conjuncts, nodes
from sparkcep.planning.join_trees import JoinTree
from sparkcep.planning.joins import PlannedJoin
from sparkcep.spark.joined_rows import JoinedRows
from sparkcep.spark.slot_columns import slot_column

_WITNESS = -1
# Buckets of rounded quotients may be one off.
_BY_ROUNDING = {"float": 1}

Places = frozenset[int]


@dataclass(frozen=True, slots=True)
class _Part:
    """Partial matches: a column of events for each of some components."""

    frame: DataFrame
    places: Places


class JoinedOrder:
    """Joins the components of one order of a pattern.

    Parameters
    ----------
    planned
        The order and its tree.
    rows
        Selects and compares events.
    window, own
        The window of the whole match, and per component its own one.
    strict
        Whether order values must ascend.
    """

    def __init__(
        self,
        planned: PlannedJoin,
        events: LogicalEvents,
        rows: JoinedRows,
        window: EventWindow | None,
        own: Sequence[EventWindow | None],
        *,
        strict: bool,
    ) -> None:
        self.planned, self.rows, self.window, self.own, self.strict = planned, rows, window, own, strict
        self.order, self.prefix = planned.order, events.match.prefix
        self.place = {component.variable: k for k, component in enumerate(self.order.components)}

    def matches(self) -> DataFrame:
        """Return the matches: the column `event_name` for each component."""
        return self._joined(self.planned.tree).frame

    def event_name(self, k: int) -> str:
        """Return the name of the column that holds the event of a component."""
        return f"{self.prefix}_w" if k == _WITNESS else f"{self.prefix}_e{k}"

    def event(self, k: int) -> Column:
        """Return the event of a component."""
        return F.col(self.event_name(k))

    def precedes(self, one: int, other: int) -> Column:
        """Return whether the event of a component comes before that of another one."""
        variables = [component.variable for component in self.order.components]
        return self.rows.precedes(
            self.event(one), variables[one], self.event(other), variables[other], strict=self.strict
        )

    # -- partial matches -----------------------------------------------------------------------------

    def _joined(self, tree: JoinTree) -> _Part:
        if tree.parts is None:
            k = self.planned.leaves[tree.first]
            part = _Part(self.rows.taken_by(self.order.components[k].begin, self.event_name(k)), frozenset({k}))
            for test in self._conditions(part.places, ()):
                part = _Part(part.frame.where(test), part.places)
            return self._without_witnesses(part, ())
        left, right = map(self._joined, tree.parts)
        both, sides = left.places | right.places, (left.places, right.places)
        tests = [
            *self.rows.same_class(self.event(min(left.places)), self.event(min(right.places))),
            *self._conditions(both, sides),
            *self._neighbours(*sides),
            *self._own_windows(both, sides),
        ]
        first, second = left.frame, right.frame
        keys = self.rows.events.keys or self.rows.early.keys
        if self.window is not None and (self.planned.is_longer_than_windows or not keys):
            one, other, shifts = self._nearest(*sides)
            if self._is_left_smaller(tree):
                first, test = self._bucketed(first, other, one, self.window, [-shift for shift in shifts])
            else:
                second, test = self._bucketed(second, one, other, self.window, shifts)
            tests.append(test)
        first, second = self._hinted(tree, first, second)
        frame = first.join(second, reduce(and_, tests, F.lit(True)), "inner")
        names = [self.event_name(k) for k in sorted(both)]
        return self._without_witnesses(_Part(frame.select(*names), both), sides)

    def _hinted(self, tree: JoinTree, left: DataFrame, right: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Ask Spark to send the smaller side to all tasks, if it is known to be small."""
        assert tree.parts is not None
        if self._is_left_smaller(tree):
            return F.broadcast(left) if self.planned.is_small(tree.parts[0]) else left, right
        return left, F.broadcast(right) if self.planned.is_small(tree.parts[1]) else right

    def _is_left_smaller(self, tree: JoinTree) -> bool:
        assert tree.parts is not None
        one, other = (part.cardinality(self.planned.estimates) for part in tree.parts)
        return one < other

    def _conditions(self, both: Places, sides: Sequence[Places]) -> list[Column]:
        """Return the conditions that can be tested now and not before."""
        return [
            self._column(tree)
            for read, tree in self.planned.conditions
            if read <= both and not any(read <= side for side in sides)
        ]

    def _column(self, tree: SlotExpression) -> Column:
        return slot_column(tree, self._read)

    def _read(self, node: Read | SparkCondition) -> Column:
        """Return an operand of an event as conditions compute with it, or a condition that Spark computes."""
        if isinstance(node, Read):
            return self.rows.operand(self.event(self._read_of(node)), node.operand)
        return F.expr(
            node.text_over(lambda read: self.rows.value_text(self.event_name(self._read_of(read)), read.operand))
        )

    def _read_of(self, read: Read) -> int:
        """Return the component whose event is read."""
        if read.at == CURRENT_ROW:
            return _WITNESS
        assert read.at.rows.variables is not None
        (variable,) = read.at.rows.variables
        return self.place[variable]

    def _neighbours(self, left: Places, right: Places) -> list[Column]:
        """Return the tests on the order of events and on the window, but for what others imply."""
        both = left | right
        tests = []
        for one, other in _pairs(left, right):
            earlier, later = (one, other) if one in self._before(other) else (other, one)
            if earlier not in self._before(later):
                tests += self.rows.apart(self.event(one), self.event(other), strict=self.strict)
                if self.window is not None:
                    tests.append(self.rows.within(self.event(one), self.event(other), self.window))
                    tests.append(self.rows.within(self.event(other), self.event(one), self.window))
                continue
            if not any(earlier in self._before(k) and k in self._before(later) for k in both):
                tests.append(self.precedes(earlier, later))
            is_inside = any(k in self._before(earlier) or later in self._before(k) for k in both)
            if self.window is not None and not is_inside:
                tests.append(self.rows.within(self.event(earlier), self.event(later), self.window))
        return tests

    def _before(self, k: int) -> Places:
        return self.order.before[k]

    def _own_windows(self, both: Places, sides: Sequence[Places]) -> list[Column]:
        """Return the tests on windows that count from the components before."""
        tests = []
        for k, window in enumerate(self.own):
            asked = self._before(k) | {k}
            if window is not None and self._before(k) and asked <= both and not any(asked <= side for side in sides):
                times = [self.rows.within(self.event(one), self.event(k), window) for one in sorted(self._before(k))]
                tests.append(reduce(lambda one, other: one | other, times))  # the latest of them is the nearest
        return tests

    # -- joins by time -------------------------------------------------------------------------------

    def _nearest(self, left: Places, right: Places) -> tuple[int, int, tuple[int, ...]]:
        """Return a component of each side, and how many buckets behind that of the right one the left one's may be."""
        for one, other in _pairs(left, right):
            if one in self._before(other):
                return one, other, (-1, 0)
        for one, other in _pairs(left, right):
            if other in self._before(one):
                return one, other, (0, 1)
        return min(left), min(right), (-1, 0, 1)

    def _bucketed(
        self, side: DataFrame, one: int, other: int, window: EventWindow, shifts: Sequence[int]
    ) -> tuple[DataFrame, Column]:
        """Return the side of `other` with all buckets in which the events `one` may be, and the test for it."""
        extra = _BY_ROUNDING.get(window.kind, 0)
        own = self.rows.bucket(self.event(other), window)
        buckets = [own + shift for shift in range(min(shifts) - extra, max(shifts) + extra + 1)]
        name = f"{self.prefix}_bucket"
        exploded = side.select("*", F.explode(F.array(*buckets)).alias(name))
        return exploded, self.rows.bucket(self.event(one), window) == F.col(name)

    # -- negations -----------------------------------------------------------------------------------

    def _without_witnesses(self, part: _Part, sides: Sequence[Places]) -> _Part:
        """Drop what events of negations forbid, those that can be judged now and not before."""
        frame = part.frame
        for gap in self.order.gaps:
            asked = self._asked_by(gap)
            if asked <= part.places and not any(asked <= side for side in sides):
                frame = self._forbidden(frame, gap)
        return _Part(frame, part.places)

    def _asked_by(self, gap: EventGap) -> Places:
        if not gap.before:
            return frozenset(range(len(self.order.components)))  # the window counts from the last event
        read = {self._read_of(node) for node in nodes(gap.witness.slots) if isinstance(node, Read)}
        return (gap.before | gap.after | read) - {_WITNESS}

    def _forbidden(self, frame: DataFrame, gap: EventGap) -> DataFrame:
        variables = [component.variable for component in self.order.components]
        witness, asked = self.event(_WITNESS), self._asked_by(gap)
        tests = self.rows.same_class(self.event(min(asked)), witness)
        for k in sorted(gap.before):
            tests.append(self.rows.precedes(self.event(k), variables[k], witness, gap.variable, strict=False))
        for k in sorted(gap.after):
            tests.append(self.rows.precedes(witness, gap.variable, self.event(k), variables[k], strict=False))
        found = list(conjuncts(gap.witness.slots))
        tests += [self._column(tree) for tree in found]
        witnesses = self.rows.taken_by(gap.witness, self.event_name(_WITNESS))
        if self.window is not None:
            if not gap.before:
                tests += [self.rows.within(witness, self.event(k), self.window) for k in sorted(asked)]
            near, shifts = (min(gap.before), (-1, 0)) if gap.before else (min(gap.after), (0, 1))
            witnesses, test = self._bucketed(witnesses, near, _WITNESS, self.window, shifts)
            tests.append(test)
        return frame.join(witnesses, reduce(and_, tests, F.lit(True)), "left_anti")


def _pairs(left: Places, right: Places) -> list[tuple[int, int]]:
    return [(one, other) for one in sorted(left) for other in sorted(right)]
