"""Table functions of SQL: ``match_pattern(TABLE(t), …)`` for any pattern, and patterns registered by name.

Workers and the process that analyses calls import this module; neither has a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn

from sparkcep.errors import PatternSyntaxError, SparkcepError, did_you_mean, warn
from sparkcep.spark.arguments import Arguments
from sparkcep.spark.table_match import TableMatch
from sparkcep.spark.table_plan import TablePlan, planned_table
from sparkcep.spark.table_types import arrow_type, columns_of
from sparkcep.spark.types import quoted, without_one_form
from sparkcep.syntax.lexer import split_top_level, tokenize
from sparkcep.syntax.relations import SourceText
from sparkcep.syntax.table_call import PARAMETERS

NAME = "match_pattern"
_LISTS = ("partition_by", "order_by")
_ONE_GROUP = "1"


@dataclass
class Analyzed(AnalyzeResult):
    """What `MatchPattern.analyze` found out, on its way to the workers."""

    match: TableMatch | None = None


class MatchPattern:
    """The table function ``match_pattern``: its rows come one by one, and are matched when their partition ends."""

    def __init__(self, analyzed: Analyzed) -> None:
        assert analyzed.match is not None
        self._match = analyzed.match
        self._rows: list[T.Row] = []

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
            _warn_of_keys(table.dataType)
        return _analyzed(plan)

    def eval(self, row: T.Row, *values: object, **arguments: object) -> None:
        """Keep a row."""
        self._rows.append(row)

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Match the rows of the partition."""
        return _rows_of(self._match, _columns_asked_for(self._match, self._rows))


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
    """Tell Spark how to partition, how to sort, and what to compute of each row."""
    plain = {name for name, text in plan.selected if text == quoted(name)}
    select = [
        SelectedColumn(text) if name in plain else SelectedColumn(text, alias=name) for name, text in plan.selected
    ]
    keys = [key.canonical for key in plan.keys] or [_ONE_GROUP] * bool(plan.orders)
    orders = [OrderingColumn(key.expression, key.ascending, key.nulls_first) for key in plan.orders]
    return Analyzed(
        schema=plan.match.schema,
        partitionBy=[PartitioningColumn(key) for key in keys],
        orderBy=orders,
        select=select,
        match=plan.match,
    )


def _warn_of_keys(schema: T.StructType) -> None:
    """Tell that PARTITION BY of the call compares keys in Python."""
    doubtful = [
        field.name
        for field in schema.fields
        if isinstance(field.dataType, T.FloatType | T.DoubleType) or without_one_form(field.dataType) is not None
    ]
    if doubtful:
        warn(
            f"PARTITION BY of a table function's call splits groups of equal keys where NaN or a collation makes them "
            f"look different ({', '.join(doubtful)}); write partition_by => 'k', order_by => 'ts' for such keys"
        )


class RegisteredRows:
    """A pattern registered by name, where rows come one by one; a subclass holds the match."""

    match: TableMatch

    def __init__(self) -> None:
        self._rows: list[T.Row] = []

    def eval(self, row: T.Row) -> None:
        """Keep a row."""
        self._rows.append(row)

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Match the rows of the partition."""
        return _rows_of(self.match, _columns_asked_for(self.match, self._rows))


class RegisteredBatches:
    """A pattern registered by name, where Arrow batches come; a subclass holds the match."""

    match: TableMatch

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Keep a batch."""
        self._batches.append(batch)
        yield from ()

    def terminate(self) -> Iterator[pa.RecordBatch]:
        """Match the rows of the partition."""
        if self._batches:
            table = pa.Table.from_batches(self._batches).combine_chunks()
            yield from self.match.run([self._column(table, name) for name in self.match.inputs])

    def _column(self, table: pa.Table, name: str) -> pa.Array:
        wanted = arrow_type(self.match.kinds[name], name)
        column = table.column(name)
        array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
        return array if array.type == wanted else array.cast(wanted)


def _columns_asked_for(match: TableMatch, rows: Sequence[T.Row]) -> Sequence[Sequence[Any]]:
    """Return rows of the columns that the match reads: Spark adds those that the call sorts by."""
    names = list(rows[0].__fields__) if rows else list(match.inputs)
    if names == list(match.inputs):
        return rows
    places = [names.index(name) for name in match.inputs]
    return [[row[place] for place in places] for row in rows]


def _rows_of(match: TableMatch, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Match the rows of a partition, all values as Python has them."""
    kinds = [match.kinds.get(name, T.LongType()) for name in match.inputs]
    for found in match.run(columns_of(rows, kinds)):
        yield from zip(*(column.to_pylist() for column in found.columns), strict=True)
