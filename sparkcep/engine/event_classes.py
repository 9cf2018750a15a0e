"""Classes of events as numbers: rows with equal values in all key columns share a code."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engine.matches import Int64s

NO_CLASS = -1
_Codes: TypeAlias = dict[Hashable, int]


class EventClasses:
    """Hands out codes that stay valid within a group, over all its batches.

    Equal is what Spark's ``=`` holds equal: NaN and NaN, −0.0 and 0.0, and NULL with nothing.

    Parameters
    ----------
    keys
        The key columns' names.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        self._values: list[_Codes] = [{} for _ in self.keys]
        self._tuples: _Codes = {}

    def coded(self, table: pa.Table, starts: Int64s) -> Int64s:
        """Return int64[n]: the class of each row, −1 where a part of the key is NULL, 0 without keys.

        Parameters
        ----------
        table
            The next n rows.
        starts : int64[s]
            Rows at which a group starts: codes of groups before the last one are let go.
        """
        if not self.keys:
            return np.zeros(table.num_rows, np.int64)
        last = int(starts[-1]) if len(starts) else 0
        before = self._codes(table.slice(0, last))
        if len(starts):
            self._values, self._tuples = [{} for _ in self.keys], {}
        return np.concatenate([before, self._codes(table.slice(last))])

    def _codes(self, table: pa.Table) -> Int64s:
        columns = [_coded(table.column(name), known) for name, known in zip(self.keys, self._values, strict=True)]
        if len(columns) == 1:
            return columns[0]
        codes = np.stack(columns, axis=1)
        distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
        known = self._tuples
        found = [NO_CLASS if NO_CLASS in row else known.setdefault(tuple(row), len(known)) for row in distinct.tolist()]
        return np.array(found, np.int64)[inverse.reshape(-1)]


def _coded(column: pa.ChunkedArray, known: _Codes) -> Int64s:
    """Return the code of each value; new values extend `known`."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    if pa.types.is_nested(array.type):
        return _coded_one_by_one(array.to_pylist(), known)
    if pa.types.is_floating(array.type):
        array = _with_one_form(array)
    elif pa.types.is_temporal(array.type):
        # Python's own dates and times end with the year 9999.
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    codes = np.append(_coded_one_by_one(encoded.dictionary.to_pylist(), known), NO_CLASS)
    return codes[pc.fill_null(encoded.indices, len(codes) - 1).to_numpy(zero_copy_only=False)]


def _with_one_form(array: pa.Array) -> pa.Array:
    """Return floats as the bits of doubles: one zero, one NaN."""
    values = array.cast(pa.float64())
    numbers = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return pa.array(numbers.view(np.int64), mask=pc.is_null(values).to_numpy(zero_copy_only=False))


def _coded_one_by_one(values: list[Any], known: _Codes) -> Int64s:
    return np.array(
        [NO_CLASS if value is None else known.setdefault(_hashable(value), len(known)) for value in values], np.int64
    )


def _hashable(value: Any) -> Hashable:
    """Return a value that equals others exactly where Spark's does, inside arrays and structs too."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple(_hashable(item) for item in value.values())
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    found: Hashable = value
    return found
