"""What the text of an event pattern says, as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.property.event_reference.conditions import Condition

STRATEGIES = ("strict", "partition_contiguity", "skip_till_next_match", "skip_till_any_match")
STEP_STRATEGIES = {"STRICT": "strict", "NEXT": "skip_till_next_match", "ANY": "skip_till_any_match"}


@dataclass(frozen=True)
class Window:
    """A span: of order values, or of events when `events` is true; `inclusive` None follows the argument."""

    size: Any
    events: bool = False
    inclusive: bool | None = None


@dataclass(frozen=True)
class Part:
    """A positive component; `most` None means no bound; `loop` tells whether the variable is an array."""

    type: str
    variable: str
    least: int = 1
    most: int | None = 1
    loop: bool = False
    strategy: str | None = None
    until: Condition | None = None
    within: Window | None = None


@dataclass(frozen=True)
class Negation:
    type: str
    variable: str
    within: Window | None = None


@dataclass(frozen=True)
class Group:
    """SEQ, AND or OR of parts, repeated from `least` to `most` times."""

    kind: str
    parts: tuple[Node, ...]
    least: int = 1
    most: int | None = 1
    number: int = 0

    @property
    def repeated(self) -> bool:
        return self.most is None or self.most > 1


Node: TypeAlias = Part | Negation | Group


@dataclass(frozen=True)
class Variable:
    """A variable: its spelling, the repeated groups around it, whether it is a loop, a negated one."""

    spelling: str
    groups: frozenset[int]
    loop: bool
    negated: bool

    @property
    def array(self) -> bool:
        return self.loop or bool(self.groups)


@dataclass(frozen=True)
class EventPattern:
    """A whole text.

    Attributes
    ----------
    variables
        By upper-cased name, in the order of the text.
    conditions, keys
        The conjuncts of WHERE, and the columns of its ``[key]`` tests.
    """

    root: Group
    variables: Mapping[str, Variable]
    conditions: tuple[Condition, ...] = ()
    keys: tuple[str, ...] = ()
    strategy: str | None = None
    within: Window | None = None
    returned: Mapping[str, Condition] = field(default_factory=dict)


def leaves(node: Node, groups: frozenset[int] = frozenset()) -> Iterator[tuple[Part | Negation, frozenset[int]]]:
    """Yield the components with the numbers of the repeated groups around them."""
    if isinstance(node, Group):
        inside = groups | {node.number} if node.repeated else groups
        for part in node.parts:
            yield from leaves(part, inside)
    else:
        yield node, groups
