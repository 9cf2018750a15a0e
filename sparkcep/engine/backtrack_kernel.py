"""The machine that searches for preferred matches by trying choices in order.

It stops and asks for more room whenever an array is full, and goes on where it stopped: its
whole state is in the arrays it is given. See `sparkcep.engine.backtrack`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.history import Columns, History, Tracked
from sparkcep.engine.history_kernels import record
from sparkcep.engine.live_state import UNKEYED
from sparkcep.engine.matches import PAST_LAST_ROW, TO_FIRST, TO_NEXT_ROW, Bools, Int32s, Int64s
from sparkcep.engine.memo import KNOWN, NO_ROOM, Memo, enter, write_key
from sparkcep.engine.program import (
    ANCHOR,
    ANCHOR_START,
    DONE,
    ENTER,
    JUMP,
    MATCH,
    PERMUTE_ENTER,
    PERMUTE_NEXT,
    REPEAT,
    ROUND,
    SPLIT,
)
from sparkcep.engine.slot_code import Code, Registers
from sparkcep.engine.slot_kernels import holds

# What the machine reports.
(FINISHED, RUNNING, FOUND, FAILED, BUDGET_EXCEEDED, NOT_BOUND, FIRST_ROW) = range(7)
(HISTORY_FULL, CHOICES_FULL, LOG_FULL, MEMO_FULL, MATCHES_FULL, RUNS_FULL) = range(7, 13)

# Cells of the cursor. First: what it is about to do.
(PHASE, GROUP, START, BEGIN, END, LIMIT_ROW, NUMBER_OF_MATCH) = range(7)
(PC, ROW, CHOICES, LOGGED, STEPS, GROUP_STEPS) = range(7, 13)
(MATCHES, RUNS, KEYS, GENERATION, OPEN_KEYS, REMEMBERS, LAST_KEYED_ROW, KEYS_CLOSED) = range(13, 21)
CURSOR_CELLS = 21
SEEK, TRY, EMIT = range(3)

# Fields of a choice point, and of an entry of the log of overwritten registers.
(CHOICE_PC, CHOICE_ROW, CHOICE_PART, CHOICE_LOGGED, CHOICE_OPEN_KEYS, CHOICE_FIELDS) = range(6)
# Typed, because a literal in a call compiles the callee once more.
WHOLE, ZERO = np.int64(-1), np.int64(0)
STEPS_PER_ROW = 16


class Machine(NamedTuple):
    """A program and the rules of the search, as arrays.

    Attributes
    ----------
    instructions : int64[n, 5]
        Op code, a, b, c, d.
    label_variables : int64[labels]
    skip_variables : bool[variables]
        Variables that the skip target stands for.
    starters : int64[words]
        Bits of the variables that may take a first row; all bits if a match may be empty.
    settings : int64[SETTINGS]
        See the names below.
    """

    instructions: Int64s
    label_variables: Int64s
    skip_variables: Bools
    starters: Int64s
    settings: Int64s


(SKIP, MAX_STEPS, AT_START, COMPLETE, LOOPS, PATIENCE, USES_MEMO, FIRST_NUMBER) = range(8)
SETTINGS = 8


class Data(NamedTuple):
    """Rows: bits of conditions as int64[words, n], group offsets, limits (empty without), operands."""

    conditions: Int64s
    group_offsets: Int64s
    limits: Int64s
    columns: Columns


class Workspace(NamedTuple):
    """What the machine writes: registers of loops and permutations, choice points, the log, the output.

    Attributes
    ----------
    cursor : int64[21]
    state : int64[2 * loops + permutations]
        Round count and round start per loop, bits of the used parts per permutation.
    choices : int64[capacity, 5]
    log : int64[capacity, 2]
        Register and old value.
    matches : int64[capacity, 5]
        Group, start, end, number, first run.
    run_label, run_length : int32[capacity]
    """

    cursor: Int64s
    state: Int64s
    choices: Int64s
    log: Int64s
    matches: Int64s
    run_label: Int32s
    run_length: Int32s


@compiled
def search_groups(
    machine: Machine,
    data: Data,
    code: Code,
    registers: Registers,
    tracked: Tracked,
    history: History,
    memo: Memo,
    work: Workspace,
) -> int:
    """Search on from where the cursor stands, until all is done or something stands in the way."""
    cursor = work.cursor
    while True:
        if cursor[PHASE] == SEEK:
            if not _seek(machine, data, cursor):
                return FINISHED
            cursor[PHASE] = TRY
        elif cursor[PHASE] == TRY:
            report = _try(machine, data, code, registers, tracked, history, memo, work)
            if report == FOUND:
                cursor[PHASE] = EMIT
            elif report == FAILED:
                cursor[START] += 1
                cursor[PHASE] = SEEK
            else:
                return report
        else:
            report = _emit(machine, history, memo, work)
            if report != RUNNING:
                return report
            cursor[PHASE] = SEEK


@inlined
def _seek(machine: Machine, data: Data, cursor: Int64s) -> bool:
    """Move to the next start; return False when there is none that may be tried."""
    while True:
        start = _first_candidate(machine, data, cursor[START], cursor[END])
        cursor[START] = start
        if start < cursor[END]:
            break
        if cursor[GROUP] == len(data.group_offsets) - 2:
            return False
        _open_group(machine, data, cursor)
    limit = cursor[END] if len(data.limits) == 0 else data.limits[start] + 1
    last_group = cursor[GROUP] == len(data.group_offsets) - 2
    if last_group and machine.settings[COMPLETE] == 0 and limit == cursor[END]:
        return False
    cursor[LIMIT_ROW] = limit
    cursor[PC], cursor[ROW] = 0, start
    cursor[CHOICES], cursor[LOGGED], cursor[OPEN_KEYS] = 0, 0, 0
    if cursor[KEYS_CLOSED] == 1 and start > cursor[LAST_KEYED_ROW]:
        _forget_all(cursor)
    return True


@inlined
def _first_candidate(machine: Machine, data: Data, start: int, end: int) -> int:
    """Return the first row from `start` on that some variable may take as the first of a match."""
    while start < end:
        for word in range(len(machine.starters)):
            if machine.starters[word] == -1 or data.conditions[word, start] & machine.starters[word] != 0:
                return start
        start += 1
    return end


@inlined
def _open_group(machine: Machine, data: Data, cursor: Int64s) -> None:
    cursor[GROUP] += 1
    group = cursor[GROUP]
    cursor[BEGIN] = cursor[START] = data.group_offsets[group]
    cursor[END] = data.group_offsets[group + 1]
    cursor[NUMBER_OF_MATCH] = machine.settings[FIRST_NUMBER] if group == 0 else 1
    cursor[GROUP_STEPS] = 0
    cursor[REMEMBERS] = 1 if machine.settings[USES_MEMO] == 1 and machine.settings[PATIENCE] <= 0 else 0
    _forget_all(cursor)


@inlined
def _forget_all(cursor: Int64s) -> None:
    if cursor[KEYS] > 0:
        cursor[GENERATION] += 1
    cursor[KEYS], cursor[OPEN_KEYS], cursor[KEYS_CLOSED] = 0, 0, 0


@inlined
def _try(
    machine: Machine,
    data: Data,
    code: Code,
    registers: Registers,
    tracked: Tracked,
    history: History,
    memo: Memo,
    work: Workspace,
) -> int:
    """Run the program from where the cursor stands: FOUND, FAILED, or what stands in the way."""
    cursor, instructions = work.cursor, machine.instructions
    pc, row, start = cursor[PC], cursor[ROW], cursor[START]
    limit, number = cursor[LIMIT_ROW], cursor[NUMBER_OF_MATCH]
    steps, most_steps = cursor[GROUP_STEPS], machine.settings[MAX_STEPS]
    report = RUNNING
    while report == RUNNING:
        op = instructions[pc, 0]
        lives = True
        steps += 1
        if steps > most_steps:
            report = BUDGET_EXCEEDED
        elif op == MATCH:
            label = instructions[pc, 1]
            lives = row < limit and _may_be(machine, data, label, row)
            if lives and row - start == len(history.labels):
                report = HISTORY_FULL
            elif lives and _takes(machine, data, code, registers, tracked, history, label, row, start, number):
                pc += 1
                row += 1
            else:
                lives = False
        elif op == JUMP:
            pc = instructions[pc, 1]
        elif op == DONE:
            report = FOUND
        elif op in (ENTER, ROUND, PERMUTE_ENTER):
            report = _set_register(machine, work, op, instructions[pc, 1], row)
            pc += 1 if report == RUNNING else 0
        elif op == ANCHOR:
            lives = _anchored(machine, data, cursor, instructions[pc, 1], row)
            pc += 1
        else:
            report, lives = _may_choose(machine, history, memo, work, pc, row)
            if lives and report == RUNNING:
                pc = _choose(machine, work, pc, row, ZERO)
                lives = pc >= 0
        if not lives:
            if cursor[CHOICES] == 0:
                report = FAILED
            else:
                pc, row = _back(machine, work, steps)
    cursor[PC], cursor[ROW] = pc, row
    counted = steps if report in (FOUND, FAILED) else steps - 1
    cursor[STEPS] += counted - cursor[GROUP_STEPS]
    cursor[GROUP_STEPS] = counted
    return report


@inlined
def _may_be(machine: Machine, data: Data, label: int, row: int) -> bool:
    """Tell whether a row satisfies the row-only part of a label's condition."""
    variable = machine.label_variables[label]
    return bool((data.conditions[variable >> 6, row] >> (variable & 63)) & 1 != 0)


@inlined
def _takes(
    machine: Machine,
    data: Data,
    code: Code,
    registers: Registers,
    tracked: Tracked,
    history: History,
    label: int,
    row: int,
    start: int,
    number: int,
) -> bool:
    """Let the match take a row; return whether the match-dependent part of the condition is TRUE then."""
    variable = machine.label_variables[label]
    record(tracked, data.columns, history, row - start, row, label, variable)
    if code.ranges[variable, 0] == code.ranges[variable, 1]:
        return True
    return holds(code, registers, data.columns, history, variable, row, start, number)


@inlined
def _anchored(machine: Machine, data: Data, cursor: Int64s, kind: int, row: int) -> bool:
    if kind == ANCHOR_START:
        return bool(row == cursor[BEGIN] and (cursor[GROUP] > 0 or machine.settings[AT_START] == 1))
    last_group = cursor[GROUP] == len(data.group_offsets) - 2
    return bool(row == cursor[END] and (not last_group or machine.settings[COMPLETE] == 1))


@inlined
def _set_register(machine: Machine, work: Workspace, op: int, register: int, row: int) -> int:
    if work.cursor[LOGGED] + 2 > len(work.log):
        return LOG_FULL
    if op == ENTER:
        _write(work, 2 * register, ZERO)
    elif op == ROUND:
        _write(work, 2 * register + 1, row)
    else:
        _write(work, 2 * machine.settings[LOOPS] + register, ZERO)
    return RUNNING


@inlined
def _write(work: Workspace, register: int, value: int | np.int64) -> None:
    """Overwrite a register; the old value is logged for the choice points that may want it back."""
    cursor = work.cursor
    if cursor[CHOICES] > 0:
        logged = cursor[LOGGED]
        work.log[logged, 0] = register
        work.log[logged, 1] = work.state[register]
        cursor[LOGGED] = logged + 1
    work.state[register] = value


@inlined
def _push(work: Workspace, pc: int, row: int, part: int | np.int64) -> None:
    cursor = work.cursor
    top = cursor[CHOICES]
    work.choices[top, CHOICE_PC] = pc
    work.choices[top, CHOICE_ROW] = row
    work.choices[top, CHOICE_PART] = part
    work.choices[top, CHOICE_LOGGED] = cursor[LOGGED]
    work.choices[top, CHOICE_OPEN_KEYS] = cursor[OPEN_KEYS]
    cursor[CHOICES] = top + 1


@inlined
def _back(machine: Machine, work: Workspace, steps: int) -> tuple[int, int]:
    """Return to the last choice point and take its next choice: the instruction and row to go on with."""
    cursor = work.cursor
    top = cursor[CHOICES] - 1
    cursor[CHOICES] = top
    cursor[OPEN_KEYS] = work.choices[top, CHOICE_OPEN_KEYS]
    while cursor[LOGGED] > work.choices[top, CHOICE_LOGGED]:
        cursor[LOGGED] -= 1
        work.state[work.log[cursor[LOGGED], 0]] = work.log[cursor[LOGGED], 1]
    pc, row, part = work.choices[top, CHOICE_PC], work.choices[top, CHOICE_ROW], work.choices[top, CHOICE_PART]
    if cursor[REMEMBERS] == 0 and steps > machine.settings[PATIENCE] + STEPS_PER_ROW * (row - cursor[BEGIN]):
        cursor[REMEMBERS] = machine.settings[USES_MEMO]
    if part != WHOLE:
        pc = _choose(machine, work, pc, row, part)
    return pc, row


@inlined
def _may_choose(machine: Machine, history: History, memo: Memo, work: Workspace, pc: int, row: int) -> tuple[int, bool]:
    """Make sure there is room for a choice, and enter it into the memo; False if it is known to fail."""
    cursor = work.cursor
    if cursor[CHOICES] == len(work.choices):
        return CHOICES_FULL, True
    if cursor[LOGGED] + 2 > len(work.log):
        return LOG_FULL, True
    if cursor[REMEMBERS] == 0:
        return RUNNING, True
    loops, start = machine.settings[LOOPS], cursor[START]
    width = write_key(memo, history, work.state, loops, pc, row, start, cursor[LIMIT_ROW], cursor[NUMBER_OF_MATCH])
    if width == UNKEYED:
        return RUNNING, True
    answer, key = enter(memo, width, cursor[KEYS], cursor[GENERATION])
    if answer == KNOWN:
        return RUNNING, False
    if answer == NO_ROOM:
        return (RUNNING if cursor[KEYS_CLOSED] == 1 else MEMO_FULL), True
    if key == cursor[KEYS]:
        cursor[KEYS] += 1
        cursor[LAST_KEYED_ROW] = row if key == 0 else max(row, cursor[LAST_KEYED_ROW])
    memo.trail[cursor[OPEN_KEYS]] = key
    cursor[OPEN_KEYS] += 1
    return RUNNING, True


@inlined
def _choose(machine: Machine, work: Workspace, pc: int, row: int, part: int | np.int64) -> int:
    """Take the preferred choice and leave a choice point for the next one; −1 when the path fails."""
    instruction = machine.instructions[pc]
    if instruction[0] == SPLIT:
        _push(work, instruction[2], row, WHOLE)
        return int(instruction[1])
    if instruction[0] == PERMUTE_NEXT:
        return _choose_part(machine, work, pc, row, part)
    register, minimum, maximum, body = instruction[1], instruction[2], instruction[3], instruction[4]
    count = work.state[2 * register] + 1
    if count > minimum and work.state[2 * register + 1] == row:
        return -1
    # Without a maximum, counts beyond the minimum make no difference: let them be equal.
    _write(work, 2 * register, count if maximum >= 0 or count < minimum else minimum)
    if count < minimum:
        return int(body)
    if count == maximum:
        return pc + 1
    if instruction[0] == REPEAT:
        _push(work, pc + 1, row, WHOLE)
        return int(body)
    _push(work, body, row, WHOLE)
    return pc + 1


@inlined
def _choose_part(machine: Machine, work: Workspace, pc: int, row: int, part: int | np.int64) -> int:
    """Take the first unused part from `part` on, and leave a choice point for the next one."""
    parts, register = machine.instructions[pc, 2], 2 * machine.settings[LOOPS] + machine.instructions[pc, 1]
    used = work.state[register]
    if used == (1 << parts) - 1:
        return int(machine.instructions[pc, 3])
    chosen = _unused(used, parts, part)
    other = _unused(used, parts, chosen + 1)
    if other < parts:
        _push(work, pc, row, other)
    _write(work, register, used | (1 << chosen))
    return pc + 1 + chosen


@inlined
def _unused(used: int, parts: int, part: int | np.int64) -> int:
    while part < parts and (used >> part) & 1 == 1:
        part += 1
    return int(part)


@inlined
def _emit(machine: Machine, history: History, memo: Memo, work: Workspace) -> int:
    """Write the match that ends at the cursor, and set the start to go on with."""
    cursor = work.cursor
    match, start, end = cursor[MATCHES], cursor[START], cursor[ROW]
    if match == len(work.matches):
        return MATCHES_FULL
    runs = _write_runs(history, work, end - start)
    if runs < 0:
        return RUNS_FULL
    following = _following_start(machine, work, start, end, runs)
    if following < 0:
        return NOT_BOUND if following == -NOT_BOUND else FIRST_ROW
    work.matches[match, 0] = cursor[GROUP]
    work.matches[match, 1] = start
    work.matches[match, 2] = end
    work.matches[match, 3] = cursor[NUMBER_OF_MATCH]
    work.matches[match, 4] = cursor[RUNS]
    for i in range(cursor[OPEN_KEYS]):
        memo.alive[memo.trail[i]] = False
    cursor[OPEN_KEYS] = 0
    cursor[MATCHES] += 1
    cursor[RUNS] = runs
    cursor[NUMBER_OF_MATCH] += 1
    cursor[START] = following
    return RUNNING


@inlined
def _write_runs(history: History, work: Workspace, taken: int) -> int:
    """Write the runs of equal labels behind those of earlier matches; return their new number, −1 without room."""
    first = int(work.cursor[RUNS])
    runs = first
    for i in range(taken):
        label = history.labels[i]
        if runs > first and work.run_label[runs - 1] == label:
            work.run_length[runs - 1] += 1
        elif runs == len(work.run_label):
            return -1
        else:
            work.run_label[runs] = label
            work.run_length[runs] = 1
            runs += 1
    return runs


@inlined
def _following_start(machine: Machine, work: Workspace, start: int, end: int, runs: int) -> int:
    """Return where the search goes on after a match, or -NOT_BOUND, -FIRST_ROW."""
    skip = machine.settings[SKIP]
    if skip == TO_NEXT_ROW or end == start:
        return start + 1
    if skip == PAST_LAST_ROW:
        return end
    row, found = start, -NOT_BOUND
    for run in range(work.cursor[RUNS], runs):
        if machine.skip_variables[machine.label_variables[work.run_label[run]]]:
            if skip == TO_FIRST:
                found = row
                break
            found = row + work.run_length[run] - 1
        row += work.run_length[run]
    return -FIRST_ROW if found == start else int(found)
