"""What the rest of a program can still read about the way it was reached.

A search that fails at an instruction and a row fails there again whenever everything that
later conditions and loops read is the same. This module finds that "everything" for each
instruction, by the backward analysis of live variables that compilers use: a set of atoms
flows against the instructions; a MATCH adds what its condition reads and rewrites each atom
as it reads before the row is taken. ``LAST(A.v, 1)`` behind an A row, for one, is
``LAST(A.v, 0)`` before it, and nothing of ``LAST(A.v, 0)`` is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from sparkcep.engine import slot_code as ops
from sparkcep.engine.matches import Int64s
from sparkcep.engine.program import (
    DONE,
    ENTER,
    JUMP,
    MATCH,
    PERMUTE_ENTER,
    PERMUTE_NEXT,
    REPEAT,
    REPEAT_RELUCTANT,
    ROUND,
    SPLIT,
    Instruction,
    Program,
)
from sparkcep.engine.slots import SlotCode

# Operands a, b, c of an atom: a row set, an offset, a shift; or an aggregate; or a register.
(LAST_OF, FIRST_OF, DEPTH, ROWS_OF, COUNT_OF, INTEGER_OF, FLOAT_OF) = range(7)
(LABEL_FROM_END, LABEL_AT_LAST, LABEL_AT_FIRST, NUMBER, LIMIT) = range(7, 12)
(LOOP_COUNT, LOOP_PROGRESS, USED_PARTS) = range(12, 15)

ALL = -1
MAX_ATOMS = 40
UNKEYED = -1

Atom: TypeAlias = tuple[int, int, int, int]
Atoms: TypeAlias = frozenset[Atom]


def key_layout(program: Program, code: SlotCode, limited: bool) -> tuple[Int64s, Int64s]:
    """Return what makes up the memo key of each choice.

    Parameters
    ----------
    program, code
        What the matcher runs.
    limited
        Whether matches have a limit of time or rows; then the limit belongs to each key.

    Returns
    -------
    ranges : int64[instructions, 2]
        Atoms ``ranges[pc, 0]:ranges[pc, 1]`` belong to pc; UNKEYED where nothing shall be remembered:
        no choice, or more than MAX_ATOMS atoms.
    atoms : int64[n, 4]
        Kind and operands.
    """
    live = live_atoms(program, code)
    ranges = np.full((len(program.instructions), 2), UNKEYED, np.int64)
    table: list[Atom] = []
    for pc, instruction in enumerate(program.instructions):
        if instruction.op not in (SPLIT, REPEAT, REPEAT_RELUCTANT, PERMUTE_NEXT):
            continue
        atoms = sorted(_without_implied(live[pc]) | ({(LIMIT, 0, 0, 0)} if limited else set()))
        if len(atoms) <= MAX_ATOMS:
            ranges[pc] = len(table), len(table) + len(atoms)
            table += atoms
    return ranges, np.array(table, np.int64).reshape(-1, 4)


def live_atoms(program: Program, code: SlotCode) -> tuple[Atoms, ...]:
    """Return, per instruction, what can still be read when it is reached."""
    analysis = _Analysis(program, code)
    count = len(program.instructions)
    live: list[Atoms] = [frozenset()] * count
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for pc, instruction in enumerate(program.instructions):
        for target in successors(pc, instruction):
            predecessors[target].append(pc)
    pending = list(range(count))
    waiting = [True] * count
    while pending:
        pc = pending.pop()
        waiting[pc] = False
        after = [live[target] for target in successors(pc, program.instructions[pc])]
        before = analysis.before(program.instructions[pc], after)
        if before == live[pc]:
            continue
        live[pc] = before
        for predecessor in predecessors[pc]:
            if not waiting[predecessor]:
                waiting[predecessor] = True
                pending.append(predecessor)
    return tuple(live)


def first_variables(program: Program) -> frozenset[int] | None:
    """Return the variables one of which takes a match's first row; None if a match may be empty."""
    seen, pending, found = {0}, [0], set()
    while pending:
        pc = pending.pop()
        instruction = program.instructions[pc]
        if instruction.op == DONE:
            return None
        if instruction.op == MATCH:
            found.add(program.labels[instruction.a].variable)
            continue
        fresh = set(successors(pc, instruction)) - seen
        seen |= fresh
        pending.extend(fresh)
    return frozenset(found)


def successors(pc: int, instruction: Instruction) -> Iterator[int]:
    """Yield the addresses that may follow."""
    match instruction.op:
        case op if op == DONE:
            return
        case op if op == SPLIT:
            yield from (instruction.a, instruction.b)
        case op if op == JUMP:
            yield instruction.a
        case op if op in (REPEAT, REPEAT_RELUCTANT):
            yield from (instruction.d, pc + 1)
        case op if op == PERMUTE_NEXT:
            yield instruction.c
            yield from range(pc + 1, pc + 1 + instruction.b)
        case _:
            yield pc + 1


def _without_implied(atoms: Atoms) -> Atoms:
    """Drop depths that a greater one implies."""
    depths = sorted(atom for atom in atoms if atom[0] == DEPTH)
    return atoms - set(depths[:-1])


class _Analysis:
    def __init__(self, program: Program, code: SlotCode) -> None:
        self.program = program
        self.members = code.tracked.set_members
        self.reads = [frozenset(_reads(code, variable)) for variable in range(len(code.conditions.variables))]
        self.known: dict[tuple[int, Atoms], Atoms] = {}

    def before(self, instruction: Instruction, after: list[Atoms]) -> Atoms:
        """Return what is live before an instruction, from what is live before those that follow it."""
        atoms = after[0] if len(after) == 1 else frozenset[Atom]().union(*after)
        register = instruction.a
        match instruction.op:
            case op if op == MATCH:
                return self.before_row(self.program.labels[register].variable, atoms)
            case op if op == ENTER:
                return atoms - {(LOOP_COUNT, register, 0, 0)}
            case op if op == ROUND:
                return atoms - {(LOOP_PROGRESS, register, 0, 0)}
            case op if op in (REPEAT, REPEAT_RELUCTANT):
                return atoms | {(LOOP_COUNT, register, 0, 0), (LOOP_PROGRESS, register, 0, 0)}
            case op if op == PERMUTE_ENTER:
                return atoms - {(USED_PARTS, register, 0, 0)}
            case op if op == PERMUTE_NEXT:
                return atoms | {(USED_PARTS, register, 0, 0)}
        return atoms

    def before_row(self, variable: int, atoms: Atoms) -> Atoms:
        """Return what is live before a row of `variable` is tested and taken."""
        key = (variable, atoms)
        if key not in self.known:
            read = atoms | self.reads[variable]
            self.known[key] = frozenset(earlier for atom in read for earlier in self.earlier(variable, atom))
        return self.known[key]

    def earlier(self, variable: int, atom: Atom) -> Iterable[Atom]:
        """Return what must be known before a row of `variable` to know `atom` behind it."""
        kind, a, b, c = atom
        if kind in (LABEL_FROM_END, DEPTH):
            return [(kind, a - 1, 0, 0)] if a > 0 else []
        if kind == LOOP_PROGRESS:
            return []
        if kind not in (LAST_OF, LABEL_AT_LAST, LABEL_AT_FIRST):
            return [atom]
        taken = a == ALL or bool(self.members[variable, a])
        if not taken:
            return [atom]
        # The row itself may be the one whose neighbour's label is read: `-c` rows earlier, c < 0.
        neighbour = [(LABEL_FROM_END, -c - 1, 0, 0)] if c < 0 else []
        if kind == LABEL_AT_FIRST:
            return [atom, *neighbour]
        return [(kind, a, b - 1, c)] if b > 0 else neighbour


def _reads(code: SlotCode, variable: int) -> Iterator[Atom]:
    """Yield what the condition of `variable` reads, as it stands once the row has been taken."""
    first, last, _ = (int(x) for x in code.ranges[variable])
    rows: dict[int, tuple[int, int, int]] = {ops.ROW_REGISTER: (ops.LAST_ROW, ALL, 0)}
    for at in range(first, last):
        op, target, a, b, c = (int(x) for x in code.instructions[at, :5])
        if op in (ops.FIRST_ROW, ops.LAST_ROW):
            rows[target] = (op, a, b)
            yield _row_atom(op, a, b)
        elif op == ops.COUNT_ROWS:
            yield (ROWS_OF, a, 0, 0)
        elif op == ops.CLASSIFIER:
            yield _label_atom(*rows[a], b)
        elif op <= ops.LAST_READ and op not in (ops.READ_INT, ops.READ_FLOAT):
            yield from _aggregate_atoms(op, a)
        elif op > ops.LAST_READ and ops.NUMBER_REGISTER in (a, b, c):
            yield (NUMBER, 0, 0, 0)


def _row_atom(op: int, row_set: int, offset: int) -> Atom:
    if op == ops.FIRST_ROW:
        return (FIRST_OF, row_set, offset, 0)
    return (DEPTH, offset, 0, 0) if row_set == ALL else (LAST_OF, row_set, offset, 0)


def _label_atom(op: int, row_set: int, offset: int, shift: int) -> Atom:
    return (LABEL_AT_FIRST if op == ops.FIRST_ROW else LABEL_AT_LAST, row_set, offset, shift)


def _aggregate_atoms(op: int, aggregate: int) -> Iterator[Atom]:
    yield (COUNT_OF, aggregate, 0, 0)
    if op == ops.AGGREGATE_INT:
        yield (INTEGER_OF, aggregate, 0, 0)
    elif op != ops.AGGREGATE_COUNT_OF:
        yield (FLOAT_OF, aggregate, 0, 0)
