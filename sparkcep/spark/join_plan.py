"""From a bound event pattern to a DataFrame by way of joins. Runs no job."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import ONE_PER_START, EventSearch, TimeUnits
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.outputs import Numbered
from sparkcep.planning.joins import planned_join
from sparkcep.planning.statistics import Estimates
from sparkcep.spark.executors import on_executors
from sparkcep.spark.finish import finished, matcher_schema
from sparkcep.spark.joined_matches import EVENTS, JoinedMatches, JoinedTask, sent_fields
from sparkcep.spark.joined_rows import JoinedRows
from sparkcep.spark.joins import JoinedOrder
from sparkcep.spark.observation import Observed, observed_counts, observed_events
from sparkcep.spark.prepare import Preparation, Prepared


def joined_frame(
    preparation: Preparation,
    prepared: Prepared,
    events: LogicalEvents,
    estimates: Sequence[Estimates],
    known_rows: float | None,
    units: TimeUnits,
    search: EventSearch,
    output: EventOutput,
    observed: Observed | None = None,
) -> DataFrame:
    """Return the DataFrame of matches.

    Parameters
    ----------
    preparation, prepared
        Of the input; the sorted rows themselves are not used.
    estimates
        Of the components of each order.
    known_rows
        How many rows some variable may take, if it is known.
    units
        How order values count in windows.
    search, output
        What is looked for and what is put out.
    observed
        What the caller wants to be observed.
    """
    names = output.columns or tuple(prepared.keys) or (events.match.order_by[0].expression,)
    rows = JoinedRows(preparation, prepared, events, names)
    window = None if events.within is None else units.window(events.within)
    orders = []
    for order, each in zip(events.orders, estimates, strict=True):
        own = [None if component.within is None else units.window(component.within) for component in order.components]
        planned = planned_join(order, events, each, known_rows)
        orders.append(JoinedOrder(planned, events, rows, window, own, strict=search.strict_time))
    matches = JoinedMatches(rows, orders, names)
    if output.count is not None:
        counts = matches.counted(output.count)
        return counts if observed is None else observed.matches(counts, "join", observed_counts(counts[output.count]))
    one_per_start = search.output == ONE_PER_START
    if one_per_start or search.limit is not None or any(isinstance(o, Numbered) for o in output.rows.outputs):
        found = matches.numbered(one_per_start=one_per_start, limit=search.limit)
    else:
        found = matches.unnumbered()
    if observed is not None:
        found = observed.matches(found, "join", observed_events(found[EVENTS]))
    sent, originals = sent_fields(found, names), dict(prepared.originals)
    if output.time is not None:
        assert output.source is not None
        sent = T.StructType([*sent.fields, T.StructField(output.time, sent[output.source].dataType)])
        originals[output.time] = originals[output.source]
    emitted = found.mapInArrow(on_executors(JoinedTask(output, names).run), matcher_schema(output.rows, sent))
    return finished(emitted, events.match, output.rows, originals, preparation.source.alias)
