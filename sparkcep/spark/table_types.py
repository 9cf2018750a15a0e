"""Types and values of table functions, where no session is at hand: Spark's types, Arrow's, rows of Python."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.matches import Int64s
from sparkcep.errors import BindingError
from sparkcep.logical.types import decimal_digits, is_day_time

if TYPE_CHECKING:
    from sparkcep.engine.slot_arrays import Computed

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_SIMPLE: dict[str, T.DataType] = {
    "void": T.NullType(), "boolean": T.BooleanType(), "tinyint": T.ByteType(), "smallint": T.ShortType(),
    "int": T.IntegerType(), "bigint": T.LongType(), "float": T.FloatType(), "double": T.DoubleType(),
    "string": T.StringType(), "binary": T.BinaryType(), "date": T.DateType(), "timestamp": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
}  # fmt: skip
_ARROW: dict[type[T.DataType], pa.DataType] = {
    T.NullType: pa.null(), T.BooleanType: pa.bool_(), T.ByteType: pa.int8(), T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(), T.LongType: pa.int64(), T.FloatType: pa.float32(), T.DoubleType: pa.float64(),
    T.StringType: pa.string(), T.BinaryType: pa.binary(), T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"), T.TimestampNTZType: pa.timestamp("us"),
    T.DayTimeIntervalType: pa.duration("us"),
}  # fmt: skip


def spark_type(name: str) -> T.DataType:
    """Return the type that a simple name stands for."""
    digits = decimal_digits(name)
    if digits is not None:
        return T.DecimalType(*digits)
    return T.DayTimeIntervalType() if is_day_time(name) else _SIMPLE[name]


def without_collation(kind: T.DataType) -> T.DataType:
    """Return a type whose texts are plain ones, wherever they stand."""
    if isinstance(kind, T.StringType):
        return T.StringType()
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(without_collation(kind.elementType))
    if isinstance(kind, T.StructType):
        return T.StructType([T.StructField(field.name, without_collation(field.dataType)) for field in kind.fields])
    return kind


def arrow_type(kind: T.DataType, name: str) -> pa.DataType:
    """Return Arrow's type for a column of a table function.

    Raises
    ------
    BindingError
        UNSUPPORTED_TYPE: values of the type do not pass through a table function.
    """
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, T.ArrayType):
        return pa.list_(arrow_type(kind.elementType, name))
    if isinstance(kind, T.StructType):
        return pa.struct([pa.field(field.name, arrow_type(field.dataType, name)) for field in kind.fields])
    found = next((arrow for spark, arrow in _ARROW.items() if isinstance(kind, spark)), None)
    if found is None:
        raise BindingError(
            "UNSUPPORTED_TYPE",
            f"column '{name}' is {kind.simpleString()}, which does not pass through a table function",
            clause="TABLE",
            found=kind.simpleString(),
            hint="leave the column out, TABLE(SELECT a, b FROM t), or use sparkcep.enable(spark)",
        )
    return found


def column_reader(kind: T.DataType, *, as_numbers: bool) -> Callable[[Sequence[Any]], pa.Array]:
    """Return what makes an Arrow column of Python values.

    Parameters
    ----------
    as_numbers
        Whether timestamps come as microseconds and dates as days, see `sent_as_number`.
    """
    wanted = arrow_type(kind, "")
    if isinstance(kind, T.TimestampType):
        inward = None if as_numbers else kind.toInternal
        return lambda values: _whole(values, inward).view(wanted)
    if as_numbers and isinstance(kind, T.DateType):
        return lambda values: pa.array(values, pa.int32()).view(wanted)
    inside = _inward(kind)
    if inside is None:
        return lambda values: pa.array(values, wanted)
    return lambda values: pa.array(list(map(inside, values)), wanted)


def _whole(values: Sequence[Any], inward: Callable[[Any], int] | None) -> pa.Array:
    numbers = values if inward is None else [None if value is None else inward(value) for value in values]
    return pa.array(numbers, pa.int64())


def python_values(column: pa.Array) -> list[Any]:
    """Return a column's values as a row table function hands them to Spark."""
    if not pa.types.is_timestamp(column.type) or column.type.tz is None:
        return column.to_pylist()  # type: ignore[no-any-return]
    micros = column.view(pa.int64()).to_pylist()
    return [None if value is None else _EPOCH + dt.timedelta(microseconds=value) for value in micros]


def sent_as_number(text: str, kind: T.DataType | None) -> str:
    """Return the text of what Spark shall send of an expression: numbers cost less than times, and lose nothing."""
    if isinstance(kind, T.TimestampType):
        return f"unix_micros({text})"
    return f"unix_date({text})" if isinstance(kind, T.DateType) else text


def group_starts_of(columns: Sequence[pa.Array]) -> Int64s:
    """Return the rows at which a value differs from the one before: int64[g], the first one is 0.

    NULL is equal to NULL. The columns are equally long and not empty; without any, all rows are one group.
    """
    if not columns:
        return np.zeros(1, np.int64)
    differs = np.zeros(len(columns[0]), np.bool_)
    differs[0] = True
    for column in columns:
        here, before = column.slice(1), column.slice(0, len(column) - 1)
        unequal = pc.not_equal(here, before)
        if column.null_count:
            unequal = pc.coalesce(unequal, pc.xor(pc.is_null(here), pc.is_null(before)))
        differs[1:] |= np.asarray(unequal)
    return np.flatnonzero(differs).astype(np.int64)


def _inward(kind: T.DataType) -> Callable[[Any], Any] | None:
    """Return what makes Arrow's value of Spark's, inside of arrays and structs; None where they are the same."""
    if isinstance(kind, T.TimestampType):
        return lambda value: None if value is None else _aware(kind, value)
    if isinstance(kind, T.ArrayType):
        item = _inward(kind.elementType)
        return None if item is None else lambda value: None if value is None else [item(each) for each in value]
    if isinstance(kind, T.StructType):
        names = kind.names
        inner = [_inward(field.dataType) or (lambda value: value) for field in kind.fields]
        return lambda value: None if value is None else {n: f(v) for n, f, v in zip(names, inner, value, strict=True)}
    return None


def _aware(kind: T.TimestampType, value: Any) -> Any:
    return _EPOCH + dt.timedelta(microseconds=kind.toInternal(value))


def typed_array(found: Computed, kind: T.DataType) -> pa.Array:
    """Return computed values as an Arrow column of a type."""
    wanted = arrow_type(kind, "")
    values, nulls = found
    if pa.types.is_null(wanted):
        return pa.nulls(len(values))
    if values.dtype == np.object_:
        return pa.array(values.tolist(), wanted)
    if pa.types.is_boolean(wanted):
        return pa.array(values != 0, mask=nulls)
    values = np.where(nulls, 0, values)
    if pa.types.is_decimal(wanted):
        return _decimals(values, nulls, wanted)
    array = pa.array(values, mask=nulls)
    if pa.types.is_date(wanted):
        return array.cast(pa.int32()).cast(wanted)
    return array if array.type == wanted else array.cast(wanted)


def _decimals(values: Any, nulls: Any, kind: pa.DataType) -> pa.Array:
    """Return unscaled values as decimals: the low word is the value, the high one its sign."""
    words = np.empty((len(values), 2), np.int64)
    words[:, 0], words[:, 1] = values, values >> 63
    valid = pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(words.tobytes())])
