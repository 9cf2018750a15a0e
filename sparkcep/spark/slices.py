"""Partitions cut into slices of time before the shuffle, and counts added up behind it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.window import WindowSpec

from sparkcep.engine.events import EventWindow
from sparkcep.planning.slices import Slices
from sparkcep.spark.event_times import stretch
from sparkcep.spark.observation import tied
from sparkcep.spark.order_columns import OrderColumn, numbering_window
from sparkcep.spark.slot_columns import in_units
from sparkcep.spark.types import quoted, time_units
from sparkcep.syntax.clause import Within

# Rounded sums of fractions may be that share of a number, or of the window, away.
_ROUNDING = 1e-9
_LEAST, _LARGEST = -(2**63), 2**63 - 1


def cut_into_slices(frame: DataFrame, slices: Slices, first: OrderColumn, within: Within) -> DataFrame:
    """Return each row with the number of its slice, and once more for the slice that a window reaches back to.

    Parameters
    ----------
    first
        The order column that the window measures.
    """
    assert first.name is not None
    column = F.col(quoted(first.name))
    kind = frame.schema[first.name].dataType
    window = time_units(kind, within).window(within)
    time = in_units(column, kind)
    own = stretch(time, window, slices.windows)
    # Beyond the lowest number slices have none: they are one, and none is before it.
    both = own.isNotNull() & _reaches_back(time, own, window, slices.windows)
    numbers = F.when(both, F.array(own, own - 1)).otherwise(F.array(own))
    numbered = frame.withColumn(slices.place, F.monotonically_increasing_id())
    exploded = numbered.select("*", own.alias(slices.own), F.explode(numbers).alias(slices.number))
    return exploded.withColumn(slices.own, F.col(slices.own).eqNullSafe(F.col(slices.number)))


def _reaches_back(time: Column, own: Column, window: EventWindow, windows: int) -> Column:
    """Return whether a match that began in the slice before may hold a row."""
    if window.kind == "float":
        length = max(float(window.amount) * windows, 1e-300)
        slack = F.abs(time) * _ROUNDING + float(window.amount) * (1 + _ROUNDING)
        return time - own.cast("double") * length <= slack
    length = max(int(window.amount), 1) * windows
    return F.pmod(time, F.lit(length).cast("bigint")) <= max(int(window.amount), 1)


def side_by_side(
    frame: DataFrame,
    slices: Slices,
    orders: Sequence[OrderColumn],
    within: Within,
    start: str,
    tie: str | None = None,
) -> DataFrame:
    """Return the slices of one partition one behind the other, in any number of Spark partitions.

    They need no window that numbers rows: `start` is 1 in odd slices and 0 in even ones, so that neighbours differ.
    Slices that are not neighbours may look like one; their rows are more than a window apart, so nothing changes.
    Whole times are sorted by one number, most of which differ: Spark compares such keys without looking at rows.
    A column that marks ties is added as `tie`, which takes a sort more.
    """
    first = orders[0]
    assert first.name is not None
    column, number = F.col(quoted(first.name)), F.col(slices.number)
    kind = frame.schema[first.name].dataType
    window = time_units(kind, within).window(within)
    keys = [number]
    if window.kind != "float":
        # All rows of a slice lie between its start and one window behind its end.
        shift = F.try_multiply(number, F.lit(max(int(window.amount), 1) + 1).cast("bigint"))
        time = in_units(column, kind)
        # Where numbers end, slices are the first or the last ones, and told apart by their own number.
        end = F.when(number < 0, F.lit(_LEAST)).otherwise(F.lit(_LARGEST))
        keys = [F.when(time.isNotNull(), F.coalesce(F.try_add(time, shift), end)), number]
    parity = F.coalesce(F.pmod(number, F.lit(2)), F.lit(0)).cast("int")
    apart = frame.repartition(number)
    if tie is not None:
        apart = marked(apart, slices, tie, numbering_window((slices.number,), orders))
    sorted_ = apart.sortWithinPartitions(*keys, *(order.column for order in orders), F.col(slices.place))
    return sorted_.withColumn(start, parity)


def marked(frame: DataFrame, slices: Slices, tie: str, window: WindowSpec) -> DataFrame:
    """Mark rows that tie in the window of their slice; copies of rows have no mark."""
    return frame.withColumn(tie, F.when(F.col(slices.own), tied(window)))


def counted_over_slices(counted: DataFrame, count: str, keys: Sequence[str]) -> DataFrame:
    """Add up the counts of the slices of each partition."""
    total = F.sum(F.col(count)).cast("decimal(38,0)").alias(count)
    found = counted.groupBy(*(F.col(quoted(key)) for key in keys)).agg(total)
    return found.where(F.col(count).isNotNull())  # without keys there is a row even for nothing
