"""What plans cost: how much of each kind of work they do, and what that takes (Kolchinsky and Schuster 2018).

The unit is the visit of a partial match by an event in `runs`, some tens of nanoseconds on one core. What other work
takes, in visits, is measured by ``python -m benchmarks calibrate``, which writes `weights`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparkcep.planning.join_trees import JoinTree, inner_nodes
from sparkcep.planning.statistics import Estimates
from sparkcep.planning.weights import WEIGHTS

STATES_PER_WORD = 64
BACKTRACK_STEPS_PER_ROW = 4.0
# Python is left out; what a window fetches for a row costs a fraction of what it would there.
WINDOW_STEPS_PER_ROW, WINDOW_STEPS_PER_VALUE, STEPS_PER_FURTHER_WINDOW = 0.5, 0.125, 0.5

# How many rows there are, where nobody knows.
ROWS = 1_000_000
# Visits per row of a plan that would need statistics, where there are none.
UNKNOWN_VISITS = 100.0


@dataclass(frozen=True, slots=True)
class Work:
    """What a plan does, per window or per event of it.

    Attributes
    ----------
    visits
        Events that are tested against partial matches, or partial matches against one another.
    stored
        Partial matches that are kept for later.
    shuffled
        Rows and partial matches that joins shuffle.
    reads
        How often the input is read, in all.
    """

    visits: float
    stored: float = 0.0
    shuffled: float = 0.0
    reads: int = 0

    def __add__(self, other: Work) -> Work:
        """Return the work of two orders of a pattern."""
        return Work(
            self.visits + other.visits,
            self.stored + other.stored,
            self.shuffled + other.shuffled,
            self.reads + other.reads,
        )

    def per_event(self, events: float) -> Work:
        """Return the work per event, of which a window has so many that some variable can take."""
        return Work(self.visits / events, self.stored / events, self.shuffled / events, self.reads)

    def cost(self, plan: str, rows: float | None) -> float:
        """Return what work per event costs per row, in visits.

        Parameters
        ----------
        plan
            The engine.
        rows
            How many rows there are that some variable can take; None: nobody knows.
        """
        weights = WEIGHTS[plan]
        reading = weights.job / max(ROWS if rows is None else rows, 1.0) + weights.row
        of_matching = weights.visit * self.visits + weights.stored * self.stored + weights.shuffled * self.shuffled
        return reading * max(self.reads, 1) + of_matching


def arrangements(size: int, *, in_sequence: bool) -> float:
    """Return how many ways there are to put events into one window, against those that a product of rates counts.

    A product of rates counts all ways to take one event of each of k variables out of a window. As the window
    slides with the events it holds k of them, of which one in k! stands in the order of a sequence.

    Examples
    --------
    >>> arrangements(2, in_sequence=True), arrangements(3, in_sequence=True), arrangements(3, in_sequence=False)
    (1.0, 0.5, 3.0)
    """
    return size / math.factorial(size) if in_sequence else float(size)


def work_in_order(estimates: Estimates, order: Sequence[int], *, in_sequence: bool) -> Work:
    """Return what it takes to bind variables in an order; an equality looks candidates up."""
    return _bound(estimates, order, estimates.cardinality, in_sequence=in_sequence)


def work_of_runs(estimates: Estimates, *, in_sequence: bool, merges: bool) -> Work:
    """Return what it takes to move partial matches on event by event.

    Parameters
    ----------
    merges
        Whether those are one that no later condition tells apart.
    """
    order = tuple(range(len(estimates.rates)))

    def distinct(taken: Sequence[int]) -> float:
        read = [one for one in taken if any(estimates.selectivities[one][k] != 1 for k in order[len(taken) :])]
        return min(estimates.cardinality(taken), estimates.cardinality(read))

    kept = distinct if merges else estimates.cardinality
    return _bound(estimates, order, kept, in_sequence=in_sequence)


def _bound(
    estimates: Estimates, order: Sequence[int], kept: Callable[[Sequence[int]], float], *, in_sequence: bool
) -> Work:
    visits, stored = estimates.events(order[0]), 0.0
    for k, variable in enumerate(order[1:], 1):
        taken = order[:k]
        partial = kept(taken)
        share = estimates.looked_up((variable,), taken)
        stored += partial * arrangements(k, in_sequence=in_sequence)
        visits += partial * estimates.events(variable) * share * arrangements(k + 1, in_sequence=in_sequence)
    return Work(visits, stored)


def work_of_tree(estimates: Estimates, tree: JoinTree, *, in_sequence: bool) -> Work:
    """Return what it takes to join the leaves of a tree in the kernel, by hash where an equality ties both parts."""
    visits, stored = sum(map(estimates.events, range(tree.first, tree.last))), 0.0
    for node in inner_nodes(tree):
        assert node.parts is not None
        left, right = node.parts
        share = estimates.looked_up(range(left.first, left.last), range(right.first, right.last))
        tried = left.cardinality(estimates) * right.cardinality(estimates) * share
        visits += tried * arrangements(node.last - node.first, in_sequence=in_sequence)
        stored += sum(
            part.cardinality(estimates) * arrangements(part.last - part.first, in_sequence=in_sequence)
            for part in node.parts
        )
    return Work(visits, stored)
