"""Says how a pattern will be matched: as text, or as a mermaid flow chart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sparkcep.errors import PlanError
from sparkcep.logical.relevant_rows import relevant_conditions
from sparkcep.logical.slot_text import SlotText
from sparkcep.syntax.durations import within_text

if TYPE_CHECKING:
    from sparkcep.logical.bound import Condition, LogicalMatch
    from sparkcep.logical.event_bound import EventComponent, EventGap, EventOrder, EventTest, LogicalEvents
    from sparkcep.planning.plans import Decision
    from sparkcep.spark.matching import Compiled
    from sparkcep.syntax.event_pattern import EventPattern


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
    raise _unknown_format(form)


def explained_events(pattern: EventPattern, events: LogicalEvents, decision: Decision, form: str) -> str:
    """Return the explanation of the plan of an event pattern; arguments and errors as `explained`."""
    if form == "text":
        return "\n".join(_events_text(pattern, events, decision))
    if form == "mermaid":
        return "\n".join(_events_mermaid(events, decision))
    raise _unknown_format(form)


def _unknown_format(form: str) -> PlanError:
    return PlanError(
        "UNKNOWN_FORMAT", f"there is no format '{form}'", clause="explain", found=form, allowed=["text", "mermaid"]
    )


def _events_text(pattern: EventPattern, events: LogicalEvents, decision: Decision) -> list[str]:
    match = events.match
    lines = str(pattern).split("\n")
    lines.append(f"Partition by: {_listed(f.text for f in match.partition_by) or 'nothing (one partition)'}")
    lines.append(f"Order by: {_listed(key.expression for key in match.order_by)}")
    if events.within is not None:
        lines.append(f"Window of the whole match: {within_text(events.within)}")
    lines.append("Engines:")
    for candidate in decision.candidates:
        mark = "*" if candidate is decision.chosen else " "
        lines.append(f" {mark} {candidate.name}: {'' if candidate.legal else 'not legal, '}{candidate.reason}")
    lines.append("Bits, computed by Spark before the shuffle:")
    lines += [f"   {i}: {condition.text or 'always true'}" for i, condition in enumerate(match.conditions)]
    lines.append(_shuffled(events))
    texts = {column.name: column.text for column in match.hidden}
    if events.keys:
        lines.append(f"Class of an event: {_listed(texts.get(key, key) for key in events.keys)}")
    told = _TestText(events, texts)
    for number, order in enumerate(events.orders, 1):
        lines.append(f"Order {number} of {len(events.orders)}:")
        for i, component in enumerate(order.components):
            lines += told.component(i, component, order)
        for gap in order.gaps:
            lines += told.gap(gap, order)
    return lines


def _shuffled(events: LogicalEvents) -> str:
    """Tell which rows are matched at all, by the numbers of their bits."""
    asked = relevant_conditions(events)
    if asked is None:
        return "All rows go through the shuffle: any of them may count"
    return f"Rows that satisfy none of these are dropped before the shuffle: {'; '.join(map(_together, asked))}"


def _together(bits: tuple[int, ...]) -> str:
    return " and ".join(map(str, bits))


class _TestText:
    """Tells the components and negations of an event pattern."""

    def __init__(self, events: LogicalEvents, texts: dict[str, str]) -> None:
        self.labels = [variable.label for variable in events.variables]
        self.slots = SlotText(self.labels, events.operands, texts)

    def component(self, index: int, component: EventComponent, order: EventOrder) -> list[str]:
        """Tell a component: how many events it takes, which, and what may be passed over before it."""
        most = "" if component.most is None else component.most
        times = f"{{{component.least},{most}}}" if component.is_loop else ""
        behind, before = "", order.before[index]
        if order.following is not None:
            behind = f", then {' or '.join(map(str, sorted(order.after(index)))) or 'the end'}"
        elif before != frozenset(range(index)):
            behind = f", behind {sorted(before) or 'nothing'}"
        window = f", {within_text(component.within)} of the step before" if component.within else ""
        lines = [f"   {index}: {self.labels[component.variable]}{times} ({component.strategy}{behind}{window})"]
        lines.append(f"      begin: {self._test(component.begin)}")
        if component.is_loop:
            lines.append(f"      take: {self._test(component.take)}")
        if component.leave is not None:
            lines.append(f"      leave: {self.slots.of(component.leave)}")
        if component.until is not None:
            lines.append(f"      until: {self._test(component.until)}")
        return lines

    def gap(self, gap: EventGap, order: EventOrder) -> list[str]:
        """Tell a negation and the components around it."""
        before = self._named(order, gap.before) or "the start"
        after = self._named(order, gap.after) or "the end"
        window = f", {within_text(gap.within)}" if gap.within else ""
        return [
            f"   no {self.labels[gap.variable]} between {before} and {after}{window}",
            f"      witness: {self._test(gap.witness)}",
            *(f"      {self.labels[v]}: the last one before it" for v in sorted(gap.own_before)),
            *(f"      {self.labels[v]}: the first one behind it" for v in sorted(gap.own_after)),
        ]

    def _named(self, order: EventOrder, places: Iterable[int]) -> str:
        return _listed(dict.fromkeys(self.labels[order.components[i].variable] for i in sorted(places)))

    def _test(self, test: EventTest) -> str:
        parts = [f"bit {bit}" for bit in test.bits]
        if test.slots is not None:
            parts.append(self.slots.of(test.slots))
        return " AND ".join(parts) or "any event"


def _events_mermaid(events: LogicalEvents, decision: Decision) -> list[str]:
    match = events.match
    keys = _listed(f.text for f in match.partition_by) or "one partition"
    order = _listed(key.expression for key in match.order_by)
    return [
        "flowchart LR",
        f'  input["input<br/>{len(match.hidden)} hidden column(s), mask of {len(match.conditions)} bit(s)"]',
        f'  sorted["exchange by {keys}<br/>sort by {order}<br/>row_number"]',
        f'  engine["{decision.chosen.name}<br/>{len(events.orders)} order(s)"]',
        f'  result["one row per match<br/>{len(match.measures)} measure(s)"]',
        "  input --> sorted --> engine --> result",
    ]


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
