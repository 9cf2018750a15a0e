"""Rows from strings, and the search for matches by definition, for tests of the row pattern matchers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sparkcep.engine.matches import PAST_LAST_ROW, TO_FIRST, TO_NEXT_ROW, Matches, MatchLabel, Rows, Search, SearchFault
from sparkcep.syntax.pattern import RowPattern
from tests.engine.naive import Naive


class Found(NamedTuple):
    """A match: group, start, end, number, and the label (name, excluded) of each row."""

    group: int
    start: int
    end: int
    number: int
    labels: tuple[tuple[str, bool], ...]


def rows_of(
    groups: Sequence[Sequence[set[str]]], variables: Sequence[str], order: Sequence[float] | None = None
) -> Rows:
    """Rows whose conditions say which variables each row satisfies."""
    flat = [row for group in groups for row in group]
    words = max(1, -(-len(variables) // 64))
    conditions = np.zeros((words, len(flat)), np.uint64)
    for index, row in enumerate(flat):
        for v, name in enumerate(variables):
            if name in row:
                conditions[v // 64, index] |= np.uint64(1 << v % 64)
    offsets = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    values = np.array(order if order is not None else np.arange(len(flat)))
    return Rows(offsets, conditions, order=values)


def letters(text: str) -> list[set[str]]:
    """Read rows: ``A[BC]C`` is three rows, the second one satisfies B and C, ``-`` satisfies nothing."""
    rows: list[set[str]] = []
    inside = False
    for letter in text:
        if letter == "]":
            inside = False
        elif letter == "[":
            rows.append(set())
            inside = True
        elif inside:
            rows[-1].add(letter)
        else:
            rows.append({letter} - {"-"})
    return rows


def found_in(matches: Matches, labels: Sequence[MatchLabel], variables: Sequence[str]) -> list[Found]:
    """The matches with one label per row."""
    result = []
    for i in range(len(matches.start)):
        runs = range(int(matches.run_offsets[i]), int(matches.run_offsets[i + 1]))
        used = [labels[matches.run_label[r]] for r in runs for _ in range(int(matches.run_length[r]))]
        assert len(used) == matches.end[i] - matches.start[i]
        assert all(matches.run_label[r] != matches.run_label[r + 1] for r in runs[:-1])
        named = tuple((variables[label.variable], label.excluded) for label in used)
        row = (int(column[i]) for column in (matches.group, matches.start, matches.end, matches.number))
        result.append(Found(*row, named))
    return result


def fits(search: Search, order: Sequence[float]) -> Callable[[int, int], bool]:
    """The limits of a search, for rows of one group with these order values."""

    def within(first: int, last: int) -> bool:
        if search.max_rows is not None and last - first + 1 > search.max_rows:
            return False
        if search.within is None:
            return True
        distance = order[last] - order[first]
        return distance < search.within or (distance == search.within and search.inclusive)

    return within


def naive_search(
    pattern: RowPattern,
    groups: Sequence[Sequence[set[str]]],
    search: Search,
    variables: Sequence[str],
    order: Sequence[float] | None = None,
) -> list[Found] | tuple[str, int, int, int]:
    """All matches by definition, or kind, group, row and number of the fault."""
    result: list[Found] = []
    base = 0
    for group, rows in enumerate(groups):
        values = list(range(base, base + len(rows))) if order is None else list(order[base : base + len(rows)])
        naive = Naive(list(rows), fits(search, values))
        row, number = 0, 1
        while row < len(rows):
            way = naive.preferred(pattern, row)
            if way is None:
                row += 1
                continue
            end, labels = way
            following = next_row(search, variables, row, end, labels)
            if isinstance(following, str):
                return following, group, base + row, number
            result.append(Found(group, base + row, base + end, number, labels))
            row, number = following, number + 1
        base += len(rows)
    return result


def next_row(
    search: Search, variables: Sequence[str], row: int, end: int, labels: tuple[tuple[str, bool], ...]
) -> int | str:
    """Where the search goes on after a match, or the kind of fault."""
    if end == row or search.skip == TO_NEXT_ROW:
        return row + 1
    if search.skip == PAST_LAST_ROW:
        return end
    names = {variables[v] for v in search.skip_variables}
    targets = [row + i for i, (name, _) in enumerate(labels) if name in names]
    if not targets:
        return "target not bound"
    target = targets[0] if search.skip == TO_FIRST else targets[-1]
    return "target is first row" if target == row else target


def outcome(find: Callable[[], list[Found]]) -> list[Found] | tuple[str, int, int, int]:
    """What a search finds, or its fault, as `naive_search` tells it."""
    try:
        return find()
    except SearchFault as fault:
        return fault.kind, fault.group, fault.row, fault.number
