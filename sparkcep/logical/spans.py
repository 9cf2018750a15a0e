"""sqlglot's Spark parser, taught to remember where each sub-expression stands.

The printed form of a tree is never used: pieces that Spark shall compute are cut out of the
user's text by these spans.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from sparkcep.errors import Span


class _Parser(Spark.Parser):  # type: ignore[misc]
    """Notes the token range of every operand and every predicate."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.ranges: dict[int, tuple[int, int]] = {}
        self.kept: list[exp.Expression] = []

    def _noted(self, start: int, node: Any) -> Any:
        if node is not None and id(node) not in self.ranges and self._index > start:
            tokens = self._tokens
            self.ranges[id(node)] = (tokens[start].start, tokens[self._index - 1].end + 1)
            self.kept.append(node)
        return node

    def _parse_unary(self, *arguments: Any, **options: Any) -> Any:
        start = self._index
        return self._noted(start, super()._parse_unary(*arguments, **options))

    def _parse_range(self, this: Any = None, *arguments: Any, **options: Any) -> Any:
        start = self._index
        node = super()._parse_range(this, *arguments, **options)
        if this is None:
            return self._noted(start, node)
        if node is not this and id(this) in self.ranges:
            # A predicate behind its first operand, as in `x IS NULL`.
            self.ranges[id(node)] = (self.ranges[id(this)][0], self._tokens[self._index - 1].end + 1)
            self.kept.append(node)
        return node

    def _parse_lambda(self, *arguments: Any, **options: Any) -> Any:
        # A function's argument that is a plain column takes a shorter way than through _parse_unary.
        start = self._index
        return self._noted(start, super()._parse_lambda(*arguments, **options))


class SpannedExpression:
    """A parsed expression and the place of each of its nodes in the text."""

    def __init__(self, text: str) -> None:
        """Parse `text`; raises ValueError when sqlglot cannot read it."""
        self.text = text
        dialect = Spark()
        try:
            self._parser = _Parser(dialect=dialect)
            parsed = self._parser.parse_into(exp.Condition, dialect.tokenize(text), text)
        except (ParseError, TokenError) as error:
            raise ValueError(str(error).split("\n", 1)[0]) from error
        if len(parsed) != 1 or parsed[0] is None:
            raise ValueError("not one expression")
        self.root: exp.Expression = parsed[0]

    def span(self, node: exp.Expression) -> Span | None:
        """Return where `node` stands, None when that is not known."""
        found = self._parser.ranges.get(id(node))
        if found is not None:
            return Span(*found)
        if isinstance(node, exp.Binary):
            left, right = self.span(node.left), self.span(node.right)
            if left is not None and right is not None:
                return Span(left.start, right.end)
        return None

    def text_of(self, node: exp.Expression) -> str | None:
        """Return the user's words for `node`."""
        span = self.span(node)
        return None if span is None else self.text[span.start : span.end]
