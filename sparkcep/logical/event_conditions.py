"""The conditions of an event pattern: conjunctive form, and what each conjunct reads.

A conjunct is kept in the user's words, with a placeholder for every reference to an event. Where it is
placed decides which of them speak of the event under test (`ConjunctText.test`): what reads nothing
else becomes a row condition that Spark computes, the rest is lowered to slot operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sparkcep.errors import BindingError
from sparkcep.logical.bound import Condition, RowCondition
from sparkcep.logical.conditions import RUNNING_AGGREGATES, running_over
from sparkcep.logical.event_text import EventTemplate, Form, Reference, read_event_expression
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.lowering import Lowering
from sparkcep.logical.scope import Clause, Names
from sparkcep.logical.slots import BIGINT, RowReference, RowSet, Running, SlotExpression
from sparkcep.logical.spans import SpannedExpression
from sparkcep.logical.types import TypeOracle
from sparkcep.logical.values import Leaf, Value, Values, result
from sparkcep.syntax.clause import Fragment

_MOST_CONJUNCTS = 200


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
    placeholders = {f"__event_{n}": reference for n, reference in enumerate(template.references)}
    text = _with_placeholders(template, placeholders)
    found = []
    for piece in _conjunctive_texts(text):
        used = tuple((name, r) for name, r in placeholders.items() if re.search(rf"\b{name}\b", piece))
        found.append(Conjunct(clause, piece, used))
    return found


def _with_placeholders(template: EventTemplate, placeholders: Mapping[str, Reference]) -> str:
    names = {id(reference): name for name, reference in placeholders.items()}
    return template.spliced(lambda reference: names[id(reference)])


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
    if isinstance(inner, exp.Not):
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
            self._check(text, clause)
            self.conditions[text] = (label, clause.fragment.text)
        return list(self.conditions).index(text)

    def _check(self, text: str, clause: Clause) -> None:
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

    def test(self, conjunct: Conjunct, is_local: Callable[[Reference], bool]) -> Tested:
        """Bind a conjunct where `is_local` tells which references speak of the event under test."""
        texts: dict[str, str] = {}
        saved: dict[str, Reference] = {}
        for name, reference in conjunct.references:
            if is_local(reference) and reference.function is None:
                texts[name] = reference.text
            else:
                saved[name] = reference
        text = _replaced(conjunct.text, texts)
        try:
            if not saved:
                return Tested(bit=self.rows.bit(text, conjunct.clause, "/".join(sorted(conjunct.variables))))
            return Tested(slots=self._slots(conjunct, text, saved))
        except BindingError as error:
            raise conjunct.clause.located(error) from None

    def _slots(self, conjunct: Conjunct, text: str, saved: Mapping[str, Reference]) -> SlotExpression:
        clause, hidden = conjunct.clause, self.rows.hidden
        values = Values(
            {}, lambda column, kind: hidden.operand(column, kind, clause.title), self.rows.oracle, clause.title
        )
        try:
            for name, reference in saved.items():
                values.define(name, self._value(conjunct, reference, values))
            parsed = SpannedExpression(text)
            lowering = Lowering(parsed, values, lambda piece, why, hint: _refusal(conjunct, why, hint))
            return lowering.boolean(parsed.root)
        except ValueError as error:
            raise _refusal(conjunct, str(error), None) from None

    def _value(self, conjunct: Conjunct, reference: Reference, values: Values) -> Value:
        rows = RowSet(frozenset({self.variables.index(reference.variable)}))
        if reference.function is None:
            at = RowReference(rows, "first") if reference.form == "first" else RowReference(rows, "last")
            leaf = Leaf(reference.text, at)
            return Value(values.spark_type(reference.text), leaf=leaf)
        function = RUNNING_AGGREGATES.get(reference.function)
        if function is None or reference.distinct:
            raise conjunct.clause.error(
                "UNSUPPORTED_AGGREGATE",
                f"{reference.function.upper()}{' DISTINCT' if reference.distinct else ''} "
                "cannot be computed while matching",
                reference.start,
                reference.end,
                allowed="COUNT, SUM, AVG, MIN, MAX over columns",
                hint="every aggregate of Spark may stand in RETURN",
            )
        if not reference.text:
            return result(Running("count", None, None, rows, BIGINT), "bigint")
        return running_over(function, rows, reference.text, values)


def _refusal(conjunct: Conjunct, why: str, hint: str | None) -> BindingError:
    text = conjunct.clause.fragment.text
    return conjunct.clause.error("UNSUPPORTED_CONDITION", why, 0, len(text), hint=hint)


def _replaced(text: str, texts: Mapping[str, str]) -> str:
    """Put texts in the place of placeholders."""
    if not texts:
        return text
    return re.sub(rf"\b({'|'.join(texts)})\b", lambda found: texts[found[1]], text)
