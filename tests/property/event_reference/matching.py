"""The door of the reference."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.property.event_reference.automaton import compile_sequence, simulate
from tests.property.event_reference.conditions import Row, read_condition
from tests.property.event_reference.interleaving import assignments, compile_order
from tests.property.event_reference.placement import check_forms
from tests.property.event_reference.results import Match, as_match, as_timeout, ordered, selected, span
from tests.property.event_reference.semantics import Budget, Expired, Found, Query
from tests.property.event_reference.stream import Stream, check_window, column, make_stream
from tests.property.event_reference.text import read_event_pattern, read_window
from tests.property.event_reference.tokens import tokens
from tests.property.event_reference.tree import STRATEGIES, EventPattern, Part, Window, leaves
from tests.property.event_reference.variants import Structure, components, expand, has_parallel_parts, orders
from tests.property.reference.errors import ReferenceError_, StepLimitReached
from tests.property.reference.values import SortKey, group_key

MATCHES = ("all", "non_overlapping", "one_per_start", "count")
ANY = "skip_till_any_match"


def match_events(
    events: Iterable[Row],
    pattern: str,
    *,
    types: Mapping[str, str] | None = None,
    type_column: str = "type",
    strategy: str | None = None,
    partition_by: Sequence[str] = (),
    order_by: str | Sequence[str] = "t",
    within: Any = None,
    inclusive: bool = True,
    matches: str = "all",
    strict_time: bool = False,
    timeouts: bool = False,
    null_order_value: str = "fail",
    limit: int = 200_000,
    declarative: bool = False,
) -> list[Match]:
    """Return the matches of a SASE text among `events`, mappings of columns to values.

    Parameters
    ----------
    declarative
        Under skip-till-any, enumerate assignments instead of running the automaton.
    limit
        Steps of brute force before StepLimitReached.

    Returns
    -------
    list
        Per match a dict: each variable with its event, None, or list of events; match_number,
        match_start, match_end, match_time, match_status, waiting_for, deadline; the names of RETURN.
        Events are the given mappings themselves. With ``matches="count"`` one dict per partition
        that has a match: the partition columns and match_count.
    """
    text = read_event_pattern(pattern)
    query = _query(text, types or {}, type_column, strategy, within, strict_time, limit)
    if matches not in MATCHES:
        raise ReferenceError_(f"matches={matches} is none of {', '.join(MATCHES)}")
    if timeouts and query.within is None and all(leaf.within is None for leaf, _ in leaves(text.root)):
        raise ReferenceError_("timeouts need a window: add WITHIN")
    check_forms(text)
    _check_windows(query, None, inclusive)
    _compile_all(query, [variant for variant in expand(text.root, 1) if variant is not None], declarative)
    order = [order_by] if isinstance(order_by, str) else list(order_by)
    results: list[Match] = []
    for group in _partitions(events, partition_by, order, null_order_value):
        stream = make_stream(group, order[0], text.keys, inclusive)
        _check_windows(query, stream.times[0], inclusive)
        found, expired = _matches_of(query, stream, declarative)
        chosen = selected(ordered(found, text.variables), stream, matches)
        if matches == "count":
            keys = {name: column(group[0], name) for name in partition_by}
            results += [keys | {"match_count": len(chosen)}] if chosen else []
            continue
        results += [as_match(query, stream, match, number) for number, match in enumerate(chosen, 1)]
        late = sorted(set(expired), key=lambda each: (span(each), each.waiting_for, each.bindings))
        results += [as_timeout(query, stream, each) for each in late] if timeouts else []
    return results


def _query(
    text: EventPattern,
    types: Mapping[str, str],
    type_column: str,
    strategy: str | None,
    within: Any,
    strict_time: bool,
    limit: int,
) -> Query:
    if strategy is not None and strategy not in STRATEGIES:
        raise ReferenceError_(f"strategy {strategy} is none of {', '.join(STRATEGIES)}")
    if strategy is not None and text.strategy not in (None, strategy):
        raise ReferenceError_(f"the text says {text.strategy}, the argument strategy={strategy}")
    window = None if within is None else read_window(within)
    if window is not None and text.within is not None and window.size != text.within.size:
        raise ReferenceError_("WITHIN of the text and within= differ")
    predicates = {name: read_condition(tokens(predicate), ()) for name, predicate in types.items()}
    chosen = text.strategy or strategy or "skip_till_next_match"
    return Query(text, chosen, text.within or window, predicates, type_column, strict_time, limit)


def _check_windows(query: Query, sample: Any, inclusive: bool) -> None:
    windows: list[Window | None] = [query.within, *(leaf.within for leaf, _ in leaves(query.pattern.root))]
    for window in windows:
        if window is not None:
            check_window(window, sample, inclusive)


def _partitions(
    events: Iterable[Row], partition_by: Sequence[str], order: Sequence[str], null_order_value: str
) -> list[list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for event in events:
        if column(event, order[0]) is None:
            if null_order_value == "drop":
                continue
            raise ReferenceError_(f"{order[0]} is NULL", stage="data")
        groups.setdefault(tuple(group_key(column(event, name)) for name in partition_by), []).append(event)
    for name in reversed(order):
        for group in groups.values():
            group.sort(key=lambda row: SortKey(column(row, name)))
    return list(groups.values())


def _interleaves(query: Query, structure: Structure, declarative: bool) -> bool:
    strategies = {component.part.strategy or query.strategy for component in components(structure)}
    return strategies == {ANY} and (declarative or has_parallel_parts(structure))


def _compile_all(query: Query, variants: Sequence[Structure], declarative: bool) -> None:
    """Raise what is wrong whatever the data are."""
    bound: list[frozenset[str]] = []
    followers: set[str] = set()
    for variant in variants:
        if not any(components(variant)):
            continue
        for order in itertools.islice(orders(variant), 200):
            bound.append(frozenset(leaf.variable for leaf in order))
            followers |= {component.variable for component in compile_sequence(query, order).sequence[1:]}
        if _interleaves(query, variant, declarative):
            compile_order(query, variant)
    for leaf, _ in leaves(query.pattern.root):
        if isinstance(leaf, Part) and leaf.within is not None and leaf.variable.upper() not in followers:
            raise ReferenceError_(f"WITHIN of {leaf.variable} counts from the step before, and there is none")
    for condition in query.pattern.conditions:
        if bound and not any(condition.variables <= names for names in bound):
            raise ReferenceError_(f"no branch binds all of {', '.join(sorted(condition.variables))}")


def _matches_of(query: Query, stream: Stream, declarative: bool) -> tuple[list[Found], list[Expired]]:
    found: list[Found] = []
    expired: list[Expired] = []
    budget = Budget(query.limit)
    for variant in expand(query.pattern.root, len(stream.rows)):
        if variant is None or not any(components(variant)):
            continue
        if _interleaves(query, variant, declarative):
            found += assignments(compile_order(query, variant), stream, budget)
            continue
        for order in orders(variant):
            budget.spend(10)
            matches, late = simulate(compile_sequence(query, order), stream, budget)
            found += matches
            expired += late
    return found, expired


__all__ = ["MATCHES", "StepLimitReached", "match_events"]
