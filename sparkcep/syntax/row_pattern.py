"""Parser of row patterns: text to the tree of `syntax.pattern` (ISO/IEC 19075-5, 4.14).

    alternation   := concatenation ("|" concatenation)*         a branch may be empty
    concatenation := (primary quantifier?)*
    primary       := name | "(" alternation? ")" | "{-" alternation "-}" | "^" | "$"
                   | PERMUTE "(" alternation ("," alternation)* ")"
    quantifier    := ("*" | "+" | "?" | "{" n "}" | "{" n "," "}" | "{" n? "," m "}") "?"?

Groups only group: a concatenation directly inside a concatenation, and an alternation directly
inside an alternation, are one. Every decision needs one token, so the place of an error is always
the furthest one, and what could have stood there is collected on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from sparkcep.errors import PatternSyntaxError, Span, line_and_column
from sparkcep.syntax.lexer import Token, tokenize, unbalanced, unquoted
from sparkcep.syntax.pattern import (
    NOWHERE,
    RESERVED_NAMES,
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Label,
    Permutation,
    Quantified,
    RowPattern,
)
from sparkcep.syntax.token_reader import TokenReader

_CLOSERS = (")", "-}")


def parse_row_pattern(text: str, *, clause: str = "PATTERN", source: str | None = None, offset: int = 0) -> RowPattern:
    """Read a row pattern.

    Parameters
    ----------
    text
        What stands between the brackets of ``PATTERN ( … )``.
    clause
        Named in errors.
    source, offset
        The text that `text` was cut from, and where: spans and errors then speak of `source`.

    Returns
    -------
    RowPattern
        In canonical form: concatenations and alternations have two parts or more, none of them of
        their own kind. ``str`` of it parses back to an equal tree.

    Raises
    ------
    PatternSyntaxError
        With the offending piece underlined and what may stand there.

    Examples
    --------
    >>> str(parse_row_pattern("a (b | c)+? PERMUTE(d, e){1,}"))
    'A (B | C)+? PERMUTE(D, E)+'
    """
    tokens = tuple(_symbols(tokenize(text, clause=clause, source=source, offset=offset)))
    return _Reader(tokens, clause, text if source is None else source, offset + len(text)).whole()


def concatenated(parts: Sequence[RowPattern], span: Span = NOWHERE) -> RowPattern:
    """Return `parts` one after the other in canonical form; no part is ``Empty()``, one is itself."""
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, Concatenation) else (part,)))
    return Empty(span) if not flat else flat[0] if len(flat) == 1 else Concatenation(flat, span)


def alternated(parts: Sequence[RowPattern], span: Span = NOWHERE) -> RowPattern:
    """Return the alternation of `parts` (at least one) in canonical form; one part is itself."""
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, Alternation) else (part,)))
    return flat[0] if len(flat) == 1 else Alternation(flat, span)


def normal_name(text: str, *, clause: str | None = None) -> str:
    """Return the normal form of one variable name: unquoted ones fold to upper case.

    Raises
    ------
    PatternSyntaxError
        INVALID_NAME: `text` is not exactly one name.

    Examples
    --------
    >>> normal_name("down"), normal_name('"down"')
    ('DOWN', 'down')
    """
    tokens = tokenize(text, clause=clause)
    if len(tokens) != 1 or not tokens[0].is_name:
        raise PatternSyntaxError(
            "INVALID_NAME",
            "This is not one name of a pattern variable.",
            clause=clause,
            text=text,
            span=Span(0, len(text)),
            found=repr(text),
            allowed='a name, "quoted" if it has other characters than letters, digits and _',
        )
    return variable_name(tokens[0], text=text, clause=clause)


def variable_name(token: Token, *, text: str, clause: str | None = None) -> str:
    """Return the normal form of the variable that a name token speaks of.

    Raises
    ------
    PatternSyntaxError
        EMPTY_NAME, RESERVED_NAME.
    """
    if token.kind == "word":
        name = token.text.upper()
        if name not in RESERVED_NAMES:
            return name
        message, code, hint = f"{name} is a word of the pattern language.", "RESERVED_NAME", f'quote it: "{name}"'
    else:
        name = unquoted(token)
        if name:
            return name
        message, code, hint = "A name needs at least one character.", "EMPTY_NAME", None
    raise PatternSyntaxError(code, message, clause=clause, text=text, span=token.span, found=token.text, hint=hint)


def _symbols(tokens: Iterable[Token]) -> Iterator[Token]:
    """Cut operators as patterns have them: ``||`` is two bars, ``{-`` and ``-}`` are one symbol."""
    waiting: Token | None = None
    for token in tokens:
        if waiting is not None and token.start == waiting.end and waiting.text + token.text in ("{-", "-}"):
            yield Token("operator", waiting.text + token.text, waiting.start, token.end)
            waiting = None
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        if token.is_symbol("{") or token.is_symbol("-"):
            waiting = token
        elif token.is_symbol("||"):
            yield Token("operator", "|", token.start, token.start + 1)
            yield Token("operator", "|", token.start + 1, token.end)
        else:
            yield token
    if waiting is not None:
        yield waiting


class _Reader(TokenReader):
    """Recursive descent; the depth of brackets is bounded, the length of a sequence is not."""

    def whole(self) -> RowPattern:
        if not self._tokens:
            self._fail("EMPTY_PATTERN", "The pattern is empty.", hint="write () for the pattern that takes no row")
        pattern = self._alternation()
        if self._index < len(self._tokens):
            self._stop_at_stray_token()
        return pattern

    # The grammar.

    def _alternation(self) -> RowPattern:
        start = self._next.start
        branches = [self._concatenation()]
        while self._accept("|"):
            branches.append(self._concatenation())
        return alternated(branches, self._span_from(start))

    def _concatenation(self) -> RowPattern:
        start = self._next.start
        parts: list[RowPattern] = []
        part_start = start
        while (primary := self._primary()) is not None:
            parts.append(self._quantified(primary, part_start))
            part_start = self._next.start
        return concatenated(parts, self._span_from(start) if parts else Span(start, start))

    def _primary(self) -> RowPattern | None:
        token = self._next
        self._allow("a variable", "'('", "'{-'", "PERMUTE", "'^'", "'$'")
        if token.is_name:
            self._advance()
            follower = self._next
            if token.keyword == "PERMUTE" and follower.is_symbol("("):
                return self._permutation(token)
            return Label(variable_name(token, text=self._text, clause=self._clause), token.span)
        if self._accept("("):
            return self._group(token)
        if self._accept("{-"):
            return self._exclusion(token)
        if self._accept("^") or self._accept("$"):
            return Anchor("start" if token.text == "^" else "end", token.span)
        return None

    def _group(self, opener: Token) -> RowPattern:
        if self._accept(")"):
            return Empty(self._span_from(opener.start))
        with_opener = self._open(opener)
        pattern = self._alternation()
        self._close(with_opener, ")")
        return pattern

    def _exclusion(self, opener: Token) -> RowPattern:
        with_opener = self._open(opener)
        if self._next.is_symbol("-}"):
            self._fail("EMPTY_EXCLUSION", "The exclusion holds no pattern.")
        part = self._alternation()
        self._close(with_opener, "-}")
        return Exclusion(part, self._span_from(opener.start))

    def _permutation(self, word: Token) -> RowPattern:
        opener = self._next
        self._advance()
        with_opener = self._open(opener)
        parts = [self._permuted()]
        while self._accept(","):
            parts.append(self._permuted())
        self._close(with_opener, ")")
        return Permutation(tuple(parts), self._span_from(word.start))

    def _permuted(self) -> RowPattern:
        if self._next.is_symbol(")") or self._next.is_symbol(","):
            self._primary()
            self._fail("EMPTY_PERMUTE", "PERMUTE wants a pattern here.", hint="write () for a part that takes no row")
        return self._alternation()

    def _quantified(self, part: RowPattern, start: int) -> RowPattern:
        self._allow("a quantifier")
        bounds = self._quantifier()
        if bounds is None:
            return part
        greedy = not self._accept("?")
        whole = Quantified(part, *bounds, greedy, self._span_from(start))
        if self._next.kind == "operator" and self._next.text in ("*", "+", "?", "{"):
            outer = "{…}" if self._next.text == "{" else self._next.text
            inner = self._text[start : self._previous.end]
            self._fail(
                "DOUBLE_QUANTIFIER",
                "A part can have one quantifier only.",
                hint=f"put brackets around the inner part: ({inner if len(inner) < 40 else '…'}){outer}",
            )
        return whole

    # Brackets.

    def _close(self, opener: Token, closer: str) -> None:
        if self._accept(closer):
            self._openers.pop()
            return
        if self._next is not self._end and self._next.text not in ("}", *_CLOSERS):
            self._stop_at_stray_token()
        exclusion = closer == "-}"
        line, column = line_and_column(self._text, opener.start)
        self._fail(
            "UNCLOSED_EXCLUSION" if exclusion else "UNBALANCED_BRACKET",
            f"The {'exclusion' if exclusion else 'bracket'} {opener.text} is not closed before this place.",
            hint=f"it was opened in line {line}, column {column}",
        )

    # Failing.

    def _stop_at_stray_token(self) -> NoReturn:
        token = self._next
        if token.kind == "operator" and token.text in ("*", "+", "?", "{"):
            self._fail("DANGLING_QUANTIFIER", "There is nothing before the quantifier that it could repeat.")
        if token.kind == "operator" and token.text in (")", "-}"):
            raise unbalanced(self._text, token, self._clause)
        hint = None
        if token.is_symbol(","):
            hint = "parts that follow each other stand side by side: A B C"
        elif token.kind == "string":
            hint = f'names are quoted so: "{token.text[1:-1]}"'
        self._fail("UNEXPECTED_TOKEN", "This cannot stand here.", hint=hint)
