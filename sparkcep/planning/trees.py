"""By which tree the events of a pattern are joined: the cheapest one for rates of components and negations.

The cost of a tree is that of ZStream, the partial matches of all its nodes (`cheapest_tree`). What is
added here for other operators:

*Negation.* The join that has both neighbours of a negation drops what has a witness between them, so a
negation is one more selectivity between its neighbours. Of two events put into a window at random, the share
1 − g lies at least a share g of the window apart: their distance has density 2 (1 − g). With n witnesses per
window, thrown in independently, e^(−n g) of the pairs at distance g have none between them. Over all
distances that makes 2 (n − 1 + e^(−n)) / n²: 1 without witnesses, about 2 / n with many.

*Loops.* A leaf that takes several events has as partial matches all sequences of them. If the share s of pairs of
events may follow each other, n events have C(n, k) sequences of length k, and s^(k−1) of them are left: all
together ((1 + s)^n − 1) / s. That is what such a leaf counts as, in place of its n events.

*AND.* Without an order of the pattern leaves stand in the greedy order, the rare and selective first.

*OR and optional parts.* A pattern is the union of its orders; each has its own tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sparkcep.logical.event_bound import EventComponent, EventOrder, LogicalEvents
from sparkcep.logical.slots import CURRENT_ROW, Read, Running, SlotExpression, conjuncts, nodes
from sparkcep.planning.join_trees import JoinTree, PlannedTree, cheapest_tree
from sparkcep.planning.lazy import is_implied, obstacle
from sparkcep.planning.orders import greedy_order
from sparkcep.planning.statistics import Estimates, Statistics, rule_of_thumb

# A component, or both parts of an inner node.
Shape: TypeAlias = "int | tuple[Shape, Shape]"
_MOST_SEQUENCES = 1e30


@dataclass(frozen=True, slots=True)
class LinedUpTree:
    """A tree over leaves that stand in some order.

    Attributes
    ----------
    leaves
        The component of each leaf.
    planned
        The tree over the leaves, its cost, and the comparisons that decided.
    estimates
        What it was chosen by, leaf by leaf.
    """

    leaves: tuple[int, ...]
    planned: PlannedTree
    estimates: Estimates

    @property
    def shape(self) -> Shape:
        """The tree over components."""
        return self._shape(self.planned.tree)

    def _shape(self, tree: JoinTree) -> Shape:
        if tree.parts is None:
            return self.leaves[tree.first]
        left, right = tree.parts
        return self._shape(left), self._shape(right)

    @property
    def text(self) -> str:
        """The tree with brackets and names of variables."""
        return self.planned.tree.text(self.estimates.variables)


@dataclass(frozen=True, slots=True)
class Loop:
    """A component that takes several events.

    Attributes
    ----------
    component, least, most
        The component, and how many events it takes; most None: no end.
    share
        The share of pairs of events that may follow each other.
    """

    component: int
    least: int
    most: int | None
    share: float

    def sequences(self, rate: float) -> float:
        """Return how many sequences of events there are in a window with so many events, at most 10^30.

        Examples
        --------
        >>> Loop(0, 1, None, 1.0).sequences(4), Loop(0, 2, 2, 0.5).sequences(4)
        (15.0, 3.0)
        """
        total, left, length = 0.0, float(rate), 1
        while left > 0 and total < _MOST_SEQUENCES and (self.most is None or length <= self.most):
            total += left if length >= self.least else 0.0
            left *= self.share * (rate - length) / (length + 1)
            length += 1
        return min(total, _MOST_SEQUENCES)


@dataclass(frozen=True, slots=True)
class TreeChooser:
    """Chooses the tree by which components are joined, by how many events each may take per window.

    Attributes
    ----------
    estimates
        Selectivities of the conditions; the rates are those of the rows at hand.
    is_sequential
        Whether the components stand in one order.
    negations
        The component before and the one behind each negation that its neighbours decide.
    loops
        Components that take several events.
    """

    estimates: Estimates
    is_sequential: bool
    negations: tuple[tuple[int, int], ...]
    loops: tuple[Loop, ...] = ()

    def __call__(self, rates: Sequence[float], witnesses: Sequence[float]) -> Shape:
        """Return a tree over places of components.

        Parameters
        ----------
        rates, witnesses
            Events per window of each component, and of each negation.
        """
        return self.planned(rates, witnesses).shape

    def planned(self, rates: Sequence[float], witnesses: Sequence[float]) -> LinedUpTree:
        """Return the tree with its costs."""
        counted = list(rates)
        for loop in self.loops:
            counted[loop.component] = loop.sequences(rates[loop.component])
        given = self._with_negations(self.estimates.with_rates(counted), witnesses)
        leaves = tuple(range(len(rates))) if self.is_sequential else greedy_order(given).order
        lined_up = given.arranged(leaves)
        return LinedUpTree(leaves, cheapest_tree(lined_up), lined_up)

    def _with_negations(self, estimates: Estimates, witnesses: Sequence[float]) -> Estimates:
        shares = [list(row) for row in estimates.selectivities]
        for (before, after), rate in zip(self.negations, witnesses, strict=True):
            shares[before][after] *= share_without_witness(rate)
            shares[after][before] = shares[before][after]
        return replace(estimates, selectivities=tuple(map(tuple, shares)))


def planned_tree(
    order: EventOrder, estimates: Estimates, negated: Sequence[str], statistics: Statistics | None
) -> LinedUpTree:
    """Return the cheapest tree of an order by what is known or assumed.

    Parameters
    ----------
    estimates
        Of its components.
    negated
        The names of its negations.
    statistics
        What is known; a negation of unknown rate counts as one without witnesses.
    """
    rates = statistics.rates if statistics is not None else {}
    labels = [label for gap, label in zip(order.gaps, negated, strict=True) if gap.is_decided_by_place]
    return tree_chooser(order, estimates).planned(estimates.rates, [rates.get(label, 0.0) for label in labels])


def tree_chooser(order: EventOrder, estimates: Estimates) -> TreeChooser:
    """Return what chooses the tree of an order with these selectivities."""
    decided = [gap for gap in order.gaps if gap.is_decided_by_place]
    loops = [
        Loop(k, component.least, component.most, math.prod(map(rule_of_thumb, conjuncts(component.take.slots))))
        for k, component in enumerate(order.components)
        if component.is_loop
    ]
    negations = tuple((max(gap.before), min(gap.after)) for gap in decided)
    return TreeChooser(estimates, order.is_sequential, negations, tuple(loops))


def tree_obstacle(events: LogicalEvents) -> str | None:
    """Return why a pattern may not be joined by a tree, None if it may: as `obstacle` does, but for loops."""
    for order in events.orders:
        loops = [component for component in order.components if component.is_loop]
        variables = frozenset(component.variable for component in loops)
        if loops and not order.is_sequential:
            return f"{events.variables[loops[0].variable].label} takes several events, and parts interleave"
        for component in loops:
            reason = _loop_obstacle(component, events)
            if reason is not None:
                return reason
        for component in order.components:
            counted = (node.rows.variables for node in nodes(component.begin.slots) if isinstance(node, Running))
            if any(of is None or of & variables for of in counted):
                return f"the condition of {events.variables[component.variable].label} aggregates"
    return obstacle(replace(events, orders=tuple(map(_of_single_events, events.orders))))


def _loop_obstacle(loop: EventComponent, events: LogicalEvents) -> str | None:
    label = events.variables[loop.variable].label
    if loop.until is not None:
        return f"UNTIL ends {label}"
    if loop.leave is not None:
        return f"a condition decides whether {label} may be left"
    if loop.within is not None:
        return f"{label} has a window of its own"
    for tree in conjuncts(loop.take.slots):
        for node in nodes(tree):
            if isinstance(node, Running):
                return f"the condition of {label} aggregates"
            is_read = isinstance(node, Read) and node.at != CURRENT_ROW
            if is_read and not is_implied(tree, events) and not _is_own(node, loop.variable):
                return f"each event of {label} is compared with other variables"
    return None


def _is_own(read: SlotExpression, variable: int) -> bool:
    return isinstance(read, Read) and read.at.rows.variables == frozenset({variable}) and not read.at.offset


def _of_single_events(order: EventOrder) -> EventOrder:
    single = [
        replace(component, least=1, most=1, is_loop=False, take=component.begin) for component in order.components
    ]
    return replace(order, components=tuple(single))


def loop_takes(order: EventOrder, events: LogicalEvents) -> dict[int, list[SlotExpression]]:
    """Return, by component, the conditions on every event of a loop but the first.

    Parameters
    ----------
    order
        One of the orders of `events`, a pattern without a `tree_obstacle`.
    """
    return {
        k: [tree for tree in conjuncts(component.take.slots) if not is_implied(tree, events)]
        for k, component in enumerate(order.components)
        if component.is_loop
    }


def share_without_witness(rate: float) -> float:
    """Return which share of pairs of events of a window has none of the witnesses between them.

    Parameters
    ----------
    rate
        Witnesses per window.

    Examples
    --------
    >>> round(share_without_witness(0), 3), round(share_without_witness(10), 3)
    (1.0, 0.18)
    """
    if rate < 1e-3:
        return 1 - rate / 3
    return 2 * (rate - 1 + math.exp(-rate)) / rate**2
