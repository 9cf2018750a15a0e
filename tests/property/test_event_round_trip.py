"""Event patterns: tree → text → tree is a fixed point; text either reads or is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkcep.errors import SparkcepError
from sparkcep.syntax.builder import Pattern, all_of, any_of, event, no, seq
from sparkcep.syntax.clause import Fragment, Measure, Within
from sparkcep.syntax.event_pattern import (
    Component,
    EventNode,
    EventPattern,
    Group,
    KeyTest,
    Negation,
    Quantifier,
    Variable,
    components_of,
)
from sparkcep.syntax.sase import parse_conditions, parse_event_pattern, parse_expression

QUICK = settings(max_examples=60, deadline=None)

LABELS = ["a", "B", "Ab", "seq", "Within", "x y", 'q"q', "b`b", "c\\c", "1", "1x", "r", "PERMUTE", "--", "/*", "é", "ß"]
TYPES = [*LABELS, "_", "A", "Next", "log in", "'"]
fragments = st.sampled_from(
    ["x", "a.b > 1", "f(a, b)", "CASE WHEN x AND z THEN 'y, z' END", "x -- c\n + 1", "c[i].v > AVG(c[..i-1].v)",
     "within", "a.v NOT BETWEEN 1 AND 2", "r'\\' || \"s\"", "b[b.LEN].v", "(x OR y)"]
).map(Fragment)  # fmt: skip
unsplittable = st.sampled_from(["x OR y AND z", "case > 5 AND x", "a.v BETWEEN 1"]).map(Fragment)
withins = st.one_of(
    st.builds(Within, st.just("interval"), st.integers(1, 2**63 - 1), st.booleans()),
    st.builds(Within, st.just("events"), st.integers(2, 10**6), st.booleans()),
    st.builds(Within, st.just("number"), st.sampled_from(["5", "2.5", "0.001"]), st.booleans()),
)
quantifiers = st.integers(0, 3).flatmap(
    lambda minimum: st.builds(Quantifier, st.just(minimum), st.none() | st.integers(max(minimum, 1), 4))
)
conditions = st.one_of(
    st.lists(fragments | fragments.map(KeyTest), max_size=4).map(tuple), unsplittable.map(lambda one: (one,))
)
measures = st.lists(st.builds(Measure, st.sampled_from(["n", "x y", "AS", "return"]), fragments), max_size=3).map(tuple)


def variable(label: str) -> Variable:
    """As unquoted where the label is a plain word, else as quoted."""
    plain = label.isalnum() and label not in ("1", "seq", "Within")
    return Variable(label.upper() if plain else label, label)


@st.composite
def components(draw: st.DrawFn, label: str) -> Component:
    quantifier = draw(st.none() | quantifiers)
    is_loop = quantifier is not None and (quantifier.repeats or draw(st.booleans()))
    return Component(
        draw(st.sampled_from(TYPES)),
        variable(label),
        quantifier,
        is_loop,
        draw(st.sampled_from([None, "STRICT", "NEXT", "ANY"])),
        draw(st.none() | fragments) if is_loop else None,
        draw(st.none() | withins),
    )


@st.composite
def groups(draw: st.DrawFn, labels: Iterator[str], depth: int) -> Group:
    operator = draw(st.sampled_from(["SEQ", "AND", "OR"]))
    parts: list[EventNode] = [draw(components(next(labels)))]
    for kind in draw(st.lists(st.sampled_from(["component", "negation", "group"]), max_size=3)):
        if kind == "group" and depth:
            parts.append(draw(groups(labels, depth - 1)))
        elif kind == "negation" and operator == "SEQ":
            negation = Negation(draw(st.sampled_from(TYPES)), variable(next(labels)), draw(st.none() | withins))
            parts.insert(draw(st.integers(0, len(parts))), negation)
        else:
            parts.append(draw(components(next(labels))))
    return Group(operator, tuple(parts), None if depth == 2 else draw(st.none() | quantifiers))


def unlike_labels() -> Iterator[str]:
    yield from LABELS
    yield from (f"v{number}" for number in range(100))


@st.composite
def patterns(draw: st.DrawFn) -> EventPattern:
    root = draw(groups(unlike_labels(), 2))
    strategy = draw(
        st.sampled_from([None, "strict", "partition_contiguity", "skip_till_next_match", "skip_till_any_match"])
    )
    named = tuple(part.variable.name for part in components_of(root)) if strategy and draw(st.booleans()) else ()
    return EventPattern(root, strategy, named, draw(conditions), draw(st.none() | withins), draw(measures))


@QUICK
@given(patterns())
def test_pattern_prints_and_parses_back(pattern: EventPattern) -> None:
    text = str(pattern)
    assert parse_event_pattern(text) == pattern
    assert str(parse_event_pattern(text)) == text
    assert parse_event_pattern(text, source=f"-- x\n{text} y", offset=5) == pattern


@st.composite
def built(draw: st.DrawFn) -> Pattern:
    names = iter([f"v{number}" for number in range(9)])
    predicates = st.none() | fragments.map(lambda fragment: fragment.text)
    first = event(next(names), draw(predicates))
    last = event(next(names), draw(predicates)).plus()
    inner = draw(st.sampled_from([seq, all_of, any_of]))(last, event(next(names), type="v0"))
    pattern = seq(draw(st.sampled_from([first, first.optional()])), no(next(names), draw(predicates)), inner)
    texts = draw(st.lists(fragments | unsplittable, max_size=3))
    pattern = pattern.where(*[fragment.text for fragment in texts])
    return pattern.within(5) if draw(st.booleans()) else pattern.returns(x=draw(fragments).text)


@QUICK
@given(built())
def test_built_pattern_prints_and_parses_back(pattern: Pattern) -> None:
    text = str(pattern)
    assert parse_event_pattern(text) == pattern.tree
    assert str(parse_event_pattern(text)) == text


PIECES = """A B a b c PATTERN SEQ( AND( OR( ( ) { } [ ] [] ~ + * ? {2} {2,3} {,3} , . .. 1 5 'x' "y" `z` ' " ` -- /* */
STRICT NEXT ANY UNTIL WITHIN WHERE RETURN AS AND OR NOT BETWEEN CASE WHEN THEN END strict skip_till_any_match = ;"""
texts = st.one_of(st.lists(st.sampled_from([*PIECES.split(), "\n"]), max_size=25).map(" ".join), st.text(max_size=30))


@QUICK
@given(texts)
def test_any_text_is_read_or_refused(text: str) -> None:
    for given_text in (text, f"SEQ({text})", f"SEQ(A a, {text}) WHERE {text}", f"SEQ(A+ a[]) {text}"):
        with contextlib.suppress(SparkcepError):
            tree = parse_event_pattern(given_text)
            assert parse_event_pattern(str(tree)) == tree
    with contextlib.suppress(SparkcepError):
        parse_expression(text, clause="x")
    with contextlib.suppress(SparkcepError):
        assert str(seq(event("a")).where(text).key("k"))
    with contextlib.suppress(SparkcepError):
        parse_conditions(text)


WORDS = "x AND OR NOT BETWEEN 1 CASE WHEN THEN END (y) [k] . return within = a[i]"


@QUICK
@given(st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=9).map(" ".join))
def test_any_condition_prints_and_parses_back(text: str) -> None:
    for where in (text, f"strict {{ {text} }} WITHIN 5"):
        with contextlib.suppress(SparkcepError):
            tree = parse_event_pattern(f"SEQ(A+ a[]) WHERE {where}")
            assert parse_event_pattern(str(tree)) == tree
    with contextlib.suppress(SparkcepError):
        pattern = seq(event("a")).where(text, "z").within(5)
        assert parse_event_pattern(str(pattern)) == pattern.tree
        assert pattern.tree.conditions == pattern.conditions
