"""Event patterns inside ``mapInArrow``: batches of sorted, numbered rows in, matches out.

Rows come as Spark sorted them; bit 0 of the first mask column says where a partition starts.
The engine is pushed one batch after the other. Where conditions compare strings, binaries or long
decimals, whose codes are ranks among the values at hand, it is pushed whole partitions instead.
What is kept are the rows of events that a match may still name.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.columns import Alternation, condition_words, decode_operands, group_starts, order_values
from sparkcep.engine.event_classes import EventClasses
from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import BudgetExceeded, EventMatches, EventRows
from sparkcep.engine.kept_rows import ties
from sparkcep.engine.matches import Float64s, Int64s, UInt64s
from sparkcep.engine.ordered_program import OrderedProgram
from sparkcep.engine.runs_program import RunsProgram
from sparkcep.engine.tree_program import TreeProgram
from sparkcep.errors import MatchError
from sparkcep.logical.slots import Operand
from sparkcep.spark.places import partition_text, row_text

if TYPE_CHECKING:
    from sparkcep.engine.slots import Codes
    from sparkcep.engine.tally import EngineWork, Tally


# A push costs the same for few rows and for many.
ROWS_PER_PUSH = 65_536


class Matcher(Protocol):
    """What finds the matches."""

    def push(self, rows: EventRows, codes: Codes) -> EventMatches:
        """Take the next events; return the matches that are decided by them."""


class CountingMatcher(Matcher, Protocol):
    """What also tells what it took."""

    @property
    def work(self) -> EngineWork:
        """What has been done so far."""


@dataclass(frozen=True, slots=True)
class EventTask:
    """What a worker needs: plain data, no Spark, no SQL.

    Attributes
    ----------
    program
        The compiled pattern.
    operands
        Operand columns of conditions.
    classes
        Columns of the ``[key]`` tests.
    masks
        The mask columns' names; the first one holds the partition starts.
    always
        Bits of row conditions that always hold.
    order, order_clause
        The first order column, if a clause measures it, and that clause.
    numbered_by
        The first order column, if the engine is to be given the number of each of its values in
        place of the values: windows count events, but a decision's time is asked for.
    order_name
        The user's name for the first order column.
    output
        What to make of matches.
    columns
        Names of the batches' columns, which may arrive numbered.
    partition, partition_texts
        Partition columns and the user's words for them, for messages.
    told
        The first order column, if the batches hold it, for messages.
    labels
        Names of the variables, for messages.
    sliced
        Whether a group of rows is only a slice of a partition, for messages.
    alternating
        Whether the bit of the starts is the same for all rows of a group, and another one for the next group.
    """

    program: RunsProgram | BoundProgram
    operands: tuple[Operand, ...]
    classes: tuple[str, ...]
    masks: tuple[str, ...]
    always: tuple[int, ...]
    order: str | None
    order_clause: str
    numbered_by: str | None
    order_name: str
    output: EventOutput
    columns: tuple[str, ...]
    partition: tuple[str, ...]
    partition_texts: tuple[str, ...]
    told: str | None
    labels: tuple[str, ...]
    sliced: bool = False
    alternating: bool = False

    @property
    def whole_groups(self) -> bool:
        """Whether a partition must be pushed as a whole: codes hold for one push only."""
        return any(operand.type.kind == "code" for operand in self.operands)

    def matcher(self) -> CountingMatcher:
        """Return the engine; its kernels are loaded here, since the driver of Spark needs none."""
        if isinstance(self.program, OrderedProgram):
            from sparkcep.engine.ordered import OrderedMatcher

            return OrderedMatcher(self.program)
        if isinstance(self.program, TreeProgram):
            from sparkcep.engine.tree import TreeMatcher

            return TreeMatcher(self.program)
        from sparkcep.engine.runs import RunsMatcher

        assert isinstance(self.program, RunsProgram)
        return RunsMatcher(self.program)

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the rows of one Spark partition."""
        driver = self.driver()
        for batch in batches:
            yield from driver.push(batch.rename_columns(list(self.columns)))
        yield from driver.finish()

    def run_whole(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Match a batch of whole groups, which is all there is."""
        driver = self.driver()
        yield from driver.push(batch)
        yield from driver.finish()

    def driver(self, tally: Tally | None = None) -> EventDriver:
        """Return what matches the rows of one Spark partition."""
        matcher = self.matcher()
        return EventDriver(self, matcher if tally is None else _Counting(matcher, tally))

    def schema(self, sent: pa.Schema) -> pa.Schema:
        """Return the schema of the output for rows of `sent`."""
        return self.output.schema(sent)


class _Counting:
    """A matcher that counts what it finds."""

    def __init__(self, matcher: CountingMatcher, tally: Tally) -> None:
        self.matcher, self.tally = matcher, tally

    def push(self, rows: EventRows, codes: Codes) -> EventMatches:
        """Take the next events; return the matches that are decided by them."""
        matches = self.matcher.push(rows, codes)
        self.tally.add_event_matches(matches, self.matcher.work)
        return matches


class EventDriver:
    """Push batches, get output batches; the state is what the engine needs and nothing else.

    Parameters
    ----------
    task
        What is looked for, and where it stands in the batches.
    matcher
        The engine.
    rows_per_push
        Batches are gathered until they hold as many rows.
    """

    def __init__(self, task: EventTask, matcher: Matcher, rows_per_push: int = ROWS_PER_PUSH) -> None:
        self.task = task
        self.rows_per_push = rows_per_push
        self.matcher = matcher
        self.always: UInt64s = np.array(task.always, dtype=np.uint64)
        self.classes = EventClasses(task.classes)
        self.waiting: list[pa.RecordBatch] = []
        self.kept = task.output.kept(task.masks[0])
        import_module("sparkcep.engine.measures")  # while rows are still being sorted
        self.group_start = 0
        self.last_tie: tuple[int, Any] = (-1, None)
        self.alternation = Alternation(task.masks[0])

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch; match those before it, of which now is known whether their last group ends there."""
        if batch.num_rows == 0:
            return
        if self.task.alternating:
            batch = self.alternation.told(batch)
        starts = group_starts(batch.column(self.task.masks[0]))
        if self.task.whole_groups:
            yield from self._push_groups(batch, starts)
            return
        if sum(waiting.num_rows for waiting in self.waiting) >= self.rows_per_push:
            yield from self._matched(complete=len(starts) > 0 and starts[0] == 0)
            self.waiting = []
        self.waiting.append(batch)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Match what is left; the last group ends here."""
        if self.waiting:
            yield from self._matched(complete=True)
        self.waiting = []

    def _push_groups(self, batch: pa.RecordBatch, starts: Int64s) -> Iterator[pa.RecordBatch]:
        """Wait until a group ends, then match all that have."""
        last = int(starts[-1]) if len(starts) else 0
        if last > 0 or (self.waiting and len(starts)):
            self.waiting += [batch.slice(0, last)] if last else []
            yield from self._matched(complete=True)
            self.waiting = []
        self.waiting.append(batch.slice(last))

    def _matched(self, *, complete: bool) -> Generator[pa.RecordBatch, None, None]:
        """Push the waiting rows; yields the output."""
        table = pa.Table.from_batches(self.waiting).combine_chunks()
        starts = group_starts(table.column(self.task.masks[0]))
        first = self.kept.end
        rows, codes = self._rows(table, starts, complete)
        self.kept.append(table, rows.order if self.task.numbered_by is not None else None)
        try:
            matches = self.matcher.push(rows, codes)
            yield from self.task.output.batches(matches, self.kept)
        except BudgetExceeded as fault:
            raise self._over_budget(fault, starts + first) from None
        except OverflowError as fault:
            raise self._uncountable(int(fault.args[0])) from None
        self.kept.let_go(matches.needed_from, matches.also_needed)
        if len(starts):
            self.group_start = first + int(starts[-1])

    def _rows(self, table: pa.Table, starts: Int64s, complete: bool) -> tuple[EventRows, Mapping[str, Any]]:
        decoded = decode_operands(table, self.task.operands, self.task.program.literals)
        masks = [table.column(name) for name in self.task.masks]
        rows = EventRows(
            starts=starts,
            conditions=condition_words(masks, self.always),
            order=self._order(table, starts),
            classes=self.classes.coded(table, starts),
            integers=decoded.integers,
            integer_nulls=decoded.integer_nulls,
            floats=decoded.floats,
            float_nulls=decoded.float_nulls,
            complete=complete,
        )
        return rows, decoded.codes

    def _order(self, table: pa.Table, starts: Int64s) -> Int64s | Float64s | None:
        if self.task.numbered_by is not None:
            numbers, self.last_tie = ties(table.column(self.task.numbered_by), self.last_tie)
            return numbers
        if self.task.order is None:
            return None
        column = table.column(self.task.order)
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            self.kept.append(table, None)
            number = self.kept.end - table.num_rows + row
            place = self._place(number, starts + self.kept.end - table.num_rows)
            raise MatchError(
                "NULL_ORDER_VALUE",
                f"{self.task.order_clause} measures '{self.task.order_name}', which is NULL in {place}",
                clause=self.task.order_clause,
                found="NULL",
                hint="filter such rows, or pass null_order_value='drop'",
            )
        return order_values(column)

    # -- messages -----------------------------------------------------------------------------------

    def _over_budget(self, fault: BudgetExceeded, starts: Int64s) -> MatchError:
        most = self.task.program.search.max_partial_matches
        return MatchError(
            "PARTIAL_MATCH_BUDGET_EXCEEDED",
            f"{fault.count:,} partial matches are open at {self._place(fault.position, starts)}, and {most:,} are "
            f"allowed; most of them wait behind '{self.task.labels[fault.variable]}'",
            clause="PATTERN",
            hint="ask for matches='count' or 'graph', add or shorten WITHIN, choose a stricter strategy, narrow the "
            "conditions, or raise Options(max_partial_matches=…)",
        )

    def _uncountable(self, number: int) -> MatchError:
        return MatchError(
            "MATCH_COUNT_OVERFLOW",
            f"more than 10^38 − 1 matches in {self._partition(number)}",
            clause="matches",
            hint="add WITHIN, or choose a stricter strategy",
        )

    def _place(self, number: int, starts: Int64s) -> str:
        """Name an event by its position in its partition, its order value, and its partition."""
        before = starts[starts <= number]
        position = number + 1 - (int(before[-1]) if len(before) else self.group_start)
        value = self.kept.value(number, self.task.told)
        order_name = self.task.order_name if value is not None else None
        slice_of = "a slice of " if self.task.sliced else ""
        return f"{row_text(position, order_name, value, 'event')} of {slice_of}{self._partition(number)}"

    def _partition(self, number: int) -> str:
        columns = zip(self.task.partition_texts, self.task.partition, strict=True)
        return partition_text((text, self.kept.value(number, name)) for text, name in columns)
