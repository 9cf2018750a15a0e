"""Partitions of row patterns cut into slices of time: the same matches under every skip rule, numbered alike."""

from __future__ import annotations

import random
import re
from functools import reduce

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep import Options, PlanError, Statistics
from sparkcep.spark.settings import tasks_at_once

DEFINE = {"A": "kind = 'A'", "B": "kind = 'B'", "C": "kind = 'C'"}
RISING = {"A": "kind = 'A'", "B": "v > A.v", "C": "kind = 'C' AND v < LAST(v, 1)"}
CASES = (
    ("A B* C", DEFINE),
    ("A+ B+?", DEFINE),
    ("(A | B) ANY+ C", DEFINE),
    ("A {- B* -} C?", DEFINE),
    ("PERMUTE(A, B)", DEFINE),
    ("A B+ C?", RISING),
    ("B", DEFINE),
)
MEASURES = {
    "n": "MATCH_NUMBER()", "began": "FIRST(i)", "ended": "LAST(i)", "rows": "COUNT(*)", "best": "percentile(v, 0.5)",
}  # fmt: skip
GIVEN = {"order_by": ["t", "i DESC"], "within": "5"}


def named_in(pattern: str, define: dict[str, str]) -> dict[str, str]:
    """Return the definitions of the variables that a pattern names."""
    return {name: text for name, text in define.items() if name in re.findall(r"\w+", pattern)}


def rows_of(spark: SparkSession, time: type, count: int = 150) -> DataFrame:
    drawn = random.Random(5)
    rows = [
        (drawn.choice("kl"), time(drawn.randrange(-60, 100)), drawn.choice("AABCD"), drawn.randrange(5), i)
        for i in range(count)
    ]
    return spark.createDataFrame(
        rows, f"ends string, t {'double' if time is float else 'bigint'}, kind string, v bigint, i bigint"
    )


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize(("time", "key"), [(int, None), (float, "ends")])
def test_the_same_matches_with_the_same_numbers(spark: SparkSession, time: type, key: str | None) -> None:
    frame, parts = rows_of(spark, time), []
    for number, (pattern, define) in enumerate(CASES):
        for skip in ("past last row", "to next row"):
            for slices in ("never", 1):
                options = Options(plan="sweep" if define is DEFINE else "backtrack", slices=slices)  # type: ignore[arg-type]
                found = frame.match_pattern(
                    pattern,
                    partition_by=key,
                    define=named_in(pattern, define),
                    measures=MEASURES,
                    after_match=skip,
                    options=options,
                    **GIVEN,
                )
                row = F.to_json(F.struct(*found.columns))
                parts.append(found.select(F.lit(f"{number} {skip}").alias("case"), F.lit(str(slices)), row))
    rows: dict[tuple[str, str], list[str]] = {}
    for case, slices, row in reduce(DataFrame.unionAll, parts).collect():
        rows.setdefault((case, slices), []).append(row)
    assert len(rows) == 4 * len(CASES)
    for (case, _), found_rows in rows.items():
        assert sorted(found_rows) == sorted(rows[case, "never"]), case


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize(
    "behind_time",
    ["ends COLLATE UTF8_LCASE DESC", "make_ym_interval(0, v)", "IF(v < 2, double('nan'), -v) DESC NULLS LAST"],
)
def test_candidates_stand_as_spark_sorts_their_rows(spark: SparkSession, behind_time: str) -> None:
    frame = rows_of(spark, int).withColumn(
        "ends", F.when(F.col("i") % 2 == 0, F.upper("ends")).otherwise(F.col("ends"))
    )
    found = []
    for slices in ("never", 1):
        options = Options(plan="sweep", slices=slices)  # type: ignore[arg-type]
        matches = frame.match_pattern(
            "A+ B",
            order_by=["t", behind_time, "i"],
            define=named_in("A B", DEFINE),
            measures=MEASURES,
            within=GIVEN["within"],
            options=options,
        )
        found.append(sorted(matches.collect()))
    assert len(found[0]) > 10
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize("skip", ["past last row", "to next row"])
def test_matches_without_a_column_are_as_many(spark: SparkSession, skip: str) -> None:
    counts = []
    for slices in ("never", 1):
        options = Options(plan="sweep", slices=slices)  # type: ignore[arg-type]
        found = rows_of(spark, int).match_pattern(
            "A+ B", define=named_in("A B", DEFINE), after_match=skip, options=options, **GIVEN
        )
        counts.append((found.columns, found.count()))
    assert counts[0] == counts[1]
    assert counts[0][1] > 10


@pytest.mark.parametrize(
    ("arguments", "tasks", "is_cut"),
    [
        ({}, 4, True),
        ({}, 3, False),
        ({"partition_by": "ends"}, 4, False),
        ({"partition_by": "ends", "options": Options(stats=Statistics(largest=0.9))}, 4, True),
        ({"options": Options(slices="never")}, 4, False),
        ({"observe": "counted"}, 4, False),
        ({"rows_per_match": "all"}, 4, False),
    ],
)
@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
def test_large_partitions_are_cut_where_many_tasks_run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, object], tasks: int, is_cut: bool
) -> None:
    monkeypatch.setattr("sparkcep.spark.plan.tasks_at_once", lambda _: tasks)
    given = {"define": named_in("A+ B", DEFINE), **GIVEN, **arguments}
    plan = sparkcep.plan(rows_of(spark, int), "A+ B", **given)  # type: ignore[arg-type]
    assert ("Partitions are cut into slices of 32 windows" in plan.explain()) == is_cut


def test_tasks_at_once_are_those_of_a_shuffle(spark: SparkSession) -> None:
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)
    assert before is not None
    spark.conf.set(setting, "1")
    try:
        assert tasks_at_once(spark) == 1
    finally:
        spark.conf.set(setting, before)


@pytest.mark.filterwarnings("error::sparkcep.errors.SparkcepWarning")
def test_slices_of_all_rows_are_no_reason_to_warn(spark: SparkSession) -> None:
    given = {"define": named_in("A+ B", DEFINE), **GIVEN}
    sparkcep.plan(rows_of(spark, int), "A+ B", options=Options(slices=2), **given)  # type: ignore[arg-type]
    with pytest.warns(sparkcep.SparkcepWarning, match="no partition_by"):
        sparkcep.plan(rows_of(spark, int), "A+ B", options=Options(slices="never"), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "arguments", "reason"),
    [
        ("A B", {"within": None}, "no window of time bounds a match"),
        ("A B", {"within": "5 EVENTS"}, "no window of time bounds a match"),
        ("A B", {"define": {"B": "v > PREV(v)"}}, "PREV and NEXT look over the border"),
        ("A B", {"rows_per_match": "all"}, "rows that belong to several matches"),
        ("A B", {"after_match": "to last B"}, "'skip to last' asks for a row inside of a match"),
        ("^ A B", {}, "where the partition begins and ends"),
        ("A* B?", {}, "a match may be empty"),
        ("A B", {"define": {"B": "v > MATCH_NUMBER()"}}, r"a condition reads MATCH_NUMBER\(\)"),
        ("A+ B", {"observe": "rows"}, "observe= counts the matches of whole partitions"),
        ("A B", {"options": Options(plan="window", slices=4)}, "matches without a worker"),
    ],
)
def test_refused_with_the_reason(spark: SparkSession, pattern: str, arguments: dict[str, object], reason: str) -> None:
    given = {
        "define": named_in(pattern, DEFINE),
        "partition_by": "ends",
        "options": Options(slices=4),
        **GIVEN,
        **arguments,
    }
    with pytest.raises(PlanError, match=reason):
        sparkcep.plan(rows_of(spark, int), pattern, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", [{"semi_join": "A"}, {"sample": 10}])
def test_options_of_event_patterns_are_refused(spark: SparkSession, option: dict[str, object]) -> None:
    given = {"define": named_in("A B", DEFINE), "partition_by": "ends", **GIVEN}
    with pytest.raises(PlanError, match="is an option for event patterns, and this is a row pattern"):
        sparkcep.plan(rows_of(spark, int), "A B", options=Options(**option), **given)  # type: ignore[arg-type]


def test_errors_tell_that_positions_are_those_of_a_slice(spark: SparkSession) -> None:
    options = Options(plan="backtrack", slices=4, max_steps=30)
    found = rows_of(spark, int).match_pattern(
        "A ANY* B C", define=DEFINE, partition_by="ends", order_by=GIVEN["order_by"], within="80", options=options
    )
    with pytest.raises(PySparkException, match=r"from row \d+ \(t = -?\d+\) of a slice of partition ends = '[kl]'"):
        found.collect()


def test_one_statement_of_sql_is_cut_as_well(spark: SparkSession, no_views_left: None) -> None:
    rows_of(spark, int).createOrReplaceTempView("sliced_rows")
    statement = """SELECT * FROM sliced_rows MATCH_RECOGNIZE (
        ORDER BY t, i MEASURES MATCH_NUMBER() AS n, A.i AS began, C.i AS ended
        PATTERN (A B* C) WITHIN 5 DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C')"""
    whole, cut = (
        sparkcep.sql(spark, statement, options=Options(slices=slices)).collect()  # type: ignore[arg-type]
        for slices in ("never", 2)
    )
    assert len(whole) > 3
    assert sorted(whole) == sorted(cut)
