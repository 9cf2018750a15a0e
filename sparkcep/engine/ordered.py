"""The matcher that binds the events of a pattern in any order: the rare and the selective first.

What it finds is what `sparkcep.engine.runs` finds under skip-till-any-match, in the same order and
form. In place of partial matches it keeps the rows that the window still holds, and looks for the
matches that end in new rows; the order in which components are bound is chosen anew for each stretch of
rows by the events in it (the tree NFA of Kolchinsky et al. 2015), and stretches with one order
run as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from sparkcep.engine import ordered_kernel as kernel
from sparkcep.engine.event_input import operands_of, stream_of
from sparkcep.engine.event_tables import EVENTS
from sparkcep.engine.events import COUNT, EventMatches, EventRows, joined_matches
from sparkcep.engine.match_listing import Listing, first_of, new_listing
from sparkcep.engine.match_results import MatchResults
from sparkcep.engine.matches import Bools, Int64s
from sparkcep.engine.ordered_kernel import Chain, Positions
from sparkcep.engine.ordered_program import OrderedPattern, OrderedProgram
from sparkcep.engine.run_edges import Input
from sparkcep.engine.run_pools import MOST_LISTED_EVENTS, RunPools, too_many_matches
from sparkcep.engine.slots import Codes

# Rows for which one order is chosen: few enough to follow changes, so many that counts mean something.
ROWS_PER_ORDER = 8192


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


class OrderedMatcher:
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
        self.program = program
        self.pools = RunPools(program.base)
        self.results = MatchResults(self.pools)
        self.kept: EventRows | None = None
        self.waiting: list[EventRows] = []
        self.ordinals = np.empty(0, np.int64)
        self.class_counts = np.zeros(1, np.int64)
        self.counters = OrderedCounters(partial_matches=[np.zeros(p.size, np.int64) for p in program.patterns])
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

        Rows wait until there are as many new ones as are kept, so that the work on those that are kept
        is never more than that on new ones.

        Parameters
        ----------
        rows
            The next events.
        codes
            Codes of the literals in conditions, by domain.
        """
        kept = 0 if self.kept is None else self.kept.count
        waiting = sum(part.count for part in self.waiting) + rows.count
        if waiting < kept and not rows.complete and not len(rows.starts):
            self.waiting.append(rows)
            return EventMatches(needed_from=self.results.base)
        parts = [part for part in (self.kept, *self.waiting, rows) if part is not None]
        self.waiting = []
        return _Search(self, parts, kept, codes).matches()


class _Search:
    """One search: the rows at hand, and what comes out."""

    def __init__(self, matcher: OrderedMatcher, parts: list[EventRows], old: int, codes: Codes) -> None:
        self.matcher, self.program, self.results = matcher, matcher.program, matcher.results
        self.old = old
        self.rows = parts[0] if len(parts) == 1 else joined_rows(parts)
        self.borders: Int64s = (self.rows.count - parts[-1].count + parts[-1].starts).astype(np.int64)
        groups = np.searchsorted(self.borders, np.arange(self.rows.count), side="right")
        self.keys = groups * (int(self.rows.classes.max(initial=0)) + 1) + self.rows.classes
        classed = np.flatnonzero(self.rows.classes >= 0)
        self.by_key = classed[np.argsort(self.keys[classed], kind="stable")]
        self.buckets = np.unique(self.keys[self.by_key])
        stream = stream_of(self.rows, self.borders, self._ordinals(groups))
        starts = np.zeros(self.rows.count, np.bool_)
        starts[self.borders] = True
        base, operands = self.program.base, operands_of(self.rows)
        self.results.begin(Input(stream, starts, operands, base.code, base.bound(codes)), self.borders)
        self.given = kernel.Rows(
            stream, operands, self.program.code, self.program.bound(codes), base.tables.window,
            base.tables.components.windows, self.program.search.strict_time,
        )  # fmt: skip
        self.control = np.zeros(kernel.CONTROL_SIZE, np.int64)
        self.listing = new_listing(1024, 4096)
        self.counts = np.zeros(len(self.buckets), np.int64)
        self.needed: list[Int64s] = []

    def _ordinals(self, groups: Int64s) -> Int64s:
        """Number the rows within their classes, if a window counts events."""
        matcher, count = self.matcher, self.rows.count
        ordinals = np.zeros(count, np.int64)
        if not matcher.counts_events:
            return ordinals
        ordinals[: self.old] = matcher.ordinals
        new = self.by_key[self.by_key >= self.old]
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
        for pattern in self.program.patterns:
            self._search(pattern)
        if self.matcher.lists:
            count = int(self.control[kernel.LISTED])
            self.results.put(first_of(self.listing, count), count)
        else:
            self._count()
        self.results.release()
        self.matcher.counters.evaluations += int(self.control[kernel.EVALUATIONS])
        self._let_go()
        return replace(joined_matches(self.results.parts), needed_from=self.results.base)

    # -- the search ----------------------------------------------------------------------------------

    def _search(self, pattern: OrderedPattern) -> None:
        masks = [self._satisfying(bits) for bits in pattern.bits]
        lists = [self.by_key[mask[self.by_key]] for mask in masks]
        positions = self._positions(pattern, lists)
        ends = pattern.ends
        self.needed += [lists[k] for k in range(pattern.size) if len(ends) > 1 or k not in ends]
        for sequence, first, last in self._stretches(pattern, masks):
            for end in ends:
                self._find(pattern.chain(sequence, end), positions, first, last)

    def _positions(self, pattern: OrderedPattern, lists: list[Int64s]) -> Positions:
        """Put the rows that components may take, and witnesses, behind each other; then those to be looked up."""
        keys, absent = self._lookup_columns(pattern)
        by_value, values = [], []
        for side in pattern.looked_up:
            column = pattern.columns.index((side.is_float, side.column))
            rows = lists[side.component][~absent[column, lists[side.component]]]
            rows = rows[np.lexsort((keys[column, rows], self.keys[rows]))]
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

    def _lookup_columns(self, pattern: OrderedPattern) -> tuple[Int64s, Bools]:
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

    def _satisfying(self, bits: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Bools:
        return ((self.given.stream.conditions & bits[:, None]) == bits[:, None]).all(axis=0)

    def _stretches(self, pattern: OrderedPattern, masks: list[Bools]) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """Yield stretches of new rows, each with the order in which components are bound."""
        firsts = range(self.old, self.rows.count, ROWS_PER_ORDER)
        places = np.array(firsts, np.int64)
        counts = np.stack([np.add.reduceat(mask, places, dtype=np.int64) for mask in masks[: pattern.size]])
        orders = [tuple(pattern.chooser(tuple(column))) for column in counts.T.astype(float).tolist()]
        for sequence, members in groupby(zip(orders, firsts, strict=True), key=lambda pair: pair[0]):
            chosen = [first for _, first in members]
            yield sequence, chosen[0], min(chosen[-1] + ROWS_PER_ORDER, self.rows.count)

    def _find(self, chain: Chain, positions: Positions, first: int, last: int) -> None:
        """Find the matches that end in rows ``first:last``."""
        prefixes = np.zeros(len(chain.sequence), np.int64)
        bound, ends = kernel.new_bound(len(chain.sequence)), np.array([first, last], np.int64)
        self.control[kernel.BUCKET], self.control[kernel.STEP] = 0, -1
        lists = self.matcher.lists
        while (
            kernel.find(
                chain, self.given, positions, bound, ends, lists, self.listing, self.counts, prefixes, self.control
            )
            == kernel.FULL
        ):
            self._grow()
        self.matcher.counters.partial_matches[chain.order] += prefixes

    def _grow(self) -> None:
        """Double the room for matches."""
        events = 2 * len(self.listing.rows)
        if events > MOST_LISTED_EVENTS:
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
        matcher.counters.kept_events = max(matcher.counters.kept_events, count - first)
        self.results.shift(first)

    def _first_needed(self) -> int:
        """Return the first row that a later match may hold, or that decides about one."""
        count, stream = self.rows.count, self.given.stream
        group_start = int(self.borders[-1]) if len(self.borders) else 0
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *self.needed]))
        rows = rows[rows >= group_start]
        open_from = kernel.first_open(stream, self.given.window, self.matcher.class_counts, rows)
        first = int(rows[open_from]) if open_from < len(rows) else count
        held = self.results.first_row()
        if held is not None:
            first = min(first, held)
        if self.results.judges and self.program.base.looks_back:
            first = self.matcher.pools.first_within(stream, min(first, count - 1), group_start)
        return max(first, group_start)


def _doubled(listing: Listing) -> Listing:
    """Return twice the room, with the matches listed so far."""
    matches, events = 2 * len(listing.completed), 2 * len(listing.rows)
    return Listing(
        np.resize(listing.offsets, matches + 1), np.resize(listing.rows, events), np.resize(listing.components, events),
        np.resize(listing.completed, matches), np.resize(listing.order, matches), np.resize(listing.class_of, matches),
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
