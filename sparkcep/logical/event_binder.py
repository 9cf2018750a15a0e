"""Binds an event pattern: resolves its names, checks the rules of the language, splits its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sparkcep.errors import BindingError, did_you_mean
from sparkcep.logical.binder import sort_key
from sparkcep.logical.bound import LogicalMatch, MeasureText
from sparkcep.logical.event_asked import check_timeouts, graph_of_absence
from sparkcep.logical.event_bound import (
    EventComponent,
    EventGap,
    EventOrder,
    EventTest,
    EventVariable,
    LogicalEvents,
)
from sparkcep.logical.event_conditions import Conjunct, ConjunctBinder, RowConditions, conjuncts_of, whole_condition
from sparkcep.logical.event_cycles import Walks
from sparkcep.logical.event_measures import (
    graph_measures,
    literal,
    moments,
    quoted,
    status_measures,
    variable_measures,
    written_measure,
)
from sparkcep.logical.event_orders import Leaf, Order, orders_of
from sparkcep.logical.event_placement import Placed, Placement, VariableInfo, joined
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.measures import MeasureBinder
from sparkcep.logical.outputs import Gathered, GraphColumns
from sparkcep.logical.scope import Clause, Names
from sparkcep.logical.slots import SlotExpression
from sparkcep.logical.tokens import token_range
from sparkcep.logical.types import TypeOracle
from sparkcep.syntax.clause import AfterMatch, Fragment, Measure, Within
from sparkcep.syntax.event_pattern import (
    ANY_EVENT,
    Component,
    EventNode,
    EventPattern,
    Group,
    Negation,
    Strategy,
    components_of,
    parts_of,
    variables_of,
)
from sparkcep.syntax.pattern import Label

DEFAULT_STRATEGY: Strategy = "skip_till_next_match"
_STEPS: dict[str, Strategy] = {
    "STRICT": "strict",
    "NEXT": "skip_till_next_match",
    "ANY": "skip_till_any_match",
}


RETURNED_INSTEAD = {"count": "a number per partition", "graph": "a graph of whole events"}
"""What has no room for measures, and what it returns in their place."""


def bind_events(
    pattern: EventPattern,
    columns: Sequence[str],
    oracle: TypeOracle,
    *,
    types: Mapping[str, Fragment],
    type_column: str | None,
    strategy: str | None,
    within: Within | None,
    partition_by: tuple[Fragment, ...],
    order_by: tuple[Fragment, ...],
    measures: tuple[Measure, ...] = (),
    aliases: Sequence[str] = (),
    is_aggregate: Callable[[str], bool] = lambda _name: False,
    matches: str = "all",
    inclusive: bool = True,
    timeouts: bool = False,
) -> LogicalEvents:
    """Return the meaning of an event pattern over an input with these columns.

    Parameters
    ----------
    pattern
        The pattern as read.
    columns
        Names of the input columns.
    oracle
        Asks Spark for types; runs no job.
    types, type_column
        Predicates by type name; else the column that holds an event's type.
    strategy, within, measures
        Arguments: what the text does not say.
    matches
        What is to be returned; "count" and "graph" have no measures.
    inclusive
        Whether windows that do not say so include their edge.
    timeouts
        Whether partial matches whose window closed are to be returned too.

    Raises
    ------
    BindingError
        When a rule of the language is broken or a name is unknown.
    """
    binder = _Binder(pattern, tuple(columns), oracle, types, type_column, aliases, is_aggregate, inclusive)
    return binder.bound(strategy, within, partition_by, order_by, measures, matches, timeouts)


class _Binder:
    def __init__(
        self,
        pattern: EventPattern,
        columns: tuple[str, ...],
        oracle: TypeOracle,
        types: Mapping[str, Fragment],
        type_column: str | None,
        aliases: Sequence[str],
        is_aggregate: Callable[[str], bool],
        inclusive: bool,
    ) -> None:
        self.pattern, self.oracle, self.inclusive = pattern, oracle, inclusive
        self.types, self.type_column = types, type_column
        self.infos = _infos(pattern.root, frozenset())
        self.names = Names(tuple(self.infos), {}, columns, tuple(aliases), is_aggregate)
        self.arrays = {name: info.is_array for name, info in self.infos.items()}
        self.hidden = HiddenColumns(self.names)
        oracle.attach(self.hidden)
        self.rows = RowConditions(self.hidden, oracle)
        self.text = pattern.source
        self.default: Strategy = DEFAULT_STRATEGY
        self.within: Within | None = None
        self.untils: dict[str, Conjunct] = {}

    def bound(
        self,
        strategy: str | None,
        within: Within | None,
        partition_by: tuple[Fragment, ...],
        order_by: tuple[Fragment, ...],
        measures: tuple[Measure, ...],
        matches: str,
        timeouts: bool,
    ) -> LogicalEvents:
        """Bind everything."""
        self.default = _strategy(self.pattern.strategy, strategy)
        self.within = self._window(_one_window(self.pattern.within, within))
        if not components_of(self.pattern.root):
            raise BindingError("NO_EVENT", "a pattern needs an event that happens", clause="PATTERN")
        if not order_by:
            raise _missing_order()
        orders, cyclic, placement = self._orders()
        found = [self._order(order, placement) for order in orders]
        found += [walks.bound(lambda order: self._order(order, placement)) for walks in cyclic]
        bound_orders = tuple(dict.fromkeys(found))
        placement.check_untils(self.untils.values())
        keys = tuple(self._key(key) for key in self.pattern.keys)
        binder = MeasureBinder(self.names, self.hidden, self.oracle)
        absent = any(not gap.after for o in bound_orders for gap in o.gaps)
        if timeouts:
            check_timeouts(bound_orders, self.within, matches)
        time = self.hidden.fresh("time") if absent or timeouts else None
        waiting = self.hidden.fresh("waiting") if timeouts else None
        texts, graph = self._measures(binder, order_by, partition_by, measures, (time, waiting), matches)
        read_time = any(isinstance(o, Gathered) and o.column == time for o in binder.outputs)
        return LogicalEvents(
            match=self._match(binder, texts, partition_by, order_by),
            variables=tuple(
                EventVariable(name, info.label, info.is_array, info.is_negated) for name, info in self.infos.items()
            ),
            orders=bound_orders,
            keys=keys,
            operands=tuple(self.hidden.operands),
            within=self.within,
            time=time if read_time else None,
            graph=graph,
            waiting=waiting,
        )

    def _match(
        self,
        binder: MeasureBinder,
        texts: tuple[MeasureText, ...],
        partition_by: tuple[Fragment, ...],
        order_by: tuple[Fragment, ...],
    ) -> LogicalMatch:
        hidden = self.hidden
        return LogicalMatch(
            pattern=Label(next(iter(self.infos))),
            variables=tuple(self.infos),
            subsets={},
            partition_by=partition_by,
            order_by=tuple(map(sort_key, order_by)),
            rows_per_match="one",
            after_match=AfterMatch(),
            skip_rows=None,
            within=None,
            conditions=self.rows.bound(),
            slots=None,
            hidden=tuple(hidden.computed.values()),
            numbered=tuple(hidden.numbered.values()),
            neighbours=tuple(hidden.neighbours.values()),
            measures=texts,
            outputs=binder.named_outputs(),
            late_aggregates=tuple(binder.late),
            bare_columns=tuple(binder.bare),
            prefix=hidden.prefix,
        )

    def _measures(
        self,
        binder: MeasureBinder,
        order_by: tuple[Fragment, ...],
        partition_by: tuple[Fragment, ...],
        measures: tuple[Measure, ...],
        filled_in: tuple[str | None, str | None],
        matches: str,
    ) -> tuple[tuple[MeasureText, ...], GraphColumns | None]:
        if self.pattern.returns and measures:
            raise BindingError(
                "CONTRADICTION",
                "the text has a RETURN, and measures= is given too",
                clause="RETURN",
                allowed="one of the two",
            )
        wanted = measures or self.pattern.returns
        if wanted and matches in RETURNED_INSTEAD:
            raise BindingError(
                "CONTRADICTION",
                f"matches='{matches}' returns {RETURNED_INSTEAD[matches]}, not what RETURN or measures= asks for",
                clause="RETURN" if self.pattern.returns else "measures",
                hint="leave RETURN out, or ask for matches='all'",
            )
        if matches == "count":
            return (), None
        time, waiting = filled_in
        status = [] if time is None or waiting is None else status_measures(binder, time, waiting)
        if wanted:
            _check_names([*(measure.name for measure in wanted), *(text.name for text in status)], partition_by)
            word = "MEASURES" if measures else "RETURN"
            return (*(written_measure(binder, measure, self.infos, word) for measure in wanted), *status), None
        order = self.hidden.column(sort_key(order_by[0]).expression, "ORDER BY")
        if matches == "graph":
            if time is not None:
                raise graph_of_absence()
            texts, graph = graph_measures(binder, order, self.names.columns)
            _check_names([text.name for text in texts], partition_by)
            return texts, graph
        fixed = moments(binder, order, order if time is None else time, waiting)
        events = variable_measures(variables_of(self.pattern.root), self.infos, self.names.columns)
        named = [*(text.name for text in (*fixed, *status)), *(measure.name for measure in events)]
        _check_names(named, partition_by)
        return (*fixed, *(binder.bind(measure, "RETURN") for measure in events), *status), None

    # -- windows, keys, types -------------------------------------------------------------------

    def _window(self, within: Within | None) -> Within | None:
        if within is None:
            return None
        chosen = within if self.inclusive or within.stated else replace(within, inclusive=False)
        least = 1 if chosen.unit == "events" else 0
        amount = float(chosen.amount)
        if amount < least or (amount == least and not chosen.inclusive):
            raise BindingError(
                "WRONG_WITHIN",
                f"a window of {within.amount} can never hold"
                + ("" if chosen.inclusive else " when its edge is excluded"),
                clause="WITHIN",
                text=self.text,
                span=within.span if self.text else None,
                found=str(within.amount),
            )
        return chosen

    def _key(self, key: Fragment) -> str:
        clause = Clause("WHERE", key, self.names)
        try:
            self.oracle.types([key.text], clause="WHERE")
        except BindingError as error:
            raise clause.located(error) from None
        if not self.hidden.mentions(key.text):
            raise clause.error(
                "KEY_WITHOUT_COLUMN", f"[{key.text}] names no column: all events are equal in it", 0, len(key.text),
                found=key.text, allowed=", ".join(self.names.columns),
            )  # fmt: skip
        return self.hidden.column(key.text, "WHERE")

    def _type_bits(self, node: Component | Negation) -> tuple[int, ...]:
        """Return the bit of a type; none for the type of any event."""
        name = node.type_name
        if name in self.types:
            clause = Clause(f"TYPE {name}", self.types[name], self.names)
            return (self.rows.bit(self.types[name].text, clause, name),)
        if name == ANY_EVENT:
            return ()
        if self.type_column is None:
            raise BindingError(
                "UNKNOWN_TYPE",
                f"nobody says which events are of type {name}",
                clause="PATTERN",
                text=self.text,
                span=node.type_span if self.text else None,
                found=name,
                allowed=(*self.types, ANY_EVENT),
                hint=did_you_mean(name, tuple(self.types))
                or f"types={{'{name}': 'event = …'}}, or type_column= the column that holds it",
            )
        column = self.names.column(self.type_column.strip("`"))
        text = f"{self.type_column if column is None else quoted(column)} = {literal(name)}"
        return (self.rows.bit(text, Clause("type_column", Fragment(text), self.names), name),)

    # -- orders ----------------------------------------------------------------------------------

    def _strategy_of(self, component: Component) -> Strategy:
        return _STEPS[component.strategy] if component.strategy else self.default

    def _orders(self) -> tuple[list[Order], list[Walks], Placement]:
        conjuncts: list[Conjunct] = []
        for condition in self.pattern.conditions:
            if isinstance(condition, Fragment):
                conjuncts += conjuncts_of(condition, "WHERE", self.names, self.arrays)
        placement = Placement(conjuncts, self.infos, ConjunctBinder(tuple(self.infos), self.rows))
        finite, endless = orders_of(self.pattern.root, self._strategy_of, self.text)
        tracked = self._names_in_conditions(conjuncts)
        cyclic = [Walks(structure, tracked, self.text) for structure in endless]
        orders = [*finite, *(order for walks in cyclic for order in walks.orders)]
        for conjunct in conjuncts:
            if not any(conjunct.variables <= order.names for order in orders):
                names = ", ".join(self.infos[name].label for name in sorted(conjunct.variables))
                raise conjunct.error(
                    "NO_BRANCH", f"no branch of the pattern binds all of {names}", hint="they exclude each other"
                )
        followers = {leaf.name for order in orders for k, leaf in enumerate(order.components) if order.before[k]}
        for component in components_of(self.pattern.root):
            if component.within is not None and component.variable.name not in followers:
                raise self._at(
                    component, "WRONG_WITHIN", f"WITHIN of {component.variable.label} counts from the step before it",
                    hint="a window of the whole match stands behind the pattern",
                )  # fmt: skip
        return finite, cyclic, placement

    def _names_in_conditions(self, conjuncts: Sequence[Conjunct]) -> frozenset[str]:
        """Return the variables that decide by their places where a condition sits and what it reads."""
        for component in components_of(self.pattern.root):
            if component.until is not None:
                self._until_condition(component)
        return frozenset(name for conjunct in (*conjuncts, *self.untils.values()) for name in conjunct.variables)

    def _at(self, node: Component | Negation, code: str, message: str, hint: str | None = None) -> BindingError:
        return BindingError(
            code, message, clause="PATTERN", text=self.text, span=node.span if self.text else None, hint=hint
        )

    def _order(self, order: Order, placement: Placement) -> EventOrder:
        placed = placement.placed(order)
        components = tuple(
            self._component(order, placement, k, leaf, conjuncts)
            for k, (leaf, conjuncts) in enumerate(zip(order.components, placed, strict=True))
        )
        return EventOrder(components, order.before, tuple(self._gap(order, placement, *gap) for gap in order.gaps))

    def _component(self, order: Order, placement: Placement, k: int, leaf: Leaf, placed: Placed) -> EventComponent:
        node = leaf.node
        assert isinstance(node, Component)
        bits = self._type_bits(node)
        begin, take, leave = joined(placed.begin), joined(placed.take), joined(placed.leave)
        return EventComponent(
            variable=self.names.variables.index(leaf.name),
            least=max(1, node.quantifier.minimum if node.quantifier else 1),
            most=node.quantifier.maximum if node.quantifier else 1,
            is_loop=node.is_loop,
            strategy=self._strategy_of(node),
            begin=EventTest((*bits, *begin.bits), begin.slots),
            take=EventTest((*bits, *take.bits), take.slots),
            leave=_only_slots(leave),
            until=self._until(order, placement, k, node),
            within=self._window(node.within) if order.before[k] else None,
        )

    def _until(self, order: Order, placement: Placement, k: int, node: Component) -> EventTest | None:
        if node.until is None:
            return None
        return placement.until(self._until_condition(node), order, k)

    def _until_condition(self, node: Component) -> Conjunct:
        assert node.until is not None
        name = node.variable.name
        if name not in self.untils:
            title = f"UNTIL of {node.variable.label}"
            self.untils[name] = whole_condition(node.until, title, self.names, self.arrays)
        return self.untils[name]

    def _gap(
        self, order: Order, placement: Placement, leaf: Leaf, before: frozenset[int], after: frozenset[int]
    ) -> EventGap:
        node = leaf.node
        assert isinstance(node, Negation)
        if not (before and after) and self.within is None and node.within is None:
            raise self._at(
                node, "MISSING_WITHIN", f"~{node.variable.label} stands at an end of its sequence and needs a window",
                hint=f"WITHIN behind the pattern, or ~({node.type_name} {node.variable.label}) WITHIN 10 minutes",
            )  # fmt: skip
        witness = placement.witness(order, leaf)
        read = placement.read_in_round(order, leaf).items() if order.is_sequence else ()
        return EventGap(
            variable=self.names.variables.index(leaf.name),
            before=before,
            after=after,
            witness=EventTest((*self._type_bits(node), *witness.bits), witness.slots),
            within=self._window(node.within),
            own_before=frozenset(self.names.variables.index(name) for name, spot in read if spot in before),
            own_after=frozenset(self.names.variables.index(name) for name, spot in read if spot in after),
        )


def _only_slots(test: EventTest) -> SlotExpression | None:
    """Return the condition on leaving a loop; it reads nothing but what has been taken."""
    assert not test.bits
    return test.slots


def _infos(node: EventNode, groups: frozenset[int]) -> dict[str, VariableInfo]:
    """Return the variables below a node, in text order."""
    if isinstance(node, Component):
        return {node.variable.name: VariableInfo(node.variable.label, groups, node.is_loop, False)}
    if isinstance(node, Negation):
        return {node.variable.name: VariableInfo(node.variable.label, groups, False, True)}
    inside = groups | {node.span.start} if isinstance(node, Group) and _repeats(node) else groups
    found: dict[str, VariableInfo] = {}
    for part in parts_of(node):
        found |= _infos(part, inside)
    return found


def _repeats(group: Group) -> bool:
    return group.quantifier is not None and group.quantifier.repeats


def _strategy(text: Strategy | None, argument: str | None) -> Strategy:
    if text is not None and argument is not None and text != argument:
        raise BindingError(
            "CONTRADICTION",
            f"the text says {text}, the argument strategy={argument!r}",
            clause="strategy",
            found=argument,
            hint="say it once",
        )
    return text or argument or DEFAULT_STRATEGY  # type: ignore[return-value]


def _one_window(text: Within | None, argument: Within | None) -> Within | None:
    if text is not None and argument is not None and replace(text, span=argument.span) != argument:
        raise BindingError(
            "CONTRADICTION", "WITHIN of the text and within= differ", clause="WITHIN", hint="say it once"
        )
    return text if text is not None else argument


def _missing_order() -> BindingError:
    return BindingError(
        "MISSING_ORDER",
        "a pattern needs an order of events",
        clause="ORDER BY",
        allowed="order_by=[…] with at least one column",
        hint="name the column that says when an event happened",
    )


def _check_names(names: Sequence[str], partition_by: Sequence[Fragment]) -> None:
    """Refuse two columns of one name."""
    seen = {_column_name(key.text).lower() for key in partition_by}
    for name in names:
        if name.lower() in seen:
            raise BindingError(
                "DUPLICATE_COLUMN",
                f"the result would have two columns '{name}'",
                clause="RETURN",
                found=name,
                hint="RETURN names the columns; so does another variable name",
            )
        seen.add(name.lower())


def _column_name(text: str) -> str:
    """Return the name of a partition column: ``k`` of ``k``, ``t.k`` and ``f(x) AS k``."""
    tokens = token_range(text)
    return tokens.plain_name(tokens.last - 1) if tokens.is_name(tokens.last - 1) else text
