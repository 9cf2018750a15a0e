"""Whether the events of a pattern may be bound in any order, and what is then tested of which of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, get_args

from sparkcep.errors import PlanError, did_you_mean
from sparkcep.logical.event_bound import EventComponent, EventOrder, LogicalEvents
from sparkcep.logical.slots import (
    BIGINT,
    CURRENT_ROW,
    Comparison,
    ConstantValue,
    Logic,
    Read,
    RowReference,
    RowSet,
    Running,
    SlotExpression,
    SparkCondition,
    conjuncts,
    nodes,
)
from sparkcep.planning.orders import greedy_order
from sparkcep.planning.statistics import Estimates, Statistics

BoundCondition: TypeAlias = tuple[frozenset[int], SlotExpression]
_NODES = get_args(SlotExpression)


@dataclass(frozen=True, slots=True)
class GreedyChooser:
    """Chooses the order in which components are bound, greedily, by how many events each may take.

    Attributes
    ----------
    estimates
        Selectivities of the conditions; the rates are those of the rows at hand.
    """

    estimates: Estimates

    def __call__(self, counts: Sequence[float]) -> tuple[int, ...]:
        """Return places of components, the first one to be bound first."""
        return greedy_order(self.estimates.with_rates(counts)).order


def obstacle(events: LogicalEvents) -> str | None:
    """Return why the events of a pattern may not be bound in any order, None if they may.

    What reordering finds is the set of skip-till-any-match: each way to bind the variables counts
    (semantics, section 4).
    """
    for order in events.orders:
        if order.following is not None:
            return "a group repeats without end"
        variables = [component.variable for component in order.components]
        if len(set(variables)) < len(variables):
            return "a group repeats, so that a variable takes several events"
        for component in order.components:
            label = events.variables[component.variable].label
            if component.strategy != "skip_till_any_match":
                return f"it finds what skip_till_any_match does, and {label} asks for {component.strategy}"
            if component.is_loop:
                return f"{label} takes several events"
            if not _is_plain(component, set(variables)):
                return f"the condition of {label} aggregates"
    return None


def _is_plain(component: EventComponent, variables: set[int]) -> bool:
    """Whether conditions read single events of this order, and nothing else."""
    if component.leave is not None:
        return False
    for node in nodes(component.begin.slots):
        if isinstance(node, Running):
            if node.operand is not None or node.rows == RowSet(frozenset({component.variable})):
                return False
        elif isinstance(node, Read) and node.at != CURRENT_ROW:
            of = node.at.rows.variables
            if of is None or not of <= variables - {component.variable} or node.at.offset:
                return False
    return True


def spark_condition(events: LogicalEvents) -> SparkCondition | None:
    """Return a condition on several events that only a join may test, None if there is none."""
    tested: list[SlotExpression | None] = []
    for order in events.orders:
        for component in order.components:
            until = component.until.slots if component.until is not None else None
            tested += [component.begin.slots, component.take.slots, component.leave, until]
        tested += [gap.witness.slots for gap in order.gaps]
    return next((node for tree in tested for node in nodes(tree) if isinstance(node, SparkCondition)), None)


def bound_conditions(order: EventOrder, events: LogicalEvents) -> tuple[BoundCondition, ...]:
    """Return the conditions on several events of an order, each once, with the components that they read.

    Every read names the variable of its event: none is of an event under test. What the class of
    the events says already is left out.

    Parameters
    ----------
    order
        One of the orders of `events`, a pattern without an `obstacle` to the plan.
    """
    place = {component.variable: k for k, component in enumerate(order.components)}
    loops = frozenset(component.variable for component in order.components if component.is_loop)
    found: dict[SlotExpression, frozenset[int]] = {}
    for component in order.components:
        for conjunct in conjuncts(component.begin.slots):
            tree = _without_guard(_resolved(conjunct, component.variable, loops))
            read = {place[v] for node in nodes(tree) if isinstance(node, Read) for v in node.at.rows.variables or ()}
            if not is_implied(tree, events):
                found[tree] = frozenset(read or {place[component.variable]})
    return tuple((read, tree) for tree, read in found.items())


def _resolved(tree: Any, own: int, loops: frozenset[int]) -> Any:
    """Return a condition of variable `own` as one on bound events; of a loop on its first or last one.

    All its variables have taken their events when it is tested.
    """
    if isinstance(tree, tuple):
        return tuple(_resolved(part, own, loops) for part in tree)
    if isinstance(tree, Running):
        return ConstantValue(1, BIGINT)
    if isinstance(tree, Read):
        if tree.at == CURRENT_ROW:
            return replace(tree, at=RowReference(RowSet(frozenset({own})), "first" if own in loops else "last"))
        of = tree.at.rows
        return replace(tree, at=RowReference(of, tree.at.end if (of.variables or loops) <= loops else "last"))
    if not isinstance(tree, _NODES):
        return tree
    return replace(tree, **{part.name: _resolved(getattr(tree, part.name), own, loops) for part in fields(tree)})


def _without_guard(tree: SlotExpression) -> SlotExpression:
    """Take off what lets a condition wait for parts of AND that come later."""
    if isinstance(tree, Logic) and tree.operator == "or" and _is_never(tree.left):
        return tree.right
    return tree


def _is_never(tree: SlotExpression) -> bool:
    if isinstance(tree, Logic) and tree.operator == "or":
        return _is_never(tree.left) and _is_never(tree.right)
    return isinstance(tree, Comparison) and tree.operator == "<" and tree.left == tree.right


def is_implied(tree: SlotExpression, events: LogicalEvents) -> bool:
    """Whether events of one class satisfy a condition: they are equal in the columns of its keys."""
    if not (isinstance(tree, Comparison) and tree.operator == "="):
        return False
    one, other = tree.left, tree.right
    equal = isinstance(one, Read) and isinstance(other, Read) and one.operand == other.operand
    return equal and isinstance(one, Read) and events.operands[one.operand].column in events.keys


def named_statistics(statistics: Statistics, events: LogicalEvents) -> Statistics:
    """Return statistics whose variables have the names that the pattern gives them.

    Raises
    ------
    PlanError
        UNKNOWN_VARIABLE.
    """
    labels = {variable.name: variable.label for variable in events.variables}
    by_label = {label: label for label in labels.values()}

    def label(name: str) -> str:
        found = by_label.get(name) or labels.get(name.upper())
        if found is None:
            raise PlanError(
                "UNKNOWN_VARIABLE",
                f"the pattern has no variable '{name}'",
                clause="options",
                found=name,
                allowed=list(by_label),
                hint=did_you_mean(name, by_label),
            )
        return found

    return Statistics(
        {label(name): rate for name, rate in statistics.rates.items()},
        {tuple(map(label, names)): share for names, share in statistics.selectivities.items()},
        {label(name): share for name, share in statistics.presence.items()},
        statistics.largest,
        statistics.rows,
    )


def estimates_of(order: EventOrder, events: LogicalEvents, statistics: Statistics) -> Estimates:
    """Return what is known, from `named_statistics`, or assumed of the components of an order."""
    labels = [events.variables[component.variable].label for component in order.components]
    return statistics.estimates(labels, bound_conditions(order, events))
