"""Arguments of `match_pattern` to the same clause tree that SQL text gives.

A Column in place of text becomes a hidden column of the input, so everything behind this point
sees names and text only.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from pyspark.sql import Column, DataFrame

from sparkcep.errors import PatternSyntaxError
from sparkcep.private_pyspark import column_text
from sparkcep.spark.source import Source
from sparkcep.spark.types import quoted
from sparkcep.syntax.builder import Pattern
from sparkcep.syntax.clause import Definition, Fragment, MatchRecognize, Measure, Subset
from sparkcep.syntax.durations import parse_within
from sparkcep.syntax.event_pattern import EventPattern
from sparkcep.syntax.match_recognize import parse_after_match, parse_match_recognize, parse_rows_per_match
from sparkcep.syntax.pattern import RowPattern
from sparkcep.syntax.row_pattern import normal_name, parse_row_pattern

Expression = str | Column
Expressions = Expression | Sequence[Expression] | None
# A Column tells only by its text whether it is a sort order.
_SORT_ORDER = re.compile(r"(.*) ((?:ASC|DESC) NULLS (?:FIRST|LAST))", re.DOTALL)
Duration = str | int | float | dt.timedelta


@dataclass(frozen=True, slots=True)
class Arguments:
    """The keyword arguments of `sparkcep.match_pattern`, as given."""

    pattern: str | RowPattern | EventPattern | Pattern
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
    strategy: str | None = None
    types: Mapping[str, Expression] | None = None
    type_column: Expression | None = None
    matches: str = "all"
    timeouts: bool = False
    limit: int | None = None
    sample: int | float | None = None
    strict_time: bool = False
    observe: object = None

    def given(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that do not have their default value."""
        defaults = {field.name: field.default for field in fields(self)}
        found = [(name, getattr(self, name)) for name in names]
        return [
            name
            for name, value in found
            if value is not defaults[name] and (defaults[name] is None or value != defaults[name])
        ]

    @property
    def drops_null_order(self) -> bool:
        """Whether rows with a NULL first order value are dropped.

        Raises
        ------
        PatternSyntaxError
            WRONG_ARGUMENT when null_order_value is neither "error" nor "drop".
        """
        if self.null_order_value not in ("error", "drop"):
            raise PatternSyntaxError(
                "WRONG_ARGUMENT",
                "null_order_value says what to do with rows whose first order value is NULL",
                clause="null_order_value",
                found=repr(self.null_order_value),
                allowed="'error', 'drop'",
            )
        return self.null_order_value == "drop"


EVENT_ARGUMENTS = {
    "strategy": "a row pattern takes neighbouring rows; the event pattern SEQ(A a, B b) may pass over events",
    "types": "define={…} says what a row must satisfy; types belong to event patterns such as SEQ(A a, B b)",
    "type_column": "define={…} says what a row must satisfy; types belong to event patterns such as SEQ(A a, B b)",
    "matches": "after_match=… says where the search goes on; matches belongs to event patterns",
    "timeouts": "only event patterns such as SEQ(A a, B b) report partial matches",
    "limit": "DataFrame.limit; limit belongs to event patterns",
    "sample": "DataFrame.sample; sample belongs to event patterns",
    "strict_time": "a condition such as ts > PREV(ts); strict_time belongs to event patterns",
}
"""What only event patterns take, and what to do about it in a row pattern."""


def refuse_other_language(arguments: Arguments, others: Mapping[str, str], this: str, other: str) -> None:
    """Refuse arguments of the other language; nothing is passed over in silence.

    Raises
    ------
    PatternSyntaxError
        WRONG_LANGUAGE: an argument has another value than its default.
    """
    for name in arguments.given(others):
        raise PatternSyntaxError(
            "WRONG_LANGUAGE",
            f"{name} is an argument of {other} patterns, and this is {this} pattern",
            clause=name,
            found=f"{name}={getattr(arguments, name)!r}",
            hint=others[name],
        )


def read_arguments(frame: DataFrame, arguments: Arguments) -> tuple[MatchRecognize, Source]:
    """Return the clause and the input it is to be matched over.

    Raises
    ------
    PatternSyntaxError
        When a text cannot be read, or a whole clause comes together with arguments it holds itself.
    """
    refuse_other_language(arguments, EVENT_ARGUMENTS, "a row", "event")
    drop = arguments.drops_null_order
    if isinstance(arguments.pattern, str) and arguments.pattern.lstrip().upper().startswith("MATCH_RECOGNIZE"):
        _check_alone(arguments)
        clause = parse_match_recognize(arguments.pattern)
        return clause, Source(frame, tuple(frame.columns), drop_null_order=drop)
    return _RowReader(frame, arguments).read(drop)


def _check_alone(arguments: Arguments) -> None:
    names = ("partition_by", "order_by", "define", "subset", "measures", "rows_per_match", "after_match", "within")
    given = arguments.given(names)
    if given:
        raise PatternSyntaxError(
            "CONTRADICTION",
            f"a whole MATCH_RECOGNIZE (…) text says this itself: {', '.join(given)}",
            clause="pattern",
            hint="pass the row pattern alone, or move the arguments into the text",
        )


class ArgumentReader:
    """Turns Columns into names: each becomes a hidden column of `frame`."""

    def __init__(self, frame: DataFrame, arguments: Arguments) -> None:
        self.frame = frame
        self.columns = tuple(frame.columns)
        self.arguments = arguments
        self.sort_orders: dict[str, Column] = {}
        self.prefix = "__given"
        while any(name.lower().startswith(self.prefix) for name in self.columns):
            self.prefix += "_"

    def fragment(self, expression: Expression) -> Fragment:
        """Return an expression as text."""
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

    def key(self, item: Expression) -> Fragment:
        """Return a key as text; one made of a Column has Spark's name for it."""
        fragment = self.fragment(item)
        if isinstance(item, str) or not fragment.text.startswith(self.prefix):
            return fragment
        return Fragment(f"{fragment.text} AS {quoted(self.frame.select(item).columns[0])}")

    def order(self, item: Expression) -> Fragment:
        """Return a sort order as text, or as a name in `sort_orders`."""
        if isinstance(item, str):
            return Fragment(item)
        sorted_by = _SORT_ORDER.fullmatch(column_text(item))
        if sorted_by is None:
            return Fragment(self._hidden(item))
        if sorted_by[1] in self.columns:
            return Fragment(f"`{sorted_by[1].replace('`', '``')}` {sorted_by[2]}")
        name = f"{self.prefix}_order_{len(self.sort_orders)}"
        self.sort_orders[name] = item
        return Fragment(name)


class _RowReader(ArgumentReader):
    def read(self, drop: bool) -> tuple[MatchRecognize, Source]:
        given = self.arguments
        pattern = parse_row_pattern(given.pattern) if isinstance(given.pattern, str) else given.pattern
        assert not isinstance(pattern, EventPattern | Pattern)
        clause = MatchRecognize(
            pattern=pattern,
            partition_by=tuple(self.key(item) for item in listed(given.partition_by)),
            order_by=tuple(self.order(item) for item in listed(given.order_by)),
            measures=tuple(Measure(name, self.fragment(text)) for name, text in (given.measures or {}).items()),
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
        return Definition(normal_name(name, clause="DEFINE"), self.fragment(condition))


def listed(items: Expressions) -> Sequence[Expression]:
    """Return one or many expressions as many."""
    if items is None:
        return ()
    return [items] if isinstance(items, str | Column) else items
