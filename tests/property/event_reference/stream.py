"""The events of one partition, and what windows and classes say about pairs of them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.property.event_reference.conditions import Row
from tests.property.event_reference.tree import Window
from tests.property.reference.errors import ReferenceError_
from tests.property.reference.values import group_key


@dataclass(frozen=True)
class Stream:
    """Events in order.

    Attributes
    ----------
    times
        The first order column.
    classes
        The value of the ``[key]`` tests per event, None where a key is NULL.
    ordinals
        The number of each event among the events of its class.
    """

    rows: Sequence[Row]
    times: Sequence[Any]
    classes: Sequence[tuple[Any, ...] | None]
    ordinals: Sequence[int]
    inclusive: bool

    def within(self, window: Window, first: int, last: int) -> bool:
        """Tell whether event `last` is inside of `window` from event `first` on."""
        size = window.size
        if window.events:
            if self.classes[first] != self.classes[last]:
                return True
            span: Any = self.ordinals[last] - self.ordinals[first] + 1
        else:
            span = self.times[last] - self.times[first]
        return bool(span <= size if self.closed(window) else span < size)

    def closed(self, window: Window) -> bool:
        return self.inclusive if window.inclusive is None else window.inclusive

    def deadline(self, window: Window, first: int) -> Any:
        """Return when `window` closes; None if it counts events that have not come."""
        if not window.events:
            return _later(self.times[first], window.size)
        last = self.ordinals[first] + window.size - (1 if self.closed(window) else 2)
        reached = [
            place
            for place, ordinal in enumerate(self.ordinals)
            if self.classes[place] == self.classes[first] and ordinal == last
        ]
        return self.times[reached[0]] if reached else None


def _later(start: Any, size: Any) -> Any:
    try:
        if isinstance(start, dt.date) and not isinstance(start, dt.datetime):
            start = dt.datetime(start.year, start.month, start.day)
        return start + size
    except OverflowError:
        return dt.datetime.max


def make_stream(rows: Sequence[Row], order: str, keys: Sequence[str], inclusive: bool) -> Stream:
    seen: Counter[Any] = Counter()
    classes, ordinals = [], []
    for row in rows:
        values = [column(row, key) for key in keys]
        found = None if any(value is None for value in values) else tuple(group_key(value) for value in values)
        classes.append(found)
        ordinals.append(seen[found])
        seen[found] += 1
    return Stream(rows, [column(row, order) for row in rows], classes, ordinals, inclusive)


def column(row: Mapping[str, Any], name: str) -> Any:
    found = {key.lower(): value for key, value in row.items()}
    if name.lower() not in found:
        raise ReferenceError_(f"unknown column {name}; there are {', '.join(row)}")
    return found[name.lower()]


def check_window(window: Window, sample: Any, inclusive: bool) -> None:
    """Raise ReferenceError_ for a window that no pair of events can be in, or of the wrong kind."""
    size = window.size
    closed = inclusive if window.inclusive is None else window.inclusive
    zero = dt.timedelta() if isinstance(size, dt.timedelta) else 0
    if size < zero or (size == zero and not closed) or (window.events and size == 1 and not closed):
        raise ReferenceError_(f"WITHIN {size} can never hold")
    if window.events or sample is None:
        return
    if isinstance(size, dt.timedelta) != isinstance(sample, dt.date):
        raise ReferenceError_(f"WITHIN {size} does not fit the order column")
