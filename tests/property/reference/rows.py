"""From the clause and the rows of a table to the rows of its result."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.property.reference.errors import ReferenceError_
from tests.property.reference.evaluation import (
    Moment,
    Row,
    Scope,
    check,
    evaluate,
    row_only_parts,
)
from tests.property.reference.expressions import Column, Expression, read_expression, read_ordering, tokens
from tests.property.reference.patterns import ReadPattern, fold, read_pattern
from tests.property.reference.search import Path, paths
from tests.property.reference.values import compare, group_key, interval, is_number

_ROWS_PER_MATCH = {
    "one": "one",
    "one row": "one",
    "all": "all",
    "all rows": "all",
    "all show empty": "all",
    "all omit empty": "all omit empty",
    "all with unmatched": "all with unmatched",
}


@dataclass(frozen=True)
class Within:
    """The furthest distance between first and last row, in order units or in rows."""

    distance: Any
    counts_rows: bool
    inclusive: bool

    def allows(self, path: Path, order_values: Sequence[Any]) -> bool:
        if not path:
            return True
        first, last = order_values[path[0].row], order_values[path[-1].row]
        if isinstance(self.distance, dt.timedelta) and not isinstance(first, dt.date):
            raise ReferenceError_("WITHIN: an interval needs a date or timestamp as first column of ORDER BY")
        span = len(path) if self.counts_rows else _difference(last, first)
        comparison = compare(span, self.distance)
        return comparison < 0 or (comparison == 0 and self.inclusive)


def _difference(last: Any, first: Any) -> Any:
    if isinstance(last, dt.datetime):
        return last - first
    return dt.timedelta(days=(last - first).days) if isinstance(last, dt.date) else last - first


@dataclass(frozen=True)
class Clause_:
    """A whole clause, read and checked."""

    scope: Scope
    pattern: ReadPattern
    keys: list[tuple[str, Expression]]
    orderings: list[tuple[Expression, bool, bool]]
    conditions: Mapping[str, Expression]
    measures: Mapping[str, Expression]
    rows_per_match: str
    skip: tuple[str, str | None]
    within: Within | None
    null_order_value: str


@dataclass(frozen=True)
class Match:
    number: int
    start: int
    path: Path


def match_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    pattern: str,
    partition_by: Sequence[str] = (),
    order_by: Sequence[str] = (),
    define: Mapping[str, str] | None = None,
    measures: Mapping[str, str] | None = None,
    subset: Mapping[str, Sequence[str]] | None = None,
    rows_per_match: str = "one",
    after_match: str = "past last row",
    within: str | int | float | None = None,
    inclusive: bool = True,
    null_order_value: str = "error",
    limit: int = 500_000,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Match the pattern on `rows`; arguments as those of ``match_pattern``.

    Parameters
    ----------
    limit
        Steps to try per start.

    Returns
    -------
    The names of the output columns, and the output rows by partition and match.

    Raises
    ------
    ReferenceError_
        The clause means nothing, or fails on these rows.
    StepLimitReached
        There are too many paths to try.
    """
    read = read_pattern(pattern)
    scope = _scope(columns, read, subset or {})
    clause = Clause_(
        scope,
        read,
        [_key(text, scope) for text in partition_by],
        [read_ordering(text) for text in order_by],
        _conditions(define or {}, scope, read),
        _measures(measures or {}, scope),
        _rows_per_match(rows_per_match, read),
        _skip(after_match, scope),
        None if within is None else _within(within, inclusive),
        null_order_value,
    )
    for expression, _, _ in clause.orderings:
        check(expression, "DEFINE", scope)
    if clause.within and not clause.within.counts_rows and (not clause.orderings or clause.orderings[0][1]):
        raise ReferenceError_("WITHIN needs an ascending first column in ORDER BY")
    names = _output_names(columns, clause)
    output: list[tuple[Any, ...]] = []
    for partition in _partitions(columns, rows, clause):
        output.extend(_Partition(clause, partition, limit).output(names))
    return names, output


# ---------------------------------------------------------------------------------------------
# Reading the clause


def _scope(columns: Sequence[str], pattern: ReadPattern, subset: Mapping[str, Sequence[str]]) -> Scope:
    variables = {name: frozenset({name}) for name in pattern.variables}
    for union, members in subset.items():
        folded = [fold(member) for member in members]
        unknown = [member for member in folded if member not in pattern.variables]
        if unknown:
            raise ReferenceError_(f"SUBSET {fold(union)}: unknown variable {unknown[0]}")
        if fold(union) in variables:
            raise ReferenceError_(f"SUBSET {fold(union)}: the name is taken already")
        variables[fold(union)] = frozenset(folded)
    return Scope({name.lower(): name for name in columns}, variables)


def _key(text: str, scope: Scope) -> tuple[str, Expression]:
    named = re.fullmatch(r"(.+?)\s+AS\s+(\w+)", text, re.IGNORECASE)
    expression = read_expression(named.group(1) if named else text)
    check(expression, "DEFINE", scope)
    if isinstance(expression, Column):
        return (named.group(2) if named else scope.column(expression.name)), expression
    return (named.group(2) if named else text), expression


def _conditions(define: Mapping[str, str], scope: Scope, pattern: ReadPattern) -> dict[str, Expression]:
    conditions = {}
    for name, text in define.items():
        variable = fold(name)
        if variable not in pattern.variables:
            raise ReferenceError_(f"DEFINE names {variable}, which is not a variable of PATTERN")
        conditions[variable] = read_expression(text)
        check(conditions[variable], "DEFINE", scope)
    return conditions


def _measures(measures: Mapping[str, str], scope: Scope) -> dict[str, Expression]:
    read = {name: read_expression(text) for name, text in measures.items()}
    for expression in read.values():
        check(expression, "MEASURES", scope)
    return read


def _rows_per_match(text: str, pattern: ReadPattern) -> str:
    words = " ".join(text.lower().split())
    short = re.sub(r" per match| rows?(?= per match)| matches| rows$", "", words) if " per match" in words else words
    if short not in _ROWS_PER_MATCH:
        raise ReferenceError_(f"rows_per_match: unknown form {text}")
    mode = _ROWS_PER_MATCH[short]
    if mode == "all with unmatched" and pattern.has_exclusion:
        raise ReferenceError_("exclusion {- -} cannot be combined with WITH UNMATCHED ROWS")
    return mode


def _skip(text: str, scope: Scope) -> tuple[str, str | None]:
    words = re.sub(r"^\s*(after\s+match\s+)?(skip\s+)?", "", text, flags=re.IGNORECASE).split()
    phrase = " ".join(words).lower()
    if phrase in ("past last row", "to next row"):
        return phrase, None
    if len(words) not in (2, 3) or words[0].lower() != "to" or (len(words) == 3 and words[1].lower() not in _ENDS):
        raise ReferenceError_(f"after_match: cannot read {text}")
    target = fold(words[-1])
    scope.members(target)
    return "to first" if len(words) == 3 and words[1].lower() == "first" else "to last", target


_ENDS = ("first", "last")


def _within(within: str | int | float, inclusive: bool) -> Within:
    read = _read_within(within, inclusive)
    least = 1 if read.counts_rows else dt.timedelta() if isinstance(read.distance, dt.timedelta) else 0
    if read.distance < least or (read.distance == least and not inclusive):
        raise ReferenceError_(f"WITHIN {within}: not even one row fits into the window")
    return read


def _read_within(within: str | int | float, inclusive: bool) -> Within:
    if is_number(within):
        return Within(within, False, inclusive)
    text = re.sub(r"^\s*interval\s+", "", str(within).strip(), flags=re.IGNORECASE)
    words = [value for _, value in tokens(text)]
    if len(words) == 1:
        return Within(_plain_number(words[0]), False, inclusive)
    if len(words) == 2 and words[1].lower() in ("event", "events"):
        return Within(int(words[0]), True, inclusive)
    pairs = zip(words[::2], words[1::2], strict=True)
    distance = sum((interval(amount, unit) for amount, unit in pairs), dt.timedelta())
    return Within(distance, False, inclusive)


def _plain_number(text: str) -> Any:
    return int(text) if text.isdigit() else Decimal(text)


# ---------------------------------------------------------------------------------------------
# Partitions in order


def _partitions(columns: Sequence[str], rows: Sequence[Sequence[Any]], clause: Clause_) -> list[list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for values in rows:
        row = dict(zip(columns, values, strict=True))
        key = tuple(group_key(_on_row(expression, row, clause.scope)) for _, expression in clause.keys)
        groups.setdefault(key, []).append(row)
    kept = [_without_null_order(group, clause) for group in groups.values()]
    compare_rows = functools.partial(_compare_rows, clause=clause)
    return [sorted(group, key=functools.cmp_to_key(compare_rows)) for group in kept]


def _on_row(expression: Expression, row: Row, scope: Scope) -> Any:
    return evaluate(expression, Moment(scope, [row], (), 0, 0, 0))


def _without_null_order(group: list[Row], clause: Clause_) -> list[Row]:
    measured = clause.within is not None and not clause.within.counts_rows
    if not clause.orderings or not (measured or clause.null_order_value == "drop"):
        return group
    expression = clause.orderings[0][0]
    kept = [row for row in group if _on_row(expression, row, clause.scope) is not None]
    if len(kept) < len(group) and clause.null_order_value == "error":
        name = expression.name if isinstance(expression, Column) else "the first expression"
        raise ReferenceError_(f"WITHIN: {name} of ORDER BY is NULL", stage="data")
    return kept


def _compare_rows(left: Row, right: Row, clause: Clause_) -> int:
    for expression, descending, nulls_first in clause.orderings:
        a, b = (_on_row(expression, row, clause.scope) for row in (left, right))
        if a is None or b is None:
            order = (a is None) - (b is None)
            order = -order if nulls_first else order
        else:
            order = -compare(a, b) if descending else compare(a, b)
        if order:
            return order
    return 0


# ---------------------------------------------------------------------------------------------
# Matches and output rows of one partition


def _output_names(columns: Sequence[str], clause: Clause_) -> list[str]:
    names = [name for name, _ in clause.keys]
    rest: list[str] = []
    if clause.rows_per_match != "one":
        plain = [clause.scope.column(e.name) for e, _, _ in clause.orderings if isinstance(e, Column)]
        names += [name for name in dict.fromkeys(plain) if name not in names]
        rest = [name for name in columns if name not in names]
    names = [*names, *clause.measures, *rest]
    if len({name.lower() for name in names}) < len(names):
        raise ReferenceError_(f"two output columns have one name: {', '.join(names)}")
    return names


class _Partition:
    def __init__(self, clause: Clause_, rows: list[Row], limit: int) -> None:
        self.clause, self.rows, self.limit = clause, rows, limit
        first = clause.orderings[0][0] if clause.orderings else None
        self.order_values = [None if first is None else _on_row(first, row, clause.scope) for row in rows]

    def moment(self, path: Path, seen: int, row: int | None, number: int, under_test: str | None = None) -> Moment:
        return Moment(self.clause.scope, self.rows, path, seen, row, number, under_test)

    def preferred(self, start: int, number: int) -> Path | None:
        def holds(path: Path) -> bool:
            step = path[-1]
            condition = self.clause.conditions.get(step.variable)
            here = self.moment(path, len(path), step.row, number, step.variable)
            return condition is None or evaluate(condition, here) is True

        within = self.clause.within
        for path in paths(self.clause.pattern.root, start, len(self.rows), holds, self.limit):
            if within is None or within.allows(path, self.order_values):
                return path
        return None

    def matches(self) -> list[Match]:
        self.fail_where_spark_would()
        found: list[Match] = []
        start = 0
        while start < len(self.rows):
            path = self.preferred(start, len(found) + 1)
            if path is None:
                start += 1
                continue
            found.append(Match(len(found) + 1, start, path))
            start = self.next_start(found[-1])
        return found

    def fail_where_spark_would(self) -> None:
        """Evaluate what reads one row only on every row: its errors do not depend on matches."""
        for variable, condition in self.clause.conditions.items():
            for part in row_only_parts(condition, variable):
                for row in range(len(self.rows)):
                    path = next(paths(_single(variable), row, len(self.rows), lambda _: True))
                    evaluate(part, self.moment(path, 1, row, 0, variable))

    def next_start(self, match: Match) -> int:
        mode, target = self.clause.skip
        if not match.path or mode == "to next row":
            return match.start + 1
        if target is None:
            return match.path[-1].row + 1
        members = self.clause.scope.members(target)
        rows = [step.row for step in match.path if step.variable in members]
        keys = ", ".join(f"{name} = {self.key(match.start, name)}" for name, _ in self.clause.keys)
        place = f"in match {match.number} of partition ({keys})"
        if not rows:
            raise ReferenceError_(f"AFTER MATCH SKIP: {target} took no row {place}", stage="data")
        following = rows[0] if mode == "to first" else rows[-1]
        if following == match.start:
            raise ReferenceError_(f"AFTER MATCH SKIP: {target} is the first row {place}", stage="data")
        return following

    def key(self, row: int, name: str) -> Any:
        return _on_row(dict(self.clause.keys)[name], self.rows[row], self.clause.scope)

    def output(self, names: list[str]) -> list[tuple[Any, ...]]:
        matches = self.matches()
        if self.clause.rows_per_match == "one":
            return [self.one_row(match, names) for match in matches]
        found = [row for match in matches for row in self.all_rows(match, names)]
        if self.clause.rows_per_match == "all with unmatched":
            taken = {match.start for match in matches} | {step.row for match in matches for step in match.path}
            found += [self.row(names, row, None) for row in range(len(self.rows)) if row not in taken]
        return found

    def one_row(self, match: Match, names: list[str]) -> tuple[Any, ...]:
        last = match.path[-1].row if match.path else None
        return self.row(names, match.start, self.moment(match.path, len(match.path), last, match.number))

    def all_rows(self, match: Match, names: list[str]) -> list[tuple[Any, ...]]:
        if not match.path:
            shown = self.clause.rows_per_match != "all omit empty"
            return [self.row(names, match.start, self.moment((), 0, match.start, match.number))] if shown else []
        return [
            self.row(names, step.row, self.moment(match.path, seen, step.row, match.number))
            for seen, step in enumerate(match.path, 1)
            if not step.excluded
        ]

    def row(self, names: list[str], row: int, moment: Moment | None) -> tuple[Any, ...]:
        keys = dict(self.clause.keys)
        values = []
        for name in names:
            if name in self.clause.measures:
                values.append(None if moment is None else evaluate(self.clause.measures[name], moment))
            elif name in keys:
                values.append(self.key(row, name))
            else:
                values.append(self.rows[row][name])
        return tuple(values)


def _single(variable: str) -> Any:
    return read_pattern(f"`{variable}`").root
