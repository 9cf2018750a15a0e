"""Random small workloads for which several plans are legal: what the planner is judged and calibrated by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.planning.costs import arrangements

NAMES = "ABCD"
# Of all rows, in any order of binding and without lookups; keeps the slowest plan near a second.
MOST_VISITS, MOST_MATCHES = 1e7, 3e4


@dataclass(frozen=True)
class Rows:
    """A table of events: time, key, type, two whole numbers that equalities compare, and a number from 0 to 1.

    Attributes
    ----------
    count, keys
        Rows, and the values of the key.
    shares
        Share of the rows that are an A, a B, …; the others are of no type that a pattern asks for.
    values
        How many values ``x`` and ``y`` have.
    """

    count: int
    keys: int
    shares: tuple[float, ...]
    values: tuple[int, int]
    seed: int

    def table(self) -> pa.Table:
        """Draw the rows."""
        random = np.random.default_rng(self.seed)
        kinds = np.array([*NAMES[: len(self.shares)], "Z"])
        drawn = random.choice(len(kinds), self.count, p=[*self.shares, 1 - sum(self.shares)])
        numbers = {name: random.integers(0, most, self.count) for name, most in zip("xy", self.values, strict=True)}
        return pa.table(
            {
                "t": np.arange(self.count),
                "k": random.integers(0, self.keys, self.count),
                "kind": pa.array(kinds[drawn]),
                **numbers,
                "v": random.random(self.count),
            }
        )


@dataclass(frozen=True)
class GridWorkload:
    """A pattern over some rows; `arguments` are those of `match_pattern` but for options."""

    name: str
    rows: Rows
    pattern: str
    arguments: dict[str, Any] = field(hash=False)


def workloads(seed: int) -> Iterator[GridWorkload]:
    """Draw workloads without end: of five, four are event patterns and one is a row pattern."""
    random = np.random.default_rng(seed)
    for number in itertools.count():
        draw = _row_pattern if number % 5 == 4 else _event_pattern
        yield draw(f"{number + 1}", random)


def _event_pattern(name: str, random: np.random.Generator) -> GridWorkload:
    size = int(random.choice([2, 3, 3, 4]))
    shares = _shares(size, random)
    rows = Rows(
        count=int(random.choice([10_000, 30_000, 100_000])),
        keys=int(random.choice([1, 1, 20, 500, 5_000])),
        shares=shares,
        values=(int(random.choice([10, 200, 5_000])), int(random.choice([10, 200, 5_000]))),
        seed=int(random.integers(1 << 31)),
    )
    conditions, selectivities = _conditions(size, rows.values, random)
    structure = _structure(size, random)
    events = _events_per_window(rows, selectivities, structure.startswith("SEQ"), random)
    window = max(2, round(events * rows.keys))
    within = f" WITHIN {window} RETURN a.t AS began, {NAMES[size - 1].lower()}.t AS ended"
    where = f" WHERE skip_till_any_match {{ {' AND '.join(conditions)} }}" if conditions else ""
    return GridWorkload(
        name,
        rows,
        structure + where + within,
        {
            "partition_by": "k" if rows.keys > 1 else None,
            "order_by": "t",
            "type_column": "kind",
            "strategy": "skip_till_any_match",
        },
    )


def _shares(size: int, random: np.random.Generator) -> tuple[float, ...]:
    """Draw shares of types: from alike to one in a thousand."""
    raw = 10.0 ** -(random.random(size) * random.choice([0.3, 1.5, 3.0]))
    covered = float(random.choice([0.2, 0.7, 1.0]))
    return tuple(float(share) for share in raw / raw.sum() * covered * 0.999)


def _conditions(
    size: int, values: tuple[int, int], random: np.random.Generator
) -> tuple[list[str], dict[tuple[int, int], float]]:
    """Draw conditions on pairs, and tell the share of pairs that they hold for."""
    conditions, selectivities = list[str](), dict[tuple[int, int], float]()
    for one, other in combinations(range(size), 2):
        a, b = NAMES[one].lower(), NAMES[other].lower()
        sort = random.choice(["", "=", "=", "<", "near"], p=[0.3, 0.2, 0.2, 0.15, 0.15])
        if sort == "=":
            column = int(random.integers(2))
            conditions.append(f"{a}.{'xy'[column]} = {b}.{'xy'[column]}")
            selectivities[one, other] = 1 / values[column]
        elif sort == "<":
            conditions.append(f"{a}.v < {b}.v")
            selectivities[one, other] = 0.5
        elif sort == "near":
            conditions.append(f"{a}.v > {b}.v + 0.8")
            selectivities[one, other] = 0.02
    return conditions, selectivities


def _structure(size: int, random: np.random.Generator) -> str:
    parts = [f"{name} {name.lower()}" for name in NAMES[:size]]
    if random.random() < 0.15:
        return f"AND({', '.join(parts)})"
    if random.random() < 0.15:
        # The last but one is another type that must not stand between.
        parts.insert(int(random.integers(1, size)), "~(Z z)")
    return f"SEQ({', '.join(parts)})"


def _events_per_window(
    rows: Rows, selectivities: dict[tuple[int, int], float], in_sequence: bool, random: np.random.Generator
) -> float:
    """Draw how many events a window of a partition has, so that no plan takes long."""
    events = 10.0 ** random.uniform(0.8, 3.5)
    while events > 2:
        rates = [events * share for share in rows.shares]
        orders = permutations(range(len(rates)))
        most = max(_visits(order, rates, selectivities, in_sequence) for order in orders)
        matches = _cardinality(tuple(range(len(rates))), rates, selectivities)
        if rows.count / events * most <= MOST_VISITS and rows.count / events * matches <= MOST_MATCHES:
            break
        events *= 0.8
    return events


def _visits(
    order: Sequence[int], rates: Sequence[float], selectivities: dict[tuple[int, int], float], in_sequence: bool
) -> float:
    return sum(
        _cardinality(order[:k], rates, selectivities) * rates[order[k]] * arrangements(k + 1, in_sequence=in_sequence)
        for k in range(1, len(order))
    )


def _cardinality(bound: Sequence[int], rates: Sequence[float], selectivities: dict[tuple[int, int], float]) -> float:
    pairs = combinations(sorted(bound), 2)
    return math.prod(rates[k] for k in bound) * math.prod(selectivities.get(pair, 1.0) for pair in pairs)


def _row_pattern(name: str, random: np.random.Generator) -> GridWorkload:
    size = int(random.integers(2, 7))
    rows = Rows(
        count=int(random.choice([10_000, 50_000, 200_000])),
        keys=int(random.choice([10, 1_000, 20_000])),
        shares=(0.25,) * 4,
        values=(10, 200),
        seed=int(random.integers(1 << 31)),
    )
    variables = [f"V{k}" for k in range(size)]
    define = {variable: f"{variable}.v < {random.uniform(0.1, 0.9):.2f}" for variable in variables}
    if random.random() < 0.3:
        define[variables[-1]] = f"{variables[-1]}.v > {variables[0]}.v"
    elif random.random() < 0.3:
        variables[random.integers(size)] += "+"
    return GridWorkload(
        name,
        rows,
        " ".join(variables),
        {
            "partition_by": "k",
            "order_by": "t",
            "define": define,
            "measures": {"began": "FIRST(t)", "ended": "LAST(t)", "low": "MIN(v)"},
            "after_match": str(random.choice(["to next row", "past last row"])),
        },
    )
