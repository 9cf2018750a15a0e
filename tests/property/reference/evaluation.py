"""What an expression means on one row of a match, and which expressions mean nothing."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tests.property.reference.errors import ReferenceError_
from tests.property.reference.expressions import (
    Aggregate,
    Case_,
    Cast,
    Classifier,
    Column,
    Constant,
    Expression,
    MatchNumber,
    Navigation,
    Operation,
    children,
    walk,
)
from tests.property.reference.search import Path, Step
from tests.property.reference.values import (
    ArithmeticFault,
    SortKey,
    absolute,
    arithmetic,
    average,
    cast,
    compare,
    group_key,
    like,
    negated,
    total,
)

Row: TypeAlias = Mapping[str, Any]
Clause: TypeAlias = Literal["DEFINE", "MEASURES"]


@dataclass(frozen=True)
class Scope:
    """The names of a clause: columns, and the primary variables that each variable stands for."""

    columns: Mapping[str, str]
    variables: Mapping[str, frozenset[str]]

    def column(self, name: str) -> str:
        found = self.columns.get(name.lower())
        if found is None:
            raise ReferenceError_(f"unknown column {name}; there are {', '.join(self.columns.values())}")
        return found

    def members(self, variable: str) -> frozenset[str]:
        if variable not in self.variables:
            raise ReferenceError_(f"unknown pattern variable {variable}; there are {', '.join(self.variables)}")
        return self.variables[variable]


@dataclass(frozen=True)
class Moment:
    """Where an expression is evaluated.

    Attributes
    ----------
    path, seen
        The match as far as it is known; its first `seen` rows are those up to the current one.
    row
        The row that bare columns read, None where there is none.
    under_test
        The variable whose condition is being tested; None in MEASURES.
    """

    scope: Scope
    rows: Sequence[Row]
    path: Path
    seen: int
    row: int | None
    number: int
    under_test: str | None = None


# ---------------------------------------------------------------------------------------------
# Rules that hold whatever the data are


def check(node: Expression, clause: Clause, scope: Scope) -> None:
    """Raise ReferenceError_ if `node` means nothing in `clause`."""
    for part in walk(node):
        if isinstance(part, Column):
            scope.column(part.name)
            if part.variable is not None:
                scope.members(part.variable)
        elif isinstance(part, Classifier) and part.variable is not None:
            scope.members(part.variable)
        elif isinstance(part, Aggregate):
            _check_aggregate(part, clause, scope)
        elif isinstance(part, Navigation):
            _check_navigation(part, clause)
        elif isinstance(part, Operation) and part.operator not in _OPERATIONS:
            raise ReferenceError_(f"unknown function {part.operator}")


def _check_aggregate(node: Aggregate, clause: Clause, scope: Scope) -> None:
    if node.variable is not None:
        scope.members(node.variable)
    _row_set(node)
    for child in children(node):
        _check_flat(child, node.function)
    if clause == "DEFINE":
        if node.final:
            raise ReferenceError_("FINAL is legal in MEASURES only, not in DEFINE")
        if node.distinct or node.condition is not None or node.function == "ARRAY_AGG":
            raise ReferenceError_(f"DISTINCT, FILTER and {node.function} are legal in MEASURES only, not in DEFINE")


def _check_navigation(node: Navigation, clause: Clause) -> None:
    _row_set(node)
    if clause == "DEFINE" and node.final:
        raise ReferenceError_("FINAL is legal in MEASURES only, not in DEFINE")
    inner = node.argument
    if node.function in ("PREV", "NEXT") and isinstance(inner, Navigation) and inner.function in ("FIRST", "LAST"):
        return
    _check_flat(inner, node.function)


def _check_flat(node: Expression, function: str) -> None:
    for part in walk(node):
        if isinstance(part, Navigation):
            raise ReferenceError_(f"{part.function} cannot stand inside {function}")
        if isinstance(part, Aggregate):
            raise ReferenceError_(f"the aggregate {part.function} cannot stand inside {function}")


def _row_set(node: Navigation | Aggregate) -> str | None:
    """Return the variable a call speaks of, None for all rows of the match."""
    found: set[str | None] = set()
    for part in walk(node):
        if isinstance(part, Column | Classifier | Aggregate) and getattr(part, "argument", None) is None:
            found.add(part.variable)
    if len(found) > 1:
        names = " and ".join(sorted("all rows" if name is None else name for name in found))
        raise ReferenceError_(f"{node.function} speaks of the rows of {names}; one call speaks of one set of rows")
    return found.pop() if found else None


def is_row_only(node: Expression, variable: str) -> bool:
    """Tell whether `node` reads only the row under test of `variable` and its neighbours."""
    return all(
        isinstance(part, Constant | Operation | Case_ | Cast)
        or (isinstance(part, Column) and part.variable in (None, variable))
        or (isinstance(part, Navigation) and part.function in ("PREV", "NEXT"))
        for part in walk(node)
    )


def row_only_parts(node: Expression, variable: str) -> list[Expression]:
    """Return the largest parts of a condition that Spark would compute on every row."""
    if is_row_only(node, variable):
        return [node]
    if isinstance(node, Navigation | Aggregate):
        return []
    return [part for child in children(node) for part in row_only_parts(child, variable)]


# ---------------------------------------------------------------------------------------------
# Evaluation


def evaluate(node: Expression, moment: Moment, at: int | None = None) -> Any:
    """Return the value of `node`; inside navigation and aggregates `at` is the row they reached."""
    match node:
        case Constant(value):
            return value
        case Column():
            return _column(node, moment, at)
        case Classifier():
            return _classifier(node, moment, at)
        case MatchNumber():
            return moment.number
        case Navigation():
            return _navigate(node, moment)
        case Aggregate():
            return _aggregate(node, moment)
        case Case_(branches, otherwise):
            for when, then in branches:
                if evaluate(when, moment, at) is True:
                    return evaluate(then, moment, at)
            return evaluate(otherwise, moment, at)
        case Cast(argument, target):
            value = evaluate(argument, moment, at)
            return None if value is None else _guarded(node, moment, lambda: cast(value, target))
        case Operation():
            return _operation(node, moment, at)


def _steps(variable: str | None, moment: Moment, final: bool | None) -> list[Step]:
    """Return the rows of `variable` (None: all) up to the current row, or of the whole match."""
    known = moment.path if final else moment.path[: moment.seen]
    if variable is None:
        return list(known)
    members = moment.scope.members(variable)
    return [step for step in known if step.variable in members]


def _column(node: Column, moment: Moment, at: int | None) -> Any:
    if at is None and node.variable is not None:
        steps = _steps(node.variable, moment, final=False)
        at = steps[-1].row if steps else None
    elif at is None:
        at = moment.row
    return None if at is None else moment.rows[at][moment.scope.column(node.name)]


def _classifier(node: Classifier, moment: Moment, at: int | None) -> Any:
    if at is not None:
        return next((step.variable for step in moment.path if step.row == at), None)
    steps = _steps(node.variable, moment, final=False)
    return steps[-1].variable if steps else None


def _navigate(node: Navigation, moment: Moment) -> Any:
    if node.function in ("FIRST", "LAST"):
        target = _logical(node, moment)
        return None if target is None else evaluate(node.argument, moment, target)
    inner = node.argument
    if isinstance(inner, Navigation):
        origin, value = _logical(inner, moment), inner.argument
    else:
        origin, value = _logical(Navigation("LAST", inner, 0), moment), inner
    if origin is None:
        return None
    target = origin + (node.offset if node.function == "NEXT" else -node.offset)
    return evaluate(value, moment, target) if 0 <= target < len(moment.rows) else None


def _logical(node: Navigation, moment: Moment) -> int | None:
    steps = _steps(_row_set(node), moment, node.final)
    if node.offset >= len(steps):
        return None
    return steps[node.offset].row if node.function == "FIRST" else steps[-1 - node.offset].row


def _aggregate(node: Aggregate, moment: Moment) -> Any:
    rows = [step.row for step in _steps(_row_set(node), moment, node.final)]
    if node.condition is not None:
        rows = [row for row in rows if evaluate(node.condition, moment, row) is True]
    if node.argument is None:
        return len(rows)
    values = [value for row in rows if (value := evaluate(node.argument, moment, row)) is not None]
    if node.distinct:
        values = list({group_key(value): value for value in values}.values())
    match node.function:
        case "COUNT":
            return len(values)
        case "ARRAY_AGG":
            return values
        case "SUM":
            return _guarded(node, moment, lambda: total(values))
        case "AVG":
            return average(values)
        case "MIN":
            return min(values, key=SortKey, default=None)
        case _:
            return max(values, key=SortKey, default=None)


def _guarded(node: Expression, moment: Moment, compute: Callable[[], Any]) -> Any:
    """Compute; where ANSI SQL fails, match-dependent parts of conditions give NULL and the rest an error."""
    try:
        return compute()
    except ArithmeticFault as fault:
        if moment.under_test is not None and not is_row_only(node, moment.under_test):
            return None
        raise ReferenceError_(f"{fault}: use the try_ function", stage="data") from None


def _operation(node: Operation, moment: Moment, at: int | None) -> Any:
    operation = _OPERATIONS[node.operator]
    if node.operator in _LAZY:
        return operation(*(_delayed(argument, moment, at) for argument in node.arguments))
    values = [evaluate(argument, moment, at) for argument in node.arguments]
    if node.operator not in _READS_NULL and any(value is None for value in values):
        return None
    return _guarded(node, moment, lambda: operation(*values))


def _delayed(node: Expression, moment: Moment, at: int | None) -> Callable[[], Any]:
    return lambda: evaluate(node, moment, at)


def _and(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    first = left()
    if first is False:
        return False
    second = right()
    return False if second is False else (None if first is None or second is None else True)


def _or(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    first = left()
    if first is True:
        return True
    second = right()
    return True if second is True else (None if first is None or second is None else False)


def _coalesce(*arguments: Callable[[], Any]) -> Any:
    return next((value for argument in arguments if (value := argument()) is not None), None)


def _if(when: Callable[[], Any], then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    return then() if when() is True else otherwise()


def _in(value: Any, *choices: Any) -> Any:
    if value is None:
        return None
    if any(choice is not None and compare(value, choice) == 0 for choice in choices):
        return True
    return None if any(choice is None for choice in choices) else False


def _null_safe_equal(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return compare(left, right) == 0


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: pick((value for value in values if value is not None), key=SortKey, default=None)


def _attempt(operator: str) -> Callable[..., Any]:
    def attempt(left: Any, right: Any) -> Any:
        try:
            return arithmetic(operator, left, right)
        except ArithmeticFault:
            return None

    return attempt


_LAZY = frozenset({"AND", "OR", "COALESCE", "NVL", "IFNULL", "IF"})
_READS_NULL = frozenset(
    {"IS NULL", "IS TRUE", "IS FALSE", "<=>", "IN", "GREATEST", "LEAST", "ISNAN", "NULLIF", "CONCAT_WS"}
)

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "AND": _and,
    "OR": _or,
    "NOT": lambda value: not value,
    "COALESCE": _coalesce,
    "NVL": _coalesce,
    "IFNULL": _coalesce,
    "IF": _if,
    "IS NULL": lambda value: value is None,
    "IS TRUE": lambda value: value is True,
    "IS FALSE": lambda value: value is False,
    "IN": _in,
    "LIKE": like,
    "=": lambda left, right: compare(left, right) == 0,
    "!=": lambda left, right: compare(left, right) != 0,
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
    "<=>": _null_safe_equal,
    **{operator: functools.partial(arithmetic, operator) for operator in ("+", "-", "*", "/", "%", "DIV")},
    "TRY_ADD": _attempt("+"),
    "TRY_SUBTRACT": _attempt("-"),
    "TRY_MULTIPLY": _attempt("*"),
    "TRY_DIVIDE": _attempt("/"),
    "NEGATE": negated,
    "ABS": absolute,
    "GREATEST": _extreme(max),
    "LEAST": _extreme(min),
    "NULLIF": lambda left, right: None if _null_safe_equal(left, right) else left,
    "ISNAN": lambda value: isinstance(value, float) and math.isnan(value),
    "||": lambda left, right: left + right,
    "CONCAT": lambda *values: "".join(str(value) for value in values),
    "UPPER": str.upper,
    "CONCAT_WS": lambda between, *values: between.join(value for value in values if value is not None),
    "LOWER": str.lower,
    "LENGTH": len,
}
