"""What a match of a fixed number of rows reports, as columns over its rows' values.

Aggregates give what the matcher's do (`sparkcep.engine.aggregates`): doubles are added in row order,
whole numbers exactly, and NULLs and rows that a FILTER leaves out are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.errors import MatchError
from sparkcep.logical.outputs import CLASSIFIER, Aggregated, Collected, Gathered, Output
from sparkcep.planning.windows import FixedRows
from sparkcep.spark.finish import output_type
from sparkcep.spark.places import raised_text

Fetch = Callable[[str, int], Column]


@dataclass(frozen=True, slots=True)
class WindowOutputs:
    """Computes outputs over the rows of one match.

    Parameters
    ----------
    rows
        The rows of every match.
    names
        Primary variables' names by index.
    fetch
        Returns the column that holds an input column's value at a row of the match.
    kinds
        Types of the input columns.
    """

    rows: FixedRows
    names: Sequence[str]
    fetch: Fetch
    kinds: Mapping[str, T.DataType]

    def of(self, output: Output) -> Column:
        """Return an output's column; `Numbered` and `Matched` are not known here."""
        match output:
            case Gathered():
                return self._gathered(output)
            case Collected():
                return self._collected(output)
            case Aggregated():
                return self._aggregated(output)
        raise TypeError(f"no value of a match's rows: {output!r}")

    def _gathered(self, output: Gathered) -> Column:
        row = self.rows.located(output.rows, output.end, output.offset)
        if output.column != CLASSIFIER:
            kind = self.kinds[output.column]
            return F.lit(None).cast(kind) if row is None else self.fetch(output.column, row)
        if row is None or not 0 <= row + output.shift < len(self.rows):
            return F.lit(None).cast("string")
        return self._name(row + output.shift)

    def _name(self, row: int) -> Column:
        return F.lit(self.names[self.rows.variables[row]])

    def _collected(self, output: Collected) -> Column:
        items = []
        for row in self.rows.members(output.rows):
            fields = [self._name(row) if c == CLASSIFIER else self.fetch(c, row) for c in output.columns]
            item = F.struct(*(field.alias(f"f{i}") for i, field in enumerate(fields)))
            items.append(item if output.filter is None else F.when(self.fetch(output.filter, row), item))
        array = F.array(*items)
        return (F.array_compact(array) if output.filter is not None else array).cast(output_type(output, self.kinds))

    def _aggregated(self, output: Aggregated) -> Column:
        rows = self.rows.members(output.rows)
        kind = output_type(output, self.kinds)
        values = [self._kept(output, row) for row in rows]
        ones = [F.when(value.isNotNull(), F.lit(1)).otherwise(F.lit(0)) for value in values]
        count = reduce(Column.__add__, ones, F.lit(0)).cast("bigint")
        if output.function == "count":
            return count
        if not values:
            return F.lit(None).cast(kind)
        if output.function in ("min", "max"):
            pick = F.least if output.function == "min" else F.greatest
            return pick(*values) if len(values) > 1 else values[0]
        assert output.column is not None
        own = self.kinds[output.column]
        if isinstance(kind, T.DoubleType):
            total = _added(values, kind, kind)
            return F.when(count > 0, total / count if output.function == "avg" else total)
        return F.when(count > 0, self._sum(output, values, own, kind))

    def _kept(self, output: Aggregated, row: int) -> Column:
        """Return the value of a row, NULL if it does not count."""
        value = F.lit(1) if output.column is None else self.fetch(output.column, row)
        return value if output.filter is None else F.when(self.fetch(output.filter, row), value)

    def _sum(self, output: Aggregated, values: Sequence[Column], own: T.DataType, kind: T.DataType) -> Column:
        """Return an exact sum of whole numbers, decimals or intervals; NULLs count nothing."""
        if isinstance(own, T.DecimalType):
            # The sum of up to 99 numbers has two digits more at most.
            return _added(values, own, T.DecimalType(own.precision + 2, own.scale)).cast(kind)
        if not isinstance(own, T.LongType):
            return _added(values, kind, kind)
        exact = _added(values, T.DecimalType(20, 0), T.DecimalType(22, 0))
        fault = MatchError(
            "ARITHMETIC_OVERFLOW",
            f"the sum of {output.column} leaves the 64 bits of a bigint",
            clause=f"MEASURES {output.name}",
            hint="cast the argument to decimal(38, 0) or double",
        )
        return F.coalesce(exact.try_cast(kind), F.raise_error(F.lit(raised_text(fault))))


def _added(values: Sequence[Column], own: T.DataType, total: T.DataType) -> Column:
    zero = F.lit(0).cast("interval second" if isinstance(own, T.DayTimeIntervalType) else own).cast(own)
    start = zero.cast(total)
    return reduce(lambda sum_, value: (sum_ + F.coalesce(value.cast(own), zero)).cast(total), values, start)
