"""Counters of matches: the same for all who read them, equal to what was counted by hand, and no rows changed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep import BindingError, Counters, Options, PatternSyntaxError, SparkcepWarning, Statistics
from sparkcep.planning.plans import PlanName
from tests.spark.frames import literal_frame, physical_plan

# (key, time, value, kind): of rows with one key two times two have the same time.
ROWS = [
    (1, 1, 1, "a"), (1, 2, 2, "b"), (1, 2, 3, "b"), (1, 3, 1, "a"), (1, 4, 5, "b"),
    (2, 1, 1, "a"), (2, 1, 1, "a"), (None, 1, 1, "a"),
]  # fmt: skip
TYPES = {"k": "int", "ts": "int", "v": "int", "kind": "string"}
ROW_PATTERN = {"define": {"A": "v = 1", "B": "v > 1"}, "measures": {"since": "A.ts", "n": "COUNT(*)"}}
ANY = {"strategy": "skip_till_any_match", "type_column": "kind"}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return literal_frame(spark, tuple(TYPES), TYPES, ROWS)


def counted(frame: DataFrame, pattern: str, plan: PlanName | None = None, **arguments: Any) -> tuple[int, Counters]:
    """Return how many rows come out, and the counters; nobody is warned."""
    options = Options(plan=plan or "auto", slices=arguments.pop("slices", "never"))
    arguments = {"partition_by": "k", "order_by": "ts", "observe": "counted", "options": options, **arguments}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparkcepWarning)
        rows = len(frame.match_pattern(pattern, **arguments).collect())
        return rows, sparkcep.read_observation(arguments["observe"])


def test_row_patterns(frame: DataFrame) -> None:
    observed = [counted(frame, "A B+", plan, **ROW_PATTERN)[1] for plan in ("sweep", "backtrack")]
    for counters in observed:
        assert (counters.rows, counters.partitions, counters.ties) == (8, 3, 2)
        assert (counters.matches, counters.longest_match) == (2, 3)
        assert counters.condition_tests is not None
        assert counters.condition_tests >= 8
        assert counters.uncounted() == ["partial match peak", "runs merged"]
    assert [counters.plan for counters in observed] == ["sweep", "backtrack"]


@pytest.mark.parametrize(("pattern", "arguments", "matches"), [("A B", ROW_PATTERN, 2), ("X Y", {}, 3)])
def test_window(frame: DataFrame, pattern: str, arguments: dict[str, Any], matches: int) -> None:
    rows, counters = counted(frame, pattern, "window", **arguments)
    assert rows == matches
    assert counters == Counters("window", rows=8, partitions=3, ties=2, matches=matches, longest_match=2)


def test_event_patterns(frame: DataFrame) -> None:
    rows, counters = counted(frame, "SEQ(a x, b y)", "runs", **ANY)
    assert rows == 4
    # Of three partial matches with key 1 or 2 one is left per key: nothing tells them apart.
    assert counters == Counters(
        "runs", rows=8, partitions=3, ties=2, matches=4, longest_match=2, partial_match_peak=1, runs_merged=2,
        condition_tests=counters.condition_tests,
    )  # fmt: skip
    rows, counters = counted(frame, "SEQ(a x, b y)", "join", **ANY)
    assert (rows, counters) == (4, Counters("join", matches=4, longest_match=2))
    for plan in ("ordered", "tree"):
        counters = counted(frame, "SEQ(a x, b y)", plan, matches="count", **ANY)[1]
        assert (counters.plan, counters.rows, counters.matches, counters.longest_match) == (plan, 8, 4, None)


def test_a_run_measures_statistics_for_the_next_one(frame: DataFrame) -> None:
    given = {"partition_by": "k", "order_by": "ts", **ANY}
    pattern = "SEQ(a x, b y, ~b n, a z) WHERE x.v < y.v AND y.v >= z.v AND n.v > y.v WITHIN 2"
    measured = sparkcep.analyze(frame, pattern, **given)
    for matches in ("all", "count"):
        for plan in ("runs", "ordered", "tree"):
            found = counted(frame, pattern, plan, matches=matches, **ANY)[1].statistics
            assert found == Statistics(measured.rates, measured.selectivities, rows=8)
    assert set(measured.selectivities) == {("x", "y"), ("y", "z")}
    told = sparkcep.plan(frame, pattern, options=Options(stats=found, plan="ordered"), **given).explain()
    assert "ordered" in told
    # Joins count nothing on their way; of a next match the plan is not a question.
    assert counted(frame, pattern, "join", **ANY)[1].statistics is None
    assert counted(frame, "SEQ(a x, b y)", strategy="skip_till_next_match", type_column="kind")[1].statistics is None
    assert counted(frame, "A B", **ROW_PATTERN)[1].statistics is None


def test_slices_count_every_row_once(frame: DataFrame) -> None:
    rows, counters = counted(frame, "SEQ(a x, b y) WITHIN 1", slices=1, partition_by=None, **ANY)
    assert rows == 9
    assert (counters.rows, counters.partitions, counters.ties, counters.matches) == (8, 1, 4, 9)
    rows, counters = counted(frame, "SEQ(a x, b y) WITHIN 1", slices=1, **ANY)
    assert rows == 3
    assert (counters.rows, counters.partitions, counters.ties, counters.matches) == (8, None, 2, 3)


def test_rows_without_a_time_are_counted_as_they_are_dropped(spark: SparkSession, frame: DataFrame) -> None:
    untimed = frame.unionAll(spark.sql("SELECT 1, CAST(NULL AS INT), id, 'b' FROM range(3)"))
    observation = Observation()
    counters = counted(untimed, "A B+", within=9, null_order_value="drop", observe=observation, **ROW_PATTERN)[1]
    assert (counters.rows, counters.dropped, counters.matches) == (8, 3, 2)
    assert observation.get["matches"] == 2


def test_nothing_found_in_nothing(spark: SparkSession) -> None:
    nothing = spark.range(3).selectExpr("1 AS k", "id AS ts", "id AS v").where(F.col("v") * 2 > 9)
    counters = counted(nothing, "A B+", "sweep", **ROW_PATTERN)[1]
    assert (counters.rows, counters.partitions, counters.matches, counters.longest_match) == (0, 0, 0, 0)


@pytest.mark.classic_only(reason="Connect tells no observations of statements")
def test_sql_names_its_clauses(spark: SparkSession, frame: DataFrame, no_views_left: None) -> None:
    frame.createOrReplaceTempView("observed_rows")
    clause = "observed_rows MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts PATTERN (A B+) DEFINE A AS v = 1, B AS v > 1)"
    call = """match_pattern(TABLE(observed_rows) PARTITION BY k ORDER BY ts,
                            pattern => 'SEQ(a x, b y)', type_column => 'kind', observe => 'own')"""
    counts = [f"SELECT count(*) FROM {each}" for each in (clause, clause, call)]
    text = f"WITH one AS ({counts[0]}) {' UNION ALL '.join(['SELECT * FROM one', *counts[1:]])}"
    found = [row[0] for row in sparkcep.sql(spark, text, observe="both").collect()]
    with pytest.warns(SparkcepWarning, match="2 of 8 rows have the same order values"):
        counters = [sparkcep.read_observation(name) for name in ("both", "both_2", "own")]
    assert [each.matches for each in counters] == found == [2, 2, 2]
    with pytest.raises(PatternSyntaxError, match="an Observation serves one match"):
        sparkcep.sql(spark, text, observe=Observation())


def test_explain_tells_what_was_counted(frame: DataFrame) -> None:
    plan = sparkcep.plan(frame, "A B+", partition_by="k", order_by="ts", **ROW_PATTERN)
    counters = Counters("sweep", rows=1000, matches=3, condition_tests=2500)
    told = plan.explain(observed=counters)
    assert "Observed:\n   plan: sweep\n   rows: 1,000\n" in told
    assert "   condition tests: 2,500, 2.5 per row (2.0 were expected)\n" in told
    assert "   not counted in this run: partitions, ties, longest match, partial match peak, runs merged" in told
    assert "observed: 1,000 rows<br/>observed: 2,500 condition tests" in plan.explain("mermaid", observed=counters)
    assert "observed: 3 matches" in plan.explain("html", observed=counters)
    events = sparkcep.plan(frame, "SEQ(a x, b y)", partition_by="k", order_by="ts", type_column="kind")
    assert "   matches: 7" in events.explain(observed=Counters("runs", matches=7))


def test_plans_without_observation_are_as_ever(frame: DataFrame) -> None:
    arguments = {"partition_by": "k", "order_by": "ts", **ROW_PATTERN}
    plain, observed = (frame.match_pattern("A B+", **arguments, **more) for more in ({}, {"observe": "plan"}))
    assert plain.schema == observed.schema
    assert "CollectMetrics plan" in physical_plan(observed)
    assert "CollectMetrics" not in physical_plan(plain)
    assert "rank(" not in physical_plan(plain)


def test_what_cannot_be_read_or_observed(spark: SparkSession, frame: DataFrame) -> None:
    with pytest.raises(BindingError, match="no match was built with observe='coutned'"):
        sparkcep.read_observation("coutned")
    other = Observation()
    frame.observe(other, F.count(F.lit(1)).alias("n")).collect()
    with pytest.raises(BindingError, match="nothing was observed of a match"):
        sparkcep.read_observation(other)
    frame.match_pattern("A B", partition_by="k", order_by="ts", observe="waiting")
    with pytest.raises(BindingError, match="nothing was observed of a match"):
        sparkcep.read_observation("waiting", timeout=0.1)
    with pytest.raises(PatternSyntaxError, match="observe names an observation, or is one"):
        frame.match_pattern("A B", order_by="ts", observe=7)


def test_table_functions_refuse_what_they_cannot_tell(spark: SparkSession) -> None:
    with pytest.raises(BindingError, match="a table function cannot serve observe"):
        sparkcep.register_pattern(spark, "observed_pattern", "A B", "k INT, v INT", observe="name")
