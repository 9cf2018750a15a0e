"""One lexer for SQL text and for patterns: tokens with offsets, in linear time.

It says only what stands in the text. Whether ``"…"`` is a string (Spark's default in SQL)
or a quoted name (row patterns) is for the reader of the tokens to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from sparkcep.errors import PatternSyntaxError, Span

TokenKind: TypeAlias = Literal["word", "double-quoted", "backquoted", "string", "number", "operator"]

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--(?:\\\n|[^\r\n])*)
    | (?P<bracketed>/\*)
    | (?P<string>[rR]'[^']*' | [rR]"[^"]*" | '[^'\\]*(?:(?:\\.|'')[^'\\]*)*')
    | (?P<double>"[^"\\]*(?:(?:\\.|"")[^"\\]*)*")
    | (?P<back>`[^`]*(?:``[^`]*)*`)
    | (?P<number>(?:[0-9]+(?:\.(?!\.)[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[lLsSyYdDfF])?(?!\w))
    | (?P<word>\w+)
    | (?P<operator><=>|->|=>|==|::|\|\||<=|>=|<>|!=|\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_KINDS: Mapping[str, TokenKind] = {
    "string": "string",
    "double": "double-quoted",
    "back": "backquoted",
    "number": "number",
    "word": "word",
    "operator": "operator",
}
_SHOWN = 24
_CLOSERS = {"(": ")", "[": "]"}
BRACKETS_AND_BRACES = {**_CLOSERS, "{": "}"}
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([0-3][0-7]{2})|\\(.)", re.DOTALL)
_CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


class Token(NamedTuple):
    """A piece of text that is no blank and no comment; `start` and `end` are offsets in the source."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The text in upper case if the token is an unquoted word, else the empty string."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def span(self) -> Span:
        """The place of the token."""
        return Span(self.start, self.end)

    @property
    def is_name(self) -> bool:
        """Whether the token can be an identifier, quoted or not, where ``"…"`` quotes names."""
        return self.kind in ("word", "double-quoted", "backquoted")

    def is_symbol(self, text: str) -> bool:
        """Whether the token is this operator or this single character."""
        return self.kind == "operator" and self.text == text


def tokenize(text: str, *, clause: str | None = None, source: str | None = None, offset: int = 0) -> tuple[Token, ...]:
    """Cut `text` into tokens; blanks and comments are dropped.

    Parameters
    ----------
    text
        SQL or a pattern.
    clause
        Named in errors.
    source, offset
        The text that `text` was cut from, and where: offsets of the tokens and the underlining
        in errors then speak of `source`.

    Returns
    -------
    tuple of Token
        In order of `start`.

    Raises
    ------
    PatternSyntaxError
        UNCLOSED_QUOTE, UNCLOSED_COMMENT.

    Examples
    --------
    >>> [token.text for token in tokenize("A.x <=> 'it''s' -- why")]
    ['A', '.', 'x', '<=>', "'it''s'"]
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        assert found is not None  # the last alternative takes any character
        group = found.lastgroup or ""
        end = found.end()
        if group == "bracketed":
            end = _comment_end(text, position)
        unclosed = end < 0 or (group == "operator" and found.group() in "'\"`")
        if unclosed:
            raise _unclosed(text, position, clause, source, offset)
        if group in _KINDS:
            tokens.append(Token(_KINDS[group], found.group(), position + offset, end + offset))
        position = end
    return tuple(tokens)


def _comment_end(text: str, start: int) -> int:
    """Return the offset behind the bracketed comment at `start`; comments nest. -1: not closed."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return -1


def _unclosed(text: str, start: int, clause: str | None, source: str | None, offset: int) -> PatternSyntaxError:
    comment = text.startswith("/*", start)
    mark = "/*" if comment else text[start]
    closer = "*/" if comment else mark
    return PatternSyntaxError(
        "UNCLOSED_COMMENT" if comment else "UNCLOSED_QUOTE",
        f"The {'comment' if comment else 'quote'} that {mark} opens is not closed.",
        clause=clause,
        text=text if source is None else source,
        span=Span(start + offset, len(text) + offset),
        found="end of text",
        allowed=closer,
    )


def unquoted(token: Token) -> str:
    """Return the identifier a name token stands for: quotes removed, case kept.

    >>> [unquoted(token) for token in tokenize('price `a``b` "x""y"')]
    ['price', 'a`b', 'x"y']
    """
    if token.kind == "backquoted":
        return token.text[1:-1].replace("``", "`")
    if token.kind == "double-quoted":
        return re.sub(r'\\\\|\\"|""', lambda escape: escape.group()[1], token.text[1:-1])
    return token.text


def string_value(token: Token) -> str:
    r"""Return the value of a string literal as Spark reads it, escapes resolved; raw strings as they are.

    >>> string_value(tokenize(r"'it\'s\n'")[0])
    "it's\n"
    """
    text = token.text
    if text[0] in "rR":
        return text[2:-1]
    quote = text[0]
    inner = (
        text[1:-1].replace(quote * 2, quote)
        if "\\" not in text
        else re.sub(rf"(\\.)|{quote}{quote}", lambda piece: piece.group(1) or quote, text[1:-1], flags=re.DOTALL)
    )
    return _ESCAPE.sub(_unescaped, inner)


def _unescaped(escape: re.Match[str]) -> str:
    short, long, octal, single = escape.groups()
    if short or long:
        return chr(int(short or long, 16))
    if octal:
        return chr(int(octal, 8))
    return _CONTROL.get(single, single)


def closing_brackets(
    tokens: Sequence[Token], *, text: str, clause: str | None = None, closers: Mapping[str, str] = _CLOSERS
) -> dict[int, int]:
    """Map the index of every ``(`` and ``[`` to the index of the bracket that closes it.

    Parameters
    ----------
    closers
        The kinds of brackets to look at, if not these two: opening to closing one.

    Raises
    ------
    PatternSyntaxError
        UNBALANCED_BRACKET; `text` is shown underlined.
    """
    pairs: dict[int, int] = {}
    open_brackets: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        if token.text in closers:
            open_brackets.append(index)
        elif token.text in closers.values():
            opener = tokens[open_brackets[-1]] if open_brackets else None
            if opener is None or closers[opener.text] != token.text:
                raise unbalanced(text, token, clause, opener, closers)
            pairs[open_brackets.pop()] = index
    if open_brackets:
        opener_token = tokens[open_brackets[-1]]
        raise PatternSyntaxError(
            "UNBALANCED_BRACKET",
            f"The bracket {opener_token.text} is not closed.",
            clause=clause,
            text=text,
            span=opener_token.span,
            found="end of text",
            allowed=closers[opener_token.text],
        )
    return pairs


def unbalanced(
    text: str,
    token: Token,
    clause: str | None,
    opener: Token | None = None,
    closers: Mapping[str, str] = _CLOSERS,
) -> PatternSyntaxError:
    """Return the error for a bracket that closes nothing, or comes before `opener` is closed."""
    message = f"The bracket {token.text} closes nothing."
    if opener is not None:
        # Not its column: the text may be a piece of a statement.
        piece = " ".join(text[opener.start : token.start].split())
        shown = piece if len(piece) <= _SHOWN else f"{piece[:_SHOWN]}…"
        message = f"The bracket {token.text} stands where '{shown}' is still open."
    return PatternSyntaxError(
        "UNBALANCED_BRACKET",
        message,
        clause=clause,
        text=text,
        span=token.span,
        found=token.text,
        allowed=closers[opener.text] if opener is not None else None,
    )


def split_top_level(
    tokens: Sequence[Token], pairs: Mapping[int, int], start: int, end: int, separator: str = ","
) -> list[tuple[int, int]]:
    """Split the token range [`start`, `end`) where `separator` stands outside of all brackets.

    Parameters
    ----------
    pairs
        From `closing_brackets` of the same tokens.

    Returns
    -------
    list of (start, end)
        Half-open token ranges; an empty range where nothing stands between two separators.
    """
    ranges: list[tuple[int, int]] = []
    first = index = start
    while index < end:
        if tokens[index].is_symbol(separator):
            ranges.append((first, index))
            first = index + 1
        index = pairs.get(index, index) + 1
    ranges.append((first, end))
    return ranges
