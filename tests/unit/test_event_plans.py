"""The engine of an event pattern: who may serve it and why not, and what statistics choose."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sparkcep.errors import PlanError
from sparkcep.logical.slot_text import SlotText
from sparkcep.planning.lazy import bound_conditions
from sparkcep.planning.planner import choose_for_events
from sparkcep.planning.plans import Options
from sparkcep.planning.statistics import Statistics
from tests.unit.test_event_binder import bound

ANY: dict[str, Any] = {"strategy": "skip_till_any_match"}


def refusal(text: str, *, sampled: bool = False, plan: Any = "ordered", **more: Any) -> str:
    with pytest.raises(PlanError) as caught:
        choose_for_events(bound(text, **(ANY | more)), Options(plan=plan), sampled=sampled)
    assert caught.value.code == "ILLEGAL_PLAN"
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SEQ(A a, B+ b[], C c)", "b takes several events"),
        ("SEQ(A a, B{1} b[], C c)", "b takes several events"),
        ("SEQ(A a, STRICT B b)", "b asks for strict"),
        ("SEQ(SEQ(A a, B b){2}, C c)", "a variable takes several events"),
        ("SEQ(SEQ(A a, B b)+, C c)", "repeats without end"),
    ],
)
def test_patterns_that_no_order_serves(text: str, reason: str) -> None:
    assert reason in refusal(text)
    if "takes several events" not in reason or "a variable" in reason:
        assert reason in refusal(text, plan="tree")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SEQ(A a, B+ b[] UNTIL (v > 3), C c)", "UNTIL ends b"),
        ("SEQ(A a, B+ b[], C c) WHERE b[b.LEN].v > 3", "a condition decides whether b may be left"),
        ("SEQ(A a, B+ b[] WITHIN 3, C c)", "b has a window of its own"),
        ("SEQ(A a, B+ b[], C c) WHERE b[i].v > AVG(b[..i-1].v)", "the condition of b aggregates"),
        ("SEQ(A a, B+ b[], C c) WHERE c.v > COUNT(b)", "the condition of c aggregates"),
        ("SEQ(A a, B+ b[], C c) WHERE b.v > a.v", "each event of b is compared with other variables"),
        ("AND(A a, B+ b[])", "b takes several events, and parts interleave"),
    ],
)
def test_loops_that_no_tree_serves(text: str, reason: str) -> None:
    assert reason in refusal(text, plan="tree")
    assert "b takes several events" in refusal(text)


def test_loops_that_a_tree_serves() -> None:
    text = "SEQ(A a, B{2,3} b[], C c) WHERE [sym] AND b[i].v > b[i-1].v AND b[1].v > a.v AND c.v > b[b.LEN].v"
    decision = choose_for_events(bound(text, **ANY), Options(plan="tree"), sampled=False).decision
    assert decision.chosen.name == "tree"
    assert choose_for_events(bound(text, **ANY), Options(), sampled=False).decision.chosen.name == "runs"


def test_searches_that_no_order_serves() -> None:
    assert "b asks for skip_till_next_match" in refusal("SEQ(A a, NEXT B b)")
    assert "a asks for skip_till_next_match" in refusal("SEQ(A a, B b)", strategy=None)
    assert "a sample is drawn" in refusal("SEQ(A a, B b)", sampled=True)
    assert "puts out the match graph" in refusal("SEQ(A a, B b)", matches="graph")
    assert "time-outs" in refusal("SEQ(A a, B b) WITHIN 3", timeouts=True)


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        (
            "SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v + a.v < c.v",
            {"a.v < b.v": {0, 1}, "(b.v + a.v) < c.v": {0, 1, 2}},
        ),
        ("AND(A a, B b) WHERE a.v < b.v", {"a.v < b.v": {0, 1}}),
        ("AND(A a, SEQ(B b, C c)) WHERE a.v < b.v AND a.v < c.v", {"a.v < b.v": {0, 1}, "a.v < c.v": {0, 2}}),
        ("SEQ(A a, B b) WHERE [sym] AND a.sym = b.sym", {}),
        ("SEQ(A a, B b) WHERE a.v > 3", {}),
    ],
)
def test_conditions_are_tested_once_all_they_read_is_bound(text: str, conditions: dict[str, set[int]]) -> None:
    events = bound(text, **ANY)
    (order,) = events.orders
    texts = {column.name: column.text for column in events.match.hidden}
    told = SlotText([variable.label for variable in events.variables], events.operands, texts)
    found = {re.sub(r"LAST\((\w)\)", r"\1", told.of(tree)): set(read) for read, tree in bound_conditions(order, events)}
    assert found == conditions


def chosen(stats: Statistics | None, text: str = "SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v < c.v") -> tuple[str, str]:
    """Return the engine that is chosen, and what is said of the one that binds in any order."""
    decision = choose_for_events(bound(text, **ANY), Options(stats=stats), sampled=False).decision
    return decision.chosen.name, next(c.reason for c in decision.candidates if c.name == "ordered")


def test_statistics_choose_the_engine() -> None:
    assert chosen(None) == ("runs", "binds rare and selective events first, if it is told by Options(stats=…) which "
                                    "of them are rare")  # fmt: skip
    name, reason = chosen(Statistics({"a": 1000, "B": 1000, "c": 0.2}))
    assert name == "ordered"
    assert "(c, b, a)" in reason
    assert chosen(Statistics({"a": 1000, "b": 1000}))[0] == "runs"
    assert chosen(Statistics({"a": 900, "b": 900, "c": 9}, {("b", "c"): 0.001}))[0] == "ordered"
    # Partial matches that nothing is read of are merged into one.
    assert chosen(Statistics({"a": 1000, "b": 1000, "c": 0.2}), "SEQ(A a, B b, C c)")[0] == "runs"


def test_the_tree_that_joins_is_told() -> None:
    """Two selective pairs lie apart; a negation between a and b makes their pair rarer."""
    text = "SEQ(A a, B b, C c, D d) WHERE a.v < b.v AND c.v < d.v"
    rates = {"a": 100, "b": 100, "c": 100, "d": 100}
    pairs = Statistics(rates, {("a", "b"): 0.001, ("c", "d"): 0.001})
    assert "((a b) (c d)): about 20,417 visits" in reason_of("tree", text, pairs)
    assert "(a (b (c d)))" in reason_of("tree", text, Statistics(rates | {"d": 0.1}))
    negated = "SEQ(A a, ~E e, B b, C c) WHERE b.v < c.v"
    for witnesses, tree in ((0, "(a (b c))"), (10_000, "((a b) c)")):
        stats = Statistics({"a": 100, "b": 100, "c": 100, "e": witnesses}, {("b", "c"): 0.1})
        assert tree in reason_of("tree", negated, stats)


def reason_of(plan: str, text: str, stats: Statistics) -> str:
    decision = choose_for_events(bound(text, **ANY), Options(stats=stats), sampled=False).decision
    return next(candidate.reason for candidate in decision.candidates if candidate.name == plan)


def test_statistics_of_an_unknown_variable() -> None:
    for stats in (Statistics({"aa": 1}), Statistics({}, {("a", "aa"): 0.5})):
        with pytest.raises(PlanError, match="no variable 'aa'") as caught:
            chosen(stats)
        assert caught.value.code == "UNKNOWN_VARIABLE"
    with pytest.raises(ValueError, match=r"stats are sparkcep\.Statistics"):
        Options(stats={"a": 1})  # type: ignore[arg-type]
