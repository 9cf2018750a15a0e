"""Partitions cut into slices of time: the same matches, numbered alike."""

from __future__ import annotations

import random
from functools import reduce

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep import Options, PlanError, Statistics

CASES = (
    ("SEQ(A a, B b) WHERE b.v > a.v", {"strategy": "skip_till_any_match"}),
    ("SEQ(A a, B b) WHERE b.v > a.v", {"strategy": "skip_till_any_match", "matches": "count"}),
    ("SEQ(A a, B+ b[], C c)", {"matches": "one_per_start"}),
    ("SEQ(A a, ~(B x), C c)", {"strategy": "skip_till_any_match", "limit": 7}),
    ("SEQ(A a, B b) RETURN a.i AS i, b.i AS j", {"strategy": "strict", "limit": 5}),
    ("AND(A a, C c)", {}),
    ("SEQ(A a, B b) WHERE b.v > a.v RETURN a.i AS i, b.i AS j", {"matches": "non_overlapping"}),
    (
        "SEQ(A a, B b, C c) WHERE [v]",
        {"matches": "non_overlapping", "strategy": "skip_till_any_match"},
    ),
    ("SEQ(A a, B+ b[], C c)", {"matches": "non_overlapping", "limit": 3}),
    ("SEQ(SEQ(A a, B b)+, C c)", {"matches": "count"}),
)
GIVEN = {"order_by": ["t", "i"], "type_column": "kind"}


def events(spark: SparkSession, time: type) -> DataFrame:
    drawn = random.Random(3)
    rows = [
        (drawn.choice("kl"), time(drawn.randrange(-60, 100)), drawn.choice("AABC"), drawn.randrange(5), i)
        for i in range(120)
    ]
    return spark.createDataFrame(
        rows, f"k string, t {'double' if time is float else 'bigint'}, kind string, v bigint, i bigint"
    )


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize(("time", "key"), [(int, None), (float, "k")])
def test_the_same_matches_with_the_same_numbers(spark: SparkSession, time: type, key: str | None) -> None:
    frame, parts = events(spark, time), []
    for number, (pattern, arguments) in enumerate(CASES):
        head, _, returned = pattern.partition(" RETURN ")
        text = f"{head} WITHIN 5 {returned and 'RETURN ' + returned}"
        for slices in ("never", 1):
            options = Options(plan="runs", slices=slices)  # type: ignore[arg-type]
            found = frame.match_pattern(text, partition_by=key, options=options, **arguments, **GIVEN)  # type: ignore[arg-type]
            row = F.to_json(F.struct(*found.columns))
            parts.append(found.select(F.lit(number).alias("case"), F.lit(str(slices)), row))
    rows: dict[tuple[int, str], list[str]] = {}
    for case, slices, row in reduce(DataFrame.unionAll, parts).collect():
        rows.setdefault((case, slices), []).append(row)
    for number, (pattern, _) in enumerate(CASES):
        assert sorted(rows[number, "1"]) == sorted(rows[number, "never"]), pattern


@pytest.mark.parametrize(("tasks", "is_cut"), [(4, True), (3, False)])
def test_matches_that_may_not_overlap_are_chosen_over_slices_where_that_pays(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tasks: int, is_cut: bool
) -> None:
    monkeypatch.setattr("sparkcep.spark.event_plan.tasks_at_once", lambda spark: tasks)
    given = GIVEN | {"partition_by": "k", "options": Options(stats=Statistics(largest=0.9))}
    plan = sparkcep.plan(events(spark, int), "SEQ(A a, B b) WITHIN 5", matches="non_overlapping", **given)
    assert ("Partitions are cut into slices" in plan.explain()) == is_cut


@pytest.mark.filterwarnings("error::sparkcep.errors.SparkcepWarning")
def test_one_partition_is_cut_unless_it_must_not(spark: SparkSession) -> None:
    frame = events(spark, int)
    cut = "Partitions are cut into slices of 32 windows"
    assert cut in sparkcep.plan(frame, "SEQ(A a, B b) WITHIN 5", **GIVEN).explain()
    assert cut not in sparkcep.plan(frame, "SEQ(A a, B b) WITHIN 5", partition_by="k", **GIVEN).explain()
    large = Options(stats=Statistics(largest=0.9))
    assert cut in sparkcep.plan(frame, "SEQ(A a, B b) WITHIN 5", partition_by="k", options=large, **GIVEN).explain()
    with pytest.warns(sparkcep.SparkcepWarning, match="no partition_by"):
        assert cut not in sparkcep.plan(frame, "SEQ(A a, B b) WITHIN 5", sample=3, **GIVEN).explain()
    with pytest.warns(sparkcep.SparkcepWarning, match="no partition_by"):
        assert cut not in sparkcep.plan(frame, "SEQ(A a, B b)", **GIVEN).explain()


@pytest.mark.parametrize(
    ("pattern", "arguments", "reason"),
    [
        ("SEQ(A a, B b)", {}, "no window of time bounds a match"),
        ("SEQ(A a, B b) WITHIN 5 EVENTS", {}, "no window of time bounds a match"),
        ("SEQ(A a, B b) WITHIN 5", {"matches": "graph"}, "a graph holds the matches of a whole partition"),
        ("SEQ(A a, B b) WITHIN 5", {"matches": "non_overlapping", "observe": "seen"}, "observe= counts the matches"),
        ("SEQ(A a, ~(B b)) WITHIN 5", {}, "a closing window decides"),
        ("AND(A a, B b) WITHIN 5", {"strategy": "skip_till_any_match"}, "parts of AND interleave"),
        ("SEQ(A a, B b) WITHIN 5", {"timeouts": True}, "would come twice"),
        ("SEQ(A a, B b) WITHIN 5", {"sample": 3}, "a sample is drawn from all matches"),
    ],
)
def test_refused_with_the_reason(spark: SparkSession, pattern: str, arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        sparkcep.plan(events(spark, int), pattern, partition_by="k", options=Options(slices=4), **arguments, **GIVEN)  # type: ignore[arg-type]


def test_errors_tell_that_positions_are_those_of_a_slice(spark: SparkSession) -> None:
    options = Options(plan="runs", slices=4, max_partial_matches=3)
    arguments = {"partition_by": "k", "strategy": "skip_till_any_match", "options": options, **GIVEN}
    found = events(spark, int).match_pattern("SEQ(A a, B b, C c) WHERE c.v > a.v + b.v WITHIN 50", **arguments)  # type: ignore[arg-type]
    with pytest.raises(PySparkException, match=r"event \d+ \(t = -?\d+\) of a slice of partition k = '[kl]'"):
        found.collect()


@pytest.mark.parametrize("slices", [0, -1, True, "often", 1.5])
def test_slices_are_a_number_of_windows(slices: object) -> None:
    with pytest.raises(ValueError, match="slices are a number of windows"):
        Options(slices=slices)  # type: ignore[arg-type]
