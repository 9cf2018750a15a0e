"""The semi-join in front of the shuffle: rows go on if a rare event that every match needs is near them."""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from sparkcep.engine.events import EventWindow
from sparkcep.spark.event_times import bucket


def near_rare_events(
    rows: DataFrame, rare: DataFrame, keys: list[Column], times: list[tuple[Column, EventWindow]], prefix: str
) -> DataFrame:
    """Return the rows that share their keys, and at about their time, an event with one of `rare`.

    Parameters
    ----------
    rows, rare
        Rows of one input.
    keys
        Columns of both that must be equal, NULL and NULL too.
    times
        A time, and the window that an event may be away; at most one.
    prefix
        Of hidden names.
    """
    near = [F.explode(F.array(*(bucket(time, window) + shift for shift in _shifts(window)))) for time, window in times]
    listed = [*keys, *near]
    names = [f"{prefix}_n{i}" for i in range(len(listed))]
    places = rare.select(*(column.alias(name) for column, name in zip(listed, names, strict=True))).distinct()
    own = [*keys, *(bucket(time, window) for time, window in times)]
    tests = [column.eqNullSafe(F.col(name)) for column, name in zip(own, names, strict=True)]
    return rows.join(F.broadcast(places), reduce(and_, tests), "left_semi")


def _shifts(window: EventWindow) -> range:
    return range(-2, 3) if window.kind == "float" else range(-1, 2)
