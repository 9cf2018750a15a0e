"""The columns of a match of events, as measures of a row pattern over its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkcep.errors import BindingError
from sparkcep.logical.bound import MeasureText
from sparkcep.logical.event_placement import VariableInfo
from sparkcep.logical.event_text import Reference, read_event_expression
from sparkcep.logical.measures import MeasureBinder
from sparkcep.logical.outputs import CLASSIFIER, Collected, Gathered, GraphColumns, Numbered, Output
from sparkcep.logical.scope import Clause
from sparkcep.logical.slots import ALL_ROWS
from sparkcep.syntax.clause import Fragment, Measure
from sparkcep.syntax.event_pattern import Variable


def moments(binder: MeasureBinder, order: str, time: str, waiting: str | None) -> list[MeasureText]:
    """Return match_number, match_start, match_end and match_time, read from these columns."""
    outputs: dict[str, Output] = {
        "match_number": Numbered(""),
        "match_start": Gathered("", order, ALL_ROWS, "first"),
        "match_end": Gathered("", order, ALL_ROWS, "last"),
        "match_time": Gathered("", time, ALL_ROWS, "last"),
    }
    texts = {name: binder.output(output) for name, output in outputs.items()}
    if waiting is not None:
        texts["match_number"] = f"IF({_waited(binder, waiting)} IS NULL, {texts['match_number']}, NULL)"
    return [MeasureText(name, text, f"RETURN {name}") for name, text in texts.items()]


def status_measures(binder: MeasureBinder, time: str, waiting: str) -> list[MeasureText]:
    """Return match_status, waiting_for and deadline, the last two NULL for matches."""
    waited = _waited(binder, waiting)
    deadline = binder.output(Gathered("", time, ALL_ROWS, "last"))
    texts = {
        "match_status": f"IF({waited} IS NULL, 'match', 'timeout')",
        "waiting_for": waited,
        "deadline": f"IF({waited} IS NULL, NULL, {deadline})",
    }
    return [MeasureText(name, text, f"RETURN {name}") for name, text in texts.items()]


def _waited(binder: MeasureBinder, waiting: str) -> str:
    return binder.output(Gathered("", waiting, ALL_ROWS, "last"))


def graph_measures(
    binder: MeasureBinder, order: str, columns: Sequence[str]
) -> tuple[tuple[MeasureText, ...], GraphColumns]:
    """Return match_end, match_count and graph, and the columns that hold their parts.

    The matcher tells a node's variable and columns in one struct and its predecessors in another
    array; Spark puts them together, a union without an event.
    """
    hidden = binder.hidden
    held = GraphColumns(
        end=binder.output(Gathered("", order, ALL_ROWS, "last")),
        nodes=binder.output(Collected("", (CLASSIFIER, *columns), ALL_ROWS)),
        count=hidden.fresh("count"),
        preds=hidden.fresh("preds"),
        roots=hidden.fresh("roots"),
    )
    fields = ", ".join(f"{literal(column)}, n.f{place}" for place, column in enumerate(columns, 1))
    event = f"IF(n.f0 IS NULL, NULL, named_struct({fields}))"
    node = f"named_struct('variable', n.f0, 'event', {event}, 'preds', {held.preds}[i])"
    graph = f"named_struct('nodes', transform({held.nodes}, (n, i) -> {node}), 'roots', {held.roots})"
    texts = {"match_end": held.end, "match_count": held.count, "graph": graph}
    return tuple(MeasureText(name, text, f"RETURN {name}") for name, text in texts.items()), held


def variable_measures(
    variables: Sequence[Variable], infos: Mapping[str, VariableInfo], columns: Sequence[str]
) -> list[Measure]:
    """Return a struct of all columns, or an array of such structs, per positive variable."""
    found = []
    for variable in variables:
        info = infos[variable.name]
        if info.is_negated:
            continue
        fields = ", ".join(f"{literal(column)}, {variable}.{quoted(column)}" for column in columns)
        function = "ARRAY_AGG" if info.is_array else "LAST"
        found.append(Measure(info.label, Fragment(f"{function}(named_struct({fields}))")))
    return found


def written_measure(
    binder: MeasureBinder, measure: Measure, infos: Mapping[str, VariableInfo], word: str
) -> MeasureText:
    """Bind ``expression AS name`` of RETURN, whose words are those of MEASURES but for elements.

    ``b[1].x`` is FIRST(b.x), ``b[b.LEN].x`` LAST(b.x).

    Raises
    ------
    BindingError
        WRONG_RETURN, MISSING_VARIABLE: an expression reads one element of a loop while it runs, a negated
        variable, ``b.x`` of an array, or a column of no event.
    """
    clause = Clause(f"{word} {measure.name}", measure.expression, binder.names)
    try:
        return binder.bind(_written(measure, clause, infos), word)
    except BindingError as error:
        raise clause.located(error) from None


def _written(measure: Measure, clause: Clause, infos: Mapping[str, VariableInfo]) -> Measure:
    template = read_event_expression(clause, {name: info.is_array for name, info in infos.items()})
    for column, start, end in template.bare[:1]:
        shown = [info.label for info in infos.values() if not info.is_negated]
        raise clause.error(
            "MISSING_VARIABLE",
            f"'{column}' is a column of which event?",
            start,
            end,
            found=column,
            allowed=", ".join(f"{label}.{column}" for label in shown),
            hint="partition columns are in the result without being asked for",
        )
    for reference in template.references:
        _check(reference, clause, infos[reference.variable])
    source = measure.expression.text
    text = template.spliced(lambda reference: _navigation(reference, source))
    fragment = measure.expression if text == source else Fragment(text)
    return Measure(measure.name, fragment)


def _navigation(reference: Reference, source: str) -> str:
    shown = source[reference.start : reference.end]
    name = shown.split("[", 1)[0].strip()
    if reference.function is None:
        wrap = {"first": "FIRST", "last": "LAST", "each": None}[reference.form]
        return shown if wrap is None else f"{wrap}({name}.{reference.text})"
    if reference.text:
        return shown
    inside = shown[shown.index("(") + 1 : -1].strip()
    return shown if inside.endswith("*") else f"{shown[: shown.index('(')]}({inside}.*)"


def _check(reference: Reference, clause: Clause, info: VariableInfo) -> None:
    problem = None
    if info.is_negated:
        problem = f"{info.label} must not happen: a match has no such event"
    elif reference.form in ("later", "previous", "before"):
        problem = f"RETURN sees whole matches: no element of {info.label} is the one before"
    elif info.is_array and reference.form == "each":
        problem = f"{info.label} may hold several events: which of them is meant?"
    elif not info.is_array and reference.form not in ("each", "whole"):
        problem = f"{info.label} takes one event and has no elements"
    if problem is None:
        return
    label, column = info.label, reference.text or "x"
    array = f"{label}[1].{column}, {label}[{label}.LEN].{column}, MIN, MAX or ARRAY_AGG({label}.{column})"
    raise clause.error(
        "WRONG_RETURN",
        problem,
        reference.start,
        reference.end,
        found=clause.fragment.text[reference.start : reference.end],
        allowed=None if info.is_negated else array if info.is_array else f"{label}.{column}",
    )


def quoted(name: str) -> str:
    """Return a column's name as Spark reads it."""
    return f"`{name.replace('`', '``')}`"


def literal(name: str) -> str:
    """Return a text as a literal of Spark."""
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
