"""From the set of matches to what is returned: order, selection, columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tests.property.event_reference.bindings import Bindings
from tests.property.event_reference.conditions import evaluate
from tests.property.event_reference.semantics import Expired, Found, Query
from tests.property.event_reference.stream import Stream
from tests.property.event_reference.tree import Part, Variable
from tests.property.event_reference.variants import Component
from tests.property.reference.values import SortKey

Match: TypeAlias = dict[str, Any]


def ordered(found: Iterable[Found], variables: Mapping[str, Variable]) -> list[Found]:
    """Return the different matches by completion, start, number of events, positions in variable order."""
    return sorted(set(found), key=lambda match: _order(match, variables))


def _order(match: Found, variables: Mapping[str, Variable]) -> tuple[Any, ...]:
    bound = dict(match.bindings)
    positions = [bound.get(name, ()) for name in variables]
    taken = [position for group in positions for position in group]
    never = match.timed and match.decided is None
    decided = () if never else (SortKey(match.decided),)
    completed = 0 if match.timed else match.completed
    return (never, _Comparable(decided), match.timed, completed, min(taken), len(taken), positions)


class _Comparable:
    """A tuple of sort keys that equals another where none is less."""

    def __init__(self, keys: tuple[SortKey, ...]) -> None:
        self.keys = keys

    def __lt__(self, other: _Comparable) -> bool:
        return any(one < two for one, two in zip(self.keys, other.keys, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Comparable) and not self < other and not other < self

    __hash__ = None  # type: ignore[assignment]


def span(match: Found | Expired) -> tuple[int, int]:
    taken = [position for _, positions in match.bindings for position in positions]
    return min(taken), max(taken)


def non_overlapping(found: Sequence[Found], stream: Stream) -> list[Found]:
    """Keep, per class, each match that starts after the last kept one ended."""
    kept: list[Found] = []
    ends: dict[Any, int] = {}
    for match in found:
        first, last = span(match)
        if first > ends.get(stream.classes[first], -1):
            kept.append(match)
            ends[stream.classes[first]] = last
    return kept


def one_per_start(found: Sequence[Found]) -> list[Found]:
    kept: dict[int, Found] = {}
    for match in found:
        kept.setdefault(span(match)[0], match)
    return list(kept.values())


def selected(found: Sequence[Found], stream: Stream, matches: str) -> list[Found]:
    if matches == "non_overlapping":
        return non_overlapping(found, stream)
    return one_per_start(found) if matches == "one_per_start" else list(found)


def as_match(query: Query, stream: Stream, found: Found, number: int) -> Match:
    first, last = span(found)
    result = _variables(query, stream, found)
    result |= {"match_number": number, "match_start": stream.times[first], "match_end": stream.times[last]}
    result |= {"match_time": found.decided, "match_status": "match", "waiting_for": None, "deadline": None}
    bindings = _bindings(stream, found)
    result |= {name: evaluate(each.node, bindings) for name, each in query.pattern.returned.items()}
    return result


def as_timeout(query: Query, stream: Stream, expired: Expired) -> Match:
    first, last = span(expired)
    result = _variables(query, stream, expired)
    result |= {"match_number": None, "match_start": stream.times[first], "match_end": stream.times[last]}
    result |= {"match_time": expired.deadline, "match_status": "timeout"}
    return result | {"waiting_for": expired.waiting_for, "deadline": expired.deadline}


def _bindings(stream: Stream, found: Found) -> Bindings:
    components = [Component(Part("", name), 1, frozenset()) for name, _ in found.bindings]
    pairs = [(index, at) for index, (_, positions) in enumerate(found.bindings) for at in positions]
    return Bindings(stream.rows, components, tuple(sorted(pairs, key=lambda pair: pair[1])))


def _variables(query: Query, stream: Stream, found: Found | Expired) -> Match:
    bound, result = dict(found.bindings), {}
    for name, variable in query.pattern.variables.items():
        if variable.negated:
            continue
        rows = [stream.rows[position] for position in bound.get(name, ())]
        result[variable.spelling] = rows if variable.array else (rows[0] if rows else None)
    return result
