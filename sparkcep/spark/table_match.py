"""What a table function does with the rows of partitions: plain data, no Spark, no SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.columns import BITS_PER_MASK
from sparkcep.engine.live_state import first_variables
from sparkcep.engine.matches import Bools, Int64s
from sparkcep.logical.bound import Neighbour
from sparkcep.logical.row_types import RowExpression
from sparkcep.logical.slots import Operand
from sparkcep.spark.batch import MatchTask
from sparkcep.spark.event_batch import EventTask
from sparkcep.spark.table_types import arrow_type, column_reader, spark_type, typed_array

if TYPE_CHECKING:
    from sparkcep.engine.slot_arrays import Computed, RowTree

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


@dataclass(frozen=True)
class TableMatch:
    """A pattern, ready to be matched over the rows of partitions.

    Attributes
    ----------
    inputs
        Names of the columns that come in, in order.
    kinds
        Their types, and those of hidden columns.
    groups
        The columns that tell partitions apart, where rows of many come together.
    sends_numbers
        Whether timestamps and dates come in as numbers.
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
    groups: tuple[str, ...]
    sends_numbers: bool
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

    @cached_property
    def matcher(self) -> TableMatcher:
        """What matches rows; a worker makes it once."""
        return TableMatcher(self)


class TableMatcher:
    """Matches the rows of whole partitions: everything that only the pattern and the schema decide is made once."""

    def __init__(self, match: TableMatch) -> None:
        self.match = match
        self._early = list(_levels(match.early, match.kinds))
        self._late = list(_levels(match.late, match.kinds))
        self._bits = RowExpressions([(bit.holds, T.BooleanType()) for bit in match.bits])
        self._results = RowExpressions([(result.value, result.kind) for result in match.results])
        self._names = [result.name for result in match.results]
        self._first_bits = _first_bits(match)
        kinds = [match.kinds.get(name, T.LongType()) for name in match.inputs]
        self._readers = [column_reader(kind, as_numbers=match.sends_numbers) for kind in kinds]

    def columns(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[pa.Array]:
        """Return the columns of `inputs` of some rows of Python values; rows may hold more, `names` tell what."""
        values = list(zip(*rows, strict=True))
        places = map(names.index, self.match.inputs)
        return [read(values[place]) for read, place in zip(self._readers, places, strict=True)]

    def run(self, arrays: Sequence[pa.Array], starts: Int64s) -> Iterator[pa.RecordBatch]:
        """Match rows of whole partitions, given in order.

        Parameters
        ----------
        arrays
            The columns of `inputs`, a row at least.
        starts
            int64[g]: the rows at which partitions start; the first one is 0.
        """
        columns = dict(zip(self.match.inputs, arrays, strict=True))
        self._complete(columns, len(arrays[0]), starts)
        masks = self._masks(columns, len(arrays[0]))
        masks[0][starts] |= 1
        if self._first_bits and not (masks[0] & self._first_bits).any():
            return
        task = self.match.task
        columns |= {name: pa.array(mask) for name, mask in zip(task.masks, masks, strict=True)}
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        for found in task.run_whole(batch):
            yield self._finished(found)

    def _complete(self, columns: Columns, rows: int, starts: Int64s) -> None:
        """Add hidden columns."""
        for names, expressions in self._early:
            columns.update(zip(names, expressions.arrays(columns), strict=True))
        for step in self.match.neighbours:
            columns[step.name] = _moved(columns[step.column], step.shift, starts)
        for names, expressions in self._late:
            columns.update(zip(names, expressions.arrays(columns), strict=True))

    def _masks(self, columns: Columns, rows: int) -> list[Int64s]:
        """Return the masks, with the bits that are still missing."""
        masks: dict[str, Int64s] = {}
        for name in self.match.task.masks:
            given = columns.get(name)
            masks[name] = np.zeros(rows, np.int64) if given is None else given.to_numpy(zero_copy_only=False).copy()
        for bit, holds in zip(self.match.bits, self._bits.true(columns), strict=True):
            true = holds.astype(np.int64) << bit.bit
            mask = masks[bit.mask]
            masks[bit.mask] = mask & (true | ~(1 << bit.bit)) if bit.narrows else mask | true
        return list(masks.values())

    def _finished(self, found: pa.RecordBatch) -> pa.RecordBatch:
        columns: Columns = dict(zip(found.schema.names, found.columns, strict=True))
        arrays = self._results.arrays(columns)
        if self.match.matched is not None:
            matched = columns[self.match.matched]
            arrays = [
                array if name in columns else pc.if_else(matched, array, pa.scalar(None, array.type))
                for name, array in zip(self._names, arrays, strict=True)
            ]
        return pa.RecordBatch.from_arrays(arrays, self._names)


class RowExpressions:
    """Expressions over the columns of one row, computed together."""

    def __init__(self, wanted: Sequence[tuple[RowExpression, T.DataType]]) -> None:
        self._wanted = wanted
        self._casts: dict[str, tuple[str, pa.DataType]] = {}
        from sparkcep.engine.slot_arrays import RowProgram  # here: what analyses a call needs no kernels

        trees = [self._tree(expression) for expression, _ in wanted if expression.slots is not None]
        self._program = RowProgram(trees) if trees else None

    def _tree(self, expression: RowExpression) -> RowTree:
        from sparkcep.engine.slot_arrays import RowTree

        operands = []
        for read, kind in expression.reads:
            name = read.column
            if read.cast is not None:
                name = f"{read.column} AS {read.cast}"
                self._casts[name] = read.column, arrow_type(spark_type(read.cast), read.column)
            operands.append(Operand(name, kind))
        assert expression.slots is not None
        return RowTree(expression.slots, tuple(operands))

    def arrays(self, columns: Columns) -> list[pa.Array]:
        """Return the values as columns of their types."""
        computed = iter(self._computed(columns))
        return [
            typed_array(next(computed), kind) if expression.slots is not None else _put_together(expression, columns)
            for expression, kind in self._wanted
        ]

    def true(self, columns: Columns) -> list[Bools]:
        """Return where conditions hold."""
        computed = iter(self._computed(columns))
        return [
            _holding(next(computed)) if expression.slots is not None else _true(_put_together(expression, columns))
            for expression, _ in self._wanted
        ]

    def _computed(self, columns: Columns) -> list[Computed]:
        if self._program is None:
            return []
        names = [operand.column for operand in self._program.operands]
        # A batch knows how many rows it has from its columns: constants alone need one, too.
        arrays = [self._read(name, columns) for name in names] or list(columns.values())[:1]
        return self._program.computed(pa.RecordBatch.from_arrays(arrays, names or [""]))

    def _read(self, name: str, columns: Columns) -> pa.Array:
        cast = self._casts.get(name)
        return columns[name] if cast is None else columns[cast[0]].cast(cast[1])


def _levels(
    expressions: Sequence[tuple[str, RowExpression]], kinds: Mapping[str, T.DataType]
) -> Iterator[tuple[list[str], RowExpressions]]:
    """Put together what does not read each other."""
    level: dict[str, RowExpression] = {}
    for name, expression in expressions:
        if any(column in level for column in expression.columns):
            yield _level(level, kinds)
            level = {}
        level[name] = expression
    if level:
        yield _level(level, kinds)


def _level(level: dict[str, RowExpression], kinds: Mapping[str, T.DataType]) -> tuple[list[str], RowExpressions]:
    return list(level), RowExpressions([(expression, kinds[name]) for name, expression in level.items()])


def _put_together(expression: RowExpression, columns: Columns) -> pa.Array:
    """Return a column, a struct of columns, or lists of what was collected."""
    if expression.column is not None:
        return columns[expression.column]
    if expression.collected is not None:
        return _first_fields(columns[expression.collected])
    names, places = zip(*expression.fields, strict=True)
    return pa.StructArray.from_arrays([columns[place] for place in places], names=list(names))


def _first_fields(lists: pa.ListArray) -> pa.ListArray:
    """Return lists of the first field of structs, without NULLs; a NULL list stays one."""
    values = lists.flatten().flatten()[0]
    bounds = np.append(0, np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy()))
    if values.null_count:
        known = values.is_valid()
        bounds = np.append(0, np.cumsum(known.to_numpy(zero_copy_only=False)))[bounds]
        values = values.filter(known)
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), values, mask=mask)


def _holding(found: Computed) -> Bools:
    holding: Bools = (found.values != 0) & ~found.nulls
    return holding


def _true(column: pa.Array) -> Bools:
    true: Bools = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return true


def _moved(column: pa.Array, shift: int, starts: Int64s) -> pa.Array:
    """Return the values `shift` rows onward, NULL beyond the partition."""
    rows = len(column)
    if len(starts) == 1:
        beyond = pa.nulls(min(abs(shift), rows), column.type)
        kept = column.slice(shift) if shift > 0 else column.slice(0, max(0, rows + shift))
        return pa.concat_arrays([kept, beyond] if shift > 0 else [beyond, kept])
    stops = np.append(starts[1:], rows)
    places = np.arange(rows) + shift
    outside = (places < np.repeat(starts, stops - starts)) | (places >= np.repeat(stops, stops - starts))
    return column.take(pa.array(np.where(outside, 0, places), mask=outside))


def _first_bits(match: TableMatch) -> int:
    """Return bits of the first mask one of which holds at the first row of every match; 0 where none has to."""
    task = match.task
    if not isinstance(task, MatchTask) or task.output.unmatched:
        return 0
    variables = _first_variables(task)
    if variables is None or max(variables, default=0) >= BITS_PER_MASK:
        return 0
    if any(task.always[0] >> variable & 1 for variable in variables):
        return 0
    return sum(2 << variable for variable in variables)


def _first_variables(task: MatchTask) -> frozenset[int] | None:
    """Return the variables one of which takes a match's first row; None if a match may be empty."""
    automaton = task.automaton
    if automaton is None:
        assert task.program is not None
        return first_variables(task.program)
    targets = {*automaton.edges[-2], *automaton.edges[-1]}
    if any(target < 0 for target in targets):
        return None
    return frozenset(automaton.labels[automaton.positions[target]].variable for target in targets)
