"""The `ordered` engine's steps: an order in which components are bound, with what is tested at each step.

The compiled pattern does not say in which order variables are bound. That is chosen for the rows at
hand, and `chain` then lays out what is tested at each step: every condition as soon as all events that
it reads are bound (Kolchinsky et al. 2015, the lazy chain NFA).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sparkcep.engine.bound_program import (
    BoundConditions,
    BoundPattern,
    BoundProgram,
    compile_bound,
    flat_of,
    offsets_of,
)
from sparkcep.engine.ordered_tables import Chain
from sparkcep.engine.runs_program import RunsProgram

if TYPE_CHECKING:
    from sparkcep.logical.event_bound import LogicalEvents

# From the number of events that each component may take to the order in which components are bound.
Chooser: TypeAlias = Callable[[Sequence[float]], Sequence[int]]


@dataclass(frozen=True, slots=True, eq=False)
class OrderedProgram(BoundProgram):
    """An event pattern compiled for the `ordered` engine; plain data.

    Attributes
    ----------
    choosers
        Per order of the pattern, what says in which order to bind its components.
    """

    choosers: tuple[Chooser, ...]


def compile_ordered(
    events: LogicalEvents, base: RunsProgram, conditions: BoundConditions, choosers: Sequence[Chooser]
) -> OrderedProgram:
    """Compile a pattern that the `ordered` engine may serve; see `compile_bound`."""
    bound = compile_bound(events, base, conditions)
    return OrderedProgram(bound.base, bound.patterns, bound.code, bound.constants, bound.registers, tuple(choosers))


def chain(pattern: BoundPattern, sequence: Sequence[int], end: int) -> Chain:
    """Lay out the steps of binding components in an order, for matches that end with `end`."""
    step_of = {component: step for step, component in enumerate(sequence)}
    lists, sources, done = _lookups(pattern, sequence)
    precedes = pattern.precedes.copy()
    precedes[:, end] = True
    precedes[end, end] = False

    def by_step(items: Iterable[tuple[frozenset[int], int]]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in sequence]
        for read, item in items:
            found[max(step_of[component] for component in read)].append(item)
        return found

    own = ((frozenset({c, *np.flatnonzero(pattern.precedes[:, c]).tolist()}), c) for c in pattern.windows)
    tests = by_step(test for test in pattern.tests if test[1] not in done)
    windows = by_step(own)
    gaps = by_step((before | after, g) for g, (before, after) in enumerate(pattern.gaps))
    sides = np.zeros((2, len(pattern.gaps), pattern.size), np.bool_)
    for g, (before, after) in enumerate(pattern.gaps):
        sides[0, g, sorted(before)] = True
        sides[1, g, sorted(after)] = True
    last = sequence[-1]
    apart = np.delete(precedes[last] | precedes[:, last], last)
    is_free = bool(apart.all()) and not (tests[-1] or windows[-1] or gaps[-1])
    return Chain(
        np.array(sequence, np.int64), np.arange(pattern.size), np.array(lists, np.int64), np.array(sources, np.int64),
        end, pattern.first, pattern.number, pattern.precedes, precedes, is_free,
        offsets_of(tests), flat_of(tests), offsets_of(windows), flat_of(windows), offsets_of(gaps), flat_of(gaps),
        sides[0], sides[1],
    )  # fmt: skip


def _lookups(pattern: BoundPattern, sequence: Sequence[int]) -> tuple[list[int], list[tuple[int, int]], set[int]]:
    """Return per step the list of its candidates and where their value is read, and the equalities done so."""
    lists, sources, done = list(sequence), [(-1, -1)] * len(sequence), set()
    places = {side: len(pattern.bits) + i for i, side in enumerate(pattern.looked_up)}
    for step, component in enumerate(sequence):
        for test, *sides in pattern.equalities:
            own = next((side for side in sides if side.component == component), None)
            other = next((side for side in sides if side.component in sequence[:step]), None)
            if own is not None and other is not None:
                lists[step] = places[own]
                sources[step] = (other.component, pattern.columns.index((other.is_float, other.column)))
                done.add(test)
                break
    return lists, sources, done
