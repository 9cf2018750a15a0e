"""Matches that are listed and judged, as columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.absence import BY_EVENT, Moments
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.matches import Int32s, Int64s


class Found(NamedTuple):
    """Matches that are listed and judged; arrays of length m but `rows` and `components`.

    `offsets` has m + 1 entries. `timed` is BY_EVENT, BY_WINDOW or NEVER.
    """

    offsets: Int64s
    rows: Int64s
    components: Int32s
    completed: Int64s
    order: Int64s
    class_of: Int64s
    timed: Int64s
    moments: Moments

    @property
    def matches(self) -> int:
        """The number of matches."""
        return len(self.completed)


def by_event(listing: Listing, count: int) -> Found:
    """Return listed matches that their last event decides."""
    moments = Moments(np.zeros(count, np.int64), np.zeros(count, np.float64))
    return as_found(listing, count, np.full(count, BY_EVENT, np.int64), moments)


def as_found(listing: Listing, count: int, timed: Int64s, moments: Moments) -> Found:
    """Return the first `count` matches of a listing."""
    events = int(listing.offsets[count])
    return Found(
        listing.offsets[: count + 1], listing.rows[:events], listing.components[:events], listing.completed[:count],
        listing.order[:count], listing.class_of[:count], timed, moments,
    )  # fmt: skip


def selected(found: Found, chosen: Int64s) -> Found:
    """Return some matches, in the order of `chosen`."""
    lengths = (found.offsets[1:] - found.offsets[:-1])[chosen]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    events = np.repeat(found.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return Found(
        offsets, found.rows[events], found.components[events], found.completed[chosen], found.order[chosen],
        found.class_of[chosen], found.timed[chosen],
        Moments(found.moments.whole[chosen], found.moments.fraction[chosen]),
    )  # fmt: skip


def together(one: Found, other: Found) -> Found:
    """Return the matches of both, one after the other."""
    return Found(
        np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]]),
        np.concatenate([one.rows, other.rows]),
        np.concatenate([one.components, other.components]),
        np.concatenate([one.completed, other.completed]),
        np.concatenate([one.order, other.order]),
        np.concatenate([one.class_of, other.class_of]),
        np.concatenate([one.timed, other.timed]),
        Moments(
            np.concatenate([one.moments.whole, other.moments.whole]),
            np.concatenate([one.moments.fraction, other.moments.fraction]),
        ),
    )


def moved(found: Found, first: int) -> Found:
    """Return matches in rows that are counted from row `first` on."""
    return found._replace(rows=found.rows - first, completed=found.completed - first)
