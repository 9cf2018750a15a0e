"""The inside of a navigation or an aggregate: one expression over one row of one variable."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.logical.scope import Clause
from sparkcep.logical.tokens import TokenRange


@dataclass(frozen=True, slots=True)
class InnerText:
    """An expression without variable names.

    Attributes
    ----------
    text
        The user's words with ``A.`` taken off.
    variable
        The one variable that was named, if any.
    bare
        A column that stood there without a variable, if any.
    """

    text: str
    variable: str | None
    bare: str | None


def read_inner(argument: TokenRange, clause: Clause, function: str, parameters: frozenset[str]) -> InnerText:
    """Take the variable off the columns of `argument`.

    Raises
    ------
    BindingError
        When the columns belong to more than one set of rows (semantics: one navigation or
        aggregate speaks of one set of rows), or a variable is unknown.
    """
    named: dict[str, None] = {}
    bare: dict[str, None] = {}
    text = ""
    copied = argument.start
    of_variable = -1
    for position in argument.outside_queries():
        if position == of_variable:
            continue  # the column behind a variable, even one that is called like the input
        variable = _variable_at(argument, position, clause, parameters)
        if variable is not None:
            named[variable] = None
            text += argument.source[copied : argument.tokens[position].start]
            of_variable = position + 2
            copied = argument.tokens[of_variable].start
            continue
        name = argument.free_name(position, clause.names.aliases)
        if name is not None and clause.names.column(name) is not None and name not in parameters:
            bare[name] = None
    text += argument.source[copied : argument.end]
    if len(named) + bool(bare) > 1:
        raise _mixed(argument, clause, function, list(named), list(bare))
    return InnerText(text, next(iter(named), None), next(iter(bare), None))


def _variable_at(argument: TokenRange, position: int, clause: Clause, parameters: frozenset[str]) -> str | None:
    variable = argument.qualifier(position)
    if variable is None or argument.tokens[position].text in parameters:
        return None
    if clause.names.is_variable(variable):
        return variable
    plain = argument.plain_name(position)
    known = clause.names.column(plain) is not None or plain.lower() in {a.lower() for a in clause.names.aliases}
    if not known and not argument.is_qualified_function(position):
        token = argument.tokens[position]
        raise clause.unknown_variable(variable, token.start, token.end)
    return None


def _mixed(argument: TokenRange, clause: Clause, function: str, named: list[str], bare: list[str]) -> Exception:
    sets = [*named, *(f"all rows ({name})" for name in bare)]
    return clause.error(
        "MIXED_ROWS",
        f"{function}({argument.text}) speaks of more than one set of rows: {' and '.join(sets)}",
        argument.start,
        argument.end,
        found=", ".join(sets),
        allowed="columns of one variable, or columns without a variable",
        hint=_one_set_each(function, named, bare),
    )


def _one_set_each(function: str, named: list[str], bare: list[str]) -> str:
    if len(named) > 1:
        return "ask for each of them: " + ", ".join(f"{function}({name}.…)" for name in named[:2])
    return f"write {named[0]}.{bare[0]} if the {named[0]} rows are meant"
