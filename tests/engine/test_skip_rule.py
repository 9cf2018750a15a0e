"""The skip rule over slices: no match is overlooked, whatever the parts that a slice comes in."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from sparkcep.engine.matches import Int64s, Matches, Rows, Search
from sparkcep.engine.skip_rule import ReachedCandidates

WITHIN, LENGTH = 6, 12


def drawn_candidates(drawn: random.Random, times: list[int]) -> dict[int, int]:
    """Draw rows that a match may begin at, and the row behind its last one."""
    found = {}
    for row, time in enumerate(times):
        rows = [end for end in range(row, len(times)) if times[end] - time <= WITHIN]
        if drawn.random() < 0.6:
            found[row] = drawn.choice(rows) + 1
    return found


def in_turn(candidates: dict[int, int], count: int) -> list[int]:
    """Return the first rows of the matches that a search past the last row finds."""
    found, row = [], 0
    while row < count:
        if row in candidates:
            found.append(row)
            row = candidates[row]
        else:
            row += 1
    return found


def as_matches(candidates: dict[int, int], first: int, behind: int, resume: int) -> Matches:
    """Return the candidates of rows first … first + resume as the kernels do."""
    starts = np.array([row for row in sorted(candidates) if first <= row < first + resume], np.int64)
    ends = np.array([min(candidates[int(row)], behind) for row in starts], np.int64)
    nothing = np.zeros(len(starts), np.int64)
    runs = np.arange(len(starts) + 1)
    labels = np.zeros(len(starts), np.int32)
    return Matches(nothing, starts - first, ends - first, nothing, runs, labels, ends - starts, resume, 1)


def parts_of(drawn: random.Random, times: Int64s) -> Iterator[tuple[int, int, int]]:
    """Cut a slice into parts: first row, row behind the last one, rows that are decided."""
    first, behind, count = 0, 0, len(times)
    while behind < count:
        behind = min(count, max(behind + 1, first + drawn.randint(1, count)))
        closed = np.flatnonzero(times[behind - 1] - times[first:behind] > WITHIN)
        resume = behind - first if behind == count else len(closed)
        yield first, behind, resume
        first += resume


@pytest.mark.parametrize("density", [0.3, 1.0, 4.0])
def test_every_match_is_among_the_candidates_kept(density: float) -> None:
    drawn, kept, all_candidates = random.Random(7), 0, 0
    for _ in range(150):
        times = sorted(drawn.randrange(0, 60) for _ in range(int(60 * density)))
        candidates = drawn_candidates(drawn, times)
        reached: list[int] = []
        for number in range(0, 60, LENGTH):
            rows = [r for r, time in enumerate(times) if number <= time <= number + LENGTH - 1 + WITHIN]
            if rows:
                reached += kept_of_slice(drawn, np.array(times[rows[0] : rows[-1] + 1]), rows[0], number, candidates)
        assert set(in_turn(candidates, len(times))) <= set(reached)
        assert in_turn({row: candidates[row] for row in reached}, len(times)) == in_turn(candidates, len(times))
        kept, all_candidates = kept + len(reached), all_candidates + len(candidates)
    # Half of each slice is its first window, from which few candidates are left out; behind it most are.
    assert kept < 0.9 * all_candidates or density < 1


def kept_of_slice(
    drawn: random.Random, times: Int64s, offset: int, number: int, candidates: dict[int, int]
) -> list[int]:
    reached, found = ReachedCandidates(), []
    own = times < number + LENGTH
    local = {row - offset: end - offset for row, end in candidates.items()}
    for first, behind, resume in parts_of(drawn, times):
        rows = Rows(np.array([0, behind - first]), np.zeros((1, behind - first), np.uint64), times[first:behind].copy())
        matches = as_matches(local, first, behind, resume)
        which = reached.among(matches, rows, Search(within=WITHIN), own[first:behind])
        chosen = matches.chosen(which & own[first:behind][matches.start])
        found += [int(start) + first + offset for start in chosen.start]
    return found


def test_slices_that_look_like_one_are_entered_each() -> None:
    times = np.array([0, 1, 12, 24, 25, 26, 27])
    own = np.array([True, True, False, True, True, True, True])
    candidates = as_matches({0: 2, 2: 3, 3: 5, 4: 6, 5: 7, 6: 7}, 0, 7, 7)
    rows = Rows(np.array([0, 7]), np.zeros((1, 7), np.uint64), times)
    assert ReachedCandidates().among(candidates, rows, Search(within=WITHIN), own).all()


def test_searches_meet_behind_the_first_window() -> None:
    times = np.arange(20)
    rows = Rows(np.array([0, 20]), np.zeros((1, 20), np.uint64), times)
    candidates = as_matches({row: row + 2 for row in range(0, 20, 2)} | {9: 11, 11: 12, 13: 14}, 0, 20, 20)
    which = ReachedCandidates().among(candidates, rows, Search(within=WITHIN), np.ones(20, np.bool_))
    assert candidates.start[which].tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
