"""Automata of the sweep matcher: ε-free, with edges in order of preference.

A state is a position of the pattern: "this label has just taken a row". Two more states
have taken none: one for a match that starts on the first row of its partition, where ``^``
holds, and one for all other starts, so no edge has to test ``^``. Since no row can follow
``$``, only acceptance may depend on it.

The edges of a state are found by walking everything that takes no row, preferred ways
first. A round of a loop that began on such a walk and ends on it has taken no row; beyond
the lower bound it is abandoned (ISO/IEC 19075-5, 4.14.6). Two walks that stand at the same
place inside the same rounds go on alike, so only the first, the preferred one, goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sparkcep.engine.matches import MatchLabel
from sparkcep.engine.program import can_consume, has_choice, labels_of, min_rows, orders_of
from sparkcep.errors import PlanError
from sparkcep.syntax.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Label,
    Permutation,
    Quantified,
    RowPattern,
)

ACCEPT, ACCEPT_AT_END = -1, -2

MAX_STATES = 1024
MAX_EDGES = 1 << 17


@dataclass(frozen=True)
class Automaton:
    """A row pattern as an ε-free automaton.

    Attributes
    ----------
    positions
        Label (index into `labels`) of each position p; its state has the same number.
    edges
        Per state the targets in order of preference: positions, ACCEPT, or ACCEPT_AT_END, which
        accepts behind the last row of the partition only. The last two states are the starts:
        ``edges[-2]`` on the first row of the partition, ``edges[-1]`` elsewhere.
    labels
        What the positions refer to, numbered as in a `Program` of the pattern.
    variables
        Names of the variables that the labels index.
    """

    positions: tuple[int, ...]
    edges: tuple[tuple[int, ...], ...]
    labels: tuple[MatchLabel, ...]
    variables: tuple[str, ...]

    def __str__(self) -> str:
        names = [f"{p} {self._name(p)}" for p in range(len(self.positions))]
        sources = [*names, "start of partition", "start"]
        if self.edges[-2] == self.edges[-1]:
            del sources[-2]
        targets = {"start": self.edges[-1], "start of partition": self.edges[-2]}
        targets.update(zip(names, self.edges, strict=False))
        special = {ACCEPT: "accept", ACCEPT_AT_END: "accept at $"}
        lines = []
        for source in reversed(sources[len(names) :]):
            lines.append((source, targets[source]))
        lines += [(name, targets[name]) for name in names]
        return "\n".join(
            f"{source} -> {', '.join(special[t] if t < 0 else names[t] for t in edges) or 'nothing'}"
            for source, edges in lines
        )

    def _name(self, position: int) -> str:
        label = self.labels[self.positions[position]]
        name = self.variables[label.variable]
        return f"{{- {name} -}}" if label.excluded else name


def compile_automaton(pattern: RowPattern, variables: Sequence[str], max_states: int = MAX_STATES) -> Automaton:
    """Compile `pattern` into an ε-free automaton, with bounds unrolled.

    Parameters
    ----------
    pattern
        Tree of the pattern.
    variables
        Primary variables; labels refer to them by index.
    max_states
        Largest number of positions.

    Raises
    ------
    PlanError
        PATTERN_TOO_LARGE: more than `max_states` positions or 131,072 edges, or a PERMUTE whose
        parts have choices inside and are more than six.

    Examples
    --------
    >>> print(compile_automaton(Concatenation((Label("A"), Quantified(Label("B"), 1, None))), ["A", "B"]))
    start -> 0 A
    0 A -> 1 B
    1 B -> 1 B, accept
    """
    labels = labels_of(pattern, variables)
    indexes = {name: index for index, name in enumerate(variables)}
    network = _Network(indexes, {label: index for index, label in enumerate(labels)}, max_states)
    entry = network.before(pattern, network.accept, excluded=False)
    numbers: dict[int, int] = {}
    starts = [tuple(network.successors(entry, at_start)) for at_start in (True, False)]
    edges: list[tuple[int, ...]] = []
    reached = _numbered(numbers, [*starts[1], *starts[0]])
    size = 0
    while reached:
        node = reached.pop(0)
        following = tuple(network.successors(network.nodes[node].following[0], at_start=False))
        size += len(following)
        if size > MAX_EDGES:
            _too_large("edges", MAX_EDGES)
        reached += _numbered(numbers, following)
        edges.append(following)
    edges += starts
    return Automaton(
        positions=tuple(network.nodes[node].operand for node in numbers),
        edges=tuple(tuple(t if t < 0 else numbers[t] for t in targets) for targets in edges),
        labels=labels,
        variables=tuple(variables),
    )


def _numbered(numbers: dict[int, int], targets: Sequence[int]) -> list[int]:
    """Number the nodes among `targets` that have no number yet, and return them."""
    new = [t for t in dict.fromkeys(targets) if t >= 0 and t not in numbers]
    for node in new:
        numbers[node] = len(numbers)
    return new


def _too_large(what: str, limit: int) -> NoReturn:
    raise PlanError(
        "PATTERN_TOO_LARGE",
        f"the automaton of the pattern needs too many {what}",
        clause="PATTERN",
        allowed=f"at most {limit:,} {what}",
    )


_MATCH, _SPLIT, _ANCHOR_START, _ANCHOR_END, _BEGIN, _END, _ACCEPT = range(7)


@dataclass(slots=True)
class _Node:
    """A piece of the pattern that takes a row (label in `operand`), chooses, tests, or marks a round."""

    kind: int
    operand: int
    following: list[int]


@dataclass(slots=True)
class _Network:
    """The automaton before its ε-moves are gone, built from the end of the pattern to its start."""

    variables: dict[str, int]
    labels: dict[MatchLabel, int]
    max_states: int
    nodes: list[_Node] = field(default_factory=lambda: [_Node(_ACCEPT, 0, [])])
    positions: int = 0
    rounds: int = 0
    accept: int = 0

    def add(self, kind: int, operand: int, following: Sequence[int]) -> int:
        if kind == _MATCH:
            self.positions += 1
        if self.positions > self.max_states or len(self.nodes) > 64 * self.max_states + 64:
            _too_large("states", self.max_states)
        self.nodes.append(_Node(kind, operand, list(following)))
        return len(self.nodes) - 1

    def before(self, pattern: RowPattern, following: int, excluded: bool) -> int:
        """Put `pattern` before the node `following` and return its entry."""
        match pattern:
            case Label(name):
                return self.add(_MATCH, self.labels[MatchLabel(self.variables[name], excluded)], [following])
            case Concatenation(parts):
                return self.sequence(parts, following, excluded)
            case Alternation(parts):
                return self.add(_SPLIT, 0, [self.before(part, following, excluded) for part in parts])
            case Permutation():
                return self.permutation(pattern, following, excluded)
            case Quantified():
                return self.quantified(pattern, following, excluded)
            case Exclusion(part):
                return self.before(part, following, True)
            case Anchor(kind):
                return self.add(_ANCHOR_START if kind == "start" else _ANCHOR_END, 0, [following])
            case Empty():
                return following
        raise TypeError(f"not a row pattern: {pattern!r}")

    def sequence(self, parts: Sequence[RowPattern], following: int, excluded: bool) -> int:
        for part in reversed(parts):
            following = self.before(part, following, excluded)
        return following

    def quantified(self, loop: Quantified, following: int, excluded: bool) -> int:
        part, minimum, maximum = loop.part, loop.minimum, loop.maximum
        if not can_consume(part):
            return self.before(part, following, excluded) if minimum > 0 and maximum != 0 else following
        if maximum is not None:
            exit_ = following
            for _ in range(maximum - minimum):
                split = self.choice(exit_, loop.greedy)
                self.enter(split, self.optional_round(part, following, excluded), loop.greedy)
                following = split
        elif minimum > 0 and min_rows(part) > 0:
            split = self.choice(following, loop.greedy)
            following = self.before(part, split, excluded)
            self.enter(split, following, loop.greedy)
            minimum -= 1
        else:
            split = self.choice(following, loop.greedy)
            self.enter(split, self.optional_round(part, split, excluded), loop.greedy)
            following = split
        for _ in range(minimum):
            following = self.before(part, following, excluded)
        return following

    def choice(self, exit_: int, greedy: bool) -> int:
        """Add a split between a round, still to be put in, and `exit_`."""
        return self.add(_SPLIT, 0, [-1, exit_] if greedy else [exit_, -1])

    def enter(self, split: int, body: int, greedy: bool) -> None:
        self.nodes[split].following[0 if greedy else 1] = body

    def optional_round(self, part: RowPattern, following: int, excluded: bool) -> int:
        """Put a round beyond the lower bound before `following`; its marks see whether it takes a row."""
        if min_rows(part) > 0:
            return self.before(part, following, excluded)
        mark = self.rounds
        self.rounds += 1
        return self.add(_BEGIN, mark, [self.before(part, self.add(_END, mark, [following]), excluded)])

    def permutation(self, permutation: Permutation, following: int, excluded: bool) -> int:
        parts = permutation.parts
        if any(has_choice(part) for part in parts):
            orders = [self.sequence(order, following, excluded) for order in orders_of(permutation)]
            return self.add(_SPLIT, 0, orders)
        if 1 << len(parts) > 64 * self.max_states:
            _too_large("states", self.max_states)
        everything = (1 << len(parts)) - 1
        entries = {everything: following}
        for used in range(everything - 1, -1, -1):
            unused = (i for i in range(len(parts)) if not used >> i & 1)
            ways = [self.before(parts[i], entries[used | 1 << i], excluded) for i in unused]
            entries[used] = self.add(_SPLIT, 0, ways)
        return entries[0]

    def successors(self, entry: int, at_start: bool) -> Iterator[int]:
        """Yield what can be reached from `entry` without taking a row, once each, the preferred first.

        Yields nodes that take a row, ACCEPT_AT_END, and last ACCEPT: nothing behind it is ever taken.
        """
        no_rounds: frozenset[int] = frozenset()
        pending = [(entry, no_rounds, False)]
        seen = set()
        yielded = set()
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            index, rounds, at_end = place
            node = self.nodes[index]
            if node.kind in (_MATCH, _ACCEPT):
                target = self.target(index, at_end)
                if target is not None and target not in yielded:
                    yielded.add(target)
                    yield target
                if target == ACCEPT:
                    return
            elif node.kind == _BEGIN:
                pending.append((node.following[0], rounds | {node.operand}, at_end))
            elif node.kind == _ANCHOR_END:
                pending.append((node.following[0], rounds, True))
            elif node.kind == _SPLIT or (node.kind == _ANCHOR_START and at_start):
                pending += [(way, rounds, at_end) for way in reversed(node.following)]
            elif node.kind == _END and node.operand not in rounds:
                pending.append((node.following[0], rounds, at_end))

    def target(self, index: int, at_end: bool) -> int | None:
        """Return what an edge that arrives at a row-taking or accepting node leads to, if it can be taken."""
        if self.nodes[index].kind == _ACCEPT:
            return ACCEPT_AT_END if at_end else ACCEPT
        return None if at_end else index
