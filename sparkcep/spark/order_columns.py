"""Sort orders of the input: what the rows of a partition are ordered by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.window import Window, WindowSpec

from sparkcep.errors import BindingError
from sparkcep.logical.calls import SortKey
from sparkcep.spark.types import quoted


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """One key of ORDER BY: a column of the frame, or a sort order the caller made."""

    name: str | None
    key: SortKey | None
    given: Column | None = None

    @property
    def column(self) -> Column:
        """The sort order for the window."""
        if self.given is not None:
            return self.given
        assert self.name is not None
        return self.sorted(F.col(quoted(self.name)))

    def sorted(self, column: Column) -> Column:
        """Return the sort order of another column that holds the same values."""
        assert self.key is not None
        if self.key.ascending:
            return column.asc_nulls_first() if self.key.nulls_first else column.asc_nulls_last()
        return column.desc_nulls_first() if self.key.nulls_first else column.desc_nulls_last()


def named_order(first: OrderColumn) -> str:
    """Return the name of the first order column; refuse a sort order that has none."""
    if first.name is None:
        raise BindingError(
            "WRONG_ARGUMENT",
            "null_order_value='drop' cannot look into a computed sort order made with Column.asc() or .desc()",
            clause="null_order_value",
            hint="write the first order as text, order_by=['expression DESC'], or filter such rows before",
        )
    return first.name


def numbering_window(
    keys: Sequence[str], orders: Sequence[OrderColumn], between_ties: Sequence[Column] = ()
) -> WindowSpec:
    """Return the window that numbers the rows of each partition; `between_ties` sorts rows with equal order values."""
    by_order = [*(order.column for order in orders), *between_ties]
    if not keys:
        return Window.orderBy(*by_order)
    return Window.partitionBy(*(F.col(quoted(key)) for key in keys)).orderBy(*by_order)
