"""Candidates of row patterns become matches: AFTER MATCH SKIP over the slices of a partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.window import Window, WindowSpec

from sparkcep.planning.row_slices import NEXT_ROW, point_names
from sparkcep.planning.slices import Slices
from sparkcep.spark.executors import on_executors
from sparkcep.spark.order_columns import OrderColumn
from sparkcep.spark.types import quoted


@dataclass(frozen=True, slots=True)
class SkipTask:
    """What a worker does with the beginnings and ends of candidates, in order.

    Attributes
    ----------
    columns
        How many columns of a candidate come first; behind them its number, whether the row is its end, and whether
        a partition begins.
    number
        The column that is to hold MATCH_NUMBER(), if one is.
    """

    columns: int
    number: int | None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keep the beginnings of matches."""
        from sparkcep.engine.skip_rule import new_state, take_turns  # here: the driver of Spark needs no kernels

        state = new_state()
        for batch in batches:
            candidate, ends, begins = (
                batch.column(self.columns + place).to_numpy(zero_copy_only=False) for place in range(3)
            )
            numbers = np.empty(batch.num_rows, np.int64)
            take_turns(begins, ends, candidate, state, numbers)
            taken = np.flatnonzero(numbers)
            found = batch.select(range(self.columns)).take(pa.array(taken))
            if self.number is not None:
                name = found.schema.names[self.number]
                found = found.set_column(self.number, name, pa.array(numbers[taken]))
            yield found


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of all slices.

    Attributes
    ----------
    frame
        What the matcher emitted.
    slices
        How partitions were cut.
    keys, orders
        What partitions and their rows are told apart by.
    number
        The column that holds MATCH_NUMBER(), if there is one.
    """

    frame: DataFrame
    slices: Slices
    keys: Sequence[str]
    orders: Sequence[OrderColumn]
    number: str | None

    def matches(self, skip: str) -> DataFrame:
        """Return the candidates that are matches, without the columns that tell where they begin and end."""
        return self._all() if skip == NEXT_ROW else self._in_turn()

    @property
    def _kept(self) -> list[str]:
        return [name for name in self.frame.columns if not name.startswith(self.slices.end)]

    def _all(self) -> DataFrame:
        """Return all candidates, numbered by where they begin if somebody asks."""
        numbered = self.frame
        if self.number is not None:
            window = self._window([F.col(f"{name}_first") for name in self._points])
            numbered = numbered.withColumn(self.number, F.row_number().over(window).cast("bigint"))
        return numbered.select(*(F.col(quoted(name)) for name in self._kept))

    def _in_turn(self) -> DataFrame:
        """Return the candidates that begin behind the match before them.

        Each one gives two rows, its beginning and its end, sorted together: no worker has to compare values.
        """
        candidate, ends, begins = (f"{self.slices.place}_{name}" for name in ("candidate", "ends", "begins"))
        identified = self.frame.withColumn(candidate, F.monotonically_increasing_id())
        turns = identified.withColumn(ends, F.explode(F.array(F.lit(False), F.lit(True))))
        places = [F.when(F.col(ends), F.col(f"{name}_last")).otherwise(F.col(f"{name}_first")) for name in self._points]
        begun = turns.withColumn(begins, F.row_number().over(self._window(places, F.col(ends))) == 1)
        # The end of a candidate carries nothing of it.
        columns = [F.when(~F.col(ends), F.col(quoted(name))).alias(name) for name in self._kept]
        sent = begun.select(*columns, F.col(candidate), F.col(ends), F.col(begins))
        plain = sent.toDF(*(f"c{place}" for place in range(len(sent.columns))))
        number = None if self.number is None else self._kept.index(self.number)
        schema = T.StructType([self.frame.schema[name] for name in self._kept])
        return plain.mapInArrow(on_executors(SkipTask(len(columns), number).run), schema)

    @property
    def _points(self) -> tuple[str, ...]:
        return point_names(self.slices, len(self.orders))

    def _window(self, places: Sequence[Column], *behind: Column) -> WindowSpec:
        """Return a window over partitions, sorted by the values of one row of each candidate."""
        by_order = [order.sorted(value) for order, value in zip(self.orders, places, strict=False)]
        if not self.keys:
            return Window.orderBy(*by_order, places[-1], *behind)
        keys = [F.col(quoted(key)) for key in self.keys]
        return Window.partitionBy(*keys).orderBy(*by_order, places[-1], *behind)
