"""Match graphs as Arrow columns: one row per event that completes matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sparkcep.engine.events import EventGraph
from sparkcep.engine.kept_rows import KeptRows, one_array
from sparkcep.engine.matches import Int64s
from sparkcep.logical.outputs import Collected, Gathered, GraphColumns, OutputRows

NODES_PER_BATCH = 65_536
LARGEST_COUNT = 10**38 - 1
COUNT_TYPE = pa.decimal128(38, 0)


def counts_array(counts: Sequence[tuple[int, int]]) -> pa.Array:
    """Return counts of matches as decimals; each comes with the number of an event.

    Raises
    ------
    OverflowError
        A count needs more than 38 digits; its argument is the event's number.
    """
    for number, count in counts:
        if count > LARGEST_COUNT:
            raise OverflowError(number)
    return pa.array([Decimal(count) for _, count in counts], COUNT_TYPE)


def graph_fields(columns: GraphColumns) -> list[pa.Field]:
    """Return the columns that stand behind the computed ones."""
    numbers = pa.list_(pa.int32())
    return [
        pa.field(columns.count, COUNT_TYPE),
        pa.field(columns.preds, pa.list_(numbers)),
        pa.field(columns.roots, numbers),
    ]


def graph_batches(
    graphs: Sequence[EventGraph], kept: KeptRows, rows: OutputRows, columns: GraphColumns, labels: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield graphs as batches: passed columns, what `rows` computes, then count, predecessors, roots.

    Parameters
    ----------
    labels
        Names of the variables.

    Raises
    ------
    OverflowError
        See `counts_array`.
    """
    first = size = 0
    for place, graph in enumerate(graphs):
        size += len(graph.graph.rows)
        if size >= NODES_PER_BATCH or place == len(graphs) - 1:
            yield _batch(graphs[first : place + 1], kept, rows, columns, labels)
            first, size = place + 1, 0


def _batch(
    graphs: Sequence[EventGraph], kept: KeptRows, rows: OutputRows, columns: GraphColumns, labels: Sequence[str]
) -> pa.RecordBatch:
    closing = np.array([graph.closing for graph in graphs], np.int64)
    ends = kept.rows_at(closing)
    arrays = {name: one_array(ends.column(name)) for name in rows.passed}
    for output in rows.outputs:
        if isinstance(output, Gathered):
            arrays[output.name] = one_array(ends.column(output.column))
        elif isinstance(output, Collected):
            arrays[output.name] = _nodes(graphs, kept, output.columns, labels)
    arrays[columns.count] = counts_array([(graph.closing, graph.count) for graph in graphs])
    arrays[columns.preds] = _predecessors(graphs)
    arrays[columns.roots] = pa.ListArray.from_arrays(
        _offsets([len(graph.graph.roots) for graph in graphs]),
        pa.array(np.concatenate([graph.graph.roots for graph in graphs])),
    )
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def _nodes(graphs: Sequence[EventGraph], kept: KeptRows, columns: Sequence[str], labels: Sequence[str]) -> pa.Array:
    """Return the nodes as lists of structs: variable (NULL: a union), then the event's columns."""
    variables = np.concatenate([graph.graph.components for graph in graphs])
    is_union = variables < 0
    # A union has no event; its own columns are never shown.
    numbers = np.concatenate([np.where(g.graph.rows < 0, g.closing, g.graph.rows) for g in graphs])
    events = kept.rows_at(numbers)
    named = pa.array(list(labels), pa.string()).take(pa.array(variables, mask=is_union))
    fields = [named, *(one_array(events.column(name)) for name in columns[1:])]
    structs = pa.StructArray.from_arrays(fields, names=[f"f{i}" for i in range(len(fields))])
    return pa.ListArray.from_arrays(_offsets([len(graph.graph.rows) for graph in graphs]), structs)


def _predecessors(graphs: Sequence[EventGraph]) -> pa.Array:
    """Return, per graph and node, the list of its predecessors."""
    preds = pa.array(np.concatenate([graph.graph.preds for graph in graphs]))
    lengths = np.concatenate([np.diff(graph.graph.offsets) for graph in graphs])
    by_node = pa.ListArray.from_arrays(_offsets(lengths), preds)
    return pa.ListArray.from_arrays(_offsets([len(graph.graph.rows) for graph in graphs]), by_node)


def _offsets(lengths: Sequence[int] | Int64s) -> pa.Array:
    return pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
