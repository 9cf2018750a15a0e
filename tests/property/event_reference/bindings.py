"""What a run or a match has bound, as conditions read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.property.event_reference import conditions as c
from tests.property.event_reference.conditions import Row
from tests.property.event_reference.variants import Component, Rounds

History: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs (index of a component, position of the event) in the order of taking."""


@dataclass(frozen=True)
class Bindings:
    """The events taken so far.

    Attributes
    ----------
    rounds
        The rounds of the component that reads.
    current
        The variable whose event is under test, and that event; a positive one is in `history` too.
    looked_at
        The event that bare columns read.
    """

    events: Sequence[Row]
    components: Sequence[Component]
    history: History
    rounds: Rounds = frozenset()
    current: tuple[str, int] | None = None
    looked_at: int | None = None

    def bare(self) -> Row | None:
        return None if self.looked_at is None else self.events[self.looked_at]

    def positions(self, variable: str) -> list[int]:
        return [position for index, position in self.history if self.components[index].variable == variable]

    def row(self, variable: str, form: str) -> Row | None:
        position = self._position(variable, form)
        return None if position is None else self.events[position]

    def _position(self, variable: str, form: str) -> int | None:
        if form == c.EACH:
            return self._own(variable)
        found = self.positions(variable)
        place = {c.FIRST: 0, c.LATER: -1, c.PREVIOUS: -2, c.LAST: -1}[form]
        return found[place] if len(found) >= max(-place, 1) else None

    def _own(self, variable: str) -> int | None:
        """Return the event under test, or the variable's event in the reader's round."""
        if self.current is not None and self.current[0] == variable:
            return self.current[1]
        found = [
            position
            for index, position in self.history
            if self.components[index].variable == variable and self.components[index].rounds <= self.rounds
        ]
        return found[-1] if found else None

    def every(self, variable: str, form: str) -> list[Row]:
        found = self.positions(variable)
        if not found and self.current is not None and self.current[0] == variable:
            found = [self.current[1]]
        return [self.events[position] for position in (found[:-1] if form == c.BEFORE else found)]
