"""The tree of an event pattern (SASE+): frozen nodes with source spans.

A variable's `name` is in normal form, as in row patterns: unquoted names are folded to upper case,
quoted names stay. Its `label`, which names output columns, keeps the case. Type names stay as
written. ``str(node)`` prints text that parses back to an equal tree. Spans do not take part in
equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkcep.errors import Span
from sparkcep.syntax.clause import Fragment, Measure, Within
from sparkcep.syntax.durations import within_text
from sparkcep.syntax.fragments import measure_text, spliced
from sparkcep.syntax.lexer import tokenize
from sparkcep.syntax.pattern import NOWHERE, quantifier_text, quoted_text

ANY_EVENT = "_"
EVENT_WORDS = frozenset({
    "PATTERN", "SEQ", "AND", "OR", "NOT", "STRICT", "NEXT", "ANY", "UNTIL", "WITHIN", "WHERE", "RETURN",
})  # fmt: skip

Strategy: TypeAlias = Literal["strict", "partition_contiguity", "skip_till_next_match", "skip_till_any_match"]
StepStrategy: TypeAlias = Literal["STRICT", "NEXT", "ANY"]
GroupOperator: TypeAlias = Literal["SEQ", "AND", "OR"]


class _Node:
    __slots__ = ()

    def __str__(self) -> str:
        return event_text(self)  # type: ignore[arg-type]  # every subclass is one of EventNode


@dataclass(frozen=True, slots=True)
class Variable:
    """The name of a component: `name` in normal form for look-ups, `label` as written for columns."""

    name: str
    label: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        if self.label.upper() == self.name and _is_plain(self.label):
            return self.label
        return quoted_text(self.name)


@dataclass(frozen=True, slots=True)
class Quantifier:
    """Between `minimum` and `maximum` times; `maximum` None means without end."""

    minimum: int
    maximum: int | None
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return quantifier_text(self.minimum, self.maximum)

    @property
    def repeats(self) -> bool:
        """Whether it allows for more than one."""
        return self.maximum is None or self.maximum > 1


@dataclass(frozen=True, slots=True)
class Component(_Node):
    """A positive component: one event of a type, or a loop over such events.

    Attributes
    ----------
    type_name
        As written; ``_`` is any event.
    is_loop
        Whether ``[]`` stands behind the variable: its value is an array. Always so if the
        quantifier repeats.
    strategy
        The ignore edge of the states that wait for this component; None: that of the pattern.
    until
        Ends the loop: tested on every event before it is taken.
    within
        Longest distance from the step before.
    """

    type_name: str
    variable: Variable
    quantifier: Quantifier | None = None
    is_loop: bool = False
    strategy: StepStrategy | None = None
    until: Fragment | None = None
    within: Within | None = None
    span: Span = field(default=NOWHERE, compare=False)
    type_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Negation(_Node):
    """``~(Type variable)``: no such event in the gap between its neighbours, or `within` its own time."""

    type_name: str
    variable: Variable
    within: Within | None = None
    span: Span = field(default=NOWHERE, compare=False)
    type_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Group(_Node):
    """SEQ: `parts` in this order; AND: in any order; OR: one of them. One part or more."""

    operator: GroupOperator
    parts: tuple[EventNode, ...]
    quantifier: Quantifier | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class KeyTest:
    """``[key]``: equal on all components, positive and negated."""

    key: Fragment
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"[{spliced(self.key)}]"


EventNode: TypeAlias = Component | Negation | Group
Condition: TypeAlias = Fragment | KeyTest


@dataclass(frozen=True, slots=True)
class EventPattern:
    """A whole ``PATTERN … WHERE … WITHIN … RETURN …``.

    Attributes
    ----------
    root
        The outermost SEQ, AND or OR; it has no quantifier.
    strategy
        None where the text names none.
    strategy_variables
        Names in the brackets behind the strategy, in normal form.
    conditions
        Joined by AND. A fragment that could not be split for sure may hold more than one.
    source
        The text that spans speak of; None where there is none.
    """

    root: Group
    strategy: Strategy | None = None
    strategy_variables: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    within: Within | None = None
    returns: tuple[Measure, ...] = ()
    source: str | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        lines = [f"PATTERN {self.root}"]
        if self.strategy or self.conditions:
            lines.append(f"WHERE {self._where_text()}")
        if self.within:
            lines.append(f"WITHIN {within_text(self.within)}")
        if self.returns:
            lines.append("RETURN " + ", ".join(map(measure_text, self.returns)))
        return "\n".join(lines)

    @property
    def keys(self) -> tuple[Fragment, ...]:
        """The equivalence tests."""
        return tuple(condition.key for condition in self.conditions if isinstance(condition, KeyTest))

    def _where_text(self) -> str:
        conditions = " AND ".join(map(condition_text, self.conditions))
        if self.strategy is None:
            return conditions
        by_name = {variable.name: variable for variable in variables_of(self.root)}
        names = ", ".join(str(by_name[name]) for name in self.strategy_variables)
        return f"{self.strategy}{f'({names})' if names else ''} {{ {conditions} }}"


def parts_of(node: EventNode) -> tuple[EventNode, ...]:
    """Return the direct parts of a node."""
    return node.parts if isinstance(node, Group) else ()


def walk(node: EventNode) -> Iterator[EventNode]:
    """Yield `node` and everything below it, in text order."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(parts_of(current)))


def components_of(node: EventNode) -> tuple[Component, ...]:
    """Return the positive components in text order."""
    return tuple(part for part in walk(node) if isinstance(part, Component))


def negations_of(node: EventNode) -> tuple[Negation, ...]:
    """Return the negations in text order."""
    return tuple(part for part in walk(node) if isinstance(part, Negation))


def variables_of(node: EventNode) -> tuple[Variable, ...]:
    """Return the variables, those of negations among them, in text order."""
    return tuple(part.variable for part in walk(node) if not isinstance(part, Group))


def condition_text(condition: Condition) -> str:
    """Return a condition as it stands between two ANDs."""
    return spliced(condition) if isinstance(condition, Fragment) else str(condition)


def type_text(name: str) -> str:
    """Return the text of a type name, quoted if it would not read back as it is.

    >>> type_text("Shelf"), type_text("log in"), type_text("Next")
    ('Shelf', '"log in"', '"Next"')
    """
    return name if _is_plain(name) else quoted_text(name)


def event_text(node: EventNode) -> str:
    """Return the text of a node: it parses back to an equal one."""
    match node:
        case Component():
            return _component_text(node)
        case Negation(type_name, variable, within):
            return f"~({type_text(type_name)} {variable}){_step_window(within)}"
        case Group(operator, parts, quantifier):
            return f"{operator}({', '.join(map(event_text, parts))}){quantifier or ''}"


def _component_text(node: Component) -> str:
    strategy = f"{node.strategy} " if node.strategy else ""
    array = "[]" if node.is_loop else ""
    until = f" UNTIL ({spliced(node.until)})" if node.until else ""
    name = f"{type_text(node.type_name)}{node.quantifier or ''} {node.variable}{array}"
    return f"{strategy}{name}{until}{_step_window(node.within)}"


def _step_window(within: Within | None) -> str:
    return f" WITHIN {within_text(within)}" if within else ""


def _is_plain(name: str) -> bool:
    """Whether the name, unquoted, is one word and none of the language."""
    if not name.replace("_", "a").isalnum() or name.upper() in EVENT_WORDS:
        return False
    return [token.kind for token in tokenize(name)] == ["word"]
