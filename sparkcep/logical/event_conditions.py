"""The conditions of an event pattern: conjunctive form, and what each conjunct reads.

A conjunct is kept in the user's words, with a placeholder for every reference to an event. Where it is
placed decides which of them speak of the event under test (`ConjunctBinder.test`): what reads nothing
else becomes a row condition that Spark computes, the rest is lowered to slot operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from sparkcep.errors import BindingError
from sparkcep.logical.bound import Condition, RowCondition
from sparkcep.logical.conditions import RUNNING_AGGREGATES, running_over, sum_type
from sparkcep.logical.event_text import EventTemplate, Form, Reference, read_event_expression
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.lowering import Lowering
from sparkcep.logical.scope import Clause, Names
from sparkcep.logical.slots import (
    BIGINT,
    CURRENT_ROW,
    STRING,
    Read,
    RowReference,
    RowSet,
    Running,
    SlotExpression,
    SparkCondition,
)
from sparkcep.logical.spans import SpannedExpression
from sparkcep.logical.types import TypeOracle
from sparkcep.logical.values import Leaf, Value, Values, result
from sparkcep.syntax.clause import Fragment

_MOST_CONJUNCTS = 200
_PREFIX_NOT = re.compile(r"NOT\b|!", re.IGNORECASE)
Sight: TypeAlias = Literal["current", "first", "last", "absent"]
"""Which event a reference speaks of where it is tested: that under test, one taken before, or none."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One condition of the conjunctive form.

    Attributes
    ----------
    text
        With placeholders.
    references
        By placeholder.
    """

    clause: Clause
    text: str
    references: tuple[tuple[str, Reference], ...]

    @property
    def variables(self) -> frozenset[str]:
        """The variables it names."""
        return frozenset(reference.variable for _, reference in self.references)

    def forms(self, variable: str) -> frozenset[Form]:
        """How it reads a variable."""
        return frozenset(reference.form for _, reference in self.references if reference.variable == variable)

    def error(self, code: str, message: str, variable: str | None = None, **more: str | None) -> BindingError:
        """Return an error that underlines the first reference to `variable`, or all of it."""
        chosen = [r for _, r in self.references if variable is None or r.variable == variable]
        start = min((r.start for r in chosen), default=0)
        end = chosen[0].end if variable is not None and chosen else len(self.clause.fragment.text)
        return self.clause.error(code, message, start if variable is not None else 0, end, **more)


def conjuncts_of(fragment: Fragment, title: str, names: Names, arrays: Mapping[str, bool]) -> list[Conjunct]:
    """Read a condition and put it into conjunctive form; BETWEEN is two conjuncts.

    Raises
    ------
    BindingError
        When a reference is malformed or unknown, or a bare column stands in it.
    """
    clause = Clause(title, fragment, names)
    template = read_event_expression(clause, arrays)
    for column, start, end in template.bare[:1]:
        raise clause.error(
            "MISSING_VARIABLE",
            f"'{column}' is a column of which event?",
            start,
            end,
            found=column,
            allowed=", ".join(f"{name.lower()}.{column}" for name in arrays),
            hint="conditions on single events may also stand in types={name: predicate}",
        )
    whole = _as_conjunct(clause, template)
    found = []
    for piece in _conjunctive_texts(whole.text):
        used = tuple((name, r) for name, r in whole.references if re.search(rf"\b{name}\b", piece))
        found.append(Conjunct(clause, piece, used))
    return found


def whole_condition(fragment: Fragment, title: str, names: Names, arrays: Mapping[str, bool]) -> Conjunct:
    """Read a condition that stays whole; bare columns in it are those of the event under test."""
    clause = Clause(title, fragment, names)
    return _as_conjunct(clause, read_event_expression(clause, arrays))


def _as_conjunct(clause: Clause, template: EventTemplate) -> Conjunct:
    """Put placeholders in the place of references."""
    by_name = {f"__event_{n}": reference for n, reference in enumerate(template.references)}
    names = {id(reference): name for name, reference in by_name.items()}
    return Conjunct(clause, template.spliced(lambda reference: names[id(reference)]), tuple(by_name.items()))


def _conjunctive_texts(text: str) -> list[str]:
    """Return the conjuncts of the conjunctive form; the whole text where that cannot be told."""
    try:
        parsed = SpannedExpression(text)
        found = _conjunctive(parsed, parsed.root, inverted=False)
    except ValueError:
        return [text]
    return found if len(found) <= _MOST_CONJUNCTS else [text]


def _conjunctive(parsed: SpannedExpression, node: exp.Expression, *, inverted: bool) -> list[str]:
    inner = node.unnest()
    if isinstance(inner, exp.Not) and _PREFIX_NOT.match(parsed.text_of(inner) or ""):
        return _conjunctive(parsed, inner.this, inverted=not inverted)
    if isinstance(inner, exp.And | exp.Or):
        left = _conjunctive(parsed, inner.left, inverted=inverted)
        right = _conjunctive(parsed, inner.right, inverted=inverted)
        if isinstance(inner, exp.And) != inverted:
            return left + right
        return [f"({one}) OR ({other})" for one in left for other in right]
    if isinstance(inner, exp.Between) and not inner.args.get("symmetric"):
        value, low, high = (parsed.text_of(part) for part in (inner.this, inner.args["low"], inner.args["high"]))
        if value and low and high:
            if inverted:
                return [f"({value}) < ({low}) OR ({value}) > ({high})"]
            return [f"({value}) >= ({low})", f"({value}) <= ({high})"]
    piece = parsed.text_of(inner) or parsed.text_of(node)
    if piece is None:
        raise ValueError("a piece without a place")
    return [f"NOT ({piece})" if inverted else piece]


class RowConditions:
    """The conditions Spark computes, one bit each; equal ones are one."""

    def __init__(self, hidden: HiddenColumns, oracle: TypeOracle) -> None:
        self.hidden, self.oracle = hidden, oracle
        self.conditions: dict[str, tuple[str, str]] = {}

    def bit(self, text: str, clause: Clause, label: str) -> int:
        """Return the bit of a condition over the columns of one row."""
        if text not in self.conditions:
            self.check(text, clause)
            self.conditions[text] = (label, clause.fragment.text)
        return list(self.conditions).index(text)

    def check(self, text: str, clause: Clause) -> None:
        """Raise BindingError unless a text over the columns of one row is a condition."""
        try:
            (kind,) = self.oracle.types([text], clause=clause.title)
        except BindingError as error:
            raise clause.located(error) from None
        if kind not in ("boolean", "void"):
            shown = clause.fragment.text
            raise clause.error(
                "NOT_A_CONDITION",
                f"a condition is needed here: '{shown}' is {kind}, not boolean",
                0,
                len(shown),
                found=kind,
                allowed="boolean",
                hint="compare it with something",
            )

    def bound(self) -> tuple[Condition, ...]:
        """Return them as conditions of a row pattern."""
        return tuple(
            Condition(label, shown, RowCondition(text, False, self.hidden.mentions(text)))
            for text, (label, shown) in self.conditions.items()
        )


@dataclass(frozen=True, slots=True)
class Tested:
    """A placed conjunct: a bit, or a slot tree."""

    bit: int | None = None
    slots: SlotExpression | None = None


class ConjunctBinder:
    """Turns placed conjuncts into bits and slot trees."""

    def __init__(self, variables: tuple[str, ...], rows: RowConditions) -> None:
        self.variables, self.rows = variables, rows

    def test(self, conjunct: Conjunct, sight: Callable[[Reference], Sight]) -> Tested:
        """Bind a conjunct where `sight` tells which event each reference speaks of."""
        texts: dict[str, str] = {}
        saved: dict[str, tuple[Reference, Sight]] = {}
        try:
            for name, reference in conjunct.references:
                seen = sight(reference)
                if seen == "current":
                    texts[name] = self._current(conjunct, reference)
                elif seen == "absent":
                    (kind,) = self.rows.oracle.types([reference.text], clause=conjunct.clause.title)
                    texts[name] = f"CAST(NULL AS {kind})"
                else:
                    saved[name] = (reference, seen)
            text = _replaced(conjunct.text, texts)
            if not saved:
                return Tested(bit=self.rows.bit(text, conjunct.clause, conjunct.clause.title))
            return Tested(slots=self._slots(conjunct, text, saved))
        except BindingError as error:
            located = conjunct.clause.located(error)
            if error.code != "UNSUPPORTED_CONDITION" or any(reference.function for _, reference in conjunct.references):
                raise located from None
            return Tested(slots=self._for_spark(conjunct, sight, located))

    def _current(self, conjunct: Conjunct, reference: Reference) -> str:
        """Return what a reference is of the event under test, which for an aggregate is the only one."""
        text = reference.text
        if reference.function is None:
            return text
        function = _running_function(conjunct, reference)
        if function == "count":
            return f"CAST({f'IF(({text}) IS NULL, 0, 1)' if text else '1'} AS BIGINT)"
        if function == "avg":
            return f"CAST({text} AS DOUBLE)"
        if function == "sum":
            (kind,) = self.rows.oracle.types([text], clause=conjunct.clause.title)
            return f"CAST({text} AS {sum_type(kind)})"
        return f"({text})"

    def _slots(self, conjunct: Conjunct, text: str, saved: Mapping[str, tuple[Reference, Sight]]) -> SlotExpression:
        clause, hidden = conjunct.clause, self.rows.hidden
        values = Values(
            {}, lambda column, kind: hidden.operand(column, kind, clause.title), self.rows.oracle, clause.title
        )
        try:
            for name, (reference, seen) in saved.items():
                values.define(name, self._value(conjunct, reference, seen, values))
            parsed = SpannedExpression(text)
            lowering = Lowering(parsed, values, lambda piece, why, hint: _refusal(conjunct, why, hint))
            return lowering.boolean(parsed.root)
        except ValueError as error:
            raise _refusal(conjunct, str(error), None) from None

    def _for_spark(
        self, conjunct: Conjunct, sight: Callable[[Reference], Sight], refusal: BindingError
    ) -> SparkCondition:
        """Return a conjunct that stays as the user wrote it."""
        clause, hidden = conjunct.clause, self.rows.hidden
        texts: dict[str, str] = {}
        reads: dict[str, Read] = {}
        for name, reference in conjunct.references:
            seen = sight(reference)
            if seen == "absent":
                (kind,) = self.rows.oracle.types([reference.text], clause=clause.title)
                texts[name] = f"CAST(NULL AS {kind})"
                continue
            rows = RowSet(frozenset({self.variables.index(reference.variable)}))
            at = CURRENT_ROW if seen == "current" else RowReference(rows, "first" if seen == "first" else "last")
            reads[name] = Read(hidden.operand(reference.text, STRING, clause.title), at, STRING)
        whole = {name: f"({reference.text})" for name, reference in conjunct.references}
        self.rows.check(_replaced(conjunct.text, whole | texts), clause)
        return SparkCondition(_replaced(conjunct.text, texts), tuple(reads), tuple(reads.values()), refusal)

    def _value(self, conjunct: Conjunct, reference: Reference, seen: Sight, values: Values) -> Value:
        rows = RowSet(frozenset({self.variables.index(reference.variable)}))
        if reference.function is None:
            leaf = Leaf(reference.text, RowReference(rows, "first" if seen == "first" else "last"))
            return Value(values.spark_type(reference.text), leaf=leaf)
        function = _running_function(conjunct, reference)
        if not reference.text:
            return result(Running("count", None, None, rows, BIGINT), "bigint")
        return running_over(function, rows, reference.text, values)


def _running_function(conjunct: Conjunct, reference: Reference) -> str:
    """Return the aggregate that is computed while matching; refuse any other."""
    assert reference.function is not None
    function = RUNNING_AGGREGATES.get(reference.function)
    if function is not None and not reference.decorated and (reference.text or function == "count"):
        return function
    shown = conjunct.clause.fragment.text[reference.start : reference.end]
    raise conjunct.clause.error(
        "UNSUPPORTED_AGGREGATE",
        f"{shown} cannot be computed while matching",
        reference.start,
        reference.end,
        found=shown,
        allowed="COUNT, SUM, AVG, MIN, MAX over columns, without DISTINCT, FILTER or ORDER BY",
        hint="every aggregate of Spark may stand in RETURN",
    )


def _refusal(conjunct: Conjunct, why: str, hint: str | None) -> BindingError:
    text = conjunct.clause.fragment.text
    return conjunct.clause.error("UNSUPPORTED_CONDITION", why, 0, len(text), hint=hint)


def _replaced(text: str, texts: Mapping[str, str]) -> str:
    """Put texts in the place of placeholders."""
    if not texts:
        return text
    return re.sub(rf"\b({'|'.join(texts)})\b", lambda found: texts[found[1]], text)
