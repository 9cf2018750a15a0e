"""Join trees over variables in pattern order: the cheapest one by dynamic programming (ZStream).

The algorithm is Algorithm 3 of Kolchinsky and Schuster 2018, after Mei and Madden 2009: the best
tree over neighbouring leaves is made of best trees over the two parts it is cut into.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.planning.statistics import Estimates


@dataclass(frozen=True, slots=True)
class JoinTree:
    """A tree over the leaves from `first` to `last`, which is not one of them; a leaf has no parts."""

    first: int
    last: int
    parts: tuple[JoinTree, JoinTree] | None = None

    def cardinality(self, estimates: Estimates) -> float:
        """Return how many partial matches it makes per window."""
        return estimates.cardinality(range(self.first, self.last))

    def cost(self, estimates: Estimates) -> float:
        """Return the partial matches of all its nodes."""
        below = sum(part.cost(estimates) for part in self.parts) if self.parts else 0.0
        return below + self.cardinality(estimates)

    def text(self, variables: tuple[str, ...]) -> str:
        """Return the tree with brackets, such as ``((a b) c)``."""
        if self.parts is None:
            return variables[self.first]
        return f"({' '.join(part.text(variables) for part in self.parts)})"


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """A comparison that decided: `chosen` was no dearer than `rejected`, over the same leaves."""

    chosen: JoinTree
    rejected: JoinTree

    def holds(self, estimates: Estimates) -> bool:
        """Tell whether it would be decided the same way again."""
        return self.chosen.cost(estimates) <= self.rejected.cost(estimates)


@dataclass(frozen=True, slots=True)
class PlannedTree:
    """A join tree.

    Attributes
    ----------
    cost
        Partial matches per window, over all nodes.
    deciding
        The comparisons that each inner node was chosen by, from the leaves to the root.
    """

    tree: JoinTree
    cost: float
    deciding: tuple[tuple[TreeChoice, ...], ...]


def cheapest_tree(estimates: Estimates) -> PlannedTree:
    """Return the cheapest tree whose leaves stand in their order.

    cost(T) = cost(L) + cost(R) + card(L) · card(R) · SEL(L, R); of equal trees the one with the
    smaller left part is taken. Takes time in the cube of the number of variables.

    Raises
    ------
    ValueError
        There is no variable.
    """
    count = len(estimates.rates)
    if count == 0:
        raise ValueError("a join tree has one leaf at least")
    best = {(leaf, leaf + 1): JoinTree(leaf, leaf + 1) for leaf in range(count)}
    costs = {(leaf, leaf + 1): estimates.events(leaf) for leaf in range(count)}
    cardinalities = dict(costs)
    deciding: dict[JoinTree, tuple[TreeChoice, ...]] = {}
    for size in range(2, count + 1):
        for first in range(count - size + 1):
            last = first + size
            cuts = range(first + 1, last)
            cut = min(cuts, key=lambda k: costs[first, k] + costs[k, last])
            share = estimates.between(range(first, cut), range(cut, last))
            joined = cardinalities[first, cut] * cardinalities[cut, last] * share
            offered = {k: JoinTree(first, last, (best[first, k], best[k, last])) for k in cuts}
            best[first, last], cardinalities[first, last] = offered[cut], joined
            costs[first, last] = costs[first, cut] + costs[cut, last] + joined
            deciding[offered[cut]] = tuple(TreeChoice(offered[cut], offered[k]) for k in cuts if k != cut)
    tree = best[0, count]
    used = [deciding[node] for node in inner_nodes(tree)]
    return PlannedTree(tree, costs[0, count], tuple(used))


def inner_nodes(tree: JoinTree) -> list[JoinTree]:
    """Return the inner nodes, each behind those below it."""
    if tree.parts is None:
        return []
    left, right = tree.parts
    return [*inner_nodes(left), *inner_nodes(right), tree]
