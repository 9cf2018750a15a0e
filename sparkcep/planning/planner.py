"""Chooses the engine of a row pattern (design: engines)."""

from __future__ import annotations

from sparkcep.errors import PlanError
from sparkcep.logical.bound import LogicalMatch
from sparkcep.planning.plans import Candidate, Decision, Options

STATES_PER_WORD = 64
BACKTRACK_STEPS_PER_ROW = 4.0


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
    candidates = (_sweep(match, states, too_large), _backtrack())
    if options.plan != "auto":
        forced = next(candidate for candidate in candidates if candidate.name == options.plan)
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
