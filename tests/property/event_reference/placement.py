"""Where each conjunct of WHERE sits in a sequence of components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.property.event_reference import conditions as c
from tests.property.event_reference.conditions import Condition
from tests.property.event_reference.tree import EventPattern, Variable
from tests.property.event_reference.variants import Absence, Component
from tests.property.reference.errors import ReferenceError_, StepLimitReached

_ELEMENT_FORMS = frozenset({c.EACH, c.LATER, c.PREVIOUS, c.BEFORE})
_LATER_FORMS = frozenset({c.LATER, c.PREVIOUS, c.BEFORE})
_CLOSING_FORMS = frozenset({c.LAST, c.WHOLE})


@dataclass
class Placed:
    """The conjuncts of one component: per element, on its first, on its later ones, on leaving it."""

    each: list[Condition] = field(default_factory=list)
    first: list[Condition] = field(default_factory=list)
    later: list[Condition] = field(default_factory=list)
    closing: list[Condition] = field(default_factory=list)


def check_forms(pattern: EventPattern) -> None:
    """Refuse elements of variables that are no arrays, and other misuse that no order can mend."""
    for condition in [*pattern.conditions, *pattern.returned.values()]:
        for name, form in condition.reads:
            variable = pattern.variables[name]
            if not variable.array and form not in (c.EACH, c.WHOLE):
                raise ReferenceError_(f"{variable.spelling} is no array: {variable.spelling}{form} has no meaning")
    for condition in pattern.returned.values():
        for name, form in condition.reads:
            variable = pattern.variables[name]
            if variable.negated or form in (_LATER_FORMS if variable.array else set()):
                raise ReferenceError_(f"RETURN cannot read {variable.spelling}{form}")
            if variable.array and form == c.EACH:
                raise bare(variable)


def bare(variable: Variable) -> ReferenceError_:
    name = variable.spelling
    return ReferenceError_(f"{name} is an array: read {name}[1], {name}[{name}.LEN], MIN, MAX or ARRAY_AGG({name}.x)")


def applicable(conditions: Iterable[Condition], bound: frozenset[str]) -> list[Condition]:
    """Return the conjuncts whose variables are all bound."""
    return [condition for condition in conditions if condition.variables <= bound]


def negated_variable(condition: Condition, variables: Mapping[str, Variable]) -> str | None:
    return next((name for name in condition.variables if variables[name].negated), None)


def check_foreign(condition: Condition, owner: str, variables: Mapping[str, Variable]) -> None:
    """Refuse what a component cannot read of another one."""
    groups = variables[owner].groups
    for name, form in condition.reads:
        variable = variables[name]
        if name == owner:
            continue
        if form in _LATER_FORMS or (form == c.EACH and (variable.loop or not variable.groups <= groups)):
            raise bare(variable)
        if form in _CLOSING_FORMS and variable.groups & groups:
            raise StepLimitReached  # a group that is still growing: the page does not say


def kind_of(condition: Condition, owner: str, variables: Mapping[str, Variable]) -> str:
    """Return which list of `Placed` a conjunct belongs to."""
    forms = condition.forms(owner)
    array = variables[owner].array
    if not array:
        return "each"
    if forms & _ELEMENT_FORMS and forms & _CLOSING_FORMS:
        raise ReferenceError_(f"{condition.text} reads one element and the last or all of {owner}")
    if forms & _CLOSING_FORMS:
        return "closing"
    if forms == {c.FIRST}:
        return "first"
    return "each" if c.EACH in forms else "later"


def place(
    conditions: Iterable[Condition], sequence: Sequence[Component], variables: Mapping[str, Variable]
) -> list[Placed]:
    """Put the conjuncts without negated variables on the components of `sequence`."""
    placed = [Placed() for _ in sequence]
    names = [component.variable for component in sequence]
    for condition in conditions:
        owner = max(condition.variables, key=names.index)
        check_foreign(condition, owner, variables)
        kind = kind_of(condition, owner, variables)
        copies = [index for index, name in enumerate(names) if name == owner]
        for index in copies[-1:] if kind == "closing" else copies:
            getattr(placed[index], kind).append(condition)
    return placed


def place_negated(
    conditions: Iterable[Condition], absence: Absence, variables: Mapping[str, Variable]
) -> list[Condition]:
    found = [condition for condition in conditions if absence.variable in condition.variables]
    for condition in found:
        check_foreign(condition, absence.variable, variables)
    return found
