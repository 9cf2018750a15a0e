"""Skip-till-any-match by definition: every assignment that keeps the order of the components.

The parts of AND may interleave. For patterns without AND the set is the automaton's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.property.event_reference import conditions as c
from tests.property.event_reference.bindings import Bindings, History
from tests.property.event_reference.conditions import Condition, holds
from tests.property.event_reference.placement import (
    Placed,
    applicable,
    bare,
    check_foreign,
    kind_of,
    negated_variable,
    place_negated,
)
from tests.property.event_reference.semantics import (
    Budget,
    Found,
    Gaps,
    Query,
    check_gap,
    judged,
    may_take,
    until_reached,
)
from tests.property.event_reference.stream import Stream
from tests.property.event_reference.variants import PartialOrder, Rounds, Structure, partial_order
from tests.property.reference.errors import StepLimitReached


@dataclass(frozen=True)
class Assignment:
    """The events taken so far, and the loops whose UNTIL came."""

    history: History
    stopped: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Search:
    """A partial order with its conjuncts: on elements of loops, and on whole matches."""

    query: Query
    order: PartialOrder
    placed: tuple[Placed, ...]
    final: tuple[tuple[Condition, Rounds], ...]
    gaps: tuple[Gaps, ...]

    def after(self, index: int) -> list[int]:
        return [other for other, before in enumerate(self.order.before) if index in before]


def compile_order(query: Query, structure: Structure) -> Search:
    variables = query.pattern.variables
    order = partial_order(structure)
    bound = frozenset({leaf.variable for leaf in order.components} | {gap.absence.variable for gap in order.gaps})
    conditions = applicable(query.pattern.conditions, bound)
    positive = [condition for condition in conditions if negated_variable(condition, variables) is None]
    placed, final = tuple(Placed() for _ in order.components), []
    for condition in positive:
        owner = _element_owner(query, condition)
        if owner is None:
            final += [(condition, rounds) for rounds in _rounds(query, order, condition)]
            continue
        check_foreign(condition, owner, variables)
        for index, component in enumerate(order.components):
            if component.variable == owner:
                _check_earlier(query, order, condition, index)
                getattr(placed[index], kind_of(condition, owner, variables)).append(condition)
    gaps = []
    for gap in order.gaps:
        found = Gaps(gap.absence, gap.before, gap.after, tuple(place_negated(conditions, gap.absence, variables)))
        check_gap(query, found)
        _check_inside(order, found)
        gaps.append(found)
    return Search(query, order, placed, tuple(final), tuple(gaps))


def _element_owner(query: Query, condition: Condition) -> str | None:
    """Return the loop whose single elements `condition` reads."""
    for name, form in condition.reads:
        variable = query.pattern.variables[name]
        if form in (c.LATER, c.PREVIOUS, c.BEFORE) or (form == c.EACH and variable.loop):
            return name
    return None


def _check_earlier(query: Query, order: PartialOrder, condition: Condition, index: int) -> None:
    for other, component in enumerate(order.components):
        if component.variable in condition.variables - {order.components[index].variable}:
            same_round = component.rounds <= order.components[index].rounds
            if same_round and other not in order.before[index]:
                raise bare(query.pattern.variables[order.components[index].variable])


def _check_inside(order: PartialOrder, gap: Gaps) -> None:
    """Judge no negation at the edge of a part that may interleave with others."""
    if len(gap.before | gap.after) < len(order.components) and not (gap.before and gap.after):
        raise StepLimitReached
    parallel = set(range(len(order.components))) - gap.before - gap.after
    for index in parallel:
        if order.before[index] >= gap.before or gap.after <= set(_after(order, index)):
            raise StepLimitReached


def _after(order: PartialOrder, index: int) -> list[int]:
    return [other for other, before in enumerate(order.before) if index in before]


def _rounds(query: Query, order: PartialOrder, condition: Condition) -> list[Rounds]:
    """Return the rounds in which a conjunct without elements of loops is to hold."""
    singles = [name for name, form in condition.reads if form == c.EACH and query.pattern.variables[name].groups]
    if not singles:
        return [frozenset()]
    deepest = max(singles, key=lambda name: len(query.pattern.variables[name].groups))
    check_foreign(condition, deepest, query.pattern.variables)
    return [component.rounds for component in order.components if component.variable == deepest]


def assignments(search: Search, stream: Stream, budget: Budget) -> list[Found]:
    """Return all matches."""
    partial: list[Assignment] = []
    complete: list[History] = []
    for position in range(len(stream.rows)):
        following: list[Assignment] = []
        for one in [*partial, Assignment(())]:
            budget.spend()
            if not _alive(search, stream, one, position):
                continue
            kept = _stopped(search, stream, one, position)
            following += [kept] if kept.history else []
            for longer in _extensions(search, stream, kept, position):
                following.append(longer)
                if _is_complete(search, stream, longer.history):
                    complete.append(longer.history)
        partial = following
    found = [judged(search.query, stream, search.order.components, history, search.gaps) for history in complete]
    return [match for match in found if match is not None]


def _alive(search: Search, stream: Stream, one: Assignment, position: int) -> bool:
    window = search.query.within
    return window is None or not one.history or stream.within(window, one.history[0][1], position)


def _count(history: History, index: int) -> int:
    return sum(taken == index for taken, _ in history)


def _stopped(search: Search, stream: Stream, one: Assignment, position: int) -> Assignment:
    reached = {
        index
        for index in range(len(search.order.components))
        if _count(one.history, index) and until_reached(stream, search.order.components, one.history, index, position)
    }
    return Assignment(one.history, one.stopped | reached)


def _extensions(search: Search, stream: Stream, one: Assignment, position: int) -> Iterator[Assignment]:
    for index in range(len(search.order.components)):
        if not _is_open(search, one, index):
            continue
        longer = (*one.history, (index, position))
        if _in_step(search, stream, longer, index) and may_take(
            search.query, stream, search.order.components, search.placed, longer, index
        ):
            yield Assignment(longer, one.stopped)


def _is_open(search: Search, one: Assignment, index: int) -> bool:
    taken, component = _count(one.history, index), search.order.components[index]
    if taken and (index in one.stopped or (component.part.most is not None and taken >= component.part.most)):
        return False
    components = search.order.components
    ready = all(_count(one.history, other) >= components[other].least for other in search.order.before[index])
    return ready and not any(_count(one.history, other) for other in search.after(index))


def _in_step(search: Search, stream: Stream, history: History, index: int) -> bool:
    window = search.order.components[index].part.within
    if window is None:
        return True
    if len(search.order.before[index]) < len(search.order.components) - len(search.after(index)) - 1:
        raise StepLimitReached  # the step before is any of several: the page does not say
    origin = max((at for component, at in history if component in search.order.before[index]), default=None)
    return origin is None or stream.within(window, origin, history[-1][1])


def _is_complete(search: Search, stream: Stream, history: History) -> bool:
    components: Sequence[object] = search.order.components
    if any(_count(history, index) < search.order.components[index].least for index in range(len(components))):
        return False
    return all(
        holds(condition, Bindings(stream.rows, search.order.components, history, rounds))
        for condition, rounds in search.final
    )
