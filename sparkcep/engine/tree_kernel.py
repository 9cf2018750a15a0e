"""The kernel of the `tree` engine: joins partial matches by a tree over the components (Mei and Madden 2009).

An event that may come last in a node's partial matches triggers it: what ends with the event is joined with
the partial matches of the node's other part, which all end before. The outcome is joined further up at
once, depth first; it is stored as well where a later event can ask for it. So a node whose
partial matches always come last, the right part of a sequence, stores none, and leaves
are looked up among the rows. Stored partial matches stand in the order of their last events; an
equality between both parts is looked up, by hash among those that are stored.
"""

from __future__ import annotations

import numpy as np

from sparkcep.engine.bound_rows import (
    BUCKET,
    EVALUATIONS,
    SHARED_CONTROL,
    first_above,
    first_as_late,
    first_in_window,
    first_later,
    first_value,
    has_room,
    is_forbidden,
    is_in_time,
    is_true,
    write_match,
)
from sparkcep.engine.bound_tables import Positions, Rows
from sparkcep.engine.compiled import compiled, inlined
from sparkcep.engine.event_tables import Stream, Window
from sparkcep.engine.event_windows import in_window, is_later
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.matches import Int64s
from sparkcep.engine.run_edges import all_bits
from sparkcep.engine.tree_loops import EVENTS_TAKEN, bind_item, store_item, sweep_items, write_with_loops
from sparkcep.engine.tree_stores import (
    FIRST,
    HEAD,
    KEY,
    LAST,
    LINK,
    Stores,
    append,
    clear,
    first_item_in_window,
    first_item_out_of_scope,
    head_of,
    is_full,
    sweep,
)
from sparkcep.engine.tree_tables import FOLLOWS, PRECEDES, Joining, Tree

# Besides what all searches count: the level of the join under way (−1: none, −2: bucket not entered), the row
# that triggers, partial matches stored, how many may be before they are counted, the store that was last put into,
# or that has no room, the events of the longest item of a loop.
LEVEL, ROW, STORED, CHECK_AT, CROWDED, LONGEST = range(SHARED_CONTROL, SHARED_CONTROL + 6)
CONTROL_SIZE = SHARED_CONTROL + 6
DONE, FULL, CROWDED_STORE, UNCOUNTED = range(4)


@compiled
def join(
    tree: Tree, given: Rows, positions: Positions, stores: Stores, joining: Joining, ends: Int64s, lists: bool,
    listing: Listing, counts: Int64s, made: Int64s, control: Int64s,
) -> int:  # fmt: skip
    """Find the matches whose last event is in rows ``ends[0]:ends[1]``; go on where `control` says.

    Parameters
    ----------
    lists
        Whether matches are listed; otherwise they are counted.
    counts, made : int64[buckets], int64[nodes]
        Matches are added up here, and partial matches by node; of leaves only those that trigger joins.

    Returns
    -------
    int
        DONE; FULL when there is no room for another match; CROWDED_STORE when there is none for another
        partial match; UNCOUNTED when so many are stored that the ones alive must be counted.
    """
    root = tree.up.shape[0] - 1
    while _next_bucket(tree, given, positions, stores, joining, ends, counts.shape[0], control):
        bucket = control[BUCKET]
        while True:
            level, events = control[LEVEL], 1
            lack = _lack(tree, stores, joining, lists, listing, level, control)
            if lack != DONE:
                return lack
            if level < 0:
                node = _next_trigger(tree, given, positions, stores, joining, control)
                if node < 0:
                    break
                first = control[ROW]
                if not _leaf_fits(tree, given, positions, stores, joining, bucket, node, control):
                    continue
            else:
                node = tree.steps.made[joining.step[level]]
                if node == root and not lists and tree.steps.is_free[joining.step[level]]:
                    _count(joining, level, node, bucket, counts, made, control)
                    continue
                first = _next_candidate(tree, given, positions, stores, joining, level, control[ROW])
                if first < 0:
                    control[LEVEL] -= 1
                    continue
                if not _fits(tree, given, positions, joining, bucket, joining.step[level], control):
                    continue
                first, events = min(first, joining.first[level]), joining.events[level] + 1
            made[node] += 1
            if tree.store[node] >= 0:
                _store(tree, positions, stores, joining, node, first, events, control)
            if not _is_long_enough(tree, node, events) or (control[ROW] < ends[0] and not tree.onward[node]):
                continue
            if node == root:
                _put(tree, given, stores, joining, lists, listing, counts, bucket, control)
            elif tree.up[node] >= 0:
                _rise(tree, given, positions, stores, joining, bucket, tree.up[node], first, control)
        control[BUCKET] += 1
        control[LEVEL] = -2
    return DONE


# -- triggers ------------------------------------------------------------------------------------------


@inlined
def _next_bucket(
    tree: Tree, given: Rows, positions: Positions, stores: Stores, joining: Joining, ends: Int64s, buckets: int,
    control: Int64s,
) -> bool:  # fmt: skip
    """Stay in a bucket that was entered, or enter the next one that may hold matches; tell whether there is one."""
    while control[LEVEL] == -2 and control[BUCKET] < buckets:
        if _enter(tree, given, positions, stores, joining, ends, control[BUCKET], control):
            control[LEVEL] = -1
        else:
            control[BUCKET] += 1
    return control[BUCKET] < buckets


@inlined
def _enter(
    tree: Tree, given: Rows, positions: Positions, stores: Stores, joining: Joining, ends: Int64s, bucket: int,
    control: Int64s,
) -> bool:  # fmt: skip
    """Begin with a bucket; tell whether every component has an event in it, and one may end a match."""
    origin, some = np.int64(2**62), False
    for component in range(tree.components):
        low, high = positions.offsets[component, bucket], positions.offsets[component, bucket + 1]
        if low == high:
            return False
        at = first_above(positions.rows, low, high, ends[0] - 1)
        if at < high and positions.rows[at] < ends[1]:
            origin = min(origin, positions.rows[at])
            some = some or tree.may_end[component]
    if not some or not in_window(given.stream, given.window, origin, origin):
        return False
    for at in range(tree.triggers.shape[0]):
        leaf = tree.triggers[at]
        low, high = positions.offsets[leaf, bucket], positions.offsets[leaf, bucket + 1]
        if tree.onward[leaf] or tree.loop_of[leaf] >= 0:
            low = first_in_window(given, positions.rows, low, high, origin)
        else:
            low = first_above(positions.rows, low, high, ends[0] - 1)
        joining.cursor[at] = low
        joining.limit[at] = first_above(positions.rows, low, high, ends[1] - 1)
    clear(stores)
    control[STORED] = 0
    return True


@inlined
def _next_trigger(
    tree: Tree, given: Rows, positions: Positions, stores: Stores, joining: Joining, control: Int64s
) -> int:
    """Return the leaf that takes the next event, −1 if there is none, and sweep stores that are full of dead ones."""
    earliest, chosen = np.int64(2**62), -1
    for at in range(tree.triggers.shape[0]):
        if joining.cursor[at] < joining.limit[at] and positions.rows[joining.cursor[at]] < earliest:
            earliest, chosen = positions.rows[joining.cursor[at]], at
    if chosen < 0:
        return -1
    joining.cursor[chosen] += 1
    control[ROW] = earliest
    for store in range(stores.taken.shape[0]):
        if stores.taken[store] < stores.sweep_at[store]:
            continue
        if tree.place_offsets[store] == tree.place_offsets[store + 1]:
            control[STORED] -= sweep_items(tree, given, stores, store, earliest)
        else:
            control[STORED] -= sweep(stores, given.stream, given.window, store, earliest)
    return tree.triggers[chosen]


@inlined
def _leaf_fits(
    tree: Tree, given: Rows, positions: Positions, stores: Stores, joining: Joining, bucket: int, leaf: int,
    control: Int64s,
) -> bool:  # fmt: skip
    """Bind the event of a trigger, and tell whether what is asked of it alone holds; make items of a loop longer."""
    row, loop = control[ROW], tree.loop_of[leaf]
    if loop >= 0:
        if all_bits(given.stream.conditions, row, tree.loops.take_bits, loop):
            _rise(tree, given, positions, stores, joining, bucket, tree.loops.longer[loop], row, control)
        if not all_bits(given.stream.conditions, row, tree.loops.begin_bits, loop):
            return False
    joining.rows[leaf], joining.rows[tree.lasts[leaf]] = row, row
    for at in range(tree.leaf_offsets[leaf], tree.leaf_offsets[leaf + 1]):
        if not is_true(given, joining.rows, tree.leaf_tests[at]):
            return False
    return True


# -- joins ---------------------------------------------------------------------------------------------


@inlined
def _rise(
    tree: Tree, given: Rows, positions: Positions, stores: Stores, joining: Joining, bucket: int, step: int,
    first: int, control: Int64s,
) -> None:  # fmt: skip
    """Begin the join that a partial match triggers: find its candidates."""
    level = control[LEVEL] + 1
    joining.step[level], joining.first[level], joining.events[level] = step, first, 0
    control[LEVEL] = level
    partner = tree.steps.partner[step]
    if partner < tree.components and tree.loop_of[partner] < 0:
        _leaf_candidates(tree, given, positions, joining, bucket, step, level, first, control[ROW])
        return
    store = tree.store[partner]
    source, column = tree.steps.sources[step, 0], tree.steps.sources[step, 1]
    if source < 0:
        upper = first if tree.steps.is_ordered[step] else control[ROW]
        low = first_item_in_window(stores, given, store, control[ROW])
        joining.next[level] = low
        joining.end[level] = first_item_out_of_scope(stores, given, store, low, upper)
    else:
        row = joining.rows[source]
        absent = positions.absent[column, row]
        joining.next[level] = -1 if absent else head_of(stores, store, positions.keys[column, row])


@inlined
def _leaf_candidates(
    tree: Tree, given: Rows, positions: Positions, joining: Joining, bucket: int, step: int, level: int, first: int,
    row: int,
) -> None:  # fmt: skip
    """Find the events of a leaf that go with a partial match which ends in `row`: by place, time, and value."""
    rows, listed = positions.rows, tree.steps.lists[step]
    low, high = positions.offsets[listed, bucket], positions.offsets[listed, bucket + 1]
    if tree.steps.sources[step, 0] >= 0:
        bound, column = joining.rows[tree.steps.sources[step, 0]], tree.steps.sources[step, 1]
        if positions.absent[column, bound]:
            high = low
        low = first_value(positions.values, low, high, positions.keys[column, bound], False)
        high = first_value(positions.values, low, high, positions.keys[column, bound], True)
    lower, upper = np.int64(-1), first if tree.steps.is_ordered[step] else row
    for at in range(tree.steps.pair_offsets[step], tree.steps.pair_offsets[step + 1]):
        bound = joining.rows[tree.steps.pairs[at, 1]]
        if tree.steps.pairs[at, 2] == PRECEDES:
            upper = min(upper, bound)
        elif tree.steps.pairs[at, 2] == FOLLOWS:
            lower = max(lower, bound)
    if given.strict:
        high = first_as_late(given.stream, rows, low, high, upper)
        if lower >= 0:
            low = first_later(given.stream, rows, low, high, lower)
    high = first_above(rows, low, high, upper - 1)
    low = first_above(rows, low, high, lower)
    joining.next[level], joining.end[level] = first_in_window(given, rows, low, high, row), high


@inlined
def _next_candidate(
    tree: Tree, given: Rows, positions: Positions, stores: Stores, joining: Joining, level: int, row: int
) -> int:
    """Bind the next candidate; return its first row, −1 if there is none."""
    step = joining.step[level]
    partner = tree.steps.partner[step]
    if partner < tree.components and tree.loop_of[partner] >= 0:
        return _next_item(tree, given, stores, joining, level, row)
    if partner < tree.components:
        if joining.next[level] >= joining.end[level]:
            return -1
        joining.rows[partner] = positions.rows[joining.next[level]]
        joining.next[level] += 1
        return joining.rows[partner]
    store = tree.store[partner]
    upper = joining.first[level] if tree.steps.is_ordered[step] else row
    source, value = tree.steps.sources[step, 0], np.int64(0)
    is_chain = source >= 0
    if is_chain:
        value = positions.keys[tree.steps.sources[step, 1], joining.rows[source]]
    while joining.next[level] >= 0 and (is_chain or joining.next[level] < joining.end[level]):
        at = stores.base[store] + joining.next[level] * stores.width[store]
        last = stores.items[at + LAST]
        if is_chain:
            joining.next[level] = stores.items[at + LINK]
            if not in_window(given.stream, given.window, last, row):
                return -1
            if stores.items[at + KEY] != value or last >= upper:
                continue
            if given.strict and not is_later(given.stream, last, upper):
                continue
        else:
            joining.next[level] += 1
        if not in_window(given.stream, given.window, stores.items[at + FIRST], row):
            continue
        begin = tree.place_offsets[store]
        for place in range(begin, tree.place_offsets[store + 1]):
            joining.rows[tree.places[place]] = stores.items[at + HEAD + place - begin]
        return stores.items[at + FIRST]
    return -1


@inlined
def _next_item(tree: Tree, given: Rows, stores: Stores, joining: Joining, level: int, row: int) -> int:
    """Bind the next item of a loop that may be left, or, to make it longer, that may go on; return its first row."""
    step = joining.step[level]
    partner = tree.steps.partner[step]
    loop, store, goes_on = tree.loop_of[partner], tree.store[partner], tree.steps.made[step] == partner
    while joining.next[level] < joining.end[level]:
        item = joining.next[level]
        joining.next[level] += 1
        at = stores.base[store] + item * stores.width[store]
        first, events = stores.items[at + FIRST], stores.items[at + EVENTS_TAKEN]
        if not in_window(given.stream, given.window, first, row):
            continue
        if goes_on and (tree.loops.most[loop] < 0 or events < tree.loops.most[loop]):
            bind_item(tree, stores, joining, loop, item, row)
            joining.events[level] = events
            return first
        if not goes_on and events >= tree.loops.least[loop]:
            bind_item(tree, stores, joining, loop, item, -1)
            return first
    return -1


@inlined
def _is_long_enough(tree: Tree, node: int, events: int) -> bool:
    """Tell whether what was made may be left: loops may need more events."""
    return node >= tree.components or tree.loop_of[node] < 0 or events >= tree.loops.least[tree.loop_of[node]]


@inlined
def _most_events(tree: Tree, control: Int64s) -> int:
    """Return how many events the next match may have at most."""
    return tree.components + tree.loops.component.shape[0] * control[LONGEST]


@inlined
def _lack(
    tree: Tree, stores: Stores, joining: Joining, lists: bool, listing: Listing, level: int, control: Int64s
) -> int:
    """Return what must be done before anything is made, as `join` returns it, DONE if nothing."""
    if control[STORED] > control[CHECK_AT]:
        return UNCOUNTED
    if lists and not has_room(listing, control, _most_events(tree, control)):
        return FULL
    return CROWDED_STORE if _is_crowded(tree, stores, joining, level, control) else DONE


@inlined
def _is_crowded(tree: Tree, stores: Stores, joining: Joining, level: int, control: Int64s) -> bool:
    """Tell whether a store lacks room for what may be made next."""
    if level >= 0:
        store = tree.store[tree.steps.made[joining.step[level]]]
        if store >= 0 and is_full(stores, store):
            control[CROWDED] = store
            return True
        return False
    for loop in range(tree.loops.component.shape[0]):
        store = tree.store[tree.loops.component[loop]]
        if is_full(stores, store):
            control[CROWDED] = store
            return True
    return False


@inlined
def _count(joining: Joining, level: int, node: int, bucket: int, counts: Int64s, made: Int64s, control: Int64s) -> None:
    """Count all candidates at once: nothing is left to be tested."""
    found = joining.end[level] - joining.next[level]
    counts[bucket] += found
    made[node] += found
    control[LEVEL] -= 1


@inlined
def _store(
    tree: Tree, positions: Positions, stores: Stores, joining: Joining, node: int, first: int, events: int,
    control: Int64s,
) -> None:  # fmt: skip
    """Store the partial match that is bound, unless nothing can be equal to its value."""
    store = tree.store[node]
    control[CROWDED] = store
    if node < tree.components:
        store_item(tree, stores, joining, tree.loop_of[node], first, control[ROW], events)
        control[STORED] += 1
        control[LONGEST] = max(control[LONGEST], events)
        return
    key = np.int64(0)
    if stores.key_place[store] >= 0:
        row = joining.rows[stores.key_place[store]]
        if positions.absent[stores.key_column[store], row]:
            return
        key = positions.keys[stores.key_column[store], row]
    at = append(stores, store, first, control[ROW], key)
    begin = tree.place_offsets[store]
    for place in range(begin, tree.place_offsets[store + 1]):
        stores.items[at + HEAD + place - begin] = joining.rows[tree.places[place]]
    control[STORED] += 1


@inlined
def _put(
    tree: Tree, given: Rows, stores: Stores, joining: Joining, lists: bool, listing: Listing, counts: Int64s,
    bucket: int, control: Int64s,
) -> None:  # fmt: skip
    """List or count the match that is bound."""
    if lists and tree.loops.component.shape[0]:
        write_with_loops(tree, given, stores, joining.rows, control[ROW], listing, control)
    elif lists:
        write_match(given.stream, joining.rows, tree.components, tree.first, tree.order, control[ROW], listing, control)
    else:
        counts[bucket] += 1


# -- what is tested ------------------------------------------------------------------------------------


@inlined
def _fits(
    tree: Tree, given: Rows, positions: Positions, joining: Joining, bucket: int, step: int, control: Int64s
) -> bool:
    """Tell whether a candidate goes with what triggered the join."""
    return (
        _are_in_place(tree, given, joining, step)
        and _is_in_time(tree, given, joining, step)
        and not _is_forbidden(tree, positions, joining, bucket, step)
        and _conditions_hold(tree, given, joining, step, control)
    )


@inlined
def _are_in_place(tree: Tree, given: Rows, joining: Joining, step: int) -> bool:
    """Tell whether events of parts that may interleave stand as they should, and are different ones."""
    for at in range(tree.steps.pair_offsets[step], tree.steps.pair_offsets[step + 1]):
        own, other = joining.rows[tree.steps.pairs[at, 0]], joining.rows[tree.steps.pairs[at, 1]]
        place = tree.steps.pairs[at, 2]
        if own == other or (place == PRECEDES and own > other) or (place == FOLLOWS and own < other):
            return False
        if given.strict and not is_later(given.stream, min(own, other), max(own, other)):
            return False
    return True


@inlined
def _is_in_time(tree: Tree, given: Rows, joining: Joining, step: int) -> bool:
    """Tell whether components are near enough to those before them."""
    for at in range(tree.steps.window_offsets[step], tree.steps.window_offsets[step + 1]):
        component = tree.steps.windows[at]
        if not is_in_time(given, joining.rows, tree.lasts, tree.before, component, tree.first + component):
            return False
    return True


@inlined
def _is_forbidden(tree: Tree, positions: Positions, joining: Joining, bucket: int, step: int) -> bool:
    """Tell whether a witness of a negation lies between its neighbours."""
    for at in range(tree.steps.gap_offsets[step], tree.steps.gap_offsets[step + 1]):
        if is_forbidden(
            positions, joining.rows, tree.lasts, tree.gap_before, tree.gap_after, tree.steps.gaps[at], bucket
        ):
            return True
    return False


@inlined
def _conditions_hold(tree: Tree, given: Rows, joining: Joining, step: int, control: Int64s) -> bool:
    """Tell whether all conditions of a join are TRUE; a candidate that is tested counts as one evaluation."""
    first, last = tree.steps.test_offsets[step], tree.steps.test_offsets[step + 1]
    if first < last:
        control[EVALUATIONS] += 1
    holds = True
    for at in range(first, last):
        holds = holds and is_true(given, joining.rows, tree.steps.tests[at])
    return holds


@compiled
def alive(stores: Stores, stream: Stream, window: Window, row: int) -> int:
    """Count the stored partial matches that an event in `row` may still go with."""
    found = 0
    for store in range(stores.taken.shape[0]):
        for item in range(stores.taken[store]):
            at = stores.base[store] + item * stores.width[store]
            found += in_window(stream, window, stores.items[at + FIRST], row)
    return found
