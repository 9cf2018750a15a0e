"""Places every conjunct of WHERE: on the component bound last among those it names (semantics, 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sparkcep.errors import BindingError
from sparkcep.logical.event_bound import EventTest
from sparkcep.logical.event_conditions import Conjunct, ConjunctBinder, Tested
from sparkcep.logical.event_orders import Order
from sparkcep.logical.event_text import Form, Reference
from sparkcep.logical.slots import (
    BIGINT,
    BOOLEAN,
    Comparison,
    ConstantValue,
    Logic,
    RowSet,
    Running,
    SlotExpression,
)

_LATER_FORMS: frozenset[Form] = frozenset({"later", "previous", "before"})
_ELEMENT_FORMS: frozenset[Form] = _LATER_FORMS | {"each"}
_CLOSING_FORMS: frozenset[Form] = frozenset({"last", "whole"})


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """What placement needs of a variable.

    Attributes
    ----------
    groups
        The repeated groups around it.
    is_loop
        Whether it repeats by itself or is written with ``[]``.
    """

    label: str
    groups: frozenset[int]
    is_loop: bool
    is_negated: bool

    @property
    def is_array(self) -> bool:
        """Whether its value is an array."""
        return self.is_loop or bool(self.groups)


@dataclass(slots=True)
class Placed:
    """The conjuncts of one component, bound."""

    begin: list[Tested] = field(default_factory=list)
    take: list[Tested] = field(default_factory=list)
    leave: list[Tested] = field(default_factory=list)


class Placement:
    """Places the conjuncts of one pattern in its orders.

    Parameters
    ----------
    conjuncts
        All conjuncts of WHERE but the ``[key]`` tests.
    variables
        By normal name.
    """

    def __init__(
        self, conjuncts: Sequence[Conjunct], variables: Mapping[str, VariableInfo], binder: ConjunctBinder
    ) -> None:
        self.conjuncts, self.variables, self.binder = conjuncts, variables, binder
        self._known: dict[tuple[int, str], Tested] = {}
        for conjunct in conjuncts:
            check_forms(conjunct.references, conjunct, variables)
            if sum(variables[name].is_negated for name in conjunct.variables) > 1:
                raise conjunct.error(
                    "TWO_NEGATIONS",
                    "a condition on two negated events belongs to neither of them",
                    hint="give each negation a condition of its own",
                )

    def applicable(self, order: Order) -> list[Conjunct]:
        """Return the conjuncts whose variables an order binds."""
        return [conjunct for conjunct in self.conjuncts if conjunct.variables <= order.names]

    def placed(self, order: Order) -> list[Placed]:
        """Return the conjuncts of each component."""
        found = [Placed() for _ in order.components]
        names = [leaf.name for leaf in order.components]
        for conjunct in self.applicable(order):
            if any(self.variables[name].is_negated for name in conjunct.variables):
                continue
            if not conjunct.variables:
                found[0].begin.append(self._test(conjunct, "constant", lambda _: True))
            elif order.is_sequence:
                owner = max(conjunct.variables, key=names.index)
                self._place(conjunct, order, owner, found, None)
            else:
                self._place_open(conjunct, order, found)
        return found

    def witness(self, order: Order, name: str) -> EventTest:
        """Return the test on a negated variable."""
        tests = []
        for conjunct in self.applicable(order):
            if name in conjunct.variables:
                self._check_foreign(conjunct, name)
                tests.append(self._test(conjunct, f"negated {name}", lambda reference: reference.variable == name))
        return joined(tests)

    # -- one conjunct ------------------------------------------------------------------------------

    def _place(
        self, conjunct: Conjunct, order: Order, owner: str, found: list[Placed], guard: SlotExpression | None
    ) -> None:
        self._check_foreign(conjunct, owner)
        kind = self._kind(conjunct, owner)
        copies = [k for k, leaf in enumerate(order.components) if leaf.name == owner]
        if kind == "closing":
            found[copies[-1]].leave.append(_guarded(self._test(conjunct, "closing", lambda _: False), guard))
            return
        later = _guarded(self._test(conjunct, f"later {owner}", _is_current(owner, begins=False)), guard)
        for k in copies:
            begins = k == copies[0]
            if begins and kind in ("each", "first"):
                test = self._test(conjunct, f"first {owner}", _is_current(owner, begins=True))
                found[k].begin.append(_guarded(test, guard))
            elif not begins and kind in ("each", "later"):
                found[k].begin.append(later)
            if kind in ("each", "later"):
                found[k].take.append(later)

    def _place_open(self, conjunct: Conjunct, order: Order, found: list[Placed]) -> None:
        """Place a conjunct where parts may interleave: on each component that can be the last one it names."""
        element = next((n for n in sorted(conjunct.variables) if self._reads_elements(conjunct, n)), None)
        places = {leaf.name: k for k, leaf in enumerate(order.components)}
        last = [
            n for n in conjunct.variables if not any(places[n] in order.before[places[o]] for o in conjunct.variables)
        ]
        if element is not None:
            earlier = order.before[places[element]]
            if not all(places[other] in earlier for other in conjunct.variables - {element}):
                raise self._unplaceable(conjunct)
            self._place(conjunct, order, element, found, None)
            return
        if len(last) > 1 and any(self._kind(conjunct, name) == "closing" for name in last):
            raise self._unplaceable(conjunct)
        for name in sorted(last):
            others = sorted(set(last) - {name})
            self._place(conjunct, order, name, found, self._some_missing(others))

    def _reads_elements(self, conjunct: Conjunct, name: str) -> bool:
        forms = conjunct.forms(name)
        return bool(forms & _LATER_FORMS) or ("each" in forms and self.variables[name].is_loop)

    def _some_missing(self, names: Iterable[str]) -> SlotExpression | None:
        """Return the condition that a variable has not taken an event yet: then the conjunct has to wait."""
        missing: SlotExpression | None = None
        for name in names:
            rows = RowSet(frozenset({self.binder.variables.index(name)}))
            none = Comparison("=", Running("count", None, None, rows, BIGINT), ConstantValue(0, BIGINT))
            missing = none if missing is None else Logic("or", missing, none)
        return missing

    def _unplaceable(self, conjunct: Conjunct) -> BindingError:
        return conjunct.error(
            "UNSUPPORTED_CONDITION",
            "a condition on a loop cannot read parts of AND that may come before or after it",
            hint="write the orders out: OR(SEQ(…), SEQ(…))",
        )

    def _test(self, conjunct: Conjunct, role: str, is_local: Callable[[Reference], bool]) -> Tested:
        key = (id(conjunct), role)
        if key not in self._known:
            self._known[key] = self.binder.test(conjunct, is_local)
        return self._known[key]

    def _kind(self, conjunct: Conjunct, owner: str) -> str:
        """Return whether it speaks of each, the first or every later element, or of a loop that is left."""
        forms = conjunct.forms(owner)
        if not self.variables[owner].is_array:
            return "each"
        if forms & _ELEMENT_FORMS and forms & _CLOSING_FORMS:
            raise conjunct.error(
                "MIXED_ELEMENTS",
                f"one condition cannot read an element of {self.variables[owner].label} and its last or all of them",
                owner,
                hint="split it into two conditions",
            )
        if forms & _CLOSING_FORMS:
            return "closing"
        if forms == {"first"}:
            return "first"
        return "each" if "each" in forms else "later"

    def _check_foreign(self, conjunct: Conjunct, owner: str) -> None:
        """Refuse what a component cannot read of another one."""
        groups = self.variables[owner].groups
        for _, reference in conjunct.references:
            other = self.variables[reference.variable]
            if reference.variable == owner:
                continue
            outside = other.is_loop or not other.groups <= groups
            if reference.form in _LATER_FORMS or (reference.form == "each" and outside):
                raise bare_array(conjunct, reference, other.label)
            if reference.form in _CLOSING_FORMS and other.groups & groups:
                raise conjunct.error(
                    "UNSUPPORTED_CONDITION",
                    f"the group around {other.label} has not ended when this is tested",
                    reference.variable,
                )


def _is_current(owner: str, *, begins: bool) -> Callable[[Reference], bool]:
    forms = {"each", "later", "first"} if begins else {"each", "later"}
    return lambda reference: reference.variable == owner and reference.form in forms


def _guarded(test: Tested, guard: SlotExpression | None) -> Tested:
    """Return a test that also holds where `guard` does."""
    if guard is None:
        return test
    if test.slots is None:
        raise AssertionError("a conjunct that waits for others reads them")
    return Tested(slots=Logic("or", guard, test.slots, BOOLEAN))


def joined(tests: Iterable[Tested]) -> EventTest:
    """Return tests that must all hold as one."""
    bits: dict[int, None] = {}
    slots: SlotExpression | None = None
    for test in tests:
        if test.bit is not None:
            bits[test.bit] = None
        elif test.slots is not None:
            slots = test.slots if slots is None else Logic("and", slots, test.slots)
    return EventTest(tuple(bits), slots)


def check_forms(
    references: Iterable[tuple[str, Reference]], conjunct: Conjunct, variables: Mapping[str, VariableInfo]
) -> None:
    """Refuse elements of variables that are no arrays."""
    for _, reference in references:
        variable = variables[reference.variable]
        if not variable.is_array and reference.form not in ("each", "whole"):
            raise conjunct.clause.error(
                "NOT_AN_ARRAY",
                f"{variable.label} is no array: it takes one event and has no elements",
                reference.start,
                reference.end,
                allowed=f"{variable.label}.x",
                hint=f"{variable.label}+ {variable.label}[] would take several",
            )


def bare_array(conjunct: Conjunct, reference: Reference, label: str) -> BindingError:
    """Return the error for ``b.x`` of an array that is read from elsewhere."""
    column = reference.text or "x"
    return conjunct.clause.error(
        "BARE_ARRAY",
        f"{label} may hold several events here: which of them is meant?",
        reference.start,
        reference.end,
        allowed=f"{label}[1].{column}, {label}[{label}.LEN].{column}, MIN, MAX or ARRAY_AGG({label}.{column})",
    )
