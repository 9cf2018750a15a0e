"""Orders in which variables are bound: greedily, or the cheapest of all by dynamic programming.

Both tell which comparisons they decided on, so that a change of statistics that would change the
order can be noticed (Kolchinsky and Schuster 2018, sections 3 and 4: deciding conditions).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from sparkcep.planning.statistics import Estimates

# Beyond that the subsets of variables are too many.
MOST_VARIABLES = 14


@dataclass(frozen=True, slots=True)
class Extension:
    """Binding one variable next, behind those that are placed.

    `cost` is what each partial match over `placed` is multiplied by.
    """

    variable: int
    placed: tuple[int, ...] = ()

    def cost(self, estimates: Estimates) -> float:
        """Return r_j · sel_jj · Π sel to what is placed (Algorithm 2 of the paper)."""
        return estimates.events(self.variable) * estimates.between((self.variable,), self.placed)


@dataclass(frozen=True, slots=True)
class LeftDeep:
    """Binding variables one after the other."""

    order: tuple[int, ...]

    def cost(self, estimates: Estimates) -> float:
        """Return the partial matches per window, whole matches included."""
        return sum(estimates.cardinality(self.order[: k + 1]) for k in range(len(self.order)))


@dataclass(frozen=True, slots=True)
class Choice:
    """A comparison that decided: `chosen` was no dearer than `rejected`."""

    chosen: Extension | LeftDeep
    rejected: Extension | LeftDeep

    def holds(self, estimates: Estimates) -> bool:
        """Tell whether it would be decided the same way again."""
        return self.chosen.cost(estimates) <= self.rejected.cost(estimates)


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """An order of variables.

    Attributes
    ----------
    order
        Places of the variables.
    cost
        Partial matches per window.
    deciding
        The comparisons that put each variable into its place: one tuple per place.
    """

    order: tuple[int, ...]
    cost: float
    deciding: tuple[tuple[Choice, ...], ...]


def greedy_order(estimates: Estimates) -> PlannedOrder:
    """Return the order that each time takes the variable with the fewest events that fit (Algorithm 2).

    Of equal ones the first comes first.

    Examples
    --------
    >>> rates = Estimates(("A", "B", "C"), (100.0, 15.0, 10.0), ((1.0,) * 3,) * 3)
    >>> greedy_order(rates).order
    (2, 1, 0)
    """
    placed: tuple[int, ...] = ()
    waiting = list(range(len(estimates.rates)))
    deciding = []
    while waiting:
        offered = [Extension(variable, placed) for variable in waiting]
        chosen = min(offered, key=lambda extension: extension.cost(estimates))
        deciding.append(tuple(Choice(chosen, other) for other in offered if other != chosen))
        placed += (chosen.variable,)
        waiting.remove(chosen.variable)
    return PlannedOrder(placed, LeftDeep(placed).cost(estimates), tuple(deciding))


def cheapest_order(estimates: Estimates) -> PlannedOrder:
    """Return the order with the fewest partial matches, by dynamic programming over sets of variables.

    Parameters
    ----------
    estimates
        Of `MOST_VARIABLES` variables at most.

    Raises
    ------
    ValueError
        There are more variables.
    """
    count = len(estimates.rates)
    if count > MOST_VARIABLES:
        raise ValueError(f"{count} variables have too many orders to try; {MOST_VARIABLES} at most")
    best: dict[frozenset[int], LeftDeep] = {frozenset(): LeftDeep(())}
    costs: dict[frozenset[int], float] = {frozenset(): 0.0}
    for size in range(1, count + 1):
        for members in map(frozenset, combinations(range(count), size)):
            last = min(sorted(members), key=lambda variable: costs[members - {variable}])
            before = members - {last}
            best[members] = LeftDeep((*best[before].order, last))
            costs[members] = costs[before] + estimates.cardinality(best[members].order)
    order = best[frozenset(range(count))].order
    deciding = [_choices(best, order[: place + 1]) for place in range(count)]
    return PlannedOrder(order, costs[frozenset(order)], tuple(deciding))


def _choices(best: dict[frozenset[int], LeftDeep], order: tuple[int, ...]) -> tuple[Choice, ...]:
    """Return what was compared for a set of variables: the best orders that end in each of them."""
    members = frozenset(order)
    rejected = [LeftDeep((*best[members - {last}].order, last)) for last in sorted(members - {order[-1]})]
    return tuple(Choice(LeftDeep(order), other) for other in rejected)
