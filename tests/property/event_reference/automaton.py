"""The automaton of a sequence of components, run by run, for every selection strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.property.event_reference.bindings import History
from tests.property.event_reference.placement import Placed, applicable, negated_variable, place, place_negated
from tests.property.event_reference.semantics import (
    Budget,
    Expired,
    Found,
    Gaps,
    Query,
    assignment,
    check_gap,
    judged,
    may_leave,
    may_take,
    until_reached,
)
from tests.property.event_reference.stream import Stream
from tests.property.event_reference.variants import Absence, Component


@dataclass(frozen=True)
class Run:
    """A run: what it took, the component it stands at, whether inside its loop, whether UNTIL came."""

    history: History
    at: int
    looping: bool = False
    stopped: bool = False


@dataclass(frozen=True)
class Automaton:
    """A sequence with its conjuncts in place."""

    query: Query
    sequence: tuple[Component, ...]
    placed: tuple[Placed, ...]
    gaps: tuple[Gaps, ...]

    def strategy(self, index: int) -> str:
        return self.sequence[index].part.strategy or self.query.strategy


def compile_sequence(query: Query, order: Sequence[Component | Absence]) -> Automaton:
    """Place every conjunct whose variables the sequence binds."""
    variables = query.pattern.variables
    sequence = tuple(leaf for leaf in order if isinstance(leaf, Component))
    bound = frozenset(leaf.variable for leaf in order)
    conditions = applicable(query.pattern.conditions, bound)
    positive = [condition for condition in conditions if negated_variable(condition, variables) is None]
    gaps, index = [], 0
    for leaf in order:
        if isinstance(leaf, Component):
            index += 1
            continue
        before = frozenset({index - 1} if index else ())
        after = frozenset({index} if index < len(sequence) else ())
        gap = Gaps(leaf, before, after, tuple(place_negated(conditions, leaf, variables)))
        check_gap(query, gap)
        gaps.append(gap)
    return Automaton(query, sequence, tuple(place(positive, sequence, variables)), tuple(gaps))


def simulate(automaton: Automaton, stream: Stream, budget: Budget) -> tuple[list[Found], list[Expired]]:
    """Return all matches and all partial matches whose window closed."""
    runs: set[Run] = set()
    complete: list[History] = []
    expired: list[Expired] = []
    for position in range(len(stream.rows)):
        following: set[Run] = set()
        for run in [*runs, Run((), 0)]:
            budget.spend()
            late = _late(automaton, stream, run, position)
            if late is not None:
                expired.append(late)
            for moved in _moves(automaton, stream, run, position):
                if _took(moved, run) and _is_complete(automaton, stream, moved):
                    complete.append(moved.history)
                if moved.at < len(automaton.sequence) and moved.history:
                    following.add(moved)
        runs = following
    for run in runs:
        late = _late(automaton, stream, run, None)
        if late is not None:
            expired.append(late)
    found = [judged(automaton.query, stream, automaton.sequence, history, automaton.gaps) for history in complete]
    return [match for match in found if match is not None], expired


def _took(moved: Run, run: Run) -> bool:
    return len(moved.history) > len(run.history)


def _is_complete(automaton: Automaton, stream: Stream, run: Run) -> bool:
    last = len(automaton.sequence) - 1
    if run.at == last + 1:
        return True
    return run.at == last and run.looping and _may_leave(automaton, stream, run.history, last)


def _moves(automaton: Automaton, stream: Stream, run: Run, position: int) -> Iterator[Run]:
    """Yield the runs that `run` becomes on the event at `position`."""
    window = automaton.query.within
    if run.history and window is not None and not stream.within(window, run.history[0][1], position):
        return
    if run.looping:
        yield from _in_loop(automaton, stream, run, position)
    else:
        yield from _waiting(automaton, stream, run, position)


def _waiting(automaton: Automaton, stream: Stream, run: Run, position: int) -> Iterator[Run]:
    begins = _satisfies(automaton, stream, run.history, run.at, position)
    if begins:
        loop = automaton.sequence[run.at].part.loop
        yield Run((*run.history, (run.at, position)), run.at if loop else run.at + 1, loop)
    if run.history and _may_ignore(automaton, stream, run, position, begins):
        yield run


def _in_loop(automaton: Automaton, stream: Stream, run: Run, position: int) -> Iterator[Run]:
    sequence, index = automaton.sequence, run.at
    stopped = run.stopped or until_reached(stream, sequence, run.history, index, position)
    most = sequence[index].part.most
    taken = sum(component == index for component, _ in run.history)
    takes = not stopped and (most is None or taken < most)
    takes = takes and _satisfies(automaton, stream, run.history, index, position)
    ignores = _may_ignore(automaton, stream, run, position, takes)
    if takes:
        yield Run((*run.history, (index, position)), index, True, stopped)
    if ignores:
        yield Run(run.history, index, True, stopped)
    if index + 1 == len(sequence) or not _may_leave(automaton, stream, run.history, index):
        return
    peeked = _satisfies(automaton, stream, run.history, index + 1, position)
    if peeked or not (takes or ignores):
        yield from _waiting(automaton, stream, Run(run.history, index + 1), position)


def _may_leave(automaton: Automaton, stream: Stream, history: History, index: int) -> bool:
    return may_leave(stream, automaton.sequence, automaton.placed, history, index)


def _satisfies(automaton: Automaton, stream: Stream, history: History, index: int, position: int) -> bool:
    longer = (*history, (index, position))
    window = automaton.sequence[index].part.within
    origin = max((at for component, at in history if component < index), default=None)
    if window is not None and origin is not None and not stream.within(window, origin, position):
        return False
    return may_take(automaton.query, stream, automaton.sequence, automaton.placed, longer, index) and (
        automaton.sequence[index].part.loop or may_leave(stream, automaton.sequence, automaton.placed, longer, index)
    )


def _may_ignore(automaton: Automaton, stream: Stream, run: Run, position: int, satisfied: bool) -> bool:
    match automaton.strategy(run.at):
        case "strict":
            return False
        case "partition_contiguity":
            return stream.classes[position] != stream.classes[run.history[0][1]]
        case "skip_till_next_match":
            return not satisfied
        case _:
            return True


# ---------------------------------------------------------------------------------------------
# Time-outs


def _late(automaton: Automaton, stream: Stream, run: Run, position: int | None) -> Expired | None:
    """Return the time-out of `run` if the event at `position`, or the end of the data, is behind its deadline."""
    index = _waiting_for(automaton, run)
    if not run.history or index == len(automaton.sequence):
        return None
    windows = [(automaton.query.within, run.history[0][1])]
    earlier = [at for component, at in run.history if component < index]
    if earlier:
        windows.append((automaton.sequence[index].part.within, max(earlier)))
    limits = [(window, start) for window, start in windows if window is not None]
    if not limits or (position is not None and all(stream.within(w, start, position) for w, start in limits)):
        return None
    deadline = min((found for w, start in limits if (found := stream.deadline(w, start)) is not None), default=None)
    name = automaton.query.pattern.variables[automaton.sequence[index].variable].spelling
    return Expired(assignment(automaton.sequence, run.history), name, deadline)


def _waiting_for(automaton: Automaton, run: Run) -> int:
    if not run.looping:
        return run.at
    taken = sum(component == run.at for component, _ in run.history)
    return run.at if taken < automaton.sequence[run.at].least else run.at + 1
