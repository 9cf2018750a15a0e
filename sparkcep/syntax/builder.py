"""Event patterns built in Python: the same tree as from text, and text that parses back.

    seq(event("a", "type = 'A'"), no("b", "type = 'B'"), event("c", "type = 'C'").plus())
        .where("c[i].price > a.price").within("1 hour")

Everything is immutable: each call returns a new value. What a text argument can get wrong is
reported by the call itself; what only the whole pattern can get wrong, by `Pattern.tree`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from sparkcep.syntax.building_blocks import (
    Absence,
    Distance,
    Event,
    bounds,
    error,
    event,
    no,
    refuse_quantifier,
    refuse_second,
)
from sparkcep.syntax.clause import Measure, Within
from sparkcep.syntax.durations import parse_within
from sparkcep.syntax.event_pattern import (
    ANY_EVENT,
    Condition,
    EventNode,
    EventPattern,
    Group,
    GroupOperator,
    KeyTest,
    Quantifier,
    Strategy,
)
from sparkcep.syntax.sase import parse_conditions, parse_event_pattern, parse_expression, parse_strategy
from sparkcep.syntax.token_reader import MAXIMUM_DEPTH

__all__ = ["Absence", "Event", "Pattern", "all_of", "any_of", "event", "no", "seq"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """SEQ, AND or OR with its clauses, made by `seq`, `all_of` and `any_of`.

    As a part of another pattern it is a group: it may have a quantifier, but no clauses.
    """

    operator: GroupOperator
    parts: tuple[Part, ...]
    quantifier: Quantifier | None = None
    chosen_strategy: Strategy | None = None
    conditions: tuple[Condition, ...] = ()
    window: Within | None = None
    results: tuple[Measure, ...] = ()

    def plus(self) -> Pattern:
        """The whole group once or more.

        >>> print(seq(event("a"), seq(event("b"), event("c")).plus()))
        PATTERN SEQ(_ a, SEQ(_ b, _ c)+)
        """
        return self._repeated(Quantifier(1, None))

    def star(self) -> Pattern:
        """The whole group any number of times, or not at all."""
        return self._repeated(Quantifier(0, None))

    def optional(self) -> Pattern:
        """The whole group once or not at all."""
        return self._repeated(Quantifier(0, 1))

    def times(self, minimum: int, maximum: int | None = None) -> Pattern:
        """The whole group exactly `minimum` times, or between `minimum` and `maximum` times."""
        return self._repeated(bounds(minimum, minimum if maximum is None else maximum))

    def at_least(self, minimum: int) -> Pattern:
        """The whole group `minimum` times or more."""
        return self._repeated(bounds(minimum, None))

    def where(self, *conditions: str) -> Pattern:
        """Add conditions, all of which must be true.

        Parameters
        ----------
        conditions
            SQL text over the variables: ``b.v > a.v``, ``c[i].v > c[i-1].v``,
            ``c[i].v > AVG(c[..i-1].v)``; also ``[key]``.

        Raises
        ------
        PatternSyntaxError
            MISSING_CONDITION, UNBALANCED_BRACKET, UNEXPECTED_TOKEN, MISPLACED_KEY_TEST.

        Examples
        --------
        >>> print(seq(event("a"), event("b")).where("a.v = 1 OR b.v = 1", "b.v > a.v AND [k]"))
        PATTERN SEQ(_ a, _ b)
        WHERE (a.v = 1 OR b.v = 1) AND b.v > a.v AND [k]
        """
        read = tuple(condition for text in conditions for condition in parse_conditions(text))
        return replace(self, conditions=self.conditions + read)

    def key(self, *columns: str) -> Pattern:
        """Demand that all components, positive and negated, are equal in each of `columns`.

        >>> print(seq(event("a"), event("b")).key("tag_id"))
        PATTERN SEQ(_ a, _ b)
        WHERE [tag_id]
        """
        tests = tuple(KeyTest(parse_expression(column, clause="key")) for column in columns)
        return replace(self, conditions=self.conditions + tests)

    def strategy(self, name: str) -> Pattern:
        """Choose what may be passed over; skip_till_next_match if none is chosen.

        Parameters
        ----------
        name
            strict, partition_contiguity, skip_till_next_match, skip_till_any_match.

        Raises
        ------
        PatternSyntaxError
            UNKNOWN_STRATEGY, CLAUSE_TWICE.

        Examples
        --------
        >>> print(seq(event("a"), event("b")).strategy("skip_till_any_match").where("b.v > a.v"))
        PATTERN SEQ(_ a, _ b)
        WHERE skip_till_any_match { b.v > a.v }
        """
        refuse_second(self.chosen_strategy, "the strategy", "pattern")
        return replace(self, chosen_strategy=parse_strategy(name))

    def within(self, distance: Distance, *, inclusive: bool = True) -> Pattern:
        """Bound the distance from the first event to the last one.

        Parameters
        ----------
        distance
            Interval text such as ``"1 hour"``, a timedelta, a number in units of the first order
            column, or ``"500 events"``.
        inclusive
            Whether a match of exactly that length counts.

        Raises
        ------
        PatternSyntaxError
            INVALID_DURATION and its kin, CLAUSE_TWICE.

        Examples
        --------
        >>> print(seq(event("a"), event("b")).within("90 minutes", inclusive=False))
        PATTERN SEQ(_ a, _ b)
        WITHIN INTERVAL '90' MINUTE EXCLUSIVE
        """
        refuse_second(self.window, "WITHIN", "pattern")
        return replace(self, window=parse_within(distance, inclusive))

    def returns(self, **expressions: str) -> Pattern:
        """Add result columns: name and SQL text.

        >>> print(seq(event("a"), event("b").plus()).returns(started="a.ts", n="COUNT(b)"))
        PATTERN SEQ(_ a, _+ b[])
        RETURN a.ts AS started, COUNT(b) AS n
        """
        for name in expressions:
            refuse_second(name if name in [m.name for m in self.results] else None, f"RETURN {name}", "pattern")
        read = tuple(
            Measure(name, parse_expression(text, clause=f"RETURN {name}")) for name, text in expressions.items()
        )
        return replace(self, results=self.results + read)

    @property
    def tree(self) -> EventPattern:
        """The tree, with spans in ``str(pattern)``.

        Raises
        ------
        PatternSyntaxError
            Where the whole breaks a rule: a name that stands twice, a negation without a place …
        """
        names = self._type_names()
        root = self._node(names)
        if root.quantifier is not None:
            root = Group("SEQ", (root,))
        whole = EventPattern(root, self.chosen_strategy, (), self.conditions, self.window, self.results)
        return parse_event_pattern(str(whole))

    @property
    def types(self) -> Mapping[str, str]:
        """Predicates by the type name that stands for them in the text.

        >>> pattern = seq(event("a", "price > 10"), event("b", type="Sale"))
        >>> print(pattern)
        PATTERN SEQ(a a, Sale b)
        >>> pattern.types
        {'a': 'price > 10'}
        """
        names = self._type_names()
        leaves = self._leaves()
        return {names[leaf.variable.name]: leaf.predicate for leaf in leaves if leaf.predicate is not None}

    def __str__(self) -> str:
        return str(self.tree)

    @property
    def _has_clauses(self) -> bool:
        return bool(self.chosen_strategy or self.conditions or self.window or self.results)

    @property
    def _depth(self) -> int:
        """How deep groups are nested, itself counted; bounded by `_group`."""
        return 1 + max((part._depth for part in self.parts if isinstance(part, Pattern)), default=0)

    def _repeated(self, quantifier: Quantifier) -> Pattern:
        refuse_quantifier(self.quantifier, "group")
        return replace(self, quantifier=quantifier)

    def _leaves(self) -> Iterator[Event | Absence]:
        for part in self.parts:
            if isinstance(part, Pattern):
                yield from part._leaves()
            else:
                yield part

    def _type_names(self) -> dict[str, str]:
        """Return type names by variable; a predicate's is its variable's, made unlike all others."""
        leaves = list(self._leaves())
        taken = {leaf.component.type_name for leaf in leaves} | {ANY_EVENT}
        names: dict[str, str] = {}
        for leaf in leaves:
            name = leaf.component.type_name
            if leaf.predicate is not None:
                name = leaf.variable.label
                while name in taken:
                    name += "_"
                taken.add(name)
            names[leaf.variable.name] = name
        return names

    def _node(self, type_names: Mapping[str, str]) -> Group:
        nodes: list[EventNode] = [
            part._node(type_names)
            if isinstance(part, Pattern)
            else replace(part.component, type_name=type_names[part.variable.name])
            for part in self.parts
        ]
        return Group(self.operator, tuple(nodes), self.quantifier)


Part: TypeAlias = Event | Absence | Pattern


def seq(*parts: Part) -> Pattern:
    """Return the pattern of `parts` in this order.

    Raises
    ------
    PatternSyntaxError
        EMPTY_GROUP, INVALID_PART, NESTED_CLAUSES, PATTERN_TOO_DEEP.

    Examples
    --------
    >>> pattern = seq(event("a", "type = 'A'"), no("b", "type = 'B'"), event("c", "type = 'C'").plus())
    >>> print(pattern.where("c[i].v > a.v").within("1 hour"))
    PATTERN SEQ(a a, ~(b b), c+ c[])
    WHERE c[i].v > a.v
    WITHIN INTERVAL '1' HOUR
    >>> pattern.types["a"]
    "type = 'A'"
    """
    return _group("SEQ", parts)


def all_of(*parts: Part) -> Pattern:
    """Return the pattern of `parts` in any order (AND).

    >>> print(all_of(event("a"), event("b")))
    PATTERN AND(_ a, _ b)
    """
    return _group("AND", parts)


def any_of(*parts: Part) -> Pattern:
    """Return the pattern of one of `parts` (OR).

    >>> print(seq(event("a"), any_of(event("b"), event("c"))))
    PATTERN SEQ(_ a, OR(_ b, _ c))
    """
    return _group("OR", parts)


def _group(operator: GroupOperator, parts: tuple[Part, ...]) -> Pattern:
    if not parts:
        raise error("EMPTY_GROUP", f"{operator} holds no part.", operator)
    for part in parts:
        if not isinstance(part, Event | Absence | Pattern):
            hint = f"event({part!r})" if isinstance(part, str) else "event(…), no(…), seq(…), all_of(…), any_of(…)"
            raise error("INVALID_PART", f"{part!r} is no part of a pattern.", operator, hint)
        if isinstance(part, Pattern) and part._has_clauses:
            message = "A group inside a pattern has no clauses of its own."
            raise error("NESTED_CLAUSES", message, operator, "call where, within … on the outermost pattern")
    group = Pattern(operator, parts)
    if group._depth > MAXIMUM_DEPTH:
        raise error("PATTERN_TOO_DEEP", f"Groups are nested more than {MAXIMUM_DEPTH} deep.", operator)
    return group
