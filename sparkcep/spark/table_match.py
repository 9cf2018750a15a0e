"""What a table function does with the rows of one partition: plain data, no Spark, no SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.slot_arrays import computed
from sparkcep.logical.bound import Neighbour
from sparkcep.logical.row_types import RowExpression, RowRead
from sparkcep.spark.batch import MatchTask, RowMatcher
from sparkcep.spark.event_batch import EventDriver, EventTask
from sparkcep.spark.table_types import arrow_type, spark_type, typed_array

Columns = dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class MaskBit:
    """A condition that the function itself computes, and its bit of a mask column.

    `narrows` says that the bit has been set where another part of the condition holds.
    """

    mask: str
    bit: int
    holds: RowExpression
    narrows: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A column of the result: what computes it from the matcher's columns."""

    name: str
    value: RowExpression
    kind: T.DataType


@dataclass(frozen=True, slots=True)
class TableMatch:
    """A pattern, ready to be matched over the rows of one partition.

    Attributes
    ----------
    inputs
        Names of the columns that come in, in order.
    kinds
        Their types, and those of hidden columns.
    early, late
        Hidden columns that the function computes before and after the neighbours are at hand.
    matched
        The column that tells rows of a match from others, if others come out too.
    results
        The columns that go out, in order.
    """

    task: MatchTask | EventTask
    inputs: tuple[str, ...]
    kinds: dict[str, T.DataType]
    early: tuple[tuple[str, RowExpression], ...]
    neighbours: tuple[Neighbour, ...]
    late: tuple[tuple[str, RowExpression], ...]
    bits: tuple[MaskBit, ...]
    matched: str | None
    results: tuple[Result, ...]

    @property
    def schema(self) -> T.StructType:
        """The schema of the result, everything nullable."""
        return T.StructType([T.StructField(result.name, result.kind) for result in self.results])

    def run(self, arrays: list[pa.Array]) -> Iterator[pa.RecordBatch]:
        """Match the rows of one partition, given in order; `arrays` are the columns of `inputs`."""
        columns = dict(zip(self.inputs, arrays, strict=True))
        rows = len(arrays[0]) if arrays else 0
        if rows == 0:
            return
        self._complete(columns, rows)
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        task = self.task
        driver = RowMatcher(task) if isinstance(task, MatchTask) else EventDriver(task, task.matcher())
        for found in (*driver.push(batch), *driver.finish()):
            yield self._finished(found)

    def _complete(self, columns: Columns, rows: int) -> None:
        """Add hidden columns, and what is missing of the masks."""
        for name, expression in self.early:
            columns[name] = _value(expression, columns, rows, self.kinds[name])
        for step in self.neighbours:
            columns[step.name] = _moved(columns[step.column], step.shift)
        for name, expression in self.late:
            columns[name] = _value(expression, columns, rows, self.kinds[name])
        for place, name in enumerate(self.task.masks):
            given = columns.get(name)
            mask = np.zeros(rows, np.int64) if given is None else np.array(given.to_numpy(zero_copy_only=False))
            for bit in self.bits:
                if bit.mask == name:
                    holds = _value(bit.holds, columns, rows, T.BooleanType())
                    true = np.asarray(pc.fill_null(holds, False)).astype(np.int64) << bit.bit
                    mask = mask & (true | ~(1 << bit.bit)) if bit.narrows else mask | true
            if place == 0:
                mask[0] |= 1
            columns[name] = pa.array(mask)

    def _finished(self, found: pa.RecordBatch) -> pa.RecordBatch:
        columns: Columns = dict(zip(found.schema.names, found.columns, strict=True))
        arrays = []
        for result in self.results:
            array = _value(result.value, columns, found.num_rows, result.kind)
            if self.matched is not None and result.name not in columns:
                array = pc.if_else(columns[self.matched], array, pa.scalar(None, array.type))
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, [result.name for result in self.results])


def _value(expression: RowExpression, columns: Mapping[str, pa.Array], rows: int, kind: T.DataType) -> pa.Array:
    if expression.column is not None:
        return columns[expression.column]
    assert expression.slots is not None
    operands = [_read(read, columns) for read, _ in expression.reads]
    return typed_array(computed(expression.slots, operands, [kind for _, kind in expression.reads], rows), kind)


def _read(read: RowRead, columns: Mapping[str, pa.Array]) -> pa.Array:
    column = columns[read.column]
    return column if read.cast is None else column.cast(arrow_type(spark_type(read.cast), read.column))


def _moved(column: pa.Array, shift: int) -> pa.Array:
    """Return the values `shift` rows onward, NULL beyond the partition."""
    places = np.arange(len(column)) + shift
    beyond = (places < 0) | (places >= len(column))
    return column.take(pa.array(np.where(beyond, 0, places), mask=beyond))
