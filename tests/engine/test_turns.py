"""Candidates take turns, in every part that they come in."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sparkcep.engine.turns import ByBeginning, ByCompletion, Turns

Told = list[tuple[int, bool]]


def numbered(turns: Turns, told: Told, begins: list[bool], cuts: list[int]) -> list[int]:
    """Return the numbers of rows that come in parts."""
    candidates, ends = np.array([c for c, _ in told], np.int64), np.array([end for _, end in told], np.bool_)
    numbers: list[int] = []
    for first, behind in zip([0, *cuts], [*cuts, len(told)], strict=True):
        part = slice(first, behind)
        numbers += turns.numbers(np.array(begins[part], np.bool_), ends[part], candidates[part]).tolist()
    return numbers


def test_candidates_take_turns_as_they_begin_in_each_partition() -> None:
    # Partition one: 0 holds rows 1–3, 1 holds 2–2, 2 holds 3–4, 3 holds 4–4; partition two: 4 holds 1–1.
    told = [(0, False), (1, False), (1, True), (2, False), (0, True), (3, False), (2, True), (3, True), (4, False)]
    begins = [True] + [False] * 7 + [True]
    assert numbered(ByBeginning(), told, begins, [4]) == [1, 0, 0, 0, 0, 2, 0, 0, 1]


def test_candidates_are_taken_as_they_end_in_each_class() -> None:
    # Class one: 7 holds rows 1–4, 3 holds 2–3 and ends first, 9 holds 3–5 and begins where 3 ends, 5 holds 4–5.
    one = [(7, False), (3, False), (9, False), (3, True), (5, False), (7, True), (9, True), (5, True)]
    # Class two: the last candidate of class one has nothing to do with it.
    two = [(8, False), (8, True)]
    begins = [True] + [False] * 7 + [True, False]
    assert numbered(ByCompletion(), one + two, begins, [3]) == [0, 0, 0, 1, 0, 0, 0, 2, 0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_taken_as_they_end_are_those_that_a_search_by_places_takes(seed: int) -> None:
    drawn = random.Random(seed)
    for _ in range(50):
        spans = sorted({drawn.randrange(40): drawn.randint(0, 9) for _ in range(12)}.items())
        ended = sorted((begin + length, begin) for begin, length in spans)
        expected, last = [], -1
        for end, begin in ended:
            if begin > last:
                expected.append(begin)
                last = end
        places = sorted([(begin, False, begin) for _, begin in ended] + [(end, True, begin) for end, begin in ended])
        told = [(begin, is_end) for _, is_end, begin in places]
        cuts = sorted(drawn.sample(range(len(told)), 3))
        numbers = numbered(ByCompletion(), told, [True] + [False] * (len(told) - 1), cuts)
        assert [begin for (begin, _), number in zip(told, numbers, strict=True) if number] == expected
