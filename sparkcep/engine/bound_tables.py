"""What kernels read that bind events in any order: rows by bucket, what conditions need."""

from __future__ import annotations

from typing import NamedTuple

from sparkcep.engine.event_code import ConditionCode, Operands
from sparkcep.engine.event_tables import Stream, Window, Windows
from sparkcep.engine.matches import Bools, Int64s
from sparkcep.engine.slot_code import Registers

# Loads, in place of the reads of row patterns; operands: a column and a place of the bound rows.
LOAD_BOUND_INT, LOAD_BOUND_FLOAT = range(2)


class Positions(NamedTuple):
    """The rows that components may take, then the witnesses of negations, then candidates by their values.

    Attributes
    ----------
    rows : int64[r]
        Ascending per list and bucket, or per list, bucket and value: a bucket holds the events of one class
        of one group.
    values : int64[r]
        In lists by values: ascending per bucket, the same for equal values of a column; else 0.
    offsets : int64[lists, buckets + 1]
        Where each bucket of a list begins.
    keys, absent : int64[c, n], bool[c, n]
        Columns that candidates are looked up by: the same number for equal values; whether there is none.
    """

    rows: Int64s
    values: Int64s
    offsets: Int64s
    keys: Int64s
    absent: Bools


class Rows(NamedTuple):
    """The rows of a call and what conditions need to read them; `strict`: order values must ascend."""

    stream: Stream
    operands: Operands
    code: ConditionCode
    registers: Registers
    window: Window
    own: Windows
    strict: bool
