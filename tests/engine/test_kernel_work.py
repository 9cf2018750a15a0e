"""How much the kernels do, counted and not timed: an engine that begins to look at things twice is seen.

A figure that falls is good news: write down the new one.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.events import KernelRun
from benchmarks.kernels import kernel_jobs
from benchmarks.sase import Query, stock
from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.backtrack import backtrack
from sparkcep.engine.matches import PAST_LAST_ROW, TO_NEXT_ROW, Rows, Search
from sparkcep.engine.program import compile_program
from sparkcep.engine.slots import lower
from sparkcep.engine.sweep import sweep
from sparkcep.logical.slots import SlotConditions
from sparkcep.syntax.row_pattern import parse_row_pattern

ROWS = 8_000


@pytest.mark.parametrize(
    ("kernel", "steps"),
    [
        # The sweep takes each row backwards once, and forwards only where a match is read off.
        ("sweep V-shape", 17_329),
        ("sweep funnel A B+ C", 16_080),
        ("sweep failing A+ B", 16_000),
        ("backtrack V-shape", 19_189),
        # Each start of a group of 80 rows takes all rows behind it.
        ("backtrack failing A+ B", 489_800),
    ],
)
def test_steps_over_groups(kernel: str, steps: int) -> None:
    assert kernel_jobs(ROWS)[kernel]().steps == steps


@pytest.mark.parametrize(
    ("pattern", "skip", "swept", "stepped"),
    [
        # Linear however often a part may be tried: for the sweep rows, for the machine what it remembers.
        ("A+ B", PAST_LAST_ROW, 4_000, 15_995),
        ("(A+)+ B", PAST_LAST_ROW, 4_000, 53_959),
        ("A* A* A* A* B", PAST_LAST_ROW, 4_000, 71_936),
        ("(A?){50} A{50}", PAST_LAST_ROW, 4_020, 7_060),
        ("A+", PAST_LAST_ROW, 4_001, 4_002),
        # Overlapping matches of one loop: the sweep jumps over its repetitions, the machine takes each one.
        ("A+", TO_NEXT_ROW, 6_004, 4_006_000),
    ],
)
def test_steps_of_patterns_that_try_in_vain(pattern: str, skip: int, swept: int, stepped: int) -> None:
    found = parse_row_pattern(pattern)
    rows = Rows(np.array([0, 2_000], np.int64), np.ones((1, 2_000), np.uint64))
    search = Search(skip=skip, max_steps=10**9)
    code = lower(SlotConditions(("A", "B"), (), (None, None)))
    assert sweep(compile_automaton(found, ("A", "B")), rows, search).steps == swept
    assert backtrack(compile_program(found, ("A", "B")), code, rows, search, {}).steps == stepped


@pytest.mark.parametrize(
    ("query", "merged", "apart"),
    [
        (Query("p1", "s3", 500), (10_189, 2, 1_449), (15_202, 6, 2_134)),
        (Query("p2", "s2", 500), (99, 1, 12), (99, 1, 12)),
        (Query("p2", "s3", 500), (10_686, 3, 1_516), (15_202, 6, 2_134)),
    ],
)
def test_visits_of_runs(query: Query, merged: tuple[int, ...], apart: tuple[int, ...]) -> None:
    """Agrawal et al. 2008: runs that are looked at, the most at once, and those that end."""
    rows = query.rows(stock(20_000))
    for merges, expected in ((True, merged), (False, apart)):
        kernel = KernelRun(query, rows, merges=merges)
        kernel.run()
        assert (kernel.visits, kernel.peak, kernel.completions) == expected
