"""Benchmarks of the `runs` engine alone, on one core, without Spark, Arrow and the construction of matches."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.event_backtracker import Backtracker
from benchmarks.jobs import Scale
from benchmarks.race import Timing, line_through, paired_ratio
from benchmarks.report import Result
from benchmarks.sase import Query, Stock, stock
from sparkcep.engine import run_lists as lists
from sparkcep.engine import runs_kernel as kernel
from sparkcep.engine.events import ALL, COUNT, EventRows, EventSearch
from sparkcep.engine.runs import RunsMatcher, _Push

PAPER_MERGED = {500: 47.9, 1000: 50.9, 1500: 66.6, 2000: 75.3}
"""Share of run steps that merging saves, in per cent, by window: Agrawal et al. 2008, Tables 2 and 3."""

MERGED_TRADES = 200_000
WINDOWS = (500, 1000, 1500, 2000)
BATCH = 10_000
PASSES = 5


class KernelRun:
    """The kernel over a stream that is at hand: graph and runs are built, matches are not.

    Parameters
    ----------
    query, rows
        What is looked for, and where.
    merges
        Whether equal runs are merged.
    """

    def __init__(self, query: Query, rows: EventRows, *, merges: bool = True) -> None:
        self.matcher = RunsMatcher(query.program(EventSearch(output=COUNT, merge_runs=merges)))
        self._push = _Push(self.matcher, rows, {})
        self.matcher.pools.reserve_classes(int(rows.classes.max()) + 1)
        self.completions = 0

    def run(self) -> None:
        """Take all events; what the engine does to keep its memory bounded is part of it."""
        pools, given, tables = self.matcher.pools, self._push.given, self.matcher.program.tables
        while True:
            status = kernel.advance(tables, given, pools.rules, pools.pools, pools.control)
            self.completions += int(pools.control[lists.COMPLETIONS])
            pools.control[lists.COMPLETIONS] = 0
            if status == lists.DONE:
                return
            pools.make_room(given.stream, int(pools.control[lists.ROW]))

    @property
    def visits(self) -> int:
        """How many runs were looked at, summed over all events."""
        return int(self.matcher.pools.control[lists.VISITS])

    @property
    def peak(self) -> int:
        """The most runs alive at once."""
        return int(self.matcher.pools.control[lists.PEAK])


Runs = Mapping[str, tuple[Query, EventRows, bool]]


def timed_kernels(runs: Runs, repeats: int) -> tuple[dict[str, Timing], dict[str, KernelRun]]:
    """Run the kernel in turns, each time with a new matcher; return processor times and the last runs."""
    timings, last = {name: Timing() for name in runs}, {}
    for round_number in range(-1, repeats):
        for name in list(runs) if round_number % 2 else list(runs)[::-1]:
            query, rows, merges = runs[name]
            last[name] = KernelRun(query, rows, merges=merges)
            gc.collect()
            begin = time.process_time()
            last[name].run()
            seconds = time.process_time() - begin
            if round_number >= 0:
                timings[name].seconds.append(seconds)
    return timings, last


def runs(scale: Scale) -> Result:
    """Measure bar 3, event patterns: what the kernel does in a second."""
    result = _result("runs", "Runs of event patterns: the kernel alone, one core", scale)
    stream = stock(scale.rows)
    queries = [*(Query("p2", "s2", w) for w in WINDOWS), Query("p1", "s3", 500), Query("p2", "s3", 500)]
    named = {f"{query.name}, {query.window} events": query for query in queries}
    timings, last = timed_kernels(
        {name: (query, query.rows(stream), True) for name, query in named.items()}, scale.repeats
    )
    for name, timing in timings.items():
        result.records.append(
            {
                "query": name,
                "M events/s": scale.rows / timing.median / 1e6,
                "spread": timing.spread,
                "run steps per event": last[name].visits / scale.rows,
                "peak live runs": last[name].peak,
                "completions": last[name].completions,
            }
        )
    speeds = {record["query"]: record["M events/s"] for record in result.records}
    result.at_least("p2 s2, 500 events: M events/s", speeds["p2 s2, 500 events"], 20)
    result.at_least("p1 s3, 500 events: M events/s", speeds["p1 s3, 500 events"], 3)
    flat = [speeds[f"p2 s2, {window} events"] for window in WINDOWS]
    result.at_most("p2 s2: slowest window ÷ fastest", max(flat) / min(flat), 1.3)
    return result


def merging(scale: Scale) -> Result:
    """Measure what merging equal runs saves (the paper's experiment 6, Tables 2 and 3)."""
    result = _result("merging", "Merging equal runs, p1 s3: time of the kernel, matches not constructed", scale)
    # A run is short next to the moods of a shared processor: many runs, and each is compared with its neighbour.
    result.settings["repeats"] = scale.repeats * PASSES
    stream = stock(scale.rows)
    queries = {window: Query("p1", "s3", window) for window in WINDOWS}
    pairs: dict[str, tuple[Query, EventRows, bool]] = {}
    for window, query in queries.items():
        rows = query.rows(stream)
        pairs[f"{window} merged"], pairs[f"{window} apart"] = (query, rows, True), (query, rows, False)
    timings, last = timed_kernels(pairs, scale.repeats * PASSES)
    for window, query in queries.items():
        names = f"{window} merged", f"{window} apart"
        merged, apart = (timings[name] for name in names)
        merged_steps, steps = (last[name].visits for name in names)
        (matches,) = {count_of(query, stream, merges=merges) for merges in (True, False)}
        ratio = paired_ratio(apart, merged)
        result.records.append(
            {
                "events": window,
                "apart ÷ merged": ratio,
                "merged ms": 1000 * merged.median,
                "apart ms": 1000 * apart.median,
                "merged spread": merged.spread,
                "apart spread": apart.spread,
                "peak live runs": last[names[0]].peak,
                "peak apart": last[names[1]].peak,
                "matches": matches,
                "run steps": merged_steps,
                "run steps apart": steps,
                "share merged %": 100 * (1 - merged_steps / steps),
                "the paper's %": PAPER_MERGED[window],
            }
        )
        result.at_least(f"{window} events: apart ÷ merged", ratio, 1.4)
    return result


def count_of(query: Query, stream: Stock, *, merges: bool = True) -> int:
    """Return the number of matches, counted on the match graph."""
    matcher = RunsMatcher(query.program(EventSearch(output=COUNT, merge_runs=merges)))
    return sum(count for _, count in matcher.push(query.rows(stream), {}).counts)


def lengths(scale: Scale) -> Result:
    """Measure the whole engine, matches constructed: time against the sum of their lengths."""
    result = _result("lengths", "Time against the sum of the lengths of matches, p1 s3, matches constructed", scale)
    stream = stock(scale.rows)
    windows = (1, 125, 250, 375, 500, 625, 750, 1000)
    timings = {window: Timing() for window in windows}
    sizes: dict[int, tuple[int, int]] = {}
    for round_number in range(-1, scale.repeats):
        for window in windows if round_number % 2 else windows[::-1]:
            seconds, sizes[window] = _constructed(Query("p1", "s3", window), stream)
            if round_number >= 0:
                timings[window].seconds.append(seconds)
    events, medians = [sizes[window][1] for window in windows], [timings[window].median for window in windows]
    slope, fixed, fit = line_through(events, medians)
    for window in windows:
        matches, length = sizes[window]
        result.records.append(
            {
                "window": window,
                "matches": matches,
                "sum of lengths": length,
                "seconds": timings[window].median,
                "line": fixed + slope * length,
                "spread": timings[window].spread,
            }
        )
    result.at_least("R² of seconds against the sum of lengths", fit, 0.99)
    return result


def _constructed(query: Query, stream: Stock) -> tuple[float, tuple[int, int]]:
    """Push batches as Spark would; return processor time, matches and the sum of their lengths."""
    matcher = RunsMatcher(query.program(EventSearch(output=ALL)))
    batches = in_batches(query.rows(stream))
    gc.collect()
    begin, matches, length = time.process_time(), 0, 0
    for batch in batches:
        found = matcher.push(batch, {})
        matches, length = matches + found.count, length + len(found.position)
    return time.process_time() - begin, (matches, length)


def in_batches(rows: EventRows, size: int = BATCH) -> Sequence[EventRows]:
    """Cut a group into the batches that Spark would send."""
    parts = []
    for first in range(0, rows.count, size):
        part = rows.behind(first) if first + size >= rows.count else _between(rows, first, first + size)
        part.starts, part.complete = rows.starts[rows.starts == first] - first, first + size >= rows.count
        parts.append(part)
    return parts


def _between(rows: EventRows, first: int, last: int) -> EventRows:
    cut = slice(first, last)
    return EventRows(
        rows.starts[:0], rows.conditions[:, cut].copy(), None, rows.classes[cut].copy(), rows.integers[:, cut].copy(),
        rows.integer_nulls[:, cut].copy(), rows.floats[:, cut].copy(), rows.float_nulls[:, cut].copy(), False,
    )  # fmt: skip


def backtracking(scale: Scale) -> Result:
    """Measure the engine next to a backtracker that walks one start at a time: visits and time, no bar."""
    result = _result("backtracking", "Runs next to one-start-at-a-time backtracking, matches only counted", scale)
    stream = stock(scale.rows)
    for query in (Query(rising, "s3", window) for rising in ("p1", "p2") for window in WINDOWS):
        result.records.append(_beside_backtracking(query, stream, scale.repeats))
    return result


def _beside_backtracking(query: Query, stream: Stock, repeats: int) -> dict[str, Any]:
    rows, backtracker = query.rows(stream), Backtracker(query, stream)
    names = ("backtracking", "apart", "merged")
    timings = {name: Timing() for name in names}
    steps: dict[str, int] = {}
    for round_number in range(-1, repeats):
        for name in names if round_number % 2 else names[::-1]:
            run = KernelRun(query, rows, merges=name == "merged")
            gc.collect()
            begin = time.process_time()
            if name == "backtracking":
                steps[name] = backtracker.run().visits
            else:
                run.run()
                steps[name] = run.visits
            seconds = time.process_time() - begin
            if round_number >= 0:
                timings[name].seconds.append(seconds)
    matches = backtracker.run().matches
    if matches != count_of(query, stream):
        raise AssertionError(f"{query.name}: the backtracker counts {matches} matches, the engine others")
    record: dict[str, Any] = {"query": query.name, "events": query.window, "matches": matches}
    record |= {f"steps, {name}": steps[name] for name in names}
    record |= {f"{name} s": timings[name].median for name in names}
    return record | {f"spread, {name}": timings[name].spread for name in names}


def _result(name: str, title: str, scale: Scale) -> Result:
    return Result(name, title, {"events": scale.rows, "repeats": scale.repeats})
