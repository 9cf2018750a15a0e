"""Programs of the backtracking matcher: a row pattern as a numbered list of instructions.

The machine holds a program counter, a row, and registers: a round count and the row a
round began at per loop, a set of used parts per permutation. Choice points are taken in
order of preference (ISO/IEC 19075-5, 4.12 and 4.14). Bounds are counters, so a program
is as long as its pattern, not as long as its bounds.

===================  ==========================  =============================================
instruction          operands                    meaning
===================  ==========================  =============================================
MATCH                label                       the row must satisfy the label's variable; next row
SPLIT                first, second               go to first; on failure to second
JUMP                 target                      go to target
ANCHOR               0 start, 1 end              the row is the first of / lies behind the partition
ENTER                loop                        round count := 0
ROUND                loop                        round start := row
REPEAT               loop, minimum, maximum,     a round ends; see below; prefers one more round
                     body
REPEAT_RELUCTANT     the same                    the same, prefers to leave
PERMUTE_ENTER        register                    used parts := {}
PERMUTE_NEXT         register, parts, exit       a part ends; see below
DONE                                             a match ends before the row
===================  ==========================  =============================================

REPEAT at pc: if the round consumed no row and ``count >= minimum``, fail. Then count += 1;
if ``count < minimum`` go to body; if ``count == maximum`` go to pc + 1; else go to body or,
on failure, to pc + 1 (REPEAT_RELUCTANT: the other way round). A maximum of −1 means none;
body is the address of the loop's ROUND. A minimum of 0 is a SPLIT before the first ROUND.

PERMUTE_NEXT at pc: if all parts are used, go to exit; else for each unused part i in
ascending order, the next one on failure: mark i as used and go to pc + 1 + i, where a JUMP
to the part stands; every part ends with a JUMP to pc.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sparkcep.engine.matches import MatchLabel
from sparkcep.errors import PlanError
from sparkcep.syntax.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Label,
    Permutation,
    Quantified,
    RowPattern,
    parts_of,
)

(MATCH, SPLIT, JUMP, ANCHOR, ENTER, ROUND, REPEAT, REPEAT_RELUCTANT, PERMUTE_ENTER, PERMUTE_NEXT, DONE) = range(11)
ANCHOR_START, ANCHOR_END = range(2)

MAX_INSTRUCTIONS = 100_000
MAX_PERMUTED_PARTS = 63
MAX_EXPANDED_PARTS = 6


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: an op code and up to four operands, as the module's table says."""

    op: int
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """A row pattern, compiled for the backtracking matcher.

    Attributes
    ----------
    instructions
        Addresses are indexes into this tuple; the program starts at 0.
    labels
        What MATCH operands stand for.
    variables
        Names of the variables that the labels index.
    loops, permutations
        How many loop registers (count and round start) and permutation registers there are.
    """

    instructions: tuple[Instruction, ...]
    labels: tuple[MatchLabel, ...]
    variables: tuple[str, ...]
    loops: int
    permutations: int

    def encode(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Return the op codes and the operands a, b, c, d as five arrays int64[instructions]."""
        table = np.array([(i.op, i.a, i.b, i.c, i.d) for i in self.instructions], dtype=np.int64)
        return tuple(np.ascontiguousarray(table[:, column]) for column in range(5))

    def __str__(self) -> str:
        width = len(str(len(self.instructions) - 1))
        lines = (f"{address:>{width}}: {self._text(i)}" for address, i in enumerate(self.instructions))
        return "\n".join(lines)

    def _text(self, i: Instruction) -> str:
        if i.op == MATCH:
            label = self.labels[i.a]
            name = self.variables[label.variable]
            return f"match {{- {name} -}}" if label.excluded else f"match {name}"
        if i.op in (REPEAT, REPEAT_RELUCTANT):
            bounds = f"{{{i.b},{'' if i.c < 0 else i.c}}}{'?' if i.op == REPEAT_RELUCTANT else ''}"
            return f"repeat loop {i.a} {bounds} body {i.d}"
        texts = {
            SPLIT: f"split {i.a}, {i.b}",
            JUMP: f"jump {i.a}",
            ANCHOR: "anchor ^" if i.a == ANCHOR_START else "anchor $",
            ENTER: f"enter loop {i.a}",
            ROUND: f"round loop {i.a}",
            PERMUTE_ENTER: f"permute {i.a} enter",
            PERMUTE_NEXT: f"permute {i.a} next of {i.b}, exit {i.c}",
            DONE: "done",
        }
        return texts[i.op]


def compile_program(pattern: RowPattern, variables: Sequence[str]) -> Program:
    """Compile `pattern` for the backtracking matcher.

    Parameters
    ----------
    pattern
        Tree of the pattern.
    variables
        Primary variables; labels refer to them by index.

    Raises
    ------
    PlanError
        PATTERN_TOO_LARGE: more than 100,000 instructions, a PERMUTE of more than 63 parts, or
        of more than 6 parts some of which have choices inside.

    Examples
    --------
    >>> print(compile_program(Concatenation((Label("A"), Quantified(Label("B"), 1, None))), ["A", "B"]))
    0: match A
    1: match B
    2: split 1, 3
    3: done
    """
    labels = labels_of(pattern, variables)
    indexes = {name: index for index, name in enumerate(variables)}
    assembly = _Assembly(indexes, {label: index for index, label in enumerate(labels)})
    assembly.add(pattern, excluded=False)
    assembly.emit(DONE)
    return Program(
        instructions=tuple(Instruction(*fields) for fields in assembly.code),
        labels=labels,
        variables=tuple(variables),
        loops=assembly.loops,
        permutations=assembly.permutations,
    )


def labels_of(pattern: RowPattern, variables: Sequence[str]) -> tuple[MatchLabel, ...]:
    """Return the labels of `pattern` in order of first appearance; variables count as in `variables`."""
    indexes = {name: index for index, name in enumerate(variables)}
    labels: dict[MatchLabel, None] = {}
    pending = [(pattern, False)]
    while pending:
        node, excluded = pending.pop()
        if isinstance(node, Label):
            labels[MatchLabel(indexes[node.name], excluded)] = None
        excluded = excluded or isinstance(node, Exclusion)
        pending += [(part, excluded) for part in reversed(parts_of(node))]
    return tuple(labels)


def min_rows(pattern: RowPattern) -> int:
    """Return the least number of rows that `pattern` consumes."""
    match pattern:
        case Label():
            return 1
        case Concatenation(parts) | Permutation(parts):
            return sum(min_rows(part) for part in parts)
        case Alternation(parts):
            return min(min_rows(part) for part in parts)
        case Quantified(part, minimum):
            return min_rows(part) * minimum
        case Exclusion(part):
            return min_rows(part)
        case Anchor() | Empty():
            return 0
    raise TypeError(f"not a row pattern: {pattern!r}")


def can_consume(pattern: RowPattern) -> bool:
    """Tell whether `pattern` has a label, so that it may consume a row."""
    match pattern:
        case Label():
            return True
        case Concatenation(parts) | Permutation(parts) | Alternation(parts):
            return any(can_consume(part) for part in parts)
        case Quantified(part) | Exclusion(part):
            return can_consume(part)
        case Anchor() | Empty():
            return False
    raise TypeError(f"not a row pattern: {pattern!r}")


def has_choice(pattern: RowPattern) -> bool:
    """Tell whether `pattern` can match in more than one way, so that its order of preference counts."""
    match pattern:
        case Label() | Anchor() | Empty():
            return False
        case Concatenation(parts):
            return any(has_choice(part) for part in parts)
        case Quantified(part, minimum, maximum):
            return minimum != maximum or has_choice(part)
        case Exclusion(part):
            return has_choice(part)
        case Alternation() | Permutation():
            return True
    raise TypeError(f"not a row pattern: {pattern!r}")


def orders_of(permutation: Permutation, limit: int = MAX_EXPANDED_PARTS) -> Iterator[tuple[RowPattern, ...]]:
    """Yield all orders of the parts of a permutation, the preferred first.

    Raises
    ------
    PlanError
        PATTERN_TOO_LARGE: more than `limit` parts.
    """
    if len(permutation.parts) > limit:
        raise PlanError(
            "PATTERN_TOO_LARGE",
            f"PERMUTE of {len(permutation.parts)} parts, some with choices inside, has too many orders",
            clause="PATTERN",
            found=f"{math.factorial(len(permutation.parts))} orders",
            allowed=f"at most {limit} parts, or only parts without choices (variables, fixed repetition, anchors)",
        )
    return itertools.permutations(permutation.parts)


@dataclass(slots=True)
class _Assembly:
    variables: dict[str, int]
    labels: dict[MatchLabel, int]
    code: list[list[int]] = field(default_factory=list)
    loops: int = 0
    permutations: int = 0

    def emit(self, op: int, *operands: int) -> int:
        """Append an instruction and return its address."""
        if len(self.code) >= MAX_INSTRUCTIONS:
            raise PlanError(
                "PATTERN_TOO_LARGE",
                "the pattern needs too many instructions",
                clause="PATTERN",
                allowed=f"at most {MAX_INSTRUCTIONS:,} instructions",
            )
        self.code.append([op, *operands])
        return len(self.code) - 1

    @property
    def here(self) -> int:
        return len(self.code)

    def add(self, pattern: RowPattern, excluded: bool) -> None:
        match pattern:
            case Label(name):
                self.emit(MATCH, self.labels[MatchLabel(self.variables[name], excluded)])
            case Concatenation(parts):
                for part in parts:
                    self.add(part, excluded)
            case Alternation(parts):
                self.add_alternatives([(part,) for part in parts], excluded)
            case Permutation():
                self.add_permutation(pattern, excluded)
            case Quantified():
                self.add_quantified(pattern, excluded)
            case Exclusion(part):
                self.add(part, True)
            case Anchor(kind):
                self.emit(ANCHOR, ANCHOR_START if kind == "start" else ANCHOR_END)
            case Empty():
                pass
            case _:
                raise TypeError(f"not a row pattern: {pattern!r}")

    def split(self, greedy: bool) -> int:
        """Emit a SPLIT whose preferred (greedy) or other target is the next address; the exit stays open."""
        address = self.emit(SPLIT, 0, 0)
        self.code[address][1 if greedy else 2] = address + 1
        return address

    def close(self, split: int, greedy: bool) -> None:
        """Let the exit of a SPLIT be here."""
        self.code[split][2 if greedy else 1] = self.here

    def add_alternatives(self, alternatives: Sequence[Sequence[RowPattern]], excluded: bool) -> None:
        ends = []
        for parts in alternatives[:-1]:
            split = self.split(greedy=True)
            for part in parts:
                self.add(part, excluded)
            ends.append(self.emit(JUMP, 0))
            self.close(split, greedy=True)
        for part in alternatives[-1]:
            self.add(part, excluded)
        for end in ends:
            self.code[end][1] = self.here

    def add_quantified(self, loop: Quantified, excluded: bool) -> None:
        part, minimum, maximum = loop.part, loop.minimum, loop.maximum
        if maximum == 0:
            return
        if not can_consume(part):
            # Rounds beyond the lower bound would be abandoned, those below it repeat the same tests.
            if minimum > 0:
                self.add(part, excluded)
            return
        if minimum == maximum == 1:
            self.add(part, excluded)
        elif min_rows(part) > 0 and minimum <= 1 and maximum in (1, None):
            self.add_plain_loop(loop, excluded)
        else:
            self.add_counted_loop(loop, excluded)

    def add_plain_loop(self, loop: Quantified, excluded: bool) -> None:
        """Emit ``?``, ``*`` or ``+`` over a part that always consumes: no registers needed."""
        greedy = loop.greedy
        if loop.minimum == 0:
            split = self.split(greedy)
            self.add(loop.part, excluded)
            if loop.maximum is None:
                self.emit(JUMP, split)
            self.close(split, greedy)
            return
        body = self.here
        self.add(loop.part, excluded)
        exit_ = self.here + 1
        self.emit(SPLIT, *((body, exit_) if greedy else (exit_, body)))

    def add_counted_loop(self, loop: Quantified, excluded: bool) -> None:
        register = self.loops
        self.loops += 1
        self.emit(ENTER, register)
        split = self.split(loop.greedy) if loop.minimum == 0 else None
        body = self.emit(ROUND, register)
        self.add(loop.part, excluded)
        maximum = -1 if loop.maximum is None else loop.maximum
        self.emit(REPEAT if loop.greedy else REPEAT_RELUCTANT, register, loop.minimum, maximum, body)
        if split is not None:
            self.close(split, loop.greedy)

    def add_permutation(self, permutation: Permutation, excluded: bool) -> None:
        parts = permutation.parts
        if any(has_choice(part) for part in parts):
            self.add_alternatives(list(orders_of(permutation)), excluded)
            return
        if len(parts) > MAX_PERMUTED_PARTS:
            raise PlanError(
                "PATTERN_TOO_LARGE",
                f"PERMUTE of {len(parts)} parts",
                clause="PATTERN",
                allowed=f"at most {MAX_PERMUTED_PARTS} parts",
            )
        register = self.permutations
        self.permutations += 1
        self.emit(PERMUTE_ENTER, register)
        following = self.emit(PERMUTE_NEXT, register, len(parts), 0)
        table = [self.emit(JUMP, 0) for _ in parts]
        for entry, part in zip(table, parts, strict=True):
            self.code[entry][1] = self.here
            self.add(part, excluded)
            self.emit(JUMP, following)
        self.code[following][3] = self.here
