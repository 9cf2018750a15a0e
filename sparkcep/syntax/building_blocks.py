"""The single events of a pattern that is built in Python: positive components and negations."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from sparkcep.errors import PatternSyntaxError, Span
from sparkcep.syntax.durations import parse_within
from sparkcep.syntax.event_parts import variable_of
from sparkcep.syntax.event_pattern import ANY_EVENT, Component, Negation, Quantifier, StepStrategy, Variable
from sparkcep.syntax.lexer import tokenize
from sparkcep.syntax.sase import parse_expression
from sparkcep.syntax.token_reader import LARGEST_BOUND

Distance: TypeAlias = str | int | float | Decimal | dt.timedelta


@dataclass(frozen=True, slots=True)
class Event:
    """A positive component, made by `event`.

    Attributes
    ----------
    component
        Its node; the type name is empty where `predicate` says what the event is.
    predicate
        SQL text over the columns of one row, or None.
    """

    component: Component
    predicate: str | None = None

    @property
    def variable(self) -> Variable:
        """Its name."""
        return self.component.variable

    def plus(self) -> Event:
        """One event or more.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a").plus()))
        PATTERN SEQ(_+ a[])
        """
        return self._repeated(Quantifier(1, None))

    def star(self) -> Event:
        """Any number of events, or none.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a").star()))
        PATTERN SEQ(_* a[])
        """
        return self._repeated(Quantifier(0, None))

    def optional(self) -> Event:
        """One event or none.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a").optional()))
        PATTERN SEQ(_? a)
        """
        return self._repeated(Quantifier(0, 1))

    def times(self, minimum: int, maximum: int | None = None) -> Event:
        """Exactly `minimum` events, or between `minimum` and `maximum`.

        Raises
        ------
        PatternSyntaxError
            INVALID_QUANTIFIER, DOUBLE_QUANTIFIER.

        Examples
        --------
        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a").times(2), event("b").times(0, 3)))
        PATTERN SEQ(_{2} a[], _{0,3} b[])
        """
        return self._repeated(bounds(minimum, minimum if maximum is None else maximum))

    def at_least(self, minimum: int) -> Event:
        """`minimum` events or more.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a").at_least(2)))
        PATTERN SEQ(_{2,} a[])
        """
        return self._repeated(bounds(minimum, None))

    def until(self, condition: str) -> Event:
        """End the loop at the first event for which `condition` is true; that event is not taken.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a").plus().until("type = 'B'")))
        PATTERN SEQ(_+ a[] UNTIL (type = 'B'))
        """
        refuse_second(self.component.until, "UNTIL", self._clause)
        return self._with(until=parse_expression(condition, clause=f"UNTIL of {self.variable.label}"))

    def within(self, distance: Distance, *, inclusive: bool = True) -> Event:
        """Bound the distance from the step before; see `Pattern.within` for how it is written.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a"), event("b").within("10 minutes")))
        PATTERN SEQ(_ a, _ b WITHIN INTERVAL '10' MINUTE)
        """
        refuse_second(self.component.within, "WITHIN", self._clause)
        return self._with(within=parse_within(distance, inclusive, clause=f"WITHIN of {self.variable.label}"))

    def strict(self) -> Event:
        """Pass over no event while waiting for this one.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("a"), event("b").strict()))
        PATTERN SEQ(_ a, STRICT _ b)
        """
        return self._waiting("STRICT")

    def next(self) -> Event:
        """Pass over events that do not fit while waiting for this one."""
        return self._waiting("NEXT")

    def any(self) -> Event:
        """Pass over any event while waiting for this one."""
        return self._waiting("ANY")

    @property
    def _clause(self) -> str:
        return f"event {self.variable.label}"

    def _waiting(self, strategy: StepStrategy) -> Event:
        refuse_second(self.component.strategy, strategy, self._clause)
        return self._with(strategy=strategy)

    def _repeated(self, quantifier: Quantifier) -> Event:
        refuse_quantifier(self.component.quantifier, self._clause)
        return self._with(quantifier=quantifier, is_loop=quantifier.repeats)

    def _with(self, **changes: object) -> Event:
        return replace(self, component=replace(self.component, **changes))  # type: ignore[arg-type]  # named above


@dataclass(frozen=True, slots=True)
class Absence:
    """A negation, made by `no`; attributes as in `Event`."""

    component: Negation
    predicate: str | None = None

    @property
    def variable(self) -> Variable:
        """Its name."""
        return self.component.variable

    def within(self, distance: Distance, *, inclusive: bool = True) -> Absence:
        """Bound the gap at the end of a pattern by the time since the event before it.

        >>> from sparkcep.syntax.builder import seq
        >>> print(seq(event("created"), no("paid").within("10 minutes")))
        PATTERN SEQ(_ created, ~(_ paid) WITHIN INTERVAL '10' MINUTE)
        """
        label = self.variable.label
        refuse_second(self.component.within, "WITHIN", f"event {label}")
        within = parse_within(distance, inclusive, clause=f"WITHIN of {label}")
        return replace(self, component=replace(self.component, within=within))


def event(name: str, predicate: str | None = None, *, type: str | None = None) -> Event:
    """Return a component that waits for one event.

    Parameters
    ----------
    name
        A name as in the text: quoted if it has other characters than letters, digits and _.
    predicate
        What the event is: SQL text over the columns of its row.
    type
        Name of an event type, to be told by ``types=`` or ``type_column=``. Without `predicate`
        and `type`, any event will do.

    Returns
    -------
    Event

    Raises
    ------
    PatternSyntaxError
        INVALID_NAME, RESERVED_NAME, CONTRADICTION (both `predicate` and `type`), and what
        `predicate` gets wrong.

    Examples
    --------
    >>> from sparkcep.syntax.builder import seq
    >>> print(seq(event("a", type="Shelf"), event("b")))
    PATTERN SEQ(Shelf a, _ b)
    """
    variable = _variable(name)
    type_name, fragment = _type(variable, predicate, type)
    return Event(Component(type_name, variable), fragment)


def no(name: str, predicate: str | None = None, *, type: str | None = None) -> Absence:
    """Return a negation: no such event in the gap between its neighbours. Arguments as in `event`.

    >>> from sparkcep.syntax.builder import seq
    >>> print(seq(event("a"), no("b", type="B"), event("c")))
    PATTERN SEQ(_ a, ~(B b), _ c)
    """
    variable = _variable(name)
    type_name, fragment = _type(variable, predicate, type)
    return Absence(Negation(type_name, variable), fragment)


def _variable(name: str) -> Variable:
    tokens = tokenize(name, clause="event")
    if len(tokens) != 1 or not tokens[0].is_name:
        raise PatternSyntaxError(
            "INVALID_NAME",
            "This is not one name.",
            clause="event",
            text=name,
            span=Span(0, len(name)),
            found=repr(name),
            allowed='a name, "quoted" if it has other characters than letters, digits and _',
        )
    return variable_of(tokens[0], text=name, clause="event")


def _type(variable: Variable, predicate: str | None, type_name: str | None) -> tuple[str, str | None]:
    """Return the type name, empty for now where a predicate is given, and the predicate."""
    clause = f"event {variable.label}"
    if predicate is not None and type_name is not None:
        raise error("CONTRADICTION", "An event has a predicate or a type, not both.", clause)
    if type_name == "":
        raise error("EMPTY_NAME", "The name of a type needs at least one character.", clause)
    if predicate is None:
        return type_name or ANY_EVENT, None
    return "", parse_expression(predicate, clause=clause).text


def bounds(minimum: int, maximum: int | None) -> Quantifier:
    """Return checked bounds; `maximum` None means without end."""
    shown = f"{{{minimum},{'' if maximum is None else maximum}}}"
    whole = all(isinstance(bound, int) and not isinstance(bound, bool) for bound in (minimum, maximum or 0))
    if not whole or not 0 <= minimum <= LARGEST_BOUND or (maximum is not None and not 1 <= maximum <= LARGEST_BOUND):
        raise error("INVALID_QUANTIFIER", f"{shown} cannot be counted.", "times", "whole numbers, n ≥ 0, m ≥ 1")
    if maximum is not None and minimum > maximum:
        raise error("INVALID_QUANTIFIER", f"The lower bound {minimum} is above the upper bound {maximum}.", "times")
    return Quantifier(minimum, maximum)


def refuse_quantifier(quantifier: Quantifier | None, clause: str) -> None:
    """Refuse a second quantifier."""
    if quantifier is not None:
        raise error("DOUBLE_QUANTIFIER", f"There is a quantifier already: {quantifier}", clause)


def refuse_second(first: object, what: str, clause: str) -> None:
    """Refuse what is given a second time: nothing is silently replaced."""
    if first is not None:
        raise error("CLAUSE_TWICE", f"{what} is given twice.", clause)


def error(code: str, message: str, clause: str, hint: str | None = None) -> PatternSyntaxError:
    """Return an error about a call: there is no text to underline."""
    return PatternSyntaxError(code, message, clause=clause, hint=hint)
