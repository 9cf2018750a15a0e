"""What kernels share that bind events in any order: rows by bucket, searches in them, conditions, listing."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.bound_tables import LOAD_BOUND_FLOAT, LOAD_BOUND_INT, Positions, Rows
from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import NO_WINDOW, Stream, Window
from sparkcep.engine.event_windows import in_own_window, in_window, is_later, is_open
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.matches import Bools, Int64s
from sparkcep.engine.slot_kernels import compute

# What all searches count: where to go on, what is listed, candidates that were tested.
(BUCKET, LISTED, LISTED_EVENTS, EVALUATIONS) = range(4)
SHARED_CONTROL = 4


@inlined
def has_room(listing: Listing, control: Int64s, components: int) -> bool:
    """Tell whether another match can be listed."""
    events = control[LISTED_EVENTS] + components
    return control[LISTED] < listing.completed.shape[0] and events <= listing.rows.shape[0]


@inlined
def first_behind(positions: Positions, component: int, bucket: int, row: int) -> int:
    """Return the first candidate of a bucket that lies behind a row."""
    low, high = positions.offsets[component, bucket], positions.offsets[component, bucket + 1]
    return first_above(positions.rows, low, high, row)


@inlined
def first_above(rows: Int64s, low: int, high: int, row: int) -> int:
    """Return the first candidate that lies behind a row."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] > row:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_in_window(given: Rows, rows: Int64s, low: int, high: int, last: int) -> int:
    """Return the first candidate from which on row `last` is inside of the window."""
    if given.window.kind == NO_WINDOW:
        return low
    while low < high:
        middle = (low + high) // 2
        if rows[middle] >= last or in_window(given.stream, given.window, rows[middle], last):
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_out_of_window(given: Rows, rows: Int64s, low: int, high: int, first: int) -> int:
    """Return the first candidate that is not inside of the window from row `first` on."""
    if given.window.kind == NO_WINDOW:
        return high
    while low < high:
        middle = (low + high) // 2
        if rows[middle] > first and not in_window(given.stream, given.window, first, rows[middle]):
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_later(stream: Stream, rows: Int64s, low: int, high: int, row: int) -> int:
    """Return the first candidate behind `row` with a later order value."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] > row and is_later(stream, row, rows[middle]):
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_as_late(stream: Stream, rows: Int64s, low: int, high: int, row: int) -> int:
    """Return the first candidate that has not an earlier order value than `row`."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] >= row or not is_later(stream, rows[middle], row):
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_value(values: Int64s, low: int, high: int, value: int, behind: bool) -> int:
    """Return the first candidate that has at least some value, or a larger one."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] > value or (values[middle] == value and not behind):
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def is_true(given: Rows, bound: Int64s, condition: int) -> bool:
    """Tell whether a condition on bound rows is TRUE."""
    instructions, registers, operands = given.code.instructions, given.registers, given.operands
    for at in range(given.code.ranges[condition, 0], given.code.ranges[condition, 1]):
        op = instructions[at, 0]
        if op > LOAD_BOUND_FLOAT:
            compute(instructions, at, registers)
            continue
        target, column, row = instructions[at, 1], instructions[at, 2], bound[instructions[at, 3]]
        if op == LOAD_BOUND_INT:
            registers.integers[target] = operands.integers[column, row]
            registers.nulls[target] = operands.integer_nulls[column, row]
        else:
            registers.floats[target] = operands.floats[column, row]
            registers.nulls[target] = operands.float_nulls[column, row]
    result = given.code.ranges[condition, 2]
    return registers.integers[result] != 0 and not registers.nulls[result]


@inlined
def is_in_time(given: Rows, bound: Int64s, lasts: Int64s, before: Bools, component: int, own: int) -> bool:
    """Tell whether a component is near enough to those before it; `own` is the number of its window.

    `lasts` are the places of the last event of each component.
    """
    origin = np.int64(-1)
    for other in range(before.shape[0]):
        if before[other, component]:
            origin = max(origin, bound[lasts[other]])
    return origin < 0 or in_own_window(given.stream, given.own, own, origin, bound[component])


@inlined
def is_forbidden(
    positions: Positions, bound: Int64s, lasts: Int64s, before: Bools, after: Bools, gap: int, bucket: int
) -> bool:
    """Tell whether a witness of a negation lies between its neighbours, the components before and after it."""
    previous, following = np.int64(-1), np.int64(2**62)
    for component in range(before.shape[1]):
        if before[gap, component]:
            previous = max(previous, bound[lasts[component]])
        if after[gap, component]:
            following = min(following, bound[component])
    witnesses = before.shape[1] + gap
    found = first_behind(positions, witnesses, bucket, previous)
    return found < positions.offsets[witnesses, bucket + 1] and positions.rows[found] < following


@inlined
def write_match(
    stream: Stream, bound: Int64s, components: int, first: int, order: int, end: int, listing: Listing, control: Int64s
) -> None:
    """List the match whose components have taken the rows `bound`, in order of time; row `end` is the last one.

    Parameters
    ----------
    first, order
        Number of component 0 among those of all orders, and the order.
    """
    match, begin = control[LISTED], control[LISTED_EVENTS]
    for component in range(components):
        at, row = begin + component, bound[component]
        while at > begin and listing.rows[at - 1] > row:
            listing.rows[at], listing.components[at] = listing.rows[at - 1], listing.components[at - 1]
            at -= 1
        listing.rows[at], listing.components[at] = row, first + component
    listing.completed[match], listing.order[match] = end, order
    listing.class_of[match] = stream.classes[end]
    control[LISTED], control[LISTED_EVENTS] = match + 1, begin + components
    listing.offsets[match + 1] = begin + components


@compiled
def first_open(stream: Stream, window: Window, class_counts: Int64s, rows: Int64s) -> int:
    """Return the index of the first of some rows that a later event may go with; the number of rows if none."""
    now = stream.classes.shape[0] - 1
    for i in range(rows.shape[0]):
        if is_open(stream, window, class_counts, rows[i], now):
            return i
    return rows.shape[0]
