"""What the simulations share: types, keys, the tests on taking an event, and negation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.property.event_reference.bindings import Bindings, History
from tests.property.event_reference.conditions import Condition, holds
from tests.property.event_reference.placement import Placed
from tests.property.event_reference.stream import Stream, column
from tests.property.event_reference.tree import EventPattern, Window
from tests.property.event_reference.variants import Absence, Component
from tests.property.reference.errors import ReferenceError_, StepLimitReached

ANY_TYPE = "_"


@dataclass(frozen=True)
class Query:
    """One call: the pattern and its arguments."""

    pattern: EventPattern
    strategy: str
    within: Window | None
    types: Mapping[str, Condition]
    type_column: str
    strict_time: bool = False
    limit: int = 200_000


@dataclass
class Budget:
    """Counts runs; brute force ends where they are too many."""

    left: int

    def spend(self, amount: int = 1) -> None:
        self.left -= amount
        if self.left < 0:
            raise StepLimitReached


@dataclass(frozen=True)
class Found:
    """A complete match.

    Attributes
    ----------
    completed
        Position of the event that completed the positive part.
    decided
        The time when the match was decided, None if never within the data.
    timed
        Whether a closing window and not an event decided it.
    """

    bindings: tuple[tuple[str, tuple[int, ...]], ...]
    completed: int
    decided: Any
    timed: bool = False


@dataclass(frozen=True)
class Expired:
    """A partial match whose window closed."""

    bindings: tuple[tuple[str, tuple[int, ...]], ...]
    waiting_for: str
    deadline: Any


def is_of_type(query: Query, name: str, stream: Stream, position: int) -> bool:
    if name in query.types:
        return holds(query.types[name], Bindings(stream.rows, (), (), looked_at=position))
    return name == ANY_TYPE or column(stream.rows[position], query.type_column) == name


def may_take(
    query: Query, stream: Stream, sequence: Sequence[Component], placed: Sequence[Placed], history: History, index: int
) -> bool:
    """Tell whether the last event of `history` satisfies the begin or take condition of component `index`."""
    component, position = sequence[index], history[-1][1]
    if not is_of_type(query, component.part.type, stream, position):
        return False
    first = history[0][1]
    if query.pattern.keys and (stream.classes[position] is None or stream.classes[position] != stream.classes[first]):
        return False
    if len(history) > 1 and query.strict_time and not stream.times[history[-2][1]] < stream.times[position]:
        return False
    bindings = Bindings(stream.rows, sequence, history, component.rounds, (component.variable, position))
    is_first = len(bindings.positions(component.variable)) == 1
    due = placed[index].each + (placed[index].first if is_first else placed[index].later)
    return all(holds(condition, bindings) for condition in due)


def may_leave(
    stream: Stream, sequence: Sequence[Component], placed: Sequence[Placed], history: History, index: int
) -> bool:
    """Tell whether the loop `index` is long enough and its conditions on the last and on all elements hold."""
    component = sequence[index]
    if sum(taken == index for taken, _ in history) < component.least:
        return False
    bindings = Bindings(stream.rows, sequence, history, component.rounds)
    return all(holds(condition, bindings) for condition in placed[index].closing)


def until_reached(stream: Stream, sequence: Sequence[Component], history: History, index: int, position: int) -> bool:
    until = sequence[index].part.until
    if until is None:
        return False
    return holds(until, Bindings(stream.rows, sequence, history, sequence[index].rounds, None, position))


def assignment(sequence: Sequence[Component], history: History) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the positions per variable, variables sorted: equal assignments are equal."""
    found: dict[str, list[int]] = {}
    for index, position in history:
        found.setdefault(sequence[index].variable, []).append(position)
    return tuple((name, tuple(found[name])) for name in sorted(found))


# ---------------------------------------------------------------------------------------------
# Negation


@dataclass(frozen=True)
class Gaps:
    """A negation, the components right before and right after it, and its conjuncts."""

    absence: Absence
    before: frozenset[int]
    after: frozenset[int]
    conditions: tuple[Condition, ...]


def check_gap(query: Query, gap: Gaps) -> None:
    if gap.before and gap.after:
        return
    if query.within is None and gap.absence.negation.within is None:
        name = gap.absence.negation.variable
        raise ReferenceError_(f"~{name} stands at the end of its sequence and needs a window: add WITHIN")


def witnesses(query: Query, stream: Stream, sequence: Sequence[Component], history: History, gap: Gaps) -> list[int]:
    """Return the events of the gap that forbid the match."""
    return [
        position
        for position in range(len(stream.rows))
        if _in_gap(query, stream, history, gap, position)
        and is_of_type(query, gap.absence.negation.type, stream, position)
        and (not query.pattern.keys or stream.classes[position] == stream.classes[history[0][1]])
        and all(holds(condition, _negated(stream, sequence, history, gap, position)) for condition in gap.conditions)
    ]


def _negated(stream: Stream, sequence: Sequence[Component], history: History, gap: Gaps, position: int) -> Bindings:
    current = (gap.absence.variable, position)
    return Bindings(stream.rows, sequence, history, gap.absence.rounds, current)


def _in_gap(query: Query, stream: Stream, history: History, gap: Gaps, position: int) -> bool:
    own, first, last = gap.absence.negation.within, history[0][1], history[-1][1]
    previous = max((at for index, at in history if index in gap.before), default=None)
    following = min((at for index, at in history if index in gap.after), default=None)
    if previous is None:
        origin = first if own is not None else last
        window = own or query.within
        assert window is not None
        return position < first and stream.within(window, position, origin)
    if position <= previous or (following is not None and position >= following):
        return False
    if own is not None:
        return stream.within(own, previous, position)
    if following is not None:
        return True
    assert query.within is not None
    return position > last and stream.within(query.within, first, position)


def judged(
    query: Query, stream: Stream, sequence: Sequence[Component], history: History, gaps: Sequence[Gaps]
) -> Found | None:
    """Return the match that `history` is, unless a negation forbids it."""
    if any(witnesses(query, stream, sequence, history, gap) for gap in gaps):
        return None
    completed = history[-1][1]
    found = Found(assignment(sequence, history), completed, stream.times[completed])
    deadlines = [_decided(query, stream, history, gap) for gap in gaps if not gap.after]
    if not deadlines:
        return found
    latest = None if None in deadlines else max(deadlines)
    return Found(found.bindings, completed, latest, timed=True)


def _decided(query: Query, stream: Stream, history: History, gap: Gaps) -> Any:
    own = gap.absence.negation.within
    if own is not None:
        return stream.deadline(own, max(at for index, at in history if index in gap.before))
    assert query.within is not None
    return stream.deadline(query.within, history[0][1])
