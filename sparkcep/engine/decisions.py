"""When matches were decided: by their last event, or by a window that closed behind it."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.absence import BY_EVENT, BY_WINDOW, NEVER, OPEN_END
from sparkcep.engine.event_tables import Stream
from sparkcep.engine.found_matches import Found
from sparkcep.engine.matches import Bools, Float64s, Int64s


def order_of(stream: Stream) -> Int64s | Float64s:
    """Return the order values of the rows at hand; empty if none are known."""
    return stream.fraction if len(stream.fraction) else stream.whole


def decided(found: Found, stream: Stream) -> Int64s | Float64s:
    """Return the order values at which matches were decided; rows where no order values are known."""
    order = order_of(stream)
    if len(order) == 0:
        return found.completed
    by_window = found.moments.fraction if order.dtype.kind == "f" else found.moments.whole
    return np.where(found.timed == BY_WINDOW, by_window, order[found.completed])


def is_past(found: Found, stream: Stream) -> Bools:
    """Tell which matches were decided before the time of the newest row of their group."""
    values, order = decided(found, stream), order_of(stream)
    newest = values.dtype.type(order[-1]) if len(order) else values.dtype.type(0)
    return (stream.group_ends[found.completed] < OPEN_END) | ((values < newest) & (found.timed != NEVER))


def rank(found: Found, stream: Stream, borders: Int64s) -> Int64s:
    """Return what comes first in the order of matches, as numbers: group, then decision.

    Parameters
    ----------
    borders
        The rows at which groups start.
    """
    groups = np.searchsorted(borders, found.completed, side="right")
    by_event = np.where(found.timed == BY_EVENT, found.completed, 0)
    values = decided(found, stream)
    if len(order_of(stream)):
        values = np.where(found.timed == NEVER, values.dtype.type(0), values)
    keys = np.stack([
        groups, found.timed == NEVER, np.unique(values, return_inverse=True)[1].reshape(-1),
        found.timed != BY_EVENT, by_event,
    ])  # fmt: skip
    return np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
