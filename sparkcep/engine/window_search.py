"""What matchers share that look for the matches in the rows of a window: `ordered` and `tree`.

Both keep the rows that a later match may hold, no partial matches, and look for the matches that end in
new rows. How that is done is chosen anew for each stretch of rows by the events in it; stretches for
which the same is chosen run as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Generic, TypeVar

import numpy as np

from sparkcep.engine import bound_rows as kernel
from sparkcep.engine.allocation import keep_memory
from sparkcep.engine.bound_program import BoundPattern, BoundProgram
from sparkcep.engine.bound_tables import Positions
from sparkcep.engine.bound_tables import Rows as BoundRows
from sparkcep.engine.event_input import group_numbers, operands_of, stream_of
from sparkcep.engine.event_tables import EVENTS
from sparkcep.engine.events import COUNT, EventMatches, EventRows, joined_matches
from sparkcep.engine.match_listing import Listing, first_of, new_listing
from sparkcep.engine.match_results import MatchResults
from sparkcep.engine.matches import Bools, Int64s, UInt64s, doubled
from sparkcep.engine.run_edges import Input
from sparkcep.engine.run_pools import MOST_LISTED_EVENTS, RunPools, too_many_matches
from sparkcep.engine.slots import Codes

# Rows for which one way is chosen: few enough to follow changes, so many that counts mean something.
ROWS_PER_CHOICE = 8192
# Rows that are kept are searched again with the next ones: they are a seventh of all at most.
NEW_ROWS_PER_KEPT = 6

Program = TypeVar("Program", bound=BoundProgram)
Choice = TypeVar("Choice", bound=Hashable)


class WindowMatcher(ABC, Generic[Program]):
    """Matches one event pattern over groups of events.

    Parameters
    ----------
    program
        The compiled pattern.
    """

    def __init__(self, program: Program) -> None:
        keep_memory()
        self.program = program
        self.pools = RunPools(program.base)
        self.results = MatchResults(self.pools)
        self.kept: EventRows | None = None
        self.waiting: list[EventRows] = []
        self.ordinals = np.empty(0, np.int64)
        self.class_counts = np.zeros(1, np.int64)
        self.kept_events = 0
        tables = program.base.tables
        kinds = [tables.window.kind, *tables.components.windows.kind, *tables.gaps.windows.kind]
        self.counts_events = EVENTS in kinds

    @property
    def lists(self) -> bool:
        """Whether matches must be listed, not only counted."""
        return self.program.search.output != COUNT or self.results.judges or self.program.base.may_repeat

    def reserve_classes(self, classes: int) -> None:
        """Make room for classes 0 … classes − 1."""
        missing = classes - len(self.class_counts)
        self.class_counts = np.concatenate([self.class_counts, np.zeros(max(missing, 0), np.int64)])

    def push(self, rows: EventRows, codes: Codes) -> EventMatches:
        """Take the next events; return matches that are decided by them or by earlier ones.

        Rows wait until there are some times as many new ones as are kept, so that the work on those that are
        kept is small beside that on new ones, however long the window is.

        Parameters
        ----------
        rows
            The next events.
        codes
            Codes of the literals in conditions, by domain.
        """
        kept = 0 if self.kept is None else self.kept.count
        waiting = sum(part.count for part in self.waiting) + rows.count
        if waiting < NEW_ROWS_PER_KEPT * kept and not rows.complete and not len(rows.starts):
            self.waiting.append(rows)
            return EventMatches(needed_from=self.results.base)
        parts = [part for part in (self.kept, *self.waiting, rows) if part is not None]
        self.waiting = []
        return self.searched(parts, kept, codes)

    @abstractmethod
    def searched(self, parts: list[EventRows], old: int, codes: Codes) -> EventMatches:
        """Return the matches that end behind the first `old` rows of all parts."""


class WindowSearch(ABC, Generic[Program, Choice]):
    """One search: the rows at hand, and what comes out.

    Parameters
    ----------
    matcher
        What it is made for.
    parts
        The rows, one part behind the other.
    old
        How many of them are kept ones, in which no match ends.
    codes
        Codes of the literals in conditions, by domain.
    """

    def __init__(self, matcher: WindowMatcher[Program], parts: list[EventRows], old: int, codes: Codes) -> None:
        self.matcher, self.program, self.results = matcher, matcher.program, matcher.results
        self.old = old
        self.rows = parts[0] if len(parts) == 1 else joined_rows(parts)
        self.borders: Int64s = (self.rows.count - parts[-1].count + parts[-1].starts).astype(np.int64)
        groups = group_numbers(self.borders, self.rows.count)
        self.keys = groups * (int(self.rows.classes.max(initial=0)) + 1) + self.rows.classes
        self.masks = [self._masks(pattern) for pattern in self.program.patterns]
        usable = np.logical_or.reduce([mask for masks in self.masks for mask in masks])
        self.by_key = self._sorted(np.flatnonzero(usable & (self.rows.classes >= 0)))
        self.buckets = distinct(self.keys[self.by_key])
        stream = stream_of(self.rows, self.borders, self._ordinals(groups))
        starts = np.zeros(self.rows.count, np.bool_)
        starts[self.borders] = True
        base, operands = self.program.base, operands_of(self.rows)
        self.results.begin(Input(stream, starts, operands, base.code, base.bound(codes)), self.borders)
        self.given = BoundRows(
            stream, operands, self.program.code, self.program.bound(codes), base.tables.window,
            base.tables.components.windows, self.program.search.strict_time,
        )  # fmt: skip
        self.listing = new_listing(1024, 4096)
        self.counts = np.zeros(len(self.buckets), np.int64)
        self.needed: list[Int64s] = []

    def _masks(self, pattern: BoundPattern) -> list[Bools]:
        """Return which rows each component may take by conditions over one row; then, which are witnesses."""
        masks = [self._satisfying(bits) for bits in pattern.bits]
        for loop in pattern.loops:
            masks[loop.component] |= self._satisfying(loop.take_bits)
        return masks

    def _satisfying(self, bits: UInt64s) -> Bools:
        held = np.ones(self.rows.count, np.bool_)
        for words, word in zip(self.rows.conditions, bits, strict=True):
            if word:
                held &= (words & word) == word
        return held

    def _sorted(self, rows: Int64s) -> Int64s:
        """Return ascending rows by group and class."""
        return rows[stable_order(self.keys[rows])]

    def _ordinals(self, groups: Int64s) -> Int64s:
        """Number the rows within their classes, if a window counts events."""
        matcher, count = self.matcher, self.rows.count
        ordinals = np.zeros(count, np.int64)
        if not matcher.counts_events:
            return ordinals
        ordinals[: self.old] = matcher.ordinals
        new = self._sorted(self.old + np.flatnonzero(self.rows.classes[self.old :] >= 0))
        first_of_key = np.searchsorted(self.keys[new], self.keys[new])
        ordinals[new] = np.arange(len(new)) - first_of_key
        continued = new[groups[new] == 0]
        matcher.reserve_classes(int(self.rows.classes.max(initial=0)) + 1)
        ordinals[continued] += matcher.class_counts[self.rows.classes[continued]]
        if len(self.borders):
            matcher.class_counts[:] = 0
        newest = new[groups[new] == len(self.borders)]
        np.add.at(matcher.class_counts, self.rows.classes[newest], 1)
        return ordinals

    def matches(self) -> EventMatches:
        """Search with every order of the pattern; order and number what is found."""
        for number, (pattern, masks) in enumerate(zip(self.program.patterns, self.masks, strict=True)):
            lists = [self.by_key[mask[self.by_key]] for mask in masks]
            closing = set(pattern.ends) - {loop.component for loop in pattern.loops}
            self.needed += [lists[k] for k in range(pattern.size) if len(pattern.ends) > 1 or k not in closing]
            positions = self._positions(pattern, lists)
            for chosen, first, last in self._stretches(number, masks):
                self.find(pattern, chosen, positions, first, last)
        if self.matcher.lists:
            self.results.put(first_of(self.listing, self.listed), self.listed)
        else:
            self._count()
        self.results.release()
        self._let_go()
        return replace(joined_matches(self.results.parts), needed_from=self.results.base)

    # -- what the engine says ------------------------------------------------------------------------

    @property
    @abstractmethod
    def listed(self) -> int:
        """How many matches are listed."""

    @abstractmethod
    def chosen(self, number: int, counts: list[int], first: int, last: int) -> Choice:
        """Return how to search in rows ``first:last`` with an order of the pattern.

        Parameters
        ----------
        number
            The order.
        counts
            How many of the rows each component may take, and how many are witnesses of each negation.
        """

    @abstractmethod
    def find(self, pattern: BoundPattern, chosen: Choice, positions: Positions, first: int, last: int) -> None:
        """Find the matches that end in rows ``first:last``."""

    # -- the search ----------------------------------------------------------------------------------

    def _positions(self, pattern: BoundPattern, lists: list[Int64s]) -> Positions:
        """Put the rows that components may take, and witnesses, behind each other; then those to be looked up."""
        keys, absent = self._lookup_columns(pattern)
        by_value, values = [], []
        for side in pattern.looked_up:
            column = pattern.columns.index((side.is_float, side.column))
            rows = lists[side.component][~absent[column, lists[side.component]]]
            rows = rows[stable_order(keys[column, rows])]
            rows = rows[stable_order(self.keys[rows])]
            by_value.append(rows)
            values.append(keys[column, rows])
        listed = [*lists, *by_value]
        begins = np.cumsum([0, *map(len, listed)])
        borders = np.append(self.buckets, np.iinfo(np.int64).max)
        offsets = [
            begin + np.searchsorted(self.keys[rows], borders) for begin, rows in zip(begins, listed, strict=False)
        ]
        plain = np.zeros(sum(map(len, lists)), np.int64)
        return Positions(
            np.concatenate(listed), np.concatenate([plain, *values]), np.stack(offsets).astype(np.int64), keys, absent
        )

    def _lookup_columns(self, pattern: BoundPattern) -> tuple[Int64s, Bools]:
        """Return what events are looked up by as numbers, the same for values that are equal in SQL."""
        operands, shape = self.given.operands, (len(pattern.columns), self.rows.count)
        keys, absent = np.empty(shape, np.int64), np.empty(shape, np.bool_)
        for i, (is_float, column) in enumerate(pattern.columns):
            if is_float:
                values = operands.floats[column] + 0.0  # one zero
                values[np.isnan(values)] = np.nan
                keys[i], absent[i] = values.view(np.int64), operands.float_nulls[column]
            else:
                keys[i], absent[i] = operands.integers[column], operands.integer_nulls[column]
        return keys, absent

    def _stretches(self, number: int, masks: list[Bools]) -> Iterator[tuple[Choice, int, int]]:
        """Yield stretches of new rows, each with how to search in it."""
        firsts = range(self.old, self.rows.count, ROWS_PER_CHOICE)
        if not firsts:
            return
        counts = np.stack([np.add.reduceat(mask, np.array(firsts, np.int64), dtype=np.int64) for mask in masks])
        ways = [
            self.chosen(number, column, first, min(first + ROWS_PER_CHOICE, self.rows.count))
            for column, first in zip(counts.T.tolist(), firsts, strict=True)
        ]
        for way, members in groupby(zip(ways, firsts, strict=True), key=lambda pair: pair[0]):
            places = [first for _, first in members]
            yield way, places[0], min(places[-1] + ROWS_PER_CHOICE, self.rows.count)

    def grow_listing(self) -> None:
        """Double the room for matches."""
        if 2 * len(self.listing.rows) > MOST_LISTED_EVENTS:
            raise too_many_matches()
        self.listing = _doubled(self.listing)

    def _count(self) -> None:
        """Add up the matches of each group."""
        firsts = self.by_key[np.searchsorted(self.keys[self.by_key], self.buckets)]
        for bucket in np.flatnonzero(self.counts):
            self.results.enter_group(int(firsts[bucket]))
            self.results.group.count += int(self.counts[bucket])

    # -- what is kept --------------------------------------------------------------------------------

    def _let_go(self) -> None:
        """Keep what the open group can still need."""
        matcher, count = self.matcher, self.rows.count
        self.results.enter_group(count)
        if self.rows.complete:
            self.results.leave_group()
        first = count if self.rows.complete else self._first_needed()
        matcher.kept = None if first == count else self.rows.behind(first)
        matcher.ordinals = self.given.stream.ordinals[first:]
        matcher.kept_events = max(matcher.kept_events, count - first)
        self.results.shift(first)

    def _first_needed(self) -> int:
        """Return the first row that a later match may hold, or that decides about one."""
        count, stream = self.rows.count, self.given.stream
        group_start = int(self.borders[-1]) if len(self.borders) else 0
        is_needed = np.zeros(count, np.bool_)
        for listed in self.needed:
            is_needed[listed] = True
        rows = group_start + np.flatnonzero(is_needed[group_start:])
        open_from = kernel.first_open(stream, self.given.window, self.matcher.class_counts, rows)
        first = int(rows[open_from]) if open_from < len(rows) else count
        held = self.results.first_row()
        if held is not None:
            first = min(first, held)
        if self.results.judges and self.program.base.looks_back:
            first = self.matcher.pools.first_within(stream, min(first, count - 1), group_start)
        return max(first, group_start)


def stable_order(numbers: Int64s) -> Int64s:
    """Return the order that sorts numbers and leaves equal ones as they are: in linear time if they lie close."""
    least, most = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    if most - least >= 2**32:
        return np.argsort(numbers, kind="stable")
    # NumPy sorts numbers of 16 bits by their digits.
    behind = (numbers - least).astype(np.uint32)
    order = np.argsort(behind.astype(np.uint16), kind="stable")
    if most - least < 2**16:
        return order
    return order[np.argsort((behind[order] >> 16).astype(np.uint16), kind="stable")]


def distinct(ascending: Int64s) -> Int64s:
    """Return each of some numbers once."""
    return ascending[np.flatnonzero(np.diff(ascending, prepend=-1))]


def _doubled(listing: Listing) -> Listing:
    """Return twice the room, with the matches listed so far."""
    return Listing(
        doubled(listing.offsets)[:-1], doubled(listing.rows), doubled(listing.components),
        doubled(listing.completed), doubled(listing.order), doubled(listing.class_of),
    )  # fmt: skip


def joined_rows(parts: list[EventRows]) -> EventRows:
    """Return rows one behind the other; groups start where the last ones say."""
    last = parts[-1]
    order = None
    if last.order is not None:
        order = np.concatenate([part.order for part in parts if part.order is not None])
    return EventRows(
        last.starts,
        np.concatenate([part.conditions for part in parts], axis=1),
        order,
        np.concatenate([part.classes for part in parts]),
        np.concatenate([part.integers for part in parts], axis=1),
        np.concatenate([part.integer_nulls for part in parts], axis=1),
        np.concatenate([part.floats for part in parts], axis=1),
        np.concatenate([part.float_nulls for part in parts], axis=1),
        last.complete,
    )
