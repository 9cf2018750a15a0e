"""What goes into a matcher and what comes out: rows of whole groups, matches as label runs.

All positions are indexes into the rows of one kernel call. A match is a range of
neighbouring rows (row patterns leave no gaps), told apart into runs of one label each.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
Float64s: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
_Number = TypeVar("_Number", np.int32, np.int64)

PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = range(4)


@dataclass(frozen=True, slots=True)
class MatchLabel:
    """A label of a program: the variable's index, and whether ``{- -}`` surrounds it."""

    variable: int
    excluded: bool


@dataclass(frozen=True, slots=True)
class Search:
    """How matches follow one another, and how far a match may reach.

    Attributes
    ----------
    skip
        PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST or TO_LAST.
    skip_variables
        The primary variables (indexes) that the skip target stands for.
    within
        Largest allowed distance between the order values of the first and the last row,
        already corrected for EXCLUSIVE on integers; None for no limit. int for integer
        order values (microseconds for timestamps), float for floating ones.
    inclusive
        Whether exactly `within` is still allowed (matters for floats only).
    max_rows
        Largest number of rows of a match (WITHIN n EVENTS); None for no limit.
    max_steps
        Work budget of the backtracking matcher per group.
    """

    skip: int = PAST_LAST_ROW
    skip_variables: tuple[int, ...] = ()
    within: int | float | None = None
    inclusive: bool = True
    max_rows: int | None = None
    max_steps: int = 2_000_000_000


@dataclass(slots=True)
class Rows:
    """Rows of one or more groups, in order, as kernels see them.

    Attributes
    ----------
    group_offsets : int64[g + 1]
        Group j is rows ``group_offsets[j]:group_offsets[j + 1]``.
    conditions : uint64[words, n]
        Bit ``v % 64`` of word ``v // 64``: the row satisfies the row-only part of the condition of
        variable v. Variables without one have their bit set everywhere.
    order : int64[n] | float64[n] | None
        Values of the first order column, ascending within a group; only needed for `within`.
    integers, integer_nulls : int64[k, n], bool[k, n]
        Operand columns of match-dependent conditions: whole numbers, booleans, codes.
    floats, float_nulls : float64[m, n], bool[m, n]
        Floating operand columns.
    first_number
        Number of the next match of the first group (it may continue an earlier call).
    at_start
        Whether the first row of the first group is the first of its partition (anchor ^).
    complete
        Whether the last group ends here. If not, starts are tried only as long as their
        window is known to be closed, and `Matches.resume` tells where to go on.
    """

    group_offsets: Int64s
    conditions: UInt64s
    order: Int64s | Float64s | None = None
    integers: Int64s = field(default_factory=lambda: np.empty((0, 0), np.int64))
    integer_nulls: Bools = field(default_factory=lambda: np.empty((0, 0), np.bool_))
    floats: Float64s = field(default_factory=lambda: np.empty((0, 0), np.float64))
    float_nulls: Bools = field(default_factory=lambda: np.empty((0, 0), np.bool_))
    first_number: int = 1
    at_start: bool = True
    complete: bool = True

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.group_offsets[-1])


@dataclass(slots=True)
class Matches:
    """Matches in order of group and start.

    Attributes
    ----------
    group, start, end, number : int64[m]
        Group index, first row, row behind the last one (equal to `start` for an empty
        match, which stands at row `start`), MATCH_NUMBER within the partition.
    run_offsets : int64[m + 1]
        Runs of match i are ``run_offsets[i]:run_offsets[i + 1]``.
    run_label : int32[r], run_length : int64[r]
        Index into the program's labels, number of rows; the lengths of a match sum to
        ``end - start``.
    resume : int
        For an incomplete last group: the first row whose start is still undecided
        (every row before it is decided); else the number of rows.
    next_number : int
        MATCH_NUMBER of the next match of the last group.
    steps : int
        Work done: rows × passes for the sweep, instructions executed for the backtracker.
    """

    group: Int64s
    start: Int64s
    end: Int64s
    number: Int64s
    run_offsets: Int64s
    run_label: Int32s
    run_length: Int64s
    resume: int
    next_number: int
    steps: int = 0

    def chosen(self, which: Bools) -> Matches:
        """Return the matches that `which`, bool[m], says, numbered as they are."""
        lengths = np.diff(self.run_offsets)
        runs = np.repeat(which, lengths)
        return replace(
            self,
            group=self.group[which],
            start=self.start[which],
            end=self.end[which],
            number=self.number[which],
            run_offsets=np.concatenate([self.run_offsets[:1], np.cumsum(lengths[which])]),
            run_label=self.run_label[runs],
            run_length=self.run_length[runs],
        )


@dataclass(eq=False)
class SearchFault(Exception):
    """A search that had to stop.

    `kind` is "target not bound", "target is first row" or "budget"; `group` is the group's
    index in the call, `row` the row the match starts at, `number` the match number.
    """

    kind: str
    group: int
    row: int
    number: int


def doubled(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return a longer copy; memory behind what there is is not touched before it is used."""
    longer = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
