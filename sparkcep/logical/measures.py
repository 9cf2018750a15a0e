"""Splits MEASURES into what the matcher gathers and the Spark text that finishes it."""

from __future__ import annotations

import re
from dataclasses import replace

from sparkcep.errors import BindingError
from sparkcep.logical.bound import LateAggregate, MeasureText
from sparkcep.logical.calls import SPARK_AGGREGATES, Aggregate, Call, Classifier, MatchNumberCall, Navigation, Template
from sparkcep.logical.collected import INVERSE_DISTRIBUTIONS, aggregate_text, ordered, over_array
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.outputs import CLASSIFIER, Aggregated, Collected, Gathered, Numbered, Output
from sparkcep.logical.reader import read_expression
from sparkcep.logical.scope import Clause, Names
from sparkcep.logical.types import TypeOracle, decimal_digits, is_day_time, is_integral
from sparkcep.syntax.clause import Measure

NATIVE = {"count": "count", "sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max"}
_NULL_STRING = "CAST(NULL AS STRING)"
_BOOLEAN = ("boolean", "void")
_CASTABLE = re.compile(r"[\w<>,:() ]+")
_UNCASTABLE = "<type>"
_UNORDERED = ("struct", "array", "map", "variant", "interval year", "interval month", "calendar_interval")


class MeasureBinder:
    """Binds the measures of one clause; equal calls are gathered once.

    Attributes
    ----------
    outputs
        What the matcher adds to its rows.
    late
        Aggregates Spark computes over collected arrays afterwards.
    bare
        Input columns that measures name without a variable (the output row's own).
    """

    def __init__(self, names: Names, hidden: HiddenColumns, oracle: TypeOracle) -> None:
        self.names = names
        self.hidden = hidden
        self.oracle = oracle
        self.outputs: dict[Output, str] = {}
        self.late: list[LateAggregate] = []
        self.bare: dict[str, None] = {}

    def bind(self, measure: Measure, word: str = "MEASURES") -> MeasureText:
        """Return the measure's text over hidden columns; `word` names its clause in messages.

        Raises
        ------
        BindingError
            When a rule of MEASURES is broken.
        """
        clause = Clause(f"{word} {measure.name}", measure.expression, self.names)
        template = read_expression(clause)
        try:
            self._check_types(template, clause)
            text = template.spliced(lambda call: self._text(call, clause))
        except BindingError as error:
            raise clause.located(error) from None
        self.bare.update(dict.fromkeys(template.mentions))
        return MeasureText(measure.name, text, clause.title)

    def _check_types(self, template: Template, clause: Clause) -> None:
        """Let Spark analyse the measure with stand-ins of the same types for our calls."""
        typed = template.spliced(lambda call: self._typed(call, clause))
        is_one_call = len(template.pieces) == 1 and not isinstance(template.pieces[0], str)
        if _UNCASTABLE in typed or (is_one_call and typed.startswith("CAST(")):
            return  # for the second, Spark has told the type of the call
        try:
            self.oracle.types([typed], clause=clause.title)
        except BindingError as error:
            if error.found is not None:
                raise
            raise clause.error(error.code, error.message, 0, len(clause.fragment.text), hint=error.hint) from None

    def _typed(self, call: Call, clause: Clause) -> str:
        if isinstance(call, MatchNumberCall):
            return "CAST(NULL AS BIGINT)"
        if isinstance(call, Navigation):
            return _NULL_STRING if isinstance(call.inner, Classifier) else f"({call.inner})"
        if call.filter is not None and self.oracle.types([call.filter], clause=clause.title)[0] not in _BOOLEAN:
            raise self._wrong(call, clause, f"FILTER takes a condition, '{call.filter}' is none")
        if not call.arguments and call.function in SPARK_AGGREGATES - {"count", *INVERSE_DISTRIBUTIONS}:
            raise self._wrong(call, clause, f"{call.function.upper()} takes a column, not rows")
        spark_type = self.oracle.types([_over_input(call)], clause=clause.title)[0]
        return f"CAST(NULL AS {spark_type})" if _CASTABLE.fullmatch(spark_type) else _UNCASTABLE

    def _text(self, call: Call, clause: Clause) -> str:
        if isinstance(call, MatchNumberCall):
            return self.output(Numbered(""))
        if isinstance(call, Navigation):
            return self._gathered(call, clause)
        return self._aggregated(call, clause)

    def output(self, output: Output) -> str:
        """Return the hidden column of an output, shared by equal ones."""
        if output not in self.outputs:
            self.outputs[output] = self.hidden.fresh("m")
        return self.outputs[output]

    def named_outputs(self) -> tuple[Output, ...]:
        """Return the outputs under their hidden names."""
        return tuple(replace(output, name=name) for output, name in self.outputs.items())

    def _gathered(self, call: Navigation, clause: Clause) -> str:
        if isinstance(call.inner, Classifier):
            gathered = Gathered("", CLASSIFIER, call.rows, call.end, call.offset, call.shift, call.final)
        else:
            column = self.hidden.located(call, clause.title)
            gathered = Gathered("", column, call.rows, call.end, call.offset, 0, call.final)
        return self.output(gathered)

    # -- aggregates -------------------------------------------------------------------------------

    def _aggregated(self, call: Aggregate, clause: Clause) -> str:
        if call.function in NATIVE and not call.distinct and not call.order_by and len(call.arguments) <= 1:
            native = self._native(call, clause)
            if native is not None:
                return native
        return self._collected(call, clause)

    def _native(self, call: Aggregate, clause: Clause) -> str | None:
        """Return an aggregate that the matcher computes itself, None if it cannot."""
        condition = self.hidden.column(call.filter, clause.title) if call.filter is not None else None
        if not call.arguments:
            if call.function != "count":
                raise self._wrong(call, clause, f"{call.function.upper()} takes a column, not rows")
            return self.output(Aggregated("", "count", None, call.rows, call.final, condition))
        argument = call.arguments[0]
        if isinstance(argument, Classifier):
            return None
        spark_type = self.oracle.types([argument], clause=clause.title)[0]
        function = NATIVE[call.function]
        column = self.hidden.column(argument, clause.title)
        if function == "avg" and decimal_digits(spark_type):
            return self._decimal_average(call, column, condition, spark_type)
        if not _is_native(function, spark_type):
            return None
        return self.output(Aggregated("", function, column, call.rows, call.final, condition))  # type: ignore[arg-type]

    def _decimal_average(self, call: Aggregate, column: str, condition: str | None, spark_type: str) -> str:
        """Divide in Spark, rounded to the scale that Spark's own avg has."""
        precision, scale = decimal_digits(spark_type) or (38, 0)
        total = self.output(Aggregated("", "sum", column, call.rows, call.final, condition))
        count = self.output(Aggregated("", "count", column, call.rows, call.final, condition))
        wanted = f"decimal({min(38, precision + 4)},{min(37, scale + 4)})"
        return f"CAST(try_divide({total}, CAST({count} AS decimal(20,0))) AS {wanted})"

    def _collected(self, call: Aggregate, clause: Clause) -> str:
        """Collect the arguments of every row into an array; Spark goes on from there."""
        fields: dict[str, str] = {}
        arguments = [self._field(argument, fields, clause) for argument in call.arguments]
        keys = [self._field(key.expression, fields, clause) for key in call.order_by]
        condition = self.hidden.column(call.filter, clause.title) if call.filter is not None else None
        columns = tuple(fields) or (CLASSIFIER,)
        array = self.output(Collected("", columns, call.rows, call.final, condition))
        direct = over_array(call, array, arguments, keys)
        if direct is not None:
            return direct
        return self._late(call, array, arguments, keys)

    def _field(self, argument: str | Classifier, fields: dict[str, str], clause: Clause) -> str:
        """Return the struct field that holds an argument; a constant stays as it is."""
        if isinstance(argument, str) and not self.hidden.mentions(argument):
            return argument
        column = CLASSIFIER if isinstance(argument, Classifier) else self.hidden.column(argument, clause.title)
        return fields.setdefault(column, f"s.f{len(fields)}")

    def _late(self, call: Aggregate, array: str, arguments: list[str], keys: list[str]) -> str:
        name = self.hidden.fresh("a")
        item = f"{self.hidden.prefix}_s"
        shown = [f"{item}.{text[2:]}" if text.startswith("s.f") else text for text in arguments]
        if call.function in INVERSE_DISTRIBUTIONS:
            by = [f"{item}.{key.removeprefix('s.')}" for key in keys]
            text = aggregate_text(call, shown, by)
        else:
            array = ordered(call, array, keys)
            text = aggregate_text(call, shown, [])
        self.late.append(LateAggregate(name, array, text, call.function not in SPARK_AGGREGATES))
        return name

    def _wrong(self, call: Aggregate, clause: Clause, message: str) -> Exception:
        return clause.error("WRONG_AGGREGATE", message, call.span.start, call.span.end)


def _over_input(call: Aggregate) -> str:
    """Return the call as it would stand over the input, where it has the same type."""
    shown = [_NULL_STRING if isinstance(argument, Classifier) else argument for argument in call.arguments]
    keys = [key.expression for key in call.order_by] if call.function in INVERSE_DISTRIBUTIONS else []
    return aggregate_text(call, shown, keys)


def _is_native(function: str, spark_type: str) -> bool:
    """Tell whether the matcher computes an aggregate over a type exactly as Spark does."""
    if function == "count":
        return True
    number = is_integral(spark_type) or spark_type in ("double", "float")
    if function == "avg":
        return number
    if function == "sum":
        return number or decimal_digits(spark_type) is not None or is_day_time(spark_type)
    collated = spark_type.startswith("string collate") and spark_type != "string collate UTF8_BINARY"
    return not collated and not spark_type.startswith(_UNORDERED) and not re.match(r"time(\(|$)", spark_type)
