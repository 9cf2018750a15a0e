"""Columns on their way to the matcher: hidden values, numbered rows, the mask of bits.

Everything that looks at one row is computed before the shuffle. One window numbers the rows and
fetches neighbours, so Spark does one exchange and one sort. What needs neighbours is computed
behind it, and only the columns the matcher needs go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.errors import BindingError, Span
from sparkcep.logical.bound import Condition, LogicalMatch
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.outputs import CLASSIFIER, Aggregated, Collected, Gathered, Output
from sparkcep.logical.relevant_rows import relevant_conditions
from sparkcep.logical.scope import located
from sparkcep.planning.semi_joins import SemiJoin
from sparkcep.planning.slices import Slices
from sparkcep.spark.observation import tie_mark, tied
from sparkcep.spark.order_columns import OrderColumn, named_order, numbering_window
from sparkcep.spark.quiet import query_errors_unlogged
from sparkcep.spark.semi_joins import near_rare_events
from sparkcep.spark.slices import cut_into_slices, marked, side_by_side
from sparkcep.spark.slot_columns import in_units
from sparkcep.spark.source import Source
from sparkcep.spark.types import (
    analysed,
    check_classes,
    escorted,
    expression,
    needs_escort,
    quoted,
    time_units,
)
from sparkcep.syntax.clause import Fragment

VARIABLES_PER_MASK = 62
_MASK_TYPES = ((7, "tinyint"), (15, "smallint"), (31, "int"), (63, "bigint"))


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows ready for the matcher.

    Attributes
    ----------
    frame
        Sorted within partitions: masks, keys, and what the matcher reads and hands on.
    keys
        Names of the partition columns.
    order
        The column WITHIN measures, if it does.
    decided
        The order column that the time of a decision is told in, if an event pattern asks for it.
    passed
        Columns handed on to the result.
    originals
        Types of the columns before any was changed to cross into Python.
    key_texts
        The user's words for the partition columns.
    told
        The first order column, if it is there, to tell rows by in messages.
    """

    frame: DataFrame
    keys: tuple[str, ...]
    order: str | None
    order_type: T.DataType | None
    masks: tuple[str, ...]
    passed: tuple[str, ...]
    originals: dict[str, T.DataType]
    decided: str | None = None
    key_texts: tuple[str, ...] = ()
    told: str | None = None


@dataclass(frozen=True, slots=True)
class EarlyColumns:
    """What is computed of each row for itself: partition keys, sort orders, and all columns by their names."""

    keys: tuple[str, ...]
    orders: tuple[OrderColumn, ...]
    columns: dict[str, Column]


class Preparation:
    """Builds the prepared frame of one match, step by step.

    Parameters
    ----------
    events
        The event pattern that `match` belongs to, if it is one.
    measured
        The clause that measures time by the first order column; by default WITHIN where it does.
    semi_join
        Which rows may be dropped because no rare event is near.
    slices
        How partitions are cut.
    """

    def __init__(
        self,
        source: Source,
        match: LogicalMatch,
        events: LogicalEvents | None = None,
        measured: str | None = None,
        semi_join: SemiJoin | None = None,
        slices: Slices | None = None,
    ) -> None:
        self.source = source
        self.match = match
        self.events = events
        self.semi_join, self.slices = semi_join, slices
        by_time = match.within is not None and match.within.unit != "events"
        self.measured = measured or ("WITHIN" if by_time and events is None else None)
        self.alias = source.alias
        self.inputs = list(source.frame.columns)
        self.aliased = source.frame.alias(source.alias) if source.alias else source.frame
        self.key_texts: dict[str, str] = {}

    def prepared(self) -> Prepared:
        """Return the frame; runs no job."""
        try:
            return self._prepared()
        except BindingError as error:
            raise self.match.located(error) from None

    def _prepared(self) -> Prepared:
        early = self.early()
        keys, orders = early.keys, early.orders
        masks = self._mask_names()
        frame = self.selected(self.relevant(early), early, self._early_masks(masks))
        frame = self._behind_window(self._in_groups(frame, early))
        within = self._measured(orders[0])
        decided = orders[0].name if self._tells_decisions() else None
        passed = self._passed(keys, orders)
        kinds = {field.name: field.dataType for field in frame.schema.fields}
        if self.events is not None:
            check_classes(self.events.keys, kinds, self.match.hidden)
        told = self._told(orders[0], kinds)
        added = [name for name in (within, decided, told) if name is not None]
        if self.source.observed is not None:
            added.append(tie_mark(self.match.prefix))
        if self.slices is not None and self.events is None:
            added.append(self.slices.own)
        sent = self._sent(frame, kinds, masks, added, passed)
        return Prepared(
            sent,
            keys,
            within,
            kinds[within] if within else None,
            masks,
            passed,
            kinds,
            decided,
            tuple(self.key_texts.values()),
            told or within,
        )

    def _in_groups(self, frame: DataFrame, early: EarlyColumns) -> DataFrame:
        """Sort the rows of each group, and number them: the first one of a group is row 1."""
        within = self.events.within if self.events is not None else self.match.within
        if self.slices is None or within is None:
            return self.numbered(frame, early)
        frame = cut_into_slices(frame, self.slices, early.orders[0], within)
        tie = tie_mark(self.match.prefix) if self.source.observed is not None else None
        if not early.keys:
            return side_by_side(frame, self.slices, early.orders, within, f"{self.match.prefix}_r", tie)
        groups = replace(early, keys=(*early.keys, self.slices.number))
        if tie is not None:
            frame = marked(frame, self.slices, tie, numbering_window(groups.keys, groups.orders))
        return self.numbered(frame, groups, [F.col(self.slices.place)])

    # -- before the shuffle ---------------------------------------------------------------------

    def early(self) -> EarlyColumns:
        """Return what is computed of each row for itself, masks aside."""
        keys, key_columns = self._keys()
        orders, order_columns = self._orders()
        columns = {**key_columns, **order_columns, **self._computed()}
        for name in self._carried(keys):
            columns.setdefault(name, F.col(quoted(name)))
        return EarlyColumns(keys, orders, columns)

    def selected(self, rows: DataFrame, early: EarlyColumns, added: dict[str, Column]) -> DataFrame:
        """Select early columns, and `added` ones, of some rows of the input."""
        columns = {**early.columns, **added}
        frame = self._selection(rows, [column.alias(name) for name, column in columns.items()], numbered=False)
        if not self.source.drop_null_order:
            return frame
        order = F.col(quoted(named_order(early.orders[0])))
        observed = self.source.observed
        return frame.where(order.isNotNull()) if observed is None else observed.without_null_order(frame, order)

    def _keys(self) -> tuple[tuple[str, ...], dict[str, Column]]:
        """Partition columns under Spark's own names."""
        columns: dict[str, Column] = {}
        for fragment in self.match.partition_by:
            column, name = self._selected(fragment.text, "PARTITION BY", fragment)
            if name in self.inputs and fragment.text.strip().strip("`").split(".")[-1].lower() != name.lower():
                raise BindingError(
                    "DUPLICATE_COLUMN",
                    f"the key '{fragment.text}' would hide the input column '{name}'",
                    clause="PARTITION BY",
                    text=fragment.source if fragment.source is not None else fragment.text,
                    span=fragment.span if fragment.source is not None else Span(0, len(fragment.text)),
                    found=name,
                    hint="give the key a name of its own: expression AS name",
                )
            columns[name] = column
            self.key_texts.setdefault(name, _key_text(fragment.text, name))
        return tuple(columns), columns

    def _selected(self, text: str, clause: str, fragment: Fragment) -> tuple[Column, str]:
        """Return an expression that Spark accepts, and the name Spark gives it."""
        try:
            column = expression(text, clause, self.aliased)
            return column, analysed(lambda: self.aliased.select(column).columns, text, clause, self.inputs)[0]
        except BindingError as error:
            raise located(error, fragment) from None

    def _orders(self) -> tuple[tuple[OrderColumn, ...], dict[str, Column]]:
        orders: list[OrderColumn] = []
        columns: dict[str, Column] = {}
        for position, key in enumerate(self.match.order_by):
            given = self.source.sort_orders.get(key.expression)
            if given is not None:
                orders.append(OrderColumn(None, None, given))
                continue
            own = next((name for name in self.inputs if name.lower() == key.expression.strip("`").lower()), None)
            name = own or f"{self.match.prefix}_o{position}"
            fragment = key.fragment or Fragment(key.expression)
            columns[name], _ = self._selected(key.expression, "ORDER BY", fragment)
            orders.append(OrderColumn(name, key))
        return tuple(orders), columns

    def _computed(self) -> dict[str, Column]:
        return {column.name: self._checked(column.text, column.clause) for column in self.match.hidden}

    def _checked(self, text: str, clause: str) -> Column:
        return expression(text, clause, self.aliased)

    def _mask_names(self) -> tuple[str, ...]:
        words = max(1, -(-len(self.match.conditions) // VARIABLES_PER_MASK))
        return tuple(f"{self.match.prefix}_k{word}" for word in range(words))

    def _early_masks(self, masks: tuple[str, ...]) -> dict[str, Column]:
        """Bits of conditions over one row: one narrow column instead of all they read."""
        found: dict[str, Column] = {}
        for word, name in enumerate(masks):
            bits = self._bits(word, numbered=False)
            if bits is not None:
                found[name] = bits.cast(self._mask_type(word))
        return found

    def _bits(self, word: int, *, numbered: bool) -> Column | None:
        total: Column | None = None
        first = word * VARIABLES_PER_MASK
        for position, condition in enumerate(self.match.conditions[first : first + VARIABLES_PER_MASK]):
            row_only = condition.row_only
            if row_only is None or row_only.numbered is not numbered:
                continue
            holds = self._checked(row_only.text, self._clause(condition))
            bit = F.when(holds, F.lit(1 << (position + 1)).cast("bigint")).otherwise(F.lit(0).cast("bigint"))
            total = bit if total is None else total.bitwiseOR(bit)
        return total

    def _clause(self, condition: Condition) -> str:
        return condition.variable if self.events is not None else f"DEFINE {condition.variable}"

    def _mask_type(self, word: int) -> str:
        conditions = len(self.match.conditions) - word * VARIABLES_PER_MASK
        bits = 1 + min(VARIABLES_PER_MASK, conditions)
        return next(name for width, name in _MASK_TYPES if bits <= width)

    def relevant(self, early: EarlyColumns) -> DataFrame:
        """Return the rows that may take part in a match; what Spark can, it filters as it reads them."""
        rows = self.aliased
        asked = relevant_conditions(self.events) if self.events is not None else None
        try:
            with query_errors_unlogged():
                if asked is not None:
                    rows = rows.where(self.or_untimed(reduce(or_, map(self.holding, asked)), early))
                return rows if self.semi_join is None else self._near(rows, self.semi_join, early)
        except AnalysisException:
            return self.aliased  # the selection of all columns tells what is wrong

    def or_untimed(self, test: Column, early: EarlyColumns) -> Column:
        """Let rows without a time pass where time is measured: they are told, whatever else they hold."""
        first = early.orders[0].key
        if self.measured is None or first is None:
            return test
        return test | self._checked(first.expression, "ORDER BY").isNull()

    def _near(self, rows: DataFrame, semi_join: SemiJoin, early: EarlyColumns) -> DataFrame:
        """Return the rows that events of a variable, which every match binds, are near."""
        rare = self.aliased.where(self.or_untimed(self.holding(semi_join.bits), early))
        classes = self.events.keys if self.events is not None and semi_join.by_class else ()
        keys = [early.columns[name] for name in (*early.keys, *classes)]
        times = []
        if semi_join.by_time and self.events is not None and self.events.within is not None:
            name = early.orders[0].name
            assert name is not None
            kind = self.aliased.select(early.columns[name]).schema[0].dataType
            units = time_units(kind, self.events.within)
            times.append((in_units(early.columns[name], kind), units.window(self.events.within)))
        return near_rare_events(rows, rare, keys, times, self.match.prefix)

    def holding(self, bits: tuple[int, ...]) -> Column:
        """Return whether row conditions hold together."""
        texts = [(condition, condition.row_only) for condition in (self.match.conditions[bit] for bit in bits)]
        return reduce(and_, [self._checked(row.text, self._clause(c)) for c, row in texts if row is not None])

    def _carried(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Input columns that are needed behind the shuffle."""
        if self.match.rows_per_match != "one":
            return tuple(dict.fromkeys([*keys, *self.inputs]))
        needed: dict[str, None] = dict.fromkeys(keys)
        conditions = [condition.row_only for condition in self.match.conditions if condition.row_only is not None]
        late = [condition.mentions for condition in conditions if condition.numbered]
        for mentions in [*late, *(column.mentions for column in self.match.numbered)]:
            needed.update(dict.fromkeys(mentions))
        needed.update(dict.fromkeys(self._read_columns()))
        needed.update(dict.fromkeys(step.column for step in self.match.neighbours))
        return tuple(name for name in needed if name in self.inputs or name in keys)

    def _read_columns(self) -> Iterable[str]:
        """Columns the matcher reads: operands, gathered and aggregated values, bare columns."""
        if self.match.slots is not None:
            yield from (operand.column for operand in self.match.slots.operands)
        added: tuple[str, ...] = ()
        if self.events is not None:
            yield from (operand.column for operand in self.events.operands)
            yield from self.events.keys
            added = self.events.filled_in
        yield from (name for name in output_columns(self.match) if name not in added)

    # -- the window and behind it -----------------------------------------------------------------

    def numbered(self, frame: DataFrame, early: EarlyColumns, between_ties: Sequence[Column] = ()) -> DataFrame:
        """Number the rows and fetch neighbours in one window; `between_ties` sorts rows with equal order values."""
        window = numbering_window(early.keys, early.orders, between_ties)
        fetched = [F.row_number().over(window).alias(f"{self.match.prefix}_r")]
        for step in self.match.neighbours:
            column = F.col(quoted(step.column))
            moved = F.lag(column, -step.shift) if step.shift < 0 else F.lead(column, step.shift)
            fetched.append(moved.over(window).alias(step.name))
        if self.source.observed is not None and not between_ties:
            fetched.append(tied(window).alias(tie_mark(self.match.prefix)))
        return frame.select("*", *fetched)

    def _behind_window(self, frame: DataFrame) -> DataFrame:
        """Compute what reads neighbours, and complete the masks."""
        if self.alias:
            frame = frame.alias(self.alias)
        if self.match.numbered:
            frame = frame.select("*", *(expression(c.text, c.clause, frame).alias(c.name) for c in self.match.numbered))
        return frame.alias(self.alias) if self.alias else frame

    def _sent(
        self,
        frame: DataFrame,
        kinds: dict[str, T.DataType],
        masks: tuple[str, ...],
        added: list[str],
        passed: tuple[str, ...],
    ) -> DataFrame:
        names: dict[str, None] = dict.fromkeys([*passed, *self._read_columns(), *added])
        columns = [self._whole_mask(word, name, name in kinds).alias(name) for word, name in enumerate(masks)]
        for name in names:
            column = F.col(quoted(name))
            columns.append(escorted(column, kinds[name]).alias(name) if needs_escort(kinds[name]) else column)
        return self._selection(frame, columns, numbered=True)

    def _selection(self, frame: DataFrame, columns: list[Column], *, numbered: bool) -> DataFrame:
        """Select; when Spark refuses, find the clause that is at fault and tell it."""
        try:
            with query_errors_unlogged():
                return frame.select(*columns)
        except AnalysisException:
            for computed, text, clause in self._user_texts(numbered):
                self._selected_from(frame, computed, text, clause)
            raise

    def _selected_from(self, frame: DataFrame, computed: str, text: str, clause: str) -> None:
        analysed(lambda: frame.select(F.expr(computed)), text, clause, self.inputs)

    def _user_texts(self, numbered: bool) -> Iterable[tuple[str, str, str]]:
        """What Spark computes, the user's words for it, and the clause they stand in."""
        for condition in self.match.conditions:
            row_only = condition.row_only
            if row_only is not None and row_only.numbered is numbered:
                yield f"IF({row_only.text}, 1, 0)", condition.text or "", self._clause(condition)
        yield from ((c.text, c.text, c.clause) for c in (self.match.numbered if numbered else self.match.hidden))

    def _whole_mask(self, word: int, name: str, early: bool) -> Column:
        """The early bits, the bits over neighbours, and in the first word the partition starts."""
        parts = [F.col(name).cast("bigint")] if early else []
        late = self._bits(word, numbered=True)
        if late is not None:
            parts.append(late)
        if word == 0:
            starts = F.col(f"{self.match.prefix}_r") == 1
            parts.append(F.when(starts, F.lit(1).cast("bigint")).otherwise(F.lit(0).cast("bigint")))
        if not parts:
            parts.append(F.lit(0).cast("bigint"))
        total = parts[0]
        for part in parts[1:]:
            total = total.bitwiseOR(part)
        return total.cast(self._mask_type(word))

    def _measured(self, first: OrderColumn) -> str | None:
        """Return the order column that WITHIN (or another clause) measures; it must ascend."""
        clause = self.measured
        if clause is None:
            return None
        code = "WRONG_WITHIN" if clause.startswith("WITHIN") else "WRONG_ARGUMENT"
        if first.name is None or first.key is None:
            raise BindingError(
                code,
                f"{clause} cannot see what a sort order made of a Column sorts by",
                clause=clause,
                found="Column.asc() or Column.desc()",
                allowed="order_by as text",
                hint="write the first order column as text",
            )
        if not first.key.ascending:
            raise BindingError(
                code,
                f"{clause} needs an ascending first order column",
                clause=clause,
                found=f"{first.key.expression} DESC",
                allowed=f"{first.key.expression} ASC",
                hint="a window counted in EVENTS works in any order" if code == "WRONG_WITHIN" else None,
            )
        return first.name

    def _told(self, first: OrderColumn, kinds: dict[str, T.DataType]) -> str | None:
        """Return the order column if a row may have to be named, which only a skip target can make necessary."""
        skips = self.match.after_match.target is not None
        return first.name if skips and first.name is not None and not needs_escort(kinds[first.name]) else None

    def _tells_decisions(self) -> bool:
        """Whether the time at which a match was decided is asked for, or orders the matches."""
        events = self.events
        return events is not None and (events.time is not None or events.ends_in_absence)

    def _passed(self, keys: tuple[str, ...], orders: tuple[OrderColumn, ...]) -> tuple[str, ...]:
        if self.match.rows_per_match == "one":
            return keys
        own = self.source.columns
        order_names = [order.name for order in orders if order.name in own]
        return tuple(dict.fromkeys([*keys, *(name for name in order_names if name), *own]))


def _key_text(text: str, name: str) -> str:
    """Return what the user calls a key: its alias or column, else the expression as written."""
    return name if text.rstrip("`").lower().endswith(name.lower()) else text


def output_columns(match: LogicalMatch) -> Iterable[str]:
    """Return the columns that measures read: gathered and aggregated values, bare columns."""
    for output in match.outputs:
        yield from columns_of(output)
    yield from match.bare_columns


def columns_of(output: Output) -> Iterable[str]:
    """Return the input columns that an output reads."""
    match output:
        case Gathered(column=column):
            found = [column]
        case Aggregated(column=column, filter=condition):
            found = [name for name in (column, condition) if name is not None]
        case Collected(columns=columns, filter=condition):
            found = [*columns, *([condition] if condition is not None else [])]
        case _:
            found = []
    return [name for name in found if name != CLASSIFIER]
