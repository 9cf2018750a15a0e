"""Parameters of a statement: ``?``, ``:name`` and ``{field}``, found among its tokens.

In row patterns ``?`` and ``{…}`` are quantifiers and never parameters; quoted texts hold none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sparkcep.errors import BindingError
from sparkcep.syntax.lexer import Token, tokenize
from sparkcep.syntax.match_recognize import clause_openings
from sparkcep.syntax.relations import SourceText

POSITIONAL_NAME = "sparkcep_{}"
"""Name that a ``?`` outside of the clauses gets, by its number: what Spark reads may hold a part of them only."""


def _no_field(name: str, shared: bool) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a caller gives for the parameters of a statement.

    Attributes
    ----------
    names
        Of the parameters ``:name``.
    count
        How many values there are for ``?``; None when the caller gave names, or nothing.
    literal
        Returns a parameter as SQL text for a place inside of a clause, by its name or its number from 0.
    field
        Returns SQL text for what stands in ``{…}``, None when it is no parameter; the second argument
        tells whether sessions share the view that the statement creates.
    braces_are_doubled
        Whether ``{{`` stands for ``{``, as in every statement that is given fields.
    """

    names: Collection[str] = ()
    count: int | None = None
    literal: Callable[[str | int], str] = field(default=str)
    field: Callable[[str, bool], str | None] = field(default=_no_field)
    braces_are_doubled: bool = False


class _Marker(NamedTuple):
    """A parameter, as a token range; `name` is None for ``?``."""

    start: int
    end: int
    name: str | None


def _markers(tokens: Sequence[Token]) -> Iterator[_Marker]:
    index = 0
    while index < len(tokens):
        name = _name_at(tokens, index)
        if name is not None:
            yield _Marker(index, index + 2, name)
        elif tokens[index].is_symbol("?"):
            yield _Marker(index, index + 1, None)
        index += 1 if name is None else 2


def _name_at(tokens: Sequence[Token], index: int) -> str | None:
    """Return the name of the parameter ``:name`` at a token; in ``value:path`` the colon touches the value."""
    if not tokens[index].is_symbol(":") or index + 1 == len(tokens) or tokens[index + 1].kind != "word":
        return None
    before = tokens[index - 1] if index else None
    follows_value = before is not None and (before.kind != "operator" or before.text in (")", "]"))
    if follows_value and before is not None and before.end == tokens[index].start:
        return None
    return tokens[index + 1].text


def with_literals(text: str, parameters: Parameters) -> str:
    """Replace each ``:name`` of a text that the caller gives a value for; ``?`` is left alone."""
    if ":" not in text or not parameters.names:
        return text
    tokens = tokenize(text)
    pieces, position = [], 0
    for marker in _markers(tokens):
        if marker.name is not None and marker.name in parameters.names:
            literal = _placed(parameters.literal(marker.name), tokens, marker.end)
            pieces += [text[position : tokens[marker.start].start], literal]
            position = tokens[marker.end - 1].end
    return "".join(pieces) + text[position:]


def names_in(text: str) -> set[str]:
    """Return every name that may be that of a parameter in a text."""
    tokens = tokenize(text)
    return {behind.text for colon, behind in itertools.pairwise(tokens) if colon.is_symbol(":")}


def pattern_ranges(source: SourceText, clauses: Sequence[int]) -> list[tuple[int, int]]:
    """Return the token ranges of the row patterns of clauses, brackets included."""
    return [
        (content, source.pairs[content])
        for clause in clauses
        for name, _, content in clause_openings(source.tokens, source.pairs, clause + 2, source.pairs[clause + 1])
        if name == "PATTERN" and content in source.pairs
    ]


def filled(
    source: SourceText, first: int, end: int, clauses: Sequence[int], parameters: Parameters, shared: bool
) -> list[tuple[int, int, str]]:
    """Return what takes the place of the parameters of a statement: offsets and text.

    Parameters
    ----------
    first, end
        Token range of the statement.
    clauses
        Indexes of the words MATCH_RECOGNIZE and match_pattern.
    shared
        Whether sessions share the view that the statement creates.

    Raises
    ------
    BindingError
        UNBOUND_PARAMETER: there are more ``?`` than values.
    """
    tokens, patterns = source.tokens, pattern_ranges(source, clauses)
    is_inside = _inside_clauses(source, clauses)
    pieces: list[tuple[int, int, str]] = []

    def put(start: int, last: int, text: str) -> None:
        pieces.append((tokens[start].start, tokens[last].end, text))

    for start, last, text in _fields(source, first, end, parameters, shared):
        put(start, last, text)
    number = 0
    for marker in _markers(tokens[first:end]):
        start, last = first + marker.start, first + marker.end - 1
        if any(opening < start < closing for opening, closing in patterns):
            continue
        if marker.name is not None:
            if is_inside[start] and marker.name in parameters.names:
                put(start, last, _placed(parameters.literal(marker.name), tokens, last + 1))
        elif parameters.count is not None:
            if number >= parameters.count:
                raise _unbound(source, start, parameters.count)
            literal = ":" + POSITIONAL_NAME.format(number)
            if is_inside[start]:
                literal = _placed(parameters.literal(number), tokens, last + 1)
            put(start, last, literal)
            number += 1
    return pieces


def _placed(literal: str, tokens: Sequence[Token], behind: int) -> str:
    """Keep a sign from joining another one, and from losing to a cast behind it."""
    if not literal.startswith("-"):
        return literal
    is_cast = behind < len(tokens) and tokens[behind].is_symbol("::")
    return f"({literal})" if is_cast else " " + literal


def _inside_clauses(source: SourceText, clauses: Sequence[int]) -> list[bool]:
    """Tell for each token whether a clause or call is around it, and no input table between."""
    inside = [False] * len(source.tokens)
    for clause in sorted(clauses):
        closing = source.pairs[clause + 1]
        inside[clause + 2 : closing] = [True] * (closing - clause - 2)
        if source.tokens[clause].keyword != "MATCH_RECOGNIZE":
            start, end = clause + 4, source.pairs[clause + 3]
            inside[start:end] = [False] * (end - start)
    return inside


def _fields(
    source: SourceText, first: int, end: int, parameters: Parameters, shared: bool
) -> Iterator[tuple[int, int, str]]:
    """Yield the fields ``{name}``, ``{name[key]}``, ``{name.key}`` as token ranges with their text."""
    tokens, index = source.tokens, first
    while index < end:
        token = tokens[index]
        doubled = token.text in ("{", "}") and index + 1 < end and tokens[index + 1].text == token.text
        if parameters.braces_are_doubled and doubled and tokens[index + 1].start == token.end:
            yield index, index + 1, token.text
            index += 2
            continue
        if token.is_symbol("{"):
            last = next((i for i in range(index + 1, min(index + 6, end)) if tokens[i].is_symbol("}")), index)
            text = parameters.field(source.text[token.end : tokens[last].start], shared) if last > index + 1 else None
            if text is not None:
                yield index, last, text
                index = last
        index += 1


def _unbound(source: SourceText, index: int, count: int) -> BindingError:
    return BindingError(
        "UNBOUND_PARAMETER",
        f"there are {count} values, and more parameters.",
        clause="args",
        text=source.text,
        span=source.tokens[index].span,
        found="?",
        allowed="one value of args for each ? outside of row patterns and quoted texts",
    )
