"""The reference of event patterns against itself: two ways to the same set, and laws of the language."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.property.event_reference import ReferenceError_, StepLimitReached, match_events
from tests.property.event_reference.text import read_event_pattern
from tests.property.event_reference.tree import leaves
from tests.property.event_strategies import STRATEGIES, EventCase, event_cases, seeded_case

QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    database=None,
)
ANY = "skip_till_any_match"


def outcome(case: EventCase, **changes: Any) -> list[dict[str, Any]]:
    """Return the matches; cases that are refused or take too long judge nothing here."""
    try:
        return match_events(case.rows, **(case.arguments | changes), limit=8_000)
    except (StepLimitReached, ReferenceError_):
        assume(False)
    raise AssertionError


def identity(matches: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str(sorted((k, _places(v)) for k, v in match.items() if k != "match_number")) for match in matches)


def _places(value: Any) -> Any:
    if isinstance(value, dict):
        return value["i"]
    return [_places(item) for item in value] if isinstance(value, list) else str(value)


@QUICK
@given(event_cases())
def test_random_cases_run(case: EventCase) -> None:
    numbers = [match.get("match_number") for match in outcome(case)]
    if case.arguments["matches"] != "count" and "partition_by" not in case.arguments:
        assert numbers == list(range(1, len(numbers) + 1))


def test_seeded_cases_run_and_find_something() -> None:
    refused = fruitful = 0
    for seed in range(300):
        try:
            fruitful += bool(seeded_case(seed).expected())
        except (StepLimitReached, ReferenceError_):
            refused += 1
    assert refused < 45
    assert fruitful > 120


@QUICK
@given(st.one_of(event_cases(ANY), st.integers(0, 10**6).map(lambda seed: seeded_case(seed, ANY))))
def test_the_automaton_finds_every_assignment_under_skip_till_any(case: EventCase) -> None:
    found, defined = outcome(case), outcome(case, declarative=True)
    assert identity(found) == identity(defined)


@QUICK
@given(event_cases("strict"))
def test_looser_strategies_find_more(case: EventCase) -> None:
    assume("~" not in case.arguments["pattern"] and "strategy" in case.arguments)
    sets = [identity(outcome(case, strategy=strategy, matches="all")) for strategy in STRATEGIES]
    assert not sets[0] - sets[1]
    assert not sets[1] - sets[2]
    assert not sets[2] - sets[3]


@QUICK
@given(event_cases())
def test_row_order_of_the_input_does_not_matter(case: EventCase) -> None:
    turned = EventCase(case.rows[::-1], case.arguments)
    assert identity(outcome(case)) == identity(outcome(turned))


@QUICK
@given(event_cases())
def test_selections_are_subsets_and_counts_count(case: EventCase) -> None:
    everything = outcome(case, matches="all")
    for selection in ("non_overlapping", "one_per_start"):
        assert not identity(outcome(case, matches=selection)) - identity(everything)
    assert sum(row["match_count"] for row in outcome(case, matches="count")) == len(everything)


@QUICK
@given(st.integers(0, 10**6).map(seeded_case))
def test_irrelevant_rows_may_be_dropped_where_any_event_may_be_skipped(case: EventCase) -> None:
    text = case.arguments["pattern"]
    assume(not any(word in text for word in ("strict", "partition_contiguity", "STRICT", "EVENTS", "UNTIL")))
    assume(case.arguments.get("strategy", "skip") not in ("strict", "partition_contiguity"))
    named = {leaf.type for leaf, _ in leaves(read_event_pattern(text).root)}
    assume("_" not in named)
    fewer = EventCase(tuple(row for row in case.rows if row["type"] in named), case.arguments)
    assert identity(outcome(case)) == identity(outcome(fewer))


@QUICK
@given(st.integers(0, 10**6).map(lambda seed: seeded_case(seed, "skip_till_next_match")))
def test_timeouts_leave_the_matches_alone(case: EventCase) -> None:
    assume("WITHIN" in case.arguments["pattern"] and case.arguments["matches"] != "count")
    both = outcome(case, timeouts=True)
    assert identity([row for row in both if row["match_status"] == "match"]) == identity(outcome(case))
    late = [row for row in both if row["match_status"] == "timeout"]
    assert all(row["waiting_for"] and row["match_number"] is None for row in late)
