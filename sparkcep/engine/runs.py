"""The matcher of event patterns: push events, get matches (NFA^b with a shared match graph).

State is what a later event can still need: live runs, the part of the match graph below them,
the rows that these speak of. With a window all of it is bounded by the window.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparkcep.engine import run_lists as lists
from sparkcep.engine import runs_kernel as kernel
from sparkcep.engine.absence import BY_EVENT, BY_WINDOW, DROPPED, NEVER, OPEN_END, UNDECIDED, Moments, judge
from sparkcep.engine.event_code import Operands
from sparkcep.engine.event_tables import Stream
from sparkcep.engine.events import (
    ALL,
    COUNT,
    NON_OVERLAPPING,
    ONE_PER_START,
    BudgetExceeded,
    EventMatches,
    EventRows,
    EventSearch,
)
from sparkcep.engine.found_matches import Found, as_found, by_event, moved, selected, together
from sparkcep.engine.match_graph import ALL_ONES
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.match_order import in_order
from sparkcep.engine.matches import Bools, Float64s, Int64s
from sparkcep.engine.non_overlapping import Picker, completions_by_event
from sparkcep.engine.run_pools import RunPools
from sparkcep.engine.runs_program import RunsProgram, compile_runs
from sparkcep.engine.slots import Codes


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
        Per class the row of the last event of the last match that was kept, for NON_OVERLAPPING.
    started
        First events that have a match, for ONE_PER_START.
    """

    number: int = 1
    count: int = 0
    ends: dict[int, int] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)


class RunsMatcher:
    """Matches one event pattern over groups of events.

    Parameters
    ----------
    program
        The compiled pattern.
    """

    def __init__(self, program: RunsProgram) -> None:
        self.program = program
        self.tables = program.tables
        self.pools = RunPools(program)
        self.base = 0
        self.kept: EventRows | None = None
        self.held: Found | None = None
        self.group = _Group()
        self.ordinals = np.empty(0, np.int64)
        self.judges = bool((~self.tables.gaps.quick).any())
        self.waits = self.judges and bool(self.tables.gaps.trails[~self.tables.gaps.quick].any())

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


class _Push:
    """One call of `RunsMatcher.push`: the rows at hand, and what comes out."""

    def __init__(self, matcher: RunsMatcher, rows: EventRows, codes: Codes) -> None:
        self.matcher, self.program, self.pools = matcher, matcher.program, matcher.pools
        kept = matcher.kept
        self.old = kept.count if kept is not None else 0
        self.rows = rows if kept is None else kept.joined(rows)
        self.complete = rows.complete
        self.starts = np.zeros(self.rows.count, np.bool_)
        self.starts[self.old + rows.starts] = True
        self.borders: Int64s = np.flatnonzero(self.starts).astype(np.int64)
        self.entered = 0
        self.given = kernel.Input(
            self._stream(), self.starts, self._operands(), self.program.code, self.program.bound(codes)
        )
        self.parts: list[EventMatches] = []

    def _stream(self) -> Stream:
        rows, count = self.rows, self.rows.count
        ends = np.append(self.borders, count if self.complete else OPEN_END)
        whole, fraction = np.empty(0, np.int64), np.empty(0, np.float64)
        if rows.order is not None and rows.order.dtype.kind == "f":
            fraction = np.ascontiguousarray(rows.order, np.float64)
        elif rows.order is not None:
            whole = np.ascontiguousarray(rows.order, np.int64)
        ordinals = np.zeros(count, np.int64)
        ordinals[: self.old] = self.matcher.ordinals
        return Stream(
            np.ascontiguousarray(rows.conditions, np.uint64),
            whole,
            fraction,
            np.ascontiguousarray(rows.classes, np.int64),
            ordinals,
            ends[np.searchsorted(self.borders, np.arange(count), side="right")],
        )

    def _operands(self) -> Operands:
        rows = self.rows
        return Operands(
            np.ascontiguousarray(rows.integers),
            np.ascontiguousarray(rows.integer_nulls),
            np.ascontiguousarray(rows.floats),
            np.ascontiguousarray(rows.float_nulls),
        )

    def matches(self) -> EventMatches:
        """Run the kernel over the new rows, group by group where what is kept asks for it."""
        pools, control = self.pools, self.pools.control
        pools.reserve_classes(int(self.rows.classes.max(initial=0)) + 1)
        control[lists.ROW] = self.old
        while True:
            status = kernel.advance(self.program.tables, self.given, pools.rules, pools.pools, control)
            self._drain()
            if status == lists.DONE:
                break
            if status == lists.OVER_BUDGET:
                raise self._over_budget()
            pools.make_room(self.given.stream, int(control[lists.ROW]))
        if self.complete:
            kernel.end_group(self.program.tables, pools.pools, control)
        self._release()
        needed = self._let_go()
        return _concatenated(self.parts, needed, self.rows)

    def _over_budget(self) -> BudgetExceeded:
        pools = self.pools
        row = int(pools.control[lists.ROW])
        component = pools.most_crowded()
        variable = int(self.program.tables.components.variable[component])
        return BudgetExceeded(self.matcher.base + row, int(pools.control[lists.LIVE]), variable)

    # -- from completions to matches ---------------------------------------------------------------

    def _drain(self) -> None:
        """Turn what was completed into matches, before the graph changes."""
        pools = self.pools
        count = int(pools.control[lists.COMPLETIONS])
        if count == 0:
            return
        if self.program.search.output == COUNT and not self.matcher.judges and not self.program.may_repeat:
            self._count(count)
        elif self.program.search.output == NON_OVERLAPPING and not self.matcher.judges:
            self._pick(count)
        else:
            floors = np.zeros(count, np.int64)
            for listing, matches in pools.listings(count, self.given.stream, floors):
                self._judge(listing, matches)
        pools.control[lists.COMPLETIONS] = 0

    def _count(self, count: int) -> None:
        """Add up counts of the graph, a group at a time."""
        rows = self.pools.pools.completions[0, :count]
        low, high = self.pools.counted(count, self.given.stream)
        for i in range(count):
            self._enter_group(int(rows[i]))
            if low[i] == ALL_ONES and high[i] == ALL_ONES:
                raise OverflowError(self.matcher.base + int(rows[i]))
            self.matcher.group.count += (int(high[i]) << 64) + int(low[i])

    def _pick(self, count: int) -> None:
        """Output the first match of each event that starts behind the last output one of its class."""
        picker = Picker(self.pools, self.given.stream)
        for row, class_of, completions in completions_by_event(self.pools.pools.completions[:, :count]):
            self._enter_group(row)
            floor = self.matcher.group.ends.get(class_of, -1) + 1
            found: Found | None = None
            for completion in completions:
                candidates = picker.candidates(completion, floor)
                if candidates is None:
                    continue
                part = by_event(*candidates)
                found = part if found is None else together(found, part)
            if found is not None:
                self._output(found)

    def _judge(self, listing: Listing, count: int) -> None:
        verdicts, timed = np.ones(count, np.int64), np.zeros(count, np.int64)
        moments = Moments(np.zeros(count, np.int64), np.zeros(count, np.float64))
        if self.matcher.judges:
            judge(
                self.program.tables, self.given, self.pools.pools.vectors, self.pools.initial_nulls, listing, count,
                verdicts, timed, moments,
            )  # fmt: skip
        found = selected(as_found(listing, count, timed, moments), np.flatnonzero(verdicts != DROPPED))
        if not self.matcher.waits:
            self._output(found)
        else:
            held = self.matcher.held
            self.matcher.held = found if held is None else together(held, found)

    def _release(self) -> None:
        """Put out the held matches that are decided and that nothing can come before."""
        held = self.matcher.held
        if held is None or held.matches == 0:
            return
        count = held.matches
        verdicts, timed = np.ones(count, np.int64), np.zeros(count, np.int64)
        moments = Moments(np.zeros(count, np.int64), np.zeros(count, np.float64))
        listing = Listing(held.offsets, held.rows, held.components, held.completed, held.order, held.class_of)
        judge(
            self.program.tables, self.given, self.pools.pools.vectors, self.pools.initial_nulls, listing, count,
            verdicts, timed, moments,
        )  # fmt: skip
        alive = np.flatnonzero(verdicts != DROPPED)
        held = selected(held._replace(timed=timed, moments=moments), alive)
        ready = (verdicts[alive] != UNDECIDED) & self._is_past(held)
        self._output(selected(held, np.flatnonzero(ready)))
        self.matcher.held = selected(held, np.flatnonzero(~ready))

    def _is_past(self, held: Found) -> Bools:
        """Tell which matches were decided before the time of the newest row of their group."""
        ends = self.given.stream.group_ends[held.completed]
        values = self._decided(held)
        newest = values.dtype.type(self._order()[-1]) if len(self._order()) else values.dtype.type(0)
        return (ends < OPEN_END) | ((values < newest) & (held.timed != NEVER))

    def _order(self) -> Int64s | Float64s:
        stream = self.given.stream
        return stream.fraction if len(stream.fraction) else stream.whole

    def _decided(self, found: Found) -> Int64s | Float64s:
        """Return the order values at which matches were decided."""
        order = self._order()
        by_window = found.moments.fraction if order.dtype.kind == "f" else found.moments.whole
        if len(order) == 0:
            return found.completed
        return np.where(found.timed == BY_WINDOW, by_window, order[found.completed])

    def _rank(self, found: Found) -> Int64s:
        """Return what comes first in the order of matches, as numbers: group, then decision."""
        if not self.matcher.waits:
            return found.completed
        groups = np.searchsorted(self.borders, found.completed, side="right")
        by_event = np.where(found.timed == BY_EVENT, found.completed, 0)
        decided = self._decided(found)
        if len(self._order()):
            decided = np.where(found.timed == NEVER, decided.dtype.type(0), decided)
        keys = np.stack([
            groups, found.timed == NEVER, np.unique(decided, return_inverse=True)[1].reshape(-1),
            found.timed != BY_EVENT, by_event,
        ])  # fmt: skip
        return np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def _output(self, found: Found) -> None:
        """Order, select and number matches."""
        if found.matches == 0:
            return
        listing = Listing(found.offsets, found.rows, found.components, found.completed, found.order, found.class_of)
        tables = self.program.tables
        variables = int(tables.components.variable.max()) + 1
        found = selected(found, in_order(listing, found.matches, self._rank(found), tables.components, variables))
        numbers = self._numbers(found)
        chosen = np.flatnonzero(numbers > 0)
        if len(chosen) == 0:
            return
        found = selected(found, chosen)
        decided = self._decided(found) if self.matcher.waits else None
        self.parts.append(
            EventMatches(
                offsets=found.offsets,
                position=found.rows + self.matcher.base,
                variable=tables.components.variable[found.components],
                number=numbers[chosen],
                time=decided,
                timed=found.timed == BY_WINDOW,
                never=found.timed == NEVER,
                counts=[],
                needed_from=0,
            )
        )

    def _numbers(self, found: Found) -> Int64s:
        """Return match_number, 0 for what is not chosen."""
        search = self.program.search
        if search.output == ALL and search.limit is None:
            return self._all_numbers(found)
        numbers = np.zeros(found.matches, np.int64)
        first, last = found.rows[found.offsets[:-1]], found.rows[found.offsets[1:] - 1]
        for i in range(found.matches):
            self._enter_group(int(found.completed[i]))
            group = self.matcher.group
            if search.output == COUNT:
                group.count += 1
                continue
            if not _is_chosen(search, group, int(first[i]), int(last[i]), int(found.class_of[i])):
                continue
            numbers[i] = group.number
            group.number += 1
        return numbers

    def _all_numbers(self, found: Found) -> Int64s:
        """Number all matches, from 1 in every group."""
        groups = np.searchsorted(self.borders, found.completed, side="right")
        self._enter_group(int(found.completed[0]))
        numbers = np.arange(found.matches) - np.searchsorted(groups, groups) + 1
        numbers[groups == groups[0]] += self.matcher.group.number - 1
        self._enter_group(int(found.completed[-1]))
        self.matcher.group.number = int(numbers[-1]) + 1
        return numbers.astype(np.int64)

    def _enter_group(self, row: int) -> None:
        """Forget the group before when `row` belongs to a later one."""
        begins = int(np.searchsorted(self.borders, row, side="right"))
        if begins > self.entered:
            self._leave_group()
            self.entered = begins
            self.matcher.group = _Group()

    def _leave_group(self) -> None:
        group = self.matcher.group
        if group.count:
            row = int(self.borders[self.entered]) - 1 if self.entered < len(self.borders) else self.rows.count - 1
            self.parts.append(_counted(self.matcher.base + row, group.count))
            group.count = 0

    # -- what is kept --------------------------------------------------------------------------------

    def _let_go(self) -> int:
        """Keep what the open group can still need; return the first event of it."""
        count = self.rows.count
        self._enter_group(count)
        if self.complete:
            self._leave_group()
            self.matcher.group = _Group()
        first = count if self.complete else self._first_needed()
        matcher = self.matcher
        matcher.kept = None if first == count else self.rows.behind(first)
        matcher.ordinals = self.given.stream.ordinals[first:]
        matcher.held = None if matcher.held is None or matcher.held.matches == 0 else moved(matcher.held, first)
        self.pools.shift(first, self.given.stream)
        matcher.group.ends = {c: end - first for c, end in matcher.group.ends.items()}
        matcher.group.started = {start - first for start in matcher.group.started}
        matcher.base += first
        return matcher.base

    def _first_needed(self) -> int:
        count = self.rows.count
        group_start = int(self.borders[-1]) if len(self.borders) else 0
        first = self.pools.first_row(self.given.stream, count)
        held = self.matcher.held
        if held is not None and held.matches:
            first = min(first, int(held.rows.min()))
        if self.matcher.judges and self.program.looks_back:
            first = self.pools.first_within(self.given.stream, min(first, count - 1), group_start)
        return max(first, group_start)


def _is_chosen(search: EventSearch, group: _Group, first: int, last: int, class_of: int) -> bool:
    if search.limit is not None and group.number > search.limit:
        return False
    if search.output == NON_OVERLAPPING:
        if first <= group.ends.get(class_of, -(2**62)):
            return False
        group.ends[class_of] = last
    elif search.output == ONE_PER_START:
        if first in group.started:
            return False
        group.started.add(first)
    return True


def _counted(position: int, count: int) -> EventMatches:
    nothing = np.empty(0, np.int64)
    return EventMatches(
        np.zeros(1, np.int64), nothing, nothing.astype(np.int32), nothing, None, nothing.astype(np.bool_),
        nothing.astype(np.bool_), [(position, count)], 0,
    )  # fmt: skip


def _concatenated(parts: list[EventMatches], needed_from: int, rows: EventRows) -> EventMatches:
    if not parts:
        return _counted(0, 0).without_counts(needed_from)
    sizes = np.cumsum([0, *(len(part.position) for part in parts)])
    offsets = [part.offsets[1:] + size for part, size in zip(parts, sizes, strict=False)]
    times = [part.time for part in parts if part.time is not None]
    return EventMatches(
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        np.concatenate([part.position for part in parts]),
        np.concatenate([part.variable for part in parts]),
        np.concatenate([part.number for part in parts]),
        np.concatenate(times) if times else None,  # type: ignore[arg-type]
        np.concatenate([part.timed for part in parts]),
        np.concatenate([part.never for part in parts]),
        [count for part in parts for count in part.counts],
        needed_from,
    )


__all__ = ["RunsMatcher", "RunsProgram", "compile_runs"]
