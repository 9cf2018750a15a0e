"""The lexer: what Spark SQL calls a token, where it stands, and brackets."""

from __future__ import annotations

import time

import pytest

from sparkcep.errors import PatternSyntaxError
from sparkcep.syntax.lexer import closing_brackets, split_top_level, string_value, tokenize, unquoted


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("a<=>b->c=>d::e||f", ["a", "<=>", "b", "->", "c", "=>", "d", "::", "e", "||", "f"]),
        ("a<=b>=c<>d!=e==f<g", ["a", "<=", "b", ">=", "c", "<>", "d", "!=", "e", "==", "f", "<", "g"]),
        ("c[..i-1].x[1..2]", ["c", "[", "..", "i", "-", "1", "]", ".", "x", "[", "1", "..", "2", "]"]),
        ("1 1.5 .5 1. 1e3 1.5e-3 10L 2BD 3d", ["1", "1.5", ".5", "1.", "1e3", "1.5e-3", "10L", "2BD", "3d"]),
        ("t.1a 2x", ["t", ".", "1a", "2x"]),
        (r"'it''s' 'a\'b' r'\' R\"x\"".replace(r"\"", '"'), ["'it''s'", r"'a\'b'", r"r'\'", 'R"x"']),
        ('"a""b" "c\\"d" `e``f`', ['"a""b"', '"c\\"d"', "`e``f`"]),
        ("a -- b 'c\nd /* e /* f */ ' */ g", ["a", "d", "g"]),
        ("a -- b \\\n still\nc", ["a", "c"]),
        ("größe ^ $ {df} :p ?", ["größe", "^", "$", "{", "df", "}", ":", "p", "?"]),
        ("", []),
    ],
)
def test_tokens(text: str, texts: list[str]) -> None:
    tokens = tokenize(text)
    assert [token.text for token in tokens] == texts
    assert all(text[token.start : token.end] == token.text for token in tokens)


def test_kinds() -> None:
    kinds = [token.kind for token in tokenize("word \"d\" `b` 's' r's' 1.5 ||")]
    assert kinds == ["word", "double-quoted", "backquoted", "string", "string", "number", "operator"]


def test_offsets_speak_of_the_source() -> None:
    assert [token.span.start for token in tokenize("a b", source="xx a b", offset=3)] == [3, 5]


@pytest.mark.parametrize("text", ["'a", '"a', "`a", "'a\\'", "/* a", "/* /* */", "'a'' b"])
def test_unclosed(text: str) -> None:
    with pytest.raises(PatternSyntaxError, match="UNCLOSED_"):
        tokenize(f"x {text}")


@pytest.mark.parametrize("piece", ["'a'' ", "/* ", "(", "1", "a.", '"\\"', "--", "- ", "`` "])
def test_time_is_linear(piece: str) -> None:
    started = time.perf_counter()
    try:
        tokenize("'" + piece * 50_000)
        tokenize(piece * 50_000)
    except PatternSyntaxError:
        pass
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        (r"'a\n\t\\b'", "a\n\t\\b"),
        (r"'\u0041\101\q'", "AAq"),
        (r"'100\%'", r"100\%"),
        (r"r'a\nb'", r"a\nb"),
        ('"a""b"', 'a"b'),
        (r"'\\'''", "\\'"),
    ],
)
def test_string_values(literal: str, value: str) -> None:
    (token,) = tokenize(literal)
    assert string_value(token) == value


def test_unquoted_names() -> None:
    assert [unquoted(token) for token in tokenize(r'a "b""c" "d\"e\\" `f``g`')] == ["a", 'b"c', 'd"e\\', "f`g"]


def test_brackets_and_top_level_commas() -> None:
    text = "f(a, b[1, 2]), (c), "
    tokens = tokenize(text)
    pairs = closing_brackets(tokens, text=text)
    ranges = split_top_level(tokens, pairs, 0, len(tokens))
    assert ["".join(token.text for token in tokens[start:end]) for start, end in ranges] == ["f(a,b[1,2])", "(c)", ""]


@pytest.mark.parametrize("text", ["(a", "a)", "(a]", "[(a])", "("])
def test_unbalanced_brackets(text: str) -> None:
    with pytest.raises(PatternSyntaxError, match="UNBALANCED_BRACKET"):
        closing_brackets(tokenize(text), text=text)
