"""Semi-joins in front of the shuffle: the same matches of fewer rows."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep import Options, PlanError, Statistics

ROWS = [
    (key, 10 * time, kind)
    for key in ("a", "b", "c", None)
    for time, kind in enumerate("ABABA" + ("C" if key in ("b", None) else "B") + "AB")
]
GIVEN = {"order_by": "t", "type_column": "kind"}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "k string, t bigint, kind string")


def found(frame: DataFrame, pattern: str, **arguments: object) -> list[str]:
    return sorted(map(str, frame.match_pattern(pattern, **GIVEN, **arguments).collect()))  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["strict", "skip_till_next_match", "skip_till_any_match"])
@pytest.mark.parametrize(
    ("pattern", "partition"),
    [
        ("SEQ(A a, B b, C c)", "k"),
        ("SEQ(A+ a[], ~(B x), C c)", "k"),
        ("SEQ(B b, C c) WHERE [k] AND b.t > 10", "kind = 'D' AS none"),
    ],
)
def test_the_same_matches(events: DataFrame, pattern: str, partition: str, strategy: str) -> None:
    plain = found(events, pattern, partition_by=partition, strategy=strategy)
    reduced = found(events, pattern, partition_by=partition, strategy=strategy, options=Options(semi_join="c"))
    assert reduced == plain
    assert plain or strategy == "strict"


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize("within", ["10", "20", "10.5", "0"])
def test_rows_far_from_the_rare_event_in_time(spark: SparkSession, within: str) -> None:
    rows = [
        (float(t) if "." in within else t, "C" if t in (-35, 5, 200) else "AB"[t // 5 % 2]) for t in range(-100, 300, 5)
    ]
    frame = spark.createDataFrame(rows, f"t {'double' if '.' in within else 'bigint'}, kind string")
    pattern = f"SEQ(~(A x), B b, C c) WITHIN {within} RETURN b.t AS began, c.t AS ended"
    plain = found(frame, pattern)
    assert found(frame, pattern, options=Options(semi_join="c")) == plain
    assert bool(plain) is (within != "0")


def test_it_is_chosen_where_statistics_say_that_it_pays(events: DataFrame) -> None:
    rare = Options(stats=Statistics({"a": 5, "b": 5, "c": 0.01}, presence={"a": 1, "b": 1, "c": 0.01}))
    plan = sparkcep.plan(events, "SEQ(A a, B b, C c)", partition_by="k", options=rare, **GIVEN)
    assert "Only rows of its partition are matched that hold an event of c" in re.sub(r"\s+", " ", plan.explain())
    assert "LeftSemi" in physical(plan.dataframe())
    common = Options(stats=Statistics({"a": 5, "b": 5, "c": 1}, presence={"a": 1, "b": 1, "c": 0.5}))
    assert "LeftSemi" not in physical(
        events.match_pattern("SEQ(A a, B b, C c)", partition_by="k", options=common, **GIVEN)
    )


def physical(frame: DataFrame) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        frame.explain()
    return printed.getvalue()


@pytest.mark.parametrize(
    ("pattern", "variable", "reason"),
    [
        ("SEQ(A a, B? b, C c)", "b", "not every match binds it"),
        ("SEQ(A a, C c)", "d", "the pattern has no such variable"),
        ("SEQ(A a, ~(B b), C c)", "b", "not every match binds it"),
    ],
)
def test_refused_with_the_reason(events: DataFrame, pattern: str, variable: str, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        events.match_pattern(pattern, partition_by="k", options=Options(semi_join=variable), **GIVEN)


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
def test_refused_where_nothing_tells_what_is_near(events: DataFrame) -> None:
    with pytest.raises(PlanError, match="neither a key nor a window"):
        events.match_pattern("SEQ(A a, C c)", options=Options(semi_join="c"), **GIVEN)
