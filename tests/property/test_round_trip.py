"""Tree → text → tree is a fixed point; text either reads or is refused, and nothing else happens."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sparkcep.errors import SparkcepError
from sparkcep.syntax.clause import AfterMatch, Definition, Fragment, MatchRecognize, Measure, Subset, Within
from sparkcep.syntax.durations import parse_within, within_text
from sparkcep.syntax.lexer import tokenize
from sparkcep.syntax.match_recognize import parse_match_recognize, print_clause
from sparkcep.syntax.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Label,
    Permutation,
    Quantified,
    RowPattern,
    name_text,
)
from sparkcep.syntax.row_pattern import normal_name, parse_row_pattern
from sparkcep.syntax.statements import rewrite, split_statements

QUICK = settings(max_examples=50, deadline=None)

names = st.one_of(
    st.sampled_from(
        ["A", "B", "DOWN", "PERMUTE", "a", "x y", 'q"q', "b`b", "c\\c", "1", "R", "AS", "PATTERN", "--", "/*"]
    ),
    st.text("aZ_ß\"`\\'\n 5é🙂", min_size=1, max_size=4),
)


@st.composite
def quantified(draw: st.DrawFn, part: SearchStrategy[RowPattern]) -> RowPattern:
    minimum = draw(st.integers(0, 3))
    maximum = draw(st.one_of(st.none(), st.integers(max(minimum, 1), 5)))
    return Quantified(draw(part), minimum, maximum, draw(st.booleans()))


def _composed(part: SearchStrategy[RowPattern]) -> SearchStrategy[RowPattern]:
    def some(parts: SearchStrategy[RowPattern], least: int) -> SearchStrategy[tuple[RowPattern, ...]]:
        return st.lists(parts, min_size=least, max_size=4).map(tuple)

    return st.one_of(
        some(part.filter(lambda node: not isinstance(node, Concatenation)), 2).map(Concatenation),
        some(part.filter(lambda node: not isinstance(node, Alternation)), 2).map(Alternation),
        some(part, 1).map(Permutation),
        quantified(part),
        part.map(Exclusion),
    )


leaves = st.one_of(names.map(Label), st.sampled_from([Anchor("start"), Anchor("end"), Empty()]))
patterns = st.recursive(leaves, _composed, max_leaves=8)

fragments = st.sampled_from(
    [
        "x",
        "a.b > 1",
        "f(a, b)",
        "CASE WHEN x THEN 'y, z' END",
        "`p q`",
        "x -- c\n + 1",
        "pattern",
        "r'\\' || \"s\"",
        "a[1]",
    ]
).map(Fragment)
withins = st.one_of(
    st.builds(Within, st.just("interval"), st.integers(1, 2**63 - 1), st.booleans()),
    st.builds(Within, st.just("events"), st.integers(2, 10**6), st.booleans()),
    st.builds(
        Within,
        st.just("number"),
        st.decimals("0.001", 10**6, places=3).map(lambda d: f"{d.normalize():f}"),
        st.booleans(),
    ),
)
clauses = st.builds(
    MatchRecognize,
    pattern=patterns,
    partition_by=st.lists(fragments, max_size=2).map(tuple),
    order_by=st.lists(fragments, max_size=2).map(tuple),
    measures=st.lists(st.builds(Measure, names, fragments), max_size=3).map(tuple),
    rows_per_match=st.sampled_from(["one", "all", "all omit empty", "all with unmatched"]),
    after_match=st.one_of(
        st.builds(AfterMatch, st.sampled_from(["past last row", "to next row"])),
        st.builds(AfterMatch, st.sampled_from(["to first", "to last"]), names),
    ),
    subsets=st.lists(st.builds(Subset, names, st.lists(names, min_size=1, max_size=3).map(tuple)), max_size=2).map(
        tuple
    ),
    within=st.none() | withins,
    definitions=st.lists(st.builds(Definition, names, fragments), max_size=3).map(tuple),
)


@QUICK
@given(patterns)
def test_pattern_prints_and_parses_back(pattern: RowPattern) -> None:
    text = str(pattern)
    assert parse_row_pattern(text) == pattern
    assert str(parse_row_pattern(text)) == text


@QUICK
@given(names)
def test_name_prints_and_parses_back(name: str) -> None:
    assert normal_name(name_text(name)) == name


@QUICK
@given(withins)
def test_within_prints_and_parses_back(within: Within) -> None:
    assert parse_within(within_text(within)) == within


@QUICK
@given(clauses)
def test_clause_prints_and_parses_back(clause: MatchRecognize) -> None:
    text = print_clause(clause)
    assert parse_match_recognize(text) == clause
    assert print_clause(parse_match_recognize(text)) == text


@QUICK
@given(clauses, st.sampled_from(["t", "a.b AS x", "(SELECT 1) q", "(SELECT * FROM u WHERE a IN (1, 2))", "f(1)"]))
def test_clause_in_a_statement_is_the_clause(clause: MatchRecognize, relation: str) -> None:
    before, behind = "SELECT '(', \")\" -- (\n FROM u, ", " AS m (a, b) /* ) */ WHERE x = '''('"
    found = []
    text = f"{before}{relation} {print_clause(clause)}{behind}"
    assert rewrite(text, lambda occurrence: found.append(occurrence) or "v") == f"{before}v{behind}"
    assert [(occurrence.relation, occurrence.clause) for occurrence in found] == [(f"SELECT * FROM {relation}", clause)]


PIECES = """A B PERMUTE ( ) { } [ ] {- -} | || * + ? ?? , ; ^ $ 1 {2,3} 'x' "y" `z` ' " ` -- /* */ MATCH_RECOGNIZE
PATTERN DEFINE SUBSET AS = MEASURES WITHIN FROM SELECT WITH JOIN VALUES LATERAL BEGIN CREATE VIEW ONE ROW PER MATCH"""
pieces = st.sampled_from([*PIECES.split(), "\n"])
texts = st.one_of(st.lists(pieces, max_size=25).map(" ".join), st.text(max_size=30))


@QUICK
@given(texts)
def test_any_text_is_read_or_refused(text: str) -> None:
    body = f"MATCH_RECOGNIZE ({text})"
    readers = [
        parse_row_pattern,
        parse_within,
        split_statements,
        parse_match_recognize,
        lambda sql: rewrite(sql, lambda _: "v"),
    ]
    for reader in readers:
        for given_text in (
            text,
            body,
            f"SELECT * FROM t {body}",
            f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN ({text}))",
        ):
            with contextlib.suppress(SparkcepError):
                reader(given_text)


@QUICK
@given(texts)
def test_tokens_cover_the_text_in_order(text: str) -> None:
    try:
        tokens = tokenize(text)
    except SparkcepError:
        return
    ends = [0, *(token.end for token in tokens)]
    assert all(end <= token.start < token.end for end, token in zip(ends, tokens, strict=False))
    assert all(text[token.start : token.end] == token.text for token in tokens)
