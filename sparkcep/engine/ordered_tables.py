"""The steps of the lazy chain, as arrays that its kernel reads."""

from __future__ import annotations

from typing import NamedTuple

from sparkcep.engine.matches import Bools, Int64s


class Chain(NamedTuple):
    """The steps in which components are bound, of matches that end with one of them.

    Attributes
    ----------
    sequence : int64[k]
        The component of each step.
    lasts : int64[k]
        The place of the last event of each component: its only one.
    lists : int64[k]
        The list of `Positions` that holds the candidates of each step.
    sources : int64[k, 2]
        Where candidates are looked up by a value: the bound component that has it, and the row of
        `Positions.keys` that holds it; −1 where they are not.
    end
        The component that takes the last event.
    first, order
        Number of component 0 among those of all orders, and the order.
    before, precedes : bool[k, k]
        Whether one component stands before the other in the pattern; and in matches that end with `end`.
    is_free
        Whether nothing is left to be tested of the candidates of the last step.
    test_offsets, tests : int64[k + 1], int64[t]
        Conditions of each step.
    window_offsets, windows : int64[k + 1], int64[w]
        Components whose own window is checked at each step.
    gap_offsets, gaps : int64[k + 1], int64[g]
        Negations that are checked at each step.
    gap_before, gap_after : bool[g, k]
        Components before and after each negation.
    """

    sequence: Int64s
    lasts: Int64s
    lists: Int64s
    sources: Int64s
    end: int
    first: int
    order: int
    before: Bools
    precedes: Bools
    is_free: bool
    test_offsets: Int64s
    tests: Int64s
    window_offsets: Int64s
    windows: Int64s
    gap_offsets: Int64s
    gaps: Int64s
    gap_before: Bools
    gap_after: Bools
