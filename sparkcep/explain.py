"""Says how a pattern will be matched: as text, or as a mermaid flow chart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sparkcep.errors import PlanError
from sparkcep.syntax.durations import within_text

if TYPE_CHECKING:
    from sparkcep.logical.bound import Condition, LogicalMatch
    from sparkcep.spark.matching import Compiled


def explained(match: LogicalMatch, plan: Compiled, form: str) -> str:
    """Return the explanation of a plan.

    Raises
    ------
    PlanError
        When `form` is neither "text" nor "mermaid".
    """
    if form == "text":
        return "\n".join(_text(match, plan))
    if form == "mermaid":
        return "\n".join(_mermaid(match, plan))
    raise PlanError(
        "UNKNOWN_FORMAT", f"there is no format '{form}'", clause="explain", found=form, allowed=["text", "mermaid"]
    )


def _text(match: LogicalMatch, plan: Compiled) -> list[str]:
    lines = [f"Pattern: {match.pattern}"]
    lines.append(f"Partition by: {_listed(f.text for f in match.partition_by) or 'nothing (one partition)'}")
    lines.append(f"Order by: {_listed(key.expression for key in match.order_by)}")
    if match.within is not None:
        lines.append(f"{within_text(match.within)}")
    lines.append(f"Rows per match: {match.rows_per_match}; after match: {_skip(match)}")
    lines.append("Engines:")
    for candidate in plan.decision.candidates:
        mark = "*" if candidate is plan.decision.chosen else " "
        lines.append(f" {mark} {candidate.name}: {'' if candidate.legal else 'not legal, '}{candidate.reason}")
    lines.append("Conditions:")
    lines += [f"   {_condition(condition)}" for condition in match.conditions]
    lines.append("Computed by Spark before the shuffle:")
    lines += [f"   {column.name} = {column.text}" for column in match.hidden] or ["   the mask of conditions"]
    if match.neighbours:
        lines.append("Neighbours, in the window that numbers the rows:")
        lines += [f"   {step.name} = {step.column} {step.shift:+d} row(s)" for step in match.neighbours]
    lines.append("Program:")
    program = str(plan.automaton if plan.automaton is not None else plan.program)
    lines += [f"   {line}" for line in program.split("\n")]
    if plan.automaton is None and match.slots is not None:
        lines.append("Slots:")
        lines += [f"   {line}" for line in str(plan.code).split("\n")]
    return lines


def _mermaid(match: LogicalMatch, plan: Compiled) -> list[str]:
    chosen = plan.decision.chosen
    keys = _listed(f.text for f in match.partition_by) or "one partition"
    order = _listed(key.expression for key in match.order_by)
    return [
        "flowchart LR",
        f'  input["input<br/>{len(match.hidden)} hidden column(s), mask of {len(match.variables)} bit(s)"]',
        f'  sorted["exchange by {keys}<br/>sort by {order}<br/>row_number, {len(match.neighbours)} neighbour(s)"]',
        f'  engine["{chosen.name}<br/>{match.pattern}"]',
        f'  result["{match.rows_per_match} per match<br/>{len(match.measures)} measure(s)"]',
        "  input --> sorted --> engine --> result",
    ]


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _skip(match: LogicalMatch) -> str:
    target = match.after_match.target
    return f"{match.after_match.mode} {target}" if target else match.after_match.mode


def _condition(condition: Condition) -> str:
    if condition.text is None:
        return f"{condition.variable}: always true"
    parts = []
    if condition.row_only is not None:
        place = "behind the window" if condition.row_only.numbered else "before the shuffle"
        parts.append(f"bit ({place}): {condition.row_only.text}")
    if condition.dependent:
        parts.append(f"while matching: {condition.text}")
    return f"{condition.variable}: " + "; ".join(parts)
