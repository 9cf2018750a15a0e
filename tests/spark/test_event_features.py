"""Each line of the table of features of event patterns that is served, by a test of its name."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep import Options, all_of, any_of, event, no, seq
from sparkcep.syntax.sase import parse_event_pattern
from tests.spark.test_match_graphs import events, matched

pytestmark = pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
STRATEGIES = ("strict", "partition_contiguity", "skip_till_next_match", "skip_till_any_match")
STRICT, CONTIGUOUS, NEXT, ANY = STRATEGIES


def named(frame: DataFrame, case: str) -> DataFrame:
    """Return each match as the names of its events, variable by variable."""
    held = [name for name in frame.columns if name not in ("match_number", "match_start", "match_end", "match_time")]
    loops = {name for name in held if frame.schema[name].dataType.typeName() == "array"}
    joined = {name: F.nullif(F.array_join(f"{name}.name", " "), F.lit("")) for name in loops}
    shown = [joined[name] if name in loops else F.col(f"{name}.name") for name in held]
    return frame.select(F.lit(case), "match_number", F.concat_ws(" ", *shown))


def names(frames: dict[str, DataFrame]) -> dict[str, list[str]]:
    """Return the matches of each frame, in their order; one job for all."""
    found: dict[str, list[str]] = {case: [] for case in frames}
    rows = functools.reduce(DataFrame.union, [named(frame, case) for case, frame in frames.items()]).collect()
    for case, _, match in sorted(map(tuple, rows), key=lambda row: row[1]):
        found[case].append(match)
    return found


def by_pattern(frame: DataFrame, patterns: Iterable[str], **arguments: Any) -> dict[str, list[str]]:
    return names({pattern: matched(frame, pattern, **arguments) for pattern in patterns})


def test_four_selection_strategies_for_the_whole_pattern(spark: SparkSession) -> None:
    frame = events(spark, "a1X b1Y b2X b3X")
    asked = {strategy: matched(frame, "SEQ(A a, B b) WHERE [sym]", strategy=strategy) for strategy in STRATEGIES}
    assert names(asked) == {STRICT: [], CONTIGUOUS: ["a1 b2"], NEXT: ["a1 b2"], ANY: ["a1 b2", "a1 b3"]}


def test_four_selection_strategies_per_step(spark: SparkSession) -> None:
    expected = {
        "SEQ(A a, STRICT B b, ANY C c)": ["a1 b1 c1", "a1 b1 c2"],
        "SEQ(A a, B b, STRICT C c)": [],
        "SEQ(A a, ANY B b, NEXT C c)": ["a1 b1 c1", "a1 b2 c1"],
    }
    assert by_pattern(events(spark, "a1 b1 b2 x1 c1 c2"), expected, strategy=NEXT) == expected


def test_and_or_of_sub_patterns(spark: SparkSession) -> None:
    expected = {
        "AND(A a, C c)": ["a1 c1", "a2 c1"],
        "OR(A a, C c)": ["a1", "c1", "a2"],
        "SEQ(A a, AND(B b, C c))": ["a1 b1 c1"],
        "SEQ(OR(SEQ(A a, B b), C c), A d)": ["a1 b1 a2", "c1 a2"],
    }
    assert by_pattern(events(spark, "a1 b1 c1 a2"), expected, strategy=NEXT) == expected


def test_negation_at_start_middle_and_end_with_its_own_duration_several_with_other_variables(
    spark: SparkSession,
) -> None:
    expected = {
        "SEQ(~(X x), A a, C c) WITHIN 5": ["a1 c1"],
        "SEQ(A a, ~(B b), C c) WITHIN 50": ["a2 c2"],
        "SEQ(A a, C c, ~(X x)) WITHIN 12": ["a1 c2", "a2 c2"],
        "SEQ(A a, ~(B b), C c, ~(X x) WITHIN 2) WITHIN 50": ["a2 c2"],
        "SEQ(A a, ~(B b), C c) WHERE b.v > a.v WITHIN 50": ["a1 c1", "a1 c2", "a2 c2"],
        "SEQ(A a, ~(B b), C c) WHERE b.v > c.v WITHIN 50": ["a1 c2", "a2 c2"],
    }
    frame = events(spark, "a1(5)@10 b1(2)@11 c1(1)@12 x1(0)@19 a2(7)@20 c2(9)@21")
    assert by_pattern(frame, expected, strategy=ANY) == expected


def test_kleene_groups_until_elements_of_loops_and_exact_running_aggregates(spark: SparkSession) -> None:
    expected = {
        "SEQ(A a, B+ b[], C c)": ["a1 b1 b2 b3 c1"],
        "SEQ(A a, B* b[], X x)": ["a1 x1", "a1 b1 b2 b3 x1"],
        "SEQ(A a, B? b, C c)": ["a1 c1", "a1 b1 c1"],
        "SEQ(A a, B{2} b[])": ["a1 b1 b2"],
        "SEQ(A a, SEQ(B b, C c){1,2})": ["a1 b1 c1"],
        "SEQ(A a, B+ b[] UNTIL (v > 2), C c)": ["a1 b1 b2 c1"],
        "SEQ(A a, B+ b[], C c) WHERE b[i].v > b[i-1].v": ["a1 b1 b2 b3 c1"],
        "SEQ(A a, B+ b[], C c) WHERE b[1].v > 1": ["a1 b2 b3 c1"],
        "SEQ(A a, B+ b[]) WHERE b[b.LEN].v > 2": ["a1 b1 b2 b3"],
        "SEQ(A a, B+ b[], C c) WHERE b[i].v > SUM(b[..i-1].v)": ["a1 b1 b2 c1"],
        "SEQ(A a, B+ b[], C c) WHERE AVG(b.v) = 2": ["a1 b1 b2 b3 c1"],
    }
    assert by_pattern(events(spark, "a1(0) b1(1) b2(2) b3(3) c1(9) x1"), expected, strategy=NEXT) == expected


def test_equivalence_tests(spark: SparkSession) -> None:
    expected = {"SEQ(A a, B b) WHERE [sym]": ["a2 b1", "a1 b3"]}
    assert by_pattern(events(spark, "a1X a2Y b1Y b2 b3X"), expected, strategy=NEXT) == expected


def test_output_all_non_overlapping_one_per_start_count_and_graph_limit_sample(spark: SparkSession) -> None:
    frame, pattern = events(spark, "a1 a2 b1 b2"), "SEQ(A a, B b)"
    everything = ["a1 b1", "a2 b1", "a1 b2", "a2 b2"]
    graph = matched(frame, pattern, strategy=ANY, matches="graph")
    results = ("all", "non_overlapping", "one_per_start")
    frames = {matches: matched(frame, pattern, strategy=ANY, matches=matches) for matches in results}
    frames |= {"graph": sparkcep.expand(graph), "limit": matched(frame, pattern, strategy=ANY, limit=3)}
    found = names(frames | {"sample": matched(frame, pattern, strategy=ANY, sample=2)})
    drawn = found.pop("sample")
    assert found == {
        "all": everything,
        "non_overlapping": ["a1 b1"],
        "one_per_start": ["a1 b1", "a2 b1"],
        "graph": everything,
        "limit": everything[:3],
    }
    assert len(drawn) == 2
    assert set(drawn) <= set(everything)
    assert [tuple(row) for row in matched(frame, pattern, strategy=ANY, matches="count").collect()] == [(4,)]


def test_windows_whole_match_between_steps_events_inclusive_switch_several_in_one_pattern(
    spark: SparkSession,
) -> None:
    expected = {
        "SEQ(A a, B b, C c) WITHIN 10": ["a1 b1 c1", "a1 b2 c1"],
        "SEQ(A a, B b, C c) WITHIN 10 EXCLUSIVE": [],
        "SEQ(A a, B b WITHIN 3, C c WITHIN 8) WITHIN 10": ["a1 b1 c1"],
        "SEQ(A a, B b, C c WITHIN 4) WITHIN 10": ["a1 b2 c1"],
        "SEQ(A a, B b, C c) WITHIN 4 EVENTS": ["a1 b1 c1", "a1 b2 c1"],
        "SEQ(A a, B b, C c) WITHIN 3 EVENTS": [],
        "SEQ(A a, B b WITHIN 2 EVENTS, C c) WITHIN 10": ["a1 b1 c1"],
    }
    assert by_pattern(events(spark, "a1@0 b1@2 b2@6 c1@10"), expected, strategy=ANY) == expected


def test_time_outs_partial_matches_that_expired_with_the_step_they_waited_for(spark: SparkSession) -> None:
    frame = events(spark, "a1@0 b1@1 a2@10")
    found = matched(frame, "SEQ(A a, B b, C c) WITHIN 5", strategy=NEXT, timeouts=True)
    shown = found.select("a.name", "b.name", "match_status", "waiting_for", "deadline").collect()
    assert sorted(map(tuple, shown)) == [("a1", "b1", "timeout", "c", 5), ("a2", None, "timeout", "b", 15)]


def test_budget_on_partial_matches_with_a_declared_policy(spark: SparkSession) -> None:
    options = Options(max_partial_matches=2, overflow="fail", merge_runs=False)
    found = matched(events(spark, "a1 a2 a3 a4 b1"), "SEQ(A a, B b)", strategy=ANY, options=options)
    with pytest.raises(PySparkException, match="PARTIAL_MATCH_BUDGET_EXCEEDED"):
        found.collect()


@pytest.mark.parametrize(
    ("text", "built"),
    [
        (
            "SEQ(A a, ~(X x), B+ b[]) WHERE skip_till_any_match { b[i].v > a.v } WITHIN 10",
            seq(event("a", "type = 'A'"), no("x", "type = 'X'"), event("b", "type = 'B'").plus())
            .where("b[i].v > a.v")
            .strategy("skip_till_any_match")
            .within(10),
        ),
        (
            "OR(A a, AND(B b, C c))",
            any_of(event("a", "type = 'A'"), all_of(event("b", "type = 'B'"), event("c", "type = 'C'"))),
        ),
    ],
)
def test_sql_dsl_text_builder_all_three_round_trip(spark: SparkSession, text: str, built: Any) -> None:
    assert parse_event_pattern(str(parse_event_pattern(text))) == parse_event_pattern(text)
    frame = events(spark, "a1(1) b1(2) c1(3) b2(4)")
    frame.createOrReplaceTempView("event_features")
    asked = f"pattern => '{text}', type_column => 'type'"
    from_sql = sparkcep.sql(spark, f"SELECT * FROM match_pattern(TABLE(event_features) ORDER BY (t, i), {asked})")
    arguments: dict[str, Any] = {"order_by": ["t", "i"], "type_column": "type"}
    frames = {"sql": from_sql, "text": frame.match_pattern(text, **arguments)}
    found = names(frames | {"built": frame.match_pattern(built, order_by=["t", "i"])})
    assert found["sql"] == found["text"] == found["built"] != []
