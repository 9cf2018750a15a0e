"""The rows at hand as the kernels of event patterns see them."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.absence import OPEN_END
from sparkcep.engine.event_code import Operands
from sparkcep.engine.event_tables import Stream
from sparkcep.engine.events import EventRows
from sparkcep.engine.matches import Int64s


def stream_of(rows: EventRows, borders: Int64s, ordinals: Int64s) -> Stream:
    """Return rows as a stream.

    Parameters
    ----------
    borders : int64[g]
        The rows at which groups start.
    ordinals : int64[n]
        Numbers of the rows within their classes.
    """
    ends = np.append(borders, rows.count if rows.complete else OPEN_END)
    whole, fraction = np.empty(0, np.int64), np.empty(0, np.float64)
    if rows.order is not None and rows.order.dtype.kind == "f":
        fraction = np.ascontiguousarray(rows.order, np.float64)
    elif rows.order is not None:
        whole = np.ascontiguousarray(rows.order, np.int64)
    return Stream(
        np.ascontiguousarray(rows.conditions, np.uint64),
        whole,
        fraction,
        np.ascontiguousarray(rows.classes, np.int64),
        ordinals,
        ends[group_numbers(borders, rows.count)],
    )


def group_numbers(borders: Int64s, count: int) -> Int64s:
    """Return for each of `count` rows how many groups have started, its own one included."""
    return np.repeat(np.arange(len(borders) + 1), np.diff(borders, prepend=0, append=count))


def operands_of(rows: EventRows) -> Operands:
    """Return the operand columns of rows."""
    return Operands(
        np.ascontiguousarray(rows.integers),
        np.ascontiguousarray(rows.integer_nulls),
        np.ascontiguousarray(rows.floats),
        np.ascontiguousarray(rows.float_nulls),
    )
