"""Plans a pattern for a table function: from the table's schema and constant arguments, without a session."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.automaton import compile_automaton
from sparkcep.engine.program import compile_program
from sparkcep.engine.slots import lower
from sparkcep.errors import BindingError, PlanError
from sparkcep.logical.binder import bind
from sparkcep.logical.bound import LogicalMatch, RowCondition
from sparkcep.logical.calls import SortKey
from sparkcep.logical.conditions import top_conjuncts
from sparkcep.logical.outputs import Output
from sparkcep.logical.row_types import HINT, RowExpression, RowTypes
from sparkcep.logical.slots import SlotConditions
from sparkcep.logical.spans import SpannedExpression
from sparkcep.planning.planner import choose
from sparkcep.planning.plans import Options
from sparkcep.spark.arguments import Arguments, read_arguments
from sparkcep.spark.event_arguments import is_event_pattern
from sparkcep.spark.finish import output_type
from sparkcep.spark.matching import Compiled, match_task
from sparkcep.spark.prepare import VARIABLES_PER_MASK, Prepared, output_columns
from sparkcep.spark.table_match import MaskBit, Result, TableMatch
from sparkcep.spark.table_types import arrow_type, spark_type
from sparkcep.spark.types import quoted, type_text
from sparkcep.syntax.clause import Fragment

_NAMED = re.compile(r"(.*\S)\s+AS\s+(`(?:[^`]|``)+`|\w+)", re.IGNORECASE | re.DOTALL)
NO_WINDOW = "a table function gets its rows one partition after the other, and has no window of Spark"


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
        What is done with a partition.
    selected
        What Spark shall compute of each row: name and text, in the order of the match's inputs.
    keys, orders
        How Spark shall partition and sort.
    """

    match: TableMatch
    selected: tuple[tuple[str, str], ...]
    keys: tuple[Key, ...]
    orders: tuple[SortKey, ...]


class RowPatternPlanner:
    """Plans a row pattern.

    Parameters
    ----------
    schema
        Of the table.
    arguments
        Texts only.
    selects
        Whether Spark computes what reads one row, before the function gets it; else the function does.
    ordered
        Whether the pattern's own ORDER BY says how rows are sorted.
    """

    def __init__(self, schema: T.StructType, arguments: Arguments, *, selects: bool, ordered: bool) -> None:
        self.schema, self.selects, self.ordered = schema, selects, ordered
        self.kinds = {field.name: field.dataType for field in schema.fields}
        self.types = RowTypes({name: type_text(kind) for name, kind in self.kinds.items()}, spark_computes_rows=selects)
        frame: Any = SimpleNamespace(columns=list(schema.names))
        clause, source = read_arguments(frame, arguments)
        if source.drop_null_order:
            raise _refused("null_order_value='drop'", "null_order_value", "filter such rows: TABLE(SELECT … WHERE …)")
        if not ordered:
            clause = replace(clause, order_by=(Fragment("0"),))
        self.match: LogicalMatch = bind(clause, schema.names, self.types)
        if self.match.late_aggregates:
            raise _refused("an aggregate that only Spark knows", "MEASURES", HINT)
        self.early: list[tuple[str, RowExpression]] = []
        self.selected: dict[str, str] = {}

    def plan(self) -> TablePlan:
        """Return the plan."""
        keys = tuple(self._key(fragment) for fragment in self.match.partition_by)
        order = self._order()
        self._hidden_columns()
        masks, bits = self._masks()
        passed = self._passed(keys, order)
        prepared = self._prepared(keys, order, masks, passed)
        task = match_task(self.match, prepared, self._compiled(), Options())
        inputs = self._inputs(prepared, bits, masks)
        kinds = {name: kind for name, kind in self.kinds.items() if name not in masks}
        for name in inputs:
            if name in kinds:
                arrow_type(kinds[name], name)
        late = tuple((c.name, self._late(c.text, c.clause, c.name)) for c in self.match.numbered)
        matched = f"{self.match.prefix}_matched" if task.output.unmatched else None
        results = self._results(task.output.outputs, passed, order, keys)
        if not results:
            raise BindingError(
                "NO_RESULT",
                "the function would return no column",
                clause="measures",
                allowed="measures => map('n', 'COUNT(*)'), or partition_by => 'k', order_by => 'ts'",
            )
        found = TableMatch(
            task, inputs, self.kinds, tuple(self.early), self.match.neighbours, late, bits, matched, results
        )
        selected = tuple((name, self._sent(name)) for name in inputs)
        return TablePlan(found, selected, keys, self.match.order_by if self.ordered else ())

    def _key(self, fragment: Fragment) -> Key:
        named = _NAMED.fullmatch(fragment.text.strip())
        text = named[1] if named else fragment.text.strip()
        own = self._own(text)
        name = named[2].strip("`") if named else own or text
        kind = self.kinds[own] if own is not None else self._kind(text, "PARTITION BY")
        if own is None or named:
            self.selected[name] = text
            self.kinds[name] = kind
            if not self.selects:
                self.early.append((name, self.types.expression(text, "PARTITION BY")))
        return Key(name, text, kind, canonical(text, kind))

    def _own(self, text: str) -> str | None:
        plain = text.strip("`").lower()
        return next((name for name in self.schema.names if name.lower() == plain), None)

    def _kind(self, text: str, clause: str) -> T.DataType:
        own = self._own(text)
        return self.kinds[own] if own is not None else spark_type(self.types.types([text], clause=clause)[0])

    def _order(self) -> str | None:
        """Return the first order column, if there is one of this name."""
        if not self.ordered:
            if self.match.within is not None and self.match.within.unit != "events":
                raise BindingError(
                    "MISSING_ORDER",
                    "WITHIN measures an order column, and ORDER BY of the call does not tell which",
                    clause="WITHIN",
                    allowed="partition_by => 'k', order_by => 'ts' in place of PARTITION BY and ORDER BY",
                )
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

    def _prepared(
        self, keys: tuple[Key, ...], order: str | None, masks: tuple[str, ...], passed: tuple[str, ...]
    ) -> Prepared:
        by_time = self.match.within is not None and self.match.within.unit != "events"
        if by_time and not self.match.order_by[0].ascending:
            raise BindingError(
                "WRONG_WITHIN",
                "WITHIN needs an ascending first order column",
                clause="WITHIN",
                found=f"{self.match.order_by[0].expression} DESC",
            )
        frame: Any = SimpleNamespace(columns=[])
        names = tuple(key.name for key in keys)
        texts = tuple(key.text for key in keys)
        measured = order if by_time else None
        kind = self.kinds[order] if by_time and order is not None else None
        told = order if self.match.after_match.target is not None or by_time else None
        return Prepared(frame, names, measured, kind, masks, passed, {}, None, texts, told)

    def _compiled(self) -> Compiled:
        match, too_large, automaton = self.match, None, None
        try:
            automaton = compile_automaton(match.pattern, match.variables)
        except PlanError as error:
            too_large = error.message
        states = len(automaton.positions) if automaton is not None else None
        decision = choose(match, Options(), states=states, too_large=too_large, fixed=NO_WINDOW)
        slots = match.slots or SlotConditions(match.variables, (), tuple(None for _ in match.variables))
        used = automaton if decision.chosen.name == "sweep" else None
        program = compile_program(match.pattern, match.variables)
        return Compiled(decision, used, program, lower(slots), too_large)

    def _inputs(self, prepared: Prepared, bits: tuple[MaskBit, ...], masks: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns that the function gets: all of the table, or those that something reads."""
        if not self.selects:
            return tuple(self.schema.names)
        read: dict[str, None] = dict.fromkeys(prepared.passed)
        read.update(dict.fromkeys(output_columns(self.match)))
        if self.match.slots is not None:
            read.update(dict.fromkeys(operand.column for operand in self.match.slots.operands))
        read.update(dict.fromkeys(step.column for step in self.match.neighbours))
        read.update(dict.fromkeys(r.column for bit in bits for r in _reads(bit.holds)))
        late = [self.types.expression(column.text, column.clause) for column in self.match.numbered]
        read.update(dict.fromkeys(r.column for expression in late for r in _reads(expression)))
        read.update(dict.fromkeys(name for name in (prepared.order, prepared.told) if name is not None))
        computed = {column.name for column in self.match.numbered} | {step.name for step in self.match.neighbours}
        return (*(name for name in read if name not in computed), *(name for name in masks if name in self.selected))

    def _sent(self, name: str) -> str:
        """Return what Spark shall send as a column; Spark 4.0 sends no text with a collation."""
        text, kind = self.selected.get(name, quoted(name)), self.kinds.get(name)
        is_collated = isinstance(kind, T.StringType) and kind.collation != "UTF8_BINARY"
        return f"collate({text}, 'UTF8_BINARY')" if is_collated else text

    def _results(
        self, outputs: tuple[Output, ...], passed: tuple[str, ...], order: str | None, keys: tuple[Key, ...]
    ) -> tuple[Result, ...]:
        kinds = {name: self.kinds[name] for name in passed} | {o.name: output_type(o, self.kinds) for o in outputs}
        # Spark 4.0 takes no text with a collation from Python.
        kinds = {name: T.StringType() if isinstance(kind, T.StringType) else kind for name, kind in kinds.items()}
        types = RowTypes({name: type_text(kind) for name, kind in kinds.items()})
        leading = passed if self.match.rows_per_match == "one" else (*passed[: len(keys)], *_among(order, passed))
        leading = tuple(dict.fromkeys(leading))
        measures = [
            _result(measure.name, types.expression(measure.text, measure.clause), kinds)
            for measure in self.match.measures
        ]
        rest = [name for name in passed if name not in leading]
        handed = {name: Result(name, _column(name), kinds[name]) for name in passed}
        return (*(handed[name] for name in leading), *measures, *(handed[name] for name in rest))


def _among(order: str | None, passed: tuple[str, ...]) -> tuple[str, ...]:
    return (order,) if order is not None and order in passed else ()


def _column(name: str) -> RowExpression:
    return RowExpression("", name, None, ())


def _result(name: str, value: RowExpression, kinds: dict[str, T.DataType]) -> Result:
    kind = kinds[value.column] if value.column is not None else spark_type(value.spark_type)
    return Result(name, value, kind)


def _reads(expression: RowExpression) -> list[Any]:
    if expression.column is not None:
        return [SimpleNamespace(column=expression.column)]
    return [read for read, _ in expression.reads]


def _refused(what: str, clause: str, hint: str) -> BindingError:
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


def planned_table(schema: T.StructType, arguments: Arguments, *, selects: bool) -> TablePlan:
    """Plan a pattern over a table of a schema; see `RowPatternPlanner`.

    Raises
    ------
    PatternSyntaxError, BindingError, PlanError
        As for `sparkcep.match_pattern`; NEEDS_SPARK where only Spark could compute something.
    """
    if is_event_pattern(arguments.pattern):
        raise PlanError(
            "UNSUPPORTED_PATTERN",
            "table functions match row patterns, and this is an event pattern",
            clause="pattern",
            hint="sparkcep.enable(spark) lets spark.sql run the same call with event patterns",
        )
    whole = isinstance(arguments.pattern, str) and arguments.pattern.lstrip().upper().startswith("MATCH_RECOGNIZE")
    ordered = whole or bool(arguments.order_by)
    if arguments.partition_by and not ordered:
        raise BindingError(
            "MISSING_ORDER",
            "partition_by comes with order_by: Spark sorts by both",
            clause="order_by",
            allowed="order_by => 'ts'",
        )
    return RowPatternPlanner(schema, arguments, selects=selects, ordered=ordered).plan()
