"""Programs for engines that bind events in any order: what each is told of the estimates."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.ordered_program import OrderedProgram, compile_ordered
from sparkcep.engine.runs_program import RunsProgram
from sparkcep.engine.tree_program import TreeProgram, compile_tree
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.planning.lazy import GreedyChooser, bound_conditions
from sparkcep.planning.plans import PlanName
from sparkcep.planning.statistics import Estimates
from sparkcep.planning.trees import loop_takes, tree_chooser


def program_for(
    plan: PlanName, events: LogicalEvents, base: RunsProgram, estimates: Sequence[Estimates]
) -> RunsProgram | BoundProgram:
    """Return the program of a plan; `base` is the same pattern for `runs`, which is what most of them need."""
    if plan == "ordered":
        return ordered_program(events, base, estimates)
    return tree_program(events, base, estimates) if plan == "tree" else base


def ordered_program(events: LogicalEvents, base: RunsProgram, estimates: Sequence[Estimates]) -> OrderedProgram:
    """Compile a pattern for the `ordered` engine; `base` is the same pattern for `runs`."""
    conditions = [bound_conditions(order, events) for order in events.orders]
    return compile_ordered(events, base, conditions, [GreedyChooser(each) for each in estimates])


def tree_program(events: LogicalEvents, base: RunsProgram, estimates: Sequence[Estimates]) -> TreeProgram:
    """Compile a pattern for the `tree` engine; `base` is the same pattern for `runs`."""
    conditions = [bound_conditions(order, events) for order in events.orders]
    choosers = [tree_chooser(order, each) for order, each in zip(events.orders, estimates, strict=True)]
    takes = [loop_takes(order, events) for order in events.orders]
    return compile_tree(events, base, conditions, choosers, takes)
