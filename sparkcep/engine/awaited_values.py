"""Finds the states whose runs wait for one value: the equality conditions that runs are hashed by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from sparkcep.engine.event_slots import EventCode, run_slot
from sparkcep.engine.event_tables import Awaited
from sparkcep.engine.slots import operand_columns
from sparkcep.logical.slots import CURRENT_ROW, Comparison, Read, SlotExpression, conjuncts

# Slot of the run, operand of the event that has to equal it.
_Equality: TypeAlias = tuple[int, int]


def awaited_values(tests: Sequence[Sequence[SlotExpression | None]], code: EventCode, *, may_miss: bool) -> Awaited:
    """Tell which value the runs in each state wait for, if every edge out of it compares that one.

    A run that an event cannot move need not see it, unless it must hear of every event.

    Parameters
    ----------
    tests
        Per state, the conditions of its edges.
    code
        Where values stand in a run.
    may_miss
        Whether runs may miss events: no UNTIL looks out for them, none ends a contiguous run.
    """
    columns = operand_columns(code.operands)
    bucket, slots, is_float = list[int](), list[int](), list[bool]()
    offsets, compared = [0], list[int]()
    for edges in tests:
        slot, operands = _awaited(edges, code) if may_miss else (-1, [])
        bucket.append(sum(known >= 0 for known in slots) if slot >= 0 else -1)
        slots.append(slot)
        is_float.append(slot >= 0 and columns[operands[0]][0])
        compared += [columns[operand][1] for operand in operands] if slot >= 0 else [-1]
        offsets.append(len(compared))
    compared.append(-1)
    return Awaited(
        sum(slot >= 0 for slot in slots),
        np.array(bucket, np.int32),
        np.array(slots, np.int32),
        np.array([*offsets, len(compared)], np.int32),
        np.array(compared, np.int32),
        np.array(is_float, np.bool_),
    )


def _awaited(edges: Sequence[SlotExpression | None], code: EventCode) -> tuple[int, list[int]]:
    """Return the slot that all edges compare with something of the event, and with what."""
    found = [set(_equalities(test, code)) for test in edges]
    shared = [{slot for slot, _ in equalities} for equalities in found]
    common = set.intersection(*shared) if shared else set()
    if not common:
        return -1, []
    slot = min(common)
    # One of its equalities is enough for an edge; the same one for all needs the fewest visits.
    return slot, sorted({min(operand for at, operand in equalities if at == slot) for equalities in found})


def _equalities(test: SlotExpression | None, code: EventCode) -> Iterator[_Equality]:
    for conjunct in conjuncts(test):
        if isinstance(conjunct, Comparison) and conjunct.operator == "=":
            yield from _equality(conjunct.left, conjunct.right, code)
            yield from _equality(conjunct.right, conjunct.left, code)


def _equality(own: SlotExpression, other: SlotExpression, code: EventCode) -> Iterable[_Equality]:
    if not (isinstance(own, Read) and isinstance(other, Read)):
        return
    if own.at == CURRENT_ROW and other.at != CURRENT_ROW:
        yield code.slots[run_slot(other)], own.operand
