"""Statements written for Trino, Oracle, Snowflake or Flink, translated into what Spark and this library read.

Expressions, and the text around the clauses, are translated by sqlglot. What differs inside the clause is ours:
where NULL sorts, where the search goes on by default, whether a window includes its edge, how DEFINE names the
neighbouring rows. Every change is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import sqlglot
from sqlglot.errors import SqlglotError

from sparkcep.errors import PatternSyntaxError, did_you_mean
from sparkcep.syntax.clause import AfterMatch, Fragment, MatchRecognize
from sparkcep.syntax.lexer import Token, tokenize
from sparkcep.syntax.match_recognize import print_clause
from sparkcep.syntax.pattern import NOWHERE
from sparkcep.syntax.statements import Occurrence, rewrite
from sparkcep.syntax.table_call import TableCall

# Functions over the rows of a match keep their names and arguments: sqlglot knows none of them as they are meant
# here, and drops the offset of FIRST and LAST on the way to Spark.
_OF_ROWS = frozenset({
    "FIRST", "LAST", "PREV", "NEXT", "LAG", "LEAD", "CLASSIFIER", "MATCH_NUMBER", "ARRAY_AGG",
})  # fmt: skip
_KEPT = "sparkcep_kept_"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a system does where another does something else.

    Attributes
    ----------
    name
        As people write it.
    grammar
        The name of sqlglot's dialect; None where expressions are read as Spark's.
    nulls
        Where NULL sorts if nothing is said: last, as the largest value, as the smallest value (as Spark does).
    default_skip
        Where the search goes on if nothing is said.
    inclusive
        Whether a match of exactly the length of WITHIN is one.
    whole_quotients
        Whether ``7 / 2`` is 3. What is divided has types that the text does not tell, so this is only told.
    neighbours
        Names of PREV and NEXT in DEFINE, if others.
    """

    name: str
    grammar: str | None
    nulls: Literal["last", "largest", "smallest"]
    default_skip: Literal["past last row", "to next row"] = "past last row"
    inclusive: bool = True
    whole_quotients: bool = False
    neighbours: Mapping[str, str] = field(default_factory=dict)


DIALECTS: Mapping[str, Dialect] = {
    "trino": Dialect("Trino", "trino", "last", whole_quotients=True),
    "oracle": Dialect("Oracle", "oracle", "largest"),
    "snowflake": Dialect("Snowflake", "snowflake", "largest", neighbours={"LAG": "PREV", "LEAD": "NEXT"}),
    "flink": Dialect("Flink", None, "smallest", default_skip="to next row", inclusive=False, whole_quotients=True),
}


@dataclass(frozen=True, slots=True)
class Translation:
    """A statement in the words of Spark and of this library.

    Attributes
    ----------
    text
        The statement; comments of the original are lost.
    changes
        One sentence for each difference that was translated, in the order of the clauses.
    """

    text: str
    changes: tuple[str, ...]


def translate(text: str, dialect: str) -> Translation:
    """Translate a statement with MATCH_RECOGNIZE clauses from another system's SQL.

    Parameters
    ----------
    text
        One statement as that system reads it.
    dialect
        "trino", "oracle", "snowflake" or "flink". Flink's expressions are read as Spark's.

    Raises
    ------
    PatternSyntaxError
        UNKNOWN_DIALECT; UNREADABLE_EXPRESSION: sqlglot cannot read it as that dialect's; what `sparkcep.sql` raises
        for clauses that cannot be read.

    Examples
    --------
    >>> found = translate("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b) DEFINE b AS x > a.x)", "trino")
    >>> found.changes
    ('ORDER BY ts: NULLS LAST added, where Trino sorts NULL and Spark does not',)
    """
    key = dialect.lower()
    if key not in DIALECTS:
        raise PatternSyntaxError(
            "UNKNOWN_DIALECT",
            "There is no dialect of this name.",
            clause="dialect",
            found=dialect,
            allowed=", ".join(DIALECTS),
            hint=did_you_mean(key, DIALECTS),
        )
    return _Translating(text, DIALECTS[key]).translation()


class _Translating:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect
        self._served: list[tuple[Occurrence, str, str]] = []
        self._changes: list[str] = []

    def translation(self) -> Translation:
        around = rewrite(self._text, self._serve)
        text = self._query(around)
        if _letters(text) != _letters(around):
            self._changes.append("around the clauses the text was translated too")
        # What was served last lies outside of what was served before.
        for number in range(len(self._served) - 1, -1, -1):
            _, relation, clause = self._served[number]
            before, _, behind = text.partition(_placeholder(number))
            text = f"{before}{relation} {clause}{behind}"
        return Translation(text, tuple(self._changes))

    def _serve(self, occurrence: Occurrence) -> str:
        clause = occurrence.clause
        if isinstance(clause, TableCall):
            raise PatternSyntaxError(
                "UNREADABLE_EXPRESSION",
                f"match_pattern is no function of {self._dialect.name}.",
                clause="dialect",
                text=self._text,
                span=occurrence.span,
                found="match_pattern",
                allowed="MATCH_RECOGNIZE",
            )
        relation = self._query("SELECT * FROM " + self._relation(occurrence)).removeprefix("SELECT * FROM ")
        self._served.append((occurrence, relation, print_clause(self._clause(clause))))
        return _placeholder(len(self._served) - 1)

    def _relation(self, occurrence: Occurrence) -> str:
        """Return the relation as it stands in the statement, clauses in it already replaced."""
        start, end = occurrence.span.start, occurrence.span.end - len(occurrence.clause_text)
        spans = {number: inner.span for number, (inner, _, _) in enumerate(self._served)}
        inside = {number: span for number, span in spans.items() if start <= span.start and span.end <= end}
        pieces = []
        for number, span in sorted(inside.items(), key=lambda item: (item[1].start, -item[1].end)):
            # One that lies inside of another has been replaced with it.
            if start <= span.start:
                pieces += [self._text[start : span.start], _placeholder(number)]
                start = span.end
        return "".join([*pieces, self._text[start:end]]).strip()

    def _clause(self, clause: MatchRecognize) -> MatchRecognize:
        within, after = clause.within, clause.after_match
        if within is not None and not within.stated and not self._dialect.inclusive:
            within = replace(within, inclusive=False, stated=True)
            self._changes.append(f"WITHIN: EXCLUSIVE added, as {self._dialect.name} leaves the edge out")
        if after.span == NOWHERE and after.mode != self._dialect.default_skip:
            after = AfterMatch(self._dialect.default_skip)
            skip = f"SKIP {after.mode.upper()}"
            self._changes.append(f"AFTER MATCH {skip} added, which is the default of {self._dialect.name}")
        return replace(
            clause,
            partition_by=tuple(self._expression(item, "PARTITION BY") for item in clause.partition_by),
            order_by=tuple(self._order(item) for item in clause.order_by),
            measures=tuple(
                replace(item, expression=self._expression(item.expression, f"MEASURES {item.name}"))
                for item in clause.measures
            ),
            within=within,
            after_match=after,
            definitions=tuple(
                replace(item, condition=self._expression(item.condition, f"DEFINE {item.variable}", defines=True))
                for item in clause.definitions
            ),
        )

    def _order(self, item: Fragment) -> Fragment:
        """Translate what is sorted by, and say where NULL sorts if that differs."""
        tokens = tokenize(item.text)
        words = [token.keyword for token in tokens]
        nulls = " ".join(words[-2:]) if words[-2:-1] == ["NULLS"] else ""
        kept = len(tokens) - 2 * bool(nulls)
        direction = words[kept - 1] if kept > 1 and words[kept - 1] in ("ASC", "DESC") else ""
        kept -= bool(direction)
        expression = item.text[tokens[0].start : tokens[kept - 1].end]
        text = self._expression(Fragment(expression), "ORDER BY").text
        if not nulls:
            nulls = self._nulls(direction == "DESC")
            if nulls:
                where = f"where {self._dialect.name} sorts NULL and Spark does not"
                self._changes.append(f"ORDER BY {item.text}: {nulls} added, {where}")
        return Fragment(" ".join(filter(None, (text, direction, nulls))))

    def _nulls(self, descending: bool) -> str:
        """Return what to add; Spark sorts NULL as the smallest value."""
        if self._dialect.nulls == "smallest":
            return ""
        if not descending:
            return "NULLS LAST"
        return "NULLS FIRST" if self._dialect.nulls == "largest" else ""

    def _expression(self, item: Fragment, clause: str, *, defines: bool = False) -> Fragment:
        renamed = self._dialect.neighbours if defines else {}
        text = item.text
        if renamed:
            text = _with_names(text, renamed)
            for old in (name for name in renamed if text != item.text and _calls(item.text, name)):
                self._changes.append(f"{clause}: {old} became {renamed[old]}")
        translated = self._spark(text, clause)
        if _letters(translated) != _letters(text):
            self._changes.append(f"{clause}: {text} became {translated}")
        if self._dialect.whole_quotients and any(token.is_symbol("/") for token in tokenize(text)):
            self._changes.append(
                f"{clause}: / stays, though {self._dialect.name} cuts quotients of integers; DIV does so here"
            )
        return Fragment(translated)

    def _spark(self, expression: str, clause: str) -> str:
        if self._dialect.grammar is None:
            return expression
        kept = _with_rows_kept(expression)
        try:
            tree = sqlglot.parse_one(kept, read=self._dialect.grammar)
        except SqlglotError as error:
            raise self._unreadable(expression, clause, error) from None
        return _with_rows_again(str(tree.sql(dialect="spark")))

    def _query(self, text: str) -> str:
        if self._dialect.grammar is None:
            return text
        try:
            statement: str
            (statement,) = sqlglot.transpile(text, read=self._dialect.grammar, write="spark")
        except (SqlglotError, ValueError) as error:
            raise self._unreadable(text, "statement", error) from None
        return statement

    def _unreadable(self, text: str, clause: str, error: Exception) -> PatternSyntaxError:
        told = str(error).splitlines()[0] if str(error) else "it is not one statement"
        return PatternSyntaxError(
            "UNREADABLE_EXPRESSION",
            f"This cannot be read as {self._dialect.name}'s SQL: {told}",
            clause=clause,
            found=text,
        )


def _placeholder(number: int) -> str:
    """Name what stands for a clause and its input while the text around them is translated."""
    return f"sparkcep_clause_{number}_here"


def _is_call(tokens: tuple[Token, ...], index: int) -> bool:
    return index + 1 < len(tokens) and tokens[index + 1].is_symbol("(")


def _calls(text: str, name: str) -> bool:
    tokens = tokenize(text)
    return any(token.keyword == name and _is_call(tokens, index) for index, token in enumerate(tokens))


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """Rename functions."""
    tokens = tokenize(text)
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if token.keyword in names and _is_call(tokens, index):
            text = text[: token.start] + names[token.keyword] + text[token.end :]
    return text


def _with_rows_kept(text: str) -> str:
    """Hide functions over rows behind names that sqlglot does not know, RUNNING and FINAL with them.

    >>> _with_rows_kept("FINAL LAST(a.x, 1) > PREV(x)")
    'sparkcep_kept_FINAL__LAST(a.x, 1) > sparkcep_kept_PREV(x)'
    """
    tokens = tokenize(text)
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        mode = tokens[index - 1] if index and tokens[index - 1].keyword in ("RUNNING", "FINAL") else None
        if not _is_call(tokens, index) or not token.keyword or not (mode or token.keyword in _OF_ROWS):
            continue
        start, prefix = (mode.start, f"{mode.keyword}__") if mode else (token.start, "")
        text = f"{text[:start]}{_KEPT}{prefix}{token.text}{text[token.end :]}"
    return text


def _with_rows_again(text: str) -> str:
    return re.sub(rf"(?i){_KEPT}((?:RUNNING|FINAL)__)?", lambda m: (m[1] or "").replace("__", " ").upper(), text)


def _letters(text: str) -> str:
    """Return what makes two spellings the same: no blanks, no case, one way to quote names."""
    return re.sub(r"\s+", "", text).replace('"', "").replace("`", "").upper()
