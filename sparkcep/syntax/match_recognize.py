"""Parser and printer of the MATCH_RECOGNIZE clause (ISO/IEC 19075-5, 4; SQL:2016 R010).

The clauses are found first, by the words that open them outside of brackets; then each is read on
its own. Expressions are not read: they are cut out by the position of their tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from sparkcep.errors import PatternSyntaxError, Span
from sparkcep.syntax.clause import (
    AfterMatch,
    Definition,
    Fragment,
    MatchRecognize,
    Measure,
    RowsPerMatch,
    SkipMode,
    Subset,
    Within,
)
from sparkcep.syntax.durations import parse_within, within_text
from sparkcep.syntax.fragments import is_finished, measure_text, spliced, top_level
from sparkcep.syntax.lexer import Token, closing_brackets, split_top_level, tokenize, unquoted
from sparkcep.syntax.pattern import NOWHERE, RowPattern, name_text
from sparkcep.syntax.row_pattern import parse_row_pattern, variable_name

_ORDER = (
    "PARTITION BY",
    "ORDER BY",
    "MEASURES",
    "ROWS PER MATCH",
    "AFTER MATCH",
    "PATTERN",
    "WITHIN",
    "SUBSET",
    "DEFINE",
)
_ORDER_TEXT = (
    "PARTITION BY …, ORDER BY …, MEASURES …, ONE ROW PER MATCH | ALL ROWS PER MATCH …, AFTER MATCH SKIP …, "
    "PATTERN (…), WITHIN …, SUBSET …, DEFINE …, in this order"
)
_ROWS_PER_MATCH: Mapping[tuple[str, ...], RowsPerMatch] = {
    (): "all",
    ("SHOW", "EMPTY"): "all",
    ("OMIT", "EMPTY"): "all omit empty",
    ("WITH", "UNMATCHED"): "all with unmatched",
}
_ROWS_TEXT: Mapping[RowsPerMatch, str] = {
    "one": "ONE ROW PER MATCH",
    "all": "ALL ROWS PER MATCH",
    "all omit empty": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "all with unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}
_ROWS_ALLOWED = tuple(f"{text}{' [SHOW EMPTY MATCHES]' if mode == 'all' else ''}" for mode, text in _ROWS_TEXT.items())
_SKIP_ALLOWED = (
    "SKIP PAST LAST ROW",
    "SKIP TO NEXT ROW",
    "SKIP TO FIRST variable",
    "SKIP TO LAST variable",
    "SKIP TO variable",
)
_NEVER_A_MEASURE_NAME = frozenset({"NULL", "TRUE", "FALSE", "END"})


class _Section(NamedTuple):
    """One clause: its name, the token that opens it, and the token range of what it says."""

    name: str
    opener: Token
    start: int
    end: int


def parse_match_recognize(text: str, *, source: str | None = None, offset: int = 0) -> MatchRecognize:
    """Read a whole ``MATCH_RECOGNIZE ( … )`` clause.

    Parameters
    ----------
    text
        The clause from its first word to its last bracket.
    source, offset
        The text that `text` was cut from, and where: spans and errors then speak of `source`.

    Returns
    -------
    MatchRecognize
        Expressions as fragments of the text; names of variables in normal form.

    Raises
    ------
    PatternSyntaxError
        With the clause named and the offending piece underlined.

    Examples
    --------
    >>> clause = parse_match_recognize("MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b+) DEFINE b AS x > 1)")
    >>> str(clause.pattern), clause.definitions[0].condition.text
    ('A B+', 'x > 1')
    """
    shown = text if source is None else source
    tokens = tokenize(text, clause="MATCH_RECOGNIZE", source=source, offset=offset)
    pairs = paired(tokens, shown)
    if len(tokens) < 2 or tokens[0].keyword != "MATCH_RECOGNIZE" or 1 not in pairs or not tokens[1].is_symbol("("):
        raise PatternSyntaxError(
            "UNEXPECTED_TOKEN",
            "This is no MATCH_RECOGNIZE clause.",
            text=shown,
            span=tokens[0].span if tokens else Span(offset, offset),
            found=tokens[0].text if tokens else "end of text",
            allowed="MATCH_RECOGNIZE ( … )",
        )
    if pairs[1] != len(tokens) - 1:
        stray = tokens[pairs[1] + 1]
        raise PatternSyntaxError(
            "UNEXPECTED_TOKEN",
            "Nothing may stand behind the clause.",
            clause="MATCH_RECOGNIZE",
            text=shown,
            span=stray.span,
            found=stray.text,
        )
    return read_clause(tokens, pairs, 1, shown)


def read_clause(tokens: Sequence[Token], pairs: Mapping[int, int], opening: int, text: str) -> MatchRecognize:
    """Read the clause whose bracket is ``tokens[opening]``; the tokens have offsets in `text`."""
    return _Reader(tokens, pairs, text).clause(opening + 1, pairs[opening])


def parse_rows_per_match(text: str) -> RowsPerMatch:
    """Read one · all · all show empty · all omit empty · all with unmatched, or the SQL spelling, in any case.

    Raises
    ------
    PatternSyntaxError
        INVALID_ROWS_PER_MATCH.

    Examples
    --------
    >>> parse_rows_per_match("ALL ROWS PER MATCH OMIT EMPTY MATCHES")
    'all omit empty'
    """
    tokens = tokenize(text, clause="rows_per_match")
    return _Reader(tokens, {}, text).rows_per_match(_Section("rows_per_match", _nowhere(text), 0, len(tokens)))


def parse_after_match(text: str) -> AfterMatch:
    """Read past last row · to next row · to first X · to last X · to X, with or without AFTER MATCH SKIP.

    Raises
    ------
    PatternSyntaxError
        INVALID_AFTER_MATCH.

    Examples
    --------
    >>> parse_after_match("to first b").target
    'B'
    """
    tokens = tokenize(text, clause="after_match")
    return _Reader(tokens, {}, text).after_match(_Section("after_match", _nowhere(text), 0, len(tokens)))


def _nowhere(text: str) -> Token:
    return Token("operator", "", 0, len(text))


def paired(tokens: Sequence[Token], text: str) -> dict[int, int]:
    """Pair the brackets of a text that holds MATCH_RECOGNIZE clauses; see `closing_brackets`.

    Raises
    ------
    PatternSyntaxError
        UNBALANCED_BRACKET, with the clause that the bracket stands in.
    """
    try:
        return closing_brackets(tokens, text=text)
    except PatternSyntaxError as error:
        span = error.span or Span(0, 0)
        raise PatternSyntaxError(
            error.code,
            error.message,
            clause=_clause_around(tokens, span.start),
            text=text,
            span=span,
            found=error.found,
            allowed=error.allowed,
        ) from None


def _clause_around(tokens: Sequence[Token], offset: int) -> str | None:
    """Return the clause that the character at `offset` stands in, as far as the words before it tell.

    For texts whose brackets do not match, so that nothing of them can be read yet.
    """
    end = sum(token.start < offset for token in tokens)
    opened = [
        index
        for index in range(min(end, len(tokens) - 1))
        if tokens[index].keyword == "MATCH_RECOGNIZE" and tokens[index + 1].is_symbol("(")
    ]
    if not opened:
        return None
    names = [name for name, _, _ in clause_openings(tokens, _pairs_before(tokens, end), opened[-1] + 2, end)]
    return names[-1] if names else "MATCH_RECOGNIZE"


def _pairs_before(tokens: Sequence[Token], end: int) -> dict[int, int]:
    """Pair those brackets of the first `end` tokens that match."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for index in range(end):
        if tokens[index].is_symbol("("):
            opened.append(index)
        elif tokens[index].is_symbol(")") and opened:
            pairs[opened.pop()] = index
    return pairs


def clause_openings(
    tokens: Sequence[Token], pairs: Mapping[int, int], start: int, end: int
) -> Iterator[tuple[str, int, int]]:
    """Find the clauses in a token range, outside of brackets.

    Yields
    ------
    (name, index, content)
        Name as in the standard, index of the opening word and of the first token of the content.
    """
    index, content = start, -1
    while index < end:
        previous = tokens[index - 1] if index > start else None
        name, length = _opening(tokens[index : min(index + 4, end)], previous, index == content)
        if name:
            content = index + length
            yield name, index, content
        index = max(pairs.get(index, index) + 1, content)


def _opening(ahead: Sequence[Token], previous: Token | None, starts_content: bool) -> tuple[str, int]:
    """Return the name of the clause that opens here, if one does, and how many tokens are not its content."""
    words = [token.keyword or token.text for token in ahead] + [""] * (4 - len(ahead))
    if not ahead[0].keyword or (previous and (previous.is_symbol(".") or previous.keyword == "AS")):
        return "", 0
    match words:
        case ["PARTITION" | "ORDER" as word, "BY", *_]:
            return f"{word} BY", 2
        case ["ONE" | "ALL", "ROW" | "ROWS", "PER", "MATCH"]:
            return "ROWS PER MATCH", 0
        case ["AFTER", "MATCH", *_]:
            return "AFTER MATCH", 0
        case ["INITIAL" | "SEEK" as word, "PATTERN", *_]:
            return word, 1
        case ["PATTERN", "(", *_] | ["SUBSET", _, "=", "("] | ["DEFINE", _, "AS", _]:
            return words[0], 1
        case ["MEASURES" | "PATTERN" | "WITHIN" | "SUBSET" | "DEFINE" as word, follower, *_]:
            names_something = starts_content or follower in (",", ".", "GROUP")
            return ("", 0) if names_something or not is_finished(previous) else (word, 1)
    return "", 0


class _Reader:
    def __init__(self, tokens: Sequence[Token], pairs: Mapping[int, int], text: str) -> None:
        self._tokens = tokens
        self._pairs = pairs
        self._text = text

    def clause(self, start: int, end: int) -> MatchRecognize:
        sections = self._sections(start, end)

        def ranges(name: str) -> list[tuple[int, int]]:
            return self._items(sections[name]) if name in sections else []

        if "PATTERN" not in sections:
            self._fail("MISSING_PATTERN", "The clause has no PATTERN.", self._tokens[end], allowed=_ORDER_TEXT)
        rows, after, within = (sections.get(name) for name in ("ROWS PER MATCH", "AFTER MATCH", "WITHIN"))
        return MatchRecognize(
            pattern=self._pattern(sections["PATTERN"]),
            partition_by=tuple(self._fragment(*item) for item in ranges("PARTITION BY")),
            order_by=tuple(self._fragment(*item) for item in ranges("ORDER BY")),
            measures=tuple(self._measure(*item) for item in ranges("MEASURES")),
            rows_per_match=self.rows_per_match(rows) if rows else "one",
            after_match=self.after_match(after) if after else AfterMatch(),
            subsets=tuple(self._subset(*item) for item in ranges("SUBSET")),
            within=self._within(within) if within else None,
            definitions=tuple(self._definition(*item) for item in ranges("DEFINE")),
            source=self._text,
            opener=self._tokens[max(start - 2, 0)].span,
            rows_span=self._section_span(rows) if rows else NOWHERE,
        )

    def _sections(self, start: int, end: int) -> dict[str, _Section]:
        openings = list(clause_openings(self._tokens, self._pairs, start, end))
        first = openings[0][1] if openings else end
        if first > start:
            self._fail(
                "UNEXPECTED_TOKEN",
                "No clause of MATCH_RECOGNIZE opens with this.",
                self._tokens[start],
                allowed=_ORDER_TEXT,
            )
        ends = [index for _, index, _ in openings[1:]] + [end] * bool(openings)
        sections: dict[str, _Section] = {}
        for (name, index, content), content_end in zip(openings, ends, strict=True):
            section = _Section(name, self._tokens[index], content, content_end)
            self._check_place(section, sections)
            sections[name] = section
        return sections

    def _check_place(self, section: _Section, before: Mapping[str, _Section]) -> None:
        name = section.name
        if name in ("INITIAL", "SEEK"):
            self._fail(
                "UNSUPPORTED_CLAUSE",
                f"{name} belongs to row patterns in windows (R020), not to MATCH_RECOGNIZE.",
                section.opener,
                allowed="PATTERN",
            )
        if name in before:
            self._fail("CLAUSE_TWICE", f"{name} stands here twice.", section.opener, allowed=_ORDER_TEXT)
        later = [other for other in before if _ORDER.index(other) > _ORDER.index(name)]
        if later:
            self._fail(
                "CLAUSE_OUT_OF_ORDER", f"{name} must stand before {later[0]}.", section.opener, allowed=_ORDER_TEXT
            )

    # Lists of expressions.

    def _items(self, section: _Section) -> list[tuple[int, int]]:
        items = split_top_level(self._tokens, self._pairs, section.start, section.end)
        for start, end in items:
            if start == end:
                self._fail("MISSING_ITEM", "Something is missing here.", self._tokens[end], section.name)
        return items

    def _fragment(self, start: int, end: int) -> Fragment:
        span = Span(self._tokens[start].start, self._tokens[end - 1].end)
        return Fragment(self._text[span.start : span.end], span, self._text)

    def _measure(self, start: int, end: int) -> Measure:
        last = self._tokens[end - 1]
        before = self._tokens[end - 2] if end - start >= 2 else None
        explicit = before is not None and before.keyword == "AS"
        expression_end = end - 2 if explicit else end - 1
        implicit = not explicit and before is not None and self._is_bare_name(before, last)
        named = last.is_name and (explicit or implicit) and expression_end > start
        if not named or any(self._tokens[i].keyword == "AS" for i in top_level(self._pairs, start, expression_end)):
            self._fail("MEASURE_WITHOUT_NAME", "A measure needs one name.", last, "MEASURES", "expression AS name")
        return Measure(unquoted(last), self._fragment(start, expression_end), last.span)

    def _is_bare_name(self, before: Token, last: Token) -> bool:
        return is_finished(before) and last.keyword not in _NEVER_A_MEASURE_NAME

    def _definition(self, start: int, end: int) -> Definition:
        name = self._tokens[start]
        if end - start < 3 or not name.is_name or self._tokens[start + 1].keyword != "AS":
            self._fail("INVALID_DEFINITION", "This defines no variable.", name, "DEFINE", "variable AS condition")
        return Definition(self._name(name, "DEFINE"), self._fragment(start + 2, end), name.span)

    def _subset(self, start: int, end: int) -> Subset:
        tokens, opening = self._tokens, start + 2
        well_formed = (
            end - start >= 5
            and tokens[start].is_name
            and tokens[start + 1].is_symbol("=")
            and tokens[opening].is_symbol("(")
            and self._pairs.get(opening) == end - 1
        )
        members = split_top_level(tokens, self._pairs, opening + 1, end - 1) if well_formed else []
        if not members or any(last - first != 1 or not tokens[first].is_name for first, last in members):
            self._fail("INVALID_SUBSET", "This is no union of variables.", tokens[start], "SUBSET", "name = (A, B, …)")
        return Subset(
            self._name(tokens[start], "SUBSET"),
            tuple(self._name(tokens[first], "SUBSET") for first, _ in members),
            Span(tokens[start].start, tokens[end - 1].end),
            tokens[start].span,
            tuple(tokens[first].span for first, _ in members),
            self._text,
        )

    # The other clauses.

    def rows_per_match(self, section: _Section) -> RowsPerMatch:
        words = tuple(token.keyword for token in self._tokens[section.start : section.end])
        mode: RowsPerMatch | None = None
        if words in (("ONE",), ("ONE", "ROW", "PER", "MATCH")):
            mode = "one"
        elif words[:1] == ("ALL",):
            rest = words[4:] if words[1:4] == ("ROWS", "PER", "MATCH") else words[1:]
            noun = ("ROWS",) if rest[:1] == ("WITH",) else ("MATCHES",)
            mode = _ROWS_PER_MATCH.get(rest[:2] if rest[2:] == noun else rest)
        if mode is None:
            self._fail_section("INVALID_ROWS_PER_MATCH", "The rows per match cannot be read.", section, _ROWS_ALLOWED)
        return mode

    def after_match(self, section: _Section) -> AfterMatch:
        tokens = self._tokens[section.start : section.end]
        words = [token.keyword for token in tokens]
        skipped = 2 if words[:2] == ["AFTER", "MATCH"] else 0
        skipped += words[skipped : skipped + 1] == ["SKIP"]
        mode: SkipMode | None = None
        match words[skipped:]:
            case ["PAST", "LAST", "ROW"]:
                mode = "past last row"
            case ["TO", "NEXT", "ROW"]:
                mode = "to next row"
            case ["TO", "FIRST", _]:
                mode = "to first"
            case ["TO", "LAST", _]:
                mode = "to last"
            case ["TO", word] if word not in ("FIRST", "LAST", "NEXT"):
                mode = "to last"
        has_target = mode in ("to first", "to last")
        if mode is None or (has_target and not tokens[-1].is_name):
            message = "The place where the search goes on cannot be read."
            self._fail_section("INVALID_AFTER_MATCH", message, section, _SKIP_ALLOWED)
        target = self._name(tokens[-1], section.name) if has_target else None
        target_span = tokens[-1].span if has_target else NOWHERE
        return AfterMatch(mode, target, self._section_span(section), target_span, self._text)

    def _pattern(self, section: _Section) -> RowPattern:
        opening = section.start
        if opening not in self._pairs or not self._tokens[opening].is_symbol("("):
            self._fail("UNEXPECTED_TOKEN", "PATTERN needs brackets.", self._tokens[opening], "PATTERN", "(")
        closing = self._pairs[opening]
        if closing + 1 < section.end:
            stray = self._tokens[closing + 1]
            self._fail(
                "UNEXPECTED_TOKEN", "This cannot stand behind PATTERN.", stray, "PATTERN", "WITHIN, SUBSET, DEFINE, )"
            )
        start, end = self._tokens[opening].end, self._tokens[closing].start
        return parse_row_pattern(self._text[start:end], source=self._text, offset=start)

    def _within(self, section: _Section) -> Within:
        span = self._section_span(section)
        return parse_within(self._text[span.start : span.end], source=self._text, offset=span.start)

    def _name(self, token: Token, clause: str) -> str:
        return variable_name(token, text=self._text, clause=clause)

    def _section_span(self, section: _Section) -> Span:
        if section.start == section.end:
            return section.opener.span
        return Span(self._tokens[section.start].start, self._tokens[section.end - 1].end)

    # Failing.

    def _fail(
        self,
        code: str,
        message: str,
        token: Token,
        clause: str = "MATCH_RECOGNIZE",
        allowed: str | None = None,
    ) -> NoReturn:
        raise PatternSyntaxError(
            code, message, clause=clause, text=self._text, span=token.span, found=token.text, allowed=allowed
        )

    def _fail_section(self, code: str, message: str, section: _Section, allowed: Sequence[str]) -> NoReturn:
        span = self._section_span(section)
        raise PatternSyntaxError(
            code,
            message,
            clause=section.name,
            text=self._text,
            span=span,
            found=self._text[span.start : span.end] or "nothing",
            allowed=" · ".join(allowed),
        )


def print_clause(clause: MatchRecognize) -> str:
    """Return SQL text of the clause that parses back to an equal tree."""
    lines = [
        _listed("PARTITION BY", [spliced(item) for item in clause.partition_by]),
        _listed("ORDER BY", [spliced(item) for item in clause.order_by]),
        _listed("MEASURES", [measure_text(item) for item in clause.measures]),
        _ROWS_TEXT[clause.rows_per_match],
        f"AFTER MATCH SKIP {clause.after_match.mode.upper()}",
        f"PATTERN ({clause.pattern})",
        f"WITHIN {within_text(clause.within)}" if clause.within else "",
        _listed(
            "SUBSET",
            [f"{name_text(item.name)} = ({', '.join(map(name_text, item.members))})" for item in clause.subsets],
        ),
        _listed("DEFINE", [f"{name_text(item.variable)} AS {spliced(item.condition)}" for item in clause.definitions]),
    ]
    if clause.after_match.target is not None:
        lines[4] += f" {name_text(clause.after_match.target)}"
    return "MATCH_RECOGNIZE (\n" + "".join(f"  {line}\n" for line in lines if line) + ")"


def _listed(opening: str, items: Sequence[str]) -> str:
    return f"{opening} " + ", ".join(items) if items else ""
