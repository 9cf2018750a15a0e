"""Runs epigrep (Rust, one core) over a file of events; see `serving` for how it is told what to do."""

from collections.abc import Iterable
from typing import Any

import epigrep
from serving import rows, serve

STEP = 3000


def _a_b_c() -> Any:
    return epigrep.Pattern.event("A").then("B", within=STEP).then("C", within=STEP).build()


def _a_without_b_c() -> Any:
    return epigrep.Pattern.event("A").then("C", within=STEP, no="B").build()


def _equal_values() -> Any:
    return epigrep.Pattern.event("A").capture("x", "x").then("C", within=STEP).where_ref_eq("x", "x").build()


JOBS = {
    "a b c, next": (_a_b_c, False),
    "a b c, any": (_a_b_c, True),
    "a no b c, next": (_a_without_b_c, False),
    "a c of equal x, next": (_equal_values, False),
}


def load(path: str) -> list[Any]:
    """Return the events sorted by key and time, as the matcher wants them."""
    events = [epigrep.Event(str(row.k), row.t, row.kind, {"x": row.x, "i": row.i}) for row in rows(path)]
    return epigrep.sort_events(events)


def match(job: str, events: list[Any]) -> list[Any]:
    """Find the matches."""
    pattern, exhaustive = JOBS[job]
    return epigrep.match(pattern(), events, exhaustive=exhaustive, assume_sorted=True)


def listed(found: list[Any], events: list[Any]) -> Iterable[tuple[int, ...]]:
    """Return the numbers of each match's events."""
    numbers = [event.attrs["i"] for event in events]
    return (tuple(numbers[index] for index in one.indices) for one in found)


if __name__ == "__main__":
    serve(load, match, listed)
