"""Binds a clause: resolves its names, checks the rules of the language, splits its expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkcep.errors import BindingError, PatternSyntaxError, Span, did_you_mean
from sparkcep.logical.bound import Condition, LogicalMatch
from sparkcep.logical.calls import SortKey
from sparkcep.logical.conditions import SplitCondition, split_condition
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.measures import MeasureBinder
from sparkcep.logical.scope import Clause, Names
from sparkcep.logical.slots import Operand, RowSet, SlotConditions
from sparkcep.logical.tokens import TokenRange, token_range
from sparkcep.logical.types import TypeOracle
from sparkcep.syntax.clause import Fragment, MatchRecognize, Measure
from sparkcep.syntax.pattern import Exclusion, variables_of, walk


def bind(
    clause: MatchRecognize,
    columns: Sequence[str],
    oracle: TypeOracle,
    *,
    aliases: Sequence[str] = (),
    is_aggregate: Callable[[str], bool] = lambda _name: False,
) -> LogicalMatch:
    """Return the meaning of `clause` over an input with these columns.

    Parameters
    ----------
    clause
        The clause as read from SQL or from arguments.
    columns
        Names of the input columns.
    oracle
        Asks Spark for types; runs no job.
    aliases
        Names the input relation may be called by.
    is_aggregate
        Tells whether a function unknown to us is an aggregate.

    Raises
    ------
    BindingError
        When a rule of ISO/IEC 19075-5 is broken or a name is unknown.
    """
    variables = variables_of(clause.pattern)
    subsets = _subsets(clause, variables)
    names = Names(variables, subsets, tuple(columns), tuple(aliases), is_aggregate)
    _check_definitions(clause, variables, subsets)
    _check_rows(clause, names)
    hidden = HiddenColumns(names)
    oracle.attach(hidden)
    conditions, slots = _conditions(clause, names, hidden, oracle)
    measures = MeasureBinder(names, hidden, oracle)
    texts = tuple(measures.bind(measure) for measure in clause.measures)
    return LogicalMatch(
        pattern=clause.pattern,
        variables=variables,
        subsets=subsets,
        partition_by=clause.partition_by,
        order_by=tuple(sort_key(fragment) for fragment in clause.order_by),
        rows_per_match=clause.rows_per_match,
        after_match=clause.after_match,
        skip_rows=_skip_rows(clause, names),
        within=clause.within,
        conditions=conditions,
        slots=slots,
        hidden=tuple(hidden.computed.values()),
        numbered=tuple(hidden.numbered.values()),
        neighbours=tuple(hidden.neighbours.values()),
        measures=texts,
        outputs=measures.named_outputs(),
        late_aggregates=tuple(measures.late),
        bare_columns=tuple(measures.bare),
        prefix=hidden.prefix,
        fragments=_fragments(clause),
    )


def _fragments(clause: MatchRecognize) -> dict[str, Fragment]:
    """Return the expressions that a message may point into, by the title of their place."""
    conditions = {f"DEFINE {definition.variable}": definition.condition for definition in clause.definitions}
    return conditions | {f"MEASURES {measure.name}": measure.expression for measure in clause.measures}


def sort_key(fragment: Fragment) -> SortKey:
    """Read ``expression [ASC|DESC] [NULLS FIRST|LAST]`` of ORDER BY."""
    expression, ascending, nulls_first = _tokens(fragment, "ORDER BY").sort_key()
    return SortKey(expression.text, ascending, nulls_first, fragment)


def _tokens(fragment: Fragment, title: str) -> TokenRange:
    try:
        return token_range(fragment.text)
    except PatternSyntaxError as error:
        raise Clause(title, fragment, Names((), {}, ())).unreadable(error) from None


def _conditions(
    clause: MatchRecognize, names: Names, hidden: HiddenColumns, oracle: TypeOracle
) -> tuple[tuple[Condition, ...], SlotConditions | None]:
    """Split every definition; variables without one are always true."""
    definitions = {definition.variable: definition for definition in clause.definitions}
    split: list[SplitCondition] = []
    for variable in names.variables:
        definition = definitions.get(variable)
        if definition is None:
            split.append(SplitCondition(Condition(variable), None))
        else:
            split.append(split_condition(definition, names, hidden, oracle))
    conditions = tuple(part.condition for part in split)
    if all(part.slots is None for part in split):
        return conditions, None
    operands: tuple[Operand, ...] = tuple(hidden.operands)
    return conditions, SlotConditions(names.variables, operands, tuple(part.slots for part in split))


# -- rules ----------------------------------------------------------------------------------------


def _subsets(clause: MatchRecognize, variables: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for subset in clause.subsets:
        if subset.name in variables or subset.name in found:
            raise BindingError(
                "DUPLICATE_VARIABLE",
                f"'{subset.name}' is already a variable",
                clause="SUBSET",
                text=subset.source,
                span=subset.name_span,
                found=subset.name,
                hint="give the union another name",
            )
        for position, member in enumerate(subset.members):
            if member not in variables:
                span = subset.member_spans[position] if subset.source is not None else None
                raise _not_in_pattern(member, variables, "SUBSET", subset.source, span)
        found[subset.name] = subset.members
    return found


def _not_in_pattern(
    name: str, variables: Sequence[str], where: str, source: str | None = None, span: Span | None = None
) -> BindingError:
    return BindingError(
        "UNKNOWN_VARIABLE",
        f"{where} names '{name}', which PATTERN lacks",
        clause=where,
        text=source if source is not None else name,
        span=span if source is not None else Span(0, len(name)),
        found=name,
        allowed=variables,
        hint=did_you_mean(name, variables),
    )


def _check_definitions(clause: MatchRecognize, variables: tuple[str, ...], subsets: dict[str, tuple[str, ...]]) -> None:
    seen: set[str] = set()
    for definition in clause.definitions:
        name = definition.variable
        if name in seen:
            raise BindingError(
                "DUPLICATE_DEFINITION",
                f"'{name}' is defined twice",
                clause="DEFINE",
                text=definition.condition.source,
                span=definition.span,
                found=name,
            )
        seen.add(name)
        if name in subsets:
            raise BindingError(
                "DEFINED_SUBSET",
                f"'{name}' is a union variable of SUBSET and cannot be defined",
                clause="DEFINE",
                text=definition.condition.source,
                span=definition.span,
                found=name,
                allowed=variables,
            )
        if name not in variables:
            raise _not_in_pattern(name, variables, "DEFINE", definition.condition.source, definition.span)


def _check_rows(clause: MatchRecognize, names: Names) -> None:
    for key in clause.partition_by:
        _tokens(key, "PARTITION BY")
    if not clause.order_by:
        raise BindingError(
            "MISSING_ORDER",
            "a pattern needs an order of rows",
            clause="ORDER BY",
            text=clause.source,
            span=clause.opener,
            allowed="order_by=[…] with at least one column" if clause.source is None else "ORDER BY column, …",
            hint="name the column that says when an event happened",
        )
    excluded = any(isinstance(node, Exclusion) for node in walk(clause.pattern))
    if excluded and clause.rows_per_match == "all with unmatched":
        raise BindingError(
            "EXCLUSION_WITH_UNMATCHED_ROWS",
            "{- -} cannot be combined with ALL ROWS PER MATCH WITH UNMATCHED ROWS",
            clause="PATTERN" if clause.source is None else "ROWS PER MATCH",
            text=clause.source,
            span=clause.rows_span,
            found="{- -}",
            allowed="ALL ROWS PER MATCH, OMIT EMPTY MATCHES, ONE ROW PER MATCH",
        )
    clash = _duplicate(clause.measures) or _clash(clause, names)
    if clash is not None:
        raise BindingError(
            "DUPLICATE_COLUMN",
            f"the result would have two columns '{clash.name}'",
            clause="MEASURES",
            text=clash.expression.source,
            span=clash.span,
            found=clash.name,
            hint="give the measure another name",
        )


def _duplicate(measures: Sequence[Measure]) -> Measure | None:
    """Return the second of two measures of one name."""
    seen: set[str] = set()
    for measure in measures:
        if measure.name.lower() in seen:
            return measure
        seen.add(measure.name.lower())
    return None


def _clash(clause: MatchRecognize, names: Names) -> Measure | None:
    """Return a measure with a name that a column of the result has too."""
    taken = names.columns if clause.rows_per_match != "one" else [key.text for key in clause.partition_by]
    folded = {name.lower().strip("`") for name in taken}
    return next((measure for measure in clause.measures if measure.name.lower() in folded), None)


def _skip_rows(clause: MatchRecognize, names: Names) -> RowSet | None:
    target = clause.after_match.target
    if target is None:
        return None
    if not names.is_variable(target):
        after, known = clause.after_match, (*names.variables, *names.subsets)
        raise _not_in_pattern(target, known, "AFTER MATCH SKIP", after.source, after.target_span)
    return names.rows_of(target)
