"""What plans of table functions have in common: columns, keys, orders, masks and results, without a session."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from sparkcep.errors import BindingError
from sparkcep.logical.bound import LogicalMatch, RowCondition
from sparkcep.logical.calls import SortKey
from sparkcep.logical.conditions import top_conjuncts
from sparkcep.logical.outputs import Output
from sparkcep.logical.row_types import HINT, RowExpression, RowTypes
from sparkcep.logical.slots import Operand
from sparkcep.logical.spans import SpannedExpression
from sparkcep.spark.batch import MatchTask
from sparkcep.spark.event_batch import EventTask
from sparkcep.spark.finish import output_type
from sparkcep.spark.prepare import VARIABLES_PER_MASK, Prepared, output_columns
from sparkcep.spark.table_match import MaskBit, Result, TableMatch
from sparkcep.spark.table_types import arrow_type, sent_as_number, spark_type, without_collation
from sparkcep.spark.types import quoted, type_text

_NAMED = re.compile(r"(.*\S)\s+AS\s+(`(?:[^`]|``)+`|\w+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Key:
    """A partition column: its name, its expression, its type, and the text that groups as GROUP BY does."""

    name: str
    text: str
    kind: T.DataType
    canonical: str


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A planned table function.

    Attributes
    ----------
    match
        What is done with partitions.
    selected
        What Spark shall compute of each row: name and text, in the order of the match's inputs.
    keys, orders
        How Spark shall partition and sort.
    """

    match: TableMatch
    selected: tuple[tuple[str, str], ...]
    keys: tuple[Key, ...]
    orders: tuple[SortKey, ...]


class TablePlanner(ABC):
    """Plans a pattern for a table function.

    Parameters
    ----------
    schema
        Of the table.
    selects
        Whether Spark computes what reads one row, before the function gets it; else the function does.
    ordered
        Whether the pattern's own ORDER BY says how rows are sorted.

    Attributes
    ----------
    match
        The bound pattern; subclasses set it before they plan.
    """

    match: LogicalMatch

    def __init__(self, schema: T.StructType, *, selects: bool, ordered: bool) -> None:
        self.schema, self.selects, self.ordered = schema, selects, ordered
        self.kinds = {field.name: field.dataType for field in schema.fields}
        self.types = RowTypes({name: type_text(kind) for name, kind in self.kinds.items()}, spark_computes_rows=selects)
        self.early: list[tuple[str, RowExpression]] = []
        self.selected: dict[str, str] = {}
        self.order: str | None = None

    @abstractmethod
    def task(self, prepared: Prepared) -> MatchTask | EventTask:
        """Return what finds the matches."""

    @abstractmethod
    def prepared(
        self, keys: tuple[Key, ...], order: str | None, masks: tuple[str, ...], passed: tuple[str, ...]
    ) -> Prepared:
        """Return the prepared rows, without a frame."""

    @abstractmethod
    def operands(self) -> tuple[Operand, ...]:
        """Return the operand columns of conditions that read other rows."""

    def plan(self) -> TablePlan:
        """Return the plan."""
        if self.match.late_aggregates:
            raise refused("an aggregate that only Spark knows", "MEASURES", HINT)
        keys = tuple(self._key(fragment.text) for fragment in self.match.partition_by)
        self.order = order = self._order()
        self._hidden_columns()
        groups = tuple(self._group(place, key) for place, key in enumerate(keys)) if self.selects else ()
        masks, bits = self._masks()
        passed = self._passed(keys, order)
        prepared = self.prepared(keys, order, masks, passed)
        task = self.task(prepared)
        late = tuple((c.name, self._late(c.text, c.clause, c.name)) for c in self.match.numbered)
        inputs = self._inputs(prepared, bits, masks, groups, late)
        for name in inputs:
            if name in self.kinds and name not in masks:
                arrow_type(self.kinds[name], name)
        results, matched = self.results(task, passed, order, keys)
        if not results:
            raise BindingError(
                "NO_RESULT",
                "the function would return no column",
                clause="measures",
                allowed="measures => map('n', 'COUNT(*)'), or partition_by => 'k', order_by => 'ts'",
            )
        found = TableMatch(
            task, inputs, self.kinds, groups, self.selects, tuple(self.early), self.match.neighbours, late, bits,
            matched, results,
        )  # fmt: skip
        selected = tuple((name, self._sent(name)) for name in inputs)
        return TablePlan(found, selected, keys, self.match.order_by if self.ordered else ())

    # -- what comes in ------------------------------------------------------------------------------

    def _key(self, given: str) -> Key:
        named = _NAMED.fullmatch(given.strip())
        text = named[1] if named else given.strip()
        own = self._own(text)
        name = named[2].strip("`") if named else own or text
        kind = self.kinds[own] if own is not None else self._kind(text, "PARTITION BY")
        if own is None or named:
            self.selected[name] = text
            self.kinds[name] = kind
            if not self.selects:
                self.early.append((name, self.types.expression(text, "PARTITION BY")))
        return Key(name, text, kind, canonical(text, kind))

    def _group(self, place: int, key: Key) -> str:
        """Return the column that tells values of a key apart as GROUP BY does."""
        if key.canonical == key.text:
            return key.name
        name = f"{self.match.prefix}_g{place}"
        self.selected[name] = key.canonical
        self.kinds[name] = T.StringType()
        return name

    def _own(self, text: str) -> str | None:
        plain = text.strip("`").lower()
        return next((name for name in self.schema.names if name.lower() == plain), None)

    def _kind(self, text: str, clause: str) -> T.DataType:
        own = self._own(text)
        return self.kinds[own] if own is not None else spark_type(self.types.types([text], clause=clause)[0])

    def _order(self) -> str | None:
        """Return the first order column, if there is one of this name."""
        if not self.ordered:
            return None
        first = self.match.order_by[0]
        own = self._own(first.expression)
        if own is not None:
            return own
        name = f"{self.match.prefix}_o0"
        self._computed(name, first.expression, "ORDER BY")
        return name

    def _computed(self, name: str, text: str, clause: str) -> None:
        """Let Spark compute a column, or compute it here."""
        fields = self.types.fields(text, clause)
        if fields:
            self.kinds[name] = T.StructType(
                [T.StructField(field, without_collation(self.kinds[column])) for field, column in fields]
            )
            self.early.append((name, self.types.expression(text, clause)))
            return
        self.kinds[name] = self._kind(text, clause)
        if self.selects:
            self.selected[name] = f"CAST({text} AS {type_text(self.kinds[name])})"
        else:
            self.early.append((name, self.types.expression(text, clause)))

    def _hidden_columns(self) -> None:
        for column in self.match.hidden:
            self._computed(column.name, column.text, column.clause)
        for step in self.match.neighbours:
            self.kinds[step.name] = self.kinds[step.column]

    def _late(self, text: str, clause: str, name: str) -> RowExpression:
        expression = self.types.expression(text, clause)
        self.kinds[name] = spark_type(expression.spark_type)
        return expression

    def _masks(self) -> tuple[tuple[str, ...], tuple[MaskBit, ...]]:
        conditions = self.match.conditions
        words = max(1, -(-len(conditions) // VARIABLES_PER_MASK))
        masks = tuple(f"{self.match.prefix}_k{word}" for word in range(words))
        early: dict[str, list[str]] = {name: [] for name in masks}
        bits: list[MaskBit] = []
        for index, condition in enumerate(conditions):
            row = condition.row_only
            if row is None:
                continue
            name, bit = masks[index // VARIABLES_PER_MASK], index % VARIABLES_PER_MASK + 1
            of_row, of_neighbours = self._parts(row)
            if of_row:
                early[name].append(f"CASE WHEN {of_row}\n THEN {1 << bit}L ELSE 0L END")
            if of_neighbours:
                holds = self.types.expression(of_neighbours, f"DEFINE {condition.variable}")
                bits.append(MaskBit(name, bit, holds, narrows=bool(of_row)))
        for name, texts in early.items():
            if texts or (self.selects and name == masks[0]):  # one column at least, for the rows to be counted
                self.selected[name] = " | ".join(texts) or "0L"
        return masks, tuple(bits)

    def _parts(self, row: RowCondition) -> tuple[str, str]:
        """Split a condition into what Spark computes and what the function does, where neighbours are at hand."""
        if not self.selects:
            return "", row.text
        if not row.numbered:
            return row.text, ""
        neighbours = [step.name for step in self.match.neighbours]
        try:
            parsed = SpannedExpression(row.text)
        except ValueError:
            return "", row.text
        texts = [parsed.text_of(conjunct) for conjunct in top_conjuncts(parsed.root)]
        if any(text is None for text in texts):
            return "", row.text
        known = [f"({text})" for text in texts if text is not None]
        late = [text for text in known if any(name in text for name in neighbours)]
        return " AND ".join(text for text in known if text not in late), " AND ".join(late)

    def _passed(self, keys: tuple[Key, ...], order: str | None) -> tuple[str, ...]:
        names = [key.name for key in keys]
        if self.match.rows_per_match == "one":
            return tuple(names)
        own = self.schema.names
        return tuple(dict.fromkeys([*names, *([order] if order in own else []), *own]))

    def _inputs(
        self,
        prepared: Prepared,
        bits: tuple[MaskBit, ...],
        masks: tuple[str, ...],
        groups: tuple[str, ...],
        late: tuple[tuple[str, RowExpression], ...],
    ) -> tuple[str, ...]:
        """Return the columns that the function gets: all of the table, or those that something reads."""
        if not self.selects:
            return tuple(self.schema.names)
        read: dict[str, None] = dict.fromkeys([*prepared.passed, *groups, *self.read_columns()])
        read.update(dict.fromkeys(operand.column for operand in self.operands()))
        read.update(dict.fromkeys(step.column for step in self.match.neighbours))
        times = (prepared.order, prepared.decided, prepared.told)
        read.update(dict.fromkeys(name for name in times if name is not None))
        computed = {column.name for column in self.match.numbered} | {step.name for step in self.match.neighbours}
        expressions = [bit.holds for bit in bits] + [expression for _, expression in (*late, *self.early)]
        read.update(dict.fromkeys(column for expression in expressions for column in expression.columns))
        computed |= {name for name, _ in self.early}
        return (*(name for name in read if name not in computed), *(name for name in masks if name in self.selected))

    def read_columns(self) -> tuple[str, ...]:
        """Return the columns that results read."""
        return tuple(output_columns(self.match))

    def _sent(self, name: str) -> str:
        """Return what Spark shall send as a column; Spark 4.0 sends no text with a collation."""
        text, kind = self.selected.get(name, quoted(name)), self.kinds.get(name)
        is_collated = isinstance(kind, T.StringType) and kind.collation != "UTF8_BINARY"
        return f"collate({text}, 'UTF8_BINARY')" if is_collated else sent_as_number(text, kind)

    def measured(self, order: str | None, clause: str) -> str:
        """Return the order column that a clause measures time by.

        Raises
        ------
        BindingError
            MISSING_ORDER: the call's own ORDER BY sorts; WRONG_WITHIN: the order descends.
        """
        if order is None:
            raise unknown_order(f"{clause} measures an order column", clause)
        if not self.match.order_by[0].ascending:
            raise BindingError(
                "WRONG_WITHIN",
                f"{clause} needs an ascending first order column",
                clause=clause,
                found=f"{self.match.order_by[0].expression} DESC",
            )
        return order

    def without_frame(
        self,
        keys: tuple[Key, ...],
        masks: tuple[str, ...],
        passed: tuple[str, ...],
        *,
        order: str | None,
        told: str | None,
        decided: str | None = None,
    ) -> Prepared:
        """Return prepared rows; nobody asks for their frame."""
        frame: Any = SimpleNamespace(columns=[])
        names, texts = tuple(key.name for key in keys), tuple(key.text for key in keys)
        kind = None if order is None else self.kinds[order]
        return Prepared(frame, names, order, kind, masks, passed, {}, decided, texts, told)

    # -- what goes out ------------------------------------------------------------------------------

    def results(
        self, task: MatchTask | EventTask, passed: tuple[str, ...], order: str | None, keys: tuple[Key, ...]
    ) -> tuple[tuple[Result, ...], str | None]:
        """Return the columns of the result, and the one that tells rows of matches from others."""
        rows = task.output if isinstance(task, MatchTask) else task.output.rows
        kinds = {name: self.kinds[name] for name in passed}
        kinds |= {output.name: self.output_kind(output) for output in rows.outputs}
        # Spark 4.0 takes no text with a collation from Python.
        kinds = {name: without_collation(kind) for name, kind in kinds.items()}
        types = RowTypes({name: type_text(kind) for name, kind in kinds.items()})
        leading = passed if self.match.rows_per_match == "one" else (*passed[: len(keys)], *_among(order, passed))
        leading = tuple(dict.fromkeys(leading))
        measures = [
            _result(measure.name, types.expression(measure.text, measure.clause), kinds)
            for measure in self.match.measures
        ]
        rest = [name for name in passed if name not in leading]
        handed = {name: Result(name, RowExpression("", column=name), kinds[name]) for name in passed}
        matched = f"{self.match.prefix}_matched" if rows.unmatched else None
        return (*(handed[name] for name in leading), *measures, *(handed[name] for name in rest)), matched

    def output_kind(self, output: Output) -> T.DataType:
        """Return the type of a column that the matcher adds."""
        return output_type(output, self.kinds)


def _among(order: str | None, passed: tuple[str, ...]) -> tuple[str, ...]:
    return (order,) if order is not None and order in passed else ()


def _result(name: str, value: RowExpression, kinds: Mapping[str, T.DataType]) -> Result:
    if value.column is not None:
        return Result(name, value, kinds[value.column])
    if value.collected is None:
        return Result(name, value, spark_type(value.spark_type))
    structs = kinds[value.collected]
    assert isinstance(structs, T.ArrayType)
    assert isinstance(structs.elementType, T.StructType)
    return Result(name, value, T.ArrayType(structs.elementType.fields[0].dataType))


def unknown_order(what: str, clause: str) -> BindingError:
    """Return the error for what has to know the order, where the call's own ORDER BY sorts."""
    return BindingError(
        "MISSING_ORDER",
        f"{what}, and ORDER BY of the call does not tell which",
        clause=clause,
        allowed="partition_by => 'k', order_by => 'ts' in place of PARTITION BY and ORDER BY",
    )


def refused(what: str, clause: str, hint: str) -> BindingError:
    """Return the error for what a table function does not serve."""
    return BindingError("NEEDS_SPARK", f"a table function cannot serve {what}", clause=clause, hint=hint)


def canonical(text: str, kind: T.DataType) -> str:
    """Return what groups rows by the bytes of its values as GROUP BY does by theirs.

    Raises
    ------
    BindingError
        UNSUPPORTED_KEY: equal values of the type look different, and nothing tells that they are equal.
    """
    if isinstance(kind, T.FloatType | T.DoubleType):
        return f"CAST(CASE WHEN ({text}) = 0 THEN 0 ELSE ({text}) END AS STRING)"
    if isinstance(kind, T.StringType):
        if kind.collation == "UTF8_BINARY":
            return text
        if kind.collation == "UTF8_LCASE":
            return f"collate(lower({text}), 'UTF8_BINARY')"
    elif not isinstance(kind, T.ArrayType | T.MapType | T.StructType | T.VariantType | T.CalendarIntervalType):
        return text
    raise BindingError(
        "UNSUPPORTED_KEY",
        f"a table function cannot group by '{text}' of type {kind.simpleString()}: equal values may look different",
        clause="partition_by",
        found=kind.simpleString(),
        allowed="numbers, times, booleans, binaries, texts in UTF8_BINARY or UTF8_LCASE",
        hint="use sparkcep.enable(spark), or a column of the input: TABLE(SELECT *, collate(k, 'UTF8_BINARY') AS c …)",
    )
