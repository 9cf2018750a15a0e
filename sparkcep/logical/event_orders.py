"""A pattern as the union of sequences: optional parts, OR, AND and rounds of groups spelled out.

Under skip-till-any the parts of an AND may interleave: such an order stays open, a partial one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from sparkcep.errors import BindingError
from sparkcep.syntax.event_pattern import Component, EventNode, Group, Negation, Strategy

MOST_ORDERS = 500
ANY: Strategy = "skip_till_any_match"
Rounds: TypeAlias = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A component or a negation in one round of each repeated group around it (group and round)."""

    node: Component | Negation
    rounds: Rounds

    @property
    def name(self) -> str:
        """The variable's normal name."""
        return self.node.variable.name


@dataclass(frozen=True, slots=True)
class _Block:
    """Members one after the other, or in any order."""

    ordered: bool
    members: tuple[_Structure, ...]


_Structure: TypeAlias = Leaf | _Block
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Order:
    """One way to read the pattern.

    Attributes
    ----------
    components
        Positive parts.
    before
        For each the components that must have taken all their events before.
    gaps
        Negations, each with the components before and after it.
    """

    components: tuple[Leaf, ...]
    before: tuple[frozenset[int], ...]
    gaps: tuple[tuple[Leaf, frozenset[int], frozenset[int]], ...]

    @property
    def names(self) -> frozenset[str]:
        """The variables it binds, negated ones among them."""
        return frozenset(leaf.name for leaf in (*self.components, *(gap for gap, _, _ in self.gaps)))

    @property
    def is_sequence(self) -> bool:
        """Whether every component has its place."""
        return all(before == frozenset(range(place)) for place, before in enumerate(self.before))


def orders_of(root: EventNode, strategy_of: Callable[[Component], Strategy], text: str | None) -> list[Order]:
    """Return all orders of a pattern that bind something.

    Parameters
    ----------
    strategy_of
        The strategy of a component.
    text
        The source, for messages.

    Raises
    ------
    BindingError
        UNBOUNDED_GROUP, PATTERN_TOO_LARGE.
    """
    found: dict[Order, None] = {}
    for structure in _expand(root, frozenset(), text):
        if structure is None:
            continue
        parts = [at.leaf.node for at in _placed(structure) if isinstance(at.leaf.node, Component)]
        if not parts:
            continue
        interleaves = _is_parallel(structure) and all(strategy_of(part) == ANY for part in parts)
        for chosen in [structure] if interleaves else _sequences(structure, text):
            found[_order(chosen)] = None
            if len(found) > MOST_ORDERS:
                raise _too_large(text)
    return list(found)


def _expand(node: EventNode, rounds: Rounds, text: str | None) -> list[_Structure | None]:
    """Return the variants of a part; None is the absent one."""
    if isinstance(node, Negation):
        return [Leaf(node, rounds)]
    if isinstance(node, Component):
        present: list[_Structure | None] = [Leaf(node, rounds)]
        return [None, *present] if node.quantifier is not None and node.quantifier.minimum == 0 else present
    return _limited(_expand_group(node, rounds, text), text)


def _expand_group(node: Group, rounds: Rounds, text: str | None) -> Iterator[_Structure | None]:
    least, most = (node.quantifier.minimum, node.quantifier.maximum) if node.quantifier else (1, 1)
    if most is None:
        raise BindingError(
            "UNBOUNDED_GROUP",
            "a group of several parts that repeats without end is not supported yet",
            clause="PATTERN",
            text=text,
            span=node.quantifier.span if node.quantifier else node.span,
            found=f"{node.operator}(…){node.quantifier}",
            allowed="a loop over one type, A+ a[]; a group that repeats up to m times",
            hint=f"{node.operator}(…){{{least},{max(least, 5)}}}",
        )
    for count in range(least, most + 1):
        number = node.span.start
        own = [rounds | {(number, n)} if most > 1 else rounds for n in range(count)]
        choices = [_limited(_one_round(node, each, text), text) for each in own]
        for chosen in itertools.product(*choices):
            yield _block(True, chosen)


def _one_round(node: Group, rounds: Rounds, text: str | None) -> Iterator[_Structure | None]:
    if node.operator == "OR":
        for part in node.parts:
            yield from _expand(part, rounds, text)
        return
    for chosen in itertools.product(*(_expand(part, rounds, text) for part in node.parts)):
        yield _block(node.operator == "SEQ", chosen)


def _limited(found: Iterable[_Found], text: str | None) -> list[_Found]:
    listed = list(itertools.islice(found, MOST_ORDERS + 1))
    if len(listed) > MOST_ORDERS:
        raise _too_large(text)
    return listed


def _too_large(text: str | None) -> BindingError:
    return BindingError(
        "PATTERN_TOO_LARGE",
        f"the pattern stands for more than {MOST_ORDERS} sequences",
        clause="PATTERN",
        text=text,
        hint="fewer parts in AND, fewer optional parts, or smaller {n,m} of groups",
    )


def _block(ordered: bool, chosen: Iterable[_Structure | None]) -> _Structure | None:
    members = tuple(member for member in chosen if member is not None)
    return _Block(ordered, members) if members else None


def _is_parallel(structure: _Structure) -> bool:
    if isinstance(structure, Leaf):
        return False
    return (not structure.ordered and len(structure.members) > 1) or any(map(_is_parallel, structure.members))


def _sequences(structure: _Structure, text: str | None) -> Iterator[_Structure]:
    """Yield a structure with its AND blocks in all orders."""
    if isinstance(structure, Leaf):
        yield structure
        return
    arranged = [structure.members] if structure.ordered else itertools.permutations(structure.members)
    members = {id(member): _limited(_sequences(member, text), text) for member in structure.members}
    for sequence in arranged:
        for chosen in itertools.product(*(members[id(member)] for member in sequence)):
            yield _Block(True, chosen)


def _order(structure: _Structure) -> Order:
    placed = list(_placed(structure))
    components = [at for at in placed if isinstance(at.leaf.node, Component)]
    gaps = [at for at in placed if isinstance(at.leaf.node, Negation)]

    def earlier(at: _Placed) -> frozenset[int]:
        return frozenset(k for k, other in enumerate(components) if other.is_before(at))

    def later(at: _Placed) -> frozenset[int]:
        return frozenset(k for k, other in enumerate(components) if at.is_before(other))

    return Order(
        tuple(at.leaf for at in components),
        tuple(map(earlier, components)),
        tuple((at.leaf, earlier(at), later(at)) for at in gaps),
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """A leaf and its way down from the root: whether a block is ordered, and the place in it."""

    leaf: Leaf
    way: tuple[tuple[bool, int], ...]

    def is_before(self, other: _Placed) -> bool:
        """Whether it stands before the other one: the block where their ways part decides."""
        for (ordered, place), (_, other_place) in zip(self.way, other.way, strict=False):
            if place != other_place:
                return ordered and place < other_place
        return False


def _placed(structure: _Structure, way: tuple[tuple[bool, int], ...] = ()) -> Iterator[_Placed]:
    if isinstance(structure, Leaf):
        yield _Placed(structure, way)
        return
    for place, member in enumerate(structure.members):
        yield from _placed(member, (*way, (structure.ordered, place)))
