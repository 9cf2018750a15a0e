"""Every case of the event tables through Spark, and inside each task under many splits into pushes.

Cases are planned in a few threads and run in a few unions, one Spark job for many cases.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.engine.bound_program import BoundProgram
from sparkcep.engine.event_output import EventOutput
from sparkcep.engine.runs_program import RunsProgram
from sparkcep.engine.tree_program import Shape, TreeProgram
from sparkcep.errors import PlanError, SparkcepError
from sparkcep.planning.lazy import obstacle
from sparkcep.planning.planner import choose_for_events
from sparkcep.planning.plans import Options
from sparkcep.spark.bound_programs import ordered_program, tree_program
from sparkcep.spark.event_batch import EventDriver, EventTask
from sparkcep.spark.event_plan import EventPlan
from tests.property.comparison import compare
from tests.spark.frames import literal_frame, warnings_unheard
from tests.tables.event_cases import COLUMNS, ORDER, EventTableCase, load_event_cases

THREADS = 3
CASES_PER_JOB = 24
ROWS_PER_PUSH = (1, 3)
BY_JOINS = ", by joins"
CASES = {str(case): case for case in load_event_cases()}
Outcome = list[dict[str, Any]] | Exception


@dataclass(frozen=True)
class Backwards:
    """Binds components from the last one to the first one."""

    count: int

    def __call__(self, counts: Sequence[float]) -> tuple[int, ...]:
        return tuple(range(self.count))[::-1]


@dataclass(frozen=True)
class OneSided:
    """Joins one component after the other, from the first one on or, right-deep, from the last one on."""

    count: int
    right_deep: bool

    def __call__(self, rates: Sequence[float], witnesses: Sequence[float]) -> Shape:
        joined, *others = range(self.count)[::-1] if self.right_deep else range(self.count)
        return functools.reduce(lambda tree, k: (k, tree) if self.right_deep else (tree, k), others, joined)


@dataclass(frozen=True)
class EverySplit:
    """A task that looks at its rows in several splits and tells if they differ; so do other engines.

    `others` are tasks that find the same with another engine.
    """

    task: EventTask
    others: tuple[EventTask, ...] = ()

    @property
    def output(self) -> EventOutput:
        return self.task.output

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = [batch.rename_columns(list(self.task.columns)) for batch in batches if batch.num_rows]
        if not given:
            return
        rows = pa.Table.from_batches(given).combine_chunks()
        whole = self.found(self.task, rows, rows.num_rows)
        for size in ROWS_PER_PUSH:
            split = self.found(self.task, rows, size)
            assert sorted(map(repr, split)) == sorted(map(repr, whole)), (
                f"{size} rows per push: {split}, whole: {whole}"
            )
        with patch("sparkcep.engine.window_search.ROWS_PER_CHOICE", 3):
            for number, task in enumerate(self.others):
                for size in (rows.num_rows, *ROWS_PER_PUSH):
                    found = self.found(task, rows, size)
                    assert found == whole, f"{size} rows per push, other engine {number}: {found}, runs: {whole}"
        yield from self.driven(self.task, rows, rows.num_rows)

    def found(self, task: EventTask, rows: pa.Table, size: int) -> list[str]:
        """Return what comes out, sorted where time-outs come whenever they are noticed."""
        found = [repr(row) for batch in self.driven(task, rows, size) for row in batch.to_pylist()]
        return found if self.output.waiting is None else sorted(found)

    def driven(self, task: EventTask, rows: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
        driver = EventDriver(task, task.matcher(), size)
        for batch in rows.to_batches(max_chunksize=size):
            yield from driver.push(batch)
        yield from driver.finish()


def every_split(plan: EventPlan, task: EventTask) -> EverySplit:
    """Return the task of a plan for `runs`, with those of the engines that bind events in any order."""
    try:
        planned = choose_for_events(plan.events, Options(plan="tree"), sampled=False)
    except PlanError:
        return EverySplit(task)
    assert isinstance(task.program, RunsProgram)
    tree = tree_program(plan.events, task.program, planned.estimates)
    programs: list[BoundProgram] = [tree, *(one_sided(tree, right_deep=way) for way in (False, True))]
    if obstacle(plan.events) is None:
        ordered = ordered_program(plan.events, task.program, planned.estimates)
        programs += [ordered, replace(ordered, choosers=tuple(Backwards(one.size) for one in ordered.patterns))]
    return EverySplit(task, tuple(replace(task, program=program) for program in programs))


def one_sided(program: TreeProgram, *, right_deep: bool) -> TreeProgram:
    return replace(program, choosers=tuple(OneSided(pattern.size, right_deep) for pattern in program.patterns))


def case_frame(spark: SparkSession, case: EventTableCase) -> DataFrame:
    """Return the events of a case."""
    floating = {name for name in COLUMNS for row in case.rows if isinstance(row[name], float)}
    numbers = {name: "double" if name in floating else "bigint" for name in ("v", "w", "t", "i")}
    types = {name: numbers.get(name, "string") for name in COLUMNS}
    return literal_frame(spark, COLUMNS, types, [[row[name] for name in COLUMNS] for row in case.rows])


def planned(spark: SparkSession, case: EventTableCase) -> dict[str, DataFrame | SparkcepError]:
    """Return the matches of a case as JSON, behind its name; by joins too where these may find them."""
    frame = case_frame(spark, case)
    arguments = {"order_by": ORDER, "type_column": "type", "strategy": case.strategy, **case.arguments}
    try:
        plan = sparkcep.plan(frame, case.pattern, **arguments)
        found = {str(case): plan.dataframe()}
        if may_join(plan):
            joined = frame.match_pattern(case.pattern, **arguments, options=Options(plan="join"))
            found[f"{case}{BY_JOINS}"] = joined
    except SparkcepError as error:
        return {str(case): error}
    return {name: as_json(name, matches) for name, matches in found.items()}


def may_join(plan: EventPlan) -> bool:
    return any(candidate.name == "join" and candidate.legal for candidate in plan.compiled.decision.candidates)


def as_json(name: str, matches: DataFrame) -> DataFrame:
    row = F.to_json(F.struct(*(F.col(f"`{column}`") for column in matches.columns)), {"ignoreNullFields": "false"})
    return matches.select(F.lit(name).alias("case"), row.alias("row"))


def collected(frames: dict[str, DataFrame]) -> dict[str, Outcome]:
    """Run many cases in one job; where it fails, each one for itself."""
    try:
        rows = functools.reduce(DataFrame.union, frames.values()).collect()
    except PySparkException as error:
        if len(frames) == 1:
            return dict.fromkeys(frames, error)
        return {name: collected({name: frame})[name] for name, frame in frames.items()}
    found: dict[str, Outcome] = {name: [] for name in frames}
    for name, row in rows:
        found[name].append(json.loads(row))  # type: ignore[union-attr]
    return found


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Outcome | None]]:
    """Plan and run the selected cases, and return what asks for the outcome of one."""
    selected = [item.callspec.params["name"] for item in request.session.items if item.path == request.path]
    original = EventPlan.task
    with (
        warnings_unheard(),
        patch.object(EventPlan, "task", lambda plan: every_split(plan, original(plan))),
        ThreadPoolExecutor(THREADS) as pool,
    ):
        jobs: dict[str, Future[dict[str, Outcome]]] = {}
        for first in range(0, len(selected), CASES_PER_JOB):
            names = selected[first : first + CASES_PER_JOB]
            jobs |= dict.fromkeys(names, pool.submit(_outcomes, spark, names))
        yield lambda name: jobs[name.removesuffix(BY_JOINS)].result(timeout=400).get(name)
        pool.shutdown(cancel_futures=True)


def _outcomes(spark: SparkSession, names: list[str]) -> dict[str, Outcome]:
    plans = {name: plan for case in names for name, plan in planned(spark, CASES[case]).items()}
    frames = {name: plan for name, plan in plans.items() if isinstance(plan, DataFrame)}
    faults: dict[str, Outcome] = {name: plan for name, plan in plans.items() if isinstance(plan, SparkcepError)}
    return faults | (collected(frames) if frames else {})


@pytest.mark.parametrize("name", CASES)
def test_spark_agrees_with_the_table(name: str, outcome: Callable[[str], Outcome | None]) -> None:
    found, joined = outcome(name), outcome(f"{name}{BY_JOINS}")
    assert found is not None
    check(CASES[name], found)
    if joined is not None:
        check(CASES[name], joined)


def check(case: EventTableCase, found: Outcome) -> None:
    if case.expected is None:
        assert isinstance(found, Exception), f"finds {found}"
        assert [word for word in case.error if word not in str(found)] == []
    else:
        assert not isinstance(found, Exception), str(found)
        if isinstance(case.expected, int):
            assert len(found) == case.expected
        else:
            compare(case.expected, [case.shown(match) for match in found], case.show or None)
