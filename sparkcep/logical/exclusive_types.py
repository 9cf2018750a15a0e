"""Whether an event can be taken by one variable of a pattern only, as far as its row conditions tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from sqlglot import exp

from sparkcep.logical.event_bound import EventTest, LogicalEvents
from sparkcep.logical.spans import SpannedExpression


def variables_exclude_each_other(events: LogicalEvents, texts: frozenset[str]) -> bool:
    """Tell whether no event satisfies the row conditions of two variables, negated ones among them.

    It is told of conditions that compare a column of texts with literals, as those of types do: an event
    whose ``type`` is 'a' is none whose ``type`` is 'b'. Where nothing can be told, they do not.

    Parameters
    ----------
    texts
        The columns that hold texts of which only equal ones look alike, in lower case.
    """
    admitted: dict[int, list[dict[str, frozenset[str]]]] = {}
    for variable, test in _tests(events):
        admitted.setdefault(variable, []).append(_admitted(events, test, texts))
    return all(
        _exclude(one, other) for left, right in combinations(admitted.values(), 2) for one in left for other in right
    )


def _tests(events: LogicalEvents) -> Iterator[tuple[int, EventTest]]:
    for order in events.orders:
        for component in order.components:
            yield component.variable, component.begin
        for gap in order.gaps:
            yield gap.variable, gap.witness


def _admitted(events: LogicalEvents, test: EventTest, texts: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return the literals that a test admits, by column."""
    found: dict[str, frozenset[str]] = {}
    for bit in test.bits:
        row_only = events.match.conditions[bit].row_only
        for column, values in _listed(row_only.text) if row_only is not None else ():
            if column in texts:
                found[column] = found.get(column, values) & values
    return found


def _exclude(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    return any(not values & other[column] for column, values in one.items() if column in other)


def _listed(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the columns that a condition compares with texts, each with the texts it may have."""
    try:
        waiting = [SpannedExpression(text).root]
    except ValueError:
        return
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.And):
            waiting += [node.left, node.right]
        elif isinstance(node, exp.EQ):
            yield from _of(node.left, [node.right])
            yield from _of(node.right, [node.left])
        elif isinstance(node, exp.In) and node.expressions:
            yield from _of(node.this, node.expressions)


def _of(column: exp.Expression, values: Iterable[exp.Expression]) -> Iterator[tuple[str, frozenset[str]]]:
    """Trailing blanks are left out: a column of CHAR does not see them."""
    of, inner = column.unnest(), [value.unnest() for value in values]
    plain = isinstance(of, exp.Column) and not of.table
    if plain and all(isinstance(value, exp.Literal) and value.is_string for value in inner):
        yield of.name.lower(), frozenset(value.name.rstrip() for value in inner)
