"""A join tree and the search by it, as the kernel of the `tree` engine sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkcep.engine.matches import Bools, Int64s, UInt64s

# How an event of one part must stand to one of the other part.
PRECEDES, FOLLOWS, APART = range(3)


class Steps(NamedTuple):
    """Joins: what ends with the event of one part of a node, with the partial matches of the other part.

    Attributes
    ----------
    made, partner : int64[s]
        The node, and its other part.
    lists : int64[s]
        The list of `Positions` that holds the other part, if it is a leaf.
    sources : int64[s, 2]
        Where its partial matches are looked up by a value: the component that has it, and the row of
        `Positions.keys` that holds it; −1 where they are not.
    is_ordered, is_free : bool[s]
        Whether all of the other part stands before all of this one; whether nothing is left to be tested.
    pair_offsets, pairs : int64[s + 1], int64[p, 3]
        Components of the other part, of this one, and whether one PRECEDES or FOLLOWS the other; or else they
        are APART, different events. None where the parts are ordered.
    test_offsets, tests : int64[s + 1], int64[t]
        Conditions.
    window_offsets, windows : int64[s + 1], int64[w]
        Components whose own window is checked.
    gap_offsets, gaps : int64[s + 1], int64[g]
        Negations that are checked.
    """

    made: Int64s
    partner: Int64s
    lists: Int64s
    sources: Int64s
    is_ordered: Bools
    is_free: Bools
    pair_offsets: Int64s
    pairs: Int64s
    test_offsets: Int64s
    tests: Int64s
    window_offsets: Int64s
    windows: Int64s
    gap_offsets: Int64s
    gaps: Int64s


class Loops(NamedTuple):
    """Components that take several events: their items are sequences of rows, each behind the item it goes on from.

    Among the bound rows, the place of a loop's last event is followed by that of the one before it, and by that of
    the number of its item.

    Attributes
    ----------
    component, least, most : int64[l]
        The component, and how many events it takes; most −1: no end.
    longer : int64[l]
        The step that makes items longer.
    begin_bits, take_bits : uint64[l, words]
        Row conditions of the first event, and of later ones.
    """

    component: Int64s
    least: Int64s
    most: Int64s
    longer: Int64s
    begin_bits: UInt64s
    take_bits: UInt64s


class Tree(NamedTuple):
    """A join tree: its leaves are the components, from 0 on, its inner nodes follow, each behind its parts.

    Attributes
    ----------
    components, first, order
        The number of components, the number of component 0 among those of all orders, and the order.
    up : int64[nodes]
        The join that a partial match of the node triggers, −1 for none.
    store : int64[nodes]
        Where its partial matches are stored, −1 where they are not.
    onward : bool[nodes]
        Whether something is stored further up.
    triggers : int64[t]
        The leaves that trigger joins.
    leaf_offsets, leaf_tests : int64[components + 1], int64[t]
        Conditions on a trigger's event alone.
    lasts : int64[components]
        The place of the last event of each component.
    loop_of : int64[components]
        The number of the loop, −1 for a single event.
    loops
        Loops.
    before : bool[components, components]
        Whether one component stands before the other in the pattern.
    may_end : bool[components]
        Whether a component may take the last event.
    gap_before, gap_after : bool[g, components]
        Components before and after each negation.
    place_offsets, places : int64[stores + 1], int64[p]
        The places of bound rows that each store holds; none for a loop.
    """

    components: int
    first: int
    order: int
    up: Int64s
    store: Int64s
    onward: Bools
    triggers: Int64s
    leaf_offsets: Int64s
    leaf_tests: Int64s
    lasts: Int64s
    loop_of: Int64s
    loops: Loops
    before: Bools
    may_end: Bools
    gap_before: Bools
    gap_after: Bools
    steps: Steps
    place_offsets: Int64s
    places: Int64s


class Joining(NamedTuple):
    """The search under way.

    Attributes
    ----------
    rows : int64[components + 3 · loops]
        Bound rows; of loops the first, the last and the one before, and the number of the item.
    cursor, limit : int64[levels]
        The next event of each trigger, and the end of those in the stretch.
    step, next, end, first, events : int64[levels]
        Per level: the join, its next candidate, the end of them, the first row of what triggered it; events of
        the candidate, if it is a loop.
    """

    rows: Int64s
    cursor: Int64s
    limit: Int64s
    step: Int64s
    next: Int64s
    end: Int64s
    first: Int64s
    events: Int64s


def new_joining(components: int, loops: int) -> Joining:
    """Return room for the search with so many components, of which so many are loops."""
    levels = [np.zeros(components + loops, np.int64) for _ in range(7)]
    rows = np.zeros(components + 3 * loops, np.int64)
    return Joining(rows, levels[0], levels[1], levels[2], levels[3], levels[4], levels[5], levels[6])


ITEM_FIELDS = 2
