"""Equalities that imply a key, and conditions that look like them and do not."""

from __future__ import annotations

import pytest

from sparkcep.logical.implied_keys import implied_keys
from tests.unit.test_event_binder import bound

IMPLIED = {
    "SEQ(A a, B b) WHERE a.v = b.v": ["v"],
    "SEQ(A a, B b, C c) WHERE a.v = b.v AND b.v = c.v": ["v"],
    "SEQ(A a, B b, C c) WHERE a.v = b.v AND a.v = c.v AND a.w = b.w AND c.w = a.w AND a.x < c.x": ["v", "w"],
    "SEQ(A a, B+ b[]) WHERE b.v = a.v": ["v"],
    "SEQ(A+ a[], B b) WHERE a[i].v = a[i-1].v AND b.v = a[1].v": ["v"],
    "SEQ(A a, ~(B b), C c) WHERE a.v = c.v AND b.v = a.v": ["v"],
    "SEQ(A a, OR(B b, C c)) WHERE a.v = b.v AND a.v = c.v": ["v"],
    "AND(A a, B b) WHERE a.v = b.v": ["v"],
}
NOT_IMPLIED = [
    "SEQ(A a, B b) WHERE a.v <= b.v",
    "SEQ(A a, B b) WHERE a.v = b.w",
    "SEQ(A a, B b) WHERE a.v = b.v OR a.w = b.w",
    "SEQ(A a, B b) WHERE a.v <=> b.v",
    "SEQ(A a, B b) WHERE b.v = b.v",
    "SEQ(A a, B b, C c) WHERE a.v = c.v AND b.v = c.v",
    "SEQ(A a, B+ b[]) WHERE b[1].v = a.v",
    "SEQ(A a, B+ b[]) WHERE b[i].v = b[i-1].v",
    "SEQ(A a, ~(B b), C c) WHERE a.v = c.v",
    "SEQ(A a, OR(B b, C c)) WHERE a.v = b.v",
    "SEQ(A a, B? b) WHERE a.v = b.v",
    "SEQ(A a, B b) WHERE strict { a.v = b.v }",
    "SEQ(A a, B b) WHERE partition_contiguity { a.v = b.v }",
    "SEQ(A a, B b) WHERE a.v = b.v WITHIN 10 EVENTS",
]


@pytest.mark.parametrize(("pattern", "columns"), IMPLIED.items(), ids=list(IMPLIED))
def test_equal_in_every_match(pattern: str, columns: list[str]) -> None:
    within = " WITHIN 10" if "~" in pattern else ""
    events = bound(pattern + within)
    assert sorted(events.operands[operand].column for operand in implied_keys(events)) == columns


@pytest.mark.parametrize("pattern", NOT_IMPLIED)
def test_not_equal_in_every_match(pattern: str) -> None:
    assert implied_keys(bound(pattern)) == ()
