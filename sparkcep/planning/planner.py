"""Chooses the engine of a pattern (design: engines)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.errors import PlanError
from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.planning.costs import (
    BACKTRACK_STEPS_PER_ROW,
    JOIN_STEPS_PER_PARTIAL_MATCH,
    JOIN_STEPS_PER_READ,
    JOIN_STEPS_PER_SHUFFLE,
    ORDERED_STEPS_PER_ROW,
    ORDERED_STEPS_PER_VISIT,
    RUNS_STEPS_PER_ROW,
    STATES_PER_WORD,
    STEPS_PER_FURTHER_WINDOW,
    TREE_STEPS_PER_ROW,
    TREE_STEPS_PER_VISIT,
    UNKNOWN_STEPS_PER_ROW,
    WINDOW_STEPS_PER_ROW,
    WINDOW_STEPS_PER_VALUE,
)
from sparkcep.planning.joins import join_obstacle, planned_join
from sparkcep.planning.lazy import estimates_of, named_statistics, obstacle
from sparkcep.planning.orders import LeftDeep, greedy_order
from sparkcep.planning.plans import Candidate, Decision, Options, PlanName
from sparkcep.planning.statistics import Estimates, Statistics
from sparkcep.planning.trees import planned_tree, tree_obstacle
from sparkcep.planning.windows import FixedRows, reads_neighbours, rows_fetched

BINDING_IN_ANY_ORDER: tuple[PlanName, ...] = ("ordered", "tree", "join")


@dataclass(frozen=True, slots=True)
class EventDecision:
    """The engine of an event pattern, and per order what was known or assumed of its components."""

    decision: Decision
    estimates: tuple[Estimates, ...]


def choose(
    match: LogicalMatch,
    options: Options,
    *,
    states: int | None,
    too_large: str | None,
    fixed: FixedRows | str,
) -> Decision:
    """Return the cheapest legal engine, or the one the options force.

    Parameters
    ----------
    match
        The bound pattern.
    options
        `Options.plan` may force an engine.
    states
        Number of states of the pattern's automaton, None when it has none.
    too_large
        Why it has none.
    fixed
        The rows of every match, or why window functions cannot find them.

    Raises
    ------
    PlanError
        When the forced engine may not serve the pattern.
    """
    names: tuple[PlanName, ...] = ("runs", *BINDING_IN_ANY_ORDER)
    others = tuple(Candidate(name, None, "it finds event patterns, and this is a row pattern") for name in names)
    return _decided((_sweep(match, states, too_large), _backtrack(), _window(match, fixed)), others, options)


def choose_for_events(
    events: LogicalEvents, options: Options, *, sampled: bool, matches: str = "all", orders_by_column: bool = False
) -> EventDecision:
    """Return the engine of an event pattern, or the one the options force.

    Parameters
    ----------
    events
        The bound pattern.
    options
        `Options.plan` may force an engine; `Options.stats` tell rates and selectivities.
    sampled
        Whether matches are to be drawn.
    matches
        The caller's ``matches=``.
    orders_by_column
        Whether a sort order was given as a Column.

    Raises
    ------
    PlanError
        When the forced engine may not serve the pattern, or the statistics speak of an unknown variable.
    """
    names: tuple[PlanName, ...] = ("sweep", "backtrack", "window")
    others = tuple(Candidate(name, None, "it finds row patterns, and this is an event pattern") for name in names)
    statistics = named_statistics(options.stats or Statistics(), events)
    wanted = _graph_wanted(events, sampled)
    reason, of_trees = wanted or obstacle(events), wanted or tree_obstacle(events)
    if of_trees is not None:
        reasons: dict[PlanName, str] = dict.fromkeys(BINDING_IN_ANY_ORDER, reason or of_trees) | {"tree": of_trees}
        unfit = tuple(Candidate(name, None, why) for name, why in reasons.items())
        return EventDecision(_decided((_runs(None, options.merge_runs), *unfit), others, options), ())
    estimates = tuple(estimates_of(order, events, statistics) for order in events.orders)
    known = all(name in statistics.rates for each in estimates for name in each.variables)
    if reason is not None:
        # Nothing is known of how many partial matches a loop makes in `runs`, where equal ones are merged.
        unfit = tuple(Candidate(name, None, reason) for name in BINDING_IN_ANY_ORDER if name != "tree")
        candidates = (_runs(None, options.merge_runs), _tree(events, estimates, None), *unfit)
        return EventDecision(_decided(candidates, others, options), estimates)
    candidates = (
        _runs(estimates if known else None, options.merge_runs),
        _ordered(estimates, known),
        _tree(events, estimates, statistics if known else None),
        _join(
            events,
            estimates,
            known,
            statistics.rows,
            join_obstacle(events, matches, orders_by_column=orders_by_column),
        ),
    )
    return EventDecision(_decided(candidates, others, options), estimates)


def _graph_wanted(events: LogicalEvents, sampled: bool) -> str | None:
    """Return what needs the match graph, which only `runs` makes."""
    if events.waiting is not None:
        return "time-outs are partial matches, and it keeps none"
    if events.graph is not None:
        return "matches='graph' puts out the match graph, and it makes none"
    return "a sample is drawn from the match graph, and it makes none" if sampled else None


def _runs(estimates: Sequence[Estimates] | None, merges: bool) -> Candidate:
    reason = "keeps all partial matches and moves them on event by event"
    if estimates is None:
        return Candidate("runs", RUNS_STEPS_PER_ROW, reason)
    orders = [LeftDeep(tuple(range(len(each.rates)))) for each in estimates]
    listed = zip(orders, estimates, strict=True)
    visits = sum(order.merged_visits(each) if merges else order.visits(each) for order, each in listed)
    cost = RUNS_STEPS_PER_ROW + visits / _events(estimates)
    return Candidate("runs", cost, f"{reason}: about {visits:,.0f} visits per window")


def _ordered(estimates: Sequence[Estimates], known: bool) -> Candidate:
    plans = [greedy_order(each) for each in estimates]
    reason = "binds rare and selective events first"
    if not known:
        cost = ORDERED_STEPS_PER_ROW + UNKNOWN_STEPS_PER_ROW
        return Candidate("ordered", cost, f"{reason}, if it is told by Options(stats=…) which of them are rare")
    visits = sum(LeftDeep(plan.order).visits(each) for plan, each in zip(plans, estimates, strict=True))
    cost = ORDERED_STEPS_PER_ROW + ORDERED_STEPS_PER_VISIT * visits / _events(estimates)
    orders = "; ".join(
        ", ".join(each.variables[k] for k in plan.order) for plan, each in zip(plans, estimates, strict=True)
    )
    return Candidate("ordered", cost, f"{reason} ({orders}): about {visits:,.0f} visits per window")


def _tree(events: LogicalEvents, estimates: Sequence[Estimates], statistics: Statistics | None) -> Candidate:
    trees = [
        planned_tree(order, each, [events.variables[gap.variable].label for gap in order.gaps], statistics)
        for order, each in zip(events.orders, estimates, strict=True)
    ]
    reason = f"joins partial matches in pairs, {'; '.join(tree.text for tree in trees)}"
    if statistics is None:
        cost = TREE_STEPS_PER_ROW + UNKNOWN_STEPS_PER_ROW
        return Candidate("tree", cost, f"{reason}; Options(stats=…) may tell a tree")
    visits = sum(tree.visits for tree in trees)
    cost = TREE_STEPS_PER_ROW + TREE_STEPS_PER_VISIT * visits / _events(estimates)
    return Candidate("tree", cost, f"{reason}: about {visits:,.0f} visits per window")


def _join(
    events: LogicalEvents, estimates: Sequence[Estimates], known: bool, rows: float | None, reason: str | None
) -> Candidate:
    if reason is not None:
        return Candidate("join", None, reason)
    joins = [planned_join(order, events, each, rows) for order, each in zip(events.orders, estimates, strict=True)]
    told = f"joins selections of the input ({'; '.join(join.text for join in joins)})"
    reads = sum(len(join.leaves) for join in joins)
    cost = JOIN_STEPS_PER_READ * reads
    if not known:
        return Candidate("join", cost + JOIN_STEPS_PER_SHUFFLE + UNKNOWN_STEPS_PER_ROW, told)
    partial, shuffled = sum(join.cost for join in joins), sum(join.shuffled for join in joins)
    cost += (JOIN_STEPS_PER_SHUFFLE * shuffled + JOIN_STEPS_PER_PARTIAL_MATCH * partial) / _events(estimates)
    return Candidate("join", cost, f"{told}: about {partial:,.0f} partial matches per window")


def _events(estimates: Sequence[Estimates]) -> float:
    """Return the events per window that some variable can take."""
    rates = {name: rate for each in estimates for name, rate in zip(each.variables, each.rates, strict=True)}
    return max(sum(rates.values()), 1.0)


def _decided(candidates: tuple[Candidate, ...], others: tuple[Candidate, ...], options: Options) -> Decision:
    """Choose among `candidates`; `others` are engines of the other language."""
    if options.plan != "auto":
        forced = next(candidate for candidate in (*candidates, *others) if candidate.name == options.plan)
        if not forced.legal:
            raise PlanError(
                "ILLEGAL_PLAN",
                f"the plan '{forced.name}' may not serve this pattern: {forced.reason}",
                clause="options",
                found=forced.name,
                allowed=[candidate.name for candidate in candidates if candidate.legal],
            )
        return Decision(forced, candidates)
    legal = [candidate for candidate in candidates if candidate.cost is not None]
    return Decision(min(legal, key=lambda candidate: candidate.cost or 0.0), candidates)


def _sweep(match: LogicalMatch, states: int | None, too_large: str | None) -> Candidate:
    dependent = [condition.variable for condition in match.conditions if condition.dependent]
    if dependent:
        return Candidate("sweep", None, f"the condition of {', '.join(dependent)} depends on the match so far")
    if states is None:
        return Candidate("sweep", None, too_large or "the pattern has no automaton")
    words = -(-states // STATES_PER_WORD)
    cost = 2.0 * words
    return Candidate("sweep", cost, f"all conditions are bits: two passes over {words} word(s) of {states} states")


def _backtrack() -> Candidate:
    return Candidate(
        "backtrack",
        BACKTRACK_STEPS_PER_ROW + 1e6,
        "tries alternatives in order of preference; needed only where conditions depend on the match",
    )


def _window(match: LogicalMatch, fixed: FixedRows | str) -> Candidate:
    if isinstance(fixed, str):
        return Candidate("window", None, fixed)
    values = rows_fetched(match, fixed)
    further = reads_neighbours(match) + (fixed.overlaps == "neighbours")
    cost = WINDOW_STEPS_PER_ROW + WINDOW_STEPS_PER_VALUE * values + STEPS_PER_FURTHER_WINDOW * further
    return Candidate("window", cost, f"a match has {len(fixed)} row(s): {values} value(s) per row by LEAD, no Python")
