"""Row patterns with match-dependent conditions: backtracking that remembers what failed.

The machine of `sparkcep.engine.backtrack_kernel` runs a program (`sparkcep.engine.program`)
over the rows, one start after the other, trying choices in the standard's order of
preference (ISO/IEC 19075-5, 4.12, 4.14); the first way to DONE is the match. Choice points
lie on an explicit stack. What a condition may read about the match so far is kept by the
number of rows taken (`sparkcep.engine.history`), so that going back costs nothing. Choices
that failed are remembered under everything that later conditions and loops can read
(`sparkcep.engine.memo`, `sparkcep.engine.live_state`), so that paths are told apart exactly as far as
a condition can tell them apart.

Remembering begins when a group takes more steps than a group usually does: most groups need
no memory at all.
"""

from __future__ import annotations

import functools

import numpy as np

from sparkcep.engine import backtrack_kernel as kernel
from sparkcep.engine.backtrack_kernel import Data, Machine, Workspace
from sparkcep.engine.history import Columns, History, grown_history, new_history
from sparkcep.engine.limits import OWN, last_rows
from sparkcep.engine.live_state import first_variables, key_layout
from sparkcep.engine.matches import Int64s, Matches, Rows, Search, SearchFault, doubled
from sparkcep.engine.memo import FIRST_KEYS, Memo, grown_memo, may_grow, new_memo
from sparkcep.engine.program import Program
from sparkcep.engine.slots import Codes, SlotCode

FIRST_CAPACITY = 256
DEFAULT_PATIENCE = 4096
_FAULTS = {
    kernel.BUDGET_EXCEEDED: "budget",
    kernel.NOT_BOUND: "target not bound",
    kernel.FIRST_ROW: "target is first row",
}


def backtrack(
    program: Program,
    code: SlotCode,
    rows: Rows,
    search: Search,
    codes: Codes | None = None,
    *,
    memo: bool = True,
    patience: int = DEFAULT_PATIENCE,
) -> Matches:
    """Find the matches of a row pattern, match-dependent conditions included.

    Parameters
    ----------
    program
        The compiled pattern.
    code
        The match-dependent conditions; its variables are the program's.
    rows
        The rows of one or more groups.
    search
        Skip mode, limits and work budget.
    codes
        The codes of the rows' strings and other ordered values, as `sparkcep.engine.columns` returns them.
    memo
        Whether failed choices are remembered. Without, matches are the same, time may be exponential.
    patience
        The number of steps of a group, beyond 16 per row, after which remembering begins.

    Raises
    ------
    SearchFault
        A skip target took no row or is the first row of the match; a group needs more than
        ``search.max_steps`` instructions.
    """
    limits = last_rows(rows, search)
    machine = _machine(program, rows, search, memo, patience)
    data = Data(
        np.require(rows.conditions, np.uint64, OWN).view(np.int64),
        np.require(rows.group_offsets, np.int64, OWN),
        limits,
        Columns(
            np.require(rows.integers, np.int64, OWN),
            np.require(rows.integer_nulls, np.bool_, OWN),
            np.require(rows.floats, np.float64, OWN),
            np.require(rows.float_nulls, np.bool_, OWN),
        ),
    )
    memory = new_memo(*_key_layout(program, code, len(limits) > 0), FIRST_KEYS)
    history = new_history(FIRST_CAPACITY, len(code.row_sets), len(code.aggregates))
    work = _run(machine, data, code, codes or {}, history, memory, _workspace(program))
    return _matches(work, rows)


@functools.lru_cache(maxsize=64)
def _key_layout(program: Program, code: SlotCode, limited: bool) -> tuple[Int64s, Int64s]:
    return key_layout(program, code, limited)


def _machine(program: Program, rows: Rows, search: Search, memo: bool, patience: int) -> Machine:
    settings = np.zeros(kernel.SETTINGS, np.int64)
    settings[kernel.SKIP] = search.skip
    settings[kernel.MAX_STEPS] = search.max_steps
    settings[kernel.AT_START] = rows.at_start
    settings[kernel.COMPLETE] = rows.complete
    settings[kernel.LOOPS] = program.loops
    settings[kernel.PATIENCE] = patience
    settings[kernel.USES_MEMO] = memo
    settings[kernel.FIRST_NUMBER] = rows.first_number
    skip_variables = np.zeros(len(program.variables), np.bool_)
    skip_variables[list(search.skip_variables)] = True
    return Machine(
        instructions=np.ascontiguousarray(np.stack(program.encode(), axis=1)),
        label_variables=np.array([label.variable for label in program.labels], np.int64),
        skip_variables=skip_variables,
        starters=_starters(program, len(rows.conditions)),
        settings=settings,
    )


def _starters(program: Program, words: int) -> Int64s:
    variables = first_variables(program)
    if variables is None:
        return np.full(max(1, words), -1, np.int64)
    bits = np.zeros(words, np.uint64)
    for variable in variables:
        bits[variable // 64] |= np.uint64(1) << np.uint64(variable % 64)
    return bits.view(np.int64)


def _workspace(program: Program) -> Workspace:
    cursor = np.zeros(kernel.CURSOR_CELLS, np.int64)
    cursor[kernel.GROUP] = -1
    cursor[kernel.GENERATION] = 1
    return Workspace(
        cursor=cursor,
        state=np.zeros(2 * program.loops + program.permutations, np.int64),
        choices=np.empty((FIRST_CAPACITY, kernel.CHOICE_FIELDS), np.int64),
        log=np.empty((FIRST_CAPACITY, 2), np.int64),
        matches=np.empty((FIRST_CAPACITY, 5), np.int64),
        run_label=np.empty(FIRST_CAPACITY, np.int32),
        run_length=np.empty(FIRST_CAPACITY, np.int32),
    )


def _run(
    machine: Machine, data: Data, code: SlotCode, codes: Codes, history: History, memory: Memo, work: Workspace
) -> Workspace:
    """Let the kernel search to the end, and give it room whenever it asks for some."""
    bound, registers = code.bound(codes)
    while True:
        report = kernel.search_groups(machine, data, bound, registers, code.tracked, history, memory, work)
        cursor = work.cursor
        if report == kernel.FINISHED:
            return work
        if report in _FAULTS:
            group, start, number = (int(cursor[i]) for i in (kernel.GROUP, kernel.START, kernel.NUMBER_OF_MATCH))
            raise SearchFault(_FAULTS[report], group, start, number)
        if report == kernel.HISTORY_FULL:
            history = grown_history(history, 2 * len(history.labels))
        elif report == kernel.MEMO_FULL and may_grow(memory):
            memory = grown_memo(memory, int(cursor[kernel.KEYS]), int(cursor[kernel.GENERATION]))
        elif report == kernel.MEMO_FULL:
            cursor[kernel.KEYS_CLOSED] = 1
        else:
            work = _grown_workspace(work, report)


def _grown_workspace(work: Workspace, report: int) -> Workspace:
    if report == kernel.CHOICES_FULL:
        return work._replace(choices=doubled(work.choices))
    if report == kernel.LOG_FULL:
        return work._replace(log=doubled(work.log))
    if report == kernel.MATCHES_FULL:
        return work._replace(matches=doubled(work.matches))
    return work._replace(run_label=doubled(work.run_label), run_length=doubled(work.run_length))


def _matches(work: Workspace, rows: Rows) -> Matches:
    cursor = work.cursor
    found, runs = int(cursor[kernel.MATCHES]), int(cursor[kernel.RUNS])
    group, start, end, number, first_run = (np.ascontiguousarray(work.matches[:found, i]) for i in range(5))
    any_group = cursor[kernel.GROUP] >= 0
    return Matches(
        group=group,
        start=start,
        end=end,
        number=number,
        run_offsets=np.append(first_run, runs),
        run_label=work.run_label[:runs].copy(),
        run_length=work.run_length[:runs].copy(),
        resume=rows.count if rows.complete or not any_group else int(cursor[kernel.START]),
        next_number=int(cursor[kernel.NUMBER_OF_MATCH]) if any_group else rows.first_number,
        steps=int(cursor[kernel.STEPS]),
    )
