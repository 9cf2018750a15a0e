"""WITHIN: intervals, numbers, counts of events (semantics of the first order column, 1.3)."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from sparkcep.errors import PatternSyntaxError, Span
from sparkcep.syntax.clause import Within
from sparkcep.syntax.durations import parse_within, within_text

MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("value", "unit", "amount"),
    [
        ("INTERVAL '30' MINUTE", "interval", 30 * MINUTE),
        ("interval 30 minutes", "interval", 30 * MINUTE),
        ("INTERVAL '1 02:03:04' DAY TO SECOND", "interval", 93_784_000_000),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "interval", 93_784_500_000),
        ("INTERVAL '1 02' DAY TO HOUR", "interval", 26 * 60 * MINUTE),
        ("INTERVAL '02:03' HOUR TO MINUTE", "interval", 123 * MINUTE),
        ("INTERVAL '90:00' MINUTE TO SECOND", "interval", 90 * MINUTE),
        ("INTERVAL '1 hour 30 minutes'", "interval", 90 * MINUTE),
        ("INTERVAL '1' HOUR '30' MINUTE", "interval", 90 * MINUTE),
        ("'30 minutes'", "interval", 30 * MINUTE),
        ("30 minutes", "interval", 30 * MINUTE),
        ("1 hour 30 minutes", "interval", 90 * MINUTE),
        ("1 week 1 day", "interval", 8 * 24 * 60 * MINUTE),
        ("5 seconds", "interval", 5_000_000),
        ("1.5 milliseconds 7 microseconds", "interval", 1_507),
        ("0.5 hours", "interval", 30 * MINUTE),
        ("0 seconds", "interval", 0),
        (dt.timedelta(minutes=30, microseconds=1), "interval", 30 * MINUTE + 1),
        ("10", "number", "10"),
        ("2.50", "number", "2.5"),
        ("1e3", "number", "1000"),
        (10, "number", "10"),
        (2.5, "number", "2.5"),
        (1e-7, "number", "0.0000001"),
        (2**70, "number", str(2**70)),
        (Decimal("0.10"), "number", "0.1"),
        ("0", "number", "0"),
        ("500 events", "events", 500),
        ("1 EVENT", "events", 1),
    ],
)
def test_read(value: Any, unit: Any, amount: int | str) -> None:
    within = parse_within(value)
    assert within == Within(unit, amount)
    assert parse_within(within_text(within)) == within


@pytest.mark.parametrize(
    ("value", "inclusive", "expected"),
    [
        ("1 day", True, True),
        ("1 day", False, False),
        ("1 day INCLUSIVE", True, True),
        ("1 day exclusive", True, False),
        ("1 day exclusive", False, False),
        (10, False, False),
        (dt.timedelta(1), False, False),
    ],
)
def test_inclusive(value: Any, inclusive: bool, expected: bool) -> None:
    within = parse_within(value, inclusive)
    assert within.inclusive is expected
    assert parse_within(within_text(within)) == within


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "INVALID_DURATION"),
        ("soon", "INVALID_DURATION"),
        ("30d", "INVALID_DURATION"),
        ("30 parsecs", "INVALID_DURATION"),
        ("30 minutes 5", "INVALID_DURATION"),
        ("INTERVAL 10", "INVALID_DURATION"),
        ("INTERVAL", "INVALID_DURATION"),
        ("INTERVAL 5 EVENTS", "INVALID_DURATION"),
        ("1.5 events", "INVALID_DURATION"),
        ("1_000", "INVALID_DURATION"),
        ("0.1 microseconds", "INVALID_DURATION"),
        ("INTERVAL '02:70' HOUR TO MINUTE", "INVALID_DURATION"),
        ("INTERVAL '02:03' DAY TO HOUR", "INVALID_DURATION"),
        ("INTERVAL '1 02:03' HOUR TO SECOND", "INVALID_DURATION"),
        ("INTERVAL '1 02:03:04' SECOND TO DAY", "INVALID_DURATION"),
        ("INTERVAL '1.5 02' DAY TO HOUR", "INVALID_DURATION"),
        (True, "INVALID_DURATION"),
        (None, "INVALID_DURATION"),
        (float("nan"), "INVALID_DURATION"),
        (float("inf"), "INVALID_DURATION"),
        ("1 month", "MONTH_INTERVAL"),
        ("INTERVAL '1-2' YEAR TO MONTH", "MONTH_INTERVAL"),
        ("2 years", "MONTH_INTERVAL"),
        ("-5", "NEGATIVE_DURATION"),
        (-0.5, "NEGATIVE_DURATION"),
        ("INTERVAL '-5' DAY", "NEGATIVE_DURATION"),
        ("INTERVAL -5 DAYS", "NEGATIVE_DURATION"),
        (dt.timedelta(-1), "NEGATIVE_DURATION"),
        ("0 events", "EMPTY_WINDOW"),
        ("1 event exclusive", "EMPTY_WINDOW"),
        ("0 exclusive", "EMPTY_WINDOW"),
        ("9999999999999 weeks", "DURATION_TOO_LONG"),
        ("1e999 seconds", "DURATION_TOO_LONG"),
    ],
)
def test_refused(value: Any, code: str) -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        parse_within(value)
    assert caught.value.code == code
    assert caught.value.clause == "WITHIN"


def test_contradiction() -> None:
    with pytest.raises(PatternSyntaxError, match="CONTRADICTION"):
        parse_within("1 day INCLUSIVE", inclusive=False)


def test_hints() -> None:
    with pytest.raises(PatternSyntaxError, match="did you mean 'MINUTES'"):
        parse_within("30 mins")
    with pytest.raises(PatternSyntaxError, match="INTERVAL '30' DAY"):
        parse_within("1 month")


def test_place_in_the_source() -> None:
    source = "PATTERN (A) WITHIN 1 MONTH"
    with pytest.raises(PatternSyntaxError) as caught:
        parse_within("1 MONTH", source=source, offset=19)
    assert (caught.value.text, caught.value.span) == (source, Span(19, 26))


def test_text_takes_the_largest_unit() -> None:
    assert within_text(Within("interval", 86_400_000_000)) == "INTERVAL '1' DAY"
    assert within_text(Within("interval", 90 * MINUTE)) == "INTERVAL '90' MINUTE"
    assert within_text(Within("interval", 1)) == "INTERVAL '1' MICROSECOND"
    assert within_text(Within("events", 5, inclusive=False)) == "5 EVENTS EXCLUSIVE"
