"""The matcher inside ``mapInArrow``: batches of sorted, numbered rows in, matches out.

Rows come as Spark sorted them; bit 0 of the first mask column says where a partition starts,
so groups are exactly Spark's. Complete groups are matched many at a time; the open group is
carried over batches; with WITHIN, what can no longer take part is let go.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sparkcep.engine.automaton import Automaton
from sparkcep.engine.columns import Alternation, condition_words, decode_operands, group_starts, order_values
from sparkcep.engine.matches import Int64s, Matches, MatchLabel, Rows, Search, SearchFault, UInt64s
from sparkcep.errors import MatchError
from sparkcep.logical.outputs import OutputRows
from sparkcep.logical.slots import Operand
from sparkcep.spark.places import partition_text, row_text

if TYPE_CHECKING:
    from sparkcep.engine.program import Program
    from sparkcep.engine.slots import SlotCode
    from sparkcep.engine.tally import Tally

ROWS_PER_CALL = 65_536


@dataclass(frozen=True, slots=True)
class SliceGroups:
    """How slices are told apart, and which of their candidates are emitted.

    Attributes
    ----------
    own
        The column that tells whether a row may begin a match of its slice.
    alternating
        Whether the bit of the starts is the same for all rows of a slice, and another one for the next slice.
    in_turn
        Whether only those are matches that begin behind the last row of the match before.
    """

    own: str
    alternating: bool
    in_turn: bool


@dataclass(frozen=True, slots=True)
class MatchTask:
    """What a worker needs: plain data, no Spark, no SQL.

    Attributes
    ----------
    automaton
        For the sweep; None lets the backtracker run `program` with `code`.
    masks
        The mask columns' names; the first one holds the partition starts.
    always
        Bits of variables without a row-only condition.
    order
        The first order column, if WITHIN measures it; `order_name` is the user's name for it.
    columns
        Names of the batches' columns, which may arrive numbered.
    keys, key_texts
        Partition columns and the user's words for them, for messages.
    told
        The first order column, if the batches hold it, for messages.
    target
        The skip target's name, for messages.
    slices
        What slices of partitions stand in the place of partitions, if they are cut.
    """

    labels: tuple[MatchLabel, ...]
    automaton: Automaton | None
    program: Program | None
    code: SlotCode | None
    operands: tuple[Operand, ...]
    masks: tuple[str, ...]
    always: tuple[int, ...]
    order: str | None
    order_name: str
    search: Search
    output: OutputRows
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    key_texts: tuple[str, ...]
    told: str | None
    target: str | None
    slices: SliceGroups | None = None

    @property
    def bounded(self) -> bool:
        """Whether a match is bounded, so that an open group can be matched in parts."""
        return self.search.within is not None or self.search.max_rows is not None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the rows of one Spark partition."""
        matcher = self.driver()
        for batch in batches:
            yield from matcher.push(batch.rename_columns(list(self.columns)))
        yield from matcher.finish()

    def run_whole(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Match a batch of whole groups, which is all there is."""
        return RowMatcher(self).matched(batch, complete=True)

    def driver(self, tally: Tally | None = None) -> RowMatcher:
        """Return what matches the rows of one Spark partition."""
        return RowMatcher(self, tally=tally)

    def schema(self, sent: pa.Schema) -> pa.Schema:
        """Return the schema of the output for rows of `sent`."""
        from sparkcep.engine.measures import output_schema  # here: the driver of Spark needs no kernels

        return output_schema(sent, self.output)


class RowMatcher:
    """Push batches, get output batches; the state is the open group and nothing else.

    Parameters
    ----------
    rows_per_call
        How many rows are gathered before the kernel runs.
    tally
        Counts the matches, if somebody observes them.
    """

    def __init__(self, task: MatchTask, rows_per_call: int = ROWS_PER_CALL, tally: Tally | None = None) -> None:
        self.task = task
        self.tally = tally
        self.rows_per_call = rows_per_call
        self.always: UInt64s = np.array(task.always, dtype=np.uint64)
        self.pending: list[pa.RecordBatch] = []
        self.pending_rows = 0
        self.last_start = 0
        self.wait_until = rows_per_call
        self.next_number = 1
        self.continued = False
        self.covered = 0
        self.released = 0
        self.alternation = Alternation(task.masks[0])
        self._load_kernels()

    def _load_kernels(self) -> None:
        """Load kernels while rows are still being sorted; the driver of Spark, which makes no matcher, needs none."""
        from sparkcep.engine.measures import assemble

        self._assembled = assemble
        if self.task.automaton is not None:
            from sparkcep.engine.sweep import sweep

            self._swept = sweep
        else:
            from sparkcep.engine.backtrack import backtrack

            self._searched = backtrack
        if self.task.slices is not None:
            from sparkcep.engine.skip_rule import ReachedCandidates

            self._reached = ReachedCandidates()

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch; match what is complete once enough rows have come."""
        if batch.num_rows == 0:
            return
        if self.task.slices is not None and self.task.slices.alternating:
            batch = self.alternation.told(batch)
        starts = group_starts(batch.column(self.task.masks[0]))
        if len(starts):
            self.last_start = self.pending_rows + int(starts[-1])
            if self.pending_rows == 0 and starts[0] == 0:
                # All rows of the group before have been let go: it ends here.
                self._begin_group()
        self.pending.append(batch)
        self.pending_rows += batch.num_rows
        if self.pending_rows < self.wait_until:
            return
        if self.last_start > 0:
            yield from self._match_complete()
        elif self.task.bounded:
            yield from self._match_open()
        # An open group alone: look again when it has doubled, so that copying stays linear.
        self.wait_until = max(self.rows_per_call, 2 * self.pending_rows)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Match what is left; the last group ends here."""
        if self.pending_rows:
            table = pa.Table.from_batches(self.pending).combine_chunks()
            yield from self.matched(table, complete=True)
        self.pending, self.pending_rows, self.last_start = [], 0, 0

    def _match_complete(self) -> Iterator[pa.RecordBatch]:
        """Match all groups but the last, which stays."""
        table = pa.Table.from_batches(self.pending)
        yield from self.matched(table.slice(0, self.last_start).combine_chunks(), complete=True)
        self._keep(table.slice(self.last_start))
        self._begin_group()

    def _begin_group(self) -> None:
        self.continued, self.next_number, self.covered, self.released = False, 1, 0, 0

    def _match_open(self) -> Iterator[pa.RecordBatch]:
        """Match the starts of the open group whose window is closed, and let their rows go."""
        table = pa.Table.from_batches(self.pending).combine_chunks()
        matches = yield from self.matched(table, complete=False)
        if matches.resume > 0:
            self.continued = True
            self.next_number = matches.next_number
            last_end = int(matches.end.max()) if len(matches.end) else 0
            self.covered = max(last_end, self.covered) - matches.resume
            self.released += matches.resume
            self._keep(table.slice(matches.resume))

    def _keep(self, rest: pa.Table) -> None:
        # take copies, so that the rows before it are really let go
        rest = rest.take(np.arange(rest.num_rows)).combine_chunks()
        self.pending = rest.to_batches()
        self.pending_rows = rest.num_rows
        self.last_start = 0

    def matched(self, table: pa.Table | pa.RecordBatch, *, complete: bool) -> Generator[pa.RecordBatch, None, Matches]:
        """Run the kernel over whole groups; yields the output, returns the matches."""
        rows = self._rows(table, complete)
        try:
            matches = self._found(table, rows)
        except SearchFault as fault:
            raise self._told(fault, table) from None
        if self.task.slices is not None:
            matches = self._own_candidates(table, rows, matches, self.task.slices)
        if self.tally is not None:
            self.tally.add_row_matches(matches)
        batch = self._assembled(table, rows, matches, self.task.labels, self.task.output, covered=max(self.covered, 0))
        if batch.num_rows:
            yield batch
        return matches

    def _found(self, table: pa.Table, rows: Rows) -> Matches:
        task = self.task
        if task.automaton is not None:
            return self._swept(task.automaton, rows, task.search)
        assert task.program is not None
        assert task.code is not None
        decoded = decode_operands(table, task.operands, task.code.literals)
        rows.integers, rows.integer_nulls = decoded.integers, decoded.integer_nulls
        rows.floats, rows.float_nulls = decoded.floats, decoded.float_nulls
        return self._searched(task.program, task.code, rows, task.search, decoded.codes)

    def _own_candidates(self, table: pa.Table, rows: Rows, matches: Matches, slices: SliceGroups) -> Matches:
        """Return the candidates that begin in their slice; of these, if they take turns, those that may get one."""
        own = table.column(slices.own).to_numpy(zero_copy_only=False)
        which = own[matches.start]
        if slices.in_turn:
            which &= self._reached.among(matches, rows, self.task.search, own)
        return matches.chosen(which)

    def _rows(self, table: pa.Table, complete: bool) -> Rows:
        masks = [table.column(name) for name in self.task.masks]
        starts = group_starts(masks[0])
        if len(starts) == 0 or starts[0] != 0:
            starts = np.concatenate([np.zeros(1, np.int64), starts])
        offsets: Int64s = np.concatenate([starts, np.array([table.num_rows], np.int64)]).astype(np.int64)
        return Rows(
            group_offsets=offsets,
            conditions=condition_words(masks, self.always),
            order=self._order(table),
            first_number=self.next_number,
            at_start=not self.continued,
            complete=complete,
        )

    def _order(self, table: pa.Table) -> Int64s | None:
        if self.task.order is None:
            return None
        column = table.column(self.task.order)
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            where = f"row {self._position(table, row):,} of {self._partition(table, row)}"
            raise MatchError(
                "NULL_ORDER_VALUE",
                f"WITHIN measures '{self.task.order_name}', which is NULL in {where}",
                clause="WITHIN",
                found="NULL",
                hint="filter such rows, or pass null_order_value='drop'",
            )
        return order_values(column)  # type: ignore[return-value]

    def _partition(self, table: pa.Table, row: int) -> str:
        columns = zip(self.task.key_texts, self.task.keys, strict=True)
        partition = partition_text((text, table.column(name)[row].as_py()) for text, name in columns)
        return partition if self.task.slices is None else f"a slice of {partition}"

    def _position(self, table: pa.Table, row: int) -> int:
        """Return the position of a row in its partition, counted from one; rows already let go count."""
        starts = group_starts(table.column(self.task.masks[0]))
        before = starts[starts <= row]
        return row + 1 - int(before[-1]) if len(before) else row + 1 + self.released

    def _row(self, table: pa.Table, row: int) -> str:
        number, told = self._position(table, row), self.task.told
        return (
            row_text(number)
            if told is None
            else row_text(number, self.task.order_name, table.column(told)[row].as_py())
        )

    def _told(self, fault: SearchFault, table: pa.Table) -> MatchError:
        row, partition = self._row(table, fault.row), self._partition(table, fault.row)
        match = f"match {fault.number:,} from {row} of {partition}"
        if fault.kind == "budget":
            return MatchError(
                "WORK_BUDGET_EXCEEDED",
                f"more than {self.task.search.max_steps:,} steps in search of {match}",
                clause="PATTERN",
                hint="add WITHIN, narrow the first variable's condition, or raise Options(max_steps=…)",
            )
        target, unbound = self.task.target, fault.kind == "target not bound"
        what = f"took no row in {match}" if unbound else f"is the first row of {match}, so the search cannot move on"
        return MatchError(
            "SKIP_TARGET_NOT_FOUND" if unbound else "SKIP_TO_FIRST_ROW",
            f"AFTER MATCH SKIP TO {target}: {target} {what}",
            clause="AFTER MATCH SKIP",
            found=target,
            hint="skip to a variable that every match has behind its first row, or to the next row",
        )
