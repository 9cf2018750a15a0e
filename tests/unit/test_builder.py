"""Event patterns built in Python: the same tree as from text, and what is refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from sparkcep.errors import PatternSyntaxError
from sparkcep.syntax.builder import Pattern, all_of, any_of, event, no, seq
from sparkcep.syntax.sase import parse_event_pattern

a, b, c = (event(name, type=name.upper()) for name in "abc")

BUILT: list[tuple[Pattern, str]] = [
    (seq(a), "SEQ(A a)"),
    (seq(event("x"), event('"a b"', type="log in"), event("PERMUTE")), 'SEQ(_ x, "log in" "a b", _ PERMUTE)'),
    (all_of(a, any_of(b, c)), "AND(A a, OR(B b, C c))"),
    (seq(a, no("b", type="B"), c), "SEQ(A a, ~B b, C c)"),
    (seq(a, no("b", type="B").within("10 minutes")), "SEQ(A a, ~(B b) WITHIN 10 minutes)"),
    (seq(a, no("b", type="B").within(5, inclusive=False)), "SEQ(A a, ~(B b) WITHIN 5 EXCLUSIVE)"),
    (seq(a.plus(), b.star(), c.optional()), "SEQ(A+ a[], B* b[], C? c)"),
    (seq(a.times(2), b.times(2, 3), c.at_least(2)), "SEQ(A{2} a[], B{2,3} b[], C{2,} c[])"),
    (seq(a.times(1), b.times(0, 1)), "SEQ(A{1} a, B? b)"),
    (seq(a.strict(), b.next(), c.any()), "SEQ(STRICT A a, NEXT B b, ANY C c)"),
    (seq(a.until("x > 1 -- stop").plus().within(dt.timedelta(minutes=1))), "SEQ(A+ a[] UNTIL (x > 1) WITHIN 1 minute)"),
    (seq(a, seq(b, c).plus()), "SEQ(A a, SEQ(B b, C c)+)"),
    (seq(a, any_of(b, c).star()), "SEQ(A a, OR(B b, C c)*)"),
    (seq(a, seq(b).optional(), seq(c).times(2, 3)), "SEQ(A a, SEQ(B b)?, SEQ(C c){2,3})"),
    (seq(a).at_least(2), "SEQ(SEQ(A a){2,})"),
    (seq(a, b).where("b.v > a.v"), "SEQ(A a, B b) WHERE b.v > a.v"),
    (seq(a, b).where("[k] AND b.v > 1").where("a.v = 1"), "SEQ(A a, B b) WHERE [k] AND b.v > 1 AND a.v = 1"),
    (seq(a, b).where("a.x OR b.x", "[k]"), "SEQ(A a, B b) WHERE (a.x OR b.x) AND [k]"),
    (seq(a, b).key("k", "lower(`l m`)"), "SEQ(A a, B b) WHERE [k] AND [lower(`l m`)]"),
    (seq(a).strategy("Strict_Contiguity"), "SEQ(A a) WHERE strict {}"),
    (seq(a).where("a.x").strategy("skip_till_any_match"), "SEQ(A a) WHERE skip_till_any_match { a.x }"),
    (seq(a, b).within("1 hour"), "SEQ(A a, B b) WITHIN 1 hour"),
    (seq(a, b).within(Decimal("2.5"), inclusive=False), "SEQ(A a, B b) WITHIN 2.5 EXCLUSIVE"),
    (seq(a, b).within("500 events"), "SEQ(A a, B b) WITHIN 500 EVENTS"),
    (seq(a).returns(x="a.x", y="f(a.x, 1)").returns(AS="1"), "SEQ(A a) RETURN a.x AS x, f(a.x, 1) AS y, 1 AS `AS`"),
]  # fmt: skip


@pytest.mark.parametrize(("built", "text"), BUILT)
def test_builds_the_tree_of_the_text(built: Pattern, text: str) -> None:
    assert built.tree == parse_event_pattern(text)
    assert parse_event_pattern(str(built)) == built.tree
    assert built.types == {}


def test_predicates_become_types() -> None:
    pattern = seq(event("a", "type = 'A' -- first"), no("B", "x IN (1, 2)"), event('"c d"', "y"), event("e"))
    assert str(pattern) == 'PATTERN SEQ(a a, ~(B B), "c d" "c d", _ e)'
    assert pattern.types == {"a": "type = 'A'", "B": "x IN (1, 2)", "c d": "y"}
    assert parse_event_pattern(str(pattern)) == pattern.tree


def test_generated_types_are_like_no_other() -> None:
    pattern = seq(event("b", type="a"), event("a", "x"), event('"a"', "y"), event("_", "z"))
    assert str(pattern) == 'PATTERN SEQ(a b, a_ a, a__ "a", __ _)'
    assert pattern.types == {"a_": "x", "a__": "y", "__": "z"}


def test_a_quantified_group_keeps_its_types_at_the_top() -> None:
    pattern = seq(event("a", "x"), event("b", "y")).plus()
    assert str(pattern) == "PATTERN SEQ(SEQ(a a, b b)+)"
    assert pattern.types == {"a": "x", "b": "y"}


def test_each_call_returns_a_new_value() -> None:
    first = seq(a, b)
    second = first.where("a.x").within(5).key("k").returns(x="a.x")
    assert str(first) == "PATTERN SEQ(A a, B b)"
    assert str(second) == "PATTERN SEQ(A a, B b)\nWHERE a.x AND [k]\nWITHIN 5\nRETURN a.x AS x"
    assert (a.plus(), str(seq(a))) == (a.plus(), "PATTERN SEQ(A a)")
    assert hash(first) == hash(seq(a, b))
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.parts = ()  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.predicate = "x"  # type: ignore[misc]


REFUSED: list[tuple[Callable[[], Any], str, str]] = [
    (seq, "EMPTY_GROUP", "SEQ holds no part"),
    (lambda: seq(a, "b"), "INVALID_PART", "event('b')"),  # type: ignore[arg-type]
    (lambda: seq(a, 5), "INVALID_PART", "5 is no part"),  # type: ignore[arg-type]
    (lambda: seq(a, seq(b).where("b.x")), "NESTED_CLAUSES", "outermost"),
    (lambda: seq(a, seq(b).within(5)), "NESTED_CLAUSES", "outermost"),
    (lambda: event("a b"), "INVALID_NAME", "'a b'"),
    (lambda: event(""), "INVALID_NAME", "quoted"),
    (lambda: event("next"), "RESERVED_NAME", 'quote it: "next"'),
    (lambda: event("a", "x", type="A"), "CONTRADICTION", "not both"),
    (lambda: event("a", type=""), "EMPTY_NAME", "type"),
    (lambda: event("a", "x = (1"), "UNBALANCED_BRACKET", "event a"),
    (lambda: no("a", ""), "MISSING_EXPRESSION", "event a"),
    (lambda: a.plus().star(), "DOUBLE_QUANTIFIER", "+"),
    (lambda: seq(a).plus().optional(), "DOUBLE_QUANTIFIER", "+"),
    (lambda: a.times(0), "INVALID_QUANTIFIER", "m ≥ 1"),
    (lambda: a.times(3, 2), "INVALID_QUANTIFIER", "above"),
    (lambda: a.times(-1, 2), "INVALID_QUANTIFIER", "{-1,2}"),
    (lambda: a.times(True), "INVALID_QUANTIFIER", "whole"),
    (lambda: a.times(2.0), "INVALID_QUANTIFIER", "whole"),  # type: ignore[arg-type]
    (lambda: a.at_least(2**31), "INVALID_QUANTIFIER", "{2147483648,}"),
    (lambda: a.until("x").until("y"), "CLAUSE_TWICE", "UNTIL"),
    (lambda: a.until("(x"), "UNBALANCED_BRACKET", "UNTIL of a"),
    (lambda: a.within(5).within(6), "CLAUSE_TWICE", "WITHIN"),
    (lambda: a.within("soon"), "INVALID_DURATION", "WITHIN of a"),
    (lambda: no("a").within(1).within(2), "CLAUSE_TWICE", "WITHIN"),
    (lambda: a.strict().any(), "CLAUSE_TWICE", "ANY"),
    (lambda: seq(a).where("a.x AND"), "MISSING_CONDITION", "AND"),
    (lambda: seq(a).where("a.x = 1 WITHIN 5"), "UNEXPECTED_TOKEN", "clause of its own"),
    (lambda: seq(a).where("[k] OR a.x"), "MISPLACED_KEY_TEST", "[key]"),
    (lambda: seq(a).key("a, b"), "UNEXPECTED_TOKEN", "key"),
    (lambda: seq(a).key(""), "MISSING_EXPRESSION", "key"),
    (lambda: seq(a).strategy("skip_till_next"), "UNKNOWN_STRATEGY", "did you mean 'skip_till_next_match'"),
    (lambda: seq(a).strategy("strict").strategy("strict"), "CLAUSE_TWICE", "strategy"),
    (lambda: seq(a).within(5).within(5), "CLAUSE_TWICE", "WITHIN"),
    (lambda: seq(a).within("1 month"), "MONTH_INTERVAL", "days"),
    (lambda: seq(a).returns(x="a.x, a.y"), "UNEXPECTED_TOKEN", "RETURN x"),
    (lambda: seq(a).returns(x="a.x").returns(x="a.y"), "CLAUSE_TWICE", "RETURN x"),
    (lambda: seq(a, a).tree, "DUPLICATE_VARIABLE", "SEQ(A a, A a)"),
    (lambda: seq(a.until("x")).tree, "MISPLACED_UNTIL", "a is none"),
    (lambda: seq(no("a")).tree, "NO_POSITIVE_COMPONENT", "absences"),
    (lambda: all_of(a, no("b")).tree, "MISPLACED_NEGATION", "neighbours"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "code", "word"), REFUSED)
def test_refused(build: Callable[[], object], code: str, word: str) -> None:
    with pytest.raises(PatternSyntaxError) as failure:
        build()
    assert failure.value.code == code
    assert word in str(failure.value)


def test_depth_is_bounded() -> None:
    deep = seq(a)
    for _ in range(99):
        deep = seq(deep)
    assert str(deep).count("SEQ") == 100
    with pytest.raises(PatternSyntaxError, match="PATTERN_TOO_DEEP"):
        seq(deep)
