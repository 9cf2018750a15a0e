"""A pattern as the union of sequences: optional parts, OR, AND and rounds of groups spelled out.

Under skip-till-any the parts of an AND may interleave: such an order stays open, a partial one.
A group that repeats without end stays one part, a cycle (`sparkcep.logical.event_cycles`).
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
class Block:
    """Members one after the other, or in any order."""

    ordered: bool
    members: tuple[Structure, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """At least so many rounds of a group, each of them any of `rounds`.

    Attributes
    ----------
    number
        The group.
    least
        One or more: an absent group is left out.
    rounds
        What one round may be; each has a component.
    """

    number: int
    least: int
    rounds: tuple[Structure, ...]


Structure: TypeAlias = Leaf | Block | Cycle
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


def orders_of(
    root: EventNode, strategy_of: Callable[[Component], Strategy], text: str | None
) -> tuple[list[Order], list[Structure]]:
    """Return all orders of a pattern that bind something; those with a cycle in them as structures.

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
    orders: dict[Order, None] = {}
    cyclic: dict[Structure, None] = {}
    for structure in _expand(root, frozenset(), text):
        if structure is None:
            continue
        parts = [leaf.node for leaf in leaves_of(structure) if isinstance(leaf.node, Component)]
        if not parts:
            continue
        repeats = _is_cyclic(structure)
        interleaves = _is_parallel(structure) and all(strategy_of(part) == ANY for part in parts)
        if interleaves and repeats and not _is_permutable(structure):
            raise _endless(
                root, text, "a group that repeats without end cannot go with parts of AND that interleave",
                allowed="AND of single events beside it under skip_till_any_match; any AND under the other strategies",
            )  # fmt: skip
        for chosen in [structure] if interleaves and not repeats else _sequences(structure, text):
            if repeats:
                cyclic[chosen] = None
            else:
                orders[_order(chosen)] = None
            if len(orders) + len(cyclic) > MOST_ORDERS:
                raise too_large(text)
    return list(orders), list(cyclic)


def _endless(node: EventNode, text: str | None, message: str, allowed: str) -> BindingError:
    group = next(part for part in _groups(node) if part.quantifier and part.quantifier.maximum is None)
    assert group.quantifier is not None
    least = group.quantifier.minimum
    return BindingError(
        "UNBOUNDED_GROUP",
        message,
        clause="PATTERN",
        text=text,
        span=group.quantifier.span,
        found=f"{group.operator}(…){group.quantifier}",
        allowed=allowed,
        hint=f"{group.operator}(…){{{least},{max(least, 5)}}}",
    )


def _groups(node: EventNode) -> Iterator[Group]:
    if isinstance(node, Group):
        yield node
        for part in node.parts:
            yield from _groups(part)


def _expand(node: EventNode, rounds: Rounds, text: str | None) -> list[Structure | None]:
    """Return the variants of a part; None is the absent one."""
    if isinstance(node, Negation):
        return [Leaf(node, rounds)]
    if isinstance(node, Component):
        present: list[Structure | None] = [Leaf(node, rounds)]
        return [None, *present] if node.quantifier is not None and node.quantifier.minimum == 0 else present
    return _limited(_expand_group(node, rounds, text), text)


def _expand_group(node: Group, rounds: Rounds, text: str | None) -> Iterator[Structure | None]:
    least, most = (node.quantifier.minimum, node.quantifier.maximum) if node.quantifier else (1, 1)
    if most is None:
        yield from _endless_rounds(node, least, rounds, text)
        return
    for count in range(least, most + 1):
        number = node.span.start
        own = [rounds | {(number, n)} if most > 1 else rounds for n in range(count)]
        choices = [_limited(_one_round(node, each, text), text) for each in own]
        for chosen in itertools.product(*choices):
            yield _block(True, chosen)


def _endless_rounds(node: Group, least: int, rounds: Rounds, text: str | None) -> Iterator[Structure | None]:
    choices = _limited(_one_round(node, rounds, text), text)
    present = tuple(choice for choice in choices if choice is not None)
    if any(not any(isinstance(leaf.node, Component) for leaf in leaves_of(choice)) for choice in present):
        raise _endless(
            node, text, "a round of a group that repeats without end would take no event",
            allowed="rounds in which something happens",
        )  # fmt: skip
    if least == 0 or None in choices:
        yield None
    if present:
        yield Cycle(node.span.start, 1 if None in choices else max(least, 1), present)


def _one_round(node: Group, rounds: Rounds, text: str | None) -> Iterator[Structure | None]:
    if node.operator == "OR":
        for part in node.parts:
            yield from _expand(part, rounds, text)
        return
    for chosen in itertools.product(*(_expand(part, rounds, text) for part in node.parts)):
        yield _block(node.operator == "SEQ", chosen)


def _limited(found: Iterable[_Found], text: str | None) -> list[_Found]:
    listed = list(itertools.islice(found, MOST_ORDERS + 1))
    if len(listed) > MOST_ORDERS:
        raise too_large(text)
    return listed


def too_large(text: str | None, what: str = "sequences") -> BindingError:
    """Return the error for a pattern that stands for too many sequences, or copies of components."""
    return BindingError(
        "PATTERN_TOO_LARGE",
        f"the pattern stands for more than {MOST_ORDERS} {what}",
        clause="PATTERN",
        text=text,
        hint="fewer parts in AND, fewer optional parts, or smaller {n,m} of groups",
    )


def _block(ordered: bool, chosen: Iterable[Structure | None]) -> Structure | None:
    members = tuple(member for member in chosen if member is not None)
    return Block(ordered, members) if members else None


def _members(structure: Structure) -> tuple[Structure, ...]:
    if isinstance(structure, Leaf):
        return ()
    return structure.rounds if isinstance(structure, Cycle) else structure.members


def leaves_of(structure: Structure) -> Iterator[Leaf]:
    """Yield all leaves."""
    if isinstance(structure, Leaf):
        yield structure
    for member in _members(structure):
        yield from leaves_of(member)


def _is_cyclic(structure: Structure) -> bool:
    return isinstance(structure, Cycle) or any(map(_is_cyclic, _members(structure)))


def _interleaving(structure: Structure) -> bool:
    return isinstance(structure, Block) and not structure.ordered and len(structure.members) > 1


def _is_parallel(structure: Structure) -> bool:
    return _interleaving(structure) or any(map(_is_parallel, _members(structure)))


def _is_permutable(structure: Structure) -> bool:
    """Whether parts that may interleave take one event each, so that all their orders are sequences."""
    if _interleaving(structure):
        leaves = [member.node for member in _members(structure) if isinstance(member, Leaf)]
        singles = [node for node in leaves if isinstance(node, Component) and not node.is_loop]
        return len(singles) == len(_members(structure))
    return all(map(_is_permutable, _members(structure)))


def _sequences(structure: Structure, text: str | None) -> Iterator[Structure]:
    """Yield a structure with its AND blocks in all orders."""
    if isinstance(structure, Leaf):
        yield structure
        return
    if isinstance(structure, Cycle):
        rounds = _limited((chosen for each in structure.rounds for chosen in _sequences(each, text)), text)
        yield Cycle(structure.number, structure.least, tuple(rounds))
        return
    arranged = [structure.members] if structure.ordered else itertools.permutations(structure.members)
    members = {id(member): _limited(_sequences(member, text), text) for member in structure.members}
    for sequence in arranged:
        for chosen in itertools.product(*(members[id(member)] for member in sequence)):
            yield Block(True, chosen)


def _order(structure: Structure) -> Order:
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


def _placed(structure: Structure, way: tuple[tuple[bool, int], ...] = ()) -> Iterator[_Placed]:
    if isinstance(structure, Leaf):
        yield _Placed(structure, way)
        return
    assert isinstance(structure, Block)
    for place, member in enumerate(structure.members):
        yield from _placed(member, (*way, (structure.ordered, place)))
