"""Says how a pattern will be matched: as text, as a mermaid flow chart, or as a page of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkcep.errors import PlanError
from sparkcep.explain_page import Step, flow_chart, page, verdict
from sparkcep.logical.relevant_rows import relevant_conditions
from sparkcep.logical.slot_text import SlotText
from sparkcep.planning.windows import rows_fetched
from sparkcep.syntax.durations import within_text

if TYPE_CHECKING:
    from sparkcep.logical.bound import Condition, LogicalMatch
    from sparkcep.logical.event_bound import EventComponent, EventGap, EventOrder, EventTest, LogicalEvents
    from sparkcep.logical.slots import RowReference
    from sparkcep.planning.counters import Counters
    from sparkcep.planning.plans import Decision
    from sparkcep.planning.windows import FixedRows
    from sparkcep.spark.matching import Compiled
    from sparkcep.syntax.event_pattern import EventPattern


FORMATS = ("text", "mermaid", "html")
Settings = Mapping[str, str]


def explained(
    match: LogicalMatch, plan: Compiled, form: str, settings: Settings, counters: Counters | None = None
) -> str:
    """Return the explanation of a plan.

    Parameters
    ----------
    form
        "text", "mermaid" or "html".
    settings
        Settings of Spark that matter for the plan, by name.
    counters
        What was counted when the match ran.

    Raises
    ------
    PlanError
        There is no such form.
    """
    title, way, lines = f"Pattern {match.pattern}", _way(match, plan), _text(match, plan)
    return _formed(form, title, way, plan.decision, lines, settings, counters)


def explained_events(
    pattern: EventPattern,
    events: LogicalEvents,
    decision: Decision,
    form: str,
    settings: Settings,
    counters: Counters | None = None,
) -> str:
    """Return the explanation of the plan of an event pattern; arguments and errors as `explained`."""
    title, lines = str(pattern).split("\n", maxsplit=1)[0], _events_text(pattern, events, decision)
    return _formed(form, title, _events_way(events, decision), decision, lines, settings, counters)


def _formed(
    form: str,
    title: str,
    way: Sequence[Step],
    decision: Decision,
    lines: list[str],
    settings: Settings,
    counters: Counters | None,
) -> str:
    if form not in FORMATS:
        raise PlanError(
            "UNKNOWN_FORMAT", f"there is no format '{form}'", clause="explain", found=form, allowed=list(FORMATS)
        )
    if counters is not None:
        way = [replace(step, lines=(*step.lines, *_seen(step, counters))) for step in way]
        lines = [*lines, *_observed(counters, decision)]
    if form == "mermaid":
        return flow_chart(way, decision)
    lines = [*lines, "Settings that matter:", *(f"   {name} = {value}" for name, value in settings.items())]
    return "\n".join(lines) if form == "text" else page(title, way, decision, lines)


def _seen(step: Step, counters: Counters) -> list[str]:
    """Return what was counted at a step."""
    names = ("rows", "condition tests") if step.chosen else ("matches",) if step.title == "result" else ()
    counted = counters.counted()
    return [f"observed: {counted[name]:,} {name}" for name in names if name in counted]


def _observed(counters: Counters, decision: Decision) -> list[str]:
    """Tell what was counted, beside what the planner expected of it."""
    lines = ["Observed:", f"   plan: {counters.plan}"]
    for name, value in counters.counted().items():
        told = f"   {name}: {value:,}"
        if name == "condition tests" and counters.rows:
            told += f", {value / counters.rows:,.1f} per row{_expected(counters, decision)}"
        lines.append(told)
    if counters.uncounted():
        lines.append(f"   not counted in this run: {', '.join(counters.uncounted())}")
    return lines


def _expected(counters: Counters, decision: Decision) -> str:
    """Tell how many tests the planner expected, where it had to know."""
    chosen = decision.chosen
    visits = chosen.work.visits if chosen.work is not None else chosen.cost if chosen.name == "sweep" else None
    return "" if visits is None or chosen.name != counters.plan else f" ({visits:,.1f} were expected)"


def _engines(decision: Decision) -> list[str]:
    lines = ["Engines:"]
    for candidate in decision.candidates:
        mark = "*" if candidate is decision.chosen else " "
        lines.append(f" {mark} {candidate.name}: {verdict(candidate, decision)}, {candidate.reason}")
    return lines


def _events_text(pattern: EventPattern, events: LogicalEvents, decision: Decision) -> list[str]:
    match = events.match
    lines = str(pattern).split("\n")
    lines.append(f"Partition by: {_listed(f.text for f in match.partition_by) or 'nothing (one partition)'}")
    lines.append(f"Order by: {_listed(key.expression for key in match.order_by)}")
    if events.within is not None:
        lines.append(f"Window of the whole match: {within_text(events.within)}")
    lines += _engines(decision)
    lines.append("Bits, computed by Spark before the shuffle:")
    lines += [f"   {i}: {condition.text or 'always true'}" for i, condition in enumerate(match.conditions)]
    lines.append(_shuffled(events))
    lines += decision.notes
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


def _events_way(events: LogicalEvents, decision: Decision) -> list[Step]:
    match = events.match
    read = (f"{len(match.hidden)} hidden column(s)", f"mask of {len(match.conditions)} bit(s)", _shuffled(events))
    return [
        Step("input", read),
        _sorted(match, ()),
        Step(decision.chosen.name, (f"{len(events.orders)} order(s)",), chosen=True),
        Step("result", ("one row per match", f"{len(match.measures)} measure(s)")),
    ]


def _sorted(match: LogicalMatch, more: tuple[str, ...]) -> Step:
    keys = _listed(f.text for f in match.partition_by) or "one partition"
    order = _listed(key.expression for key in match.order_by)
    return Step(f"exchange by {keys}", (f"sort by {order}", *more))


def _text(match: LogicalMatch, plan: Compiled) -> list[str]:
    lines = [f"Pattern: {match.pattern}"]
    lines.append(f"Partition by: {_listed(f.text for f in match.partition_by) or 'nothing (one partition)'}")
    lines.append(f"Order by: {_listed(key.expression for key in match.order_by)}")
    if match.within is not None:
        lines.append(f"{within_text(match.within)}")
    lines.append(f"Rows per match: {match.rows_per_match}; after match: {_skip(match)}")
    lines += _engines(plan.decision)
    lines += plan.decision.notes
    lines.append("Conditions:")
    lines += [f"   {_condition(condition)}" for condition in match.conditions]
    lines.append("Computed by Spark before the shuffle:")
    lines += [f"   {column.name} = {column.text}" for column in match.hidden] or ["   the mask of conditions"]
    if match.neighbours:
        lines.append("Neighbours, in the window that numbers the rows:")
        lines += [f"   {step.name} = {step.column} {step.shift:+d} row(s)" for step in match.neighbours]
    lines.append("Program:")
    if plan.fixed is not None:
        return lines + [f"   {line}" for line in _fixed_rows(match, plan.fixed)]
    program = str(plan.automaton if plan.automaton is not None else plan.program)
    lines += [f"   {line}" for line in program.split("\n")]
    if plan.automaton is None and match.slots is not None:
        lines.append("Slots:")
        lines += [f"   {line}" for line in str(plan.code).split("\n")]
    return lines


def _fixed_rows(match: LogicalMatch, rows: FixedRows) -> list[str]:
    """Tell what each row of a match must satisfy."""
    operands = match.slots.operands if match.slots is not None else ()
    told = _KnownRowText(match.variables, operands, {column.name: column.text for column in match.hidden})
    lines = []
    for row, (variable, tree) in enumerate(zip(rows.variables, rows.conditions, strict=True)):
        parts = ["its bit"] if match.conditions[variable].row_only is not None else []
        parts += [told.of(tree)] if tree is not None else []
        lines.append(f"row {row}: {match.variables[variable]}: {' AND '.join(parts) or 'always true'}")
    apart = {
        "allowed": "every start counts",
        "none": "conditions exclude that two matches overlap",
        "neighbours": "of neighbouring starts every other counts",
    }
    return [*lines, f"the next match starts {rows.step} row(s) on or later: {apart[rows.overlaps]}"]


class _KnownRowText(SlotText):
    def _at(self, at: RowReference) -> str:
        return f"row {at.offset}"


def _way(match: LogicalMatch, plan: Compiled) -> list[Step]:
    read = (f"{len(match.hidden)} hidden column(s)", f"mask of {len(match.variables)} bit(s)")
    if plan.fixed is not None:
        fetched = f"{rows_fetched(match, plan.fixed)} value(s) of later rows by LEAD"
        engine = Step(plan.decision.chosen.name, (str(match.pattern), "rows that start a match go on"), chosen=True)
    else:
        fetched = f"row_number, {len(match.neighbours)} neighbour(s)"
        engine = Step(plan.decision.chosen.name, (str(match.pattern),), chosen=True)
    result = Step("result", (f"{match.rows_per_match} per match", f"{len(match.measures)} measure(s)"))
    return [Step("input", read), _sorted(match, (fetched,)), engine, result]


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
