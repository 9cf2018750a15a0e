"""Loops at the leaves of a join tree: their items, as rows behind the items they go on from.

An item is a sequence of events; it holds its first and its last row, the number of the item without the
last row, and how many events it has. So items share what they have in common.
"""

from __future__ import annotations

from sparkcep.engine.bound_rows import LISTED, LISTED_EVENTS
from sparkcep.engine.bound_tables import Rows
from sparkcep.engine.compiled import inlined
from sparkcep.engine.event_tables import NO_WINDOW
from sparkcep.engine.event_windows import in_window
from sparkcep.engine.match_listing import Listing
from sparkcep.engine.matches import Int64s
from sparkcep.engine.tree_stores import FEWEST, FIRST, HEAD, LAST, LINK, Stores, append
from sparkcep.engine.tree_tables import Joining, Tree

# Fields of an item behind its head: the item that it goes on from, −1 for none, and how many events it has.
(BEFORE, EVENTS_TAKEN) = range(HEAD, HEAD + 2)


@inlined
def bind_item(tree: Tree, stores: Stores, joining: Joining, loop: int, item: int, row: int) -> None:
    """Bind the events of an item, with `row` behind them unless it is −1."""
    component = tree.loops.component[loop]
    store, last = tree.store[component], tree.lasts[component]
    at = stores.base[store] + item * stores.width[store]
    joining.rows[component] = stores.items[at + FIRST]
    joining.rows[last] = stores.items[at + LAST] if row < 0 else row
    joining.rows[last + 1] = stores.items[at + LAST]
    joining.rows[last + 2] = item


@inlined
def store_item(tree: Tree, stores: Stores, joining: Joining, loop: int, first: int, row: int, events: int) -> None:
    """Store the events that a loop has bound: the item that they go on from, and `row`."""
    component = tree.loops.component[loop]
    store, last = tree.store[component], tree.lasts[component]
    at = append(stores, store, first, row, 0)
    stores.items[at + BEFORE] = joining.rows[last + 2] if events > 1 else -1
    stores.items[at + EVENTS_TAKEN] = events
    joining.rows[last + 2] = stores.taken[store] - 1


@inlined
def sweep_items(tree: Tree, given: Rows, stores: Stores, store: int, row: int) -> int:
    """Take away the items of a loop that no event from `row` on can go with; return how many they were.

    Items begin with the item that they go on from, so that goes when they go. Whoever names items learns
    their new numbers.
    """
    if given.window.kind == NO_WINDOW:
        stores.sweep_at[store] *= 2
        return 0
    count, width, base = stores.taken[store], stores.width[store], stores.base[store]
    left = 0
    for item in range(count):
        at = base + item * width
        stores.items[at + LINK] = -1
        if in_window(given.stream, given.window, stores.items[at + FIRST], row):
            stores.items[at + LINK] = left
            left += 1
        if stores.items[at + BEFORE] >= 0:
            stores.items[at + BEFORE] = stores.items[base + stores.items[at + BEFORE] * width + LINK]
    _renumber(tree, stores, store)
    for item in range(count):
        at = base + item * width
        new = stores.items[at + LINK]
        if new >= 0:
            for place in range(width):
                stores.items[base + new * width + place] = stores.items[at + place]
    stores.taken[store], stores.sweep_at[store] = left, max(FEWEST, 2 * left)
    return count - left


@inlined
def _renumber(tree: Tree, stores: Stores, swept: int) -> None:
    """Give the items of a loop their new numbers wherever partial matches hold them."""
    named = -1
    for loop in range(tree.loops.component.shape[0]):
        if tree.store[tree.loops.component[loop]] == swept:
            named = tree.lasts[tree.loops.component[loop]] + 2
    for store in range(stores.taken.shape[0]):
        begin = tree.place_offsets[store]
        for place in range(begin, tree.place_offsets[store + 1]):
            if tree.places[place] != named:
                continue
            for item in range(stores.taken[store]):
                at = stores.base[store] + item * stores.width[store] + HEAD + place - begin
                if stores.items[at] >= 0:
                    old = stores.base[swept] + stores.items[at] * stores.width[swept]
                    stores.items[at] = stores.items[old + LINK]


@inlined
def write_with_loops(
    tree: Tree, given: Rows, stores: Stores, bound: Int64s, end: int, listing: Listing, control: Int64s
) -> None:
    """List the match that is bound; its components stand one behind the other, and row `end` is the last one."""
    match, at = control[LISTED], control[LISTED_EVENTS]
    for component in range(tree.components):
        events, item = 1, -1
        store = tree.store[component]
        if tree.loop_of[component] >= 0:
            item = bound[tree.lasts[component] + 2]
            events = stores.items[stores.base[store] + item * stores.width[store] + EVENTS_TAKEN]
        listing.rows[at] = bound[component]
        for event in range(events):
            listing.components[at + event] = tree.first + component
        place = at + events - 1
        while item >= 0:
            taken = stores.base[store] + item * stores.width[store]
            listing.rows[place] = stores.items[taken + LAST]
            item, place = stores.items[taken + BEFORE], place - 1
        at += events
    listing.completed[match], listing.order[match] = end, tree.order
    listing.class_of[match] = given.stream.classes[end]
    control[LISTED], control[LISTED_EVENTS] = match + 1, at
    listing.offsets[match + 1] = at
