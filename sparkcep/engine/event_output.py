"""From matches of event patterns to output rows, through the same assembly as row patterns.

A match's events are taken into a table where they stand one behind the other, in order; then a
match is a range of neighbouring rows, as `sparkcep.engine.measures` wants it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkcep.engine.events import EventMatches
from sparkcep.engine.graph_output import COUNT_TYPE, counts_array, graph_batches, graph_fields
from sparkcep.engine.kept_rows import KeptRows, one_array
from sparkcep.engine.matches import Int32s, Int64s, Matches, MatchLabel, Rows
from sparkcep.logical.outputs import GraphColumns, OutputRows

EVENTS_PER_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class EventOutput:
    """What leaves the matcher of an event pattern.

    Attributes
    ----------
    rows
        Passed and computed columns, one row per match.
    labels
        One per variable.
    columns
        Input columns that are needed for it, and for messages.
    time, source
        The column that tells when a match was decided, and the order column whose values it holds.
    count
        With matches="count": the name of the column that counts, in place of all computed ones.
    graph
        With matches="graph": the columns that hold it.
    shown
        Names of the variables in a graph, and as what a partial match waited for.
    waiting
        With time-outs: the column that tells what a partial match waited for, NULL for matches.
    """

    rows: OutputRows
    labels: tuple[MatchLabel, ...]
    columns: tuple[str, ...]
    time: str | None
    source: str | None
    count: str | None
    graph: GraphColumns | None = None
    shown: tuple[str, ...] = ()
    waiting: str | None = None

    def kept(self, any_column: str) -> KeptRows:
        """Return an empty store for the rows that matches may name; a store has one column at least."""
        columns = [*self.columns, self.source] if self.source else self.columns
        return KeptRows(tuple(dict.fromkeys(columns)) or (any_column,), self.source)

    def schema(self, sent: pa.Schema) -> pa.Schema:
        """Return the schema of the output for rows of `sent`."""
        from sparkcep.engine.measures import output_schema  # here: the driver of Spark needs no kernels

        if self.count is not None:
            passed = [sent.field(name).with_nullable(True) for name in self.rows.passed]
            return pa.schema([*passed, pa.field(self.count, COUNT_TYPE)])
        if self.time is not None:
            sent = sent.append(sent.field(self.source).with_name(self.time))
        if self.waiting is not None:
            sent = sent.append(pa.field(self.waiting, pa.string()))
        fields = [*output_schema(sent, self.rows)]
        return pa.schema(fields if self.graph is None else [*fields, *graph_fields(self.graph)])

    def batches(self, matches: EventMatches, kept: KeptRows) -> Iterator[pa.RecordBatch]:
        """Yield the output of `matches`.

        Raises
        ------
        OverflowError
            A count needs more than 38 digits; its argument is the number of an event of the group.
        """
        if self.count is not None:
            if matches.counts:
                yield self._counted(matches, kept)
            return
        if self.graph is not None:
            yield from graph_batches(matches.graphs, kept, self.rows, self.graph, self.shown)
            return
        start = 0
        while start < matches.count:
            most = matches.offsets[start] + EVENTS_PER_BATCH
            stop = max(start + 1, int(np.searchsorted(matches.offsets, most, side="right")) - 1)
            yield self._assembled(matches, start, stop, kept)
            start = stop

    def _counted(self, matches: EventMatches, kept: KeptRows) -> pa.RecordBatch:
        assert self.count is not None
        counts = counts_array(matches.counts)
        table = kept.rows_at(np.array([number for number, _ in matches.counts], np.int64))
        arrays = [table.column(name).combine_chunks() for name in self.rows.passed]
        return pa.RecordBatch.from_arrays(
            [one_array(array) for array in arrays] + [counts], names=[*self.rows.passed, self.count]
        )

    def _names(self, variables: Int32s) -> pa.Array:
        """Return names of variables, NULL for −1."""
        return pa.array(list(self.shown), pa.string()).take(pa.array(variables, mask=variables < 0))

    def _assembled(self, matches: EventMatches, start: int, stop: int, kept: KeptRows) -> pa.RecordBatch:
        """Put out the matches from `start` to `stop`."""
        from sparkcep.engine.measures import assemble  # here: the driver of Spark needs no kernels

        offsets = matches.offsets[start : stop + 1]
        events = slice(int(offsets[0]), int(offsets[-1]))
        variable, ends = matches.variable[events], offsets - offsets[0]
        table, places = self._rows(matches, start, stop, kept)
        begins = np.ones(len(variable), np.bool_)
        begins[1:] = variable[1:] != variable[:-1]
        begins[ends[:-1]] = True
        runs = np.flatnonzero(begins)
        found = Matches(
            group=np.zeros(stop - start, np.int64),
            start=ends[:-1].astype(np.int64),
            end=ends[1:].astype(np.int64),
            number=matches.number[start:stop].astype(np.int64),
            run_offsets=np.searchsorted(runs, ends).astype(np.int64),
            run_label=variable[runs].astype(np.int32),
            run_length=np.diff(np.append(runs, len(variable))).astype(np.int64),
            resume=len(variable),
            next_number=1,
        )
        rows = Rows(group_offsets=np.array([0, len(variable)], np.int64), conditions=np.empty((0, 0), np.uint64))
        return assemble(table, rows, found, self.labels, self.rows, places=places)

    def _rows(self, matches: EventMatches, start: int, stop: int, kept: KeptRows) -> tuple[pa.Table, Int64s | None]:
        """Return the rows of the events of some matches, one each, or rows among them and the places of these."""
        numbers = matches.position[matches.offsets[start] : matches.offsets[stop]]
        if self.time is None and self.waiting is None:
            return kept.rows_among(numbers)
        table, ends = kept.rows_at(numbers), matches.offsets[start : stop + 1] - matches.offsets[start]
        if self.time is not None:
            decided = kept.decided(table.column(self.source), matches, slice(start, stop), ends[1:] - 1)
            table = table.append_column(self.time, decided)
        if self.waiting is not None:
            waiting = matches.waiting[start:stop] if len(matches.waiting) else np.full(stop - start, -1, np.int32)
            table = table.append_column(self.waiting, self._names(np.repeat(waiting, np.diff(ends))))
        return table, None
