"""Every case of the tables through Spark, on every engine that may run it.

Cases run in a few threads, so that one is analysed while another one is computed; a test waits
for its own case. The engines of a case share one query and its shuffle.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import PlanError, SparkcepError
from tests.property.comparison import compare
from tests.spark.frames import literal_frame, warnings_unheard
from tests.tables.cases import TableCase, load_cases

THREADS = 3
CASES = {f"{case.table}: {case.name}": case for case in load_cases()}
Found = dict[str, list[tuple[Any, ...]] | str]


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Found]]]:
    """Start all selected cases; return what each engine finds, or the message of its error, by case."""
    selected = [item.callspec.params["name"] for item in request.session.items if item.path == request.path]
    # Most cases are one partition on purpose; one has a condition that never holds.
    with warnings_unheard(), ThreadPoolExecutor(THREADS) as pool:
        yield {name: pool.submit(_found, spark, CASES[name]) for name in selected}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", CASES)
def test_engines_agree_with_the_table(name: str, outcomes: dict[str, Future[Found]]) -> None:
    case, found = CASES[name], outcomes[name].result(timeout=300)
    for engine, result in found.items():
        if case.expected is None or case.refused:
            assert isinstance(result, str), f"{engine} finds {result}"
            assert [word for word in (*case.error, *case.refused) if word not in result] == [], (
                f"{engine} says {result}"
            )
        else:
            assert isinstance(result, list), f"{engine} says {result}"
            try:
                compare(case.expected, result)
            except AssertionError as difference:
                raise AssertionError(f"{engine}: {difference}") from None


def _found(spark: SparkSession, case: TableCase) -> Found:
    frame = literal_frame(spark, case.columns, case.types, case.rows)
    try:
        frames = frames_by_engine(frame, case.arguments)
    except SparkcepError as error:
        return {"planning": str(error)}
    visible = {engine: frame.select(*_visible(case, frame)) for engine, frame in frames.items()}
    if case.expected is None:
        return {engine: _message(frame) for engine, frame in visible.items()}
    marked = [frame.select(F.lit(engine), "*") for engine, frame in visible.items()]
    found: dict[str, list[tuple[Any, ...]]] = {engine: [] for engine in frames}
    for engine, *row in functools.reduce(DataFrame.union, marked).collect():
        found[engine].append(tuple(row))
    return dict(found)


def frames_by_engine(frame: DataFrame, arguments: dict[str, Any]) -> dict[str, DataFrame]:
    """Return the result of every legal engine, by its name, and of one over slices where partitions may be cut."""
    plan = sparkcep.plan(frame, **arguments)
    decision = plan.compiled.decision
    frames = {decision.chosen.name: plan.dataframe()}
    for candidate in decision.candidates:
        if candidate.legal and candidate.name not in frames:
            forced = sparkcep.Options(plan=candidate.name)
            frames[candidate.name] = sparkcep.plan(frame, **arguments, options=forced).dataframe()
    matcher = next(name for name in ("sweep", "backtrack") if name in frames)
    with contextlib.suppress(PlanError):  # tests/spark/test_row_slices.py says why not
        cut = sparkcep.Options(plan=matcher, slices=1)  # type: ignore[arg-type]
        frames["slices"] = sparkcep.plan(frame, **arguments, options=cut).dataframe()
    return frames


def _visible(case: TableCase, frame: DataFrame) -> list[str]:
    return [f"`{name}`" for name in case.visible(frame.columns)]


def _message(frame: DataFrame) -> str:
    try:
        return str(frame.collect())
    except PySparkException as error:
        return str(error)
