"""What a match under construction has taken so far, indexed by the number of rows taken.

Entry ``i`` speaks of the match after its first ``i`` rows and is never changed by later rows,
so going back to an earlier row needs no undo log: one just reads an earlier entry again. Old
values are kept, never recomputed by subtraction, which keeps sums of doubles exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.matches import Bools, Float64s, Int64s

(AGGREGATE_COUNT, AGGREGATE_SUM, AGGREGATE_AVG, AGGREGATE_MIN, AGGREGATE_MAX) = range(5)
OVERFLOWED = -1


class Columns(NamedTuple):
    """Operand columns: int64[k, n], bool[k, n], float64[m, n], bool[m, n]."""

    integers: Int64s
    integer_nulls: Bools
    floats: Float64s
    float_nulls: Bools


class Tracked(NamedTuple):
    """Which row sets and aggregates a history keeps.

    Attributes
    ----------
    set_members : bool[variables, sets]
        Whether rows of a variable belong to a row set.
    aggregates : int64[aggregates, 5]
        Function, whether the operand is floating, its column, and the range of a sum.
    aggregate_members : bool[variables, aggregates]
        Whether rows of a variable are aggregated.
    """

    set_members: Bools
    aggregates: Int64s
    aggregate_members: Bools


class History(NamedTuple):
    """The path of a match, by number of rows taken.

    Attributes
    ----------
    labels, variables : int64[capacity]
        Of the i-th row.
    set_counts : int64[capacity + 1, sets]
        How many of the first i rows belong to a set.
    set_rows : int64[capacity, sets]
        The k-th row of a set.
    counts, integers, floats : [capacity + 1, aggregates]
        State of an aggregate after i rows: values that are not NULL (OVERFLOWED: NULL from
        here on), and the sum, least or greatest value.
    float_bits : int64[capacity + 1, aggregates]
        The bits of `floats`, in the same memory.
    """

    labels: Int64s
    variables: Int64s
    set_counts: Int64s
    set_rows: Int64s
    counts: Int64s
    integers: Int64s
    floats: Float64s
    float_bits: Int64s


def new_history(capacity: int, sets: int, aggregates: int) -> History:
    """Return an empty history of a match of up to `capacity` rows."""
    floats = np.zeros((capacity + 1, aggregates), np.float64)
    return History(
        labels=np.zeros(capacity, np.int64),
        variables=np.zeros(capacity, np.int64),
        set_counts=np.zeros((capacity + 1, sets), np.int64),
        set_rows=np.zeros((capacity, sets), np.int64),
        counts=np.zeros((capacity + 1, aggregates), np.int64),
        integers=np.zeros((capacity + 1, aggregates), np.int64),
        floats=floats,
        float_bits=floats.view(np.int64),
    )


def grown_history(history: History, capacity: int) -> History:
    """Return a copy of `history` that holds `capacity` rows."""
    grown = new_history(capacity, history.set_counts.shape[1], history.counts.shape[1])
    for old, new in zip(history, grown, strict=True):
        new[: len(old)] = old
    return grown
