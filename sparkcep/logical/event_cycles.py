"""Groups that repeat without end: one order whose walks are the sequences of all numbers of rounds.

Three steps. `_Unrolled` lays out the components: a position for each way to stand in the rounds of
the groups around it. `Walks` copies a position for what may have been bound before it and what will be bound
behind it, since that decides where a condition sits: then every walk through a position gives it the
same tests, and one walk, an order like any other, tells them. What is left is to copy a component
for all that may come right after it: under skip-till-next a sequence ignores what its own
next component does not take, so a run must know which that is. Copies that cannot be told apart become one again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sparkcep.logical.event_bound import EventComponent, EventGap, EventOrder
from sparkcep.logical.event_orders import MOST_ORDERS, Block, Cycle, Leaf, Order, Structure, too_large
from sparkcep.syntax.event_pattern import Component

MOST_COPIES = MOST_ORDERS
COPIES = "copies of components in rounds without end"
# Stands for a component of any name: whether there is one before, whether there is one behind.
_SOME = ""
_Node = TypeVar("_Node", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Absent:
    """A negation: how many cycles are around it, and whether their rounds are those of what it stands behind."""

    leaf: Leaf
    depth: int
    is_behind: bool = False


_Absents = tuple[_Absent, ...]


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A part of the layout: where it may begin and end, with the negations before and behind."""

    entries: tuple[tuple[_Absents, int], ...]
    exits: tuple[tuple[int, _Absents], ...]
    through: _Absents | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """From one position right to the next one.

    Attributes
    ----------
    gaps
        The negations in between.
    kept
        How many cycles around both stay in their rounds.
    again
        Whether the next cycle further in begins another round.
    """

    source: int
    target: int
    gaps: _Absents
    kept: int
    again: bool


class _Unrolled:
    """The positions of a structure: its components, and again for each round that has to be there."""

    def __init__(self, structure: Structure, text: str | None) -> None:
        self.text = text
        self.leaves: list[Leaf] = []
        self.cycles: list[tuple[int, ...]] = []
        self.steps: list[_Step] = []
        self.whole = self._laid_out(structure, ())

    def _laid_out(self, structure: Structure, cycles: tuple[int, ...]) -> _Fragment:
        if isinstance(structure, Leaf):
            if not isinstance(structure.node, Component):
                return _Fragment((), (), (_Absent(structure, len(cycles)),))
            if len(self.leaves) >= MOST_COPIES:
                raise too_large(self.text, COPIES)
            self.leaves.append(structure)
            self.cycles.append(cycles)
            place = len(self.leaves) - 1
            return _Fragment((((), place),), ((place, ()),))
        if isinstance(structure, Block):
            found = _Fragment((), (), ())
            for member in structure.members:
                found = self._joined(found, self._laid_out(member, cycles), len(cycles))
            return found
        return self._rounds(structure, (*cycles, structure.number))

    def _rounds(self, cycle: Cycle, cycles: tuple[int, ...]) -> _Fragment:
        laid_out = [self._any_of(self._laid_out(each, cycles) for each in cycle.rounds) for _ in range(cycle.least)]
        for earlier, later in [*itertools.pairwise(laid_out), (laid_out[-1], laid_out[-1])]:
            self._connect(earlier, later, len(cycles) - 1, True)
        return _Fragment(laid_out[0].entries, laid_out[-1].exits)

    def _any_of(self, fragments: Iterable[_Fragment]) -> _Fragment:
        listed = list(fragments)
        entries = tuple(entry for each in listed for entry in each.entries)
        return _Fragment(entries, tuple(end for each in listed for end in each.exits))

    def _joined(self, one: _Fragment, other: _Fragment, depth: int) -> _Fragment:
        if one.through is not None and other.through is not None:
            return _Fragment((), (), one.through + other.through)
        if one.through is not None:
            return _Fragment(tuple((one.through + gaps, place) for gaps, place in other.entries), other.exits)
        if other.through is not None:
            return _Fragment(one.entries, tuple((place, gaps + other.through) for place, gaps in one.exits))
        self._connect(one, other, depth, False)
        return _Fragment(one.entries, other.exits)

    def _connect(self, one: _Fragment, other: _Fragment, kept: int, again: bool) -> None:
        for (source, behind), (before, target) in itertools.product(one.exits, other.entries):
            self.steps.append(_Step(source, target, _behind(behind) + before, kept, again))


def _behind(absents: _Absents) -> _Absents:
    return tuple(_Absent(absent.leaf, absent.depth, True) for absent in absents)


@dataclass(frozen=True, slots=True)
class _Place:
    """A position with the names bound before and behind it, and the negations right before it (or, last, behind)."""

    position: int
    earlier: frozenset[str]
    gaps: _Absents
    later: frozenset[str] = frozenset()
    closing: _Absents = ()


@dataclass(slots=True)
class _Graph:
    """Places, the steps between them, as pairs of a place and what lies on the way."""

    following: dict[_Place, dict[_Place, _Step]] = field(default_factory=dict)

    @property
    def preceding(self) -> dict[_Place, list[_Place]]:
        found: dict[_Place, list[_Place]] = {place: [] for place in self.following}
        for source, steps in self.following.items():
            for target in steps:
                found[target].append(source)
        return found


class Walks:
    """The sequences that a structure with cycles stands for.

    Parameters
    ----------
    tracked
        The names that conditions speak of.
    text
        The source, for messages.

    Attributes
    ----------
    orders
        Some of the sequences, all its places among them.

    Raises
    ------
    BindingError
        PATTERN_TOO_LARGE.
    """

    def __init__(self, structure: Structure, tracked: frozenset[str], text: str | None) -> None:
        self.layout = _Unrolled(structure, text)
        self.tracked, self.text = tracked, text
        self.graph = self._with_later(self._with_earlier())
        self._walks = list(self._covering())
        self.orders: list[Order] = [self._order(walk) for walk in self._walks]

    def _names(self, position: int) -> frozenset[str]:
        return frozenset({_SOME, self.layout.leaves[position].name} & {_SOME, *self.tracked})

    def _with_earlier(self) -> _Graph:
        """Copy positions for the names bound before, and for the negations right before."""
        steps: dict[int, list[_Step]] = {}
        for step in self.layout.steps:
            steps.setdefault(step.source, []).append(step)
        graph = _Graph()
        pending = [_Place(place, frozenset(), gaps) for gaps, place in self.layout.whole.entries]
        while pending:
            place = pending.pop()
            if place in graph.following:
                continue
            self._check_size(len(graph.following))
            earlier = place.earlier | self._names(place.position)
            found: dict[_Place, _Step] = {}
            for step in steps.get(place.position, ()):
                found.setdefault(_Place(step.target, earlier, step.gaps), step)
            graph.following[place] = found
            pending += found
        return graph

    def _with_later(self, graph: _Graph) -> _Graph:
        """Copy places for the names bound behind them, and for the negations behind the last."""
        copies: dict[_Place, list[_Place]] = {place: [] for place in graph.following}
        found = _Graph()
        pending: list[tuple[_Place, _Place, _Place | None]] = []
        for place in graph.following:
            for position, gaps in self.layout.whole.exits:
                if position == place.position:
                    last = _Place(place.position, place.earlier, place.gaps, frozenset(), _behind(gaps))
                    pending.append((place, last, None))
        preceding = graph.preceding
        while pending:
            place, copy, behind = pending.pop()
            is_new = copy not in found.following
            if is_new:
                self._check_size(len(found.following))
                found.following[copy] = {}
                copies[place].append(copy)
            if behind is not None:
                origin = _Place(behind.position, behind.earlier, behind.gaps)
                found.following[copy][behind] = graph.following[place][origin]
            if is_new:
                later = copy.later | self._names(copy.position)
                pending += [(p, _Place(p.position, p.earlier, p.gaps, later), copy) for p in preceding[place]]
        return found

    def _check_size(self, size: int) -> None:
        if size >= MOST_COPIES:
            raise too_large(self.text, COPIES)

    # -- walks -------------------------------------------------------------------------------------

    def _covering(self) -> Iterator[list[_Place]]:
        """Yield walks from the start to an end that come to every place."""
        starts = [place for place in self.graph.following if _SOME not in place.earlier]
        ends = [place for place in self.graph.following if _SOME not in place.later]
        before = _nearest(starts, self.graph.following)
        behind = _nearest(ends, self.graph.preceding)
        seen: set[_Place] = set()
        for place in sorted(self.graph.following, key=lambda each: len(each.earlier), reverse=True):
            if place in seen:
                continue
            walk = [*reversed(list(_chain(place, before))), *itertools.islice(_chain(place, behind), 1, None)]
            seen |= set(walk)
            yield walk

    def _order(self, walk: Sequence[_Place]) -> Order:
        """Return a walk as an order, each component in its rounds."""
        leaves: list[Leaf] = []
        gaps: list[tuple[Leaf, int]] = []
        rounds: list[tuple[int, int]] = []
        for count, place in enumerate(walk):
            earlier, rounds = rounds, self._rounds(walk[count - 1] if count else None, place, rounds)
            gaps += [
                (_in_rounds(each.leaf, (earlier if each.is_behind else rounds)[: each.depth]), count)
                for each in place.gaps
            ]
            leaves.append(_in_rounds(self.layout.leaves[place.position], rounds))
        count = len(leaves)
        gaps += [(_in_rounds(each.leaf, rounds[: each.depth]), count) for each in walk[-1].closing]
        return Order(
            tuple(leaves),
            tuple(frozenset(range(place)) for place in range(count)),
            tuple((gap, frozenset(range(place)), frozenset(range(place, count))) for gap, place in gaps),
        )

    def _rounds(self, previous: _Place | None, place: _Place, rounds: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the cycles around a place and the round of each, given those of the place before."""
        cycles = self.layout.cycles[place.position]
        if previous is None:
            return [(cycle, 0) for cycle in cycles]
        step = self.graph.following[previous][place]
        found = rounds[: step.kept]
        if step.again:
            cycle, number = rounds[step.kept]
            found.append((cycle, number + 1))
        return found + [(cycle, 0) for cycle in cycles[len(found) :]]

    # -- the bound order ---------------------------------------------------------------------------

    def bound(self, bind: Callable[[Order], EventOrder]) -> EventOrder:
        """Return the cyclic order.

        Parameters
        ----------
        bind
            Gives the components of a sequence their tests.
        """
        told: dict[_Place, _Told] = {}
        for walk, order in zip(self._walks, self.orders, strict=True):
            if any(place not in told for place in walk):
                told |= self._told(walk, bind(order))
        copies = _committed({place: tuple(steps) for place, steps in self.graph.following.items()}, told)
        self._check_size(len(copies) - 1)
        labels = {copy: told[copy[0]] for copy in copies}
        merged, of_block = _minimal(copies, labels)
        return _cyclic_order(*_without_loops_behind_themselves(merged, of_block))

    def _told(self, walk: Sequence[_Place], order: EventOrder) -> dict[_Place, _Told]:
        by_place: dict[int, list[EventGap]] = {}
        for gap in order.gaps:
            bare = replace(gap, before=frozenset(), after=frozenset())
            by_place.setdefault(len(gap.before), []).append(bare)
        found: dict[_Place, _Told] = {}
        for k, place in enumerate(walk):
            name = self.layout.leaves[place.position].name
            is_new = name in self.tracked and name not in place.earlier
            closing = tuple(by_place.get(k + 1, ())) if k == len(walk) - 1 else ()
            found[place] = _Told(order.components[k], k == 0, is_new, tuple(by_place.get(k, ())), closing)
        return found


@dataclass(frozen=True, slots=True)
class _Told:
    """What a walk says of a place: its tests, the negations before it, behind it, whether it binds its name first."""

    component: EventComponent
    is_start: bool
    is_new: bool
    gaps: tuple[EventGap, ...]
    closing: tuple[EventGap, ...]

    @property
    def beginning(self) -> Hashable:
        """What decides whether an event begins it."""
        leave = None if self.component.is_loop else self.component.leave
        return (self.component.variable, self.component.strategy, self.component.begin, self.component.within, leave)


def _in_rounds(leaf: Leaf, rounds: Iterable[tuple[int, int]]) -> Leaf:
    return Leaf(leaf.node, leaf.rounds | frozenset(rounds))


def _nearest(roots: Iterable[_Node], edges: Mapping[_Node, Iterable[_Node]]) -> dict[_Node, _Node | None]:
    """Return for each node the one to come from on a shortest way from the roots."""
    found: dict[_Node, _Node | None] = dict.fromkeys(roots)
    pending = list(found)
    for node in pending:
        for target in edges[node]:
            if target not in found:
                found[target] = node
                pending.append(target)
    return found


def _chain(node: _Node | None, origin: Mapping[_Node, _Node | None]) -> Iterator[_Node]:
    while node is not None:
        yield node
        node = origin[node]


_Copy = tuple[_Place, Hashable]


def _committed(
    following: Mapping[_Place, Sequence[_Place]], told: Mapping[_Place, _Told]
) -> dict[_Copy, tuple[_Copy, ...]]:
    """Copy each place for every way in which what comes right after it may begin."""
    ways = {
        place: tuple(dict.fromkeys(told[target].beginning for target in targets)) or (None,)
        for place, targets in following.items()
    }
    return {
        (place, way): tuple(
            (target, next_way)
            for target in targets
            if told[target].beginning == way
            for next_way in ways[target]
        )
        for place, targets in following.items()
        for way in ways[place]
    }  # fmt: skip


def _minimal(
    copies: Mapping[_Copy, Sequence[_Copy]], labels: Mapping[_Copy, _Told]
) -> tuple[dict[int, frozenset[int]], dict[int, _Told]]:
    """Make one of the copies that say the same and are followed by the same (partition refinement)."""
    block = _numbered({copy: (labels[copy], not copies[copy]) for copy in copies})
    while True:
        refined = _numbered({c: (block[c], frozenset(block[target] for target in copies[c])) for c in copies})
        if len(set(refined.values())) == len(set(block.values())):
            break
        block = refined
    following = {block[copy]: frozenset(block[target] for target in copies[copy]) for copy in copies}
    return following, {block[copy]: labels[copy] for copy in copies}


def _numbered(keys: Mapping[_Copy, Hashable]) -> dict[_Copy, int]:
    numbers: dict[Hashable, int] = {}
    return {copy: numbers.setdefault(key, len(numbers)) for copy, key in keys.items()}


def _without_loops_behind_themselves(
    following: dict[int, frozenset[int]], labels: dict[int, _Told]
) -> tuple[dict[int, frozenset[int]], dict[int, _Told]]:
    """Give each loop that may come right after itself a twin: a change of component then is a new round."""
    found, told = dict(following), dict(labels)
    for node, targets in following.items():
        if node in targets and labels[node].component.is_loop:
            twin = len(found)
            found[node] = targets - {node} | {twin}
            found[twin], told[twin] = targets, labels[node]
    return found, told


def _cyclic_order(following: Mapping[int, frozenset[int]], told: Mapping[int, _Told]) -> EventOrder:
    """Number the components from the start on."""
    listed = list(_nearest((node for node in sorted(following) if told[node].is_start), following))
    number = {node: k for k, node in enumerate(listed)}
    after = tuple(frozenset(number[target] for target in following[node]) for node in listed)
    before = [frozenset(k for k, targets in enumerate(after) if place in targets) for place in range(len(listed))]
    gaps: dict[tuple[EventGap, frozenset[int]], frozenset[int]] = {}
    closing: dict[EventGap, frozenset[int]] = {}
    for k, node in enumerate(listed):
        for gap in dict.fromkeys(told[node].gaps):
            gaps[gap, before[k]] = gaps.get((gap, before[k]), frozenset()) | {k}
        for gap in dict.fromkeys(told[node].closing):
            closing[gap] = closing.get(gap, frozenset()) | {k}
    bound = [replace(gap, before=behind, after=ahead) for (gap, behind), ahead in gaps.items()]
    bound += [replace(gap, before=behind) for gap, behind in closing.items()]
    components = tuple(told[node].component for node in listed)
    return EventOrder(components, _ancestors(after), tuple(bound), after)


def _ancestors(after: Sequence[frozenset[int]]) -> tuple[frozenset[int], ...]:
    """Return for each component those from which a walk leads to it."""
    found: list[set[int]] = [set() for _ in after]
    for start in range(len(after)):
        pending = list(after[start])
        while pending:
            place = pending.pop()
            if start not in found[place]:
                found[place].add(start)
                pending += after[place]
    return tuple(map(frozenset, found))
