"""Arguments of `match_pattern` to the same clause tree that SQL text gives.

A Column in place of text becomes a hidden column of the input, so everything behind this point
sees names and text only.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame

from sparkcep.errors import PatternSyntaxError
from sparkcep.spark.prepare import Source
from sparkcep.syntax.clause import Definition, Fragment, MatchRecognize, Measure, Subset
from sparkcep.syntax.durations import parse_within
from sparkcep.syntax.match_recognize import parse_after_match, parse_match_recognize, parse_rows_per_match
from sparkcep.syntax.pattern import RowPattern
from sparkcep.syntax.row_pattern import normal_name, parse_row_pattern

Expression = str | Column
Expressions = Expression | Sequence[Expression] | None
# A Column tells only by its text whether it is a sort order.
_SORT_ORDER = re.compile(r"Column<'(.*) ((?:ASC|DESC) NULLS (?:FIRST|LAST))'>", re.DOTALL)
Duration = str | int | float | dt.timedelta


@dataclass(frozen=True, slots=True)
class Arguments:
    """The keyword arguments of `sparkcep.match_pattern`, as given."""

    pattern: str | RowPattern
    partition_by: Expressions = None
    order_by: Expressions = None
    define: Mapping[str, Expression] | None = None
    subset: Mapping[str, Sequence[str]] | None = None
    measures: Mapping[str, str] | None = None
    rows_per_match: str | None = None
    after_match: str | None = None
    within: Duration | None = None
    inclusive: bool = True
    null_order_value: str = "error"


def read_arguments(frame: DataFrame, arguments: Arguments) -> tuple[MatchRecognize, Source]:
    """Return the clause and the input it is to be matched over.

    Raises
    ------
    PatternSyntaxError
        When a text cannot be read, or a whole clause comes together with arguments it holds itself.
    """
    if arguments.null_order_value not in ("error", "drop"):
        raise PatternSyntaxError(
            "WRONG_ARGUMENT",
            "null_order_value says what to do with rows whose first order value is NULL",
            clause="null_order_value",
            found=repr(arguments.null_order_value),
            allowed="'error', 'drop'",
        )
    drop = arguments.null_order_value == "drop"
    if isinstance(arguments.pattern, str) and arguments.pattern.lstrip().upper().startswith("MATCH_RECOGNIZE"):
        _check_alone(arguments)
        clause = parse_match_recognize(arguments.pattern)
        return clause, Source(frame, tuple(frame.columns), drop_null_order=drop)
    return _Reader(frame, arguments).read(drop)


def _check_alone(arguments: Arguments) -> None:
    given = [
        name
        for name in (
            "partition_by",
            "order_by",
            "define",
            "subset",
            "measures",
            "rows_per_match",
            "after_match",
            "within",
        )
        if getattr(arguments, name) is not None
    ]
    if given:
        raise PatternSyntaxError(
            "CONTRADICTION",
            f"a whole MATCH_RECOGNIZE (…) text says this itself: {', '.join(given)}",
            clause="pattern",
            hint="pass the row pattern alone, or move the arguments into the text",
        )


class _Reader:
    def __init__(self, frame: DataFrame, arguments: Arguments) -> None:
        self.frame = frame
        self.columns = tuple(frame.columns)
        self.arguments = arguments
        self.sort_orders: dict[str, Column] = {}
        self.prefix = "__given"
        while any(name.lower().startswith(self.prefix) for name in self.columns):
            self.prefix += "_"

    def read(self, drop: bool) -> tuple[MatchRecognize, Source]:
        given = self.arguments
        pattern = parse_row_pattern(given.pattern) if isinstance(given.pattern, str) else given.pattern
        clause = MatchRecognize(
            pattern=pattern,
            partition_by=tuple(self._fragment(item) for item in _listed(given.partition_by)),
            order_by=tuple(self._order(item) for item in _listed(given.order_by)),
            measures=tuple(Measure(name, self._fragment(text)) for name, text in (given.measures or {}).items()),
            subsets=tuple(self._subset(name, members) for name, members in (given.subset or {}).items()),
            definitions=tuple(self._definition(name, text) for name, text in (given.define or {}).items()),
        )
        if given.rows_per_match is not None:
            clause = replace(clause, rows_per_match=parse_rows_per_match(given.rows_per_match))
        if given.after_match is not None:
            clause = replace(clause, after_match=parse_after_match(given.after_match))
        if given.within is not None:
            clause = replace(clause, within=parse_within(given.within, given.inclusive))
        return clause, Source(self.frame, self.columns, None, self.sort_orders, drop)

    def _subset(self, name: str, members: Sequence[str]) -> Subset:
        listed = [members] if isinstance(members, str) else members
        return Subset(normal_name(name), tuple(normal_name(member) for member in listed))

    def _definition(self, name: str, condition: Expression) -> Definition:
        return Definition(normal_name(name, clause="DEFINE"), self._fragment(condition))

    def _fragment(self, expression: Expression) -> Fragment:
        return Fragment(expression if isinstance(expression, str) else self._hidden(expression))

    def _hidden(self, column: Column) -> str:
        """Add a Column to the input, under its own name if it is a plain column."""
        name = self.frame.select(column).columns[0]
        if name in self.columns and name.isidentifier():
            return name
        if name.isidentifier() and name not in self.frame.columns:
            self.frame = self.frame.withColumn(name, column)
            return name
        hidden = f"{self.prefix}_{len(self.frame.columns)}"
        self.frame = self.frame.withColumn(hidden, column)
        return hidden

    def _order(self, item: Expression) -> Fragment:
        if isinstance(item, str):
            return Fragment(item)
        sorted_by = _SORT_ORDER.fullmatch(repr(item))
        if sorted_by is None:
            return Fragment(self._hidden(item))
        if sorted_by[1] in self.columns:
            return Fragment(f"`{sorted_by[1].replace('`', '``')}` {sorted_by[2]}")
        name = f"{self.prefix}_order_{len(self.sort_orders)}"
        self.sort_orders[name] = item
        return Fragment(name)


def _listed(items: Expressions) -> Sequence[Expression]:
    if items is None:
        return ()
    return [items] if isinstance(items, str | Column) else items
