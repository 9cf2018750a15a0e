"""Row patterns by backtracking over the tree: the definition, for rows that are sets of variables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sparkcep.syntax import pattern as tree

Taken = tuple[tuple[str, bool], ...]
Way = tuple[int, Taken]


@dataclass
class Naive:
    """One group of rows; `fits(first, row)` is the limit; `budget` bounds the work."""

    rows: list[set[str]]
    fits: Callable[[int, int], bool] = lambda first, row: True
    at_start: bool = True
    budget: int = 20_000

    def preferred(self, pattern: tree.RowPattern, first: int) -> Way | None:
        self.first = first
        return next(self.ways(pattern, first, (), False), None)

    def ways(self, p: tree.RowPattern, row: int, taken: Taken, excluded: bool) -> Iterator[Way]:
        self.budget -= 1
        if self.budget < 0:
            raise OverflowError
        if isinstance(p, tree.Label):
            if row < len(self.rows) and p.name in self.rows[row] and self.fits(self.first, row):
                yield row + 1, (*taken, (p.name, excluded))
        elif isinstance(p, tree.Concatenation):
            yield from self.sequence(p.parts, row, taken, excluded)
        elif isinstance(p, tree.Alternation):
            for part in p.parts:
                yield from self.ways(part, row, taken, excluded)
        elif isinstance(p, tree.Permutation):
            for order in itertools.permutations(p.parts):
                yield from self.sequence(order, row, taken, excluded)
        elif isinstance(p, tree.Quantified):
            yield from self.rounds(p, 0, row, taken, excluded)
        elif isinstance(p, tree.Exclusion):
            yield from self.ways(p.part, row, taken, True)
        elif isinstance(p, tree.Empty) or (row == len(self.rows) if p.kind == "end" else row == 0 and self.at_start):
            yield row, taken

    def sequence(self, parts: tuple[tree.RowPattern, ...], row: int, taken: Taken, excluded: bool) -> Iterator[Way]:
        if not parts:
            yield row, taken
            return
        for middle, so_far in self.ways(parts[0], row, taken, excluded):
            yield from self.sequence(parts[1:], middle, so_far, excluded)

    def rounds(self, p: tree.Quantified, count: int, row: int, taken: Taken, excluded: bool) -> Iterator[Way]:
        leave = [(row, taken)] if count >= p.minimum else []
        if not p.greedy:
            yield from leave
        if p.maximum is None or count < p.maximum:
            for end, so_far in self.ways(p.part, row, taken, excluded):
                if end > row or count < p.minimum:
                    yield from self.rounds(p, count + 1, end, so_far, excluded)
        if p.greedy:
            yield from leave
