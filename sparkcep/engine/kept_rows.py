"""Keeps the rows of events that matches may still name, and tells when matches were decided."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engine.events import EventMatches
from sparkcep.engine.matches import Bools, Float64s, Int64s


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

    def let_go(self, number: int, also_needed: Int64s) -> None:
        """Drop the rows before this event, by whole batches, where none is needed nevertheless."""
        ends = [*self._firsts[1:], self.end]
        needed = set(np.searchsorted(self._firsts, also_needed, side="right") - 1)
        for place in range(len(ends) - 1, -1, -1):
            if ends[place] <= number and place not in needed:
                del self._tables[place], self._firsts[place], self._ties[place]

    def value(self, number: int, column: str | None) -> Any:
        """Return a value of one event, None where it is not kept."""
        place = int(np.searchsorted(self._firsts, number, side="right")) - 1
        if place < 0 or column not in self.columns:
            return None
        return self._tables[place].column(column)[number - self._firsts[place]].as_py()

    def rows_at(self, numbers: Int64s) -> pa.Table:
        """Return the rows of these events, one row each, in this order."""
        table, places = self.rows_among(numbers)
        return table.combine_chunks().take(pa.array(places)).combine_chunks()

    def rows_among(self, numbers: Int64s) -> tuple[pa.Table, Int64s]:
        """Return rows that hold those of these events, and the place of each event's row among them."""
        low, high = int(numbers.min()), int(numbers.max())
        # Close together, as events of matches are, cutting out all rows between is cheaper than choosing some.
        if high - low <= 16 * len(numbers):
            table = self._between(low, high)
            if table is not None:
                return table, numbers - low
        distinct, places = np.unique(numbers, return_inverse=True)
        holders = np.searchsorted(self._firsts, distinct, side="right") - 1
        parts = []
        for holder in np.unique(holders).tolist():
            chosen = distinct[holders == holder] - self._firsts[holder]
            parts.append(self._tables[holder].take(pa.array(chosen)))
        return pa.concat_tables(parts), places.reshape(-1)

    def _between(self, low: int, high: int) -> pa.Table | None:
        """Return the rows from `low` to `high`, None if some of them are gone."""
        first, last = (int(np.searchsorted(self._firsts, number, side="right")) - 1 for number in (low, high))
        held = sum(table.num_rows for table in self._tables[first : last + 1])
        if self._firsts[last] + self._tables[last].num_rows - self._firsts[first] != held:
            return None
        return pa.concat_tables(self._tables[first : last + 1]).slice(low - self._firsts[first], high - low + 1)

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
        own = one_array(values.combine_chunks())
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
        return one_array(self.rows_at(places + self._firsts[0]).column(self.source).combine_chunks()).cast(kind)


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


def one_array(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column of one chunk, or of none, as an array."""
    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks else pa.array([], array.type)
