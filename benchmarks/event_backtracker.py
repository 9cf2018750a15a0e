"""A backtracker for the stock queries that follows one start at a time, as search engines for patterns do.

From every start it walks over the stock's later trades, depth first with a stack of its own: where
a trade both ends a match and goes on with the loop, one branch waits on the stack. Nothing is
shared between starts, which is what merging runs is compared with.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from benchmarks.sase import Query, Stock
from sparkcep.engine.matches import Bools, Int64s

DEEPEST = 4  # a branch that ends does not branch again, so no more than two wait
AFTER, BEFORE, LENGTH, ENDS = range(4)


class Walk(NamedTuple):
    """What a search found: matches, the sum of their lengths, how many trades it looked at."""

    matches: int
    lengths: int
    visits: int


class Backtracker:
    """Searches for p1 s3 or p2 s3 in a stream that is sorted by stock beforehand; matches are counted, not built."""

    def __init__(self, query: Query, stream: Stock) -> None:
        if query.strategy != "s3" or query.rising not in ("p1", "p2"):
            raise ValueError(f"no backtracker for {query.name}")
        self.query = query
        order = np.argsort(stream.symbol, kind="stable")
        borders = np.searchsorted(stream.symbol[order], [1, 2, 3])
        price = stream.price[order]
        columns = price, price % 500 == 0, stream.volume[order] < 150
        self.stocks = [tuple(column[first:last] for column in columns) for first, last in pairwise(borders)]
        self.stack = np.empty((DEEPEST, 4), np.int64)

    def run(self) -> Walk:
        """Search all stocks."""
        found = np.zeros(3, np.int64)
        for price, begins, ends in self.stocks:
            _search(price, begins, ends, self.query.rising == "p2", self.query.window, self.stack, found)
        return Walk(*found.tolist())


@njit(cache=True)  # type: ignore[untyped-decorator]
def _search(price: Int64s, begins: Bools, ends: Bools, rises: bool, window: int, stack: Int64s, found: Int64s) -> None:
    """Add up matches, lengths and visits over the trades of one stock.

    A line of the stack is a branch: the trade it follows, the price that the next one is compared
    with, how many it has taken, and whether it ends with that trade.
    """
    count = len(price)
    for start in range(count):
        if not begins[start]:
            continue
        behind = min(count, start + window)
        depth = 1
        stack[0, AFTER], stack[0, BEFORE], stack[0, LENGTH], stack[0, ENDS] = start, price[start], 1, 0
        while depth > 0:
            depth -= 1
            at, before, length = stack[depth, AFTER], stack[depth, BEFORE], stack[depth, LENGTH]
            if stack[depth, ENDS]:
                found[0] += 1
                found[1] += length
                continue
            while at + 1 < behind:
                at += 1
                found[2] += 1
                takes = not rises or price[at] > before
                if ends[at] and takes:
                    # Two ways on: the loop goes on later, the end is looked at first.
                    stack[depth, AFTER], stack[depth, BEFORE] = at, price[at]
                    stack[depth, LENGTH], stack[depth, ENDS] = length + 1, 0
                    stack[depth + 1, LENGTH], stack[depth + 1, ENDS] = length + 1, 1
                    depth += 2
                    break
                if ends[at]:
                    found[0] += 1
                    found[1] += length + 1
                elif takes:
                    before, length = price[at], length + 1
