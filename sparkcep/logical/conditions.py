"""Splits the conditions of DEFINE by what they read (the heart of `logical`).

1. Conditions of one row, and of neighbours at constant distance, become Spark text: one bit.
2. The largest such pieces inside other conditions become operand columns.
3. What joins them is lowered to slot operations that the kernel interprets.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sparkcep.errors import BindingError, warn
from sparkcep.logical.bound import Condition, RowCondition
from sparkcep.logical.calls import Aggregate, Call, Classifier, MatchNumberCall, Navigation, Template
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.lowering import Lowering
from sparkcep.logical.reader import read_expression
from sparkcep.logical.scope import Clause, Names
from sparkcep.logical.slots import (
    BIGINT,
    DOUBLE,
    STRING,
    ClassifierOf,
    Logic,
    MatchNumber,
    Pick,
    RowReference,
    RowSet,
    Running,
    SlotExpression,
)
from sparkcep.logical.spans import SpannedExpression
from sparkcep.logical.types import DECIMAL_DIGITS, TypeOracle, decimal_digits, is_day_time, is_integral
from sparkcep.logical.values import Leaf, Value, Values, result
from sparkcep.syntax.clause import Definition

RUNNING_AGGREGATES = {"count": "count", "sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max"}


@dataclass(frozen=True, slots=True)
class SplitCondition:
    """A variable's condition: what Spark computes, and what the kernel interprets."""

    condition: Condition
    slots: SlotExpression | None


def split_condition(definition: Definition, names: Names, hidden: HiddenColumns, oracle: TypeOracle) -> SplitCondition:
    """Read one definition and split it.

    Raises
    ------
    BindingError
        When a rule of DEFINE is broken, or a match-dependent part cannot be computed exactly.
    """
    clause = Clause(f"DEFINE {definition.variable}", definition.condition, names, tested=definition.variable)
    try:
        return _Splitter(clause, names.variables.index(definition.variable), hidden, oracle).split()
    except BindingError as error:
        raise clause.located(error) from None


class _Splitter:
    def __init__(self, clause: Clause, tested: int, hidden: HiddenColumns, oracle: TypeOracle) -> None:
        self.clause = clause
        self.tested = tested
        self.hidden = hidden
        self.values = Values({}, self._operand_index, oracle, clause.title)
        self.placeholders: dict[str, Value] = self.values._slots

    def _operand_index(self, text: str, kind: object) -> int:
        return self.hidden.operand(text, kind, self.clause.title)  # type: ignore[arg-type]

    def split(self) -> SplitCondition:
        template = read_expression(self.clause)
        text = template.spliced(self._replacement)
        if not self.placeholders:
            self._warn_if_never_true(template, text)
            return SplitCondition(self._condition(self._row_condition([text]), dependent=False), None)
        parsed = self._parsed(text)
        row_only: list[str] = []
        dependent: list[SlotExpression] = []
        for conjunct in top_conjuncts(parsed.root):
            piece = parsed.text_of(conjunct)
            if piece is not None and not self._has_slot(conjunct):
                row_only.append(f"({piece})")
            else:
                dependent.append(self._lowered(parsed, conjunct))
        slots = dependent[0]
        for following in dependent[1:]:
            slots = Logic("and", slots, following)
        row_condition = self._row_condition(row_only) if row_only else None
        return SplitCondition(self._condition(row_condition, dependent=True), slots)

    def _condition(self, row_only: RowCondition | None, *, dependent: bool) -> Condition:
        assert self.clause.tested is not None
        return Condition(self.clause.tested, self.clause.fragment.text, row_only, dependent)

    def _row_condition(self, texts: list[str]) -> RowCondition:
        text = " AND ".join(texts)
        spark_type = self.values.spark_type(text)
        if spark_type not in ("boolean", "void"):
            raise self.clause.error(
                "NOT_A_CONDITION",
                f"DEFINE takes conditions: '{self.clause.fragment.text}' is {spark_type}, not boolean",
                0,
                len(self.clause.fragment.text),
                found=spark_type,
                allowed="boolean",
                hint="compare it with something",
            )
        numbered = self.hidden.reads_neighbour(text)
        return RowCondition(text, numbered, self.hidden.mentions(text))

    def _parsed(self, text: str) -> SpannedExpression:
        try:
            return SpannedExpression(text)
        except ValueError as error:
            raise self._refusal(
                self.clause.fragment.text,
                f"the part that reads other rows of the match cannot be taken apart: {error}",
                "move Spark-only syntax inside a navigation, as in LAST(v:a::int), or into a column of the input",
            ) from None

    def _lowered(self, parsed: SpannedExpression, conjunct: exp.Expression) -> SlotExpression:
        lowering = Lowering(parsed, self.values, self._refusal)
        try:
            return lowering.boolean(conjunct)
        except ValueError as error:
            raise self._refusal(parsed.text_of(conjunct) or parsed.text, str(error), None) from None

    def _refusal(self, piece: str, reason: str, hint: str | None) -> BindingError:
        text = self.clause.fragment.text
        start = max(text.find(piece), 0)
        end = start + len(piece) if text.find(piece) >= 0 else len(text)
        return self.clause.error("UNSUPPORTED_CONDITION", reason, start, end, hint=hint)

    def _has_slot(self, node: exp.Expression) -> bool:
        return any(column.name in self.placeholders for column in node.find_all(exp.Column))

    # -- calls ------------------------------------------------------------------------------------

    def _replacement(self, call: Call) -> str:
        """Return local text for a call about the row under test, else a slot's placeholder."""
        local = self._local(call)
        if local is not None:
            return local
        name = self.hidden.fresh("s")
        self.placeholders[name] = self._slot(call)
        return name

    def _local(self, call: Call) -> str | None:
        """Text for a value of the row under test or of a neighbour at constant distance."""
        if not isinstance(call, Navigation) or call.end != "last" or call.offset or isinstance(call.inner, Classifier):
            return None
        members = call.rows.variables
        if members is not None and self.tested not in members:
            return None
        if call.shift == 0:
            return call.inner if call.inner.isidentifier() else f"({call.inner})"
        return self.hidden.located(call, self.clause.title)

    def _slot(self, call: Call) -> Value:
        if isinstance(call, MatchNumberCall):
            return result(MatchNumber(), "bigint")
        if isinstance(call, Aggregate):
            return self._running(call)
        at = RowReference(call.rows, call.end, call.offset)
        if isinstance(call.inner, Classifier):
            return result(ClassifierOf(at, call.shift), "string")
        text = call.inner if call.shift == 0 else self.hidden.located(call, self.clause.title)
        return Value(self.values.spark_type(text), leaf=Leaf(text, at))

    def _running(self, call: Aggregate) -> Value:
        function = RUNNING_AGGREGATES.get(call.function)
        if len(call.arguments) == 1 and isinstance(call.arguments[0], Classifier):
            labels = self._running_labels(call)
            if labels is not None:
                return labels
        if function is None or any(isinstance(argument, Classifier) for argument in call.arguments):
            raise self.clause.error(
                "UNSUPPORTED_AGGREGATE",
                f"{call.function.upper()} cannot be computed while matching",
                call.span.start,
                call.span.end,
                allowed="COUNT, SUM, AVG, MIN, MAX over columns",
                hint="every aggregate of Spark may stand in MEASURES",
            )
        if not call.arguments:
            return result(Running("count", None, None, call.rows, BIGINT), "bigint")
        return running_over(function, call.rows, str(call.arguments[0]), self.values)

    def _running_labels(self, call: Aggregate) -> Value | None:
        """Return COUNT, MIN or MAX of CLASSIFIER(): of the variables that have taken a row."""
        if call.function == "count":
            return result(Running("count", None, None, call.rows, BIGINT), "bigint")
        pick = {"min": "least", "max": "greatest"}.get(call.function)
        if pick is None:
            return None
        variables = call.rows.variables
        members = range(len(self.clause.names.variables)) if variables is None else sorted(variables)
        firsts = tuple(ClassifierOf(RowReference(RowSet(frozenset({member})), "first")) for member in members)
        return result(Pick(pick, firsts, STRING), "string")  # type: ignore[arg-type]

    def _warn_if_never_true(self, template: Template, text: str) -> None:
        """``A AS v > LAST(A.v)`` compares a row with itself."""
        explicit = [call for call in template.calls if isinstance(call, Navigation) and not call.shift]
        if not any("(" in self.clause.fragment.text[call.span.start : call.span.end] for call in explicit):
            return
        try:
            root = SpannedExpression(text).root
        except ValueError:
            return
        for node in root.find_all(exp.GT, exp.LT, exp.NEQ):
            if node.left.unnest() == node.right.unnest():
                warn(
                    f"{self.clause.title}: '{self.clause.fragment.text}' compares the row under test with itself and "
                    "can never hold, since that row already is the last row of its variable; "
                    "PREV(x) is the row before, LAST(A.x, 1) the A row before",
                )


def running_over(function: str, rows: RowSet, text: str, values: Values) -> Value:
    """Return COUNT, SUM, AVG, MIN or MAX of `text` over `rows` so far, with the type Spark gives it."""
    spark_type = values.spark_type(text)
    if function == "count":
        text, spark_type, wanted = f"nullif(isnotnull({text}), false)", "boolean", "bigint"
    elif function == "avg":
        wanted = "double"
        text, spark_type = (text, spark_type) if is_integral(spark_type) else (f"CAST({text} AS DOUBLE)", "double")
    elif function == "sum":
        wanted = sum_type(spark_type)
    else:
        wanted = spark_type
    operand_type = values.slot_type(spark_type)
    kind = {"count": BIGINT, "avg": DOUBLE}.get(function) or values.slot_type(wanted)
    index = values.operand_index(text, operand_type)
    return result(Running(function, index, operand_type, rows, kind), wanted)  # type: ignore[arg-type]


def sum_type(spark_type: str) -> str:
    """Spark's type of a sum; decimals stay 64-bit unscaled values (beyond: NULL)."""
    digits = decimal_digits(spark_type)
    if digits is not None:
        return f"decimal({DECIMAL_DIGITS},{digits[1]})"
    if is_day_time(spark_type):
        return "interval day to second"
    return "double" if spark_type in ("double", "float") else "bigint"


def top_conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """Return the parts of a conjunction, brackets around them taken off."""
    pending, found = [node], []
    while pending:
        part = pending.pop()
        inner = part.unnest()
        if isinstance(inner, exp.And):
            pending += [inner.right, inner.left]
        else:
            found.append(part)
    return found
