"""The matches of all orders of a pattern that joins found: counted, or numbered and put out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.window import Window

from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import EventMatches
from sparkcep.engine.kept_rows import one_array
from sparkcep.engine.matches import Int64s
from sparkcep.spark.joined_rows import JoinedRows, SortKeys
from sparkcep.spark.joins import JoinedOrder
from sparkcep.spark.types import escorted, needs_escort, quoted

_NUMBER, EVENTS, _VARIABLE = "number", "events", "variable"


class JoinedMatches:
    """The matches of a pattern.

    Parameters
    ----------
    orders
        Its orders, joined.
    names
        The columns that are needed of an event.
    """

    def __init__(self, rows: JoinedRows, orders: Sequence[JoinedOrder], names: Sequence[str]) -> None:
        self.rows, self.orders, self.names = rows, orders, names
        self.prefix, self.keys = rows.prefix, rows.early.keys

    def counted(self, name: str) -> DataFrame:
        """Return the number of matches of each partition that has some."""
        parts = []
        for order in self.orders:
            event = order.event(0)
            parts.append(order.matches().select(*(self.rows.value(event, key).alias(key) for key in self.keys)))
        counts = reduce(DataFrame.unionAll, parts).groupBy(*map(quoted, self.keys)).agg(F.count(F.lit(1)).alias(name))
        shown = [F.col(quoted(key)) for key in self.keys]
        return counts.where(F.col(quoted(name)) > 0).select(
            *shown, F.col(quoted(name)).cast("decimal(38,0)").alias(name)
        )

    def numbered(self, *, one_per_start: bool, limit: int | None) -> DataFrame:
        """Return the events of each match, in order of time, and the number of the match in its partition."""
        found = reduce(DataFrame.unionAll, [self._sortable(order) for order in self.orders])
        sorts = self._sorts()
        by_completion = [_sorted(*key) for key in sorts]
        partition = [F.col(f"{self.prefix}_k{i}") for i in range(len(self.keys))]
        if one_per_start:
            first = [F.col(name) for name in self._names("first")]
            window = Window.partitionBy(*partition, *first).orderBy(*by_completion)
            found = found.withColumn(_NUMBER, F.row_number().over(window)).where(F.col(_NUMBER) == 1)
        window = Window.partitionBy(*partition).orderBy(*by_completion)
        found = found.withColumn(_NUMBER, F.row_number().over(window).cast("bigint"))
        if limit is not None:
            found = found.where(F.col(_NUMBER) <= limit)
        return found.select(_NUMBER, EVENTS)

    def unnumbered(self) -> DataFrame:
        """Return the same where nobody asks for numbers, in any order."""
        parts = [
            order.matches().select(F.lit(0).cast("bigint").alias(_NUMBER), self._events(order)) for order in self.orders
        ]
        return reduce(DataFrame.unionAll, parts)

    # -- what matches are sorted by ------------------------------------------------------------------

    def _sortable(self, order: JoinedOrder) -> DataFrame:
        """Return the matches of an order with what all are sorted by."""
        size = len(order.order.components)
        columns = [self.rows.value(order.event(0), key).alias(f"{self.prefix}_k{i}") for i, key in enumerate(self.keys)]
        for name, place in (("last", size - 1), ("first", 0)):
            position = self.rows.position(self._taken(order, place), self._variable(order, place))
            columns += [key[0].alias(shown) for key, shown in zip(position, self._names(name), strict=True)]
        columns.append(F.lit(size).alias(f"{self.prefix}_size"))
        for variable in self._variables():
            k = order.place.get(variable)
            columns.append(F.lit(k is not None).alias(f"{self.prefix}_v{variable}"))
            position = self.rows.position(order.event(0 if k is None else k), F.lit(variable))
            names = self._names(f"v{variable}_")
            columns += [
                (key[0] if k is not None else F.nullif(key[0], key[0])).alias(name)
                for key, name in zip(position, names, strict=True)
            ]
        return order.matches().select(*columns, self._events(order))

    def _sorts(self) -> SortKeys:
        """Return completion, earliest start, fewest events, positions in the order of variables."""
        any_event = self.orders[0].event(0)
        directions = [key[1:] for key in self.rows.position(any_event, F.lit(0))]

        def positions(name: str) -> SortKeys:
            return [(F.col(c), *way) for c, way in zip(self._names(name), directions, strict=True)]

        sorts = [*positions("last"), *positions("first"), (F.col(f"{self.prefix}_size"), True, True)]
        for variable in self._variables():
            sorts += [(F.col(f"{self.prefix}_v{variable}"), True, True), *positions(f"v{variable}_")]
        return sorts

    def _names(self, name: str) -> list[str]:
        width = len(self.rows.position(self.orders[0].event(0), F.lit(0)))
        return [f"{self.prefix}_{name}{i}" for i in range(width)]

    def _variables(self) -> list[int]:
        return sorted({variable for order in self.orders for variable in order.place})

    # -- events in order of time ---------------------------------------------------------------------

    def _taken(self, order: JoinedOrder, place: int) -> Column:
        """Return the event at a place in time."""
        return self._by_time(order, place, order.event)

    def _variable(self, order: JoinedOrder, place: int) -> Column:
        return self._by_time(order, place, lambda k: F.lit(order.order.components[k].variable))

    def _by_time(self, order: JoinedOrder, place: int, of: Callable[[int], Column]) -> Column:
        size = len(order.order.components)
        if order.order.is_sequential:
            return of(place)
        chosen = [F.when(self._rank(order, k) == place, of(k)) for k in range(size)]
        return F.coalesce(*chosen)

    def _rank(self, order: JoinedOrder, k: int) -> Column:
        """Return how many events of a match come before that of a component."""
        others = [other for other in range(len(order.order.components)) if other != k]
        return reduce(
            lambda one, other: one + other,
            [F.when(order.precedes(other, k), 1).otherwise(0) for other in others],
            F.lit(0),
        )

    def _events(self, order: JoinedOrder) -> Column:
        size = len(order.order.components)
        return F.array(*(self._sent(order, place) for place in range(size))).alias(EVENTS)

    def _sent(self, order: JoinedOrder, place: int) -> Column:
        """Return what the output reads of an event."""
        event = self._taken(order, place)
        columns = [self._variable(order, place).cast("int").alias(_VARIABLE)]
        for i, name in enumerate(self.names):
            value, kind = self.rows.value(event, name), self.rows.kinds[name]
            columns.append((escorted(value, kind) if needs_escort(kind) else value).alias(f"c{i}"))
        return F.struct(*columns)


def _sorted(column: Column, ascending: bool, nulls_first: bool) -> Column:
    if ascending:
        return column.asc_nulls_first() if nulls_first else column.asc_nulls_last()
    return column.desc_nulls_first() if nulls_first else column.desc_nulls_last()


def sent_fields(frame: DataFrame, names: Sequence[str]) -> T.StructType:
    """Return the schema of the events in a frame of matches, with the columns' own names."""
    array = frame.schema[EVENTS].dataType
    assert isinstance(array, T.ArrayType)
    assert isinstance(array.elementType, T.StructType)
    return T.StructType(
        [T.StructField(name, field.dataType) for name, field in zip(names, array.elementType.fields[1:], strict=True)]
    )


@dataclass(frozen=True, slots=True)
class JoinedTask:
    """What a worker does with joined matches: gathers, aggregates and collects what they report.

    Attributes
    ----------
    output
        What to make of matches.
    names
        The columns of an event.
    """

    output: EventOutput
    names: tuple[str, ...]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put out the matches of one Spark partition."""
        for batch in batches:
            if batch.num_rows == 0:
                continue
            lists = one_array(batch.column(1))
            events = lists.flatten()
            variable, *columns = events.flatten()
            offsets = np.asarray(lists.offsets).astype(np.int64)
            kept = self.output.kept(self.names[0])
            kept.append(pa.table(columns, names=list(self.names)), None)
            yield from self.output.batches(_matches(offsets - offsets[0], variable, batch.column(0)), kept)


def _matches(offsets: Int64s, variable: pa.Array, number: pa.Array) -> EventMatches:
    count = len(number)
    return EventMatches(
        offsets=offsets,
        position=np.arange(offsets[-1], dtype=np.int64),
        variable=np.asarray(variable).astype(np.int32),
        number=np.asarray(number).astype(np.int64),
        timed=np.zeros(count, np.bool_),
        never=np.zeros(count, np.bool_),
    )
