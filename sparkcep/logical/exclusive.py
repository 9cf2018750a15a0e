"""Tells whether two conditions can never hold for one row, by what is written in them.

Only comparisons of plain columns and literals are looked at: with each other, with whole numbers
and with words. What is not understood may hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sparkcep.logical.spans import SpannedExpression

_OUTCOMES: dict[type[exp.Expression], frozenset[str]] = {
    exp.EQ: frozenset("="), exp.NullSafeEQ: frozenset("="), exp.NEQ: frozenset("<>"), exp.LT: frozenset("<"),
    exp.LTE: frozenset("<="), exp.GT: frozenset(">"), exp.GTE: frozenset(">="),
}  # fmt: skip
_MIRRORED = {"<": ">", "=": "=", ">": "<"}
_PLAIN = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Add, exp.Sub, exp.Mul)
# Whatever type the other side has, whole numbers up to here stay apart when they are cast to it.
_LARGEST = 2**24
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that casts to other types read as values with several spellings.
_SPELLINGS = frozenset({"t", "true", "y", "yes", "f", "false", "n", "no", "inf", "infinity", "nan"})
_MARKS = frozenset({"epoch", "now", "today", "tomorrow", "yesterday"})


@dataclass(frozen=True, slots=True)
class _Bounds:
    """A subject lies between two whole numbers; an `open` end is excluded."""

    low: float
    high: float
    low_open: bool
    high_open: bool

    def misses(self, other: _Bounds) -> bool:
        return self._below(other) or other._below(self)

    def _below(self, other: _Bounds) -> bool:
        return self.high < other.low or (self.high == other.low and (self.high_open or other.low_open))


@dataclass(frozen=True, slots=True)
class _Fact:
    """One comparison: the outcomes of ``subject ? object`` for which it holds."""

    subject: str
    object: str
    outcomes: frozenset[str]
    word: str | None = None
    bounds: _Bounds | None = None

    def excludes(self, other: _Fact) -> bool:
        if self.subject != other.subject:
            return False
        if self.object == other.object:
            return not self.outcomes & other.outcomes
        if self.word is not None and other.word is not None:
            return self.word != other.word
        return self.bounds is not None and other.bounds is not None and self.bounds.misses(other.bounds)


def exclusive(one: str | None, other: str | None) -> bool:
    """Tell whether two conditions over one row cannot both be TRUE; False where that is not known.

    >>> exclusive("kind = 'view'", "kind = 'buy' AND amount > 3"), exclusive("price < before", "price >= before")
    (True, True)
    >>> exclusive("v > 3", "v < 5"), exclusive("kind = 'view'", None)
    (False, False)
    """
    facts = list(_facts(one)), list(_facts(other))
    return any(fact.excludes(against) for fact in facts[0] for against in facts[1])


def _facts(condition: str | None) -> Iterator[_Fact]:
    if condition is None:
        return
    try:
        waiting: list[exp.Expression] = [SpannedExpression(condition).root]
    except ValueError:
        return
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.And):
            waiting += [node.left, node.right]
        elif type(node) in _OUTCOMES and _is_plain(node.left) and _is_plain(node.right):
            outcomes = _OUTCOMES[type(node)]
            yield _fact(node.left.unnest(), node.right.unnest(), outcomes)
            yield _fact(node.right.unnest(), node.left.unnest(), frozenset(_MIRRORED[o] for o in outcomes))


def _is_plain(node: exp.Expression) -> bool:
    """Whether both conditions see the same value there: no function that may change its mind."""
    return all(isinstance(part, _PLAIN) for part in node.walk())


def _fact(subject: exp.Expression, object_: exp.Expression, outcomes: frozenset[str]) -> _Fact:
    return _Fact(
        subject.sql(),
        object_.sql(),
        outcomes,
        _word(object_) if outcomes == {"="} else None,
        _bounds(object_, outcomes),
    )


def _word(node: exp.Expression) -> str | None:
    """Return a text that equals no other such text under any collation or cast."""
    if not isinstance(node, exp.Literal) or not node.is_string or not _WORD.fullmatch(node.this):
        return None
    folded = str(node.this).lower()
    return None if folded in _SPELLINGS | _MARKS else folded


def _bounds(node: exp.Expression, outcomes: frozenset[str]) -> _Bounds | None:
    if not isinstance(node, exp.Literal) or node.is_string or not re.fullmatch(r"\d+", node.this):
        return None
    value = int(node.this)
    if value > _LARGEST or outcomes == {"<", ">"}:
        return None
    below, above = "<" in outcomes, ">" in outcomes
    closed = "=" in outcomes
    return _Bounds(
        -math.inf if below else value, math.inf if above else value, above and not closed, below and not closed
    )
