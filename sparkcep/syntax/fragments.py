"""Expressions in the user's words: where they may end, how they are cut, split and printed.

Nothing here reads an expression. Tokens alone decide, and where they do not decide for sure, an
expression stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sparkcep.errors import Span
from sparkcep.syntax.clause import Fragment, Measure
from sparkcep.syntax.lexer import Token

# Words after which an expression or a name must follow.
_UNFINISHED = frozenset({
    "AS", "BY", "AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV", "DISTINCT",
    "CASE", "WHEN", "THEN", "ELSE", "ESCAPE", "INTERVAL", "FROM",
})  # fmt: skip
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


def is_finished(previous: Token | None) -> bool:
    """Whether an expression or a clause may end with this token."""
    if previous is None:
        return True
    if previous.kind == "operator":
        return previous.text in (")", "]")
    return previous.keyword not in _UNFINISHED


def spliced(fragment: Fragment) -> str:
    """Return the text of an expression so that a comment at its end hides nothing behind it."""
    return fragment.text + "\n" if "--" in fragment.text else fragment.text


def measure_text(measure: Measure) -> str:
    """Return ``expression AS name``; the name is quoted if it would not read back as it is."""
    name = measure.name
    plain = _PLAIN_NAME.fullmatch(name) and name.upper() != "AS"
    return f"{spliced(measure.expression)} AS {name if plain else '`' + name.replace('`', '``') + '`'}"


def fragment_of(tokens: Sequence[Token], start: int, end: int, text: str) -> Fragment:
    """Return the expression in the token range [`start`, `end`), which is not empty."""
    span = Span(tokens[start].start, tokens[end - 1].end)
    return Fragment(text[span.start : span.end], span, text)


def top_level(pairs: Mapping[int, int], start: int, end: int) -> Iterator[int]:
    """Yield the indices of a token range that stand outside of all brackets, opening brackets among them."""
    while start < end:
        yield start
        start = pairs.get(start, start) + 1


def keyword_at(tokens: Sequence[Token], index: int) -> str:
    """Return the word at `index` in upper case, or the empty string: behind a dot stand names only."""
    if index and (tokens[index - 1].is_symbol(".") or tokens[index - 1].is_symbol(":")):
        return ""
    return tokens[index].keyword


def ends_operand(tokens: Sequence[Token], start: int, index: int) -> bool:
    """Whether an expression that begins at `start` may end with the token at `index`."""
    if index < start:
        return False
    return (tokens[index].kind == "word" and not keyword_at(tokens, index)) or is_finished(tokens[index])


def split_conjuncts(
    tokens: Sequence[Token], pairs: Mapping[int, int], start: int, end: int
) -> list[tuple[int, int]] | None:
    """Split a condition at every AND that surely joins conditions.

    The AND of ``BETWEEN … AND …``, whatever stands in brackets or in ``CASE … END``, and the sides
    of an OR are left alone.

    Parameters
    ----------
    pairs
        From `closing_brackets` of the same tokens.

    Returns
    -------
    list of (start, end), or None
        Half-open token ranges; None where words do not tell what an AND joins, or where the range
        is no finished expression.
    """
    ranges: list[tuple[int, int]] = []
    first, cases, between = start, 0, False
    for index in top_level(pairs, start, end):
        word = keyword_at(tokens, index)
        complete = ends_operand(tokens, start, index - 1)
        if word == "CASE" and not complete:
            cases += 1
        elif word == "END" and complete and cases:
            cases -= 1
        elif cases:
            continue
        elif word == "OR":
            return None
        elif word == "BETWEEN":
            negated = ends_operand(tokens, start, index - 2) and keyword_at(tokens, index - 1) == "NOT"
            if between or not (complete or negated):
                return None
            between = True
        elif word == "AND" and between:
            between = False
        elif word == "AND":
            if not complete:
                return None
            ranges.append((first, index))
            first = index + 1
    if cases or between or not ends_operand(tokens, first, end - 1):
        return None
    return [*ranges, (first, end)]
