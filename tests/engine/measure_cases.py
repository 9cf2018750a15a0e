"""Matches built by hand, shared by the tests of measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.engine.matches import Matches, MatchLabel, Rows
from sparkcep.engine.measures import assemble, output_schema
from sparkcep.logical.outputs import OutputRows

VARIABLES = ("A", "B", "C")
LABELS = (MatchLabel(0, False), MatchLabel(1, False), MatchLabel(2, False), MatchLabel(1, True))
FIRST_NUMBER = 7
Runs = list[tuple[int, int]]
Found = list[tuple[int, Runs]]


def rows_of(count: int) -> Rows:
    return Rows(np.array([0, count], np.int64), np.zeros((1, count), np.uint64))


def matches_of(found: Found, resume: int) -> Matches:
    """Build matches of one group from pairs (start, runs of (label, length))."""
    runs = [run for _, of_match in found for run in of_match]
    return Matches(
        group=np.zeros(len(found), np.int64),
        start=np.array([start for start, _ in found], np.int64),
        end=np.array([start + sum(n for _, n in of_match) for start, of_match in found], np.int64),
        number=np.arange(FIRST_NUMBER, FIRST_NUMBER + len(found)),
        run_offsets=np.cumsum([0] + [len(of_match) for _, of_match in found]).astype(np.int64),
        run_label=np.array([label for label, _ in runs], np.int32),
        run_length=np.array([n for _, n in runs], np.int64),
        resume=resume,
        next_number=FIRST_NUMBER + len(found),
    )


def assembled(table: pa.Table | pa.RecordBatch, found: Found, output: OutputRows, **more: Any) -> pa.RecordBatch:
    resume = more.pop("resume", table.num_rows)
    batch = assemble(table, rows_of(table.num_rows), matches_of(found, resume), LABELS, output, **more)
    batch.validate(full=True)
    assert batch.schema.equals(output_schema(table.schema, output), check_metadata=True)
    assert all(field.nullable for field in batch.schema)
    for array, field in zip(batch.columns, batch.schema, strict=True):
        assert array.type.equals(field.type, check_metadata=True)
    return batch


def one(*outputs: Any, passed: tuple[str, ...] = ()) -> OutputRows:
    return OutputRows("one", True, False, passed, outputs, VARIABLES)


def each(*outputs: Any, passed: tuple[str, ...] = (), empty: bool = True, unmatched: bool = False) -> OutputRows:
    return OutputRows("all", empty, unmatched, passed, outputs, VARIABLES)


def values(batch: pa.RecordBatch, name: str) -> list[Any]:
    found: list[Any] = batch.column(name).to_pylist()
    return found
