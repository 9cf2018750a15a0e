"""Types between Spark, Arrow and kernels: what Spark says they are, and how odd ones travel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeVar

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.events import TimeUnits
from sparkcep.errors import BindingError, PlanError, Span, did_you_mean
from sparkcep.logical.bound import HiddenColumn
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.types import decimal_digits, is_integral
from sparkcep.spark.quiet import query_errors_unlogged
from sparkcep.syntax.clause import Within

DAY_IN_MICROSECONDS = 86_400_000_000
_Result = TypeVar("_Result")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_ROUTINE = re.compile(r"[Cc]annot resolve (?:routine|function) `([^`]+)`")
_NAME = re.compile(r"with name (`[^`]+`(?:\.`[^`]+`)*) cannot be resolved")


class SparkTypes:
    """Asks Spark for the types of expressions; analysis only, no job.

    Hidden columns and neighbours may be named: a neighbour has the type of its column.
    """

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._hidden: HiddenColumns | None = None
        self._known: dict[str, str] = {}

    def attach(self, hidden: HiddenColumns) -> None:
        """Let expressions name hidden columns."""
        self._hidden = hidden

    def types(self, expressions: Sequence[str], *, clause: str) -> list[str]:
        """Return simple type names; see `logical.types.TypeOracle`."""
        missing = [text for text in dict.fromkeys(expressions) if text not in self._known]
        if missing:
            frame = self._with_hidden(missing)
            for text in missing:
                self._known[text] = self._type(frame, text, clause)
        return [self._known[text] for text in expressions]

    def _with_hidden(self, texts: Sequence[str]) -> DataFrame:
        hidden = self._hidden
        if hidden is None or not any(hidden.prefix in text for text in texts):
            return self._frame
        frame, visible = self._frame, self._frame.columns
        for column in hidden.computed.values():
            computed = expression(column.text, column.clause, frame)
            frame = analysed(partial(_added, frame, column.name, computed), column.text, column.clause, visible)
        return frame.select("*", *(F.col(quoted(step.column)).alias(step.name) for step in hidden.neighbours.values()))

    def _type(self, frame: DataFrame, text: str, clause: str) -> str:
        return type_text(analysed(lambda: frame.select(F.expr(text)).schema, text, clause, frame.columns)[0].dataType)


def _added(frame: DataFrame, name: str, column: Column) -> DataFrame:
    found = frame.withColumn(name, column)
    _ = found.schema  # on Connect nothing is analysed before somebody asks
    return found


def type_text(kind: T.DataType) -> str:
    """Return a type as CAST reads it: as its simple string, names of fields quoted where they must be."""
    if isinstance(kind, T.ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, T.MapType):
        return f"map<{type_text(kind.keyType)},{type_text(kind.valueType)}>"
    if isinstance(kind, T.StructType):
        names = [name if _PLAIN_NAME.fullmatch(name) else quoted(name) for name in kind.names]
        fields = zip(names, kind.fields, strict=True)
        return f"struct<{','.join(f'{name}:{type_text(field.dataType)}' for name, field in fields)}>"
    return kind.simpleString()


def expression(text: str, clause: str, frame: DataFrame) -> Column:
    """Return a user's expression as a Column; Spark's complaints are told with the clause."""
    return analysed(lambda: F.expr(text), text, clause, frame.columns)


def analysed(build: Callable[[], _Result], text: str, clause: str, columns: Sequence[str]) -> _Result:
    """Run an analysis; turn Spark's error into ours, with clause, position and near names."""
    try:
        with query_errors_unlogged():
            return build()
    except (AnalysisException, ParseException) as error:
        raise analysis_error(error, text, clause, columns) from None


def analysis_error(error: AnalysisException, text: str, clause: str, columns: Sequence[str]) -> BindingError:
    """Return our error for Spark's, with clause, position and near names."""
    message = str(error).strip().split("\n", 1)[0]
    code = error.getCondition() if hasattr(error, "getCondition") else None
    code = code or "ANALYSIS_ERROR"
    message = message.removeprefix(f"[{code}]").strip()
    found = _NAME.search(message)
    if found is not None:
        visible = [column for column in columns if not column.startswith("__cep")]
        return _unknown(code, "column", found[1].replace("`", ""), text, clause, visible, allowed=visible)
    routine = _ROUTINE.search(message)
    if routine is not None:
        return _unknown(code, "function", routine[1], text, clause, dir(F))
    return BindingError(code.split(".", 1)[0], concise(message), clause=clause, text=text, span=Span(0, len(text)))


def _unknown(
    code: str, kind: str, name: str, text: str, clause: str, known: Sequence[str], allowed: Sequence[str] | None = None
) -> BindingError:
    start = text.lower().find(name.lower())
    return BindingError(
        code.split(".", 1)[0],
        f"there is no {kind} '{name}'",
        clause=clause,
        text=text,
        span=Span(start, start + len(name)) if start >= 0 else Span(0, len(text)),
        found=name,
        allowed=allowed,
        hint=did_you_mean(name, known),
    )


def concise(message: str) -> str:
    """Return a message of Spark without its state code, its own position and advice to read the manual."""
    message = re.sub(r" Please, refer to '[^']*' for a fix\.", "", message)
    return re.sub(r" SQLSTATE: \w+(; line \d+ pos \d+;?)?$", "", message)


def quoted(name: str) -> str:
    """Return a column name as Spark reads it literally."""
    return "`" + name.replace("`", "``") + "`"


def time_units(kind: T.DataType, within: Within, clause: str = "WITHIN") -> TimeUnits:
    """Return how an order column of this type counts the time of a window.

    Raises
    ------
    BindingError
        WRONG_WITHIN: an interval over numbers, a number over times, or a type without distances.
    """
    name = kind.simpleString()
    temporal = name in ("date", "timestamp", "timestamp_ntz")
    if temporal != (within.unit == "interval"):
        wanted = "an interval" if temporal else "a number"
        raise BindingError(
            "WRONG_WITHIN",
            f"the first order column is {name}: WITHIN takes {wanted}",
            clause=clause,
            found=str(within.amount) if within.unit == "number" else "an interval",
            hint="'30 minutes', '1 day'" if temporal else "a number in units of the order column",
        )
    units = measured_units(kind)
    if units is None:
        raise BindingError(
            "WRONG_WITHIN",
            f"WITHIN cannot measure '{name}'",
            clause=clause,
            found=name,
            allowed="numbers, decimals of up to 18 digits, dates, timestamps",
        )
    return units


def measured_units(kind: T.DataType) -> TimeUnits | None:
    """Return how values of this type count time; None for types without distances."""
    name = kind.simpleString()
    if name == "date":
        return TimeUnits(per_unit=Fraction(1, DAY_IN_MICROSECONDS))
    if name in ("timestamp", "timestamp_ntz"):
        return TimeUnits()
    digits = decimal_digits(name)
    if is_integral(name) or (digits is not None and digits[0] <= 18):
        return TimeUnits(per_unit=Fraction(10 ** (digits[1] if digits else 0)))
    return TimeUnits(whole=False) if name in ("float", "double") else None


def needs_escort(kind: T.DataType) -> bool:
    """Tell whether a type cannot cross into Python: a year-month or calendar interval, or one inside."""
    if isinstance(kind, T.ArrayType):
        return needs_escort(kind.elementType)
    if isinstance(kind, T.MapType):
        return needs_escort(kind.keyType) or needs_escort(kind.valueType)
    if isinstance(kind, T.StructType):
        return any(needs_escort(field.dataType) for field in kind.fields)
    return isinstance(kind, T.YearMonthIntervalType | T.CalendarIntervalType)


def escorted(column: Column, kind: T.DataType) -> Column:
    """Return a value as something Arrow carries: intervals as months or as their text, wherever they stand."""
    if isinstance(kind, T.YearMonthIntervalType):
        return F.extract(F.lit("YEAR"), column) * 12 + F.extract(F.lit("MONTH"), column)
    if isinstance(kind, T.CalendarIntervalType):
        return column.cast("string")
    return _inside(column, kind, escorted) if needs_escort(kind) else column


def brought_back(column: Column, kind: T.DataType) -> Column:
    """Return an escorted value as what it was."""
    if isinstance(kind, T.YearMonthIntervalType):
        return F.make_ym_interval(F.lit(0), column).cast(kind)
    if isinstance(kind, T.CalendarIntervalType):
        return column.cast("interval")
    return _inside(column, kind, brought_back) if needs_escort(kind) else column


def _inside(column: Column, kind: T.DataType, change: Callable[[Column, T.DataType], Column]) -> Column:
    """Change what stands inside of an array, a map or a struct; NULL stays NULL."""
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        return F.transform(column, lambda item: change(item, element))
    if isinstance(kind, T.MapType):
        entry = T.StructType([T.StructField("key", kind.keyType), T.StructField("value", kind.valueType)])
        return F.map_from_entries(F.transform(F.map_entries(column), lambda item: change(item, entry)))
    assert isinstance(kind, T.StructType)
    fields = (change(column.getField(field.name), field.dataType).alias(field.name) for field in kind.fields)
    return F.when(column.isNotNull(), F.struct(*fields))


def without_one_form(kind: T.DataType) -> str | None:
    """Return why equal values of a type may look different, or None."""
    if isinstance(kind, T.StringType):
        return None if kind.collation == "UTF8_BINARY" else f"the collation {kind.collation} holds many texts equal"
    if isinstance(kind, T.ArrayType):
        return without_one_form(kind.elementType)
    if isinstance(kind, T.StructType):
        return next((found for field in kind.fields if (found := without_one_form(field.dataType))), None)
    if isinstance(kind, T.MapType | T.VariantType | T.CalendarIntervalType | T.UserDefinedType):
        return "Spark does not compare them"
    return None


def check_classes(keys: Iterable[str], kinds: Mapping[str, T.DataType], hidden: Iterable[HiddenColumn]) -> None:
    """Refuse ``[key]`` tests whose equal values may look different: they are told apart by their bytes.

    Parameters
    ----------
    keys
        The columns of the tests.
    kinds
        Types of columns.
    hidden
        Hidden columns, for what the user wrote.

    Raises
    ------
    PlanError
        UNSUPPORTED_TYPE.
    """
    texts = {column.name: column.text for column in hidden}
    for name in keys:
        unclear = without_one_form(kinds[name])
        if unclear is not None:
            raise PlanError(
                "UNSUPPORTED_TYPE",
                f"events cannot be told apart by values of {kinds[name].simpleString()}: {unclear}",
                clause=f"[{texts.get(name, name)}]",
                found=kinds[name].simpleString(),
                hint="write what is to be equal as text, a number or a time: [lower(name)]",
            )
