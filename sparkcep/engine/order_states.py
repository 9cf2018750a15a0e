"""States and edges of the orders of an event pattern.

In a sequential order a state is the component that took the last event. Where parts of AND
interleave it is the set of components that have taken one: such parts need no states of a kind of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkcep.errors import PlanError

if TYPE_CHECKING:
    from sparkcep.logical.event_bound import EventGap, EventOrder

MAX_STATES = 4096
MAX_COMPONENTS = 62
MOST_PAIRS = 50_000


@dataclass(frozen=True, slots=True)
class OrderEdge:
    """An edge out of a state of one order.

    Attributes
    ----------
    component, takes, target
        Local component, whether it takes a later event of a loop, the local components behind it.
    leaves
        Components, as bits of `Components.local`, that are left.
    gaps
        Quick negations that end before it.
    """

    component: int
    takes: bool
    target: frozenset[int]
    leaves: int
    gaps: tuple[int, ...]


def states_of(order: EventOrder) -> list[frozenset[int]]:
    """Return the states of an order.

    Raises
    ------
    PlanError
        PATTERN_TOO_LARGE: parts that interleave have more components than the engine has room for.
    """
    if order.is_sequential:
        return [frozenset({k}) for k in range(len(order.components))]
    if len(order.components) > MAX_COMPONENTS:
        raise too_large(f"{len(order.components)} components, more than {MAX_COMPONENTS}")
    found: dict[frozenset[int], None] = {}
    pending = [frozenset[int]()]
    while pending and len(found) <= MAX_STATES:
        state = pending.pop(0)
        for k in _open(order, state):
            target = state | {k}
            if target not in found:
                found[target] = None
                pending.append(target)
    return sorted(found, key=lambda state: (len(state), sorted(state)))


def edges_of(order: EventOrder, state: frozenset[int], quick: Mapping[int, EventGap]) -> list[OrderEdge]:
    """Return the edges out of a state, the empty one at the start.

    Parameters
    ----------
    quick
        The order's negations that the place of their neighbours decides, by number.
    """
    if order.is_sequential:
        return list(_edges_in_sequence(order, state, quick))
    loops = [k for k in waiting(order, state) if order.components[k].is_loop]
    found = [OrderEdge(k, True, state, 0, ()) for k in sorted(loops)]
    for k in _open(order, state):
        left = order.before[k] & waiting(order, state)
        gaps = tuple(g for g, gap in quick.items() if k in gap.after and not gap.after & state)
        found.append(OrderEdge(k, False, state | {k}, mask(left), gaps))
    return found


def _edges_in_sequence(order: EventOrder, state: frozenset[int], quick: Mapping[int, EventGap]) -> Iterator[OrderEdge]:
    if not state:
        for k in sorted(order.first):
            yield OrderEdge(k, False, frozenset({k}), 0, ())
        return
    (current,) = state
    if order.components[current].is_loop:
        yield OrderEdge(current, True, state, 0, ())
    for k in sorted(order.after(current)):
        gaps = tuple(g for g, gap in quick.items() if current in gap.before and k in gap.after)
        yield OrderEdge(k, False, frozenset({k}), 1, gaps)


def waiting(order: EventOrder, state: frozenset[int]) -> frozenset[int]:
    """Return the components of a state, parts that may interleave, that nothing has come behind."""
    return frozenset(k for k in state if not any(k in order.before[other] for other in state))


def ends_in(order: EventOrder, state: frozenset[int]) -> int:
    """Return the components, as bits of `Components.local`, that a match ends in; −1: it does not end in this state."""
    if order.is_sequential:
        (current,) = state
        return -1 if order.after(current) else 1
    count = len(order.components)
    sinks = {k for k in range(count) if not any(k in before for before in order.before)}
    return mask(sinks) if len(state) == count else -1


def _open(order: EventOrder, state: frozenset[int]) -> list[int]:
    """Return the components that may take their first event."""
    return [k for k in range(len(order.components)) if k not in state and order.before[k] <= state]


def may_repeat(orders: Sequence[EventOrder]) -> bool:
    """Whether two runs may bind the same variables to the same events.

    Two walks over all orders at once, side by side, that take events for the same variables.
    """
    if any(_repeats_a_loop(order) for order in orders if not order.is_sequential):
        return True
    sequences = [order for order in orders if order.is_sequential]
    starts = [(o, k) for o, order in enumerate(sequences) for k in order.first]
    pending = [(one, other, one != other) for one, other in _alike(sequences, starts, starts)]
    seen = set(pending)
    while pending:
        one, other, differ = pending.pop()
        if differ and not any(sequences[o].after(k) for o, k in (one, other)):
            return True
        targets = (_targets(sequences, one), _targets(sequences, other))
        for pair in _alike(sequences, *targets):
            found = (*pair, differ or pair[0] != pair[1])
            if found not in seen:
                seen.add(found)
                pending.append(found)
        if len(seen) > MOST_PAIRS:
            return True
    return False


_Spot = tuple[int, int]


def _targets(orders: Sequence[EventOrder], spot: _Spot) -> list[_Spot]:
    """Return what may take the next event."""
    o, k = spot
    own = [spot] if orders[o].components[k].is_loop else []
    return own + [(o, target) for target in orders[o].after(k)]


def _alike(
    orders: Sequence[EventOrder], some: Iterable[_Spot], others: Iterable[_Spot]
) -> Iterator[tuple[_Spot, _Spot]]:
    """Yield the pairs of one variable, each once."""
    by_variable: dict[int, list[_Spot]] = {}
    for o, k in others:
        by_variable.setdefault(orders[o].components[k].variable, []).append((o, k))
    for o, k in some:
        for other in by_variable.get(orders[o].components[k].variable, ()):
            yield ((o, k), other) if (o, k) <= other else (other, (o, k))


def _repeats_a_loop(order: EventOrder) -> bool:
    variables = [component.variable for component in order.components]
    return any(c.is_loop and variables.count(c.variable) > 1 for c in order.components)


def mask(members: Iterable[int]) -> int:
    """Return a set as bits."""
    return sum(1 << member for member in members)


def too_large(what: str) -> PlanError:
    """Return the error for a pattern that the engine has no room for."""
    return PlanError(
        "PATTERN_TOO_LARGE",
        f"the pattern has {what}",
        clause="PATTERN",
        hint="fewer parts in AND, fewer optional parts, or smaller {n,m} of groups",
    )
