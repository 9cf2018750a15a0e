"""Random row patterns: sparkcep on every legal engine, over every split of the rows, against the reference.

``HYPOTHESIS_PROFILE=long pytest -s tests/property/test_engines.py`` judges new random cases for ten minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.engine.backtrack import DEFAULT_PATIENCE
from tests.property.comparison import compare
from tests.property.judging import Split, judge
from tests.property.reference import ReferenceError_, StepLimitReached
from tests.property.strategies import Case, cases
from tests.spark.frames import literal_frame

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SECONDS = 600 if LONG else 0
PARTITIONS = 8
BUDGET = settings(
    max_examples=30 if LONG else 6,
    deadline=None,
    derandomize=not LONG,
    database=None,
    suppress_health_check=list(HealthCheck),
)

pytestmark = [
    # Random tables may be one partition, random conditions may compare a row with itself.
    pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning"),
    pytest.mark.filterwarnings("ignore:.* can never hold:sparkcep.errors.SparkcepWarning"),
]

SPLITS = st.builds(
    Split,
    batch=st.sampled_from([1, 2, 3, 5]),
    call=st.sampled_from([1, 2, 3, 4, 7, 12]),
    apart=st.booleans(),
    patience=st.sampled_from([0, 12, DEFAULT_PATIENCE]),
)
# All rows of group "a" are let go before group "b" begins.
GONE = Case(
    ("k", "i", "v"),
    (("a", 1, 1), ("a", 2, 1), ("a", 9, 0), ("b", 1, 1), ("b", 2, 1)),
    {
        "pattern": "A{2}",
        "partition_by": ["k"],
        "order_by": ["i"],
        "within": 4,
        "define": {"A": "v > FIRST(v) - 1 AND v > 0"},
        "measures": {"n": "MATCH_NUMBER()"},
    },
)


def _for_the_profile(run: Callable[[], None]) -> None:
    """Run once, and again with new random cases until the profile's time is over."""
    end = time.monotonic() + SECONDS
    run()
    while time.monotonic() < end:
        run()


def test_engines_and_splits_agree_with_the_reference(spark: SparkSession) -> None:
    judged = 0

    @BUDGET
    @example([GONE], [Split(3, 1)])
    @given(
        st.lists(cases(partitions=PARTITIONS) | cases(dependent=False, partitions=PARTITIONS), min_size=1, max_size=10),
        st.lists(SPLITS, min_size=1, max_size=2),
    )
    def run(drawn: list[Case], splits: list[Split]) -> None:
        nonlocal judged
        judged += judge(spark, drawn, [Split(1, 1, patience=0), *splits])

    _for_the_profile(run)
    print(f"\n{judged} cases judged")
    assert judged


def test_fixed_patterns_agree_with_the_reference(spark: SparkSession) -> None:
    """Most of them are served by window functions, too."""
    judged = 0

    @settings(BUDGET, max_examples=30 if LONG else 1)
    @given(st.lists(cases(partitions=PARTITIONS, fixed=True), min_size=8, max_size=10))
    def run(drawn: list[Case]) -> None:
        nonlocal judged
        judged += judge(spark, drawn, [])

    _for_the_profile(run)
    assert judged


@pytest.mark.parametrize("batch", [1, 3])
def test_batches_of_spark_agree_with_the_reference(spark: SparkSession, batch: int) -> None:
    @settings(BUDGET, max_examples=3)
    @given(cases(partitions=PARTITIONS))
    def run(case: Case) -> None:
        try:
            names, expected = case.expected()
        except (ReferenceError_, StepLimitReached):
            return
        frame = literal_frame(spark, case.columns, case.types, case.rows)
        found = sparkcep.match_pattern(frame, **case.arguments)
        compare(expected, [tuple(row) for row in found.collect()], names)

    settings_of_spark = {"spark.sql.execution.arrow.maxRecordsPerBatch": batch, "spark.sql.shuffle.partitions": 3}
    before = {name: spark.conf.get(name) for name in settings_of_spark}
    try:
        for name, value in settings_of_spark.items():
            spark.conf.set(name, value)
        run()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")
