"""From matches to output rows: what a match reports, gathered by Arrow.

Nothing here loops over rows or matches in Python: kernels compute row indexes and sums,
Arrow's ``take`` copies values, so that every Arrow type passes through unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from sparkcep.engine import aggregates
from sparkcep.engine.gather import NO_ROW, LabelRuns, RunArrays, View, output_view
from sparkcep.engine.matches import Bools, Int32s, Int64s, Matches, MatchLabel, Rows
from sparkcep.engine.take import LARGEST_OFFSET, one_chunk, take, too_large
from sparkcep.errors import MatchError
from sparkcep.logical.outputs import (
    CLASSIFIER,
    Aggregated,
    Collected,
    Gathered,
    Matched,
    Numbered,
    Output,
    OutputRows,
)


def output_schema(input_schema: pa.Schema, output: OutputRows) -> pa.Schema:
    """Return the schema of what `assemble` returns for a table of `input_schema`.

    All fields are nullable; fields of columns that are handed on or gathered keep their type
    and their metadata.

    Raises
    ------
    MatchError
        ``UNSUPPORTED_AGGREGATE`` when an aggregate does not take its column's type.
    """
    passed = [input_schema.field(name).with_nullable(True) for name in output.passed]
    return pa.schema(passed + [_field(input_schema, item) for item in output.outputs])


def _field(schema: pa.Schema, item: Output) -> pa.Field:
    match item:
        case Gathered():
            return _named(schema, item.column, item.name)
        case Aggregated():
            column = None if item.column is None else schema.field(item.column).type
            return pa.field(item.name, _aggregate_type(item, column))
        case Collected():
            return pa.field(item.name, _list_type(schema, item))
        case Numbered():
            return pa.field(item.name, pa.int64())
        case Matched():
            return pa.field(item.name, pa.bool_())


def _named(schema: pa.Schema, column: str, name: str) -> pa.Field:
    field = pa.field(CLASSIFIER, pa.string()) if column == CLASSIFIER else schema.field(column)
    return field.with_name(name).with_nullable(True)


def _aggregate_type(item: Aggregated, column: pa.DataType | None) -> pa.DataType:
    try:
        return aggregates.aggregate_type(item.function, column)
    except MatchError as error:
        raise MatchError(error.code, error.message, clause=f"MEASURES {item.name}") from error


def _list_type(schema: pa.Schema, item: Collected) -> pa.DataType:
    struct = pa.struct([_named(schema, column, f"f{i}") for i, column in enumerate(item.columns)])
    return pa.list_(pa.field("element", struct))


def assemble(
    table: pa.Table | pa.RecordBatch,
    rows: Rows,
    matches: Matches,
    labels: tuple[MatchLabel, ...],
    output: OutputRows,
    *,
    covered: int = 0,
    places: Int64s | None = None,
) -> pa.RecordBatch:
    """Turn matches into output rows (ISO/IEC 19075-5, ROWS PER MATCH and MEASURES).

    Parameters
    ----------
    table
        The input columns, one row per row of `rows`, unless `places` are given.
    rows, matches, labels
        Input and result of a matcher call, and the labels of its program.
    output
        The rows and columns to produce.
    covered
        With `unmatched`: rows before this one lie in a match that an earlier call found
        (overlapping matches, when the matcher went on at `Matches.resume`).
    places : int64[n]
        The row of `table` that stands for each of the n rows of `rows`.

    Returns
    -------
    pa.RecordBatch
        Of the schema that `output_schema` tells; rows in order of match and row, unmatched
        rows (only decided ones: below `Matches.resume`) at their place between them.

    Raises
    ------
    MatchError
        ``ARITHMETIC_OVERFLOW`` when a sum leaves 64 bits; ``RESULT_TOO_LARGE`` when a list or
        text column leaves the 2^31 − 1 elements or bytes that an Arrow array can hold;
        ``UNSUPPORTED_AGGREGATE`` as in `output_schema`.
    """
    return _Assembly(table, matches, labels, output, covered, places).batch()


class _Assembly:
    """One call of `assemble`: the output rows, and the columns over them."""

    def __init__(
        self,
        table: pa.Table | pa.RecordBatch,
        matches: Matches,
        labels: tuple[MatchLabel, ...],
        output: OutputRows,
        covered: int,
        places: Int64s | None,
    ) -> None:
        self.table, self.matches, self.output, self.places = table, matches, output, places
        self.runs = LabelRuns(matches, labels)
        rows = table.num_rows if places is None else len(places)
        self.view = output_view(self.runs, output, covered, min(matches.resume, rows))
        self.whole = self.view if output.mode == "one" else self.runs.whole()
        self.unmatched: Bools | None = self.view.match < 0 if output.unmatched and output.mode == "all" else None
        self._columns: dict[str, pa.Array] = {}
        self._spread_out: dict[str, pa.Array] = {}

    def batch(self) -> pa.RecordBatch:
        schema = output_schema(self.table.schema, self.output)
        place = self.runs.arrays.start if self.output.mode == "one" else self.view.row
        arrays = [self.rows_of(name, place, name) for name in self.output.passed]
        arrays += [self.computed(item) for item in self.output.outputs]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def column(self, name: str) -> pa.Array:
        """Return a column, one value per row of the matcher."""
        if self.places is None:
            return self._source(name)
        if name not in self._spread_out:
            self._spread_out[name] = take(self._source(name), self.places, name)
        return self._spread_out[name]

    def rows_of(self, name: str, rows: npt.NDArray[Any], output: str) -> pa.Array:
        """Return the values of a column in some rows of the matcher; −1 gives NULL."""
        if self.places is None or len(self.places) == 0:
            return take(self._source(name), rows, output)
        return take(self._source(name), np.where(rows < 0, NO_ROW, self.places[rows]), output)

    def _source(self, name: str) -> pa.Array:
        if name not in self._columns:
            self._columns[name] = one_chunk(self.table.column(name), name)
        return self._columns[name]

    def computed(self, item: Output) -> pa.Array:
        match item:
            case Gathered():
                return self.gathered(item)
            case Aggregated():
                return self.aggregated(item)
            case Collected():
                return self.collected(item)
            case Numbered():
                return pa.array(self._of_match(self.matches.number), mask=self.unmatched)
            case Matched():
                return pa.array(self.view.match >= 0)

    def seen(self, final: bool) -> View:
        """Return the view an output is computed over: with FINAL one value per match."""
        return self.whole if final else self.view

    def _of_match(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Spread one value per match over the output rows (arbitrary for unmatched rows)."""
        if self.view is self.whole or len(values) == 0:
            return values if self.view is self.whole else np.zeros(len(self.view.match), values.dtype)
        return values[self.view.match]

    def _spread(self, values: npt.NDArray[Any], final: bool) -> npt.NDArray[Any]:
        """Spread indexes per match over the output rows, −1 for unmatched rows."""
        if not final or self.view is self.whole:
            return values
        spread = self._of_match(values)
        return spread if self.unmatched is None else np.where(self.unmatched, values.dtype.type(NO_ROW), spread)

    def gathered(self, item: Gathered) -> pa.Array:
        view = self.seen(item.final)
        located = self.runs.locate(view, item.rows, item.end == "first", item.offset)
        if item.column == CLASSIFIER:
            classes = self.runs.classify(view.match, located, item.shift)
            return take(pa.array(self.output.variables, pa.string()), self._spread(classes, item.final), item.name)
        return self.rows_of(item.column, self._spread(located, item.final), item.name)

    def aggregated(self, item: Aggregated) -> pa.Array:
        column = None if item.column is None else self.column(item.column)
        kept = aggregates.counted_rows(column, None if item.filter is None else self.column(item.filter))
        view = self.seen(item.final)
        if item.function in {"min", "max"}:
            located = aggregates.extremes(self.runs, view, item.rows, column, kept, item.function == "max")
            return take(column, self._spread(located, item.final), item.name)
        values = self._counted_or_summed(item, view, column, kept)
        if not item.final and self.unmatched is not None and item.function == "count":
            return pc.if_else(pa.array(self.unmatched), None, values)
        return take(values, self.view.match, item.name) if item.final and view is not self.view else values

    def _counted_or_summed(self, item: Aggregated, view: View, column: pa.Array, kept: Bools | None) -> pa.Array:
        if item.function == "count":
            return pa.array(aggregates.count(self.runs, view, item.rows, kept))
        kind = _aggregate_type(item, column.type)
        if pa.types.is_floating(kind):
            return aggregates.sum_doubles(self.runs, view, item.rows, column, kept, item.function == "avg")
        sums, overflows = aggregates.sum_exactly(self.runs, view, item.rows, column, kept, kind)
        if not pa.types.is_decimal(kind) and overflows.any():
            raise self._overflow(item, kind, int(view.match[int(np.argmax(overflows))]))
        return sums

    def _overflow(self, item: Aggregated, kind: pa.DataType, match: int) -> MatchError:
        number, row = int(self.matches.number[match]), int(self.runs.arrays.start[match])
        return MatchError(
            "ARITHMETIC_OVERFLOW",
            f"the sum of {item.column} leaves the 64 bits of {kind} in match {number} that starts at row {row}",
            clause=f"MEASURES {item.name}",
            hint="cast the argument to decimal(38, 0) or double",
        )

    def collected(self, item: Collected) -> pa.Array:
        kept = None if item.filter is None else aggregates.counted_rows(None, self.column(item.filter))
        view = self.view
        if item.final and view is not self.whole:
            view = View(view.match, self._of_match(self.whole.row), self._spread(self.whole.run, True))
        offsets = np.concatenate(([0], np.cumsum(aggregates.count(self.runs, view, item.rows, kept))))
        if offsets[-1] > LARGEST_OFFSET:
            raise too_large(item.name)
        members, variable = self.runs.members(item.rows), self.runs.variable
        chosen = np.empty(0, np.bool_) if kept is None else kept
        place, classes = _collect(view, self.runs.arrays, members, variable, chosen, offsets)
        return self._lists(item, offsets.astype(np.int32), place, classes)

    def _lists(self, item: Collected, offsets: Int32s, place: Int64s, classes: Int32s) -> pa.Array:
        kind = _list_type(self.table.schema, item)
        names = pa.array(self.output.variables, pa.string())
        children = [
            take(names, classes, item.name) if column == CLASSIFIER else self.rows_of(column, place, item.name)
            for column in item.columns
        ]
        structs = pa.StructArray.from_arrays(children, fields=list(kind.value_type))
        mask = None if self.unmatched is None else pa.array(self.unmatched)
        return pa.ListArray.from_arrays(pa.array(offsets), structs, type=kind, mask=mask)


@njit(cache=True, nogil=True)
def _collect(
    view: View, runs: RunArrays, members: Bools, variable: Int32s, kept: Bools, offsets: Int64s
) -> tuple[Int64s, Int32s]:
    place, classes = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int32)
    every = kept.shape[0] == 0
    for k in range(view.row.shape[0]):
        if view.run[k] < 0:
            continue
        target = offsets[k]
        for run in range(runs.offsets[view.match[k]], view.run[k] + 1):
            if not members[runs.label[run]]:
                continue
            for i in range(runs.begin[run], min(runs.stop[run], view.row[k] + 1)):
                if every or kept[i]:
                    place[target], classes[target] = i, variable[runs.label[run]]
                    target += 1
    return place, classes
