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

from sparkcep.errors import PatternSyntaxError, Span
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

MAXIMUM_DEPTH = 100
LARGEST_BOUND = 2**31 - 1
_CLOSERS = (")", "-}")
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


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


class _Reader:
    """Recursive descent; the depth of brackets is bounded, the length of a sequence is not."""

    def __init__(self, tokens: tuple[Token, ...], clause: str, text: str, end: int) -> None:
        self._tokens = tokens
        self._clause = clause
        self._text = text
        self._end = Token("operator", "", end, end)
        self._index = 0
        self._openers: list[Token] = []
        self._allowed: dict[str, None] = {}

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

    def _quantifier(self) -> tuple[int, int | None] | None:
        token = self._next
        if token.kind == "operator" and token.text in _QUANTIFIERS:
            self._advance()
            return _QUANTIFIERS[token.text]
        if not token.is_symbol("{"):
            return None
        self._advance()
        return self._bounds(token)

    def _bounds(self, opener: Token) -> tuple[int, int | None]:
        minimum = self._bound("n")
        if minimum is not None and self._accept("}"):
            return self._checked(opener, minimum, minimum)
        if not self._accept(","):
            self._fail("INVALID_QUANTIFIER", "The quantifier cannot be read.", hint="{n}, {n,}, {n,m} or {,m}")
        maximum = self._bound("m")
        if (minimum is None and maximum is None) or not self._accept("}"):
            self._fail("INVALID_QUANTIFIER", "The quantifier cannot be read.", hint="{n}, {n,}, {n,m} or {,m}")
        return self._checked(opener, minimum or 0, maximum)

    def _bound(self, name: str) -> int | None:
        token = self._next
        self._allow(f"a whole number {name}")
        if token.kind != "number" or not token.text.isdigit():
            return None
        value = int(token.text) if len(token.text) <= 20 else LARGEST_BOUND + 1
        if value > LARGEST_BOUND:
            self._fail("INVALID_QUANTIFIER", f"The bound is larger than {LARGEST_BOUND}.")
        self._advance()
        return value

    def _checked(self, opener: Token, minimum: int, maximum: int | None) -> tuple[int, int | None]:
        span = self._span_from(opener.start)
        if maximum == 0:
            self._fail("INVALID_QUANTIFIER", "The upper bound m must be at least 1.", span=span, allowed="m ≥ 1")
        if maximum is not None and minimum > maximum:
            self._fail(
                "INVALID_QUANTIFIER",
                f"The lower bound {minimum} is above the upper bound {maximum}.",
                span=span,
                allowed="{n,m} with n ≤ m",
                hint=f"did you mean {{{maximum},{minimum}}}?",
            )
        return minimum, maximum

    # The position, and what may stand there.

    @property
    def _next(self) -> Token:
        return self._tokens[self._index] if self._index < len(self._tokens) else self._end

    @property
    def _previous(self) -> Token:
        return self._tokens[self._index - 1]

    def _advance(self) -> None:
        self._index += 1
        self._allowed.clear()

    def _allow(self, *names: str) -> None:
        self._allowed.update(dict.fromkeys(names))

    def _accept(self, symbol: str) -> bool:
        if self._next.is_symbol(symbol):
            self._advance()
            return True
        self._allow(f"'{symbol}'")
        return False

    def _span_from(self, start: int) -> Span:
        return Span(start, max(start, self._previous.end) if self._index else start)

    def _open(self, opener: Token) -> Token:
        self._openers.append(opener)
        if len(self._openers) > MAXIMUM_DEPTH:
            self._fail(
                "PATTERN_TOO_DEEP", f"Brackets are nested more than {MAXIMUM_DEPTH} deep.", span=opener.span, allowed=""
            )
        return opener

    def _close(self, opener: Token, closer: str) -> None:
        if self._accept(closer):
            self._openers.pop()
            return
        if self._next is not self._end and self._next.text not in ("}", *_CLOSERS):
            self._stop_at_stray_token()
        exclusion = closer == "-}"
        self._fail(
            "UNCLOSED_EXCLUSION" if exclusion else "UNBALANCED_BRACKET",
            f"The {'exclusion' if exclusion else 'bracket'} {opener.text} is not closed before this place.",
            hint=f"it was opened at offset {opener.start}",
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

    def _fail(
        self, code: str, message: str, *, span: Span | None = None, allowed: str | None = None, hint: str | None = None
    ) -> NoReturn:
        found = self._next.text if span is None else self._text[span.start : span.end]
        raise PatternSyntaxError(
            code,
            message,
            clause=self._clause,
            text=self._text,
            span=span or self._next.span,
            found=found or "end of pattern",
            allowed=tuple(self._allowed) if allowed is None else allowed,
            hint=hint,
        )
