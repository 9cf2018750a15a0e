"""Lists, limits or samples the matches that graphs hold; the way back from ``matches="graph"``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engine.closed_graph import ClosedGraph
from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.events import EventMatches, joined_matches
from sparkcep.engine.found_matches import found_in
from sparkcep.engine.match_choice import first_matches
from sparkcep.engine.match_order import in_order
from sparkcep.engine.match_results import MOST_SORTED
from sparkcep.engine.matches import Bools, Int64s, MatchLabel
from sparkcep.engine.sampling import Sample
from sparkcep.errors import MatchError
from sparkcep.logical.outputs import OutputRows


@dataclass(frozen=True, slots=True)
class ExpansionColumns:
    """The columns of the batches that come in; names of the struct that holds an event follow Spark.

    Attributes
    ----------
    passed
        Handed on with every match.
    starts
        Whether a row is the first one of its partition.
    nodes, roots
        The graph: structs of variable, event, preds; the nodes that matches end in.
    event
        Name of the column that holds an event behind this point.
    """

    passed: tuple[str, ...]
    starts: str
    nodes: str
    roots: str
    event: str


@dataclass(frozen=True, slots=True)
class ExpansionTask:
    """What a worker needs to expand graphs: plain data.

    Attributes
    ----------
    variables
        Names of the variables, as nodes name them.
    limit, sample, seed
        How many matches per partition, the first ones; how many, or which share, to draw.
    output
        What a match becomes.
    """

    columns: ExpansionColumns
    variables: tuple[str, ...]
    limit: int | None
    sample: int | float | None
    seed: int
    output: OutputRows

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Expand the rows of one Spark partition, sorted by partition and time."""
        expander = _Expander(self)
        for batch in batches:
            if batch.num_rows:
                yield from expander.push(pa.Table.from_batches([batch]))
        yield from expander.finish()


class _Expander:
    """Goes through graphs in order; keeps the number of the next match, and what is drawn."""

    def __init__(self, task: ExpansionTask) -> None:
        self.task = task
        labels = tuple(MatchLabel(index, False) for index in range(len(task.variables)))
        held = (*task.columns.passed, task.columns.event)
        self.out = EventOutput(task.output, labels, held, None, None, None)
        self.kept = self.out.kept(task.columns.event)
        self.number = 1
        self.sample = self._sample()

    def _sample(self) -> Sample | None:
        return None if self.task.sample is None else Sample(self.task.sample, self.task.seed)

    def push(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Take some graphs, yield their matches."""
        columns = self.task.columns
        nodes = table.column(columns.nodes).combine_chunks()
        events = pc.struct_field(nodes.values, "event")
        base = self.kept.end
        owners = pa.array(np.repeat(np.arange(table.num_rows), np.diff(_offsets(nodes))))
        held = table.select(list(columns.passed)).take(owners).append_column(columns.event, events)
        self.kept.append(held, None)
        starts = table.column(columns.starts).to_numpy(zero_copy_only=False)
        parts: list[EventMatches] = []
        for start, graph in zip(starts, _graphs(table, columns, self.task.variables, base), strict=True):
            if start:
                parts += self._drawn()
                self.number, self.sample = 1, self._sample()
            parts += self._chosen(graph)
        yield from self.out.batches(joined_matches(parts), self.kept)
        drawn = np.empty(0, np.int64) if self.sample is None else self.sample.positions()
        self.kept.let_go(self.kept.end, drawn)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield what was drawn from the last partition."""
        yield from self.out.batches(joined_matches(self._drawn()), self.kept)

    def _drawn(self) -> list[EventMatches]:
        return [self.sample.matches()] if self.sample is not None and self.sample.drawn else []

    def _chosen(self, graph: ClosedGraph) -> list[EventMatches]:
        """Return the matches of a graph that are wanted now."""
        limit = self.task.limit
        if self.sample is not None:
            self.sample.draw_from(graph, 0, np.arange(len(self.task.variables), dtype=np.int32))
            return []
        left = None if limit is None else limit - self.number + 1
        if left is not None and left <= 0:
            return []
        total = graph.total()
        if left is not None and total > MOST_SORTED:
            found = found_in(graph, first_matches(graph, left), 0, 0)
        else:
            try:
                found = found_in(graph, None, 0, 0)
            except OverflowError:
                raise _too_many(total) from None
        order = in_order(found, np.zeros(found.matches, np.int64), found.components, len(self.task.variables))
        order = order[:left]
        self.number += len(order)
        lengths = np.diff(found.offsets)[order]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        events = np.repeat(found.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
        decided = np.zeros(len(order), np.bool_)
        return [
            EventMatches(
                offsets=offsets,
                position=found.rows[events],
                variable=found.components[events],
                number=self.number - len(order) + np.arange(len(order)),
                timed=decided,
                never=decided,
            )
        ]


def _graphs(table: pa.Table, columns: ExpansionColumns, variables: tuple[str, ...], base: int) -> Iterator[ClosedGraph]:
    """Yield the graphs of a table; an event is the first of the nodes, counted from `base`, that show it."""
    nodes = table.column(columns.nodes).combine_chunks()
    roots = table.column(columns.roots).combine_chunks()
    node_offsets, root_offsets = _offsets(nodes), _offsets(roots)
    taken = pc.index_in(pc.struct_field(nodes.values, "variable"), pa.array(list(variables), pa.string()))
    is_union = taken.is_null().to_numpy(zero_copy_only=False)
    components = taken.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    rows = np.full(len(components), -1, np.int64)
    rows[~is_union] = base + _first_of_equals(pc.struct_field(nodes.values, "event"), np.flatnonzero(~is_union))
    preds = pc.struct_field(nodes.values, "preds")
    pred_offsets, pred_values = _offsets(preds), preds.values.to_numpy(zero_copy_only=False)
    for i in range(table.num_rows):
        first, last = node_offsets[i], node_offsets[i + 1]
        edges = pred_offsets[first : last + 1]
        yield ClosedGraph(
            rows[first:last],
            components[first:last],
            edges - edges[0],
            pred_values[edges[0] : edges[-1]],
            roots.values.to_numpy(zero_copy_only=False)[root_offsets[i] : root_offsets[i + 1]],
        )


def _offsets(array: pa.ListArray) -> Int64s:
    return array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)


def _first_of_equals(events: pa.StructArray, places: Int64s) -> Int64s:
    """Return, for each of the events at `places`, the first of its neighbours that equal it."""
    chosen = events.take(pa.array(places))
    differs = np.ones(len(places), np.bool_)
    differs[1:] = False
    for field in chosen.flatten():
        differs[1:] |= _differs(field.slice(0, len(field) - 1), field.slice(1))
    firsts = np.maximum.accumulate(np.where(differs, np.arange(len(places)), 0))
    return places[firsts]


def _differs(one: pa.Array, other: pa.Array) -> Bools:
    try:
        equal = pc.equal(one, other)
    except pa.ArrowNotImplementedError:
        # Nested values: Arrow does not compare them.
        return np.array([a != b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)], np.bool_)
    same = pc.or_(pc.fill_null(equal, False), pc.and_(one.is_null(), other.is_null()))
    if pa.types.is_floating(one.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(one), pc.is_nan(other)), False))
    found: Bools = pc.invert(same).to_numpy(zero_copy_only=False)
    return found


def _too_many(total: int) -> MatchError:
    return MatchError(
        "TOO_MANY_MATCHES",
        f"one event completes {total:,} matches, more than can be listed",
        clause="expand",
        hint="limit=… gives the first ones, sample=… some of them",
    )
