"""Chooses the engine of a pattern (design: engines)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from sparkcep.errors import BindingError, PlanError
from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.slots import SparkCondition
from sparkcep.planning.costs import (
    BACKTRACK_STEPS_PER_ROW,
    STATES_PER_WORD,
    STEPS_PER_FURTHER_WINDOW,
    UNKNOWN_VISITS,
    WINDOW_STEPS_PER_ROW,
    WINDOW_STEPS_PER_VALUE,
    Work,
    work_in_order,
    work_of_runs,
    work_of_tree,
)
from sparkcep.planning.joins import join_obstacle, planned_join
from sparkcep.planning.lazy import estimates_of, named_statistics, obstacle, spark_condition
from sparkcep.planning.orders import greedy_order
from sparkcep.planning.plans import AUTO, NEVER, Candidate, Decision, Options, PlanName
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
        When the forced engine may not serve the pattern, or an option is for event patterns.
    """
    _refuse_options_of_events(options)
    names: tuple[PlanName, ...] = ("runs", *BINDING_IN_ANY_ORDER)
    others = tuple(Candidate(name, None, "it finds event patterns, and this is a row pattern") for name in names)
    return _decided((_sweep(match, states, too_large), _backtrack(), _window(match, fixed)), others, options)


def _refuse_options_of_events(options: Options) -> None:
    given = []
    if options.semi_join not in (AUTO, NEVER):
        given.append(f"semi_join={options.semi_join!r}")
    if options.sample is not None:
        given.append(f"sample={options.sample}")
    if given:
        raise PlanError(
            "ILLEGAL_PLAN",
            f"{given[0]} is an option for event patterns, and this is a row pattern",
            clause="options",
            found=given[0],
            hint="leave it out",
        )


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
    only_joined = spark_condition(events)
    if only_joined is not None:
        joining = wanted or join_obstacle(events, matches, orders_by_column=orders_by_column)
        return _by_joins(events, statistics, only_joined, joining, options, others)
    reason, of_trees = wanted or obstacle(events), wanted or tree_obstacle(events)
    if of_trees is not None:
        reasons: dict[PlanName, str] = dict.fromkeys(BINDING_IN_ANY_ORDER, reason or of_trees) | {"tree": of_trees}
        unfit = tuple(Candidate(name, None, why) for name, why in reasons.items())
        return EventDecision(_decided((_runs(events, (), None, options.merge_runs), *unfit), others, options), ())
    estimates = tuple(estimates_of(order, events, statistics) for order in events.orders)
    known = all(name in statistics.rates for each in estimates for name in each.variables)
    if reason is not None:
        # Nothing is known of how many partial matches a loop makes in `runs`, where equal ones are merged.
        unfit = tuple(Candidate(name, None, reason) for name in BINDING_IN_ANY_ORDER if name != "tree")
        both = (_runs(events, (), None, options.merge_runs), _tree(events, estimates, None))
        return EventDecision(_decided((*both, *unfit), others, options), estimates)
    told = statistics if known else None
    candidates = (
        _runs(events, estimates, told, options.merge_runs),
        _ordered(events, estimates, told),
        _tree(events, estimates, told),
        _join(events, estimates, told, join_obstacle(events, matches, orders_by_column=orders_by_column)),
    )
    return EventDecision(_decided(candidates, others, options), estimates)


def _by_joins(
    events: LogicalEvents,
    statistics: Statistics,
    condition: SparkCondition,
    reason: str | None,
    options: Options,
    others: tuple[Candidate, ...],
) -> EventDecision:
    """Return the one engine that tests conditions which Spark has to compute over several events."""
    if reason is not None:
        refusal = condition.refusal
        assert isinstance(refusal, BindingError)
        raise BindingError(
            refusal.code,
            f"{refusal.message}; joins could compute it, but {reason}",
            clause=refusal.clause,
            text=refusal.text,
            span=refusal.span,
            found=refusal.found,
            allowed=refusal.allowed,
            hint=refusal.hint,
        )
    estimates = tuple(estimates_of(order, events, statistics) for order in events.orders)
    unfit: tuple[PlanName, ...] = ("runs", "ordered", "tree")
    why = "a condition over several events calls what only Spark computes"
    known = all(name in statistics.rates for each in estimates for name in each.variables)
    joined = _join(events, estimates, statistics if known else None, None)
    candidates = (*(Candidate(name, None, why) for name in unfit), joined)
    return EventDecision(_decided(candidates, others, options), estimates)


def _graph_wanted(events: LogicalEvents, sampled: bool) -> str | None:
    """Return what needs the match graph, which only `runs` makes."""
    if events.waiting is not None:
        return "time-outs are partial matches, and it keeps none"
    if events.graph is not None:
        return "matches='graph' puts out the match graph, and it makes none"
    return "a sample is drawn from the match graph, and it makes none" if sampled else None


def _runs(
    events: LogicalEvents, estimates: Sequence[Estimates], statistics: Statistics | None, merges: bool
) -> Candidate:
    reason = "keeps all partial matches and moves them on event by event"
    if statistics is None:
        return Candidate("runs", Work(0.0).cost("runs", None), reason)
    listed = zip(events.orders, estimates, strict=True)
    works = [work_of_runs(each, in_sequence=order.is_sequential, merges=merges) for order, each in listed]
    return _costed("runs", reason, works, estimates, statistics)


def _ordered(events: LogicalEvents, estimates: Sequence[Estimates], statistics: Statistics | None) -> Candidate:
    reason = "binds rare and selective events first"
    if statistics is None:
        return _untold("ordered", f"{reason}, if it is told by Options(stats=…) which of them are rare")
    plans = [greedy_order(each) for each in estimates]
    listed = list(zip(plans, events.orders, estimates, strict=True))
    orders = "; ".join(", ".join(each.variables[k] for k in plan.order) for plan, _, each in listed)
    works = [work_in_order(each, plan.order, in_sequence=order.is_sequential) for plan, order, each in listed]
    return _costed("ordered", f"{reason} ({orders})", works, estimates, statistics)


def _tree(events: LogicalEvents, estimates: Sequence[Estimates], statistics: Statistics | None) -> Candidate:
    trees = [
        planned_tree(order, each, [events.variables[gap.variable].label for gap in order.gaps], statistics)
        for order, each in zip(events.orders, estimates, strict=True)
    ]
    reason = f"joins partial matches in pairs, {'; '.join(tree.text for tree in trees)}"
    if statistics is None:
        return _untold("tree", f"{reason}; Options(stats=…) may tell a tree")
    listed = zip(trees, events.orders, strict=True)
    works = [work_of_tree(tree.estimates, tree.planned.tree, in_sequence=order.is_sequential) for tree, order in listed]
    return _costed("tree", reason, works, estimates, statistics)


def _join(
    events: LogicalEvents, estimates: Sequence[Estimates], statistics: Statistics | None, obstacle: str | None
) -> Candidate:
    if obstacle is not None:
        return Candidate("join", None, obstacle)
    rows = None if statistics is None else statistics.rows
    joins = [planned_join(order, events, each, rows) for order, each in zip(events.orders, estimates, strict=True)]
    reason = f"joins selections of the input ({'; '.join(join.text for join in joins)})"
    works = [join.work for join in joins]
    if statistics is None:
        return _untold("join", reason, reads=sum(work.reads for work in works))
    return _costed("join", reason, works, estimates, statistics)


def _costed(
    name: PlanName, reason: str, works: Iterable[Work], estimates: Sequence[Estimates], statistics: Statistics
) -> Candidate:
    of_window = reduce(add, works)
    work = of_window.per_event(_events(estimates))
    told = f"{reason}: about {of_window.visits:,.0f} visits per window"
    return Candidate(name, work.cost(name, statistics.rows), told, work)


def _untold(name: PlanName, reason: str, *, reads: int = 1) -> Candidate:
    """Return a plan that would need statistics, which nobody knows: it has to promise much."""
    return Candidate(name, Work(UNKNOWN_VISITS, shuffled=1.0, reads=reads).cost(name, None), reason)


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
