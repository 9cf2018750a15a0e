"""Arrow's take with the limits of its 32-bit offsets watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engine.matches import Int64s
from sparkcep.errors import MatchError

LARGEST_OFFSET = 2**31 - 1


def take(column: pa.Array, index: npt.NDArray[Any], name: str) -> pa.Array:
    """Return the rows of `column` at `index`; −1 gives NULL.

    Parameters
    ----------
    column : pa.Array[n]
        Any Arrow type; the result has the same type.
    index : int32[k] | int64[k]
        Row indexes in 0 … n − 1, or −1.
    name
        Of the output column, for the error.

    Raises
    ------
    MatchError
        ``RESULT_TOO_LARGE`` when texts or lists would leave 32-bit offsets.
    """
    for weights in _list_lengths(column):
        if _taken_sum(weights, index) > LARGEST_OFFSET:
            raise too_large(name)
    absent = index < 0
    indices = pa.array(index, mask=absent) if absent.any() else pa.array(index)
    return _within_limits(lambda: pc.take(column, indices, boundscheck=False), name)


def one_chunk(column: pa.Array | pa.ChunkedArray, name: str) -> pa.Array:
    """Return `column` as one array; RESULT_TOO_LARGE when its offsets do not fit into one."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else _within_limits(column.combine_chunks, name)


def too_large(name: str) -> MatchError:
    """Return the error for a column that would leave 32-bit offsets."""
    return MatchError(
        "RESULT_TOO_LARGE",
        f"column {name} would hold more than {LARGEST_OFFSET} elements or bytes in one batch",
        clause=f"MEASURES {name}",
        hint="limit the length of matches with WITHIN, report fewer values per match, or ask for ONE ROW PER MATCH",
    )


def _within_limits(produce: Callable[[], pa.Array], name: str) -> pa.Array:
    try:
        array = produce()
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        if "overflow" not in str(error):
            raise
        raise too_large(name) from error
    if isinstance(array, pa.ChunkedArray):
        raise too_large(name)
    return array


def _list_lengths(column: pa.Array) -> Iterator[Int64s]:
    """Yield int64[n] per list or map inside the type: its number of elements below each row.

    Arrow checks the size of texts when it takes them, but lets the offsets of lists wrap.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    kind = column.type
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            yield from _list_lengths(column.field(i))
    elif pa.types.is_list(kind) or pa.types.is_map(kind):
        offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        yield np.diff(offsets)
        for inner in _list_lengths(column.values):
            before = np.concatenate(([0], np.cumsum(inner)))
            yield before[offsets[1:]] - before[offsets[:-1]]


def _taken_sum(weights: Int64s, index: npt.NDArray[Any]) -> int:
    if len(weights) == 0 or int(weights.max()) * len(index) <= LARGEST_OFFSET:
        return 0
    return int(weights[index[index >= 0]].sum())
