"""Benchmarks of the kernels alone, on one core, without Spark and Arrow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.jobs import Scale
from benchmarks.race import race
from benchmarks.report import Result
from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.backtrack import backtrack
from sparkcep.engine.matches import Matches, Rows, Search
from sparkcep.engine.program import compile_program
from sparkcep.engine.slots import lower
from sparkcep.engine.sweep import sweep
from sparkcep.logical.slots import (
    ALL_ROWS,
    CURRENT_ROW,
    DOUBLE,
    Comparison,
    Operand,
    Read,
    RowReference,
    SlotConditions,
    SlotExpression,
)
from sparkcep.syntax.row_pattern import parse_row_pattern

ROWS_PER_GROUP = 80
SEED = 7
V_SHAPE = "STRT DOWN+ UP+"


def kernels(scale: Scale) -> Result:
    """Measure bar 3, row patterns: the sweep and the backtracker over groups of 80 rows."""
    result = Result(
        "kernels", "Kernels alone, one core, groups of 80 rows", {"rows": scale.rows, "repeats": scale.repeats}
    )
    jobs = kernel_jobs(scale.rows)
    timings = race(jobs, repeats=scale.repeats, clock=time.process_time)
    for name, job in jobs.items():
        found = job()
        result.records.append(
            {
                "kernel": name,
                "M rows/s": scale.rows / timings[name].median / 1e6,
                "spread": timings[name].spread,
                "matches": len(found.start),
                "M matches/s": len(found.start) / timings[name].median / 1e6,
                "steps per row": found.steps / scale.rows,
            }
        )
    slowest = min(record["M rows/s"] for record in result.records if record["kernel"].startswith("sweep"))
    result.at_least("sweep, slowest, M rows/s", slowest, 50)
    return result


def kernel_jobs(count: int) -> dict[str, Callable[[], Matches]]:
    """Return one call of a matcher per kernel and pattern, over `count` rows."""
    rng = np.random.default_rng(SEED)
    prices = 100 + np.cumsum(rng.standard_normal(count))
    kinds = rng.choice(4, count, p=(0.5, 0.2, 0.2, 0.1))
    step = np.diff(prices, prepend=prices[0])
    first = np.arange(count) % ROWS_PER_GROUP == 0
    always = np.ones(count, np.bool_)
    falls_and_rises = rows_of(count, always, (step < 0) & ~first, (step > 0) & ~first)
    funnel = rows_of(count, kinds == 0, kinds == 2, kinds == 3)
    failing = rows_of(count, always, ~always)
    priced = rows_of(count, always, always, always)
    priced.floats, priced.float_nulls = prices[np.newaxis].copy(), np.zeros((1, count), np.bool_)
    return {
        "sweep V-shape": _sweep(V_SHAPE, falls_and_rises),
        "sweep funnel A B+ C": _sweep("A B+ C", funnel),
        "sweep failing A+ B": _sweep("A+ B", failing),
        "backtrack V-shape": _backtrack(V_SHAPE, priced, (None, _price_against_last("<"), _price_against_last(">"))),
        "backtrack failing A+ B": _backtrack("A+ B", failing, (None, None)),
    }


def rows_of(count: int, *conditions: np.ndarray) -> Rows:
    """Return rows in groups of 80 whose variables hold as given."""
    words = np.zeros((1, count), np.uint64)
    for variable, holds in enumerate(conditions):
        words[0] |= holds.astype(np.uint64) << np.uint64(variable)
    offsets = np.append(np.arange(0, count, ROWS_PER_GROUP), count).astype(np.int64)
    return Rows(offsets, words)


def _price_against_last(operator: str) -> SlotExpression:
    """``price < LAST(price, 1)``."""
    before = RowReference(ALL_ROWS, "last", 1)
    return Comparison(operator, Read(0, CURRENT_ROW, DOUBLE), Read(0, before, DOUBLE))  # type: ignore[arg-type]


def _sweep(pattern: str, rows: Rows) -> Callable[[], Matches]:
    automaton = compile_automaton(parse_row_pattern(pattern), variables_of(pattern))
    return lambda: sweep(automaton, rows, Search())


def _backtrack(pattern: str, rows: Rows, conditions: tuple[SlotExpression | None, ...]) -> Callable[[], Matches]:
    variables = variables_of(pattern)
    program = compile_program(parse_row_pattern(pattern), variables)
    operands = (Operand("price", DOUBLE),) if any(conditions) else ()
    code = lower(SlotConditions(variables, operands, conditions))
    return lambda: backtrack(program, code, rows, Search(), {})


def variables_of(pattern: str) -> tuple[str, ...]:
    """Return the variables of a plain sequence."""
    return tuple(word.strip("+") for word in pattern.split())


def compiling(scale: Scale) -> Result:
    """Measure what an empty cache of compiled kernels costs, in a fresh process."""
    result = Result("compile", "Compiling every kernel once, empty cache", {"repeats": 1})
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        cold, warm = (_timed_kernels(environment) for _ in range(2))
    for name, (count, seconds) in sorted(cold["kernels"].items(), key=lambda item: -item[1][1]):
        if seconds >= 0.3:
            result.records.append({"kernel": name, "signatures": count, "own CPU s": seconds})
    result.settings["compiled"] = len(cold["kernels"])
    result.settings["CPU s cold"], result.settings["CPU s warm"] = cold["seconds"], warm["seconds"]
    result.at_most("CPU seconds, empty cache", cold["seconds"], 25)
    result.at_most("CPU seconds, filled cache", warm["seconds"], 1)
    return result


def _timed_kernels(environment: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold"],
        env=environment,
        cwd=Path(__file__).parents[1],
        check=True,
        capture_output=True,
        text=True,
    )
    content: dict[str, object] = json.loads(done.stdout)
    return content
