"""Groups that repeat without end: which components a cyclic order has, and what may come right after each."""

from __future__ import annotations

import pytest

from sparkcep.errors import BindingError
from sparkcep.logical.event_bound import EventOrder
from tests.unit.test_event_binder import Told, bound


def graph(text: str, **more: object) -> list[str]:
    """Return the components of the last order, the cyclic one, and what follows them."""
    events = bound(text, **more)
    told = Told(events)
    order, components = events.orders[-1], told.orders()[-1]
    return [f"{k} {told}: {sorted(order.after(k))}" for k, told in enumerate(components)]


def test_the_last_component_of_a_round_knows_what_comes_next() -> None:
    assert graph("SEQ(A a, SEQ(B b, C c)+, D d)") == ["0 a: [1]", "1 b: [2, 3]", "2 c: [4]", "3 c: [1]", "4 d: []"]


def test_rounds_that_must_be_there_are_spelled_out() -> None:
    assert graph("SEQ(A a, SEQ(B b){3,}, C c)") == ["0 a: [1]", "1 b: [2]", "2 b: [2, 3]", "3 b: [4]", "4 c: []"]


def test_a_group_that_may_be_absent_has_an_order_without_it() -> None:
    events = bound("SEQ(A a, SEQ(B b)*, C c)")
    assert [order.following is None for order in events.orders] == [True, False]
    assert Told(events).orders()[0] == ["a", "c"]


def test_conditions_on_the_first_and_the_last_round() -> None:
    assert graph("SEQ(A a, SEQ(B b)+, C c) WHERE b[1].v > a.v AND b.v > 0 AND SUM(b.v) > 3") == [
        "0 a: [2, 3]",
        "1 a: [4]",
        "2 b | begin: v > 0; this.v > LAST(a).v: [5, 6]",
        "3 b | begin: v > 0; this.v > LAST(a).v: [7]",
        "4 b | begin: v > 0; CAST(v AS bigint) > 3; this.v > LAST(a).v: [8]",
        "5 b | begin: v > 0: [7]",
        "6 b | begin: v > 0: [5, 6]",
        "7 b | begin: v > 0 | leave: SUM(b.v) > 3: [8]",
        "8 c: []",
    ]


def test_a_name_in_a_round_means_the_event_of_that_round() -> None:
    told = graph("SEQ(SEQ(A a, B b)+, C c) WHERE b.v > a.v")
    assert {line.split(": [")[0].partition(" ")[2] for line in told if " b" in line[:3]} == {
        "b | begin: this.v > LAST(a).v"
    }


def cyclic(text: str) -> EventOrder:
    return bound(text).orders[-1]


def test_branches_know_which_one_comes_next() -> None:
    order = cyclic("SEQ(C c, OR(A a, B b)+)")
    for k, component in enumerate(order.components):
        following = {order.components[target].variable for target in order.after(k)}
        assert len(following) <= 1, f"{k} {component}"
    assert len(order.components) == 8


def test_gaps_between_rounds() -> None:
    order = cyclic("SEQ(C c, SEQ(A a, B b, ~N n)+, D d)")
    names = ["c", "a", "b", "n", "d"]
    pairs = {
        (names[order.components[before].variable], names[order.components[after].variable])
        for gap in order.gaps
        for before in gap.before
        for after in gap.after
    }
    assert pairs == {("b", "a"), ("b", "d")}


def test_a_loop_never_comes_right_after_itself() -> None:
    order = cyclic("SEQ(SEQ(A+ a[])+)")
    assert all(k not in order.after(k) for k in range(len(order.components)))


def test_too_many_copies_are_refused() -> None:
    with pytest.raises(BindingError) as caught:
        bound("SEQ(OR(A a, B b, C c, D d, E e)+) WHERE a[1].v > b[1].v AND c[1].v > d[1].v AND e.v > d[1].v")
    assert caught.value.code == "PATTERN_TOO_LARGE"
    assert "copies" in str(caught.value)
