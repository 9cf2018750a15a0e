"""What is known of the input of an event pattern, and the estimates that orders and trees are chosen by."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sparkcep.logical.slots import Comparison, Logic, Read, SlotExpression, Unary

# Shares of pairs that satisfy a condition of which nothing is known; those of System R (Selinger et al. 1979)
# but for inequalities between two events, which hold half the time when both values come from one distribution.
EQUALITY, INEQUALITY, DIFFERENCE, ANYTHING = 0.1, 0.5, 0.9, 0.5
DEFAULT_RATE = 1.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Rates of variables and selectivities of conditions, as far as they are known.

    Parameters
    ----------
    rates
        Events per window that satisfy what a variable asks of its event alone, or in any other unit
        that is the same for all variables.
    selectivities
        Share of events (key: one variable) or of pairs of events (key: two) that satisfy the
        conditions on them, from 0 to 1. What a pair of variables is called first does not matter.
    presence
        Share of partitions (with ``[key]``, of their classes) that hold an event of a variable at all.
    largest
        Share of all rows that the largest partition holds.
    rows
        How many rows there are that satisfy what some variable asks.

    Raises
    ------
    ValueError
        A rate is negative, another number no share, or a key not one or two variables.

    Examples
    --------
    >>> Statistics({"a": 100, "b": 15}, {("b", "a"): 0.1}).selectivities
    {('a', 'b'): 0.1}
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    presence: Mapping[str, float] = field(default_factory=dict)
    largest: float | None = None
    rows: float | None = None

    def __post_init__(self) -> None:
        """Check and sort what was given."""
        for name, rate in self.rates.items():
            if not (rate >= 0 and math.isfinite(rate)):
                raise ValueError(f"the rate of {name} is a number from 0 on, not {rate}")
        for names, share in self.selectivities.items():
            if not 0 <= share <= 1:
                raise ValueError(f"the selectivity of {', '.join(names)} is a share from 0 to 1, not {share}")
            if isinstance(names, str) or not 1 <= len(set(names)) == len(names) <= 2:
                raise ValueError(f"a selectivity belongs to one variable or two, ('a',) or ('a', 'b'), not {names!r}")
        shares = {**{f"the presence of {name}": share for name, share in self.presence.items()}}
        if self.rows is not None and not self.rows >= 0:
            raise ValueError(f"the number of rows is one from 0 on, not {self.rows}")
        if self.largest is not None:
            shares["the largest partition's"] = self.largest
        for what, share in shares.items():
            if not 0 <= share <= 1:
                raise ValueError(f"{what} is a share from 0 to 1, not {share}")
        ordered = {tuple(sorted(names)): float(share) for names, share in self.selectivities.items()}
        object.__setattr__(self, "rates", {name: float(rate) for name, rate in self.rates.items()})
        object.__setattr__(self, "selectivities", ordered)
        object.__setattr__(self, "presence", {name: float(share) for name, share in self.presence.items()})

    def to_json(self) -> str:
        """Return a text that `from_json` reads."""
        shares = [{"variables": list(names), "share": share} for names, share in self.selectivities.items()]
        told = {"rates": dict(self.rates), "selectivities": shares, "presence": dict(self.presence)}
        return json.dumps(told | {"largest": self.largest, "rows": self.rows})

    @classmethod
    def from_json(cls, text: str) -> Statistics:
        """Return what `to_json` wrote.

        Raises
        ------
        ValueError
            The text is no JSON, or does not hold statistics.
        """
        try:
            read = json.loads(text)
            shares = {tuple(item["variables"]): item["share"] for item in read["selectivities"]}
            return cls(read["rates"], shares, read.get("presence", {}), read.get("largest"), read.get("rows"))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"these are no statistics: {text[:80]}") from error

    def estimates(
        self, variables: Sequence[str], conditions: Iterable[tuple[frozenset[int], SlotExpression]]
    ) -> Estimates:
        """Return rates and selectivities of some variables, with rules of thumb for what is not known.

        Parameters
        ----------
        variables
            Their names.
        conditions
            Conditions on several events, with the places in `variables` of what they read. One on
            more than two events counts for the last two of them.
        """
        count = len(variables)
        shares = [[1.0] * count for _ in range(count)]
        tied = [[False] * count for _ in range(count)]
        for places, tree in conditions:
            for one, other in [sorted(places)[-2:]] if len(places) > 1 else []:
                shares[one][other] *= rule_of_thumb(tree)
                shares[other][one] = shares[one][other]
                tied[one][other] = tied[other][one] = tied[one][other] or (len(places) == 2 and is_equality(tree))
        for one in range(count):
            for other in range(one + 1):
                names = tuple(sorted({variables[one], variables[other]}))
                if names in self.selectivities:
                    shares[one][other] = shares[other][one] = self.selectivities[names]
        rates = tuple(self.rates.get(name, DEFAULT_RATE) for name in variables)
        return Estimates(tuple(variables), rates, tuple(map(tuple, shares)), tuple(map(tuple, tied)))


@dataclass(frozen=True, slots=True)
class SampledEvents:
    """What was counted on a sample of events.

    Attributes
    ----------
    rows
        Events.
    in_windows
        Summed over them: the events inside of the window from each on.
    events
        By variable: those that satisfy what it asks of one event.
    tested, passed
        By two variables: pairs of events inside of the window, and those that satisfy the conditions on both.
    """

    rows: int
    in_windows: int
    events: Mapping[str, int]
    tested: Mapping[tuple[str, ...], int]
    passed: Mapping[tuple[str, ...], int]

    def rates(self) -> dict[str, float]:
        """Return the events per window that each variable may take."""
        if not self.rows:
            return {}
        return {label: count / self.rows * self.in_windows / self.rows for label, count in self.events.items()}

    def selectivities(self) -> dict[tuple[str, ...], float]:
        """Return the share of pairs that passed; where none did, it is at most about one of as many."""
        return {pair: max(self.passed[pair], 0.5) / count for pair, count in self.tested.items() if count}


@dataclass(frozen=True, slots=True)
class Estimates:
    """Rates and selectivities of all variables, by place.

    Attributes
    ----------
    variables
        Their names.
    rates
        Events per window.
    selectivities
        A symmetric matrix: on the diagonal those of conditions on one event, 1 where there are none.
    tied
        Which pairs have to be equal in some column, by which one is looked up for the other; () if none.
    """

    variables: tuple[str, ...]
    rates: tuple[float, ...]
    selectivities: tuple[tuple[float, ...], ...]
    tied: tuple[tuple[bool, ...], ...] = ()

    def with_rates(self, rates: Iterable[float]) -> Estimates:
        """Return these selectivities with other rates."""
        return replace(self, rates=tuple(rates))

    def arranged(self, order: Sequence[int]) -> Estimates:
        """Return the same with the variables in another order."""
        shares = tuple(tuple(self.selectivities[one][other] for other in order) for one in order)
        tied = tuple(tuple(self.tied[one][other] for other in order) for one in order) if self.tied else ()
        return Estimates(tuple(self.variables[k] for k in order), tuple(self.rates[k] for k in order), shares, tied)

    def events(self, variable: int) -> float:
        """Return the events per window that a variable can take."""
        return self.rates[variable] * self.selectivities[variable][variable]

    def between(self, ones: Iterable[int], others: Iterable[int]) -> float:
        """Return SEL(L, R): the share of pairs of partial matches that go together."""
        listed = tuple(others)
        return math.prod(self.selectivities[one][other] for one in ones for other in listed)

    def looked_up(self, ones: Iterable[int], others: Iterable[int]) -> float:
        """Return the share of pairs of partial matches that are left if one equality finds them; 1 without any."""
        listed = tuple(others)
        pairs = ((one, other) for one in ones for other in listed) if self.tied else ()
        return min((self.selectivities[one][other] for one, other in pairs if self.tied[one][other]), default=1.0)

    def cardinality(self, variables: Sequence[int]) -> float:
        """Return how many partial matches over some variables there are per window."""
        alone = math.prod(self.events(variable) for variable in variables)
        shares = (self.selectivities[one][other] for i, one in enumerate(variables) for other in variables[:i])
        return alone * math.prod(shares)


def is_equality(tree: SlotExpression) -> bool:
    """Tell whether a condition says no more than that columns of two events are equal."""
    if not (isinstance(tree, Comparison) and tree.operator == "="):
        return False
    return isinstance(tree.left, Read) and isinstance(tree.right, Read)


def rule_of_thumb(tree: SlotExpression) -> float:
    """Return the share of events for which a condition holds, if nothing is known but its form."""
    if isinstance(tree, Comparison):
        if tree.operator in ("=", "<=>"):
            return EQUALITY
        return DIFFERENCE if tree.operator == "!=" else INEQUALITY
    if isinstance(tree, Logic):
        left, right = rule_of_thumb(tree.left), rule_of_thumb(tree.right)
        return left * right if tree.operator == "and" else left + right - left * right
    if isinstance(tree, Unary) and tree.operator == "not":
        return 1 - rule_of_thumb(tree.argument)
    return ANYTHING
