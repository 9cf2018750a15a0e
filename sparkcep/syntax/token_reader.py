"""What the readers of patterns share: the position, what may stand there, bounds, and failing.

Every decision of both pattern languages needs one token, so the place of an error is always the
furthest one; what could have stood there is collected on the way.
"""

from __future__ import annotations

from typing import NoReturn

from sparkcep.errors import PatternSyntaxError, Span
from sparkcep.syntax.lexer import Token

MAXIMUM_DEPTH = 100
LARGEST_BOUND = 2**31 - 1
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class TokenReader:
    """A position in tokens, for recursive descent; the depth of brackets is bounded.

    Parameters
    ----------
    tokens
        With offsets in `text`.
    clause
        Named in errors.
    text
        Shown in errors.
    end
        Offset of the end of what is read.
    """

    def __init__(self, tokens: tuple[Token, ...], clause: str, text: str, end: int) -> None:
        self._tokens = tokens
        self._clause = clause
        self._text = text
        self._end = Token("operator", "", end, end)
        self._index = 0
        self._openers: list[Token] = []
        self._allowed: dict[str, None] = {}

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

    # Failing.

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
