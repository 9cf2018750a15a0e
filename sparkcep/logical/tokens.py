"""A range of tokens of one expression, and the questions the reader asks about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternSyntaxError, Span
from sparkcep.syntax.lexer import Token, tokenize
from sparkcep.syntax.row_pattern import normal_name

OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = set(OPENING.values())
_LIKE_QUANTIFIERS = ("ANY", "SOME", "ALL")
_QUERY_OPENERS = frozenset({"SELECT", "WITH", "VALUES", "FROM"})


def token_range(text: str) -> TokenRange:
    """Return all tokens of `text`.

    Raises
    ------
    PatternSyntaxError
        When a bracket is not closed or closes nothing.
    """
    tokens = tokenize(text)
    return TokenRange(text, tokens, _partners(text, tokens), 0, len(tokens))


def _partners(text: str, tokens: tuple[Token, ...]) -> dict[int, int]:
    """Return, for every opening bracket's position, the position of its partner."""
    partners: dict[int, int] = {}
    open_at: list[int] = []
    for position, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        if token.text in OPENING:
            open_at.append(position)
        elif token.text in CLOSING:
            if not open_at or OPENING[tokens[open_at[-1]].text] != token.text:
                raise _unbalanced(text, token, f"'{token.text}' closes nothing")
            partners[open_at.pop()] = position
    if open_at:
        token = tokens[open_at[-1]]
        raise _unbalanced(text, token, f"'{token.text}' is never closed")
    return partners


def _unbalanced(text: str, token: Token, message: str) -> PatternSyntaxError:
    return PatternSyntaxError("UNBALANCED_BRACKET", message, text=text, span=Span(token.start, token.end))


@dataclass(frozen=True, slots=True)
class TokenRange:
    """Tokens ``first:last`` of `text`; positions passed to methods count from the whole text's start."""

    source: str
    tokens: tuple[Token, ...]
    partners: dict[int, int]
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, position: int) -> Token:
        """Return the token at a position counted from the range's own start."""
        return self.tokens[self.first + position]

    @property
    def start(self) -> int:
        """Offset of the first character."""
        return self.tokens[self.first].start if len(self) else 0

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.tokens[self.last - 1].end if len(self) else 0

    @property
    def text(self) -> str:
        """The source text of the range."""
        return self.source[self.start : self.end]

    def part(self, first: int, last: int) -> TokenRange:
        """Return tokens ``first:last``, positions counted from the whole text's start."""
        return TokenRange(self.source, self.tokens, self.partners, first, last)

    # -- single tokens; positions of the whole text ------------------------------------------------

    def is_word(self, position: int) -> bool:
        """Whether an unquoted word stands at `position`."""
        return 0 <= position < len(self.tokens) and self.tokens[position].kind == "word"

    def is_symbol(self, position: int, text: str) -> bool:
        """Whether the symbol `text` stands at `position`."""
        if not 0 <= position < len(self.tokens):
            return False
        token = self.tokens[position]
        return token.kind == "operator" and token.text == text

    def is_name(self, position: int) -> bool:
        """Whether something that can be a name stands at `position`."""
        return 0 <= position < len(self.tokens) and self.tokens[position].kind in (
            "word",
            "backquoted",
            "double-quoted",
        )

    def plain_name(self, position: int) -> str:
        """Return the name at `position` without quotes, case kept."""
        token = self.tokens[position]
        if token.kind == "word":
            return token.text
        quote = token.text[0]
        return token.text[1:-1].replace(quote * 2, quote)

    def variable_name(self, position: int) -> str | None:
        """Return the name at the range's own `position` in normal form, None if it is none."""
        at = self.first + position
        return normal_name(self.tokens[at].text) if self.is_name(at) else None

    def closing(self, position: int) -> int:
        """Return the position of the bracket that closes the one at `position`."""
        return self.partners[position]

    def function_name(self, position: int) -> str | None:
        """Return the upper-case name of an unqualified call that starts at `position`."""
        if not self.is_word(position) or not self.is_symbol(position + 1, "(") or self._is_field(position):
            return None
        name = self.tokens[position].text.upper()
        quantifies = name in _LIKE_QUANTIFIERS and self.is_word(position - 1)
        if quantifies and self.tokens[position - 1].text.upper() in ("LIKE", "ILIKE"):
            return None
        return name

    def free_name(self, position: int, aliases: Sequence[str] = ()) -> str | None:
        """Return the name at `position` if it can be a column: behind no dot but an alias's, no call."""
        token = self.tokens[position]
        if token.kind not in ("word", "backquoted"):
            return None
        if token.kind == "word" and self.is_symbol(position + 1, "("):
            return None
        qualified = self.is_symbol(position - 1, ".") and self.is_name(position - 2)
        of_input = qualified and self.plain_name(position - 2).lower() in {alias.lower() for alias in aliases}
        return self.plain_name(position) if of_input or not self._is_field(position) else None

    def _is_field(self, position: int) -> bool:
        """Whether a name at `position` is a step of a path: behind a dot, or behind the colon of a variant."""
        return self.is_symbol(position - 1, ".") or self.is_symbol(position - 1, ":")

    def qualifier(self, position: int) -> str | None:
        """Return the normal form of ``A`` when ``A.name`` or ``A.*`` starts at `position`."""
        if not self.is_name(position) or not self.is_symbol(position + 1, "."):
            return None
        if self._is_field(position) or not (self.is_name(position + 2) or self.is_symbol(position + 2, "*")):
            return None
        return normal_name(self.tokens[position].text)

    def is_qualified_function(self, position: int) -> bool:
        """Whether ``a.b.c(`` starts at `position`: a function of a catalog or schema."""
        while self.is_name(position) and self.is_symbol(position + 1, "."):
            position += 2
        return self.is_name(position) and self.is_symbol(position + 1, "(")

    def behind_query(self, position: int) -> int | None:
        """Return the position behind the sub-query whose bracket opens at `position`, None if none does."""
        following = self.tokens[position + 1].text.upper() if self.is_word(position + 1) else None
        opens = self.is_symbol(position, "(") and following in _QUERY_OPENERS
        return self.closing(position) + 1 if opens else None

    def outside_queries(self) -> Iterator[int]:
        """Yield the positions of the range's tokens that stand in no sub-query."""
        position = self.first
        while position < self.last:
            behind = self.behind_query(position)
            if behind is None:
                yield position
            position = position + 1 if behind is None else behind

    def path_end(self, position: int) -> int:
        """Return the position behind a name and all ``.field``, ``:field`` and ``[index]`` that follow it."""
        position += 1
        while True:
            if self.is_name(position + 1) and self._is_field(position + 1):
                position += 2
            elif self.is_symbol(position, "["):
                position = self.closing(position) + 1
            else:
                return position

    def lambda_parameters(self) -> frozenset[str]:
        """Return the names bound by ``x -> …`` and ``(x, y) -> …``."""
        found: set[str] = set()
        for position in range(1, len(self.tokens)):
            if not self.is_symbol(position, "->"):
                continue
            back = position - 1
            if self.is_symbol(back, ")"):
                back -= 1
                while back > 0 and not self.is_symbol(back, "("):
                    found.add(self.tokens[back].text)
                    back -= 1
            else:
                found.add(self.tokens[back].text)
        return frozenset(found - {","})

    # -- ranges -------------------------------------------------------------------------------------

    def split(self, separator: str) -> list[TokenRange]:
        """Split on a symbol outside brackets; an empty range gives an empty list."""
        parts: list[TokenRange] = []
        begin = position = self.first
        while position < self.last:
            if position in self.partners:
                position = self.partners[position]
            elif self.is_symbol(position, separator):
                parts.append(self.part(begin, position))
                begin = position + 1
            position += 1
        if begin < self.last or parts:
            parts.append(self.part(begin, self.last))
        return parts

    def arguments(self, opening: int) -> list[TokenRange]:
        """Return the arguments of the call whose bracket opens at `opening`."""
        return self.part(opening + 1, self.closing(opening)).split(",")

    def find_words(self, *words: str) -> int | None:
        """Return the position of a sequence of words outside brackets."""
        position = self.first
        while position < self.last:
            if position in self.partners:
                position = self.partners[position]
            elif self._words_at(position, words):
                return position
            position += 1
        return None

    def _words_at(self, position: int, words: tuple[str, ...]) -> bool:
        return all(
            self.is_word(position + i) and self.tokens[position + i].text.upper() == word
            for i, word in enumerate(words)
        )

    def aggregate_arguments(self, opening: int) -> tuple[list[TokenRange], bool, TokenRange | None]:
        """Return arguments, DISTINCT, and the ORDER BY list inside an aggregate's brackets."""
        first, last = opening + 1, self.closing(opening)
        distinct = self._words_at(first, ("DISTINCT",)) and last - first > 1
        if distinct or (self._words_at(first, ("ALL",)) and last - first > 1):
            first += 1
        inside = self.part(first, last)
        order_at = inside.find_words("ORDER", "BY")
        if order_at is None:
            return inside.split(","), distinct, None
        return self.part(first, order_at).split(","), distinct, self.part(order_at + 2, last)

    def aggregate_suffix(self, position: int) -> tuple[TokenRange | None, TokenRange | None, int]:
        """Return WITHIN GROUP's order, FILTER's condition, and the position behind both."""
        order = condition = None
        if self._words_at(position, ("WITHIN", "GROUP")) and self.is_symbol(position + 2, "("):
            close = self.closing(position + 2)
            order = self.part(position + 5, close)
            position = close + 1
        if self._words_at(position, ("FILTER",)) and self.is_symbol(position + 1, "("):
            close = self.closing(position + 1)
            condition = self.part(position + 3, close)
            position = close + 1
        return order, condition, position

    def sort_key(self) -> tuple[TokenRange, bool, bool]:
        """Return the expression, whether it ascends, and whether NULLs come first (Spark's defaults)."""
        last = self.last
        nulls: bool | None = None
        if last - self.first > 2 and self._words_at(last - 2, ("NULLS", "FIRST")):
            nulls, last = True, last - 2
        elif last - self.first > 2 and self._words_at(last - 2, ("NULLS", "LAST")):
            nulls, last = False, last - 2
        ascending = True
        if last - self.first > 1 and self.is_word(last - 1) and self.tokens[last - 1].text.upper() in ("ASC", "DESC"):
            ascending = self.tokens[last - 1].text.upper() == "ASC"
            last -= 1
        return self.part(self.first, last), ascending, ascending if nulls is None else nulls
