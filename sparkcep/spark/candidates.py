"""Candidates of all slices become matches: those that may not overlap take turns, and all are numbered in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.window import Window, WindowSpec

from sparkcep.planning.slices import FirstOrLast, Slices
from sparkcep.spark.executors import on_executors
from sparkcep.spark.order_columns import OrderColumn
from sparkcep.spark.types import quoted


@dataclass(frozen=True, slots=True)
class TurnTask:
    """What a worker does with the beginnings and ends of candidates, in order.

    Attributes
    ----------
    columns
        How many columns of a candidate come first; behind them its number, whether the row is its end, and whether
        a group begins.
    taken_at
        Whether candidates are taken where they begin or where they end: that row carries its columns.
    number
        The column that is to hold the number of a match in its group, if one is.
    """

    columns: int
    taken_at: FirstOrLast
    number: int | None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keep the rows that carry matches."""
        from sparkcep.engine.turns import ByBeginning, ByCompletion  # here: the driver of Spark needs no kernels

        turns = ByBeginning() if self.taken_at == "first" else ByCompletion()
        for batch in batches:
            candidates, ends, begins = (
                batch.column(self.columns + place).to_numpy(zero_copy_only=False) for place in range(3)
            )
            numbers = turns.numbers(begins, ends, candidates)
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
        The column that holds the number of a match, or of a candidate in its slice, if there is one.
    """

    frame: DataFrame
    slices: Slices
    keys: Sequence[str]
    orders: Sequence[OrderColumn]
    number: str | None

    def in_turn(self) -> DataFrame:
        """Return the candidates that begin behind the match before them, numbered if somebody asks."""
        plain = [name for name in self.frame.columns if not name.startswith(self.slices.end)]
        number = None if self.number is None else plain.index(self.number)
        # An Arrow batch without columns has no rows either.
        return self._taken(plain or self.frame.columns[:1], "first", number)

    def apart(self, classes: int) -> DataFrame:
        """Return the candidates that begin behind the end of the one completed before, in each class.

        Parameters
        ----------
        classes
            How many columns tell of the class.
        """
        groups = [F.col(name) for name in self.slices.classes(classes)]
        return self._taken(self.frame.columns, "last", None, groups, self._completion)

    def numbered_by_begin(self) -> DataFrame:
        """Return all candidates, numbered by where they begin if somebody asks."""
        return self._numbered(self._window(self._places("first"))) if self.number is not None else self.frame

    def numbered_by_completion(self) -> DataFrame:
        """Return all candidates, numbered by their last events, then by slice, then as in the slice.

        Of matches that end in one event, those of the slice before begin earlier.
        """
        return self._numbered(self._window(self._places("last"), behind=self._completion))

    def _numbered(self, window: WindowSpec) -> DataFrame:
        assert self.number is not None
        return self.frame.withColumn(self.number, F.row_number().over(window).cast("bigint"))

    def _taken(
        self,
        carried: Sequence[str],
        taken_at: FirstOrLast,
        number: int | None,
        groups: Sequence[Column] = (),
        behind: Sequence[Column] = (),
    ) -> DataFrame:
        """Let candidates take turns.

        Each one gives two rows, its beginning and its end, sorted together: no worker has to compare values.
        """
        candidate, ends, begins = (f"{self.slices.place}_{name}" for name in ("candidate", "ends", "begins"))
        identified = self.frame.withColumn(candidate, F.monotonically_increasing_id())
        turns = identified.withColumn(ends, F.explode(F.array(F.lit(False), F.lit(True))))
        both = zip(self._places("first"), self._places("last"), strict=True)
        places = [F.when(F.col(ends), last).otherwise(first) for first, last in both]
        window = self._window(places, groups, [F.col(ends), *behind])
        begun = turns.withColumn(begins, F.row_number().over(window) == 1)
        carries = F.col(ends) if taken_at == "last" else ~F.col(ends)
        columns = [F.when(carries, F.col(quoted(name))).alias(name) for name in carried]
        sent = begun.select(*columns, F.col(candidate), F.col(ends), F.col(begins))
        plain = sent.toDF(*(f"c{place}" for place in range(len(sent.columns))))
        task = TurnTask(len(columns), taken_at, number)
        return plain.mapInArrow(on_executors(task.run), T.StructType([self.frame.schema[name] for name in carried]))

    @property
    def _completion(self) -> list[Column]:
        """What orders the candidates that one event completes."""
        assert self.number is not None
        return [F.col(self.slices.end_slice), F.col(self.number)]

    def _places(self, end: FirstOrLast) -> list[Column]:
        return [F.col(name) for name in self.slices.places(len(self.orders), end)]

    def _window(
        self, places: Sequence[Column], groups: Sequence[Column] = (), behind: Sequence[Column] = ()
    ) -> WindowSpec:
        """Return a window over partitions, sorted by the values of one row of each candidate."""
        by_order = [order.sorted(value) for order, value in zip(self.orders, places, strict=False)]
        keys = [*(F.col(quoted(key)) for key in self.keys), *groups]
        window = Window.partitionBy(*keys) if keys else Window
        return window.orderBy(*by_order, places[-1], *behind)
