"""The case tables of event patterns: one format, read once, run by the reference and by every engine.

`events` is a stream such as ``"a1 b1(5) c1@7"``: type letter and number; ``(v)`` or ``(v,w)`` the
value columns v and w, NULL and NaN allowed; up to two capitals behind it the columns sym and grp,
NULL where there is none; ``@t`` the order column t, else the position, counted from 1. Column
`name` holds the event's name, column `type` the letter as a capital, column `i` the position. Events
are ordered by `ORDER`: times may tie, positions do not.

`pattern` is SASE text. `next`, `any`, `strict` and `partition` hold the matches by strategy, `own`
those of a text that names its strategy, each match a list of event names in stream order; a number
in place of the list is the count. With `show`, a match is the list of what `show` names: variables
(an event's name, a list of names, or "NULL"), match_number, match_start, match_end, match_time,
match_status, waiting_for, deadline, match_count, partition columns, names of RETURN; times stand as
numbers. Matches are compared as multisets. In place of results, `error` lists words of the message;
a strategy's key then holds any value, and without one the strategy is that of the text.

The other keys are arguments of ``match_pattern``: `partition_by`, `within`, `inclusive`, `matches`,
`timeouts`, `strict_time`, `types` (in their absence types are compared with column `type`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib  # pytest brings it

TABLES = Path(__file__).parent
ARGUMENTS = ("partition_by", "within", "inclusive", "matches", "timeouts", "strict_time", "types")
STRATEGIES = {
    "strict": "strict",
    "partition": "partition_contiguity",
    "next": "skip_till_next_match",
    "any": "skip_till_any_match",
    "own": None,
}
ORDER = ("t", "i")
COLUMNS = ("name", "type", "v", "w", "sym", "grp", "t", "i")
_EVENT = re.compile(r"([a-z])(\w*?)(?:\(([^)]*)\))?([A-Z]{0,2})(?:@(-?[\d.]+))?")


@dataclass(frozen=True)
class EventTableCase:
    """One case of a table under one strategy.

    Attributes
    ----------
    rows
        Events as mappings of the columns of `COLUMNS`, in stream order.
    strategy
        The argument; None where the text names the strategy.
    arguments
        The other keyword arguments of ``match_pattern`` but `pattern` and `order_by`.
    expected
        The matches, their number, or None if an error is expected.
    """

    table: str
    name: str
    rows: tuple[dict[str, Any], ...]
    pattern: str
    strategy: str | None
    arguments: dict[str, Any]
    expected: tuple[tuple[Any, ...], ...] | int | None
    show: tuple[str, ...]
    error: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.table}: {self.name} ({self.strategy or 'own'})"

    def shown(self, match: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return a match as `expected` lists it; events of `match` are mappings with column name."""
        if self.show:
            return tuple(_shown(match[name]) for name in self.show)
        taken = [value for value in match.values() if isinstance(value, Mapping)]
        taken += [row for value in match.values() if isinstance(value, list) for row in value]
        place = {row["name"]: number for number, row in enumerate(self.rows)}
        return tuple(sorted((row["name"] for row in taken), key=place.__getitem__))


def _shown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value["name"]
    return [_shown(item) for item in value] if isinstance(value, list) else value


def read_events(text: str) -> tuple[dict[str, Any], ...]:
    """Return the events of a stream's text as rows."""
    rows = []
    for position, word in enumerate(text.split(), 1):
        match = _EVENT.fullmatch(word)
        if match is None:
            raise ValueError(f"{word} is no event")
        letter, number, values, capitals, time = match.groups()
        v, w, *_ = [*map(_value, values.split(",")), None, None] if values else [None, None]
        sym, grp = [*capitals, None, None][:2]
        t = position if time is None else _number(time)
        rows.append(dict(zip(COLUMNS, (letter + number, letter.upper(), v, w, sym, grp, t, position), strict=True)))
    _widen(rows, "v")
    _widen(rows, "w")
    _widen(rows, "t")
    return tuple(rows)


def _widen(rows: list[dict[str, Any]], column: str) -> None:
    if any(isinstance(row[column], float) for row in rows):
        for row in rows:
            row[column] = None if row[column] is None else float(row[column])


def _value(text: str) -> Any:
    return None if text == "NULL" else _number(text)


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if value == "NULL" else value


def _cases(table: str, raw: dict[str, Any]) -> list[EventTableCase]:
    unknown = set(raw) - {"name", "events", "pattern", "show", "error", *STRATEGIES, *ARGUMENTS}
    if unknown:
        raise ValueError(f"{table}: {raw['name']}: unknown keys {sorted(unknown)}")
    named = [key for key in STRATEGIES if key in raw]
    if "error" in raw and not named:
        named = ["own"]
    arguments = {name: raw[name] for name in ARGUMENTS if name in raw}
    found = []
    for key in named:
        given = raw.get(key)
        expected = tuple(map(tuple, _plain(given))) if isinstance(given, list) else given
        expected = None if "error" in raw else expected
        rows, show = read_events(raw.get("events", "")), tuple(raw.get("show", ()))
        error = tuple(raw.get("error", ()))
        found.append(
            EventTableCase(table, raw["name"], rows, raw["pattern"], STRATEGIES[key], arguments, expected, show, error)
        )
    return found


def load_event_cases(prefix: str = "event_") -> list[EventTableCase]:
    """Return all cases of the tables whose file name starts with `prefix`, by file, place and strategy."""
    return [
        case
        for path in sorted(TABLES.glob(f"{prefix}*.toml"))
        for raw in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        for case in _cases(path.stem, raw)
    ]
