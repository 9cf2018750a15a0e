"""From completions to results: matches are listed, judged, ordered, chosen, numbered; or counted, drawn, cut out.

What is kept between pushes is what the open group still needs: its numbers, the matches that wait
for a window to close, the draw of a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparkcep.engine import run_lists as lists
from sparkcep.engine.absence import BY_WINDOW, DROPPED, NEVER, UNDECIDED, Moments, judge
from sparkcep.engine.closed_graph import ClosedGraph, GraphCutter
from sparkcep.engine.decisions import decided, is_past, rank
from sparkcep.engine.events import (
    ALL,
    COUNT,
    GRAPH,
    NON_OVERLAPPING,
    ONE_PER_START,
    EventGraph,
    EventMatches,
    EventSearch,
)
from sparkcep.engine.found_matches import Found, as_found, by_event, found_in, graph_of, moved, selected, together
from sparkcep.engine.match_choice import first_matches
from sparkcep.engine.match_graph import ALL_ONES
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.match_order import in_order, in_order_once
from sparkcep.engine.matches import Int64s, UInt64s
from sparkcep.engine.non_overlapping import UNLIMITED, completions_by_event, first_of_events
from sparkcep.engine.run_edges import Input
from sparkcep.engine.run_pools import RunPools
from sparkcep.engine.sampling import Sample
from sparkcep.engine.time_outs import deadlines

# As many matches of one event are listed and sorted before a limit picks the first ones of them.
MOST_SORTED = 65_536
LONG_AGO = -(2**62)


@dataclass(slots=True)
class _Group:
    """What is kept of the open group besides its runs.

    Attributes
    ----------
    number
        match_number of its next match.
    count
        Its matches so far, with COUNT.
    ends
        Per class the row of the last event of the last match that was kept, for NON_OVERLAPPING with negations
        that must be judged.
    started
        First events that have a match, for ONE_PER_START.
    sample
        What is drawn of its matches.
    """

    number: int = 1
    count: int = 0
    ends: dict[int, int] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    sample: Sample | None = None


class MatchResults:
    """Turns what runs complete into results, one push after the other.

    Parameters
    ----------
    pools
        The match graph and its completions.
    """

    def __init__(self, pools: RunPools) -> None:
        self.pools, self.program = pools, pools.program
        gaps = self.program.tables.gaps
        self.judges = bool((~gaps.quick).any())
        self.waits = self.judges and bool(gaps.trails[~gaps.quick].any())
        self.tells = self.waits or self.program.search.timeouts
        self.timed_out: set[tuple[int, bytes, bytes]] = set()
        self.held: Found | None = None
        self.group = self._new_group()
        # Per class the row of the last event of the last match that was picked, in whatever group.
        self.ends: Int64s = np.empty(0, np.int64)
        self.base = 0

    def _new_group(self) -> _Group:
        search = self.program.search
        return _Group(sample=None if search.sample is None else Sample(search.sample, search.seed))

    def begin(self, given: Input, borders: Int64s) -> None:
        """Look at the rows of a push, whose groups start at `borders`."""
        self.given, self.stream, self.borders = given, given.stream, borders
        self.entered = 0
        self.parts: list[EventMatches] = []

    # -- from completions to matches ---------------------------------------------------------------

    def drain(self) -> None:
        """Take what was completed, before the graph changes."""
        control, search = self.pools.control, self.program.search
        self.pools.take_expired(self.stream)
        self.time_out()
        count = int(control[lists.COMPLETIONS])
        if count == 0:
            return
        listed = self.judges or self.program.may_repeat
        if search.output == COUNT and not listed:
            self._count(count)
        elif search.output == GRAPH and not listed:
            self._cut(count)
        elif search.output == NON_OVERLAPPING and not self.judges:
            self._pick(count)
        elif search.output == ALL and not listed and (search.limit is not None or search.sample is not None):
            self._choose(count)
        else:
            for listing, matches in self.pools.listings(count, self.stream):
                self.put(listing, matches)
        control[lists.COMPLETIONS] = 0

    def _count(self, count: int) -> None:
        """Add up counts of the graph, a group at a time."""
        rows = self.pools.pools.completions[0, :count].copy()
        low, high = self.pools.counted(count, self.stream)
        uncounted = np.flatnonzero((low == ALL_ONES) & (high == ALL_ONES))
        if len(uncounted):
            raise OverflowError(self.base + int(rows[uncounted[0]]))
        for first, last in self._by_group(rows):
            self.enter_group(int(rows[first]))
            self.group.count += (_exact_sum(high[first:last]) << 64) + _exact_sum(low[first:last])

    def _pick(self, count: int) -> None:
        """Output the first match of each event that starts behind the last output one of its class."""
        search, variable = self.program.search, self.program.tables.components.variable
        classes = int(self.pools.pools.completions[3, :count].max()) + 1
        self.ends = np.concatenate([self.ends, np.full(max(classes - len(self.ends), 0), LONG_AGO)])
        listing = first_of_events(
            self.pools, self.stream, count, self.borders, self.ends, (self.entered, self.group.number),
            UNLIMITED if search.limit is None else search.limit,
        )  # fmt: skip
        found = by_event(listing, len(listing.completed))
        if found.matches == 0:
            return
        order = in_order(found, found.completed, variable[found.components], int(variable.max()) + 1)
        firsts = order[np.flatnonzero(np.diff(found.completed[order], prepend=-1))]
        found = selected(found, firsts)
        self.parts.append(self._numbered(found, self._numbers_in_turn(found)))

    def _cutter(self) -> GraphCutter:
        pools = self.pools
        return GraphCutter(pools.pools.nodes, pools.live_nodes, self.stream, self.program.tables.window)

    def _cut(self, count: int) -> None:
        """Output the matches of each event as a graph."""
        cutter, completions = self._cutter(), self.pools.pools.completions
        low, high = self.pools.counted(count, self.stream)
        for row, _, ended in completions_by_event(completions[:, :count]):
            self.enter_group(row)
            total = sum(self._exactly(low[i], high[i], row) for i in ended)
            self._put_graph(cutter.cut(row, completions[1, ended.start : ended.stop]), row, total)

    def _exactly(self, low: np.uint64, high: np.uint64, row: int) -> int:
        """Return a count of two words; raise OverflowError where it did not fit."""
        if low == ALL_ONES and high == ALL_ONES:
            raise OverflowError(self.base + row)
        return (int(high) << 64) + int(low)

    def _put_graph(self, graph: ClosedGraph, row: int, total: int) -> None:
        variables = self.program.tables.components.variable
        is_union = graph.rows < 0
        shown = graph._replace(
            rows=np.where(is_union, -1, graph.rows + self.base),
            components=np.where(is_union, -1, variables[graph.components]).astype(np.int32),
        )
        self.parts.append(EventMatches(graphs=[EventGraph(self.base + row, total, shown)]))

    def _choose(self, count: int) -> None:
        """Output the first matches of each event, or draw from them, without listing all."""
        cutter, completions, search = self._cutter(), self.pools.pools.completions, self.program.search
        for row, class_of, ended in completions_by_event(completions[:, :count]):
            self.enter_group(row)
            group = self.group
            if search.limit is not None and group.number > search.limit:
                continue
            graph = cutter.cut(row, completions[1, ended.start : ended.stop])
            if group.sample is not None:
                group.sample.draw_from(graph, self.base, self.program.tables.components.variable)
                continue
            assert search.limit is not None
            if graph.total() > MOST_SORTED:
                chosen = found_in(graph, first_matches(graph, search.limit - group.number + 1), row, class_of)
            else:
                chosen = found_in(graph, None, row, class_of)
            self._output(chosen)

    def put(self, listing: Listing, count: int) -> None:
        """Judge the first `count` matches of a listing, and put out those that stand, or hold them back."""
        verdicts, timed, moments = self._verdicts(listing, count)
        found = selected(as_found(listing, count, timed, moments), np.flatnonzero(verdicts != DROPPED))
        if not self.waits:
            self._output(found)
        else:
            self.held = found if self.held is None else together(self.held, found)

    def release(self) -> None:
        """Put out the held matches that are decided and that nothing can come before."""
        held = self.held
        if held is None or held.matches == 0:
            return
        listing = Listing(held.offsets, held.rows, held.components, held.completed, held.order, held.class_of)
        verdicts, timed, moments = self._verdicts(listing, held.matches)
        alive = np.flatnonzero(verdicts != DROPPED)
        held = selected(held._replace(timed=timed, moments=moments), alive)
        ready = (verdicts[alive] != UNDECIDED) & is_past(held, self.stream)
        self._output(selected(held, np.flatnonzero(ready)))
        self.held = selected(held, np.flatnonzero(~ready))

    def _verdicts(self, listing: Listing, count: int) -> tuple[Int64s, Int64s, Moments]:
        """Judge negations on listed matches."""
        verdicts, timed = np.ones(count, np.int64), np.zeros(count, np.int64)
        moments = Moments(np.zeros(count, np.int64), np.zeros(count, np.float64))
        if self.judges:
            judge(
                self.program.tables, self.given, self.pools.pools.vectors, self.pools.initial_nulls, listing, count,
                verdicts, timed, moments,
            )  # fmt: skip
        return verdicts, timed, moments

    def time_out(self) -> None:
        """Put out the partial matches that expired, each once however many orders they are part of."""
        for listing in self.pools.expired:
            count = len(listing.completed)
            timed, last = np.empty(count, np.int64), listing.rows[listing.offsets[1:] - 1]
            moments = Moments(np.zeros(count, np.int64), np.zeros(count, np.float64))
            firsts, variable = listing.rows[listing.offsets[:-1]], self.program.tables.components.variable
            deadlines(
                self.program.tables, self.stream, firsts, listing.order, listing.class_of, timed, moments.whole,
                moments.fraction,
            )  # fmt: skip
            found = Found(*listing, timed, moments)._replace(completed=last)
            new = np.array([i for i in range(count) if self._is_new(found, i)], np.int64)
            found = selected(found, new)
            if found.matches:
                late = self._numbered(found, np.zeros(found.matches, np.int64))
                late.waiting = variable[found.order]
                self.parts.append(late)
        self.pools.expired = []

    def _is_new(self, found: Found, match: int) -> bool:
        """Tell whether a partial match has not been put out, and remember it."""
        events = slice(found.offsets[match], found.offsets[match + 1])
        variable = self.program.tables.components.variable
        key = (
            int(variable[found.order[match]]),
            (found.rows[events] + self.base).tobytes(),
            variable[found.components[events]].tobytes(),
        )
        size = len(self.timed_out)
        self.timed_out.add(key)
        return len(self.timed_out) > size

    # -- from matches to results -------------------------------------------------------------------

    def _output(self, found: Found) -> None:
        """Order, select and number matches."""
        if found.matches == 0:
            return
        search, variable = self.program.search, self.program.tables.components.variable
        ranks = rank(found, self.stream, self.borders) if self.waits else found.completed
        order = in_order_once(found, ranks, variable[found.components], int(variable.max()) + 1)
        found = selected(found, order)
        if search.output == GRAPH:
            self._put_graphs(found)
        elif search.sample is not None:
            self._draw(found)
        else:
            numbers = self._numbers(found)
            chosen = np.flatnonzero(numbers > 0)
            if len(chosen):
                self.parts.append(self._numbered(selected(found, chosen), numbers[chosen]))

    def _numbered(self, found: Found, numbers: Int64s) -> EventMatches:
        return EventMatches(
            offsets=found.offsets,
            position=found.rows + self.base,
            variable=self.program.tables.components.variable[found.components],
            number=numbers,
            time=decided(found, self.stream) if self.tells else None,
            timed=found.timed == BY_WINDOW,
            never=found.timed == NEVER,
        )

    def _put_graphs(self, found: Found) -> None:
        """Output listed matches as graphs, one for each event that completes some."""
        borders = np.flatnonzero(np.diff(found.completed)) + 1
        for first, last in zip([0, *borders], [*borders, found.matches], strict=True):
            row = int(found.completed[first])
            self.enter_group(row)
            self._put_graph(graph_of(selected(found, np.arange(first, last))), row, int(last - first))

    def _draw(self, found: Found) -> None:
        """Draw from listed matches, a group at a time."""
        for first, last in self._by_group(found.completed):
            self.enter_group(int(found.completed[first]))
            assert self.group.sample is not None
            part = selected(found, np.arange(first, last))
            self.group.sample.draw_listed(self._numbered(part, np.zeros(part.matches, np.int64)))

    def _by_group(self, rows: Int64s) -> list[tuple[int, int]]:
        """Return the stretches of rows that lie in one group each."""
        groups = np.searchsorted(self.borders, rows, side="right")
        borders = (np.flatnonzero(np.diff(groups)) + 1).tolist()
        return list(zip([0, *borders], [*borders, len(rows)], strict=True))

    def _numbers(self, found: Found) -> Int64s:
        """Return match_number, 0 for what is not chosen."""
        search = self.program.search
        if search.output == ALL:
            return self._numbers_in_turn(found)
        numbers = np.zeros(found.matches, np.int64)
        starts, ends = found.rows[found.offsets[:-1]], found.rows[found.offsets[1:] - 1]
        for i in range(found.matches):
            self.enter_group(int(found.completed[i]))
            group = self.group
            if search.output == COUNT:
                group.count += 1
            elif _is_chosen(search, group, int(starts[i]), int(ends[i]), int(found.class_of[i])):
                numbers[i] = group.number
                group.number += 1
        return numbers

    def _numbers_in_turn(self, found: Found) -> Int64s:
        """Return match_number where all are chosen, 0 beyond the limit."""
        limit, numbers = self.program.search.limit, np.zeros(found.matches, np.int64)
        for first, last in self._by_group(found.completed):
            self.enter_group(int(found.completed[first]))
            taken = last - first
            if limit is not None:
                taken = max(0, min(taken, limit - self.group.number + 1))
            numbers[first : first + taken] = self.group.number + np.arange(taken)
            self.group.number += taken
        return numbers

    # -- groups --------------------------------------------------------------------------------------

    def enter_group(self, row: int) -> None:
        """Forget the group before when `row` belongs to a later one."""
        begins = int(np.searchsorted(self.borders, row, side="right"))
        if begins > self.entered:
            self.leave_group()
            self.entered = begins

    def leave_group(self) -> None:
        """Put out what the group that ends has gathered, and begin a new one."""
        group = self.group
        if group.count:
            ends = self.borders[self.entered] if self.entered < len(self.borders) else len(self.stream.classes)
            self.parts.append(EventMatches(counts=[(self.base + int(ends) - 1, group.count)]))
        if group.sample is not None and group.sample.drawn:
            self.parts.append(group.sample.matches())
        self.group = self._new_group()

    def shift(self, first: int) -> None:
        """Number rows from `first` on as 0, 1, …."""
        self.held = None if self.held is None or self.held.matches == 0 else moved(self.held, first)
        self.ends -= first
        self.group.ends = {c: end - first for c, end in self.group.ends.items()}
        self.group.started = {start - first for start in self.group.started}
        self.base += first
        # Runs that live on start at `first` at the earliest, so nothing that started before comes again.
        self.timed_out = {key for key in self.timed_out if np.frombuffer(key[1], np.int64)[0] >= self.base}

    def first_row(self) -> int | None:
        """Return the first row that a held match speaks of."""
        return None if self.held is None or self.held.matches == 0 else int(self.held.rows.min())

    @property
    def drawn(self) -> Int64s:
        """Events that the sample names, wherever they lie."""
        return np.empty(0, np.int64) if self.group.sample is None else self.group.sample.positions()


def _exact_sum(words: UInt64s) -> int:
    """Add up 64-bit words by halves, so that nothing is lost."""
    half = np.uint64(2**32 - 1)
    return int((words & half).sum()) + (int((words >> np.uint64(32)).sum()) << 32)


def _is_chosen(search: EventSearch, group: _Group, first: int, last: int, class_of: int) -> bool:
    if search.limit is not None and group.number > search.limit:
        return False
    if search.output == NON_OVERLAPPING:
        if first <= group.ends.get(class_of, LONG_AGO):
            return False
        group.ends[class_of] = last
    elif search.output == ONE_PER_START:
        if first in group.started:
            return False
        group.started.add(first)
    return True
