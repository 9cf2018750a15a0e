"""Places every conjunct of WHERE: on the component bound last among those it names (semantics, 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sparkcep.errors import BindingError
from sparkcep.logical.event_bound import EventTest
from sparkcep.logical.event_conditions import Conjunct, ConjunctBinder, Sight, Tested
from sparkcep.logical.event_orders import Leaf, Order, Rounds
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

    Raises
    ------
    BindingError
        NOT_AN_ARRAY, TWO_NEGATIONS, MISSING_VARIABLE.
    """

    def __init__(
        self, conjuncts: Sequence[Conjunct], variables: Mapping[str, VariableInfo], binder: ConjunctBinder
    ) -> None:
        self.conjuncts, self.variables, self.binder = conjuncts, variables, binder
        self._known: dict[tuple[int, tuple[Sight, ...]], Tested] = {}
        self.untils_read: dict[tuple[int, str], bool] = {}
        for conjunct in conjuncts:
            check_forms(conjunct.references, conjunct, variables)
            if sum(variables[name].is_negated for name in conjunct.variables) > 1:
                raise conjunct.error(
                    "TWO_NEGATIONS",
                    "a condition on two negated events belongs to neither of them",
                    hint="give each negation a condition of its own",
                )
            if not conjunct.variables:
                raise conjunct.error(
                    "MISSING_VARIABLE", f"'{conjunct.text}' speaks of no event", hint="leave it out, or name one: a.x"
                )

    def applicable(self, order: Order) -> list[Conjunct]:
        """Return the conjuncts whose variables an order binds."""
        return [conjunct for conjunct in self.conjuncts if conjunct.variables <= order.names]

    def placed(self, order: Order) -> list[Placed]:
        """Return the conjuncts of each component."""
        found = [Placed() for _ in order.components]
        for conjunct in self.applicable(order):
            if any(self.variables[name].is_negated for name in conjunct.variables):
                continue
            self._check_kinds(conjunct)
            element = self._element(conjunct, order)
            for rounds in self._rounds(conjunct, order, element):
                spots = [self._spot(reference, order, rounds) for _, reference in conjunct.references]
                if self._is_idle(conjunct, spots):
                    continue
                if element is None:
                    self._place(conjunct, order, spots, found)
                else:
                    self._place_on_elements(conjunct, order, rounds, element, spots, found)
        return found

    def witness(self, order: Order, negation: Leaf) -> EventTest:
        """Return the test on a negated variable."""
        tests = []
        for conjunct in self.applicable(order):
            if negation.name in conjunct.variables:
                self._check_foreign(conjunct, negation.name)
                sights = [self._seen_by_witness(conjunct, r, order, negation) for _, r in conjunct.references]
                tests.append(self._test(conjunct, sights))
        return joined(tests)

    def read_in_round(self, order: Order, negation: Leaf) -> dict[str, int]:
        """Return the components that a witness reads because they are in its round, by name."""
        found: dict[str, int] = {}
        for conjunct in self.applicable(order):
            for _, reference in conjunct.references if negation.name in conjunct.variables else ():
                if reference.form == "each" and self.variables[reference.variable].groups:
                    spot = self._spot(reference, order, negation.rounds)
                    found |= {} if spot is None else {reference.variable: spot}
        return found

    def until(self, conjunct: Conjunct, order: Order, own: int) -> EventTest:
        """Return the test that ends a loop: it reads what was taken, and columns of the event under test."""
        name, rounds = order.components[own].name, order.components[own].rounds
        check_forms(conjunct.references, conjunct, self.variables)
        self._check_foreign(conjunct, name)
        sights: list[Sight] = []
        for _, reference in conjunct.references:
            if reference.variable == name and reference.form in _ELEMENT_FORMS:
                raise bare_array(conjunct, reference, self.variables[name].label)
            copies = [k for k in _copies(order, reference.variable) if k == own or own not in order.before[k]]
            found = [k for k in copies if reference.form != "each" or order.components[k].rounds <= rounds]
            sights.append(_taken(reference, found[0] if found else None))
            read = (id(conjunct), reference.variable)
            self.untils_read[read] = self.untils_read.get(read, False) or bool(found)
        return joined([self._test(conjunct, sights)])

    def check_untils(self, conjuncts: Iterable[Conjunct]) -> None:
        """Refuse an UNTIL that reads what has never been taken when it is tested."""
        for conjunct in conjuncts:
            for name in sorted(conjunct.variables):
                if not self.untils_read.get((id(conjunct), name), True):
                    raise conjunct.error(
                        "NOT_YET_BOUND",
                        f"no order of the pattern has {self.variables[name].label} before this loop",
                        name,
                        allowed="columns of the event that ends the loop, and what comes before the loop",
                    )

    # -- one conjunct ------------------------------------------------------------------------------

    def _element(self, conjunct: Conjunct, order: Order) -> str | None:
        """Return the array whose single elements a conjunct reads; of several, the one that is bound last."""
        names = [leaf.name for leaf in order.components]
        reading = [n for n in conjunct.variables if self._reads_elements(conjunct, n)]
        return max(reading, key=names.index, default=None)

    def _rounds(self, conjunct: Conjunct, order: Order, element: str | None) -> list[Rounds]:
        """Return the rounds of repeated groups in which a conjunct is to hold, one by one."""
        each = [n for n in conjunct.variables if "each" in conjunct.forms(n)]
        depth = max((len(self.variables[n].groups) for n in each), default=0)
        deepest = {element} if element else {n for n in each if depth and len(self.variables[n].groups) == depth}
        found = dict.fromkeys(leaf.rounds for leaf in order.components if leaf.name in deepest)
        return list(found) if deepest else [frozenset()]

    def _is_idle(self, conjunct: Conjunct, spots: Sequence[int | None]) -> bool:
        """Whether a conjunct does not apply in a round: it lacks the variable that stands last in the text.

        A round that has that one and lacks another reads NULL, so that no other way to cut a match into
        rounds gets around the condition.
        """
        owner = max(conjunct.variables, key=list(self.variables).index)
        listed = zip(conjunct.references, spots, strict=True)
        return any(reference.variable == owner and spot is None for (_, reference), spot in listed)

    def _spot(self, reference: Reference, order: Order, rounds: Rounds) -> int | None:
        """Return the component that a reference speaks of, for a reader in `rounds`."""
        copies = _copies(order, reference.variable)
        if reference.form == "first":
            return copies[0]
        if reference.form in _CLOSING_FORMS:
            return copies[-1]
        return next((k for k in reversed(copies) if order.components[k].rounds <= rounds), None)

    def _place_on_elements(
        self,
        conjunct: Conjunct,
        order: Order,
        rounds: Rounds,
        element: str,
        spots: Sequence[int | None],
        found: list[Placed],
    ) -> None:
        """Place a conjunct that speaks of the elements of an array, one by one."""
        self._check_foreign(conjunct, element)
        (own,) = (k for k in _copies(order, element) if order.components[k].rounds == rounds)
        if not all(spot is None or spot == own or spot in order.before[own] for spot in spots):
            _, reference = next(pair for pair in conjunct.references if pair[1].variable == element)
            raise bare_array(conjunct, reference, self.variables[element].label)
        begins = own == _copies(order, element)[0]

        def sights(first: bool) -> list[Sight]:
            current = {"each", "later", "first"} if first else {"each", "later"}
            listed = zip(conjunct.references, spots, strict=True)
            return [
                "current" if r.variable == element and r.form in current else _taken(r, spot) for (_, r), spot in listed
            ]

        if not begins or "each" in conjunct.forms(element):
            found[own].begin.append(self._test(conjunct, sights(begins)))
        found[own].take.append(self._test(conjunct, sights(False)))

    def _place(self, conjunct: Conjunct, order: Order, spots: Sequence[int | None], found: list[Placed]) -> None:
        """Place a conjunct on the component bound last, where parts interleave on each that can be that."""
        places = sorted({spot for spot in spots if spot is not None})
        owners = [k for k in places if not any(k in order.before[other] for other in places)]
        waits = [k for k in owners if self._waits_for_end(conjunct, spots, order, k)]
        if waits and len(owners) > 1:
            raise conjunct.error(
                "UNSUPPORTED_CONDITION",
                "a condition on a loop cannot read parts of AND that may come before or after it",
                hint="write the orders out: OR(SEQ(…), SEQ(…))",
            )
        for owner in owners:
            self._check_foreign(conjunct, order.components[owner].name)
            if owner in waits:
                taken = [_taken(r, spot) for (_, r), spot in zip(conjunct.references, spots, strict=True)]
                found[owner].leave.append(self._test(conjunct, taken))
                continue
            sights: list[Sight] = [
                "current" if spot == owner else _taken(reference, spot)
                for (_, reference), spot in zip(conjunct.references, spots, strict=True)
            ]
            missing = self._some_missing(order, [k for k in owners if k != owner])
            found[owner].begin.append(_guarded(self._test(conjunct, sights), missing))

    def _waits_for_end(self, conjunct: Conjunct, spots: Sequence[int | None], order: Order, place: int) -> bool:
        """Whether a conjunct reads at `place` what is known only when the component is left."""
        leaf = order.components[place]
        repeats = self.variables[leaf.name].is_loop
        several = len(_copies(order, leaf.name)) > 1
        return any(
            spot == place and r.form in _CLOSING_FORMS and (repeats or (several and r.form == "whole"))
            for (_, r), spot in zip(conjunct.references, spots, strict=True)
        )

    def _seen_by_witness(self, conjunct: Conjunct, reference: Reference, order: Order, negation: Leaf) -> Sight:
        """Return what a reference is when a negation is judged, at the end of a match."""
        if reference.variable == negation.name:
            return "current"
        spot = self._spot(reference, order, negation.rounds)
        copies = _copies(order, reference.variable)
        if reference.form == "each" and spot not in (None, copies[-1]) and not order.is_sequence:
            if spot == copies[0]:
                return "first"
            raise conjunct.error(
                "UNSUPPORTED_CONDITION",
                f"a negation cannot read {self.variables[reference.variable].label} of a round in the middle",
                reference.variable,
                hint="write the rounds out",
            )
        return _taken(reference, spot)

    def _reads_elements(self, conjunct: Conjunct, name: str) -> bool:
        forms = conjunct.forms(name)
        return bool(forms & _LATER_FORMS) or ("each" in forms and self.variables[name].is_loop)

    def _some_missing(self, order: Order, places: Iterable[int]) -> SlotExpression | None:
        """Return the condition that a component has not taken an event yet: then the conjunct has to wait."""
        missing: SlotExpression | None = None
        for place in places:
            name = order.components[place].name
            rows = RowSet(frozenset({self.binder.variables.index(name)}))
            wanted = ConstantValue(1 + _copies(order, name).index(place), BIGINT)
            fewer = Comparison("<", Running("count", None, None, rows, BIGINT), wanted)
            missing = fewer if missing is None else Logic("or", missing, fewer)
        return missing

    def _test(self, conjunct: Conjunct, sights: Sequence[Sight]) -> Tested:
        key = (id(conjunct), tuple(sights))
        if key not in self._known:
            seen = {id(r): sight for (_, r), sight in zip(conjunct.references, sights, strict=True)}
            self._known[key] = self.binder.test(conjunct, lambda reference: seen[id(reference)])
        return self._known[key]

    def _check_kinds(self, conjunct: Conjunct) -> None:
        """Refuse a conjunct that reads an element of an array and its last or all of them."""
        for name in sorted(conjunct.variables):
            forms = conjunct.forms(name)
            if self.variables[name].is_array and forms & _ELEMENT_FORMS and forms & _CLOSING_FORMS:
                raise conjunct.error(
                    "MIXED_ELEMENTS",
                    f"one condition cannot read an element of {self.variables[name].label} and its last or all of them",
                    name,
                    hint="split it into two conditions",
                )

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


def _copies(order: Order, name: str) -> list[int]:
    """Return the components of a variable, one per round of the groups around it."""
    return [k for k, leaf in enumerate(order.components) if leaf.name == name]


def _taken(reference: Reference, spot: int | None) -> Sight:
    """Return how a reference speaks of what was taken before the event under test."""
    if spot is None:
        return "absent"
    return "first" if reference.form == "first" else "last"


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
    seen: set[SlotExpression] = set()
    for test in tests:
        if test.bit is not None:
            bits[test.bit] = None
        elif test.slots is not None and test.slots not in seen:
            seen.add(test.slots)
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
        found=conjunct.clause.fragment.text[reference.start : reference.end],
        allowed=f"{label}[1].{column}, {label}[{label}.LEN].{column}, MIN, MAX or ARRAY_AGG({label}.{column})",
    )
