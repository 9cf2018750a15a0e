"""Benchmarks of the engines that bind events in any order, `ordered` and `tree`: windows, output, rare events.

What is timed is the matcher alone, on one core, by the clock of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.data import events
from benchmarks.event_jobs import WINDOW, Prepared, planted
from benchmarks.jobs import Scale
from benchmarks.race import line_through, paired_ratio, race
from benchmarks.report import Result
from benchmarks.session import session
from sparkcep import Options
from sparkcep.engine.events import COUNT, EventRows, EventSearch, TimeUnits
from sparkcep.engine.ordered import OrderedMatcher
from sparkcep.engine.runs import RunsMatcher
from sparkcep.engine.runs_program import compile_runs
from sparkcep.engine.tree import TreeMatcher
from sparkcep.planning.lazy import estimates_of
from sparkcep.planning.statistics import Statistics
from sparkcep.spark.bound_programs import ordered_program, tree_program
from tests.engine.event_workloads import stocks, total

ENGINES = ("ordered", "tree")
WINDOWED = {
    "row conditions, [key]": "SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.amount < 900 }",
    "equalities of all": "SEQ(A a, B b, C c) WHERE skip_till_any_match { a.k = b.k AND b.k = c.k }",
    "equality of two": "SEQ(A a, B b, D c) WHERE skip_till_any_match { a.k = b.k }",
}


def any_order_windows(scale: Scale) -> Result:
    """Measure bar 6: the same output under windows of 1, 10 and 100 times the length.

    There is no D, so the last pattern finds nothing; its equality does not tie all events together.
    """
    title = "Cost of ordered and tree as the window grows, the same matches, matcher alone"
    result = Result("any_order_windows", title, scale.settings())
    with session() as spark:
        rows = spark.read.parquet(str(planted(scale.rows)))
        for name, pattern in WINDOWED.items():
            for engine in ENGINES:
                jobs = {str(f): Prepared(rows, **_within(pattern, f * WINDOW, engine)) for f in (1, 10, 100)}
                (matches,) = {job.run() for job in jobs.values()}
                timings = race(
                    {factor: job.run for factor, job in jobs.items()}, repeats=scale.repeats, clock=time.process_time
                )
                medians = [timing.median for timing in timings.values()]
                for factor, timing in timings.items():
                    result.records.append(
                        {
                            "pattern": name,
                            "engine": engine,
                            "window": int(factor) * WINDOW,
                            "matches": matches,
                            "seconds": timing.median,
                            "÷ first": timing.median / medians[0],
                            "spread": timing.spread,
                        }
                    )
                result.at_most(f"{name}, {engine}: slowest window ÷ fastest", max(medians) / min(medians), 1.3)
    return result


def _within(pattern: str, window: int, engine: Any) -> dict[str, Any]:
    return {
        "pattern": f"{pattern} WITHIN {window} RETURN a.t AS began, c.t AS ended",
        "partition_by": "one",
        "order_by": "t",
        "type_column": "kind",
        "options": Options(plan=engine),
    }


def any_order_output(scale: Scale) -> Result:
    """Measure bar 7: the same rows and pattern with a growing number of matches of three events."""
    title = "Cost of ordered and tree against output size, three events per match, matcher alone"
    result = Result("any_order_output", title, scale.settings(keys=100))
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        for engine in ENGINES:
            jobs = {str(share): Prepared(rows, **_three_events(share, engine)) for share in range(0, 101, 10)}
            sizes = [3 * job.run() for job in jobs.values()]
            timings = race(
                {share: job.run for share, job in jobs.items()}, repeats=scale.repeats, clock=time.process_time
            )
            slope, fixed, fit = line_through(sizes, [timing.median for timing in timings.values()])
            for size, timing in zip(sizes, timings.values(), strict=True):
                result.records.append(
                    {
                        "engine": engine,
                        "events in matches": size,
                        "seconds": timing.median,
                        "line": fixed + slope * size,
                        "spread": timing.spread,
                    }
                )
            result.at_least(f"{engine}: R² of seconds against events in matches", fit, 0.99)
    return result


def _three_events(share: int, engine: Any) -> dict[str, Any]:
    return {
        "pattern": "SEQ(A a, _ b, _ c) WITHIN 5 EVENTS RETURN a.ts AS began, b.amount AS second, c.amount AS third",
        "partition_by": "g100",
        "order_by": "ts",
        "types": {"A": f"amount < {10 * share}"},
        "strategy": "skip_till_any_match",
        "options": Options(plan=engine),
    }


def lazy(scale: Scale) -> Result:
    """Measure rare events first: the correlated stocks of Kolchinsky et al. 2015 with all and with few events c."""
    result = Result("lazy", "Stocks with correlated histories: binding rare events first", {"repeats": scale.repeats})
    for share, matches in ((1.0, 453_151), (0.02, 3_698)):
        found, given = stocks(share)
        engines = _stock_engines(found)
        for name, engine in engines.items():
            count = total(engine().push(given, {}))
            if count != matches:
                raise AssertionError(f"{name} finds {count} matches, and there are {matches}")
        timings = race(
            {name: partial(_pushed, engine, given) for name, engine in engines.items()},
            repeats=scale.repeats,
            clock=time.process_time,
        )
        for name, timing in timings.items():
            result.records.append(
                {
                    "share of c %": 100 * share,
                    "engine": name,
                    "matches": matches,
                    "seconds": timing.median,
                    "÷ ordered": paired_ratio(timing, timings["ordered"]),
                    "spread": timing.spread,
                }
            )
        if share < 1:
            for name in ("runs", "eager order"):
                ratio = paired_ratio(timings[name], timings["ordered"])
                result.at_least(f"{100 * share:g} % of c: {name} ÷ ordered", ratio, 20)
    return result


def _pushed(engine: Callable[[], Any], given: EventRows) -> None:
    engine().push(given, {})


def _stock_engines(found: Any) -> dict[str, Callable[[], Any]]:
    """Return what makes a new matcher of each engine."""
    search = EventSearch(output=COUNT, strict_time=True)
    base = compile_runs(found, search, TimeUnits().window)
    apart = compile_runs(found, EventSearch(output=COUNT, strict_time=True, merge_runs=False), TimeUnits().window)
    estimates = [estimates_of(order, found, Statistics()) for order in found.orders]
    chosen, joined = ordered_program(found, base, estimates), tree_program(found, base, estimates)
    eager = replace(chosen, choosers=(lambda counts: (0, 1, 2),))
    return {
        "runs": lambda: RunsMatcher(base),
        "runs, not merged": lambda: RunsMatcher(apart),
        "eager order": lambda: OrderedMatcher(eager),
        "ordered": lambda: OrderedMatcher(chosen),
        "tree": lambda: TreeMatcher(joined),
    }
