"""Table functions of SQL: ``match_pattern(TABLE(t), …)`` for any pattern, and patterns registered by name.

Workers and the process that analyses calls import this module; neither has a session.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn

from sparkcep.engine.matches import Int64s
from sparkcep.errors import PatternSyntaxError, SparkcepError, did_you_mean, warn
from sparkcep.spark.arguments import Arguments
from sparkcep.spark.table_match import TableMatch
from sparkcep.spark.table_plan import planned_table
from sparkcep.spark.table_planner import TablePlan
from sparkcep.spark.table_types import arrow_type, group_starts_of, python_values
from sparkcep.spark.types import quoted, without_one_form
from sparkcep.syntax.lexer import split_top_level, tokenize
from sparkcep.syntax.relations import SourceText
from sparkcep.syntax.table_call import PARAMETERS

NAME = "match_pattern"
_LISTS = ("partition_by", "order_by")
_ONE_GROUP = "1"
# Buckets of keys: many enough to spread over any cluster's tasks, few enough to hold many keys each.
_BUCKETS = 1024
_ROWS_AT_ONCE = 32_768


@dataclass
class Analyzed(AnalyzeResult):
    """What `MatchPattern.analyze` found out, on its way to the workers."""

    match: TableMatch | None = None


class MatchPattern:
    """The table function ``match_pattern``: its rows come one by one, and are matched when enough have come."""

    def __init__(self, analyzed: Analyzed) -> None:
        assert analyzed.match is not None
        self._rows = RowCollector(analyzed.match)

    @staticmethod
    def analyze(table: AnalyzeArgument, pattern: AnalyzeArgument, **arguments: AnalyzeArgument) -> Analyzed:
        """Plan the call; every fault of the pattern is told here."""
        if not table.isTable or not isinstance(table.dataType, T.StructType):
            raise _wrong("the first argument is a table", "table", "TABLE(t), TABLE(SELECT …)")
        try:
            plan = _planned(table.dataType, {"pattern": pattern, **arguments})
        except SparkcepError as error:
            raise error.with_traceback(None) from None  # Spark tells it with its stack, which says nothing more
        if not plan.orders:
            # Which columns the call partitions by is not told.
            warn_of_keys({field.name: field.dataType for field in table.dataType.fields})
        return _analyzed(plan)

    def eval(self, row: T.Row, *values: object, **arguments: object) -> list[tuple[Any, ...]] | None:
        """Keep a row."""
        return self._rows.add(row)

    def terminate(self) -> list[tuple[Any, ...]]:
        """Match the rows that are left."""
        return self._rows.finish()


def _planned(schema: T.StructType, given: Mapping[str, AnalyzeArgument]) -> TablePlan:
    values = {name: _constant(name, argument) for name, argument in given.items()}
    read = Arguments(**{name: value for name, value in values.items() if value is not None})
    return planned_table(schema, read, selects=True)


def _constant(name: str, argument: AnalyzeArgument) -> Any:
    if name not in PARAMETERS:
        raise PatternSyntaxError(
            "UNKNOWN_ARGUMENT",
            f"{NAME} has no argument '{name}'.",
            clause=NAME,
            found=name,
            allowed=PARAMETERS,
            hint=did_you_mean(name, PARAMETERS),
        )
    if not argument.isConstantExpression:
        raise _wrong(f"{name} must be a constant: the columns of the result depend on it", name, "a constant")
    value = argument.value
    if name in _LISTS and isinstance(value, str):
        source = SourceText.of(value, tokenize(value, clause=name))
        tokens = source.tokens
        ranges = split_top_level(tokens, source.pairs, 0, len(tokens))
        return [value[tokens[start].start : tokens[end - 1].end] for start, end in ranges if start < end]
    # Spark hands maps over in no order that the caller would know.
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _wrong(message: str, name: str, allowed: str) -> PatternSyntaxError:
    return PatternSyntaxError("WRONG_ARGUMENT", message, clause=name, allowed=allowed)


def _analyzed(plan: TablePlan) -> Analyzed:
    """Tell Spark how to partition, how to sort, and what to compute of each row.

    A function is set up anew for each partition, so partitions are buckets of keys, sorted by key.
    """
    plain = {name for name, text in plan.selected if text == quoted(name)}
    select = [
        SelectedColumn(text) if name in plain else SelectedColumn(text, alias=name) for name, text in plan.selected
    ]
    orders = [OrderingColumn(key.expression, key.ascending, key.nulls_first) for key in plan.orders]
    groups = [key.canonical for key in plan.keys]
    partitions = [f"pmod(hash({', '.join(groups)}), {_BUCKETS})"] if groups else [_ONE_GROUP] * bool(orders)
    return Analyzed(
        schema=plan.match.schema,
        partitionBy=[PartitioningColumn(text) for text in partitions],
        orderBy=[*map(OrderingColumn, groups), *orders],
        select=select,
        match=plan.match,
    )


def warn_of_keys(kinds: Mapping[str, T.DataType]) -> None:
    """Tell of columns whose equal values Spark would take for different ones: it compares keys in Python."""
    doubtful = [
        name
        for name, kind in kinds.items()
        if isinstance(kind, T.FloatType | T.DoubleType) or without_one_form(kind) is not None
    ]
    if doubtful:
        warn(
            f"PARTITION BY of a table function's call splits groups of equal keys where NaN or a collation makes them "
            f"look different ({', '.join(doubtful)}); for such keys write partition_by => 'k', order_by => 'ts' in a "
            f"call of {NAME}, or use a DataFrame"
        )


class RegisteredRows:
    """A pattern registered by name, where rows come one by one; a subclass holds the match."""

    match: TableMatch

    def __init__(self) -> None:
        self._rows = RowCollector(self.match)

    def eval(self, row: T.Row) -> list[tuple[Any, ...]] | None:
        """Keep a row."""
        return self._rows.add(row)

    def terminate(self) -> list[tuple[Any, ...]]:
        """Match the rows of the partition."""
        return self._rows.finish()


class RegisteredBatches:
    """A pattern registered by name, where Arrow batches come; a subclass holds the match.

    Spark makes an object per partition and gives it a slice of a batch that holds many partitions. While rows
    of the batch are left, more calls will follow: then the rows are handed to the next object, and
    matched together with its own.
    """

    match: TableMatch
    handed_on: WaitingBatches | None = None

    def __init__(self) -> None:
        own = type(self)
        self._waiting = own.handed_on or WaitingBatches(self.match)
        self._waiting.begin_partition()
        own.handed_on = None

    def eval(self, batch: pa.RecordBatch) -> None:
        """Keep a slice of a batch."""
        self._waiting.add(batch)

    def terminate(self) -> Iterator[pa.RecordBatch]:
        """Match the rows that have come, unless more will come for certain."""
        if self._waiting.can_wait:
            type(self).handed_on = self._waiting
            return iter(())
        return self._waiting.matched()

    def cleanup(self) -> None:
        """See to it that no row was handed to nobody."""
        left, type(self).handed_on = type(self).handed_on, None
        if left is not None:
            raise RuntimeError("Spark ended a table function behind a partition that was not its last one")


class RowCollector:
    """Collects rows until partitions are complete, and matches many at a time."""

    def __init__(self, match: TableMatch) -> None:
        self._match = match
        self._rows: list[T.Row] = []
        self._enough = _ROWS_AT_ONCE if match.groups else sys.maxsize

    def add(self, row: T.Row) -> list[tuple[Any, ...]] | None:
        """Take a row; match all partitions but the last one if many rows have come."""
        self._rows.append(row)
        if len(self._rows) < self._enough:
            return None
        columns = self._columns()
        last = int(self._starts(columns)[-1])
        self._enough = max(_ROWS_AT_ONCE, 2 * (len(self._rows) - last))
        if last == 0:
            return None
        self._rows = self._rows[last:]
        return self._matched([column.slice(0, last) for column in columns])

    def finish(self) -> list[tuple[Any, ...]]:
        """Match what is left."""
        found = self._matched(self._columns()) if self._rows else []
        self._rows = []
        return found

    def _columns(self) -> list[pa.Array]:
        """Return the columns that the match reads: Spark adds those that the call sorts by."""
        return self._match.matcher.columns(self._rows[0].__fields__, self._rows)

    def _starts(self, columns: Sequence[pa.Array]) -> Int64s:
        match = self._match
        return group_starts_of([columns[match.inputs.index(name)] for name in match.groups])

    def _matched(self, columns: Sequence[pa.Array]) -> list[tuple[Any, ...]]:
        """Match whole partitions; all values as Python has them."""
        rows: list[tuple[Any, ...]] = []
        for found in self._match.matcher.run(columns, self._starts(columns)):
            rows += zip(*map(python_values, found.columns), strict=True)
        return rows


class WaitingBatches:
    """Slices of batches, and where partitions start in them."""

    def __init__(self, match: TableMatch) -> None:
        self._match = match
        self._slices: list[pa.RecordBatch] = []
        self._starts: list[int] = []
        self._rows = 0

    def begin_partition(self) -> None:
        """Let the next row start a partition."""
        self._starts.append(self._rows)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a slice."""
        self._slices.append(batch)
        self._rows += batch.num_rows

    @property
    def can_wait(self) -> bool:
        """Whether more rows will come for certain, and few have come so far."""
        return self._rows < _ROWS_AT_ONCE and bool(self._slices) and rows_follow(self._slices[-1])

    def matched(self) -> Iterator[pa.RecordBatch]:
        """Match all rows."""
        if self._rows == 0:
            return
        table = pa.Table.from_batches(self._slices).combine_chunks()
        columns = [self._column(table, name) for name in self._match.inputs]
        starts = np.unique(np.array(self._starts, np.int64))
        yield from self._match.matcher.run(columns, starts[starts < self._rows])

    def _column(self, table: pa.Table, name: str) -> pa.Array:
        wanted = arrow_type(self._match.kinds[name], name)
        column = table.column(name)
        array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
        return array if array.type == wanted else array.cast(wanted)


def rows_follow(batch: pa.RecordBatch) -> bool:
    """Tell whether a batch is a slice, and its memory holds rows behind its last one.

    Memory may be padded to 64 bytes, so the last few rows are not seen.
    """
    for column in batch.columns:
        kind = column.type
        texts = pa.types.is_string(kind) or pa.types.is_binary(kind)
        bits = 32 if texts else kind.bit_width if pa.types.is_primitive(kind) else 0
        if bits < 8:
            continue
        held = column.buffers()[1]
        return held is not None and (column.offset + len(column)) * bits // 8 + 64 < held.size
    return False
