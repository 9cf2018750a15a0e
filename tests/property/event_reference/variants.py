"""A pattern as the union of patterns without optional parts, OR and repeated groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.property.event_reference.tree import Group, Negation, Node, Part
from tests.property.reference.errors import StepLimitReached

MOST_VARIANTS = 500
Rounds: TypeAlias = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Component:
    """A part in one round of each repeated group around it; it takes at least one event."""

    part: Part
    least: int
    rounds: Rounds

    @property
    def variable(self) -> str:
        return self.part.variable.upper()


@dataclass(frozen=True)
class Absence:
    """A negation in one round of each repeated group around it."""

    negation: Negation
    rounds: Rounds

    @property
    def variable(self) -> str:
        return self.negation.variable.upper()


@dataclass(frozen=True)
class Block:
    """Members one after the other, or in any order."""

    ordered: bool
    members: tuple[Structure, ...]


Structure: TypeAlias = Component | Absence | Block


def _limited(found: Iterable[Structure | None]) -> list[Structure | None]:
    listed = list(itertools.islice(found, MOST_VARIANTS + 1))
    if len(listed) > MOST_VARIANTS:
        raise StepLimitReached
    return listed


def expand(node: Node, events: int, rounds: Rounds = frozenset()) -> list[Structure | None]:
    """Return the variants of `node` that `events` events can fill; None is the absent part."""
    if isinstance(node, Negation):
        return [Absence(node, rounds)]
    if isinstance(node, Part):
        present: list[Structure | None] = [Component(node, max(node.least, 1), rounds)]
        return [None, *present] if node.least == 0 else present
    return _limited(_expand_group(node, events, rounds))


def _expand_group(node: Group, events: int, rounds: Rounds) -> Iterator[Structure | None]:
    if not node.repeated:
        if node.least == 0:
            yield None
        yield from _one_round(node, events, rounds)
        return
    fitting = max(node.least, events // max(1, _fewest(node)))
    most = fitting if node.most is None else min(node.most, fitting)
    for count in range(node.least, most + 1):
        choices = [_limited(_one_round(node, events, rounds | {(node.number, n)})) for n in range(count)]
        for chosen in itertools.product(*choices):
            yield _block(True, chosen)


def _fewest(node: Node) -> int:
    """Return how few events one round of `node` takes."""
    if isinstance(node, Negation):
        return 0
    if isinstance(node, Part):
        return node.least
    sizes = [_fewest(part) * (part.least if isinstance(part, Group) else 1) for part in node.parts]
    return min(sizes) if node.kind == "OR" else sum(sizes)


def _one_round(node: Group, events: int, rounds: Rounds) -> Iterator[Structure | None]:
    if node.kind == "OR":
        for part in node.parts:
            yield from expand(part, events, rounds)
        return
    for chosen in itertools.product(*(expand(part, events, rounds) for part in node.parts)):
        yield _block(node.kind == "SEQ", chosen)


def _block(ordered: bool, chosen: Iterable[Structure | None]) -> Structure | None:
    members = tuple(member for member in chosen if member is not None)
    return Block(ordered, members) if members else None


def components(structure: Structure) -> Iterator[Component]:
    if isinstance(structure, Component):
        yield structure
    elif isinstance(structure, Block):
        for member in structure.members:
            yield from components(member)


def orders(structure: Structure) -> Iterator[tuple[Component | Absence, ...]]:
    """Yield the sequences that a structure stands for: its AND blocks in all orders."""
    if not isinstance(structure, Block):
        yield (structure,)
        return
    sequences = [structure.members] if structure.ordered else itertools.permutations(structure.members)
    for sequence in sequences:
        for chosen in itertools.product(*(list(orders(member)) for member in sequence)):
            yield tuple(itertools.chain.from_iterable(chosen))


def has_parallel_parts(structure: Structure) -> bool:
    if not isinstance(structure, Block):
        return False
    parallel = not structure.ordered and len(structure.members) > 1
    return parallel or any(has_parallel_parts(member) for member in structure.members)


@dataclass(frozen=True)
class Gap:
    """A negation with the indices of the components right before and right after it."""

    absence: Absence
    before: frozenset[int]
    after: frozenset[int]


@dataclass(frozen=True)
class PartialOrder:
    """Components, for each the indices of those before it, and the gaps."""

    components: tuple[Component, ...]
    before: tuple[frozenset[int], ...]
    gaps: tuple[Gap, ...]


def partial_order(structure: Structure) -> PartialOrder:
    """Return the order that a structure demands when the parts of AND may interleave."""
    leaves = list(_leaves(structure))
    found = [leaf for leaf in leaves if isinstance(leaf, Component)]
    index = {id(leaf): number for number, leaf in enumerate(found)}
    precedence = _precedence(structure)
    before = tuple(
        frozenset(index[id(other)] for other in found if (id(other), id(leaf)) in precedence) for leaf in found
    )
    gaps = tuple(
        Gap(
            leaf,
            frozenset(index[id(other)] for other in found if (id(other), id(leaf)) in precedence),
            frozenset(index[id(other)] for other in found if (id(leaf), id(other)) in precedence),
        )
        for leaf in leaves
        if isinstance(leaf, Absence)
    )
    return PartialOrder(tuple(found), before, gaps)


def _leaves(structure: Structure) -> Iterator[Component | Absence]:
    if isinstance(structure, Block):
        for member in structure.members:
            yield from _leaves(member)
    else:
        yield structure


def _precedence(structure: Structure) -> set[tuple[int, int]]:
    if not isinstance(structure, Block):
        return set()
    found = set().union(*(_precedence(member) for member in structure.members))
    if structure.ordered:
        for one, other in itertools.combinations(structure.members, 2):
            found |= {(id(a), id(b)) for a in _leaves(one) for b in _leaves(other)}
    return found
