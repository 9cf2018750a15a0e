"""From matches of event patterns to output rows, through the same assembly as row patterns.

A match's events are taken into a table where they stand one behind the other, in order; then a
match is a range of neighbouring rows, as `sparkcep.engine.measures` wants it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engine.events import EventMatches
from sparkcep.engine.matches import Bools, Float64s, Int64s, Matches, MatchLabel, Rows
from sparkcep.engine.measures import assemble
from sparkcep.logical.outputs import OutputRows

EVENTS_PER_BATCH = 65_536
LARGEST_COUNT = 10**38 - 1
COUNT_TYPE = pa.decimal128(38, 0)


@dataclass(frozen=True, slots=True)
class EventOutput:
    """What leaves the matcher of an event pattern.

    Attributes
    ----------
    rows
        Passed and computed columns, one row per match.
    labels
        One per variable.
    columns
        Input columns that are needed for it, and for messages.
    time, source
        The column that tells when a match was decided, and the order column whose values it holds.
    count
        With matches="count": the name of the column that counts, in place of all computed ones.
    """

    rows: OutputRows
    labels: tuple[MatchLabel, ...]
    columns: tuple[str, ...]
    time: str | None
    source: str | None
    count: str | None

    def kept(self, any_column: str) -> KeptRows:
        """Return an empty store for the rows that matches may name; a store has one column at least."""
        columns = [*self.columns, self.source] if self.source else self.columns
        return KeptRows(tuple(dict.fromkeys(columns)) or (any_column,), self.source)

    def batches(self, matches: EventMatches, kept: KeptRows) -> Iterator[pa.RecordBatch]:
        """Yield the output of `matches`.

        Raises
        ------
        OverflowError
            A count needs more than 38 digits; its argument is the number of an event of the group.
        """
        if self.count is not None:
            if matches.counts:
                yield self._counted(matches, kept)
            return
        start = 0
        while start < matches.count:
            most = matches.offsets[start] + EVENTS_PER_BATCH
            stop = max(start + 1, int(np.searchsorted(matches.offsets, most, side="right")) - 1)
            yield self._assembled(matches, start, stop, kept)
            start = stop

    def _counted(self, matches: EventMatches, kept: KeptRows) -> pa.RecordBatch:
        assert self.count is not None
        for number, count in matches.counts:
            if count > LARGEST_COUNT:
                raise OverflowError(number)
        table = kept.rows_at(np.array([number for number, _ in matches.counts], np.int64))
        counts = pa.array([Decimal(count) for _, count in matches.counts], COUNT_TYPE)
        arrays = [table.column(name).combine_chunks() for name in self.rows.passed]
        return pa.RecordBatch.from_arrays(
            [_one(array) for array in arrays] + [counts], names=[*self.rows.passed, self.count]
        )

    def _assembled(self, matches: EventMatches, start: int, stop: int, kept: KeptRows) -> pa.RecordBatch:
        """Put out the matches from `start` to `stop`."""
        offsets = matches.offsets[start : stop + 1]
        events = slice(int(offsets[0]), int(offsets[-1]))
        variable, ends = matches.variable[events], offsets - offsets[0]
        table = kept.rows_at(matches.position[events])
        if self.time is not None:
            decided = kept.decided(table.column(self.source), matches, slice(start, stop), ends[1:] - 1)
            table = table.append_column(self.time, decided)
        begins = np.ones(len(variable), np.bool_)
        begins[1:] = variable[1:] != variable[:-1]
        begins[ends[:-1]] = True
        runs = np.flatnonzero(begins)
        found = Matches(
            group=np.zeros(stop - start, np.int64),
            start=ends[:-1].astype(np.int64),
            end=ends[1:].astype(np.int64),
            number=matches.number[start:stop].astype(np.int64),
            run_offsets=np.searchsorted(runs, ends).astype(np.int64),
            run_label=variable[runs].astype(np.int32),
            run_length=np.diff(np.append(runs, len(variable))).astype(np.int64),
            resume=len(variable),
            next_number=1,
        )
        rows = Rows(group_offsets=np.array([0, len(variable)], np.int64), conditions=np.empty((0, 0), np.uint64))
        return assemble(table, rows, found, self.labels, self.rows)


class KeptRows:
    """The rows of the events from `first` to `end`, by their numbers.

    Parameters
    ----------
    columns
        What is kept of them.
    source
        The order column, if decisions are told.
    """

    def __init__(self, columns: tuple[str, ...], source: str | None) -> None:
        self.columns = columns
        self.source = source
        self.end = 0
        self._tables: list[pa.Table] = []
        self._firsts: list[int] = []
        self._ties: list[Int64s] = []

    def append(self, table: pa.Table, numbers: Int64s | Float64s | None) -> None:
        """Add the next rows, and the numbers of their order values where these stand for them."""
        self._tables.append(table.select(list(self.columns)))
        self._firsts.append(self.end)
        self._ties.append(np.empty(0, np.int64) if numbers is None else numbers.astype(np.int64))
        self.end += table.num_rows

    def let_go(self, number: int) -> None:
        """Drop the rows before this event, by whole batches."""
        ends = [*self._firsts[1:], self.end]
        gone = sum(end <= number for end in ends)
        del self._tables[:gone], self._firsts[:gone], self._ties[:gone]

    def value(self, number: int, column: str | None) -> Any:
        """Return a value of one event, None where it is not kept."""
        place = int(np.searchsorted(self._firsts, number, side="right")) - 1
        if place < 0 or column not in self.columns:
            return None
        return self._tables[place].column(column)[number - self._firsts[place]].as_py()

    def rows_at(self, numbers: Int64s) -> pa.Table:
        """Return the rows of these events, one row each, in this order."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        places = np.searchsorted(self._firsts, distinct, side="right") - 1
        parts = []
        for place in np.unique(places).tolist():
            chosen = distinct[places == place] - self._firsts[place]
            parts.append(self._tables[place].take(pa.array(chosen)))
        table = pa.concat_tables(parts).combine_chunks()
        return table.take(pa.array(inverse.reshape(-1))).combine_chunks()

    def decided(self, values: pa.ChunkedArray, matches: EventMatches, chosen: slice, last: Int64s) -> pa.Array:
        """Return the order column of a table of matches, with the time of decision on each match's last row.

        Parameters
        ----------
        values
            The events' own order values.
        chosen
            The matches.
        last : int64[matches]
            The row of each match's last event.
        """
        own = _one(values.combine_chunks())
        timed = matches.timed[chosen] & ~matches.never[chosen]
        if matches.time is not None and timed.any():
            times = matches.time[chosen][timed]
            told = self._of_ties(times, own.type) if len(self._ties[0]) else _order_array(times, own.type)
            own = _replaced(own, last[timed], told)
        never = matches.never[chosen]
        return _replaced(own, last[never], pa.nulls(int(never.sum()), own.type)) if never.any() else own

    def _of_ties(self, numbers: Int64s | Float64s, kind: pa.DataType) -> pa.Array:
        """Return the order values that these numbers stand for."""
        places = np.searchsorted(np.concatenate(self._ties), numbers.astype(np.int64))
        return _one(self.rows_at(places + self._firsts[0]).column(self.source).combine_chunks()).cast(kind)


def ties(column: pa.ChunkedArray, last: tuple[int, Any]) -> tuple[Int64s, tuple[int, Any]]:
    """Number the different values of a sorted column: int64[n], neighbours with equal values share a number.

    Parameters
    ----------
    last
        Number and value of the row before, −1 and None before the first one.
    """
    numbers = np.empty(len(column), np.int64)
    number, value = last
    for place, found in enumerate(column.to_pylist()):
        if number < 0 or found != value:
            number, value = number + 1, found
        numbers[place] = number
    return numbers, (number, value)


def _replaced(array: pa.Array, rows: Int64s, values: pa.Array) -> pa.Array:
    mask: Bools = np.zeros(len(array), np.bool_)
    mask[rows] = True
    return pc.replace_with_mask(array, pa.array(mask), values)


def _order_array(times: Int64s | Float64s, kind: pa.DataType) -> pa.Array:
    """Return order values as Arrow has them; NULL where the type has no room for one."""
    if times.dtype.kind == "f":
        return pa.array(times).cast(kind)
    if pa.types.is_decimal(kind):
        most = 10**kind.precision
        scaled = [Decimal(int(v)).scaleb(-kind.scale) if abs(int(v)) < most else None for v in times]
        return pa.array(scaled, kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array(times).view(pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us"))
    width = min(kind.bit_width, 64)
    outside = (times < -(2 ** (width - 1))) | (times > 2 ** (width - 1) - 1)
    whole = pa.array(times, mask=outside).cast(pa.int32() if pa.types.is_date32(kind) else kind)
    return whole.view(kind) if pa.types.is_date32(kind) else whole


def _one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks else pa.array([], array.type)
