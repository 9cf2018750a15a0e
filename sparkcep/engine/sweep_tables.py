"""What the kernels of the sweep matcher read and write."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sparkcep.engine.matches import Bools, Int32s, Int64s, UInt64s

Int8s: TypeAlias = npt.NDArray[np.int8]

NOTHING = -3
MIN_BLOCK = 1024
FOUND, NOT_BOUND, FIRST_ROW = 0, -1, -2
GROUP, ROW, NUMBER, COUNT, RUNS, RESUME, FAULT, STEPS = range(8)
MATCH_FIELDS = 5


class Sets(NamedTuple):
    """Sets of positions of an automaton of p positions, as w words of 64 bits.

    Attributes
    ----------
    satisfied : uint64[variable bytes, 256, w]
        Positions whose variable is among the bits of one byte of the conditions.
    preceding : uint64[position bytes, 256, w]
        Positions with an edge to a position among the bits of one byte of a set.
    accepting, accepting_at_end : uint64[w]
        Positions with an edge that accepts before any row, behind the last row of the partition.
    better : uint64[l, w]
        Positions that the state of loop l prefers to itself.
    """

    satisfied: UInt64s
    preceding: UInt64s
    accepting: UInt64s
    accepting_at_end: UInt64s
    better: UInt64s


class Graph(NamedTuple):
    """States and edges of an automaton of p positions.

    Attributes
    ----------
    edge_offsets : int32[p + 3]
        Edges of state s are ``edge_offsets[s]:edge_offsets[s + 1]``; the last two states are the starts.
    edge_targets : int32[edges]
        Positions, ACCEPT or ACCEPT_AT_END.
    labels : int32[p]
        Label of each position.
    loops : int32[l]
        Positions with an edge to themselves whose repetitions are counted.
    loop_of : int32[p]
        Index into `loops`, or −1.
    chosen : int8[p + 2, 256] | int8[p + 2, 0]
        First edge target of a state before a row, by the set of positions that may take the row;
        for up to 8 positions.
    """

    edge_offsets: Int32s
    edge_targets: Int32s
    labels: Int32s
    loops: Int32s
    loop_of: Int32s
    chosen: Int8s


class Block(NamedTuple):
    """What the backward pass knows of some rows.

    Attributes
    ----------
    alive : uint64[rows, w]
        Positions that may take the row such that acceptance is reachable.
    earliest : int32[rows, p] | int32[0, p]
        Block row of the earliest last row of such an acceptance; with limits only.
    repeats : int32[rows, l] | int32[rows, 0]
        How many rows from here on a loop takes one after the other; for overlapping matches only.
    """

    alive: UInt64s
    earliest: Int32s
    repeats: Int32s


class Window(NamedTuple):
    """The rows of a block: `first` … `until` − 1, of groups `group` … `groups` − 1.

    Starts before `covered` are decided by it. Groups before `closed` are complete.
    """

    first: int
    covered: int
    until: int
    group: int
    groups: int
    closed: int


class Rules(NamedTuple):
    """How a search goes.

    Attributes
    ----------
    limits : int64[n] | int64[0]
        Last row that a match from each row may reach, if there are limits.
    at_start
        Whether the first row is the first of its partition.
    skip
        Skip mode.
    skip_labels : bool[labels]
        Labels that the skip target stands for.
    """

    limits: Int64s
    at_start: bool
    skip: int
    skip_labels: Bools


class Output(NamedTuple):
    """What a sweep found.

    Attributes
    ----------
    matches : int64[5, m]
        Group, start, end, number, end of the runs of each match.
    run_label, run_length : int32[r], int64[r]
        Runs of all matches.
    state : int64[8]
        At GROUP … STEPS: group and row where the search stands, number of its next match, how
        many matches and runs there are, first start left undecided, fault code, work done.
    """

    matches: Int64s
    run_label: Int32s
    run_length: Int64s
    state: Int64s
