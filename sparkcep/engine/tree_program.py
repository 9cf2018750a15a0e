"""The `tree` engine's joins: a tree over the components, with what is tested at each of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sparkcep.engine.bound_program import (
    BoundConditions,
    BoundPattern,
    BoundProgram,
    Side,
    Takes,
    compile_bound,
    flat_of,
    offsets_of,
)
from sparkcep.engine.matches import Int64s
from sparkcep.engine.runs_program import RunsProgram
from sparkcep.engine.tree_tables import APART, FOLLOWS, ITEM_FIELDS, PRECEDES, Loops, Steps, Tree

if TYPE_CHECKING:
    from sparkcep.logical.event_bound import LogicalEvents

# A component, or both parts of an inner node.
Shape: TypeAlias = "int | tuple[Shape, Shape]"
# From the events per window that each component may take, and the witnesses of each negation, to a tree.
TreeChooser: TypeAlias = Callable[[Sequence[float], Sequence[float]], Shape]


@dataclass(frozen=True, slots=True, eq=False)
class TreeProgram(BoundProgram):
    """An event pattern compiled for the `tree` engine; plain data.

    Attributes
    ----------
    choosers
        Per order of the pattern, what says by which tree to join its components.
    """

    choosers: tuple[TreeChooser, ...]


def compile_tree(
    events: LogicalEvents,
    base: RunsProgram,
    conditions: BoundConditions,
    choosers: Sequence[TreeChooser],
    takes: Takes | None = None,
) -> TreeProgram:
    """Compile a pattern that the `tree` engine may serve; see `compile_bound`."""
    bound = compile_bound(events, base, conditions, takes)
    return TreeProgram(bound.base, bound.patterns, bound.code, bound.constants, bound.registers, tuple(choosers))


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """A tree as the kernel joins by it.

    Attributes
    ----------
    tree
        The joins.
    nodes
        The components of each node: leaves first, then each node behind its parts.
    store_sizes : int64[s]
        Fields of each store.
    store_keys : int64[s, 2]
        Component and column that a store is looked up by; −1: nothing.
    store_nodes
        The node of each store.
    """

    tree: Tree
    nodes: tuple[frozenset[int], ...]
    store_sizes: Int64s
    store_keys: Int64s
    store_nodes: tuple[int, ...]


def join_plan(pattern: BoundPattern, shape: Shape) -> JoinPlan:
    """Lay out the joins of a tree over all components of a pattern."""
    return _Layout(pattern, shape).plan()


@dataclass(frozen=True, slots=True)
class _Step:
    """A join: the node made, the part that triggers it, the other part; what it is looked up by, and so not tested."""

    made: int
    trigger: int
    partner: int
    equality: tuple[int, Side, Side] | None


class _Layout:
    """The nodes of a tree, and what belongs to each of them."""

    def __init__(self, pattern: BoundPattern, shape: Shape) -> None:
        self.pattern = pattern
        self.nodes = [frozenset({component}) for component in range(pattern.size)]
        self.parts: dict[int, tuple[int, int]] = {}
        self._add(shape)
        self.loops = {loop.component: loop for loop in pattern.loops}
        self.steps = list(self._joins())
        self.up = {step.trigger: i for i, step in enumerate(self.steps)}
        self.longer = {component: len(self.steps) + i for i, component in enumerate(self.loops)}
        self.steps += [_Step(component, component, component, None) for component in self.loops]
        inner = [step.partner for step in self.steps if step.partner >= pattern.size]
        self.stores = {node: i for i, node in enumerate([*inner, *self.loops])}

    def _add(self, shape: Shape) -> int:
        if isinstance(shape, int):
            return shape
        left, right = map(self._add, shape)
        self.nodes.append(self.nodes[left] | self.nodes[right])
        self.parts[len(self.nodes) - 1] = left, right
        return len(self.nodes) - 1

    def _joins(self) -> Iterator[_Step]:
        for made, (left, right) in self.parts.items():
            for trigger, partner in ((left, right), (right, left)):
                if self._may_come_last(trigger, partner):
                    yield _Step(made, trigger, partner, self._equality(trigger, partner))

    def _may_come_last(self, trigger: int, partner: int) -> bool:
        others = sorted(self.nodes[partner])
        return any(not self.pattern.precedes[own, others].any() for own in self.nodes[trigger])

    def _equality(self, trigger: int, partner: int) -> tuple[int, Side, Side] | None:
        """Return an equality between both parts: its condition, the trigger's side, the partner's."""
        for test, one, other in self.pattern.equalities:
            for own, looked_up in ((one, other), (other, one)):
                if own.component in self.nodes[trigger] and looked_up.component in self.nodes[partner]:
                    return test, own, looked_up
        return None

    def _lowest(self, read: Iterable[int]) -> int:
        """Return the lowest node that holds some components."""
        needed = frozenset(read)
        return min((node for node, held in enumerate(self.nodes) if needed <= held), key=lambda n: len(self.nodes[n]))

    def plan(self) -> JoinPlan:
        """Lay all out as arrays."""
        pattern, size = self.pattern, self.pattern.size
        nodes = range(len(self.nodes))
        keys = np.full((len(self.stores), 2), -1, np.int64)
        for step in self.steps:
            if step.partner in self.stores and step.equality is not None:
                _, _, side = step.equality
                keys[self.stores[step.partner]] = side.component, self._column(side)
        places = [self._places(node) for node in self.stores]
        lasts = [self.loops[k].last if k in self.loops else k for k in range(size)]
        numbers = {component: i for i, component in enumerate(self.loops)}
        sides = np.zeros((2, len(pattern.gaps), size), np.bool_)
        for g, (before, after) in enumerate(pattern.gaps):
            sides[0, g, sorted(before)] = True
            sides[1, g, sorted(after)] = True
        own = self._tests(range(size))
        triggers = [leaf for leaf in range(size) if leaf in self.up or leaf in self.loops or size == 1]
        tree = Tree(
            size, pattern.first, pattern.number,
            np.array([self.up.get(node, -1) for node in nodes], np.int64),
            np.array([self.stores.get(node, -1) for node in nodes], np.int64),
            np.array([self._is_onward(node) for node in nodes], np.bool_),
            np.array(triggers, np.int64), offsets_of(own), flat_of(own),
            np.array(lasts, np.int64), np.array([numbers.get(k, -1) for k in range(size)], np.int64), self._loops(),
            pattern.precedes, np.isin(np.arange(size), pattern.ends), sides[0], sides[1],
            self._steps(), offsets_of(places), flat_of(places),
        )  # fmt: skip
        sizes = np.array([len(held) or ITEM_FIELDS for held in places], np.int64)
        return JoinPlan(tree, tuple(self.nodes), sizes, keys, tuple(self.stores))

    def _places(self, node: int) -> list[int]:
        """Return the places of bound rows that a store holds; items of loops have fields of their own."""
        if node in self.loops:
            return []
        held = sorted(self.nodes[node])
        return held + [self.loops[k].last + more for k in held if k in self.loops for more in (0, 2)]

    def _loops(self) -> Loops:
        loops, words = self.loops.values(), self.pattern.bits.shape[1]
        begin = [self.pattern.bits[loop.component] for loop in loops]
        return Loops(
            np.array(list(self.loops), np.int64),
            np.array([loop.least for loop in loops], np.int64),
            np.array([loop.most for loop in loops], np.int64),
            np.array(list(self.longer.values()), np.int64),
            np.array(begin, np.uint64).reshape(-1, words),
            np.array([loop.take_bits for loop in loops], np.uint64).reshape(-1, words),
        )

    def _is_onward(self, node: int) -> bool:
        """Whether what a node makes is part of something that is stored further up."""
        while node in self.up:
            node = self.steps[self.up[node]].made
            if node in self.stores:
                return True
        return False

    def _tests(self, nodes: Iterable[int]) -> list[list[int]]:
        """Return the conditions that belong to each of some nodes."""
        lowest = [(self._lowest(read), test) for read, test in self.pattern.tests]
        return [[test for at, test in lowest if at == node] for node in nodes]

    def _steps(self) -> Steps:
        pattern, size = self.pattern, self.pattern.size
        tests, sources, lists, pairs = [], [], [], []
        for step in self.steps:
            asked = self._tests([step.made])[0]
            if step.made == step.partner:
                asked = list(self.loops[step.made].takes)
            elif step.partner < size and step.partner not in self.loops:
                asked = self._tests([step.partner])[0] + asked
            lists.append(step.partner if step.partner < size and step.partner not in self.loops else -1)
            sources.append((-1, -1))
            if step.equality is not None:
                test, side, looked_up = step.equality
                asked.remove(test)
                sources[-1] = side.component, self._column(side)
                if step.partner < size:
                    lists[-1] = len(pattern.bits) + pattern.looked_up.index(looked_up)
            tests.append(asked)
            pairs.append(list(self._pairs(step)))
        windows = self._by_step(
            (self._lowest({c, *np.flatnonzero(pattern.precedes[:, c]).tolist()}), c) for c in pattern.windows
        )
        gaps = self._by_step((self._lowest(before | after), g) for g, (before, after) in enumerate(pattern.gaps))
        free = [not any(asked) for asked in zip(tests, windows, gaps, pairs, strict=True)]
        is_free = [nothing and at >= 0 for nothing, at in zip(free, lists, strict=True)]
        return Steps(
            np.array([step.made for step in self.steps], np.int64),
            np.array([step.partner for step in self.steps], np.int64),
            np.array(lists, np.int64), np.array(sources, np.int64).reshape(-1, 2),
            np.array([not found for found in pairs], np.bool_), np.array(is_free, np.bool_),
            offsets_of(pairs), np.array([pair for found in pairs for pair in found], np.int64).reshape(-1, 3),
            offsets_of(tests), flat_of(tests), offsets_of(windows), flat_of(windows), offsets_of(gaps), flat_of(gaps),
        )  # fmt: skip

    def _by_step(self, items: Iterable[tuple[int, int]]) -> list[list[int]]:
        """Return what belongs to the node of each step."""
        listed = list(items)
        return [[item for node, item in listed if node == step.made] for step in self.steps]

    def _pairs(self, step: _Step) -> Iterator[tuple[int, int, int]]:
        """Yield how events of both parts must stand, unless all of the other part stands before this one."""
        own, others, precedes = self.nodes[step.trigger], self.nodes[step.partner], self.pattern.precedes
        if step.made == step.partner or all(precedes[other, one] for other in others for one in own):
            return
        for other in sorted(others):
            for one in sorted(own):
                place = PRECEDES if precedes[other, one] else FOLLOWS if precedes[one, other] else APART
                yield other, one, place

    def _column(self, side: Side) -> int:
        return self.pattern.columns.index((side.is_float, side.column))
