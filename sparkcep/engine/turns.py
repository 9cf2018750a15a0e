"""Chooses matches that do not overlap among the candidates of all slices, in the order of their places.

Each candidate is told twice, where it begins and where it ends; at the same place candidates begin before others
end. So nobody compares places: that one begins behind the end of another is seen by which is told first.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sparkcep.engine.compiled import compiled
from sparkcep.engine.matches import Bools, Int64s

ACTIVE, NUMBER = range(2)
NEVER = -1


class Turns(Protocol):
    """Goes over beginnings and ends, one part after the other."""

    def numbers(self, begins: Bools, ends: Bools, candidates: Int64s) -> Int64s:
        """Return int64[n]: the number of the match that a row carries, from 1 on in each group, or 0.

        Parameters
        ----------
        begins : bool[n]
            Whether a group begins with a row.
        ends : bool[n]
            Whether a row tells where a candidate ends, not where it begins.
        candidates : int64[n]
            Which candidate it speaks of.
        """


class ByBeginning:
    """Takes candidates as they begin, each behind the end of the one before: AFTER MATCH SKIP PAST LAST ROW."""

    def __init__(self) -> None:
        self.state = np.array([NEVER, 1], np.int64)

    def numbers(self, begins: Bools, ends: Bools, candidates: Int64s) -> Int64s:
        """Number the matches where they begin."""
        numbers = np.zeros(len(ends), np.int64)
        _by_beginning(begins, ends, candidates, self.state, numbers)
        return numbers


class ByCompletion:
    """Takes candidates as they end, each that began behind the end of the one taken before: non-overlapping matches."""

    def __init__(self) -> None:
        self.open: Int64s = np.empty(0, np.int64)
        self.state = np.array([0, 1], np.int64)

    def numbers(self, begins: Bools, ends: Bools, candidates: Int64s) -> Int64s:
        """Number the matches where they end."""
        numbers = np.zeros(len(ends), np.int64)
        known, codes = np.unique(np.concatenate([self.open, candidates]), return_inverse=True)
        codes = codes.reshape(-1)
        # Taking a match closes all candidates that are open: only those that open later may be taken.
        opened = np.full(len(known), NEVER, np.int64)
        opened[codes[: len(self.open)]] = self.state[ACTIVE]
        _by_completion(begins, ends, codes[len(self.open) :], opened, self.state, numbers)
        self.open = known[opened == self.state[ACTIVE]]
        return numbers


@compiled
def _by_beginning(begins: Bools, ends: Bools, candidates: Int64s, state: Int64s, numbers: Int64s) -> None:
    """Fill `numbers`; `state` is the match that has not ended, −1 if there is none, and the number of the next."""
    for row in range(ends.shape[0]):
        if begins[row]:
            state[ACTIVE], state[NUMBER] = NEVER, 1
        if ends[row]:
            if candidates[row] == state[ACTIVE]:
                state[ACTIVE] = NEVER
        elif state[ACTIVE] < 0:
            numbers[row] = state[NUMBER]
            state[ACTIVE], state[NUMBER] = candidates[row], state[NUMBER] + 1


@compiled
def _by_completion(begins: Bools, ends: Bools, codes: Int64s, opened: Int64s, state: Int64s, numbers: Int64s) -> None:
    """Fill `numbers`; `state` tells how often candidates were closed, and the number of the next match.

    Parameters
    ----------
    codes : int64[n]
        Which candidate a row speaks of.
    opened : int64[k]
        How often candidates had been closed when each began; −1 where it has ended, or was not told yet.
    """
    for row in range(ends.shape[0]):
        if begins[row]:
            state[ACTIVE], state[NUMBER] = state[ACTIVE] + 1, 1
        code = codes[row]
        if not ends[row]:
            opened[code] = state[ACTIVE]
            continue
        if opened[code] == state[ACTIVE]:
            numbers[row] = state[NUMBER]
            state[ACTIVE], state[NUMBER] = state[ACTIVE] + 1, state[NUMBER] + 1
        opened[code] = NEVER
