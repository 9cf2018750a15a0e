"""Conditions over the events of a match: reading, conjunctive form, three-valued evaluation.

``b[1].x`` is read as column x of a variable named ``B[1]``: the expression reader of the row
patterns then serves both languages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from tests.property.event_reference.tokens import Token
from tests.property.reference.errors import ReferenceError_
from tests.property.reference.evaluation import _LAZY, _OPERATIONS, _READS_NULL
from tests.property.reference.expressions import (
    Aggregate,
    Case_,
    Cast,
    Column,
    Constant,
    Expression,
    Operation,
    children,
    read_expression,
    walk,
)
from tests.property.reference.values import ArithmeticFault, SortKey, cast, group_key, total

EACH, FIRST, LATER, PREVIOUS, BEFORE, LAST, WHOLE = "each", "[1]", "[i]", "[i-1]", "[..i-1]", "[len]", "whole"
SAME_KEY = "SAME_KEY"

Row = Mapping[str, Any]


class Reading(Protocol):
    """What a condition reads."""

    def row(self, variable: str, form: str) -> Row | None: ...

    def every(self, variable: str, form: str) -> Sequence[Row]: ...

    def bare(self) -> Row | None: ...


@dataclass(frozen=True)
class Condition:
    """An expression with the pairs (variable, form) that it reads."""

    node: Expression
    reads: frozenset[tuple[str, str]]
    text: str

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.reads)

    def forms(self, variable: str) -> frozenset[str]:
        return frozenset(form for name, form in self.reads if name == variable)


# ---------------------------------------------------------------------------------------------
# Reading


def _element(tokens: Sequence[Token], place: int) -> tuple[str, int]:
    """Return ``[form]`` of the brackets that open at `place`, and the place behind them."""
    inner, place, variable = "", place + 1, tokens[place - 1].text
    while place < len(tokens) and tokens[place].text != "]":
        inner += tokens[place].text
        place += 1
    form = f"[{inner.lower()}]"
    if form == f"[{variable.lower()}.len]":
        form = LAST
    if form not in (FIRST, LATER, PREVIOUS, BEFORE, LAST):
        allowed = f"[1], [i], [i-1], [..i-1], [{variable}.LEN]"
        raise ReferenceError_(f"unknown element {variable}[{inner}]; there are {allowed}")
    return form, place + 1


def rewritten(tokens: Sequence[Token]) -> str:
    """Return the text with elements as quoted variables and ``[key]`` as a function call."""
    words: list[str] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        follows = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.kind == "word" and follows == "[" and token.upper not in ("AND", "OR", "NOT"):
            form, place = _element(tokens, place + 1)
            words.append(f'"{token.text.upper()}{form}"')
            if place >= len(tokens) or tokens[place].text != ".":
                words.append(".*")
            continue
        if token.text == "[" or token.text == "]":
            words.append(f"{SAME_KEY}(" if token.text == "[" else ")")
        else:
            words.append(token.text)
        place += 1
    return " ".join(words)


def read_condition(tokens: Sequence[Token], variables: Iterable[str]) -> Condition:
    text = rewritten(tokens)
    return _condition(read_expression(text), frozenset(variables))


def _parted(variable: str) -> tuple[str, str]:
    name, bracket, rest = variable.partition("[")
    return name, bracket + rest if bracket else EACH


def _counted(node: Aggregate, variables: frozenset[str]) -> str | None:
    """Return the variable of ``COUNT(b)`` and ``COUNT(b.*)``."""
    inner = node.argument
    if isinstance(inner, Column) and inner.variable is None and inner.name.upper() in variables:
        return inner.name.upper()
    return node.variable if inner is None else None


def _aggregate_reads(node: Aggregate, variables: frozenset[str]) -> tuple[str, str]:
    counted = _counted(node, variables)
    names = {counted} if counted else {p.variable for p in walk(node) if isinstance(p, Column) and p.variable}
    if len(names) != 1:
        raise ReferenceError_(f"{node.function} speaks of one variable, not of {sorted(map(str, names))}")
    name, form = _parted(str(names.pop()))
    if form not in (EACH, BEFORE):
        raise ReferenceError_(f"{node.function} reads {name}.x or {name}[..i-1].x, not {name}{form}")
    return name, WHOLE if form == EACH else BEFORE


def _reads(node: Expression, variables: frozenset[str]) -> set[tuple[str, str]]:
    if isinstance(node, Aggregate):
        return {_aggregate_reads(node, variables)}
    found = {pair for child in children(node) for pair in _reads(child, variables)}
    if isinstance(node, Column) and node.variable is not None:
        name, form = _parted(node.variable)
        if form == BEFORE:
            raise ReferenceError_(f"{name}[..i-1] stands inside an aggregate only")
        found.add((name, form))
    return found


def _condition(node: Expression, variables: frozenset[str]) -> Condition:
    reads = _reads(node, variables)
    for name in sorted({name for name, _ in reads}):
        if name not in variables:
            raise ReferenceError_(f"unknown variable {name}; there are {', '.join(sorted(variables))}")
    return Condition(node, frozenset(reads), str(node))


def conjuncts(condition: Condition, variables: Iterable[str]) -> tuple[list[Condition], list[str]]:
    """Return the conjuncts of the conjunctive form, and the columns of the ``[key]`` tests among them."""
    names, found, keys = frozenset(variables), [], []
    for node in _conjunctive(condition.node, False):
        if isinstance(node, Operation) and node.operator == SAME_KEY:
            keys += [part.name for part in node.arguments if isinstance(part, Column)]
        elif any(isinstance(part, Operation) and part.operator == SAME_KEY for part in walk(node)):
            raise ReferenceError_("[key] is a condition of its own, not a part of OR or NOT")
        else:
            found.append(_condition(node, names))
    return found, keys


def _conjunctive(node: Expression, inverted: bool) -> list[Expression]:
    if not isinstance(node, Operation) or node.operator not in ("AND", "OR", "NOT"):
        return [Operation("NOT", (node,)) if inverted else node]
    if node.operator == "NOT":
        return _conjunctive(node.arguments[0], not inverted)
    left, right = (_conjunctive(argument, inverted) for argument in node.arguments)
    if (node.operator == "AND") != inverted:
        return left + right
    return [Operation("OR", (one, other)) for one in left for other in right]


# ---------------------------------------------------------------------------------------------
# Evaluation


def holds(condition: Condition, reading: Reading) -> bool:
    """Tell whether `condition` is TRUE: NULL and FALSE are alike."""
    return evaluate(condition.node, reading) is True


def evaluate(node: Expression, reading: Reading, at: Row | None = None) -> Any:
    """Return the value; inside an aggregate `at` is the event it looks at. Faults of arithmetic give NULL."""
    match node:
        case Constant(value):
            return value
        case Column():
            return _column(node, reading, at)
        case Aggregate():
            return _aggregate(node, reading)
        case Case_(branches, otherwise):
            for when, then in branches:
                if evaluate(when, reading, at) is True:
                    return evaluate(then, reading, at)
            return evaluate(otherwise, reading, at)
        case Cast(argument, target):
            value = evaluate(argument, reading, at)
            return None if value is None else cast(value, target)
        case Operation():
            return _operation(node, reading, at)
    raise ReferenceError_(f"{type(node).__name__} has no place in an event pattern")


def _field(row: Row | None, name: str) -> Any:
    if row is None:
        return None
    found = {key.lower(): value for key, value in row.items()}
    if name.lower() not in found:
        raise ReferenceError_(f"unknown column {name}; there are {', '.join(row)}")
    return found[name.lower()]


def _column(node: Column, reading: Reading, at: Row | None) -> Any:
    if node.variable is None:
        row = reading.bare()
        if row is None:
            raise ReferenceError_(f"column {node.name} needs a variable")
        return _field(row, node.name)
    return _field(at if at is not None else reading.row(*_parted(node.variable)), node.name)


def _operation(node: Operation, reading: Reading, at: Row | None) -> Any:
    if node.operator not in _OPERATIONS:
        raise ReferenceError_(f"unknown function {node.operator}")
    operation = _OPERATIONS[node.operator]
    if node.operator in _LAZY:
        return operation(*((lambda part=part: evaluate(part, reading, at)) for part in node.arguments))
    values = [evaluate(argument, reading, at) for argument in node.arguments]
    if node.operator not in _READS_NULL and any(value is None for value in values):
        return None
    try:
        return operation(*values)
    except ArithmeticFault:
        return None


def _aggregate(node: Aggregate, reading: Reading) -> Any:
    named = [part.variable for part in walk(node) if isinstance(part, Column) and part.variable]
    if not named:
        variable = node.variable or node.argument.name.upper()  # type: ignore[union-attr]
        name, form = _parted(variable)
        return len(reading.every(name, WHOLE if form == EACH else form))
    name, form = _parted(str(named[0]))
    rows = reading.every(name, WHOLE if form == EACH else form)
    if node.condition is not None:
        rows = [row for row in rows if evaluate(node.condition, reading, row) is True]
    assert node.argument is not None
    values = [value for row in rows if (value := evaluate(node.argument, reading, row)) is not None]
    if node.distinct:
        values = list({group_key(value): value for value in values}.values())
    return _aggregated(node.function, values)


def _aggregated(function: str, values: list[Any]) -> Any:
    match function:
        case "COUNT":
            return len(values)
        case "ARRAY_AGG":
            return values
        case "MIN":
            return min(values, key=SortKey, default=None)
        case "MAX":
            return max(values, key=SortKey, default=None)
    try:
        if function == "SUM":
            return total(values)
        if not values:
            return None
        if all(isinstance(value, int) for value in values):
            return float(Fraction(sum(values), len(values)))
        return total(float(value) for value in values) / len(values)
    except ArithmeticFault:
        return None
