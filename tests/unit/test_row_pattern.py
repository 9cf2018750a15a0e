"""Row patterns: text to tree, tree to text, and what is refused (ISO/IEC 19075-5, 4.14)."""

from __future__ import annotations

import pickle
import time

import pytest

from sparkcep.errors import PatternSyntaxError, Span
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
from sparkcep.syntax.row_pattern import alternated, concatenated, normal_name, parse_row_pattern

A, B, C, D = (Label(name) for name in "ABCD")

TREES: list[tuple[str, RowPattern]] = [
    ("a", A),
    ('"a"', Label("a")),
    ("`a``b`", Label("a`b")),
    ('"a""b"', Label('a"b')),
    ('"permute"', Label("permute")),
    ("A B C", Concatenation((A, B, C))),
    ("A /* B */ C -- D", Concatenation((A, C))),
    ("(A B) C", Concatenation((A, B, C))),
    ("(A)", A),
    ("()", Empty()),
    ("A () B", Concatenation((A, Empty(), B))),
    ("A | B C | D", Alternation((A, Concatenation((B, C)), D))),
    ("(A | B) | C", Alternation((A, B, C))),
    ("A |", Alternation((A, Empty()))),
    ("| A", Alternation((Empty(), A))),
    ("(A||B)", Alternation((A, Empty(), B))),
    ("A*", Quantified(A, 0, None)),
    ("A+?", Quantified(A, 1, None, greedy=False)),
    ("A??", Quantified(A, 0, 1, greedy=False)),
    ("A *?", Quantified(A, 0, None, greedy=False)),
    ("A{2}", Quantified(A, 2, 2)),
    ("A{2}?", Quantified(A, 2, 2, greedy=False)),
    ("A{2,}", Quantified(A, 2, None)),
    ("A{,3}", Quantified(A, 0, 3)),
    ("A{ 2 , 3 }?", Quantified(A, 2, 3, greedy=False)),
    ("A{600}B", Concatenation((Quantified(A, 600, 600), B))),
    ("(A B)+", Quantified(Concatenation((A, B)), 1, None)),
    ("((A?)?)?", Quantified(Quantified(Quantified(A, 0, 1), 0, 1), 0, 1)),
    ("()+", Quantified(Empty(), 1, None)),
    ("^ A $", Concatenation((Anchor("start"), A, Anchor("end")))),
    ("^$", Concatenation((Anchor("start"), Anchor("end")))),
    ("A{-B+-}C", Concatenation((A, Exclusion(Quantified(B, 1, None)), C))),
    ("{- A | B -}*", Quantified(Exclusion(Alternation((A, B))), 0, None)),
    ("Permute(a, b c, (d | a))", Permutation((A, Concatenation((B, C)), Alternation((D, A))))),
    ("PERMUTE(A, B){2}", Quantified(Permutation((A, B)), 2, 2)),
    ("PERMUTE(A)", Permutation((A,))),
]


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_text_becomes_tree_and_prints_back(text: str, tree: RowPattern) -> None:
    assert parse_row_pattern(text) == tree
    assert parse_row_pattern(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("((a) ((b)+)) | ((c))", "A B+ | C"),
        ("(A | B) C", "(A | B) C"),
        ("(A*)?", "(A*)?"),
        ("A*?", "A*?"),
        ("(A B)*", "(A B)*"),
        ("A{0,}  B{1,}? C{0,1} D{3,3}", "A* B+? C? D{3}"),
        ("A |", "A | ()"),
        ("permute( a,b )", "PERMUTE(A, B)"),
        ('"PERMUTE" "x y" `A`', '"PERMUTE" "x y" A'),
        (r"`a\b`", r"`a\b`"),
    ],
)
def test_printing_is_minimal(text: str, printed: str) -> None:
    assert str(parse_row_pattern(text)) == printed


ERRORS = [
    ("", "EMPTY_PATTERN", Span(0, 0)),
    ("  ", "EMPTY_PATTERN", Span(2, 2)),
    ("(A B", "UNBALANCED_BRACKET", Span(4, 4)),
    ("A B)", "UNBALANCED_BRACKET", Span(3, 4)),
    ("A -}", "UNBALANCED_BRACKET", Span(2, 4)),
    ("(A ; B)", "UNEXPECTED_TOKEN", Span(3, 4)),
    ("A, B", "UNEXPECTED_TOKEN", Span(1, 2)),
    ("A 'b'", "UNEXPECTED_TOKEN", Span(2, 5)),
    ("A . B", "UNEXPECTED_TOKEN", Span(2, 3)),
    ("A 5", "UNEXPECTED_TOKEN", Span(2, 3)),
    ("A{3,1}", "INVALID_QUANTIFIER", Span(1, 6)),
    ("A{0}", "INVALID_QUANTIFIER", Span(1, 4)),
    ("A{0,0}", "INVALID_QUANTIFIER", Span(1, 6)),
    ("A{,0}", "INVALID_QUANTIFIER", Span(1, 5)),
    ("A{,}", "INVALID_QUANTIFIER", Span(3, 4)),
    ("A{}", "INVALID_QUANTIFIER", Span(2, 3)),
    ("A{x}", "INVALID_QUANTIFIER", Span(2, 3)),
    ("A{1.5}", "INVALID_QUANTIFIER", Span(2, 5)),
    ("A{1 2}", "INVALID_QUANTIFIER", Span(4, 5)),
    ("A{-1}", "UNEXPECTED_TOKEN", Span(3, 4)),
    ("A{2", "INVALID_QUANTIFIER", Span(3, 3)),
    ("A{99999999999}", "INVALID_QUANTIFIER", Span(2, 13)),
    ("*", "DANGLING_QUANTIFIER", Span(0, 1)),
    ("A | +", "DANGLING_QUANTIFIER", Span(4, 5)),
    ("(? A)", "DANGLING_QUANTIFIER", Span(1, 2)),
    ("A**", "DOUBLE_QUANTIFIER", Span(2, 3)),
    ("A{2}{3}", "DOUBLE_QUANTIFIER", Span(4, 5)),
    ("A+??", "DOUBLE_QUANTIFIER", Span(3, 4)),
    ("PERMUTE()", "EMPTY_PERMUTE", Span(8, 9)),
    ("PERMUTE(A,)", "EMPTY_PERMUTE", Span(10, 11)),
    ("PERMUTE(A, B", "UNBALANCED_BRACKET", Span(12, 12)),
    ("A permute", "RESERVED_NAME", Span(2, 9)),
    ("A {- B", "UNCLOSED_EXCLUSION", Span(6, 6)),
    ("(A {- B) -}", "UNCLOSED_EXCLUSION", Span(7, 8)),
    ("{- -}", "EMPTY_EXCLUSION", Span(3, 5)),
    ('A ""', "EMPTY_NAME", Span(2, 4)),
    ('A "b', "UNCLOSED_QUOTE", Span(2, 4)),
    ("A /* b /* */", "UNCLOSED_COMMENT", Span(2, 12)),
]


@pytest.mark.parametrize(("text", "code", "span"), ERRORS)
def test_refused_with_code_and_place(text: str, code: str, span: Span) -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        parse_row_pattern(text)
    assert (caught.value.code, caught.value.span) == (code, span)
    assert caught.value.clause == "PATTERN"


def test_error_lists_what_could_stand_there() -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        parse_row_pattern("A (B , C)")
    error = caught.value
    assert error.found == ","
    assert error.allowed is not None
    for name in ("a quantifier", "a variable", "'|'", "')'"):
        assert name in error.allowed
    assert error.hint == "parts that follow each other stand side by side: A B C"
    assert "    A (B , C)\n         ^" in str(error)


def test_errors_underline_in_the_text_the_pattern_was_cut_from() -> None:
    source = "SELECT 1\nPATTERN (A ? ? ?)"
    start = source.index("A")
    with pytest.raises(PatternSyntaxError) as caught:
        parse_row_pattern(source[start:-1], source=source, offset=start)
    assert caught.value.span == Span(source.rindex("?"), source.rindex("?") + 1)
    assert "line 2, column 16" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_spans_speak_of_the_source() -> None:
    source = "PATTERN (A (B | C)+ {- D -})"
    tree = parse_row_pattern(source[9:-1], source=source, offset=9)
    assert isinstance(tree, Concatenation)
    shown = [source[part.span.start : part.span.end] for part in tree.parts]
    assert shown == ["A", "(B | C)+", "{- D -}"]


def test_nesting_is_bounded_and_length_is_not() -> None:
    assert parse_row_pattern("(" * 100 + "A" + ")" * 100) == A
    for text in ("(" * 101 + "A" + ")" * 101, "(" * 10_000, "{-" * 10_000, "PERMUTE(" * 10_000):
        with pytest.raises(PatternSyntaxError) as caught:
            parse_row_pattern(text)
        assert caught.value.code == "PATTERN_TOO_DEEP"
    started = time.perf_counter()
    tree = parse_row_pattern("A " * 10_000)
    assert isinstance(tree, Concatenation)
    assert len(tree.parts) == 10_000
    assert parse_row_pattern(str(tree)) == tree
    assert time.perf_counter() - started < 5


def test_canonical_form_is_made_of_parts() -> None:
    assert concatenated([]) == Empty()
    assert concatenated([A]) == A
    assert concatenated([Concatenation((A, B)), C]) == Concatenation((A, B, C))
    assert alternated([Alternation((A, B)), C]) == Alternation((A, B, C))
    assert alternated([A]) == A


def test_nested_trees_of_one_kind_print_as_groups() -> None:
    assert str(Concatenation((Concatenation((A, B)), C))) == "(A B) C"
    assert str(Alternation((Alternation((A, B)), C))) == "(A | B) | C"


@pytest.mark.parametrize(("text", "name"), [(" down ", "DOWN"), ('"down"', "down"), ("`a b`", "a b"), ("ß", "SS")])
def test_normal_name(text: str, name: str) -> None:
    assert normal_name(text) == name
    assert normal_name(name_text(name)) == name


@pytest.mark.parametrize("text", ["", "A B", "A.b", "'A'", "1.5", '""', "permute"])
def test_no_name(text: str) -> None:
    with pytest.raises(PatternSyntaxError):
        normal_name(text, clause="SUBSET")
