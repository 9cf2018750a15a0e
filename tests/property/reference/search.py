"""The preferred path of a pattern from one start, by trying all paths in order of preference."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.property.reference.errors import ReferenceError_, StepLimitReached
from tests.property.reference.patterns import Choice_, Edge, Pattern, Permute, Repeat, Sequence_, Variable


@dataclass(frozen=True)
class Step:
    """One row of a match."""

    row: int
    variable: str
    excluded: bool


Path: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True)
class _Rounds:
    """`loop` after `done` complete rounds."""

    loop: Repeat
    done: int


@dataclass(frozen=True)
class _RoundEnd:
    """Closes the round after `done` complete ones that was entered at position `entered`."""

    loop: Repeat
    done: int
    entered: int


_Task: TypeAlias = "Pattern | _Rounds | _RoundEnd"
_Rest: TypeAlias = "tuple[_Task, _Rest] | None"


def paths(
    pattern: Pattern, start: int, size: int, holds: Callable[[Path], bool], limit: int = 500_000
) -> Iterator[Path]:
    """Yield the paths of `pattern` over rows ``start … size - 1``, the preferred one first.

    `holds` tells whether the last step of a path satisfies its variable's condition. A path
    waits on the stack with what is left of the pattern; ways to go on are pushed in reverse
    order of preference.
    """
    stack: list[tuple[_Rest, Path]] = [((pattern, None), ())]
    for _ in range(limit):
        if not stack:
            return
        rest, path = stack.pop()
        if rest is None:
            yield path
            continue
        task, rest = rest
        position = start + len(path)
        if isinstance(task, Variable):
            longer = (*path, Step(position, task.name, task.excluded))
            if position < size and holds(longer):
                stack.append((rest, longer))
        else:
            ways = _ways(task, rest, position, size)
            stack.extend((way, path) for way in reversed(ways))
    raise StepLimitReached


def _ways(task: _Task, rest: _Rest, position: int, size: int) -> list[_Rest]:
    """Return how the pattern may go on without taking a row, the preferred way first."""
    match task:
        case Edge(symbol):
            return [rest] if position == (0 if symbol == "^" else size) else []
        case Sequence_(parts):
            return [_before(parts, rest)]
        case Choice_(parts):
            return [(part, rest) for part in parts]
        case Permute(parts):
            return [_before(order, rest) for order in itertools.permutations(parts)]
        case Repeat():
            return [(_Rounds(task, 0), rest)]
        case _Rounds(loop, done):
            again: list[_Rest] = [(loop.part, (_RoundEnd(loop, done, position), rest))]
            more = again if loop.most is None or done < loop.most else []
            stop = [rest] if done >= loop.least else []
            return more + stop if loop.greedy else stop + more
        case _RoundEnd(loop, done, entered):
            consumed_nothing = position == entered
            return [] if consumed_nothing and done >= loop.least else [(_Rounds(loop, done + 1), rest)]
        case _:
            raise ReferenceError_(f"unknown pattern {task}")


def _before(parts: tuple[Pattern, ...], rest: _Rest) -> _Rest:
    for part in reversed(parts):
        rest = (part, rest)
    return rest
