"""The memory of the `runs` engine: pools that grow, lists that are swept, a graph that is compacted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparkcep.engine import run_lists as lists
from sparkcep.engine.compiled import compiled
from sparkcep.engine.event_code import Vectors
from sparkcep.engine.event_tables import EVENTS, WAITING, Awaited, Nodes, Runs, RunTables, Stream, Window, no_window
from sparkcep.engine.event_windows import in_own_window, in_window, is_open
from sparkcep.engine.match_graph import compact, count_completions, new_nodes
from sparkcep.engine.match_listing import (
    LISTED,
    LISTED_EVENTS,
    Listing,
    Scratch,
    first_of,
    list_matches,
    new_listing,
)
from sparkcep.engine.matches import Int64s, UInt64s
from sparkcep.engine.run_edges import is_late
from sparkcep.engine.run_lists import Pools, Rules
from sparkcep.engine.runs_program import RunsProgram
from sparkcep.engine.time_outs import note_expired
from sparkcep.errors import MatchError

FIRST_RUNS = 1024
MOST_LISTED_EVENTS = 2**30


class RunPools:
    """Runs, match graph and tables of one matcher.

    Attributes
    ----------
    pools
        As the kernel sees them.
    control
        The kernel's counters.
    """

    def __init__(self, program: RunsProgram) -> None:
        self.program = program
        self.states = len(program.tables.states.current)
        edges = program.tables.edges.offsets
        search = program.search
        # Merged partial matches would expire at different times.
        merges = search.merge_runs and not search.timeouts
        self.rules = Rules(merges, search.max_partial_matches, int(np.diff(edges).max()) + 1, search.timeouts)
        self.expired: list[Listing] = []
        self.initial_nulls: UInt64s = np.array([program.initial_nulls], np.uint64)
        self.control = np.zeros(lists.CONTROL_SIZE, np.int64)
        self.control[lists.FREE], self.control[lists.TOP] = -1, lists.SCRATCH_RUN + 1
        self.control[lists.BUCKETS] = lists.FEWEST_BUCKETS
        self.pools = self._new_pools(FIRST_RUNS)
        start = self.pools.runs
        start.state[0], start.mode[0], start.leaves[0], start.stopped[0] = self.states, WAITING, 0, 0
        start.tip[0], start.seen[0] = -1, 0
        self.pools.vectors.integers[0] = 0
        self.pools.vectors.nulls[0] = self.initial_nulls[0]

    def _new_pools(self, runs: int) -> Pools:
        slots, gaps = self.program.slots, len(self.program.tables.gaps.quick)
        integers = np.zeros((runs, slots), np.int64)
        whole = [np.zeros(runs, np.int64) for _ in range(6)]
        leaves, stopped, seen, tip, following, place = whole
        place[:] = lists.EMPTY
        return Pools(
            Runs(
                np.zeros(runs, np.int32),
                np.zeros(runs, np.int8),
                leaves,
                stopped,
                np.zeros(runs, np.int32),
                seen,
                tip,
                following,
                place,
            ),
            Vectors(integers, integers.view(np.float64), np.zeros(runs, np.uint64)),
            new_nodes(16 * runs),
            np.full(self.states, -1, np.int64),
            self._buckets(lists.FEWEST_BUCKETS),
            np.full(8 * runs, lists.EMPTY, np.int64),
            np.empty((4, 16 * runs), np.int64),
            np.full((gaps, 1), -1, np.int64),
            np.zeros(1, np.int64),
            np.empty((4, 16 * runs if self.rules.times_out else 0), np.int64),
        )

    def _buckets(self, count: int) -> Int64s:
        return np.full(count * self.program.tables.awaited.states, -1, np.int64)

    @property
    def live_nodes(self) -> int:
        """How many nodes the match graph has."""
        return int(self.control[lists.NODES])

    def reserve_classes(self, classes: int) -> None:
        """Make room for classes 0 … classes − 1."""
        pools = self.pools
        have = len(pools.class_counts)
        if classes <= have:
            return
        classes = max(classes, 2 * have)
        heads = np.full(classes * self.states, -1, np.int64)
        heads[: len(pools.heads)] = pools.heads
        witnesses = np.full((len(pools.last_witness), classes), -1, np.int64)
        witnesses[:, :have] = pools.last_witness
        counts = np.zeros(classes, np.int64)
        counts[:have] = pools.class_counts
        self.pools = pools._replace(heads=heads, last_witness=witnesses, class_counts=counts)

    def make_room(self, stream: Stream, row: int) -> None:
        """Let go what the window has passed, and double what is still too small; completions are drained."""
        self.sweep(stream, row)
        control, pools = self.control, self.pools
        most = (int(control[lists.LIVE]) + 1) * self.rules.fan_out + 4
        live = int(control[lists.LIVE])
        runs = len(pools.runs.state)
        if runs - 1 - live <= 2 * most:
            runs = 2 * max(runs, 2 * most + live)
            pools = pools._replace(
                runs=Runs(*(_grown(column, runs) for column in pools.runs)), vectors=self._grown_vectors(runs)
            )
        nodes = int(control[lists.NODES])
        if len(pools.nodes.row) < 2 * nodes + 4 * most + 2 * live:
            room = 2 * (2 * nodes + 4 * most + 2 * live)
            pools = pools._replace(nodes=Nodes(*(_grown(column, room) for column in pools.nodes)))
        if pools.completions.shape[1] <= 2 * most:
            pools = pools._replace(completions=np.empty((4, 4 * most), np.int64))
        if self.rules.times_out and pools.expired.shape[1] <= 4 * (most + live):
            pools = pools._replace(expired=np.empty((4, 8 * (most + live)), np.int64))
        if live > control[lists.BUCKETS]:
            pools = self._with_buckets(pools, 1 << (2 * live).bit_length())
        size = len(pools.table)
        while size < 8 * (most + live):
            size *= 2
        self.pools = pools._replace(table=np.full(size, lists.EMPTY, np.int64))
        control[lists.USED] = rehash(self.pools, int(control[lists.TOP]))

    def _with_buckets(self, pools: Pools, count: int) -> Pools:
        """Spread the runs that wait for a value over more buckets."""
        awaited = self.program.tables.awaited
        if not awaited.states:
            return pools
        runs = self._live()
        spread = pools._replace(buckets=self._buckets(count))
        self.control[lists.BUCKETS] = count
        link_all(awaited, spread, self.control, runs[awaited.slot[pools.runs.state[runs]] >= 0])
        return spread

    def _grown_vectors(self, runs: int) -> Vectors:
        integers = _grown(self.pools.vectors.integers, runs)
        return Vectors(integers, integers.view(np.float64), _grown(self.pools.vectors.nulls, runs))

    def sweep(self, stream: Stream, row: int) -> None:
        """End the runs whose window is over at `row`, and compact the graph."""
        tables, control = self.program.tables, self.control
        now = min(row, len(stream.classes) - 1)
        if now < 0:
            return
        places = int(control[lists.CLASSES]) * self.states
        drop_expired(tables, stream, self.rules, self.pools, control, self.pools.heads, places, now)
        drop_expired(tables, stream, self.rules, self.pools, control, self.pools.buckets, self._used_buckets(), now)
        self.take_expired(stream)
        tips = self._live()
        roots = self.pools.runs.tip[tips]
        count = int(control[lists.NODES])
        moved = np.empty(count, np.int64)
        control[lists.NODES] = compact(
            self.pools.nodes, count, roots, stream, tables.window, self.pools.class_counts, now, moved
        )
        self.pools.runs.tip[tips] = moved[roots]

    def _live(self) -> Int64s:
        """Return the live runs."""
        found = np.empty(int(self.control[lists.LIVE]), np.int64)
        listed = live_runs(self.pools, self.pools.heads, int(self.control[lists.CLASSES]) * self.states, found, 0)
        live_runs(self.pools, self.pools.buckets, self._used_buckets(), found, listed)
        return found

    def _used_buckets(self) -> int:
        return int(self.control[lists.BUCKETS]) * self.program.tables.awaited.states

    def most_crowded(self) -> int:
        """Return the component behind which most runs wait."""
        states = self.pools.runs.state[self._live()]
        state = int(np.bincount(states, minlength=1).argmax())
        return int(self.program.tables.states.current[state])

    def first_row(self, stream: Stream, count: int) -> int:
        """Return the first row that a live run speaks of, after a sweep at the last of `count` rows."""
        self.sweep(stream, count - 1)
        nodes = self.pools.nodes.first_start[: int(self.control[lists.NODES])]
        return int(nodes.min()) if len(nodes) else count

    def first_within(self, stream: Stream, row: int, group_start: int) -> int:
        """Return the first row that lies, or whose own window lies, before `row`."""
        found = row
        while found > group_start and looks_back_to(self.program.tables, stream, found - 1, row):
            found -= 1
        return found

    def shift(self, first: int, stream: Stream) -> None:
        """Number rows from `first` on as 0, 1, …."""
        if first == 0:
            return
        count = int(self.control[lists.NODES])
        nodes = self.pools.nodes
        for column in (nodes.row, nodes.first_start, nodes.last_start):
            column[:count] -= first
        self.pools.runs.seen[:] -= first
        self.pools.last_witness[:] = np.maximum(self.pools.last_witness - first, -1)
        tips = self._live()
        for slot in self.program.positions:
            self.pools.vectors.integers[tips, slot] -= first
        if len(self.program.positions):
            self.pools = self.pools._replace(table=np.full(len(self.pools.table), lists.EMPTY, np.int64))
            self.control[lists.USED] = rehash(self.pools, int(self.control[lists.TOP]))

    # -- results ---------------------------------------------------------------------------------

    def listings(self, count: int, stream: Stream) -> Iterator[tuple[Listing, int]]:
        """Yield the matches of the first `count` completions, as many at a time as there is room for."""
        yield from self._listings(self.pools.completions, count, stream, self.program.tables.window)

    def take_expired(self, stream: Stream) -> None:
        """List the partial matches that expired, before the graph changes; `expired` holds them."""
        count = int(self.control[lists.EXPIRED])
        if count:
            for listing, matches in self._listings(self.pools.expired, count, stream, no_window()):
                self.expired.append(first_of(listing, matches))
        self.control[lists.EXPIRED] = 0

    def _listings(self, ended: Int64s, count: int, stream: Stream, window: Window) -> Iterator[tuple[Listing, int]]:
        nodes = self.pools.nodes
        longest = int(nodes.longest[ended[1, :count]].max())
        depth = int(self.control[lists.NODES]) + 2
        scratch = Scratch(np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(longest, np.int64))
        matches, events, first = 4096, max(65_536, 4 * longest), 0
        while first < count:
            listing, done = new_listing(matches, events), np.zeros(2, np.int64)
            behind = list_matches(nodes, ended, first, count, stream, window, scratch, listing, done)
            if behind == first:
                matches, events = 4 * matches, 4 * events
                if events > MOST_LISTED_EVENTS:
                    raise too_many_matches()
                continue
            yield listing, int(done[LISTED])
            assert done[LISTED_EVENTS] <= events
            first = behind

    def counted(self, count: int, stream: Stream) -> tuple[UInt64s, UInt64s]:
        """Return the counts of the first `count` completions, low and high words."""
        size = int(self.control[lists.NODES])
        counted, stack = np.full(size, -1, np.int64), np.empty(2 * size + 1, np.int64)
        low, high, found = np.empty(size, np.int64), np.empty(size, np.int64), np.empty((2, count), np.int64)
        window = self.program.tables.window
        count_completions(self.pools.nodes, self.pools.completions, stream, window, counted, stack, low, high, found)
        return found[0].view(np.uint64), found[1].view(np.uint64)


def _grown(column: Any, room: int) -> Any:
    """Return a longer array that begins like `column`."""
    grown = np.zeros((room, *column.shape[1:]), column.dtype)
    grown[: len(column)] = column
    return grown


def too_many_matches() -> MatchError:
    """Return the error for what no list can hold."""
    return MatchError(
        "TOO_MANY_MATCHES",
        "one event completes more matches than can be listed",
        clause="PATTERN",
        hint="matches='count' counts them; WITHIN or a stricter strategy leaves fewer",
    )


@compiled
def drop_expired(
    tables: RunTables, stream: Stream, rules: Rules, pools: Pools, control: Int64s, heads: Int64s, places: int, now: int
) -> None:
    """Free the runs on the first lists of `heads` whose windows are over at row `now`."""
    for place in range(places):
        previous, run = np.int64(-1), heads[place]
        while run >= 0:
            following = pools.runs.following[run]
            start = pools.nodes.last_start[pools.runs.tip[run]]
            inside = is_open(stream, tables.window, pools.class_counts, start, now)
            if inside and not is_late(tables, stream, pools, run, now):
                previous = run
            else:
                if previous < 0:
                    heads[place] = following
                else:
                    pools.runs.following[previous] = following
                if rules.times_out:
                    note_expired(tables, stream, pools, control, run, now, not inside)
                lists.free_run(pools, control, run)
            run = following


@compiled
def live_runs(pools: Pools, heads: Int64s, places: int, found: Int64s, count: int) -> int:
    """Write all runs on the first `places` lists behind the `count` ones found so far; return how many there are."""
    for place in range(places):
        run = heads[place]
        while run >= 0:
            found[count] = run
            count += 1
            run = pools.runs.following[run]
    return count


@compiled
def link_all(awaited: Awaited, pools: Pools, control: Int64s, runs: Int64s) -> None:
    """Put runs on their lists."""
    for i in range(runs.shape[0]):
        lists.link(awaited, pools, control, runs[i])


@compiled
def rehash(pools: Pools, top: int) -> int:
    """Put all runs that can be merged into an empty table; return how many there are."""
    used, mask = 0, pools.table.shape[0] - 1
    for run in range(top):
        if pools.runs.place[run] < 0:
            continue
        at = np.int64(lists.hash_run(pools.runs, pools.vectors, run) & np.uint64(mask))
        while pools.table[at] != lists.EMPTY:
            at = (at + 1) & mask
        pools.table[at] = run
        pools.runs.place[run] = at
        used += 1
    return used


@compiled
def looks_back_to(tables: RunTables, stream: Stream, row: int, origin: int) -> bool:
    """Whether a negation at the start of a match from `origin` on may look at `row`."""
    # Windows of events count those of one class: no row tells where they begin for the others.
    if tables.window.kind == EVENTS or in_window(stream, tables.window, row, origin):
        return True
    windows = tables.gaps.windows
    for gap in range(windows.kind.shape[0]):
        stands_first = tables.gaps.leads[gap] and windows.kind[gap] != 0
        if stands_first and (windows.kind[gap] == EVENTS or in_own_window(stream, windows, gap, row, origin)):
            return True
    return False
