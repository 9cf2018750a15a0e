"""What plans cost, in visits of a row: the constants of the cost model.

A visit, some 20 ns on one core, is what an engine does to look at one row or one partial match. Rows that a
matcher gets have been shuffled, sorted and sent to Python, which costs about as much as a hundred visits.
"""

from __future__ import annotations

STATES_PER_WORD = 64
BACKTRACK_STEPS_PER_ROW = 4.0
# Python is left out; what a window fetches for a row costs a fraction of what it would there.
WINDOW_STEPS_PER_ROW, WINDOW_STEPS_PER_VALUE, STEPS_PER_FURTHER_WINDOW = 0.5, 0.125, 0.5

# Per row of an event pattern: the shuffle, the sort and the way into Python, for all engines but joins.
SORTED_STEPS_PER_ROW = 100.0
RUNS_STEPS_PER_ROW = SORTED_STEPS_PER_ROW + 8.0
# A visit costs about the same in both, but estimates err: "ordered" is chosen where it promises to halve them.
ORDERED_STEPS_PER_ROW, ORDERED_STEPS_PER_VISIT = SORTED_STEPS_PER_ROW + 16.0, 2.0
# The same per pair of partial matches; storing them, and choosing among trees of which most are as good, costs more.
TREE_STEPS_PER_ROW, TREE_STEPS_PER_VISIT = SORTED_STEPS_PER_ROW + 20.0, 2.5
# Joins read the input once per variable, and shuffle what is not known to be small; nobody knows what lies behind
# the input, so they have to promise much.
JOIN_STEPS_PER_READ, JOIN_STEPS_PER_SHUFFLE, JOIN_STEPS_PER_PARTIAL_MATCH = 15.0, 100.0, 10.0
# What a plan costs that would need statistics, where there are none.
UNKNOWN_STEPS_PER_ROW = 100.0
