"""Runs CORE (C++, one core) through pycer; see `serving` for how it is told what to do."""

import re
from collections.abc import Iterable
from typing import Any

import pycer
from serving import rows, serve

KINDS = "ABCN"
ATTRIBUTES = "{ t:primary_time, k:int, i:int, x:int }"
STREAM = "CREATE STREAM S { " + ", ".join(f"EVENT {kind} {ATTRIBUTES}" for kind in KINDS) + " }"
JOBS = {
    "a b c, any, one window": "SELECT ALL * FROM S WHERE (A as a; B as b; C as c) PARTITION BY [k] WITHIN 3000 [t]",
    "a b+ c, any, one window": "SELECT ALL * FROM S WHERE (A as a; B+ as b; C as c) PARTITION BY [k] WITHIN 1500 [t]",
}
NUMBER = re.compile(r"attributes: \[\S+ \S+ (\d+) ")


def load(path: str) -> list[Any]:
    """Return the events in order of time."""
    return [_event(row) for row in rows(path)]


def _event(row: Any) -> Any:
    values = [pycer.PyIntValue(value) for value in (row.t, row.k, row.i, row.x)]
    return pycer.PyEvent(KINDS.index(row.kind), values, values[0])


def match(job: str, events: list[Any]) -> str:
    """Find the matches; they come as one text."""
    server = pycer.PyOfflineServer()
    server.declare_stream(STREAM)
    server.add_query(JOBS[job])
    server.send_events(events)
    return server.get_output()


def listed(found: str, events: list[Any]) -> Iterable[tuple[int, ...]]:
    """Return the numbers of each match's events."""
    return (tuple(map(int, NUMBER.findall(line))) for line in found.splitlines() if line)


if __name__ == "__main__":
    serve(load, match, listed)
