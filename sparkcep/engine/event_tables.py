"""The tables and pools of the `runs` engine, as its kernels see them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sparkcep.engine.matches import Bools, Float64s, Int32s, Int64s, UInt64s

Int8s: TypeAlias = npt.NDArray[np.int8]

STRICT, PARTITION, NEXT, ANY = range(4)
NO_WINDOW, WHOLE, FLOAT, EVENTS = range(4)
ANYWHERE, BEFORE, BEHIND = range(3)


class Window(NamedTuple):
    """A window: its kind, the largest distance in whole numbers or as a double, whether its edge belongs to it.

    `length` is what lies between an event and the moment its window closes, in whole numbers.
    """

    kind: int
    whole: int
    fraction: float
    inclusive: bool
    length: int


def no_window() -> Window:
    """Return the window that everything fits in."""
    return Window(NO_WINDOW, 0, 0.0, True, 0)


class Windows(NamedTuple):
    """Windows as columns: int64[k], int64[k], float64[k], bool[k], int64[k]."""

    kind: Int64s
    whole: Int64s
    fraction: Float64s
    inclusive: Bools
    length: Int64s


class Components(NamedTuple):
    """Components of all orders, one after the other; arrays of length c.

    Attributes
    ----------
    variable, local, order
        Variable, its bit in sets of components (0 in a sequence, where one is open at a time), the order.
    policy
        STRICT, PARTITION, NEXT or ANY: when an event may be ignored while waiting for it.
    is_loop
        Whether it may take more than its first event.
    least, most
        How many events it takes; most −1: no end.
    leave
        Condition on leaving it, −1 for none; one that is no loop takes no event without it.
    has_until, until_bits : bool[c], uint64[c, words]
    until
        Condition that ends its loop, −1 for none.
    windows
        Longest distance from the event before it.
    taken : int32[c]
    origin : int32[c, 2]
        Slots, −1 for none: how many events it took; what its window counts from, for its first and later ones.
    updates : int32[c, 4]
        Updates on its first event, on every later one: ranges of `RunTables.updates`.
    """

    variable: Int32s
    local: Int32s
    order: Int32s
    policy: Int8s
    is_loop: Bools
    least: Int64s
    most: Int64s
    leave: Int32s
    has_until: Bools
    until_bits: UInt64s
    until: Int32s
    windows: Windows
    taken: Int32s
    origin: npt.NDArray[np.int32]
    updates: npt.NDArray[np.int32]


class Gaps(NamedTuple):
    """Negations of all orders; arrays of length g.

    Attributes
    ----------
    quick
        Whether the last witness before the next component decides; the others are judged on whole matches.
    bits : uint64[g, words]
    test
        Condition on a witness, −1 for none.
    before, after : bool[g, c]
        Components before and after it; what stands next to what tells the place in a sequence.
    leads, trails
        Whether it stands at the start, at the end.
    is_sequential
        Whether its order is a sequence: no parts interleave.
    windows
        Own time.
    edge
        Slot with the position of the last event before it; quick ones only.
    own : int8[g, slots]
        What the witness reads in a slot: ANYWHERE, the last event BEFORE the gap, or the first one BEHIND it.
    has_own
        Whether there is such a slot.
    """

    order: Int32s
    quick: Bools
    bits: UInt64s
    test: Int32s
    before: Bools
    after: Bools
    leads: Bools
    trails: Bools
    is_sequential: Bools
    windows: Windows
    edge: Int32s
    own: Int8s
    has_own: Bools


class Edges(NamedTuple):
    """Edges of state s: ``offsets[s]:offsets[s + 1]``; those of the start come last.

    Attributes
    ----------
    component, takes, target
        What takes an event; whether it is a later one of a loop; the state behind.
    bits : uint64[e, words]
        Row conditions that must all hold.
    test
        Condition, −1 for none.
    leaves
        Local components, as bits, that are left by it.
    gap_offsets, gaps
        Quick negations that end before the event.
    """

    offsets: Int32s
    component: Int32s
    takes: Bools
    target: Int32s
    bits: UInt64s
    test: Int32s
    leaves: Int64s
    gap_offsets: Int32s
    gaps: Int32s


class Awaited(NamedTuple):
    """Values that runs wait for: every edge out of such a state asks an event for the run's own value.

    Attributes
    ----------
    states
        How many states wait for a value.
    bucket, slot : int32[s]
        Number among those, slot of the value; −1 where a state waits for none.
    offsets : int32[s + 2]
        Per state, the start last: ``columns[offsets[s]:offsets[s + 1]]`` are those that the edges compare
        with the value; a lone −1 where there is none.
    columns : int32[c]
        Operand columns.
    is_float : bool[s]
        Whether values and columns are doubles.
    """

    states: int
    bucket: Int32s
    slot: Int32s
    offsets: Int32s
    columns: Int32s
    is_float: Bools


class States(NamedTuple):
    """States, by what has taken an event: see `sparkcep.engine.order_states`; arrays of length s.

    Attributes
    ----------
    first, size
        The components that may be open or left here: the current one; where parts interleave, all of the order.
    current, following
        In a sequence: the component that took the last event, and one that may come next (−1: none):
        if there are several, they begin alike.
    final
        Components, as bits, that must be free to leave for a match; −1: the state is not final.
    relevant
        Components, as bits, that may still take or be left.
    is_sequence
        Whether modes count; otherwise parts interleave, and every event may be ignored.
    is_loop
        Whether `current` is a loop.
    is_open
        Whether a run can go on from here.
    is_timed
        Whether every way on from here has a window of its own.
    dead : uint64[s]
        Slots that nobody will read.
    """

    first: Int32s
    size: Int32s
    current: Int32s
    following: Int32s
    final: Int64s
    relevant: Int64s
    is_sequence: Bools
    is_loop: Bools
    is_open: Bools
    is_timed: Bools
    dead: UInt64s


class RunTables(NamedTuple):
    """A compiled pattern.

    Attributes
    ----------
    updates : int64[u, 6]
        See `sparkcep.engine.event_code`.
    window
        Of the whole match.
    has_until
        Whether a loop has an UNTIL: events of all classes count for it.
    contiguous
        Whether some component does not allow for events in between.
    strict_time
        Slot with the position of the last event, if order values must ascend; else −1.
    """

    states: States
    awaited: Awaited
    edges: Edges
    components: Components
    gaps: Gaps
    updates: Int64s
    window: Window
    has_until: bool
    contiguous: bool
    strict_time: int


class Stream(NamedTuple):
    """The rows at hand: kept ones of the open group, then new ones; arrays of length n.

    Attributes
    ----------
    conditions : uint64[words, n]
    whole, fraction
        Order values; one of the two counts, the other is empty.
    classes
        Codes of the key, −1 for NULL.
    ordinals
        Number of the row within its class, filled in by the kernel.
    group_ends : int64[n]
        The row behind the last one of its group, as far as known.
    """

    conditions: UInt64s
    whole: Int64s
    fraction: Float64s
    classes: Int64s
    ordinals: Int64s
    group_ends: Int64s


class Runs(NamedTuple):
    """A pool of runs; arrays of length r. Run 0 is no run but the start: it has taken nothing.

    Attributes
    ----------
    state, mode
        Mode bits: LOOPING, WAITING for the next component.
    leaves, stopped
        Local components, as bits: loops that may be left, loops whose UNTIL came.
    class_of, seen
        Class of its events, the row that last passed it.
    tip
        Node of the match graph.
    following
        Next run of the same class and state, or next free one; −1: none.
    place
        Place in the table of equal runs, −1: none.
    """

    state: Int32s
    mode: Int8s
    leaves: Int64s
    stopped: Int64s
    class_of: Int32s
    seen: Int64s
    tip: Int64s
    following: Int64s
    place: Int64s


class Nodes(NamedTuple):
    """The shared match graph, in place of the versioned buffer of SASE+; arrays of length n.

    A node is an event behind the matches of `left` (−1: the first event), or, with component −1,
    the union of `left` and `right`. Nodes point to earlier ones only.

    Attributes
    ----------
    row
        Row of the event.
    component
        What took it.
    first_start, last_start
        Rows of the earliest and the latest first event below.
    longest
        Largest number of events of a match that ends here.
    low, high : uint64
        How many matches end here: high · 2^64 + low.
    """

    row: Int64s
    component: Int32s
    left: Int64s
    right: Int64s
    first_start: Int64s
    last_start: Int64s
    longest: Int64s
    low: UInt64s
    high: UInt64s


LOOPING, WAITING = 1, 2
