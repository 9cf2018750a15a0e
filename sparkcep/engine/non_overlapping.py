"""Picks non-overlapping matches from the match graph without listing the others.

All matches that one event completes end at that event, so at most one of them is output per class:
the one with the earliest start behind the last output match, the fewest events, the least positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparkcep.engine.event_tables import Stream
from sparkcep.engine.match_listing import LISTED, Listing, Scratch, first_fewest, list_fewest, new_listing
from sparkcep.engine.matches import Int64s
from sparkcep.engine.run_pools import RunPools, too_many_matches

MOST_TIES = 100_000


class Picker:
    """Looks for the first match of a completion; scratch memory is shared by all of them.

    Parameters
    ----------
    pools
        The match graph and its completions.
    stream
        The rows at hand.
    """

    def __init__(self, pools: RunPools, stream: Stream) -> None:
        nodes = pools.live_nodes
        self.pools, self.stream = pools, stream
        self.start = np.full(nodes, -1, np.int64)
        self.length = np.empty(nodes, np.int64)
        self.scratch = Scratch(np.empty(2 * nodes + 2, np.int64), np.empty(2 * nodes + 2, np.int64), self.length.copy())

    def candidates(self, completion: int, floor: int) -> tuple[Listing, int] | None:
        """Return the matches that start earliest at or behind `floor` and have the fewest events, if any."""
        graph, completions = self.pools.pools.nodes, self.pools.pools.completions
        row, node = int(completions[0, completion]), int(completions[1, completion])
        window = self.pools.program.tables.window
        if graph.last_start[node] < floor:
            return None
        lowest = first_fewest(graph, node, self.stream, window, row, floor, self.start, self.length)
        events = int(self.length[node])
        ties = 16
        while True:
            listing, done = new_listing(ties, ties * events), np.zeros(2, np.int64)
            if list_fewest(
                graph, completions, completion, self.start, self.length, self.scratch, listing, done, MOST_TIES
            ):
                break
            ties *= 8
            if ties > MOST_TIES:
                raise too_many_matches()
        self.start[lowest : node + 1] = -1
        return listing, int(done[LISTED])


def completions_by_event(completions: Int64s) -> Iterator[tuple[int, int, range]]:
    """Yield row, class and completions of each event; those of one event stand together."""
    rows, classes = completions[0], completions[3]
    borders = np.flatnonzero(np.diff(rows)) + 1
    for first, last in zip([0, *borders], [*borders, len(rows)], strict=True):
        yield int(rows[first]), int(classes[first]), range(int(first), int(last))
