"""``WITHIN``: intervals, bare numbers and counts of events, read from text or Python values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from sparkcep.errors import PatternSyntaxError, Span, did_you_mean
from sparkcep.syntax.clause import Within
from sparkcep.syntax.lexer import string_value, tokenize

MICROSECONDS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
WithinUnit: TypeAlias = Literal["interval", "number", "events"]
LARGEST_AMOUNT = 2**63 - 1
_MONTH_UNITS = frozenset({"MONTH", "QUARTER", "YEAR"})
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_FIELD_LIMITS = {"HOUR": 24, "MINUTE": 60, "SECOND": 60}
_NUMBER = re.compile(r"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DAY_TIME = re.compile(r"[0-9]+(?: [0-9]+)?(?::[0-9]+)*(?:\.[0-9]+)?")
_ALLOWED = "INTERVAL '30' MINUTE, 30 minutes, INTERVAL '1 02:03:04' DAY TO SECOND, a number, 500 EVENTS"


def parse_within(
    value: str | int | float | Decimal | dt.timedelta,
    inclusive: bool = True,
    *,
    clause: str = "WITHIN",
    source: str | None = None,
    offset: int = 0,
) -> Within:
    """Read the greatest distance between the first and the last row of a match.

    Parameters
    ----------
    value
        ``INTERVAL '30' MINUTE``, ``INTERVAL '1 02:03:04' DAY TO SECOND``, ``1 hour 30 minutes``,
        a number in units of the first order column (``10``, ``"2.5"``), ``500 events``, or a
        timedelta. A text may end in INCLUSIVE or EXCLUSIVE.
    inclusive
        Whether a match of exactly that distance is one; False equals EXCLUSIVE in the text.
    clause
        Named in errors.
    source, offset
        The text that `value` was cut from, and where: spans and errors then speak of `source`.

    Returns
    -------
    Within
        Intervals in microseconds, numbers as decimal text, events as a count.

    Raises
    ------
    PatternSyntaxError
        INVALID_DURATION, NEGATIVE_DURATION, MONTH_INTERVAL, EMPTY_WINDOW, DURATION_TOO_LONG,
        CONTRADICTION (the text says INCLUSIVE, the argument False).

    Examples
    --------
    >>> parse_within("1 hour 30 minutes").amount
    5400000000
    >>> parse_within("500 EVENTS EXCLUSIVE")
    Within(unit='events', amount=500, inclusive=False, span=Span(start=0, end=20))
    """
    if isinstance(value, str):
        return _Reader(value, clause, source, offset).read(inclusive)
    reader = _Reader(str(value), clause, None, 0)
    if isinstance(value, dt.timedelta):
        return reader.checked("interval", value // dt.timedelta(microseconds=1), inclusive)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise reader.error("INVALID_DURATION", "This is not a distance.", allowed=_ALLOWED)
    return reader.read(inclusive)


def within_text(within: Within) -> str:
    """Return text that `parse_within` reads back as an equal value.

    >>> within_text(Within("interval", 5_400_000_000, inclusive=False))
    "INTERVAL '90' MINUTE EXCLUSIVE"
    """
    tail = "" if within.inclusive else " EXCLUSIVE"
    if within.unit == "number":
        return f"{within.amount}{tail}"
    if within.unit == "events":
        return f"{within.amount} EVENTS{tail}"
    amount = int(within.amount)
    name, size = next((n, s) for n, s in MICROSECONDS.items() if n != "WEEK" and amount % s == 0)
    return f"INTERVAL '{amount // size}' {name}{tail}"


class _Reader:
    def __init__(self, text: str, clause: str, source: str | None, offset: int) -> None:
        self._clause = clause
        self._text = text
        self._source = text if source is None else source
        self._offset = offset
        self._stated = False

    def error(
        self, code: str, message: str, *, allowed: str | Iterable[str] | None = None, hint: str | None = None
    ) -> PatternSyntaxError:
        return PatternSyntaxError(
            code,
            message,
            clause=self._clause,
            text=self._source,
            span=self._span,
            found=self._text.strip(),
            allowed=allowed,
            hint=hint,
        )

    @property
    def _span(self) -> Span:
        return Span(self._offset, self._offset + len(self._text))

    def read(self, inclusive: bool) -> Within:
        words = self._words()
        if words and words[-1] in ("INCLUSIVE", "EXCLUSIVE"):
            said = words.pop()
            if said == "INCLUSIVE" and not inclusive:
                raise self.error("CONTRADICTION", "The text says INCLUSIVE, the argument inclusive=False.")
            inclusive = inclusive and said == "INCLUSIVE"
            self._stated = True
        is_interval = words[:1] == ["INTERVAL"]
        words = words[is_interval:]
        if any(_unit_name(word) in _MONTH_UNITS for word in words):
            raise self.error(
                "MONTH_INTERVAL", "Months and years have no fixed length.", hint="use days: INTERVAL '30' DAY"
            )
        if any(word.startswith("-") for word in words):
            raise self.error("NEGATIVE_DURATION", "A distance cannot be negative.")
        if len(words) == 1 and not is_interval:
            return self.checked("number", _plain(self._number(words[0])), inclusive)
        if len(words) == 2 and _unit_name(words[1]) == "EVENT" and not is_interval:
            return self.checked("events", self._whole(self._number(words[0]), "a whole number of events"), inclusive)
        microseconds = self._day_time(words) if words[-2:-1] == ["TO"] else self._sum(words)
        return self.checked("interval", self._whole(microseconds, "whole microseconds"), inclusive)

    def checked(self, unit: WithinUnit, amount: int | str, inclusive: bool) -> Within:
        """Refuse what is negative, too short for any match, or has no room in 64 bits."""
        size = Decimal(amount)
        if size < 0:
            raise self.error("NEGATIVE_DURATION", "A distance cannot be negative.")
        least = 1 if unit == "events" else 0
        if size < least or (size == least and not inclusive):
            raise self.error("EMPTY_WINDOW", "No match can be that short.", hint="make WITHIN longer, or INCLUSIVE")
        if unit != "number" and size > LARGEST_AMOUNT:
            raise self.error("DURATION_TOO_LONG", "The distance does not fit into 64 bits.")
        return Within(unit, amount, inclusive, self._span, self._stated)

    def _words(self) -> list[str]:
        """Upper-case words of the text, the content of string literals among them; a sign joins its number."""
        pieces = tokenize(self._text, clause=self._clause, source=self._source, offset=self._offset)
        plain = " ".join(
            string_value(piece) if piece.kind in ("string", "double-quoted") else piece.text for piece in pieces
        )
        return plain.upper().split()

    def _number(self, word: str) -> Fraction:
        if not _NUMBER.fullmatch(word):
            raise self.error("INVALID_DURATION", "This is not a distance.", allowed=_ALLOWED)
        return Fraction(word)

    def _whole(self, value: Fraction, what: str) -> int:
        if value.denominator != 1:
            raise self.error("INVALID_DURATION", f"The distance is not {what}.")
        return int(value)

    def _sum(self, words: list[str]) -> Fraction:
        if not words or len(words) % 2:
            raise self.error("INVALID_DURATION", "This is not a distance.", allowed=_ALLOWED)
        return sum(
            (self._number(word) * self._unit(unit) for word, unit in zip(words[::2], words[1::2], strict=True)),
            Fraction(0),
        )

    def _unit(self, word: str) -> int:
        name = _unit_name(word)
        if name not in MICROSECONDS:
            raise self.error(
                "INVALID_DURATION",
                f"{word} is no unit of time.",
                allowed=[*MICROSECONDS, "EVENTS"],
                hint=did_you_mean(word, [f"{unit}S" for unit in MICROSECONDS]),
            )
        return MICROSECONDS[name]

    def _day_time(self, words: list[str]) -> Fraction:
        """Read ``1 02:03:04.5 DAY TO SECOND`` and its shorter forms."""
        *literal, first, _, last = words
        text = " ".join(literal)
        fields = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1] if {first, last} <= set(_FIELDS) else ()
        values = re.split("[ :]", text)
        well_formed = (
            len(fields) >= 2
            and _DAY_TIME.fullmatch(text)
            and len(values) == len(fields)
            and (" " in text) == (first == "DAY")
            and ("." not in text or last == "SECOND")
        )
        if not well_formed:
            raise self.error("INVALID_DURATION", "This is not a day-time interval.", allowed=_ALLOWED)
        for field, value in list(zip(fields, values, strict=True))[1:]:
            if Fraction(value) >= _FIELD_LIMITS[field]:
                raise self.error("INVALID_DURATION", f"{value} is too large for {field}.")
        return sum((Fraction(v) * MICROSECONDS[f] for f, v in zip(fields, values, strict=True)), Fraction(0))


def _unit_name(word: str) -> str:
    return word[:-1] if word.endswith("S") else word


def _plain(value: Fraction) -> str:
    """Return decimal text of a value that was read from decimal text: ``1e3`` becomes ``1000``."""
    if value.denominator == 1:
        return str(value.numerator)
    digits = max(_exponent(value.denominator, 2), _exponent(value.denominator, 5))
    whole = str(value.numerator * 10**digits // value.denominator).rjust(digits + 1, "0")
    return f"{whole[:-digits]}.{whole[-digits:]}"


def _exponent(number: int, prime: int) -> int:
    count = 0
    while number % prime == 0:
        number //= prime
        count += 1
    return count
