"""Judges sparkcep by the reference, many cases at a time, each under many splits of its rows.

A case costs one query that prepares its rows and one that finishes its measures. In between,
the matcher runs in this process on every legal engine and over every split of the prepared
rows: into Arrow batches, into calls of the kernel, and into Spark partitions. Where the plan
without Python may serve the pattern, or partitions may be cut into slices of time, either costs
one query more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.engine.backtrack import DEFAULT_PATIENCE, backtrack
from sparkcep.engine.columns import group_starts
from sparkcep.errors import MatchError
from sparkcep.planning.plans import Options, PlanName
from sparkcep.planning.row_slices import row_slice_obstacle
from sparkcep.spark.arguments import Arguments, read_arguments
from sparkcep.spark.batch import MatchTask, RowMatcher
from sparkcep.spark.finish import finished, matcher_schema
from sparkcep.spark.matching import compiled, match_task
from sparkcep.spark.plan import MatchPlan
from sparkcep.spark.prepare import Preparation, Prepared
from sparkcep.spark.source import Source
from sparkcep.syntax.clause import MatchRecognize
from tests.property.comparison import compare
from tests.property.reference import ReferenceError_, StepLimitReached
from tests.property.strategies import Case
from tests.spark.frames import literal_frame, warnings_unheard

THREADS = 3
ALL_ROWS = 1_000_000
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Split:
    """How the prepared rows reach the matcher, and when the backtracker begins to remember what failed.

    Attributes
    ----------
    batch
        Rows of an Arrow batch.
    call
        Rows that are gathered before the kernel runs.
    apart
        Whether every group is a Spark partition of its own.
    patience
        Steps of a group before the backtracker remembers failed choices.
    """

    batch: int
    call: int
    apart: bool = False
    patience: int = DEFAULT_PATIENCE


WHOLE = Split(ALL_ROWS, ALL_ROWS)


class Difference(AssertionError):
    """sparkcep and the reference, or two ways to the same result, differ."""


@dataclass(frozen=True)
class Judged:
    """A case on its way: what it should give, and its prepared rows, or the error that came first."""

    case: Case
    names: list[str]
    expected: Rows | None
    source: Source | None = None
    clause: MatchRecognize | None = None
    plan: MatchPlan | None = None
    prepared: Prepared | None = None
    rows: pa.Table | None = None
    fault: Exception | None = None

    @property
    def legal(self) -> list[PlanName]:
        """The names of the plans that may serve the case."""
        candidates = self.plan.compiled.decision.candidates if self.plan is not None else ()
        return [candidate.name for candidate in candidates if candidate.legal]


def judge(spark: SparkSession, cases: Sequence[Case], splits: Sequence[Split]) -> int:
    """Raise Difference at the first case that differs; return the number of cases judged."""
    judged = 0
    with warnings_unheard(), closing(verdicts(spark, cases, splits)) as found:
        for case, fault in found:
            if fault is not None:
                raise Difference(f"{fault}\n{case}") from None
            judged += 1
    return judged


def verdicts(
    spark: SparkSession, cases: Iterable[Case], splits: Sequence[Split]
) -> Generator[tuple[Case, Difference | None], None, None]:
    """Yield every case that the reference can judge, and how it differs."""
    expected = [judged for case in cases if (judged := _expected(case)) is not None]
    with ThreadPoolExecutor(THREADS) as pool:
        prepared = list(pool.map(lambda judged: _prepared(spark, judged), expected))
        matched = [_attempt(judged, splits) for judged in prepared]
        yield from pool.map(lambda pair: _verdict(spark, *pair), zip(prepared, matched, strict=True))


def _expected(case: Case) -> Judged | None:
    try:
        return Judged(case, *case.expected())
    except StepLimitReached:
        return None
    except ReferenceError_ as error:
        if error.stage == "plan":
            raise
        return Judged(case, [], None)


def _prepared(spark: SparkSession, judged: Judged) -> Judged:
    case = judged.case
    try:
        frame = literal_frame(spark, case.columns, case.types, case.rows)
        clause, source = read_arguments(frame, Arguments(**case.arguments))
        plan = MatchPlan(source, clause, Options())
        prepared = Preparation(source, plan.match).prepared()
        rows = prepared.frame.toArrow().combine_chunks()
    except Exception as fault:  # whatever it is, the case shows it
        return Judged(case, judged.names, judged.expected, fault=fault)
    return Judged(case, judged.names, judged.expected, source, clause, plan, prepared, rows)


def _matchers(judged: Judged) -> list[PlanName]:
    """Return the legal plans that need a worker."""
    return [name for name in judged.legal if name != "window"]


def _attempt(judged: Judged, splits: Sequence[Split]) -> pa.Table | Exception:
    """Return what the first legal engine emits for the whole; other engines and splits must emit the same."""
    if judged.fault is not None:
        return judged.fault
    assert judged.plan is not None
    chosen, *others = _matchers(judged)
    try:
        whole = _outcome(judged, chosen, WHOLE)
        for engine in [chosen, *others]:
            for split in [WHOLE, *splits]:
                _check_same(whole, _outcome(judged, engine, split), f"{engine}, {split}, against {chosen}, whole")
    except Exception as fault:  # whatever it is, the case shows it
        return fault
    return whole


def _outcome(judged: Judged, engine: str, split: Split) -> pa.Table | Exception:
    """Return what an engine emits, or the error of the data that it names."""
    assert judged.plan is not None
    assert judged.prepared is not None
    options = Options(plan=engine)  # type: ignore[arg-type]
    task = match_task(judged.plan.match, judged.prepared, compiled(judged.plan.match, options), options)
    try:
        with patch.dict(backtrack.__kwdefaults__, patience=split.patience):
            return emitted(task, judged.rows, split)
    except MatchError as error:
        return error


def _check_same(whole: pa.Table | Exception, found: pa.Table | Exception, where: str) -> None:
    if isinstance(whole, Exception) or isinstance(found, Exception):
        if type(whole) is not type(found):
            raise Difference(f"{where}: {found} instead of {whole}")
        return
    try:
        compare(_tuples(whole), _tuples(found), whole.column_names)
    except AssertionError as difference:
        raise Difference(f"{where}: {difference}") from None


def emitted(task: MatchTask, rows: pa.Table, split: Split) -> pa.Table:
    """Return what the matcher emits for prepared rows that reach it in these pieces."""
    parts = [rows]
    if split.apart:
        starts = group_starts(rows.column(task.masks[0]))
        parts = [rows.slice(first, last - first) for first, last in pairwise([*starts.tolist(), rows.num_rows])]
    found = [batch for part in parts for batch in _pushed(task, part, split)]
    return pa.Table.from_batches(found) if found else pa.table({})


def _pushed(task: MatchTask, rows: pa.Table, split: Split) -> Iterator[pa.RecordBatch]:
    matcher = RowMatcher(task, split.call)
    for first in range(0, rows.num_rows, split.batch):
        piece = rows.slice(first, split.batch)
        # Batches from Spark own their memory: no offsets, no neighbours behind their edges.
        copied = piece.take(np.arange(piece.num_rows)).combine_chunks()
        yield from matcher.push(copied.to_batches()[0])
    yield from matcher.finish()


def _tuples(table: pa.Table) -> Rows:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def _verdict(spark: SparkSession, judged: Judged, found: pa.Table | Exception) -> tuple[Case, Difference | None]:
    try:
        _check(spark, judged, found)
    except Exception as fault:  # whatever it is, the case shows it
        return judged.case, fault if isinstance(fault, Difference) else Difference(repr(fault))
    return judged.case, None


def _check(spark: SparkSession, judged: Judged, found: pa.Table | Exception) -> None:
    if isinstance(found, Difference):
        raise found
    _check_result(judged, lambda: _finished(spark, judged, found))
    others = {"window": Options(plan="window")} if "window" in judged.legal else {}
    if _may_be_cut(judged):
        others["slices"] = Options(plan=_matchers(judged)[0], slices=1)
    for name, options in others.items():
        try:
            _check_result(judged, lambda options=options: _planned(judged, options))
        except Difference as difference:
            raise Difference(f"{name}: {difference}") from None


def _may_be_cut(judged: Judged) -> bool:
    """Tell whether partitions may be cut; where the reference fails, a slice may do without the row at fault."""
    if judged.plan is None or judged.expected is None:
        return False
    return row_slice_obstacle(judged.plan.match, orders_by_column=False) is None


def _check_result(judged: Judged, find: Callable[[], tuple[list[str], Rows]]) -> None:
    try:
        result = find()
    except (MatchError, PySparkException):
        if judged.expected is None:
            return
        raise
    if judged.expected is None:
        raise Difference(f"the reference fails on these rows, sparkcep finds {result[1]}")
    names, rows = result
    if names != judged.names:
        raise Difference(f"columns {names} instead of {judged.names}")
    try:
        compare(judged.expected, rows, names)
    except AssertionError as difference:
        raise Difference(f"reference: {difference}") from None


def _planned(judged: Judged, options: Options) -> tuple[list[str], Rows]:
    assert judged.source is not None
    assert judged.clause is not None
    result = MatchPlan(judged.source, judged.clause, options).dataframe()
    return result.columns, [tuple(row) for row in result.collect()]


def _finished(spark: SparkSession, judged: Judged, found: pa.Table | Exception) -> tuple[list[str], Rows]:
    if isinstance(found, Exception):
        raise found
    assert judged.plan is not None
    assert judged.prepared is not None
    assert judged.source is not None
    match, prepared, source = judged.plan.match, judged.prepared, judged.source
    output = match_task(match, prepared, judged.plan.compiled, Options()).output
    schema = matcher_schema(output, prepared.frame.schema)
    frame = spark.createDataFrame(found if found.num_rows else [], schema)
    result = finished(frame, match, output, prepared.originals, source.alias)
    return result.columns, [tuple(row) for row in result.collect()]
