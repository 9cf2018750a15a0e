"""From arguments to a plan, whichever language the pattern is written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from sparkcep.errors import warn
from sparkcep.planning.plans import Options
from sparkcep.spark.arguments import Arguments, read_arguments
from sparkcep.spark.event_arguments import is_event_pattern, read_event_arguments
from sparkcep.spark.observation import Observed
from sparkcep.spark.plan import MatchPlan

if TYPE_CHECKING:
    from sparkcep.spark.event_plan import EventPlan


def planned(
    frame: DataFrame, arguments: Arguments, options: Options, alias: str | None = None, *, in_sql: bool = False
) -> MatchPlan | EventPlan:
    """Return the plan of a pattern.

    Parameters
    ----------
    alias
        Name the input relation is called by in expressions.
    in_sql
        Whether the call stands in a SQL statement: there, as for MATCH_RECOGNIZE, nobody is warned of
        one partition for all rows.
    """
    observed = None if arguments.observe is None else Observed(arguments.observe)
    if is_event_pattern(arguments.pattern):
        from sparkcep.spark.event_plan import EventPlan  # here: row patterns need nothing of it

        events, source = read_event_arguments(frame, arguments)
        source = replace(source, alias=alias)
        if options.sample is not None and options.stats is None:
            from sparkcep.spark.analysis import sampled  # here: it runs a job

            options = replace(options, stats=sampled(source, events, options.sample))
        plan = EventPlan(replace(source, observed=observed), events, options)
        if not in_sql and plan.sorts_as_a_whole:
            _warn_of_one_partition(events.partition_by)
        return plan
    clause, source = read_arguments(frame, arguments)
    match = MatchPlan(replace(source, alias=alias, observed=observed), clause, options)
    if not in_sql and match.sorts_as_a_whole:
        _warn_of_one_partition(clause.partition_by)
    return match


def _warn_of_one_partition(keys: Sequence[object]) -> None:
    if not keys:
        warn("no partition_by: all rows go to one partition and one core; name a key if there is one")
