"""The plan without Python: patterns of a fixed number of rows as LEAD columns of one window.

Every row looks at the rows behind it as if a match began there. Those that start a match go on, and
where matches may overlap a second window over these few chooses among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.window import Window, WindowSpec

from sparkcep.errors import BindingError, MatchError
from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.outputs import Numbered, OutputRows
from sparkcep.logical.slots import Read, SparkCondition
from sparkcep.planning.windows import FixedRows, reads_neighbours, values_measured
from sparkcep.spark.observation import Observed, observed_rows, tie_mark, tied
from sparkcep.spark.order_columns import OrderColumn, numbering_window
from sparkcep.spark.places import partition_text, raised_text
from sparkcep.spark.prepare import VARIABLES_PER_MASK, EarlyColumns, Preparation
from sparkcep.spark.slot_columns import encoded, in_units, slot_column
from sparkcep.spark.source import Source
from sparkcep.spark.types import quoted, time_units
from sparkcep.spark.window_outputs import WindowOutputs


class _Leads:
    """The values of later rows that are asked for, each fetched once."""

    def __init__(self, prefix: str, neighbours: dict[str, tuple[str, int]]) -> None:
        self._prefix = prefix
        self._neighbours = neighbours
        self._names: dict[tuple[str, int], str] = {}

    def at(self, column: str, row: int) -> Column:
        """Return the value of `column` at a row of the match; a neighbour of that row is fetched at its own place."""
        home, shift = self._neighbours.get(column, (column, 0))
        if row + shift == 0:
            return F.col(quoted(home))
        return F.col(self._names.setdefault((home, row + shift), f"{self._prefix}_w{len(self._names)}"))

    def columns(self, window: WindowSpec) -> Iterable[Column]:
        """Return the columns to fetch."""
        for (column, shift), name in self._names.items():
            value = F.col(quoted(column))
            moved = F.lead(value, shift) if shift > 0 else F.lag(value, -shift)
            yield moved.over(window).alias(name)


class _Found(NamedTuple):
    """The rows that start a match, and what stands beside them."""

    frame: DataFrame
    early: EarlyColumns
    leads: _Leads


class WindowPreparation(Preparation):
    """Builds the frame of matches of a fixed number of rows.

    Parameters
    ----------
    rows
        The rows of every match.
    """

    def __init__(self, source: Source, match: LogicalMatch, rows: FixedRows) -> None:
        super().__init__(source, match)
        self.rows = rows
        self.kinds: dict[str, T.DataType] = {}
        self.found: _Found | None = None

    @property
    def number(self) -> str:
        """The column that numbers the rows of a partition."""
        return f"{self.match.prefix}_r"

    def matched(self) -> tuple[str, ...]:
        """Find the rows that start a match; return the names of the partition columns. Runs no job."""
        try:
            self.found = self._found()
        except BindingError as error:
            raise self.match.located(error) from None
        return self.found.early.keys

    def _found(self) -> _Found:
        early = self.early()
        first = early.orders[0]
        frame = self.selected(self.relevant(early), early, self._early_masks(self._mask_names()))
        frame = self._masked(frame, early)
        self.kinds = {field.name: field.dataType for field in frame.schema.fields}
        neighbours = (
            {}
            if reads_neighbours(self.match)
            else {step.name: (step.column, step.shift) for step in self.match.neighbours}
        )
        for name, (column, _shift) in neighbours.items():
            self.kinds[name] = self.kinds[column]
        leads = _Leads(self.match.prefix, neighbours)
        starts = self._starts(leads, first)
        for column, row in values_measured(self.match, self.rows):
            leads.at(column, row)
        return _Found(self._chosen(frame, early, leads, starts), early, leads)

    def _masked(self, frame: DataFrame, early: EarlyColumns) -> DataFrame:
        """Complete the masks; neighbours are fetched in a window of their own only where conditions read them."""
        masks = self._mask_names()
        known = set(frame.columns)
        if not reads_neighbours(self.match):
            return frame.select("*", *(F.lit(0).cast("tinyint").alias(name) for name in masks if name not in known))
        frame = self._behind_window(self.numbered(frame, early))
        names = [name for name in frame.columns if name not in {*masks, self.number}]
        whole = [self._whole_mask(word, name, name in known).alias(name) for word, name in enumerate(masks)]
        return self._selection(frame, [*(F.col(quoted(name)) for name in names), *whole], numbered=True)

    # -- which rows start a match -----------------------------------------------------------------

    def _starts(self, leads: _Leads, first: OrderColumn) -> Column:
        tests = [*self._bits_of_rows(leads), *self._dependent(leads)]
        measured = self._measured(first)
        if measured is not None:
            tests.append(self._in_time(leads, measured))
        elif self.match.within is not None:
            most = int(self.match.within.amount) - (not self.match.within.inclusive)
            tests.append(F.lit(len(self.rows) <= most))
        total = tests[0]
        for test in tests[1:]:
            total = total & test
        if measured is None:
            return total
        return F.when(F.col(quoted(measured)).isNull(), self._null_order()).otherwise(total)

    def _bits_of_rows(self, leads: _Leads) -> Iterable[Column]:
        """Yield the tests of conditions over one row, and that there are as many rows at all."""
        masks = self._mask_names()
        last = len(self.rows) - 1
        yield leads.at(masks[0], last).isNotNull()
        for row, variable in enumerate(self.rows.variables):
            if self.match.conditions[variable].row_only is not None:
                word, position = divmod(variable, VARIABLES_PER_MASK)
                bit = F.lit(1 << (position + 1)).cast(self._mask_type(word))
                yield leads.at(masks[word], row).bitwiseAND(bit) != 0

    def _dependent(self, leads: _Leads) -> Iterable[Column]:
        operands = self.match.slots.operands if self.match.slots is not None else ()

        def read(wanted: Read | SparkCondition) -> Column:
            assert isinstance(wanted, Read)
            operand = operands[wanted.operand]
            return encoded(leads.at(operand.column, wanted.at.offset), operand, self.kinds[operand.column])

        for condition in self.rows.conditions:
            if condition is not None:
                yield slot_column(condition, read)

    def _in_time(self, leads: _Leads, order: str) -> Column:
        """Return whether the last row is near enough to the first one."""
        assert self.match.within is not None
        kind = self.kinds[order]
        window = time_units(kind, self.match.within).window(self.match.within)
        first, last = (in_units(leads.at(order, row), kind) for row in (0, len(self.rows) - 1))
        if window.kind == "float":
            # NaN is one value, behind all others.
            distance = (
                F.when(first == last, F.lit(0.0)).when(F.isnan(last), F.lit(float("inf"))).otherwise(last - first)
            )
            amount = F.lit(float(window.amount))
            return distance <= amount if window.inclusive else distance < amount
        if window.amount >= 2**63:
            return F.lit(True)
        near = F.try_subtract(last, first) <= F.lit(max(int(window.amount), -1)).cast("bigint")
        return F.coalesce(near, F.lit(False))

    def _null_order(self) -> Column:
        """Return the error that an order value is NULL, told with the row's place."""
        row, values = "\0row\0", {name: f"\0{i}\0" for i, name in enumerate(self.key_texts)}
        places = partition_text((text, values[name]) for name, text in self.key_texts.items())
        for value in values.values():
            places = places.replace(f"'{value}'", value)
        text = self.match.order_by[0].expression
        fault = MatchError(
            "NULL_ORDER_VALUE",
            f"WITHIN measures '{text}', which is NULL in row {row} of {places}",
            clause="WITHIN",
            found="NULL",
            hint="filter such rows, or pass null_order_value='drop'",
        )
        told = {row: F.col(self.number).cast("string")}
        told |= {value: self._literal(name) for name, value in values.items()}
        parts: list[Column] = []
        rest = raised_text(fault)
        for mark, column in sorted(told.items(), key=lambda item: rest.index(item[0])):
            before, rest = rest.split(mark, 1)
            parts += [F.lit(before), column]
        return F.raise_error(F.concat(*parts, F.lit(rest)))

    def _literal(self, key: str) -> Column:
        """Return the value of a partition column as a message tells it."""
        value = F.col(quoted(key))
        text = value.cast("string")
        if isinstance(self.kinds[key], T.StringType):
            text = F.concat(F.lit("'"), F.replace(text, F.lit("'"), F.lit("''")), F.lit("'"))
        return F.coalesce(text, F.lit("NULL"))

    # -- which of them are matches, and what they report ------------------------------------------

    def _chosen(self, frame: DataFrame, early: EarlyColumns, leads: _Leads, starts: Column) -> DataFrame:
        window = numbering_window(early.keys, early.orders)
        apart = self.rows.overlaps != "neighbours"
        if self.source.observed is not None:
            fetched = list(leads.columns(window))
            return self._observed(frame, window, fetched, starts, self.source.observed)
        numbers = [] if apart and self.measured is None else [F.row_number().over(window).alias(self.number)]
        frame = frame.select("*", *leads.columns(window), *numbers).where(starts)
        if apart:
            return frame
        # Of neighbouring starts the first, the third, the fifth … are matches.
        before, begin = f"{self.match.prefix}_before", f"{self.match.prefix}_begin"
        row = F.col(self.number)
        begins = F.when(F.col(before).isNull() | (row - F.col(before) != 1), row)
        so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        frame = frame.select("*", F.lag(row).over(window).alias(before))
        frame = frame.select("*", F.max(begins).over(so_far).alias(begin))
        return frame.where((row - F.col(begin)) % 2 == 0)

    def _observed(
        self, frame: DataFrame, window: WindowSpec, fetched: list[Column], starts: Column, observed: Observed
    ) -> DataFrame:
        """Choose the matches with all rows at hand, so that one observation counts both."""
        begins, before, tie = f"{self.match.prefix}_begins", f"{self.match.prefix}_before", tie_mark(self.match.prefix)
        row = F.row_number().over(window).alias(self.number)
        ties = [] if tie in frame.columns else [tied(window).alias(tie)]
        frame = frame.select("*", *fetched, row, *ties)
        frame = frame.select("*", F.coalesce(starts, F.lit(False)).alias(begins))
        is_match, number = F.col(begins), F.col(self.number)
        if self.rows.overlaps == "neighbours":
            so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
            other = F.max(F.when(~is_match, number)).over(so_far)
            frame = frame.select("*", F.coalesce(other, F.lit(0)).alias(before))
            is_match = is_match & ((number - F.col(before)) % 2 == 1)
        metrics = observed_rows(is_match, len(self.rows), number, F.col(tie))
        return observed.matches(frame, "window", metrics).where(is_match)

    def emitted(self, output: OutputRows) -> DataFrame:
        """Return what the matcher would emit for the matches: passed columns and outputs."""
        assert self.found is not None
        frame, early, leads = self.found
        values = WindowOutputs(self.rows, self.match.variables, leads.at, self.kinds)
        columns = [F.col(quoted(name)) for name in output.passed]
        for item in output.outputs:
            if isinstance(item, Numbered):
                column = F.row_number().over(numbering_window(early.keys, early.orders)).cast("bigint")
            else:
                column = values.of(item)
            columns.append(column.alias(item.name))
        return frame.select(*columns)
