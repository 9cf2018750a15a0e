"""The columns of a match of events, as measures of a row pattern over its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkcep.logical.event_placement import VariableInfo
from sparkcep.logical.event_text import Reference, read_event_expression
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.scope import Clause, Names
from sparkcep.syntax.clause import Fragment, Measure
from sparkcep.syntax.event_pattern import Variable

TIME = "match_time"


def time_column(hidden: HiddenColumns) -> str:
    """Return the name of the column that the matcher fills with the time of a decision."""
    return hidden.fresh("time")


def default_measures(
    variables: Sequence[Variable],
    infos: Mapping[str, VariableInfo],
    columns: Sequence[str],
    order: str,
    time: str | None,
) -> list[Measure]:
    """Return match_number, start, end and time, and a struct, or array of structs, per positive variable."""
    found = [
        Measure("match_number", Fragment("MATCH_NUMBER()")),
        Measure("match_start", Fragment(f"FIRST({order})")),
        Measure("match_end", Fragment(f"LAST({order})")),
        Measure(TIME, Fragment(time or f"LAST({order})")),
    ]
    for variable in variables:
        info = infos[variable.name]
        if info.is_negated:
            continue
        fields = ", ".join(f"{_literal(column)}, {variable}.{_quoted(column)}" for column in columns)
        function = "ARRAY_AGG" if info.is_array else "LAST"
        found.append(Measure(info.label, Fragment(f"{function}(named_struct({fields}))")))
    return found


def written_measures(measures: Sequence[Measure], names: Names, infos: Mapping[str, VariableInfo]) -> list[Measure]:
    """Return RETURN in the words of MEASURES: ``b[1].x`` is FIRST(b.x), ``b[b.LEN].x`` LAST(b.x).

    Raises
    ------
    BindingError
        WRONG_RETURN, MISSING_VARIABLE: an expression reads one element of a loop while it runs, a negated
        variable, ``b.x`` of an array, or a column of no event.
    """
    return [_written(measure, names, infos) for measure in measures]


def _written(measure: Measure, names: Names, infos: Mapping[str, VariableInfo]) -> Measure:
    clause = Clause(f"RETURN {measure.name}", measure.expression, names)
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


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _literal(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
