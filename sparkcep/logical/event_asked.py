"""What may be asked of an event pattern: time-outs and graphs are not for all of them."""

from __future__ import annotations

from collections.abc import Iterable

from sparkcep.errors import BindingError
from sparkcep.logical.event_bound import EventOrder
from sparkcep.syntax.clause import Within


def check_timeouts(orders: Iterable[EventOrder], within: Within | None, matches: str) -> None:
    """Refuse time-outs where nothing can time out, or nobody can say what is waited for.

    Raises
    ------
    BindingError
        MISSING_WITHIN, CONTRADICTION, UNSUPPORTED_TIMEOUTS.
    """
    found = list(orders)
    if matches in ("count", "graph"):
        raise BindingError(
            "CONTRADICTION",
            f"matches='{matches}' has no rows for partial matches",
            clause="timeouts",
            found="True",
            allowed="matches='all', 'non_overlapping', 'one_per_start'",
        )
    if within is None and not any(component.within for order in found for component in order.components):
        raise BindingError(
            "MISSING_WITHIN",
            "a partial match times out when its window closes, and there is none",
            clause="timeouts",
            hint="WITHIN 1 hour behind the pattern, or behind a step",
        )
    if not all(order.is_sequential for order in found):
        raise BindingError(
            "UNSUPPORTED_TIMEOUTS",
            "parts of AND that interleave wait for several events at a time: no time-out can name the one",
            clause="timeouts",
            hint="SEQ, or another strategy than skip_till_any_match",
        )


def graph_of_absence() -> BindingError:
    """Return the error for a graph of matches that no event completes."""
    return BindingError(
        "CONTRADICTION",
        "matches='graph' shows what one event completes; a negation at the end is decided later, match by match",
        clause="matches",
        found="'graph'",
        allowed="'all', 'count', 'non_overlapping', 'one_per_start'",
    )
