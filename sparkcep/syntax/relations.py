"""Where a relation in front of MATCH_RECOGNIZE begins, what names it, and which common tables it sees.

Nothing of the statement is parsed beyond brackets, FROM, JOIN, commas and WITH lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sparkcep.errors import BindingError, PatternSyntaxError, Span
from sparkcep.syntax.lexer import Token, tokenize, unquoted
from sparkcep.syntax.match_recognize import paired

_QUERY_OPENERS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_NO_PART_OF_A_RELATION = frozenset(
    {"SELECT", "WHERE", "ON", "USING", "GROUP", "HAVING", "UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT"}
)
_TAKES_BRACKETS = frozenset({"TABLESAMPLE", "REPEATABLE", "PIVOT", "UNPIVOT", "MATCH_RECOGNIZE", "VALUES"})
_NO_RELATION_YET = frozenset({"OF", "STREAM", "TABLE", "VALUES", "AS"})


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text, its tokens, and how its brackets nest.

    Attributes
    ----------
    pairs, openings
        Opening bracket to closing bracket, and back; indexes of tokens.
    enclosing
        For each token, the opening bracket around it; -1 outside of brackets.
    """

    text: str
    tokens: Sequence[Token]
    pairs: Mapping[int, int]
    openings: Mapping[int, int]
    enclosing: Sequence[int]

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token] | None = None) -> SourceText:
        """Cut `text` into tokens and pair its brackets.

        Raises
        ------
        PatternSyntaxError
            UNCLOSED_QUOTE, UNCLOSED_COMMENT, UNBALANCED_BRACKET.
        """
        tokens = tokenize(text) if tokens is None else tokens
        pairs = paired(tokens, text)
        openings = {closing: opening for opening, closing in pairs.items()}
        enclosing: list[int] = []
        around = -1
        for index in range(len(tokens)):
            if index in openings:
                around = enclosing[openings[index]]
            enclosing.append(around)
            if index in pairs:
                around = index
        return cls(text, tokens, pairs, openings, enclosing)

    def top_level(self, start: int, end: int) -> Iterator[int]:
        """Yield the indexes of the tokens in a range that no bracket of the range encloses."""
        while start < end:
            yield start
            start = self.pairs.get(start, start) + 1

    def encloses(self, opening: int, index: int) -> bool:
        """Whether the token at `index` stands inside of the bracket `opening` (-1: of the whole text)."""
        return opening < 0 or opening < index < self.pairs[opening]


class CommonTable(NamedTuple):
    """``name [(columns)] AS ( … )`` of a WITH list, as a token range."""

    name: str
    start: int
    end: int


class WithList(NamedTuple):
    """A WITH list: index of the token WITH, and the tables in order."""

    start: int
    recursive: bool
    tables: tuple[CommonTable, ...]


# The relation.


def relation_start(source: SourceText, clause: int, first: int) -> int:
    """Return the index of the first token of the relation that the clause at token `clause` reads.

    Parameters
    ----------
    clause
        Index of the word MATCH_RECOGNIZE.
    first
        Index of the first token of the statement.

    Raises
    ------
    PatternSyntaxError
        MISSING_RELATION: there is none.
    BindingError
        LATERAL_RELATION: it depends on the row of another relation.
    """
    tokens = source.tokens
    index = clause - 1
    while index >= first:
        token = tokens[index]
        if index in source.openings:
            index = source.openings[index] - 1
            continue
        if index in source.pairs or _opens_relation(source, index, first):
            break
        if token.is_symbol(","):
            values = _values_list(source, index, first)
            if values is None:
                break
            index = values
        index -= 1
    start = index + 1
    _check_relation(source, start, clause, found_opener=index >= first)
    return start


def _opens_relation(source: SourceText, index: int, first: int) -> bool:
    token = source.tokens[index]
    if index and source.tokens[index - 1].is_symbol("."):
        return False
    if token.keyword == "USING":
        return not source.tokens[index + 1].is_symbol("(") or source.tokens[first].keyword == "MERGE"
    return token.keyword in ("FROM", "JOIN")


def _values_list(source: SourceText, comma: int, first: int) -> int | None:
    """Return the index of the word VALUES if `comma` separates rows of an inline table."""
    index = comma
    while index > first and source.tokens[index].is_symbol(","):
        index = source.openings.get(index - 1, index - 1) - 1
        if index >= first and source.tokens[index].is_symbol("-"):
            index -= 1
    return index if index >= first and source.tokens[index].keyword == "VALUES" else None


def _check_relation(source: SourceText, start: int, clause: int, found_opener: bool) -> None:
    word = source.tokens[clause]
    inside = [i for i in source.top_level(start, clause) if i == start or not source.tokens[i - 1].is_symbol(".")]
    lateral = next((i for i in inside if source.tokens[i].keyword == "LATERAL"), None)
    if lateral is not None:
        raise BindingError(
            "LATERAL_RELATION",
            "The input of MATCH_RECOGNIZE cannot depend on the row of another relation.",
            clause="MATCH_RECOGNIZE",
            text=source.text,
            span=source.tokens[lateral].span,
            found="LATERAL",
            allowed="a table, a view, a sub-query in brackets",
            hint="put the join with LATERAL into a sub-query and match over that",
        )
    misplaced = next((i for i in inside if source.tokens[i].keyword in _NO_PART_OF_A_RELATION), None)
    if not inside or not found_opener or misplaced is not None:
        found = source.tokens[misplaced] if misplaced is not None else word
        raise PatternSyntaxError(
            "MISSING_RELATION",
            "MATCH_RECOGNIZE must follow the relation it reads.",
            clause="MATCH_RECOGNIZE",
            text=source.text,
            span=found.span,
            found=found.text,
            allowed="FROM table MATCH_RECOGNIZE (…), FROM (SELECT …) MATCH_RECOGNIZE (…)",
            hint="put a join or a query into brackets" if misplaced is not None else None,
        )


def relation_alias(source: SourceText, start: int, end: int) -> str | None:
    """Return the name that qualifies the columns of the relation in a token range.

    The alias if there is one, else the last part of a table's name, else None.
    """
    tokens = source.tokens
    last = source.openings[end - 1] - 1 if end - 1 in source.openings else end - 1
    if last > start and tokens[last].is_name and tokens[last].keyword not in _TAKES_BRACKETS:
        before = tokens[last - 1]
        ends_relation = before.kind != "operator" or before.text in (")", "]")
        if before.keyword == "AS" or (ends_relation and before.keyword not in _NO_RELATION_YET):
            return unquoted(tokens[last])
    is_table = all(token.is_name or token.is_symbol(".") for token in tokens[start:end])
    names_nothing = tokens[start].keyword in _NO_RELATION_YET
    return unquoted(tokens[end - 1]) if is_table and not names_nothing else None


# Common tables.


def with_lists(source: SourceText, first: int, end: int) -> list[WithList]:
    """Return the WITH lists in a token range, in text order; outer ones come before inner ones."""
    found = (_with_list(source, index, end) for index in range(first, end) if source.tokens[index].keyword == "WITH")
    return [with_list for with_list in found if with_list.tables]


def _with_list(source: SourceText, index: int, end: int) -> WithList:
    tokens = source.tokens
    following = [token.keyword for token in tokens[index + 1 : index + 3]]
    recursive = following[:1] == ["RECURSIVE"] and following[1:] != ["AS"]
    tables: list[CommonTable] = []
    position = index + 1 + recursive
    while (table := _common_table(source, position, end)) is not None:
        tables.append(table)
        position = table.end
        if position >= end or not tokens[position].is_symbol(","):
            break
        position += 1
    return WithList(index, recursive, tuple(tables))


def _common_table(source: SourceText, start: int, end: int) -> CommonTable | None:
    tokens, pairs = source.tokens, source.pairs
    if start >= end or not tokens[start].is_name:
        return None
    position = start + 1
    if position in pairs and tokens[min(pairs[position] + 1, end - 1)].text.upper() in ("AS", "MAX", "("):
        position = pairs[position] + 1
    if [token.keyword for token in tokens[position : position + 3]] == ["MAX", "RECURSION", "LEVEL"]:
        position += 4
    position += position < end and tokens[position].keyword == "AS"
    if position >= end or position not in pairs:
        return None
    opener = tokens[position + 1]
    if opener.keyword not in _QUERY_OPENERS and not opener.is_symbol("("):
        return None
    return CommonTable(unquoted(tokens[start]), start, pairs[position] + 1)


def visible_tables(source: SourceText, lists: Sequence[WithList], index: int) -> list[WithList]:
    """Return the WITH lists that the token at `index` sees, each cut to the tables defined before it."""
    seen = []
    for with_list in lists:
        if with_list.start < index and source.encloses(source.enclosing[with_list.start], index):
            tables = tuple(table for table in with_list.tables if table.end <= index)
            seen += [with_list._replace(tables=tables)] if tables else []
    return seen


def refuse_recursion(source: SourceText, lists: Sequence[WithList], start: int, clause: int) -> None:
    """Refuse a relation that reads the recursive common table it stands in.

    Raises
    ------
    BindingError
        RECURSIVE_RELATION.
    """
    defined = {
        table.name.upper()
        for with_list in lists
        if with_list.recursive
        for table in with_list.tables
        if table.start < clause < table.end
    }
    for token in source.tokens[start:clause]:
        if token.is_name and unquoted(token).upper() in defined:
            raise BindingError(
                "RECURSIVE_RELATION",
                "MATCH_RECOGNIZE cannot read the recursive table it helps to define.",
                clause="MATCH_RECOGNIZE",
                text=source.text,
                span=Span(token.start, token.end),
                found=token.text,
            )
