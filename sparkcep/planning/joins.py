"""Event patterns as joins of their variables: which may be joined, and in which tree."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sparkcep.logical.event_bound import EventGap, EventOrder, LogicalEvents
from sparkcep.logical.slots import CURRENT_ROW, Read, Running, nodes
from sparkcep.planning.costs import Work
from sparkcep.planning.join_trees import JoinTree, cheapest_tree, inner_nodes
from sparkcep.planning.lazy import BoundCondition, bound_conditions, obstacle
from sparkcep.planning.orders import greedy_order
from sparkcep.planning.statistics import Estimates

# Rows of a side that is sent to all tasks, in place of shuffling the other one.
MOST_BROADCAST = 500_000
# So many windows' worth of rows are not worth doubling one side of a join for.
FEW_WINDOWS = 4


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """One order of a pattern as a tree of joins.

    Attributes
    ----------
    order
        The order.
    leaves
        The components at the leaves of the tree, from left to right.
    tree
        Over `leaves`.
    conditions
        The conditions on several events, with the components that they read.
    estimates
        Of the leaves.
    windows
        How many windows' worth of rows there are, None where nobody knows.
    """

    order: EventOrder
    leaves: tuple[int, ...]
    tree: JoinTree
    conditions: tuple[BoundCondition, ...]
    estimates: Estimates
    windows: float | None = None

    def is_small(self, node: JoinTree) -> bool:
        """Tell whether the partial matches of a node are known to be so few that each task may have them all."""
        return self.windows is not None and self.windows * node.cardinality(self.estimates) <= MOST_BROADCAST

    @property
    def is_longer_than_windows(self) -> bool:
        """Whether the input may hold many windows, so that pairs should be looked for by time."""
        return self.windows is None or self.windows > FEW_WINDOWS

    @property
    def work(self) -> Work:
        """What joining takes: pairs of all that must be equal and are near each other are tried."""
        visits = shuffled = 0.0
        for node in inner_nodes(self.tree):
            assert node.parts is not None
            left, right = node.parts
            sizes = [part.cardinality(self.estimates) for part in node.parts]
            share = self.estimates.looked_up(range(left.first, left.last), range(right.first, right.last))
            visits += math.prod(sizes) * share
            shuffled += 0.0 if any(map(self.is_small, node.parts)) else sum(sizes) + min(sizes)
        return Work(visits, shuffled=shuffled, reads=len(self.leaves) + len(self.order.gaps))

    @property
    def text(self) -> str:
        """The tree with brackets."""
        return self.tree.text(self.estimates.variables)


def join_obstacle(events: LogicalEvents, matches: str, *, orders_by_column: bool) -> str | None:
    """Return why a pattern may not be found by joins, None if it may.

    Parameters
    ----------
    matches
        The caller's ``matches=``.
    orders_by_column
        Whether a sort order was given as a Column, into which nobody can look.
    """
    reason = obstacle(events)
    if reason is not None:
        return reason
    if matches == "non_overlapping":
        return "matches='non_overlapping' picks one match after the other"
    if orders_by_column:
        return "it compares events by their order, and cannot look into a sort order made of a Column"
    if any(within.unit == "events" for _, within in events.windows):
        return "a window counts events, and it numbers none"
    if _binds_alike(events.orders):
        return "two ways through the pattern bind the same variables"
    gaps = [gap for order in events.orders for gap in order.gaps]
    if any(not gap.after or gap.within is not None for gap in gaps):
        return "a closing window decides about a negation"
    if not all(_reads_bound_events(gap, order) for order in events.orders for gap in order.gaps):
        return "the condition of a negation aggregates"
    return None


def _binds_alike(orders: Iterable[EventOrder]) -> bool:
    bound = [frozenset(component.variable for component in order.components) for order in orders]
    return len(set(bound)) < len(bound)


def _reads_bound_events(gap: EventGap, order: EventOrder) -> bool:
    """Whether a witness is compared with single events of the order only."""
    if gap.own_before or gap.own_after:
        return False
    bound = {component.variable for component in order.components}
    for node in nodes(gap.witness.slots):
        if isinstance(node, Running):
            return False
        if isinstance(node, Read) and node.at != CURRENT_ROW:
            of = node.at.rows.variables
            if of is None or len(of) != 1 or not of <= bound or node.at.offset:
                return False
    return True


def planned_join(
    order: EventOrder, events: LogicalEvents, estimates: Estimates, rows: float | None = None
) -> PlannedJoin:
    """Return the cheapest tree of joins: over neighbours in a sequence, over a greedy order of parts that interleave.

    Parameters
    ----------
    estimates
        Of the components of the order.
    rows
        How many rows there are that some component may take, if it is known.
    """
    leaves = tuple(range(len(order.components))) if order.is_sequential else greedy_order(estimates).order
    arranged = estimates.arranged(leaves)
    windows = None if rows is None else rows / max(sum(estimates.rates), 1e-9)
    tree = cheapest_tree(arranged).tree
    return PlannedJoin(order, leaves, tree, bound_conditions(order, events), arranged, windows)
