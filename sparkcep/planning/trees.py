"""By which tree the events of a pattern are joined: the cheapest one for rates of components and negations.

The cost of a tree is that of ZStream, the partial matches of all its nodes (`cheapest_tree`). What is
added here for other operators:

*Negation.* The join that has both neighbours of a negation drops what has a witness between them, so a
negation is one more selectivity between its neighbours. Of two events put into a window at random, the share
1 − g lies at least a share g of the window apart: their distance has density 2 (1 − g). With n witnesses per
window, thrown in independently, e^(−n g) of the pairs at distance g have none between them. Over all
distances that makes 2 (n − 1 + e^(−n)) / n²: 1 without witnesses, about 2 / n with many.

*AND.* Without an order of the pattern leaves stand in the greedy order, the rare and selective first.

*OR and optional parts.* A pattern is the union of its orders; each has its own tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sparkcep.logical.event_bound import EventOrder
from sparkcep.planning.join_trees import JoinTree, PlannedTree, cheapest_tree
from sparkcep.planning.orders import greedy_order
from sparkcep.planning.statistics import Estimates, Statistics

# A component, or both parts of an inner node.
Shape: TypeAlias = "int | tuple[Shape, Shape]"


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

    @property
    def visits(self) -> float:
        """Pairs of partial matches per window that are tried, and the events."""
        return sum(map(self.estimates.events, range(len(self.leaves)))) + _pairs(self.planned.tree, self.estimates)


def _pairs(tree: JoinTree, estimates: Estimates) -> float:
    if tree.parts is None:
        return 0.0
    left, right = tree.parts
    tried = left.cardinality(estimates) * right.cardinality(estimates)
    return tried + _pairs(left, estimates) + _pairs(right, estimates)


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
    """

    estimates: Estimates
    is_sequential: bool
    negations: tuple[tuple[int, int], ...]

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
        given = self._with_negations(self.estimates.with_rates(rates), witnesses)
        leaves = tuple(range(len(rates))) if self.is_sequential else greedy_order(given).order
        lined_up = given.arranged(leaves)
        return LinedUpTree(leaves, cheapest_tree(lined_up), lined_up)

    def _with_negations(self, estimates: Estimates, witnesses: Sequence[float]) -> Estimates:
        shares = [list(row) for row in estimates.selectivities]
        for (before, after), rate in zip(self.negations, witnesses, strict=True):
            shares[before][after] *= share_without_witness(rate)
            shares[after][before] = shares[before][after]
        return Estimates(estimates.variables, estimates.rates, tuple(map(tuple, shares)))


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
    return TreeChooser(estimates, order.is_sequential, tuple((max(gap.before), min(gap.after)) for gap in decided))


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
