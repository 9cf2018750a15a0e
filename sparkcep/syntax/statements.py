"""MATCH_RECOGNIZE and match_pattern(TABLE(…) …) anywhere in a SQL statement: replaced by the name of a view.

What stands outside of them stays as it is, byte for byte, and is not parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparkcep.errors import BindingError, Span
from sparkcep.syntax.clause import MatchRecognize
from sparkcep.syntax.lexer import Token, tokenize
from sparkcep.syntax.match_recognize import clause_openings, parse_match_recognize, read_clause
from sparkcep.syntax.parameters import Parameters, filled
from sparkcep.syntax.relations import (
    SourceText,
    WithList,
    refuse_recursion,
    relation_alias,
    relation_start,
    visible_tables,
    with_lists,
)
from sparkcep.syntax.table_call import FUNCTION, TableCall, opens_table_call, read_table_call

_OBJECT_KINDS = ("VIEW", "TABLE", "FUNCTION", "PROCEDURE", "FLOW")
_HIDDEN_VIEW = "its rows come from a view that lives as long as the session"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One ``relation MATCH_RECOGNIZE (…)`` or ``match_pattern(TABLE(…) …)`` of a statement.

    Attributes
    ----------
    relation
        A query that returns the input rows, common tables it may name included; clauses inside of
        it are already replaced.
    relation_alias
        The name that qualifies the input's columns: its alias, else the last part of the table's name.
    clause
        The clause as a tree, or the arguments of the call.
    clause_text
        The clause as text, from the word MATCH_RECOGNIZE to its last bracket, or the call.
    span
        Place of relation and clause in the statement as it was given.
    shared
        Whether sessions share what the statement creates (a global temporary view), so that they have to
        share what takes the place of the clause.
    """

    relation: str
    relation_alias: str | None
    clause: MatchRecognize | TableCall
    clause_text: str
    span: Span
    shared: bool = False


def may_hold_clause(text: str) -> bool:
    """Tell quickly whether a text holds a word that could open a clause; most statements hold none.

    >>> may_hold_clause("SELECT 1"), may_hold_clause("SELECT 'match_pattern'")
    (False, True)
    """
    text = text.lower()
    return "match_recognize" in text or "match_pattern" in text


def rewrite(text: str, serve: Callable[[Occurrence], str], parameters: Parameters | None = None) -> str:
    """Replace every ``relation MATCH_RECOGNIZE (…)`` and ``match_pattern(TABLE(…) …)`` by the name of a view.

    Parameters
    ----------
    text
        One or more SQL statements; the word in strings, comments and names is left alone.
    serve
        Called for each occurrence, inner before outer and left before right; returns the text that
        takes its place. Aliases behind the clause stay as they are; none is added.
    parameters
        What the caller gives for ``?``, ``:name`` and ``{field}`` of statements that hold a clause. Inside of
        clauses they become literals; outside, ``?`` gets a name and ``:name`` stays.

    Returns
    -------
    str
        The text Spark can read; `text` itself if there is no clause in it.

    Raises
    ------
    PatternSyntaxError
        A clause, or what stands before it, cannot be read.
    BindingError
        PERSISTENT_OBJECT, LATERAL_RELATION, RECURSIVE_RELATION, SQL_SCRIPT: a clause may not stand there;
        UNBOUND_PARAMETER.

    Examples
    --------
    >>> rewrite("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a)) AS m", lambda found: "v1")
    'SELECT * FROM v1 AS m'
    """
    if not may_hold_clause(text):
        return text
    tokens = tokenize(text)
    words = [i for i in range(len(tokens) - 1) if _may_open_clause(tokens, i)]
    if not words:
        return text
    source = SourceText.of(text, tokens)
    rewriting = _Rewriting(source, serve, parameters or Parameters())
    for first, end in _statement_ranges(tokens):
        clauses = [i for i in words if first <= i < end and (_is_clause(source, i) or opens_table_call(source, i))]
        if clauses:
            _refuse_stored(source, first, end)
            lists = with_lists(source, first, end)
            rewriting.open_statement(first, end, clauses)
            for clause in sorted(clauses, key=lambda index: source.pairs[index + 1]):
                rewriting.replace(clause, first, lists)
    return rewriting.text_between(0, len(text))


def split_statements(text: str) -> list[str]:
    r"""Split a text at the semicolons between statements; what holds only blanks and comments is dropped.

    A compound statement (``BEGIN … END``) is not split: it lasts to the end of the text.

    Raises
    ------
    PatternSyntaxError
        UNCLOSED_QUOTE, UNCLOSED_COMMENT.

    Examples
    --------
    >>> split_statements("SELECT ';' -- one; two\n; SELECT 2;")
    ["SELECT ';' -- one; two", 'SELECT 2']
    """
    tokens = tokenize(text)
    statements = []
    for first, end in _statement_ranges(tokens):
        start = tokens[first - 1].end if first else 0
        stop = tokens[end].start if end < len(tokens) else len(text)
        statements.append(text[start:stop].strip())
    return statements


def _statement_ranges(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the token ranges between semicolons, without the empty ones."""
    ranges: list[tuple[int, int]] = []
    first = 0
    for index, token in enumerate(tokens):
        if index == first and _opens_script(tokens, index):
            break
        if token.is_symbol(";"):
            ranges.append((first, index))
            first = index + 1
    ranges.append((first, len(tokens)))
    return [(start, end) for start, end in ranges if start < end]


def _opens_script(tokens: Sequence[Token], index: int) -> bool:
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    is_transaction = following is None or following.is_symbol(";") or following.keyword in ("TRANSACTION", "WORK")
    return tokens[index].keyword == "BEGIN" and not is_transaction


def _may_open_clause(tokens: Sequence[Token], index: int) -> bool:
    if tokens[index].keyword not in ("MATCH_RECOGNIZE", FUNCTION) or not tokens[index + 1].is_symbol("("):
        return False
    return index == 0 or not (tokens[index - 1].keyword == "AS" or tokens[index - 1].is_symbol("."))


def _is_clause(source: SourceText, index: int) -> bool:
    """Whether it is a clause, and not an alias, a common table or a function that is called like it."""
    if source.tokens[index].keyword != "MATCH_RECOGNIZE":
        return False
    start, end = index + 2, source.pairs[index + 1]
    return next(clause_openings(source.tokens, source.pairs, start, end), None) is not None


class _Rewriting:
    def __init__(self, source: SourceText, serve: Callable[[Occurrence], str], parameters: Parameters) -> None:
        self._source = source
        self._serve = serve
        self._parameters = parameters
        self._replaced: list[tuple[int, int, str]] = []
        self._shared = False

    def open_statement(self, first: int, end: int, clauses: Sequence[int]) -> None:
        """Fill in the parameters of the statement in a token range."""
        self._shared = _creates_global_view(self._source, first, end)
        self._replaced += filled(self._source, first, end, clauses, self._parameters, self._shared)

    def replace(self, clause: int, first: int, lists: Sequence[WithList]) -> None:
        """Serve the clause or call at token `clause` of the statement that starts at token `first`."""
        source, tokens = self._source, self._source.tokens
        if tokens[clause].keyword == FUNCTION:
            self._replace_call(clause, lists)
            return
        start = relation_start(source, clause, first)
        refuse_recursion(source, lists, start, clause)
        span = Span(tokens[start].start, tokens[source.pairs[clause + 1]].end)
        clause_text = self.text_between(tokens[clause].start, span.end)
        if clause_text == source.text[tokens[clause].start : span.end]:
            tree = read_clause(tokens, source.pairs, clause + 1, source.text)
        else:
            tree = parse_match_recognize(clause_text)
        relation = "SELECT * FROM " + self.text_between(span.start, tokens[clause - 1].end)
        occurrence = Occurrence(
            relation=self._with_tables(visible_tables(source, lists, start), relation),
            relation_alias=relation_alias(source, start, clause),
            clause=tree,
            clause_text=clause_text,
            span=span,
            shared=self._shared,
        )
        self._put(span, self._serve(occurrence))

    def _replace_call(self, word: int, lists: Sequence[WithList]) -> None:
        source, tokens = self._source, self._source.tokens
        start, end = word + 4, source.pairs[word + 3]
        refuse_recursion(source, lists, start, end)
        inside = self.text_between(tokens[start - 1].end, tokens[end].start)
        span = Span(tokens[word].start, tokens[source.pairs[word + 1]].end)
        call_text = self.text_between(span.start, span.end)
        if call_text == source.text[span.start : span.end]:
            call = read_table_call(source, word)
        else:
            call = read_table_call(SourceText.of(call_text), 0)
        relation = f"SELECT * FROM ({inside})" if call.is_query else f"SELECT * FROM {inside}"
        occurrence = Occurrence(
            relation=self._with_tables(visible_tables(source, lists, start), relation),
            relation_alias=call.alias,
            clause=call,
            clause_text=source.text[span.start : span.end],
            span=span,
            shared=self._shared,
        )
        self._put(span, self._serve(occurrence))

    def text_between(self, start: int, end: int) -> str:
        """Return the text between two offsets, clauses in it already replaced."""
        pieces: list[str] = []
        for piece_start, piece_end, replacement in sorted(self._replaced):
            if start <= piece_start and piece_end <= end:
                pieces += (self._source.text[start:piece_start], replacement)
                start = piece_end
        return "".join(pieces) + self._source.text[start:end]

    def _put(self, span: Span, replacement: str) -> None:
        """Remember a replacement, kept apart from a word that touches it; it covers those inside of it."""
        before, behind = self._source.text[: span.start][-1:], self._source.text[span.end :][:1]
        padded = " " * _is_word(before) + replacement + " " * _is_word(behind)
        outside = [piece for piece in self._replaced if not span.start <= piece[0] < span.end]
        self._replaced = [*outside, (span.start, span.end, padded)]

    def _with_tables(self, lists: Sequence[WithList], query: str) -> str:
        """Put the WITH lists in front of a query; inner lists nest, so that their names hide outer ones."""
        for position, with_list in enumerate(reversed(lists)):
            tokens = self._source.tokens
            tables = [
                self.text_between(tokens[table.start].start, tokens[table.end - 1].end) for table in with_list.tables
            ]
            word = "WITH RECURSIVE" if with_list.recursive else "WITH"
            query = f"{word} {', '.join(tables)} " + (f"({query})" if position else query)
        return query


def _is_word(character: str) -> bool:
    return bool(character) and (character.isalnum() or character in "_`\"'")


def _created(source: SourceText, first: int, end: int) -> tuple[int, list[str], int]:
    """Return the first token of what is explained, if anything, its words, and the index of what they create.

    The index is -1 where they create or change no object.
    """
    words = [token.keyword for token in source.tokens[first : min(first + 16, end)]]
    skipped = 0
    if words[0] == "EXPLAIN":
        skipped = 2 if words[1] in ("EXTENDED", "CODEGEN", "COST", "FORMATTED") else 1
    words = words[skipped:]
    kind = next((i for i, word in enumerate(words) if word in _OBJECT_KINDS), -1)
    return first + skipped, words, kind if words[:1] in (["CREATE"], ["ALTER"]) else -1


def _is_temporary_view(words: Sequence[str], kind: int) -> bool:
    return kind > 0 and words[kind] == "VIEW" and bool({"TEMPORARY", "TEMP"} & set(words[:kind]))


def _creates_global_view(source: SourceText, first: int, end: int) -> bool:
    _, words, kind = _created(source, first, end)
    return _is_temporary_view(words, kind) and "GLOBAL" in words[:kind]


def _refuse_stored(source: SourceText, first: int, end: int) -> None:
    """Refuse statements that keep the query for later, when the view behind the clause is gone."""
    if _opens_script(source.tokens, first):
        raise _refused(source, first, first, "SQL_SCRIPT", "A compound statement cannot hold MATCH_RECOGNIZE")
    start, words, kind = _created(source, first, end)
    is_table = words[kind] == "TABLE" and "STREAMING" not in words[1:kind]
    if kind < 0 or is_table or _is_temporary_view(words, kind):
        return
    what = " ".join(words[1 : kind + 1]).replace("OR REPLACE ", "").replace("OR REFRESH ", "")
    message = f"{words[0]} {what} would outlive what MATCH_RECOGNIZE reads"
    raise _refused(source, start, start + kind, "PERSISTENT_OBJECT", message)


def _refused(source: SourceText, start: int, end: int, code: str, message: str) -> BindingError:
    span = Span(source.tokens[start].start, source.tokens[end].end)
    return BindingError(
        code,
        f"{message}: {_HIDDEN_VIEW}.",
        clause="MATCH_RECOGNIZE",
        text=source.text,
        span=span,
        found=source.text[span.start : span.end],
        allowed="a query, EXPLAIN, CREATE [GLOBAL] TEMPORARY VIEW, CREATE TABLE … AS, INSERT",
    )
