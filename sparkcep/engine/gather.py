"""Which input row a measure reads: output rows, runs with their positions, navigation.

A *view* says, for every value to compute, which match it belongs to and the last row it
sees. With ONE ROW PER MATCH, and for FINAL, that is the last row of the match; for RUNNING
with ALL ROWS PER MATCH it is the output row. Everything is answered from the label runs, so
the cost of navigation and counting follows the number of runs, not of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit

from sparkcep.engine.matches import Bools, Int32s, Int64s, Matches, MatchLabel
from sparkcep.logical.outputs import OutputRows
from sparkcep.logical.slots import RowSet

NO_ROW = -1
_EACH_ROW_ONCE = np.empty(0, np.int64)


_Scalar = TypeVar("_Scalar", bound=np.generic)


def owned(array: npt.NDArray[np.generic], dtype: type[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return `array` contiguous and writable, so that every kernel has a single signature."""
    return np.require(array, dtype, ["C", "W"])


class View(NamedTuple):
    """The last row each value sees.

    Attributes
    ----------
    match : int64[k]
        Index of the match, ascending over the values that have one; −1 for an unmatched row.
    row : int64[k]
        The last row seen, ascending within a match. For an empty match and for an
        unmatched row: the row where it stands.
    run : int64[k]
        The run that holds `row`; −1 where the match is empty or there is none.
    """

    match: Int64s
    row: Int64s
    run: Int64s


class RunArrays(NamedTuple):
    """The label runs of all matches as kernels see them.

    Attributes
    ----------
    start, end : int64[m]
        First row, and row behind the last one, of each match.
    offsets : int64[m + 1]
        Runs of match i are ``offsets[i]:offsets[i + 1]``.
    label : int32[r]
        Label index of each run.
    begin, stop : int64[r]
        First row, and row behind the last one, of each run.
    """

    start: Int64s
    end: Int64s
    offsets: Int64s
    label: Int32s
    begin: Int64s
    stop: Int64s


class LabelRuns:
    """The label runs of all matches, and the questions measures ask of them.

    Attributes
    ----------
    arrays
        Where runs begin and end.
    variable : int32[labels]
        Variable index of each label.
    excluded : bool[labels]
        Whether ``{- -}`` surrounds the label.
    """

    def __init__(self, matches: Matches, labels: Sequence[MatchLabel]) -> None:
        start, end = owned(matches.start, np.int64), owned(matches.end, np.int64)
        offsets, label = owned(matches.run_offsets, np.int64), owned(matches.run_label, np.int32)
        begin, stop = _run_bounds(start, offsets, owned(matches.run_length, np.int64))
        self.arrays = RunArrays(start, end, offsets, label, begin, stop)
        self.variable: Int32s = np.array([label.variable for label in labels], np.int32)
        self.excluded: Bools = np.array([label.excluded for label in labels], np.bool_)
        self._counted: dict[RowSet, Int64s] = {}

    def members(self, rows: RowSet) -> Bools:
        """Return bool[labels]: whether rows of the label belong to `rows`."""
        if rows.variables is None:
            return np.ones(len(self.variable), np.bool_)
        return np.array([variable in rows.variables for variable in self.variable.tolist()], np.bool_)

    def counted(self, rows: RowSet) -> Int64s:
        """Return int64[r]: rows of `rows` that lie in the match before each run."""
        if rows not in self._counted:
            self._counted[rows] = _sums_before_runs(self.arrays, self.members(rows), _EACH_ROW_ONCE)
        return self._counted[rows]

    def whole(self) -> View:
        """Return the view of the last row of each match, one value per match."""
        start, end = self.arrays.start, self.arrays.end
        empty = start == end
        run = np.where(empty, NO_ROW, self.arrays.offsets[1:] - 1)
        return View(np.arange(len(start)), np.where(empty, start, end - 1), run)

    def count(self, view: View, rows: RowSet) -> Int64s:
        """Return int64[k]: how many rows of `rows` each value sees."""
        return _sums(view, self.arrays, self.members(rows), self.counted(rows), _EACH_ROW_ONCE)

    def total(self, view: View, rows: RowSet, prefix: Int64s) -> Int64s:
        """Return int64[k]: the sum over the rows of `rows` each value sees.

        Parameters
        ----------
        prefix : int64[n + 1]
            ``prefix[i]`` is the sum over the input rows before i.
        """
        members = self.members(rows)
        return _sums(view, self.arrays, members, _sums_before_runs(self.arrays, members, prefix), prefix)

    def locate(self, view: View, rows: RowSet, first: bool, offset: int) -> Int64s:
        """Return int64[k]: the `offset`-th row of `rows` from the front or the back, or −1."""
        if rows.variables is None:
            return _locate_any(view, self.arrays, first, offset)
        return _locate(view, self.arrays, self.members(rows), self.counted(rows), first, offset)

    def classify(self, match: Int64s, row: Int64s, shift: int) -> Int32s:
        """Return int32[k]: the variable of the row `shift` rows from `row` in the match, or −1.

        Rows of −1, and rows outside the match after the shift, have none.
        """
        return _classify(match, row, shift, self.arrays, self.variable)


def output_view(runs: LabelRuns, output: OutputRows, covered: int, decided: int) -> View:
    """Return the view of the output rows, in their order.

    Parameters
    ----------
    covered
        Rows before this one already lie in a match and are not unmatched.
    decided
        Rows from this one on may still start a match and are not unmatched yet.
    """
    if output.mode == "one":
        return runs.whole()
    return _output_rows(runs.arrays, runs.excluded, output.show_empty, output.unmatched, covered, decided)


@njit(cache=True, nogil=True)
def _run_bounds(start: Int64s, offsets: Int64s, length: Int64s) -> tuple[Int64s, Int64s]:
    begin, stop = np.empty(length.shape[0], np.int64), np.empty(length.shape[0], np.int64)
    for match in range(start.shape[0]):
        row = start[match]
        for run in range(offsets[match], offsets[match + 1]):
            begin[run] = row
            row += length[run]
            stop[run] = row
    return begin, stop


@njit(cache=True, nogil=True)
def _sums_before_runs(runs: RunArrays, members: Bools, prefix: Int64s) -> Int64s:
    before = np.empty(runs.begin.shape[0], np.int64)
    each_once = prefix.shape[0] == 0
    for match in range(runs.start.shape[0]):
        total = 0
        for run in range(runs.offsets[match], runs.offsets[match + 1]):
            before[run] = total
            if members[runs.label[run]]:
                begin, stop = runs.begin[run], runs.stop[run]
                total += stop - begin if each_once else prefix[stop] - prefix[begin]
    return before


@njit(cache=True, nogil=True)
def _sums(view: View, runs: RunArrays, members: Bools, before: Int64s, prefix: Int64s) -> Int64s:
    sums = np.zeros(view.row.shape[0], np.int64)
    each_once = prefix.shape[0] == 0
    for k in range(view.row.shape[0]):
        run = view.run[k]
        if run < 0:
            continue
        sums[k] = before[run]
        if members[runs.label[run]]:
            begin, stop = runs.begin[run], view.row[k] + 1
            sums[k] += stop - begin if each_once else prefix[stop] - prefix[begin]
    return sums


@njit(cache=True, nogil=True)
def _locate_any(view: View, runs: RunArrays, first: bool, offset: int) -> Int64s:
    located = np.full(view.row.shape[0], -1, np.int64)
    for k in range(view.row.shape[0]):
        if view.run[k] < 0:
            continue
        begin, row = runs.start[view.match[k]], view.row[k]
        if offset <= row - begin:
            located[k] = begin + offset if first else row - offset
    return located


@njit(cache=True, nogil=True)
def _last_at_most(values: Int64s, low: int, high: int, bound: int) -> int:
    """Return the last index in low … high − 1 whose value is at most `bound`; that of `low` is."""
    while high - low > 1:
        middle = (low + high) >> 1
        if values[middle] <= bound:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _locate(view: View, runs: RunArrays, members: Bools, counted: Int64s, first: bool, offset: int) -> Int64s:
    located = np.full(view.row.shape[0], -1, np.int64)
    for k in range(view.row.shape[0]):
        run = view.run[k]
        if run < 0:
            continue
        count = counted[run]
        if members[runs.label[run]]:
            count += view.row[k] + 1 - runs.begin[run]
        if offset >= count:
            continue
        rank = offset if first else count - 1 - offset
        # The run of that rank is the last one with no more than `rank` such rows before it.
        if counted[run] > rank:
            run = _last_at_most(counted, runs.offsets[view.match[k]], run, rank)
        located[k] = runs.begin[run] + rank - counted[run]
    return located


@njit(cache=True, nogil=True)
def _classify(match: Int64s, row: Int64s, shift: int, runs: RunArrays, variable: Int32s) -> Int32s:
    classes = np.full(row.shape[0], -1, np.int32)
    for k in range(row.shape[0]):
        m = match[k]
        if m < 0 or row[k] < 0:
            continue
        target = row[k] + shift
        if target < runs.start[m] or target >= runs.end[m]:
            continue
        run = _last_at_most(runs.begin, runs.offsets[m], runs.offsets[m + 1], target)
        classes[k] = variable[runs.label[run]]
    return classes


@njit(cache=True, nogil=True)
def _output_count(
    runs: RunArrays, excluded: Bools, show_empty: bool, unmatched: bool, covered: int, decided: int
) -> int:
    count = 0
    frontier = covered
    for m in range(runs.start.shape[0]):
        start, end = runs.start[m], runs.end[m]
        if unmatched:
            count += max(min(start, decided) - frontier, 0)
        for run in range(runs.offsets[m], runs.offsets[m + 1]):
            if not excluded[runs.label[run]]:
                count += runs.stop[run] - runs.begin[run]
        if start == end and show_empty:
            count += 1
        frontier = max(frontier, end, start + 1)
    if unmatched:
        count += max(decided - frontier, 0)
    return count


@njit(cache=True, nogil=True)
def _output_rows(
    runs: RunArrays, excluded: Bools, show_empty: bool, unmatched: bool, covered: int, decided: int
) -> View:
    count = _output_count(runs, excluded, show_empty, unmatched, covered, decided)
    match, row, held = np.full(count, -1, np.int64), np.empty(count, np.int64), np.full(count, -1, np.int64)
    k, frontier = 0, covered
    for m in range(runs.start.shape[0] + 1):
        last = m == runs.start.shape[0]
        if unmatched:
            for free in range(frontier, decided if last else min(runs.start[m], decided)):
                row[k] = free
                k += 1
        if last:
            break
        for run in range(runs.offsets[m], runs.offsets[m + 1]):
            if excluded[runs.label[run]]:
                continue
            for taken in range(runs.begin[run], runs.stop[run]):
                match[k], row[k], held[k] = m, taken, run
                k += 1
        if runs.start[m] == runs.end[m] and show_empty:
            match[k], row[k] = m, runs.start[m]
            k += 1
        frontier = max(frontier, runs.end[m], runs.start[m] + 1)
    return View(match, row, held)
