"""Parser of event patterns (SASE+): PATTERN … WHERE … WITHIN … RETURN ….

The parts behind PATTERN are read by `event_parts`. The clauses behind them are found by the words
that open them outside of brackets; their expressions are cut out by the position of their tokens,
never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from sparkcep.errors import PatternSyntaxError, Span, did_you_mean
from sparkcep.syntax.clause import Fragment, Measure, Within
from sparkcep.syntax.durations import parse_within
from sparkcep.syntax.event_parts import PartReader, variable_of
from sparkcep.syntax.event_pattern import Condition, EventPattern, KeyTest, Strategy, Variable, components_of
from sparkcep.syntax.fragments import ends_operand, fragment_of, keyword_at, split_conjuncts, top_level
from sparkcep.syntax.lexer import (
    BRACKETS_AND_BRACES,
    Token,
    closing_brackets,
    split_top_level,
    tokenize,
    unquoted,
)

STRATEGIES: Mapping[str, Strategy] = {
    "strict": "strict",
    "strict_contiguity": "strict",
    "partition_contiguity": "partition_contiguity",
    "skip_till_next_match": "skip_till_next_match",
    "skip_till_any_match": "skip_till_any_match",
}
_CLAUSES = ("WHERE", "WITHIN", "RETURN")
_ORDER_TEXT = "WHERE …, WITHIN …, RETURN …, in this order"
_FORM = "strategy(variables) { condition }"
# Where one of these stands before "[", what follows is an equivalence test and not an index.
_BEFORE_OPERAND = frozenset({"AND", "OR", "NOT", "WHEN", "THEN", "ELSE"})


def parse_event_pattern(text: str, *, source: str | None = None, offset: int = 0) -> EventPattern:
    """Read an event pattern.

    Parameters
    ----------
    text
        ``PATTERN SEQ|AND|OR( … ) [WHERE …] [WITHIN …] [RETURN …]``; the word PATTERN may be left out.
    source, offset
        The text that `text` was cut from, and where: spans and errors then speak of `source`.

    Returns
    -------
    EventPattern
        Expressions as fragments of the text. ``str`` of it parses back to an equal tree.

    Raises
    ------
    PatternSyntaxError
        With the clause named, the offending piece underlined, and what may stand there.

    Examples
    --------
    >>> tree = parse_event_pattern(
    ...     "SEQ(Shelf a, ~Register b, Exit+ c[]) WHERE skip_till_next_match { [tag] AND c[1].v > a.v } WITHIN 12 hours"
    ... )
    >>> print(tree)
    PATTERN SEQ(Shelf a, ~(Register b), Exit+ c[])
    WHERE skip_till_next_match { [tag] AND c[1].v > a.v }
    WITHIN INTERVAL '12' HOUR
    >>> [key.text for key in tree.keys], len(tree.conditions)
    (['tag'], 2)
    """
    shown = text if source is None else source
    tokens = tokenize(text, clause="PATTERN", source=source, offset=offset)
    pairs = closing_brackets(tokens, text=shown, clause="PATTERN", closers=BRACKETS_AND_BRACES)
    parts = PartReader(tokens, pairs, shown, offset + len(text))
    root, behind = parts.root()
    reader = _ClauseReader(tokens, pairs, shown, parts.variables)
    sections = reader.sections(behind)
    where = reader.where(sections["WHERE"]) if "WHERE" in sections else _Where()
    if where.strategy_variables:
        reader.check_complete(where, [component.variable for component in components_of(root)])
    return EventPattern(
        root,
        where.strategy,
        tuple(name for name, _ in where.strategy_variables),
        where.conditions,
        reader.within(sections["WITHIN"]) if "WITHIN" in sections else None,
        reader.returns(sections["RETURN"]) if "RETURN" in sections else (),
        shown,
    )


def parse_conditions(text: str, *, clause: str = "WHERE") -> tuple[Condition, ...]:
    """Read conditions joined by AND, as they stand behind WHERE without a strategy.

    Returns
    -------
    tuple of Condition
        One per AND that surely joins conditions. Where that is not sure, the whole text in
        brackets, so that it can stand next to others.

    Raises
    ------
    PatternSyntaxError
        MISSING_CONDITION, UNBALANCED_BRACKET, UNEXPECTED_TOKEN, MISPLACED_KEY_TEST.

    Examples
    --------
    >>> [str(c) for c in parse_conditions("[k] AND a.v BETWEEN 1 AND 2")][0]
    '[k]'
    >>> parse_conditions("a.v = 1 OR b.v = 2")[0].text
    '(a.v = 1 OR b.v = 2)'
    """
    reader, end = _reader_of(text, clause)
    reader.refuse_clauses(0, end, clause)
    conditions = reader.conditions(0, end, clause)
    first = conditions[0]
    if len(conditions) == 1 and isinstance(first, Fragment) and not reader.is_splittable(0, end):
        return (Fragment(f"({first.text}{chr(10) if '--' in first.text else ''})"),)
    return conditions


def parse_expression(text: str, *, clause: str) -> Fragment:
    """Read one expression that can stand between commas.

    Raises
    ------
    PatternSyntaxError
        MISSING_EXPRESSION, UNBALANCED_BRACKET, UNEXPECTED_TOKEN.

    Examples
    --------
    >>> parse_expression(" COUNT(c) -- exits", clause="RETURN exits").text
    'COUNT(c)'
    """
    reader, end = _reader_of(text, clause)
    reader.refuse_clauses(0, end, clause)
    return reader.expression(0, end, clause)


def parse_strategy(name: str, *, clause: str = "strategy") -> Strategy:
    """Read the name of a selection strategy, in any case.

    Raises
    ------
    PatternSyntaxError
        UNKNOWN_STRATEGY.

    Examples
    --------
    >>> parse_strategy("STRICT_CONTIGUITY")
    'strict'
    """
    if name.lower() not in STRATEGIES:
        raise _unknown_strategy(name, name, Span(0, len(name)), clause)
    return STRATEGIES[name.lower()]


class _Section(NamedTuple):
    """One clause: the token that opens it, and the token range of what it says."""

    name: str
    opener: Token
    start: int
    end: int


class _Where(NamedTuple):
    strategy: Strategy | None = None
    strategy_variables: tuple[tuple[str, Token], ...] = ()
    conditions: tuple[Condition, ...] = ()


class _ClauseReader:
    def __init__(
        self, tokens: Sequence[Token], pairs: Mapping[int, int], text: str, variables: Mapping[str, Variable]
    ) -> None:
        self._tokens = tokens
        self._pairs = pairs
        self._text = text
        self._variables = variables

    def sections(self, start: int) -> dict[str, _Section]:
        """Find the clauses from the token at `start` on."""
        tokens = self._tokens
        if start < len(tokens) and tokens[start].keyword not in _CLAUSES:
            self._fail(
                "UNEXPECTED_TOKEN",
                "No clause opens with this.",
                tokens[start],
                "PATTERN",
                _ORDER_TEXT,
                did_you_mean(tokens[start].keyword, _CLAUSES),
            )
        openings = [start, *self._openings(start, len(tokens))] if start < len(tokens) else []
        sections: dict[str, _Section] = {}
        for index, end in zip(openings, [*openings[1:], len(tokens)], strict=False):
            name = tokens[index].keyword
            if name in sections:
                self._fail("CLAUSE_TWICE", f"{name} stands here twice.", tokens[index], name, _ORDER_TEXT)
            later = [other for other in sections if _CLAUSES.index(other) > _CLAUSES.index(name)]
            if later:
                message = f"{name} must stand before {later[0]}."
                self._fail("CLAUSE_OUT_OF_ORDER", message, tokens[index], name, _ORDER_TEXT)
            sections[name] = _Section(name, tokens[index], index + 1, end)
        return sections

    def _openings(self, opening: int, end: int) -> list[int]:
        """Return the indices of the words behind the one at `opening` that open further clauses."""
        found: list[int] = []
        for index in top_level(self._pairs, opening + 1, end):
            if keyword_at(self._tokens, index) in _CLAUSES and self._opens(index, opening, end):
                found.append(index)
                opening = index
        return found

    def _opens(self, index: int, opening: int, end: int) -> bool:
        """Whether the word at `index` opens a clause; it is a name where an expression goes on or begins."""
        follower = self._tokens[index + 1].keyword or self._tokens[index + 1].text if index + 1 < end else ""
        before = self._tokens[index - 1] if index else None
        if follower in (",", ".", "GROUP") or before is None or before.keyword == "AS":
            return False
        if index == opening + 1:
            return before.keyword == "WITHIN"
        return before.is_symbol("}") or ends_operand(self._tokens, opening + 1, index - 1)

    def refuse_clauses(self, start: int, end: int, clause: str) -> None:
        """Refuse a text that is to be one expression and holds the opening word of a clause."""
        for index in self._openings(start - 1, end):
            word = self._tokens[index]
            self._fail("UNEXPECTED_TOKEN", f"{word.keyword} opens a clause of its own.", word, clause)

    # WHERE.

    def where(self, section: _Section) -> _Where:
        tokens, start = self._tokens, section.start
        if start == section.end:
            self._fail("MISSING_CONDITION", "WHERE needs a condition.", section.opener, "WHERE", f"condition, {_FORM}")
        opening = start + 1
        has_variables = opening < section.end and tokens[opening].is_symbol("(")
        brace = self._pairs[opening] + 1 if has_variables else opening
        if not tokens[start].keyword or brace >= section.end or not tokens[brace].is_symbol("{"):
            self._refuse_missing_braces(start, brace, section.end)
            return _Where(conditions=self.conditions(start, section.end, "WHERE"))
        if tokens[start].text.lower() not in STRATEGIES:
            raise _unknown_strategy(tokens[start].text, self._text, tokens[start].span, "WHERE")
        closing = self._pairs[brace]
        if closing + 1 < section.end:
            stray = tokens[closing + 1]
            self._fail("UNEXPECTED_TOKEN", "Nothing may stand behind the braces.", stray, "WHERE", "WITHIN, RETURN")
        return _Where(
            STRATEGIES[tokens[start].text.lower()],
            self._strategy_variables(opening + 1, brace - 1) if has_variables else (),
            self.conditions(brace + 1, closing, "WHERE") if closing > brace + 1 else (),
        )

    def _refuse_missing_braces(self, start: int, behind: int, end: int) -> None:
        name = self._tokens[start]
        if name.keyword and name.text.lower() in STRATEGIES and behind >= end:
            self._fail(
                "MISSING_BRACES",
                "The conditions of a strategy stand in braces.",
                name,
                "WHERE",
                _FORM,
                f"{name.text} {{ … }}",
            )

    def _strategy_variables(self, start: int, end: int) -> tuple[tuple[str, Token], ...]:
        found: dict[str, Token] = {}
        for first, last in split_top_level(self._tokens, self._pairs, start, end):
            token = self._tokens[first]
            brackets = [t.text for t in self._tokens[first + 1 : last]]
            if first == last or not token.is_name or brackets not in ([], ["[", "]"]):
                self._fail("UNEXPECTED_TOKEN", "Names of components belong here.", token, "WHERE", self._known())
            name = variable_of(token, text=self._text, clause="WHERE").name
            if name not in self._variables:
                labels = [variable.label for variable in self._variables.values()]
                message = f"The pattern has no {token.text}."
                hint = did_you_mean(unquoted(token), labels)
                self._fail("UNKNOWN_VARIABLE", message, token, "WHERE", self._known(), hint)
            if name in found:
                self._fail("DUPLICATE_VARIABLE", f"{token.text} stands here twice.", token, "WHERE", "each name once")
            found[name] = token
        return tuple(found.items())

    def check_complete(self, where: _Where, positive: Sequence[Variable]) -> None:
        """Refuse a strategy for some of the components only."""
        named = {name for name, _ in where.strategy_variables}
        missing = [variable.label for variable in positive if variable.name not in named]
        if missing:
            self._fail(
                "INCOMPLETE_STRATEGY",
                f"The strategy is that of the whole pattern, but {', '.join(missing)} is not named.",
                where.strategy_variables[-1][1],
                "WHERE",
                self._known(),
                "leave the brackets out; for one step write STRICT, NEXT or ANY in front of its type",
            )

    def conditions(self, start: int, end: int, clause: str) -> tuple[Condition, ...]:
        """Read the token range as conditions joined by AND."""
        allowed = "condition AND condition"
        if start == end:
            raise PatternSyntaxError(
                "MISSING_CONDITION",
                "A condition is missing.",
                clause=clause,
                text=self._text,
                span=Span(0, len(self._text)),
            )
        for edge in (start, end - 1):
            if keyword_at(self._tokens, edge) == "AND":
                self._fail("MISSING_CONDITION", "A condition is missing here.", self._tokens[edge], clause, allowed)
        for token in self._tokens[start:end]:
            if token.kind == "operator" and token.text in "{};":
                self._fail("UNEXPECTED_TOKEN", "This cannot stand in a condition.", token, clause)
        ranges = split_conjuncts(self._tokens, self._pairs, start, end) or [(start, end)]
        return tuple(self._condition(first, last, clause) for first, last in ranges)

    def is_splittable(self, start: int, end: int) -> bool:
        """Whether the words of a token range tell what its ANDs join."""
        return split_conjuncts(self._tokens, self._pairs, start, end) is not None

    def _condition(self, start: int, end: int, clause: str) -> Condition:
        if self._tokens[start].is_symbol("[") and self._pairs[start] == end - 1:
            return self._key_test(start, end, clause)
        for index in range(start, end):
            if self._opens_key_test(start, index):
                self._fail(
                    "MISPLACED_KEY_TEST",
                    "An equivalence test is a condition of its own, joined to others by AND.",
                    self._tokens[index],
                    clause,
                    "[key] AND condition",
                    "put brackets around the other conditions: [key] AND ( … )",
                )
        return fragment_of(self._tokens, start, end, self._text)

    def _opens_key_test(self, start: int, index: int) -> bool:
        if not self._tokens[index].is_symbol("["):
            return False
        if index == start:
            return True
        before = self._tokens[index - 1]
        if before.kind == "operator":
            return before.text not in (")", "]", ":", ".")
        return keyword_at(self._tokens, index - 1) in _BEFORE_OPERAND

    def _key_test(self, start: int, end: int, clause: str) -> KeyTest:
        span = Span(self._tokens[start].start, self._tokens[end - 1].end)
        if start + 2 == end:
            self._fail("EMPTY_KEY", "The equivalence test names no column.", self._tokens[start], clause, "[column]")
        first, *others = split_top_level(self._tokens, self._pairs, start + 1, end - 1)
        if others:
            comma = self._tokens[first[1]]
            self._fail("UNEXPECTED_TOKEN", "An equivalence test has one key.", comma, clause, "]", "[a] AND [b]")
        return KeyTest(fragment_of(self._tokens, start + 1, end - 1, self._text), span)

    # WITHIN and RETURN.

    def within(self, section: _Section) -> Within:
        """Read the window of the whole pattern."""
        if section.start == section.end:
            allowed = "INTERVAL '5' MINUTE, 5, 5 EVENTS"
            self._fail("MISSING_DURATION", "WITHIN needs a distance.", section.opener, "WITHIN", allowed)
        place = fragment_of(self._tokens, section.start, section.end, self._text)
        return parse_within(place.text, source=self._text, offset=place.span.start)

    def returns(self, section: _Section) -> tuple[Measure, ...]:
        """Read ``expression AS name, …``."""
        measures = []
        for start, end in split_top_level(self._tokens, self._pairs, section.start, section.end):
            if start == end:
                place = self._tokens[end] if end < section.end else self._tokens[end - 1]
                self._fail("MISSING_ITEM", "Something is missing here.", place, "RETURN", "expression AS name")
            last = self._tokens[end - 1]
            if end - start < 3 or not last.is_name or self._tokens[end - 2].keyword != "AS" or not unquoted(last):
                self._fail("MEASURE_WITHOUT_NAME", "A result needs a name.", last, "RETURN", "expression AS name")
            measures.append(Measure(unquoted(last), self.expression(start, end - 2, f"RETURN {unquoted(last)}")))
        return tuple(measures)

    def expression(self, start: int, end: int, clause: str) -> Fragment:
        """Read the token range as one expression."""
        if start == end:
            message = "An expression is missing."
            raise PatternSyntaxError(
                "MISSING_EXPRESSION", message, clause=clause, text=self._text, span=Span(0, len(self._text))
            )
        for index in top_level(self._pairs, start, end):
            token = self._tokens[index]
            if token.is_symbol(",") or keyword_at(self._tokens, index) == "AS":
                self._fail("UNEXPECTED_TOKEN", "One expression with one name belongs here.", token, clause)
        for token in self._tokens[start:end]:
            if token.kind == "operator" and token.text in "{};":
                self._fail("UNEXPECTED_TOKEN", "This cannot stand in an expression.", token, clause)
        return fragment_of(self._tokens, start, end, self._text)

    # Failing.

    def _known(self) -> str:
        return ", ".join(variable.label for variable in self._variables.values())

    def _fail(
        self,
        code: str,
        message: str,
        token: Token,
        clause: str,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> NoReturn:
        raise PatternSyntaxError(
            code, message, clause=clause, text=self._text, span=token.span, found=token.text, allowed=allowed, hint=hint
        )


def _reader_of(text: str, clause: str) -> tuple[_ClauseReader, int]:
    tokens = tokenize(text, clause=clause)
    pairs = closing_brackets(tokens, text=text, clause=clause, closers=BRACKETS_AND_BRACES)
    return _ClauseReader(tokens, pairs, text, {}), len(tokens)


def _unknown_strategy(name: str, text: str, span: Span, clause: str) -> PatternSyntaxError:
    return PatternSyntaxError(
        "UNKNOWN_STRATEGY",
        f"{name} is no selection strategy.",
        clause=clause,
        text=text,
        span=span,
        found=name,
        allowed=STRATEGIES,
        hint=did_you_mean(name, STRATEGIES),
    )
