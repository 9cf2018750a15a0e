"""The matcher that binds the events of a pattern in any order: the rare and the selective first.

What it finds is what `sparkcep.engine.runs` finds under skip-till-any-match, in the same order and
form. In place of partial matches it keeps the rows that the window still holds, and looks for the
matches that end in new rows; the order in which components are bound is chosen anew for each stretch of
rows by the events in it (the tree NFA of Kolchinsky et al. 2015), and stretches with one order
run as one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparkcep.engine import ordered_kernel as kernel
from sparkcep.engine.bound_program import BoundPattern
from sparkcep.engine.bound_rows import BUCKET, EVALUATIONS, LISTED
from sparkcep.engine.bound_tables import Positions
from sparkcep.engine.events import EventMatches, EventRows
from sparkcep.engine.matches import Int64s
from sparkcep.engine.ordered_program import OrderedProgram, chain
from sparkcep.engine.slots import Codes
from sparkcep.engine.tally import EngineWork
from sparkcep.engine.window_search import WindowMatcher, WindowSearch


@dataclass(slots=True)
class OrderedCounters:
    """What has been done so far.

    Attributes
    ----------
    evaluations
        Events that were tested against those bound before them.
    partial_matches
        Per order of the pattern, by number of bound events: int64[components].
    kept_events
        The most rows that were kept from one push to the next.
    """

    evaluations: int = 0
    partial_matches: list[Int64s] = field(default_factory=list)
    kept_events: int = 0


class OrderedMatcher(WindowMatcher[OrderedProgram]):
    """Matches one event pattern over groups of events.

    Parameters
    ----------
    program
        The compiled pattern.

    Attributes
    ----------
    counters
        What has been done so far.
    """

    def __init__(self, program: OrderedProgram) -> None:
        super().__init__(program)
        self.counters = OrderedCounters(partial_matches=[np.zeros(p.size, np.int64) for p in program.patterns])

    @property
    def work(self) -> EngineWork:
        """What has been done so far; partial matches are not kept."""
        return EngineWork(self.counters.evaluations)

    def searched(self, parts: list[EventRows], old: int, codes: Codes) -> EventMatches:
        """Return the matches that end behind the first `old` rows of all parts."""
        search = _Search(self, parts, old, codes)
        found = search.matches()
        self.counters.evaluations += int(search.control[EVALUATIONS])
        self.counters.kept_events = self.kept_events
        for number, partial_matches in enumerate(search.partial_matches):
            self.counters.partial_matches[number] += partial_matches
        return found


class _Search(WindowSearch[OrderedProgram, tuple[int, ...]]):
    """One search: the rows at hand, and what comes out."""

    def __init__(self, matcher: OrderedMatcher, parts: list[EventRows], old: int, codes: Codes) -> None:
        super().__init__(matcher, parts, old, codes)
        self.control = np.zeros(kernel.CONTROL_SIZE, np.int64)
        self.partial_matches = [np.zeros(pattern.size, np.int64) for pattern in self.program.patterns]

    @property
    def listed(self) -> int:
        return int(self.control[LISTED])

    def chosen(self, number: int, counts: list[int], first: int, last: int) -> tuple[int, ...]:
        components = counts[: self.program.patterns[number].size]
        return tuple(self.program.choosers[number](tuple(map(float, components))))

    def find(self, pattern: BoundPattern, chosen: tuple[int, ...], positions: Positions, first: int, last: int) -> None:
        for end in pattern.ends:
            steps, bound = chain(pattern, chosen, end), kernel.new_bound(pattern.size)
            ends = np.array([first, last], np.int64)
            self.control[BUCKET], self.control[kernel.STEP] = 0, -1
            prefixes = self.partial_matches[pattern.number]
            while (
                kernel.find(
                    steps, self.given, positions, bound, ends, self.matcher.lists, self.listing, self.counts,
                    prefixes, self.control,
                )
                == kernel.FULL
            ):  # fmt: skip
                self.grow_listing()
