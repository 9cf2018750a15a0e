"""Equalities that say what ``[key]`` says: events of a match agree in a column, so others need not be looked at.

``a.k = b.k AND b.k = c.k`` lets the matcher keep events with different values of k apart, as classes:
an event then meets only the runs it may belong to, however many others are alive.
"""

from __future__ import annotations

from sparkcep.logical.event_bound import EventOrder, EventTest, LogicalEvents
from sparkcep.logical.slots import CURRENT_ROW, Comparison, Read, SlotExpression, conjuncts

_PASSING = ("skip_till_next_match", "skip_till_any_match")


def implied_keys(events: LogicalEvents) -> tuple[int, ...]:
    """Return the operands (indexes) in which all events of every match, and all witnesses, have to be equal.

    An event with another value satisfies no test then, so the strategies that pass over such events
    find the same matches when they do not even see them. Strict and partition contiguity do not pass
    over them, and windows counted in events count those of one class: nothing is implied there.
    NULL equals nothing, and what has no class is in no match: there are two components at least.
    """
    orders = events.orders
    if any(order.following is not None or len(order.components) < 2 for order in orders):
        return ()
    if any(component.strategy not in _PASSING for order in orders for component in order.components):
        return ()
    if any(within.unit == "events" for _, within in events.windows):
        return ()
    return tuple(
        operand for operand in range(len(events.operands)) if all(_is_shared(order, operand) for order in orders)
    )


def _is_shared(order: EventOrder, operand: int) -> bool:
    """Whether every event of a match in this order is compared, for equality, with one before it."""
    equal: set[int] = set()
    for place, component in enumerate(order.components):
        if place > 0 and not _is_equal(component.begin, operand, equal):
            return False
        equal.add(component.variable)
        if component.is_loop and not _is_equal(component.take, operand, equal):
            return False
    return all(_is_equal(gap.witness, operand, equal) for gap in order.gaps)


def _is_equal(test: EventTest, operand: int, variables: set[int]) -> bool:
    """Whether a test holds only for events that have the value of an event of one of these variables."""
    return any(
        isinstance(conjunct, Comparison)
        and conjunct.operator == "="
        and (
            _reads_both(conjunct.left, conjunct.right, operand, variables)
            or _reads_both(conjunct.right, conjunct.left, operand, variables)
        )
        for conjunct in conjuncts(test.slots)
    )


def _reads_both(own: SlotExpression, other: SlotExpression, operand: int, variables: set[int]) -> bool:
    if not (isinstance(own, Read) and isinstance(other, Read) and own.operand == other.operand == operand):
        return False
    of = other.at.rows.variables
    return own.at == CURRENT_ROW and other.at.offset == 0 and of is not None and of <= variables
