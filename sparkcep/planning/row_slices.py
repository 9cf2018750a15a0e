"""Slices of time for row patterns: candidates of all starts in parallel, the skip rule in order afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.slots import MatchNumber, nodes
from sparkcep.planning.plans import Decision, Options
from sparkcep.planning.slices import HIDDEN_ORDER, NO_WINDOW, TASKS_THAT_PAY, Slices, is_numbered, slices_unless
from sparkcep.syntax.clause import AfterMatch
from sparkcep.syntax.pattern import Anchor, may_be_empty, walk

NEXT_ROW: Final = "to next row"
PAST_LAST_ROW: Final = "past last row"


def choose_row_slices(
    match: LogicalMatch,
    options: Options,
    decision: Decision,
    tasks_at_once: Callable[[], int],
    *,
    observed: bool,
    orders_by_column: bool,
) -> Slices | None:
    """Return how partitions of a row pattern are cut, None where they stay whole.

    Parameters
    ----------
    match
        The bound pattern.
    decision
        The engine that was chosen.
    tasks_at_once
        How many tasks behind a shuffle run at once; asked if that decides.
    observed
        Whether somebody observes the match.
    orders_by_column
        Whether a sort order was given as a Column.

    Raises
    ------
    PlanError
        ILLEGAL_PLAN: the options ask for slices of a pattern whose matches need the partition as a whole.
    """
    reason = row_slice_obstacle(match, orders_by_column=orders_by_column)
    if reason is None and decision.chosen.name == "window":
        reason = "the plan 'window' matches without a worker"
    if reason is None and observed:
        reason = "observe= counts the matches of whole partitions"
    return slices_unless(reason, match, options, lambda: tasks_at_once() >= TASKS_THAT_PAY)


def row_slice_obstacle(match: LogicalMatch, *, orders_by_column: bool) -> str | None:
    """Return why partitions may not be cut into slices, None if they may.

    The match that is preferred from a row on depends on the rows of its window alone: so it is the same in a slice
    that holds them, whatever was matched before.
    """
    if match.within is None or match.within.unit == "events":
        return NO_WINDOW
    if orders_by_column:
        return HIDDEN_ORDER
    if match.neighbours:
        return "PREV and NEXT look over the border of a slice"
    if match.rows_per_match != "one":
        return "rows that belong to several matches, or to none, are put out with all of them in view"
    if match.after_match.mode not in (NEXT_ROW, PAST_LAST_ROW):
        return f"'skip {match.after_match.mode}' asks for a row inside of a match"
    if any(isinstance(node, Anchor) for node in walk(match.pattern)):
        return "^ and $ ask where the partition begins and ends"
    if may_be_empty(match.pattern):
        return "a match may be empty"
    if match.slots is not None and any(isinstance(node, MatchNumber) for node in nodes(match.slots.conditions)):
        return "a condition reads MATCH_NUMBER()"
    return None


def sliced_rows(match: LogicalMatch, slices: Slices, orders: tuple[str, ...]) -> LogicalMatch:
    """Return the pattern whose matches are the candidates of all starts; they tell where they begin and end.

    Where all of them are matches, and nobody numbers them, nobody needs to know.

    Parameters
    ----------
    orders
        The order columns.
    """
    if match.after_match.mode == NEXT_ROW and not is_numbered(match):
        return match
    told = [*slices.told(orders, "first"), *slices.told(orders, "last")]
    return replace(match, after_match=AfterMatch(NEXT_ROW), skip_rows=None, outputs=(*match.outputs, *told))
