"""A uniform sample of the matches of one group, drawn while they go by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.closed_graph import ClosedGraph
from sparkcep.engine.events import EventMatches
from sparkcep.engine.match_choice import Draw, match_at
from sparkcep.engine.matches import Bools, Float64s, Int32s, Int64s


class _Drawn(NamedTuple):
    """A match that was drawn: its turn, its events and what took them, how it was decided."""

    turn: int
    position: Int64s
    variable: Int32s
    time: Int64s | Float64s | None
    timed: Bools
    never: Bools

    def rank(self) -> tuple[int, int, int, list[list[int]]]:
        """Return what comes first: decision, earliest start, fewest events, positions in variable order."""
        listed = [self.position[self.variable == v].tolist() for v in range(int(self.variable.max()) + 1)]
        return self.turn, int(self.position[0]), len(self.position), listed


class Sample:
    """So many matches of all, or a share of them.

    Parameters
    ----------
    size
        How many (int), or the chance of each (float).
    seed
        Of the random numbers: the same for every group, so that a task that is run again draws the same.
    """

    def __init__(self, size: int | float, seed: int) -> None:
        self._draw = Draw(size, seed)
        self._slots: dict[int, _Drawn] = {}
        self._turn = 0

    @property
    def drawn(self) -> bool:
        """Whether there is a match in it."""
        return bool(self._slots)

    def draw_from(self, graph: ClosedGraph, base: int, variables: Int32s) -> None:
        """Let the matches of a graph go by; only those that are drawn are made.

        Parameters
        ----------
        base
            Number of the event at row 0.
        variables : int32[components]
            What takes the events of each component.
        """
        counts = graph.counts()
        decided = np.zeros(1, np.bool_)
        for slot, place in self._draw.take(sum(counts[root] for root in graph.roots.tolist())):
            way = np.array(match_at(graph, counts, place), np.int64)
            taken = variables[graph.components[way]]
            self._slots[slot] = _Drawn(self._turn, graph.rows[way] + base, taken, None, decided, decided)
        self._turn += 1

    def draw_listed(self, matches: EventMatches) -> None:
        """Let listed matches go by."""
        for slot, place in self._draw.take(matches.count):
            events = slice(matches.offsets[place], matches.offsets[place + 1])
            one = slice(place, place + 1)
            self._slots[slot] = _Drawn(
                self._turn + place,
                matches.position[events],
                matches.variable[events],
                None if matches.time is None else matches.time[one],
                matches.timed[one],
                matches.never[one],
            )
        self._turn += matches.count

    def positions(self) -> Int64s:
        """Return the events of all matches in it."""
        return np.concatenate([np.empty(0, np.int64), *(drawn.position for drawn in self._slots.values())])

    def matches(self) -> EventMatches:
        """Return the matches, numbered in their order; there is one at least."""
        drawn = sorted(self._slots.values(), key=_Drawn.rank)
        times = [one.time for one in drawn if one.time is not None]
        return EventMatches(
            offsets=np.cumsum([0, *(len(one.position) for one in drawn)]).astype(np.int64),
            position=np.concatenate([one.position for one in drawn]),
            variable=np.concatenate([one.variable for one in drawn]),
            number=np.arange(1, len(drawn) + 1),
            time=np.concatenate(times) if times else None,  # type: ignore[arg-type]
            timed=np.concatenate([one.timed for one in drawn]),
            never=np.concatenate([one.never for one in drawn]),
        )
