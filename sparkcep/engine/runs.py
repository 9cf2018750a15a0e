"""The matcher of event patterns: push events, get matches (NFA^b with a shared match graph).

State is what a later event can still need: live runs, the part of the match graph below them,
the rows that these speak of. With a window all of it is bounded by the window.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparkcep.engine import run_lists as lists
from sparkcep.engine import runs_kernel as kernel
from sparkcep.engine.event_input import operands_of, stream_of
from sparkcep.engine.events import BudgetExceeded, EventMatches, EventRows, joined_matches
from sparkcep.engine.match_results import MatchResults
from sparkcep.engine.matches import Int64s
from sparkcep.engine.run_edges import Input
from sparkcep.engine.run_pools import RunPools
from sparkcep.engine.runs_program import RunsProgram, compile_runs
from sparkcep.engine.slots import Codes
from sparkcep.engine.tally import EngineWork


class RunsMatcher:
    """Matches one event pattern over groups of events.

    Parameters
    ----------
    program
        The compiled pattern.
    """

    def __init__(self, program: RunsProgram) -> None:
        self.program = program
        self.pools = RunPools(program)
        self.results = MatchResults(self.pools)
        self.kept: EventRows | None = None
        self.ordinals = np.empty(0, np.int64)

    def push(self, rows: EventRows, codes: Codes) -> EventMatches:
        """Take the next events; return the matches that are decided by them.

        Parameters
        ----------
        rows
            The next events.
        codes
            Codes of the literals in conditions, by domain.

        Raises
        ------
        BudgetExceeded
            When more runs live than the search allows.
        OverflowError
            With COUNT: matches that complete at one event cannot be counted in 128 bits; its argument is
            the event's number.
        """
        return _Push(self, rows, codes).matches()

    @property
    def work(self) -> EngineWork:
        """What has been done so far."""
        visits, peak, merged = (int(self.pools.control[at]) for at in (lists.VISITS, lists.PEAK, lists.MERGED))
        return EngineWork(visits, peak, merged)


class _Push:
    """One call of `RunsMatcher.push`: the rows at hand, and what comes out."""

    def __init__(self, matcher: RunsMatcher, rows: EventRows, codes: Codes) -> None:
        self.matcher, self.program, self.pools = matcher, matcher.program, matcher.pools
        self.results = matcher.results
        kept = matcher.kept
        self.old = kept.count if kept is not None else 0
        self.rows = rows if kept is None else kept.joined(rows)
        self.complete = rows.complete
        self.starts = np.zeros(self.rows.count, np.bool_)
        self.starts[self.old + rows.starts] = True
        self.borders: Int64s = np.flatnonzero(self.starts).astype(np.int64)
        self.given = Input(
            stream_of(self.rows, self.borders, self._ordinals()), self.starts, operands_of(self.rows),
            self.program.code, self.program.bound(codes),
        )  # fmt: skip
        self.results.begin(self.given, self.borders)

    def _ordinals(self) -> Int64s:
        """Return the numbers of kept rows within their classes; the kernel numbers the new ones."""
        return np.concatenate([self.matcher.ordinals, np.zeros(self.rows.count - self.old, np.int64)])

    def matches(self) -> EventMatches:
        """Run the kernel over the new rows, group by group where what is kept asks for it."""
        pools, control = self.pools, self.pools.control
        pools.reserve_classes(int(self.rows.classes.max(initial=0)) + 1)
        control[lists.ROW] = self.old
        while True:
            status = kernel.advance(self.program.tables, self.given, pools.rules, pools.pools, control)
            self.results.drain()
            if status == lists.DONE:
                break
            if status == lists.NO_ROOM:
                pools.make_room(self.given.stream, int(control[lists.ROW]))
                continue
            # Some runs may be over and nobody has come by to see it.
            pools.sweep(self.given.stream, int(control[lists.ROW]))
            if control[lists.LIVE] > pools.rules.max_live:
                raise self._over_budget()
        if self.complete:
            kernel.end_group(self.program.tables, self.given.stream, pools.rules, pools.pools, control)
            pools.take_expired(self.given.stream)
        self.results.release()
        needed_from, drawn = self._let_go(), self.results.drawn
        if self.results.waits and len(drawn):
            # The rows that tell when these were decided lie behind their first ones.
            needed_from = min(needed_from, int(drawn.min()))
        return replace(joined_matches(self.results.parts), needed_from=needed_from, also_needed=drawn)

    def _over_budget(self) -> BudgetExceeded:
        pools = self.pools
        row = int(pools.control[lists.ROW])
        component = pools.most_crowded()
        variable = int(self.program.tables.components.variable[component])
        return BudgetExceeded(self.results.base + row, int(pools.control[lists.LIVE]), variable)

    # -- what is kept --------------------------------------------------------------------------------

    def _let_go(self) -> int:
        """Keep what the open group can still need; return the first event of it."""
        matcher, count = self.matcher, self.rows.count
        self.results.enter_group(count)
        if self.complete:
            self.results.leave_group()
        first = count if self.complete else self._first_needed()
        matcher.kept = None if first == count else self.rows.behind(first)
        matcher.ordinals = self.given.stream.ordinals[first:]
        self.results.time_out()
        self.pools.shift(first, self.given.stream)
        self.results.shift(first)
        return self.results.base

    def _first_needed(self) -> int:
        count = self.rows.count
        group_start = int(self.borders[-1]) if len(self.borders) else 0
        first = self.pools.first_row(self.given.stream, count)
        held = self.results.first_row()
        if held is not None:
            first = min(first, held)
        if self.results.judges and self.program.looks_back:
            first = self.pools.first_within(self.given.stream, min(first, count - 1), group_start)
        return max(first, group_start)


__all__ = ["RunsMatcher", "RunsProgram", "compile_runs"]
