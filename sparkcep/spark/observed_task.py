"""The matcher inside ``mapInArrow``, observed: behind its output one more row tells what it has done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from sparkcep.engine.columns import group_starts
from sparkcep.engine.tally import COUNTERS_TYPE, Tally
from sparkcep.spark.event_sampling import EventSample


class Driver(Protocol):
    """What matches the rows of one Spark partition."""

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take the next rows; yield output."""

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Take the end of the rows; yield what is left."""


class ObservableTask(Protocol):
    """What a worker does with rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the batches' columns."""

    @property
    def masks(self) -> tuple[str, ...]:
        """Names of the mask columns."""

    def driver(self, tally: Tally | None = None) -> Driver:
        """Return what matches the rows of one Spark partition, and counts."""

    def schema(self, sent: pa.Schema) -> pa.Schema:
        """Return the schema of its output for rows of `sent`."""


@dataclass(frozen=True, slots=True)
class ObservedTask:
    """Does what a task does, and counts.

    Attributes
    ----------
    task
        What is done.
    marks
        The column that marks rows with ties, see `sparkcep.engine.tally.Tally.add_rows`.
    counters
        The column behind those of the output: NULL in them, in the last row a struct of counters.
    counts_partitions
        Whether groups of rows are partitions.
    sample
        What looks closer at the first rows of an event pattern.
    """

    task: ObservableTask
    marks: str
    counters: str
    counts_partitions: bool
    sample: EventSample | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the rows of one Spark partition, then tell the counters; without rows there are none."""
        tally, sent, put_out = Tally(), None, None
        driver = self.task.driver(tally)
        sampled = None if self.sample is None else self.sample.counter()
        for numbered in batches:
            batch = numbered.rename_columns(list(self.task.columns))
            if not batch.num_rows:
                continue
            self._count(batch, tally)
            if sampled is not None:
                sampled.push(batch)
            sent = batch.schema
            for found in driver.push(batch):
                put_out = found.schema
                yield self._with(found, pa.nulls(found.num_rows, COUNTERS_TYPE))
        for found in driver.finish():
            put_out = found.schema
            yield self._with(found, pa.nulls(found.num_rows, COUNTERS_TYPE))
        if sent is not None:
            schema = put_out or self.task.schema(sent)
            nothing = pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)
            yield self._with(nothing, tally.struct(None if sampled is None else sampled.numbers()))

    def _count(self, batch: pa.RecordBatch, tally: Tally) -> None:
        partitions = len(group_starts(batch.column(self.task.masks[0]))) if self.counts_partitions else None
        tally.add_rows(batch.column(self.marks), partitions)

    def _with(self, batch: pa.RecordBatch, counters: pa.Array) -> pa.RecordBatch:
        """Return a batch with one more column."""
        schema = batch.schema.append(pa.field(self.counters, COUNTERS_TYPE))
        return pa.RecordBatch.from_arrays([*batch.columns, counters], schema=schema)
