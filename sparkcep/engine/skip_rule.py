"""The skip rule over slices of a partition: which candidates may be matches.

Every row may begin a candidate. A slice keeps those that a search which goes on past the last row of each match
may come to; it does not know where the slice before it ends its last match, which may be anywhere in the first
window. Searches that began at different rows soon come to the same candidates, so few are kept that are none of
the matches. `sparkcep.engine.turns` then goes over the candidates of all slices in order.
"""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import compiled
from sparkcep.engine.limits import last_rows
from sparkcep.engine.matches import Bools, Int64s, Matches, Rows, Search


class ReachedCandidates:
    """Tells which candidates of a slice a search may come to, from wherever it enters the slice.

    A slice may come in parts: what is carried over is where searches go on in the rows that are left, and whether
    a slice begins with the first of them.
    """

    def __init__(self) -> None:
        self.carried: Bools = np.empty(0, np.bool_)
        self.begins = True

    def among(self, candidates: Matches, rows: Rows, search: Search, own: Bools) -> Bools:
        """Tell which candidates may be matches: bool[m].

        Parameters
        ----------
        candidates
            The preferred match from every row that has one; none of them is empty.
        search
            How far a match may reach.
        own : bool[n]
            Whether a row may begin matches of its slice. Slices that look like one are told apart by it, or they are
            more than a window apart.
        """
        limits, resume = last_rows(rows, search), candidates.resume
        begins = np.zeros(rows.count, np.bool_)
        begins[1:] = (own[1:] & ~own[:-1]) | (np.arange(1, rows.count) > limits[:-1])
        begins[rows.group_offsets[:-1]] = True
        begins[0] = self.begins
        entries = np.zeros(rows.count + 1, np.bool_)
        entries[: len(self.carried)] = self.carried
        reached = np.empty(len(candidates.start), np.bool_)
        _follow(begins[:resume], limits, candidates.start, candidates.end, entries, reached)
        self.carried = entries[resume:-1]
        # Behind the last row nobody can look; a beginning too many makes candidates too many, no wrong matches.
        self.begins = resume == rows.count or bool(begins[resume])
        return reached


@compiled
def _follow(begins: Bools, limits: Int64s, starts: Int64s, ends: Int64s, entries: Bools, reached: Bools) -> None:
    """Follow all searches at once.

    Parameters
    ----------
    begins : bool[k]
        Rows that a slice begins with, of those whose candidates are known: searches enter it here or behind any row
        of the window.
    limits : int64[n]
        The last row of the window of each row.
    starts, ends : int64[m]
        First rows of candidates, ascending, and rows behind their last ones.
    entries : bool[n + 1]
        Rows that a search may go on from, as the part before told; those behind row k are filled in.
    reached : bool[m]
        Filled in.
    """
    decided, candidate, entered_until, is_open = begins.shape[0], 0, np.int64(-1), False
    for row in range(decided):
        if begins[row]:
            entered_until = max(entered_until, limits[row] + 1)
        is_open = is_open or entries[row] or row <= entered_until
        if candidate < starts.shape[0] and starts[candidate] == row:
            reached[candidate] = is_open
            if is_open:
                entries[ends[candidate]] = True
                is_open = False
            candidate += 1
    for row in range(decided, min(entered_until + 1, entries.shape[0])):
        entries[row] = True
    entries[decided] = entries[decided] or is_open
