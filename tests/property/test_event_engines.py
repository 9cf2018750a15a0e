"""Random event patterns: sparkcep through Spark, over every split into pushes, against the reference.

``HYPOTHESIS_PROFILE=long pytest -s tests/property/test_event_engines.py`` judges new random cases for
ten minutes.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.exclusive_types import variables_exclude_each_other
from sparkcep.planning.plans import Options
from sparkcep.planning.slices import slice_obstacle
from sparkcep.spark.event_plan import EventPlan
from tests.property.comparison import compare
from tests.property.event_strategies import COLUMN_TYPES, EventCase, seeded_case
from tests.property.reference import ReferenceError_, StepLimitReached
from tests.spark.frames import literal_frame
from tests.spark.test_event_tables import every_split, may_join

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SECONDS = 600 if LONG else 0
BUDGET = settings(
    max_examples=20 if LONG else 3,
    deadline=None,
    derandomize=not LONG,
    database=None,
    suppress_health_check=list(HealthCheck),
)
# What is said of a partial match only.
STATUS = ("match_status", "waiting_for", "deadline")
WITH_NULLS = {"ignoreNullFields": "false"}
_LOOPS = re.compile(r"[A-Z_)][+*{]|STRICT |NEXT ")
REFUSED = ("UNSUPPORTED_CONDITION", "UNBOUNDED_GROUP", "PATTERN_TOO_LARGE", "UNSUPPORTED_TIMEOUTS", "MISSING_WITHIN")

pytestmark = pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")


def planned(spark: SparkSession, case: EventCase, *, joins: bool | None = None) -> list[DataFrame]:
    """Return the matches of a case; behind them, where they may be found so, those of slices or of joins.

    Parameters
    ----------
    joins
        Whether joins may do without numbers of rows; None: slices in place of joins.
    """
    rows = [[row[name] for name in COLUMN_TYPES] for row in case.rows]
    frame = literal_frame(spark, tuple(COLUMN_TYPES), COLUMN_TYPES, rows)
    arguments = {"order_by": ["t", "i"], "type_column": "type"} | case.arguments
    plan = sparkcep.plan(frame, **arguments)
    assert isinstance(plan, EventPlan)
    found = [plan.dataframe()]
    if joins is not None and may_join(plan):
        with patch("sparkcep.spark.joined_rows.variables_exclude_each_other", excluding(exact=joins)):
            found.append(frame.match_pattern(**arguments, options=Options(plan="join")))
    elif slice_obstacle(plan.events, case.arguments["matches"], orders_by_column=False) is None:
        found.append(frame.match_pattern(**arguments, options=Options(slices=1)))
    return found


def excluding(*, exact: bool) -> Callable[[LogicalEvents], bool]:
    return lambda events: exact and variables_exclude_each_other(events)


def shown(match: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a match with events as their positions, columns by name; status columns of partial matches only."""
    late = match.get("waiting_for") is not None
    names = [name for name in sorted(match, key=str.lower) if late or name not in STATUS]
    return tuple((name.lower(), _shown(match[name])) for name in names)


def _shown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ("event", value["i"])
    if isinstance(value, list):
        return tuple(map(_shown, value))
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def judge(spark: SparkSession, drawn: list[EventCase]) -> int:
    """Compare many cases in one Spark job; return how many could be judged."""
    frames: dict[int, DataFrame] = {}
    expected: dict[int, list[Any]] = {}
    for number, case in enumerate(drawn):
        try:
            expected[number] = [shown(match) for match in case.expected()]
        except (ReferenceError_, StepLimitReached):
            continue
        try:
            # Of the cases that may be joined two of three are, once in each way to tell positions.
            found = planned(spark, case, joins=(None, True, False)[number % 3] if number % 2 else None)
        except sparkcep.SparkcepError as error:
            if error.code not in REFUSED:
                raise AssertionError(f"{error}\n{case}") from error
            continue
        keys = () if case.arguments["matches"] == "count" else case.arguments.get("partition_by", ())
        for way, matches in enumerate(found):
            row = F.to_json(F.struct(*(F.col(f"`{n}`") for n in matches.columns if n not in keys)), WITH_NULLS)
            place = number + way * len(drawn)
            frames[place] = matches.select(F.lit(place).alias("case"), row.alias("row"))
            expected[place] = expected[number]
    for number, rows in collected(frames).items():
        try:
            assert not isinstance(rows, Exception), rows
            compare(expected[number], rows)
        except AssertionError as difference:
            way = "by joins or in slices" if number >= len(drawn) else "by the matcher"
            raise AssertionError(f"{way}: {difference}\n{drawn[number % len(drawn)]}") from None
    return len(frames)


def collected(frames: dict[int, DataFrame]) -> dict[int, Any]:
    """Return the rows of each frame, or the exception, for which each runs by itself."""
    if not frames:
        return {}
    try:
        rows = functools.reduce(DataFrame.union, frames.values()).collect()
    except PySparkException as error:
        if len(frames) == 1:
            return dict.fromkeys(frames, error)
        return {number: collected({number: frame})[number] for number, frame in frames.items()}
    found: dict[int, Any] = {number: [] for number in frames}
    for number, row in rows:
        found[number].append(shown(json.loads(row)))
    return found


def reorderable_case(seed: int) -> EventCase:
    """Return a case of single events under skip-till-any-match, which an engine may bind in any order."""
    return next(
        case
        for attempt in itertools.count()
        if not _LOOPS.search(
            (case := seeded_case(seed + (attempt << 48), "skip_till_any_match", 12)).arguments["pattern"]
        )
    )


def late_or_not(case: EventCase, seed: int) -> EventCase:
    """Ask every third case that may have time-outs for them."""
    if seed % 3 or case.arguments["matches"] == "count" or "WITHIN" not in case.arguments["pattern"]:
        return case
    return replace(case, arguments=case.arguments | {"timeouts": True})


def test_event_patterns_agree_with_the_reference(spark: SparkSession) -> None:
    judged = 0
    original = EventPlan.task

    @BUDGET
    @given(st.lists(st.integers(0, 2**48), min_size=16, max_size=16, unique=True))
    def run(seeds: list[int]) -> None:
        nonlocal judged
        any_strategy = [late_or_not(seeded_case(seed), seed) for seed in seeds[::2]]
        reorderable = [reorderable_case(seed) for seed in seeds[1::2]]
        judged += judge(spark, [case for pair in zip(any_strategy, reorderable, strict=True) for case in pair])

    with patch.object(EventPlan, "task", lambda plan: every_split(plan, original(plan))):
        end = time.monotonic() + SECONDS
        run()
        while time.monotonic() < end:
            run()
    print(f"\n{judged} cases judged")
    assert judged
