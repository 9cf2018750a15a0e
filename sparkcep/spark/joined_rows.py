"""Events for joins: selections of the input, one for each variable, and how two events compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.engine.events import EventWindow
from sparkcep.errors import MatchError
from sparkcep.logical.event_bound import EventTest, LogicalEvents
from sparkcep.logical.exclusive_types import variables_exclude_each_other
from sparkcep.spark.event_times import bucket
from sparkcep.spark.order_columns import OrderColumn
from sparkcep.spark.places import literal_text
from sparkcep.spark.prepare import Preparation, Prepared
from sparkcep.spark.slot_columns import encoded, in_units
from sparkcep.spark.types import quoted

SortKeys = list[tuple[Column, bool, bool]]
"""Columns to sort by, each with whether it ascends and whether NULL comes first."""


class JoinedRows:
    """Selects events, and compares them by position, time, partition and class.

    Where an event can be taken by one variable only, its position is that of its order values; of events
    with equal ones that of the variable that comes first in the pattern is the earlier one. Otherwise
    rows are numbered, and what is equal in all columns may change places: rows are read once per
    variable, and their numbers must be the same each time.

    Parameters
    ----------
    names
        The columns that are needed of an event, besides those of its partition, class and order.
    """

    def __init__(
        self,
        preparation: Preparation,
        prepared: Prepared,
        events: LogicalEvents,
        names: Sequence[str],
    ) -> None:
        self.preparation, self.events, self.measured = preparation, events, preparation.measured
        self.early = preparation.early()
        self.kinds = prepared.originals
        self.prefix = events.match.prefix
        orders = [order.name for order in self.early.orders if order.name is not None]
        operands = [operand.column for operand in events.operands]
        wanted = dict.fromkeys([*self.early.keys, *events.keys, *operands, *orders, *names])
        self.fields = {name: place for place, name in enumerate(wanted)}
        self.is_numbered = not variables_exclude_each_other(events)
        self._numbered = self._numbered_rows() if self.is_numbered else None

    # -- selections ----------------------------------------------------------------------------------

    def taken_by(self, test: EventTest, name: str) -> DataFrame:
        """Return the events that satisfy row conditions, as structs in a column."""
        rows = self._satisfying(test.bits)
        for key in self.events.keys:
            rows = rows.where(F.col(quoted(key)).isNotNull())
        values = [F.col(quoted(column)).alias(f"f{place}") for column, place in self.fields.items()]
        if self.measured is not None:
            values.append(self._time().alias("time"))
        place = F.col(f"{self.prefix}_r") if self.is_numbered else F.monotonically_increasing_id()
        return rows.select(F.struct(*values, place.alias("place")).alias(name))

    def _satisfying(self, bits: tuple[int, ...]) -> DataFrame:
        if self._numbered is not None:
            return reduce(lambda rows, bit: rows.where(self._bit(bit)), bits, self._numbered)
        rows = self.preparation.aliased
        if bits:
            rows = rows.where(self.preparation.or_untimed(self.preparation.holding(bits), self.early))
        return self.preparation.selected(rows, self.early, {})

    def _numbered_rows(self) -> DataFrame:
        bits = {f"{self.prefix}_b{bit}": self.preparation.holding((bit,)) for bit in self._all_bits()}
        rows = self.preparation.selected(self.preparation.relevant(self.early), self.early, bits)
        hashed = [F.col(quoted(f.name)) for f in rows.schema.fields if not _has_no_hash(f.dataType)]
        return self.preparation.numbered(rows, self.early, [F.xxhash64(*hashed)])

    def _all_bits(self) -> list[int]:
        conditions = self.events.match.conditions
        return [bit for bit, condition in enumerate(conditions) if condition.row_only is not None]

    def _bit(self, bit: int) -> Column:
        held = self.events.match.conditions[bit].row_only is not None
        return F.col(f"{self.prefix}_b{bit}") if held else F.lit(True)

    def _time(self) -> Column:
        """Return the time of a row in units of windows; a NULL ends the query."""
        first = self.early.orders[0]
        assert first.name is not None
        time = in_units(F.col(quoted(first.name)), self.kinds[first.name])
        error = MatchError(
            "NULL_ORDER_VALUE",
            f"{self.measured} measures '{self.events.match.order_by[0].expression}', which is NULL in ",
            clause=self.measured,
            found="NULL",
            hint="filter such rows, or pass null_order_value='drop'",
        )
        before, behind = str(error).split(" in ", 1)[0] + " in ", str(error).split(" in ", 1)[1]
        keys = [F.concat(F.lit(f"{key} = "), _shown(F.col(quoted(key)))) for key in self.early.keys]
        partition = F.concat(F.lit("partition "), F.concat_ws(", ", *keys)) if keys else F.lit("the only partition")
        kind = "bigint" if _is_whole(self.kinds[first.name]) else "double"
        told = F.raise_error(F.concat(F.lit(before), partition, F.lit(behind)))
        return F.when(time.isNull(), told.cast(kind)).otherwise(time)

    # -- one event -----------------------------------------------------------------------------------

    def value(self, event: Column, name: str) -> Column:
        """Return a column of an event."""
        return event.getField(f"f{self.fields[name]}")

    def operand(self, event: Column, number: int) -> Column:
        """Return an operand as conditions compute with it."""
        operand = self.events.operands[number]
        return encoded(self.value(event, operand.column), operand, self.kinds[operand.column])

    def value_text(self, name: str, number: int) -> str:
        """Return SQL text for an operand, as Spark has it, of the event in a column."""
        return f"{name}.f{self.fields[self.events.operands[number].column]}"

    def time(self, event: Column) -> Column:
        """Return its time in units of windows."""
        return event.getField("time")

    def position(self, event: Column, variable: Column) -> SortKeys:
        """Return what events are sorted by; the variable that took it decides between equal order values."""
        place = event.getField("place")
        if self.is_numbered:
            return [(place, True, True)]
        orders: SortKeys = [
            (self.value(event, order.name), order.key.ascending, order.key.nulls_first)
            for order in self.early.orders
            if order.name is not None and order.key is not None
        ]
        return [*orders, (variable, True, True), (place, True, True)]

    # -- two events ----------------------------------------------------------------------------------

    def same_class(self, one: Column, other: Column) -> list[Column]:
        """Return whether two events are of one partition and one class."""
        partitions = [self.value(one, key).eqNullSafe(self.value(other, key)) for key in self.early.keys]
        return [*partitions, *(self.value(one, key) == self.value(other, key) for key in self.events.keys)]

    def precedes(self, one: Column, variable: int, other: Column, of: int, *, strict: bool) -> Column:
        """Return whether an event of `variable` comes before one of the variable `of`."""
        if strict:
            return self.time(one) < self.time(other)
        if self.is_numbered:
            return one.getField("place") < other.getField("place")
        return self._earlier(one, other, 0, ties=variable < of)

    def _earlier(self, one: Column, other: Column, level: int, *, ties: bool) -> Column:
        if level == len(self.early.orders):
            return F.lit(ties)
        left, right, before = self._compared(one, other, self.early.orders[level], level)
        if level == len(self.early.orders) - 1:
            return before | left.eqNullSafe(right) if ties else before
        return before | (left.eqNullSafe(right) & self._earlier(one, other, level + 1, ties=ties))

    def _compared(self, one: Column, other: Column, order: OrderColumn, level: int) -> tuple[Column, Column, Column]:
        """Return the values of an order column, and whether the first one comes before the second one."""
        assert order.name is not None
        assert order.key is not None
        if level == 0 and self.measured is not None:
            left, right = self.time(one), self.time(other)  # never NULL, and ascending
            return left, right, left < right
        left, right = self.value(one, order.name), self.value(other, order.name)
        before = left < right if order.key.ascending else left > right
        null = left if order.key.nulls_first else right
        return left, right, F.coalesce(before, null.isNull() & ~left.eqNullSafe(right))

    def apart(self, one: Column, other: Column, *, strict: bool) -> list[Column]:
        """Return what tells that two events, of which either may come first, are not the same."""
        if strict:
            return [self.time(one) != self.time(other)]
        return [one.getField("place") != other.getField("place")] if self.is_numbered else []

    def within(self, one: Column, other: Column, window: EventWindow) -> Column:
        """Return whether an event is at most a window later than another one."""
        if window.kind == "float":
            distance, amount = self.time(other) - self.time(one), F.lit(float(window.amount))
            # NaN is greater than all windows.
            return distance <= amount if window.inclusive else distance < amount
        return F.try_subtract(self.time(other), self.time(one)) <= F.lit(int(window.amount)).cast("bigint")

    def bucket(self, event: Column, window: EventWindow) -> Column:
        """Return the number of the stretch of time, as long as the window, that an event lies in."""
        return bucket(self.time(event), window)


def _has_no_hash(kind: T.DataType) -> bool:
    """Whether Spark refuses to hash values of a type."""
    if isinstance(kind, T.ArrayType):
        return _has_no_hash(kind.elementType)
    if isinstance(kind, T.StructType):
        return any(_has_no_hash(field.dataType) for field in kind.fields)
    return isinstance(kind, T.MapType | T.VariantType)


def _is_whole(kind: T.DataType) -> bool:
    return not isinstance(kind, T.FloatType | T.DoubleType)


def _shown(value: Column) -> Column:
    """Return a value as messages tell it."""
    return F.coalesce(value.cast("string"), F.lit(literal_text(None)))
