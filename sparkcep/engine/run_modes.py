"""What a run may do next: stay in its loop, wait for the next component; a mode has a bit for each."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import inlined
from sparkcep.engine.event_tables import ANY, LOOPING, NEXT, STRICT, WAITING, RunTables
from sparkcep.engine.run_lists import BEGAN, TOOK


@inlined
def _ignores(policy: int, satisfied: bool) -> bool:
    """Whether an event of the run's own class may be ignored."""
    return policy == ANY or (policy == NEXT and not satisfied)


@inlined
def mode_after(tables: RunTables, state: int, leaves: int, mode: int, outcome: int) -> int:
    """Return what a run may do after an event that it does not take itself (semantics: peek and ignore)."""
    states, policy = tables.states, tables.components.policy
    took, began = outcome & TOOK != 0, outcome & BEGAN != 0
    following = states.following[state]
    loops = mode & LOOPING != 0 and _ignores(policy[states.current[state]], took)
    if following < 0:
        return LOOPING if loops else 0
    waits = mode & WAITING != 0 and _ignores(policy[following], began)
    free = mode & LOOPING != 0 and (leaves >> np.int64(tables.components.local[states.current[state]])) & 1 != 0
    if free and (began or not (took or loops)):
        waits = waits or _ignores(policy[following], began)
    if loops and policy[states.current[state]] == ANY:
        # The loop never ends, and it may be left whenever waiting may begin.
        waits = False
    return (LOOPING if loops else 0) | (WAITING if waits else 0)


@inlined
def mode_passed_over(tables: RunTables, state: int, leaves: int, mode: int) -> int:
    """Return the mode after events of other classes, which were not shown to the run."""
    states, policy = tables.states, tables.components.policy
    if not states.is_sequence[state]:
        return mode
    current, following = states.current[state], states.following[state]
    loops = mode & LOOPING != 0 and policy[current] != STRICT
    waits = False
    if following >= 0 and policy[following] != STRICT:
        left = (leaves >> np.int64(tables.components.local[current])) & 1 != 0
        waits = mode & WAITING != 0 or (mode & LOOPING != 0 and not loops and left)
    return (LOOPING if loops else 0) | (WAITING if waits else 0)
