"""Op codes for conditions of event patterns and for the value vectors of runs; `event_kernels` interprets them."""

from __future__ import annotations

from typing import NamedTuple

from sparkcep.engine.matches import Bools, Float64s, Int64s, UInt64s

# Loads, in place of the reads of row patterns; operands: a slot of the run, or a column of the event.
(LOAD_RUN_INT, LOAD_RUN_FLOAT, LOAD_EVENT_INT, LOAD_EVENT_FLOAT) = range(4)

# Updates of a vector: op code, slot, column, slot of the count, range of a sum.
(SET_INT, SET_FLOAT, SET_POSITION, COUNT_EVENT, COUNT_INT, COUNT_FLOAT) = range(6)
(SUM_INT, SUM_FLOAT, MEAN_INT, MEAN_FLOAT, MIN_INT, MAX_INT, MIN_FLOAT, MAX_FLOAT) = range(6, 14)
(SET_ONE, COPY_POSITION) = range(14, 16)
# Copies come before what they copy changes, counts after the sums that ask whether a value is the first one.
UPDATE_ORDER = {COPY_POSITION: -1, COUNT_INT: 1, COUNT_FLOAT: 1, COUNT_EVENT: 1}
UPDATE_WIDTH = 6
MAX_SLOTS = 64


class Operands(NamedTuple):
    """Operand columns of the rows at hand: int64[k, n], bool[k, n], float64[m, n], bool[m, n]."""

    integers: Int64s
    integer_nulls: Bools
    floats: Float64s
    float_nulls: Bools


class Vectors(NamedTuple):
    """Value vectors, one per run.

    Attributes
    ----------
    integers, floats : int64[runs, slots], float64[runs, slots]
        The same memory, seen as whole numbers and as doubles.
    nulls : uint64[runs]
        Bit s: slot s is NULL.
    """

    integers: Int64s
    floats: Float64s
    nulls: UInt64s


class ConditionCode(NamedTuple):
    """int64[n, 8] instructions; int64[conditions, 3]: first, behind the last, register of the result."""

    instructions: Int64s
    ranges: Int64s
