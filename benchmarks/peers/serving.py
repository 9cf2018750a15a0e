"""How a script in another environment is told what to run: a command a line, an answer a line.

Needs nothing but the standard library, because another Python runs it, without this project.
Commands are ``load``, ``match JOB`` (over what was loaded), ``whole JOB`` (read the file and match)
and ``hash JOB``. An answer is ``=`` and JSON; other lines are the other matcher's own talk.
"""

import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A line of the file: number, time, key, kind, value."""

    i: int
    t: int
    k: int
    kind: str
    x: int


def rows(path: str) -> list[Row]:
    """Read the file."""
    with open(path, newline="") as file:
        lines = csv.reader(file)
        next(lines)
        return [Row(int(i), int(t), int(k), kind, int(x)) for i, t, k, kind, x in lines]


def digest(found: Iterable[tuple[int, ...]]) -> dict[str, object]:
    """Return how many matches there are, and a hash of the sorted list of their events' numbers."""
    lines = sorted(found)
    text = "\n".join(" ".join(map(str, line)) for line in lines)
    return {"count": len(lines), "hash": hashlib.sha256(text.encode()).hexdigest()}


def serve(
    load: Callable[[str], Any],
    match: Callable[[str, Any], Any],
    listed: Callable[[Any, Any], Iterable[tuple[int, ...]]],
) -> None:
    """Answer commands until the input ends.

    Parameters
    ----------
    load
        Makes the matcher's events of the file.
    match
        Finds the matches of a job in them.
    listed
        Returns the events' numbers of each of these, in order of time.
    """
    path = sys.argv[1]
    loaded: Any = None
    for line in sys.stdin:
        command, _, job = line.strip().partition(" ")
        answer: object = None
        if command == "load":
            loaded = load(path)
        elif command == "match":
            match(job, loaded)
        elif command == "whole":
            match(job, load(path))
        else:
            answer = digest(listed(match(job, loaded), loaded))
        print("=" + json.dumps(answer), flush=True)
