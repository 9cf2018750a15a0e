"""The matcher that joins partial matches by a tree over the components of a pattern (ZStream, Mei and Madden 2009).

What it finds is what `sparkcep.engine.runs` finds under skip-till-any-match, in the same order and
form. From one push to the next it keeps rows, as `sparkcep.engine.ordered` does, and joins anew what
the window still holds; during a search it stores the partial matches of those nodes that later events ask
for, and lets them go with the window. The tree is chosen anew for each stretch of rows by the events in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparkcep.engine import tree_kernel as kernel
from sparkcep.engine.bound_program import BoundPattern
from sparkcep.engine.bound_rows import BUCKET, EVALUATIONS, LISTED
from sparkcep.engine.bound_tables import Positions
from sparkcep.engine.event_tables import EVENTS, FLOAT, NO_WINDOW
from sparkcep.engine.events import BudgetExceeded, EventMatches, EventRows
from sparkcep.engine.slots import Codes
from sparkcep.engine.tally import EngineWork
from sparkcep.engine.tree_program import JoinPlan, Shape, TreeProgram, join_plan
from sparkcep.engine.tree_stores import Stores, grown, new_stores
from sparkcep.engine.tree_tables import new_joining
from sparkcep.engine.window_search import WindowMatcher, WindowSearch, distinct


@dataclass(slots=True)
class TreeCounters:
    """What has been done so far.

    Attributes
    ----------
    evaluations
        Candidates that were tested against a partial match.
    partial_matches
        Per order of the pattern, by the components of an inner node of a tree that was used.
    stored
        The most partial matches that were stored at a time, dead ones among them.
    kept_events
        The most rows that were kept from one push to the next.
    """

    evaluations: int = 0
    partial_matches: list[dict[frozenset[int], int]] = field(default_factory=list)
    stored: int = 0
    kept_events: int = 0


class TreeMatcher(WindowMatcher[TreeProgram]):
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

    def __init__(self, program: TreeProgram) -> None:
        super().__init__(program)
        self.counters = TreeCounters(partial_matches=[{} for _ in program.patterns])

    @property
    def work(self) -> EngineWork:
        """What has been done so far."""
        return EngineWork(self.counters.evaluations, self.counters.stored)

    def searched(self, parts: list[EventRows], old: int, codes: Codes) -> EventMatches:
        """Return the matches that end behind the first `old` rows of all parts.

        Raises
        ------
        BudgetExceeded
            More partial matches must be stored than the search allows.
        """
        search = _Search(self, parts, old, codes)
        found = search.matches()
        self.counters.evaluations += int(search.control[EVALUATIONS])
        self.counters.kept_events = self.kept_events
        return found


class _Search(WindowSearch[TreeProgram, Shape]):
    """One search: the rows at hand, and what comes out."""

    def __init__(self, matcher: TreeMatcher, parts: list[EventRows], old: int, codes: Codes) -> None:
        super().__init__(matcher, parts, old, codes)
        self.counters = matcher.counters
        self.control = np.zeros(kernel.CONTROL_SIZE, np.int64)

    @property
    def listed(self) -> int:
        return int(self.control[LISTED])

    def chosen(self, number: int, counts: list[int], first: int, last: int) -> Shape:
        share = self._share_of_window(first, last)
        rates = [count * share for count in counts]
        size = self.program.patterns[number].size
        return self.program.choosers[number](rates[:size], rates[size:])

    def _share_of_window(self, first: int, last: int) -> float:
        """Return which share of the rows ``first:last`` one class of one group sees in a window, on average."""
        window, stream = self.given.window, self.given.stream
        buckets = max(len(distinct(np.sort(self.keys[first:last]))), 1)
        share = 1.0
        if window.kind == EVENTS:
            share = (window.whole + 1) * buckets / (last - first)
        elif window.kind != NO_WINDOW:
            times, length = (
                (stream.fraction, window.fraction) if window.kind == FLOAT else (stream.whole, float(window.whole))
            )
            span = abs(float(times[last - 1]) - float(times[first]))
            # An unknown span, of NaN or of several groups, counts as one window.
            share = length / span if span > length else 1.0
        return max(min(share, 1.0), 0.0) / buckets

    def find(self, pattern: BoundPattern, chosen: Shape, positions: Positions, first: int, last: int) -> None:
        plan = join_plan(pattern, chosen)
        stores, joining = new_stores(plan.store_sizes, plan.store_keys), new_joining(pattern.size, len(pattern.loops))
        ends, made = np.array([first, last], np.int64), np.zeros(len(plan.nodes), np.int64)
        control, budget = self.control, self.program.search.max_partial_matches
        control[BUCKET], control[kernel.LEVEL], control[kernel.STORED] = 0, -2, 0
        control[kernel.CHECK_AT] = budget
        control[kernel.LONGEST] = 0
        while True:
            status = kernel.join(
                plan.tree, self.given, positions, stores, joining, ends, self.matcher.lists, self.listing, self.counts,
                made, control,
            )  # fmt: skip
            if status == kernel.DONE:
                break
            if status == kernel.FULL:
                self.grow_listing()
            elif status == kernel.CROWDED_STORE:
                stores = grown(stores, int(control[kernel.CROWDED]))
            else:
                control[kernel.CHECK_AT] = self._checked(plan, stores, pattern, budget)
            self.counters.stored = max(self.counters.stored, int(control[kernel.STORED]))
        counted = self.counters.partial_matches[pattern.number]
        for node, count in zip(plan.nodes[pattern.size :], made[pattern.size :].tolist(), strict=True):
            counted[node] = counted.get(node, 0) + count

    def _checked(self, plan: JoinPlan, stores: Stores, pattern: BoundPattern, budget: int) -> int:
        """Return how many partial matches may be stored before those alive must be counted again."""
        row = int(self.control[kernel.ROW])
        living = int(kernel.alive(stores, self.given.stream, self.given.window, row))
        if living > budget:
            crowded = plan.nodes[plan.store_nodes[int(self.control[kernel.CROWDED])]]
            variable = self.program.base.tables.components.variable[pattern.first + max(crowded)]
            raise BudgetExceeded(self.results.base + row, living, int(variable))
        return int(self.control[kernel.STORED]) + max(budget - living, budget // 8)
