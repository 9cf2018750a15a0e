"""Chooses the engine of a pattern (design: engines)."""

from __future__ import annotations

from sparkcep.errors import PlanError
from sparkcep.logical.bound import LogicalMatch
from sparkcep.planning.plans import Candidate, Decision, Options, PlanName

STATES_PER_WORD = 64
BACKTRACK_STEPS_PER_ROW = 4.0
RUNS_STEPS_PER_ROW = 8.0


def choose(match: LogicalMatch, options: Options, *, states: int | None, too_large: str | None) -> Decision:
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

    Raises
    ------
    PlanError
        When the forced engine may not serve the pattern.
    """
    runs = Candidate("runs", None, "it finds event patterns, and this is a row pattern")
    return _decided((_sweep(match, states, too_large), _backtrack()), (runs,), options)


def choose_for_events(options: Options) -> Decision:
    """Return the engine of an event pattern, or the one the options force.

    Raises
    ------
    PlanError
        When the forced engine may not serve the pattern.
    """
    names: tuple[PlanName, ...] = ("sweep", "backtrack")
    others = tuple(Candidate(name, None, "it finds row patterns, and this is an event pattern") for name in names)
    runs = Candidate("runs", RUNS_STEPS_PER_ROW, "keeps all partial matches and moves them on event by event")
    return _decided((runs,), others, options)


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
