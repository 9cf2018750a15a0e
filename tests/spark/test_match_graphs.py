"""matches="graph" and expand: the same matches as matches="all", in every shape; limit and sample."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from tests.spark.frames import literal_frame
from tests.tables.event_cases import COLUMNS, ORDER, read_events

pytestmark = pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")

PATTERNS = {
    "loop": "SEQ(A a, B+ b[], C c)",
    "and": "AND(A a, B+ b[], C c)",
    "or": "OR(SEQ(A a, C c), SEQ(B+ b[], C d))",
    "negation": "SEQ(A a, ~D d, B+ b[], C c)",
    "negation by another event": "SEQ(A a, ~D d, B+ b[], C c) WHERE d.v > a.v",
    "window": "SEQ(A a, B+ b[], C c) WITHIN 6",
    "key": "SEQ(A a, B+ b[], C c) WHERE [sym]",
    "group": "SEQ(A a, SEQ(B b, C c){1,2})",
    "twice the same": "SEQ(A a, SEQ(B+ b[]){1,2}, C c)",
}
STREAM = "a1(1)X b1X d1(0)Y b2X a2(5)Y c1X b3Y d2(3)X b4X c2Y c3X"
LONG = "a1 " + " ".join(f"b{i}" for i in range(60)) + " c1"


def events(spark: SparkSession, text: str) -> DataFrame:
    types = {name: "bigint" if name in ("v", "w", "t", "i") else "string" for name in COLUMNS}
    return literal_frame(spark, COLUMNS, types, [[row[name] for name in COLUMNS] for row in read_events(text)])


def matched(frame: DataFrame, pattern: str, **arguments: Any) -> DataFrame:
    given = {"order_by": ORDER, "type_column": "type", "strategy": "skip_till_any_match", **arguments}
    return frame.match_pattern(pattern, **given)


@pytest.mark.parametrize("name", PATTERNS)
def test_graphs_hold_all_matches(spark: SparkSession, name: str) -> None:
    frame = events(spark, STREAM)
    wanted = matched(frame, PATTERNS[name])
    graphs = matched(frame, PATTERNS[name], matches="graph").persist()
    found = sparkcep.expand(graphs)
    assert found.schema.simpleString() == wanted.schema.simpleString()
    expected = wanted.collect()
    assert expected
    assert found.collect() == expected
    row = graphs.agg(F.sum("match_count"), F.count_distinct("match_end"), F.count("*")).first()
    assert row is not None
    assert row[0] == len(expected)
    assert row[1] == row[2], "one row per closing event"


def test_partitions_are_numbered_and_cut_one_by_one(spark: SparkSession) -> None:
    frame = events(spark, "a1X b1X b2X c1X a2Y b3Y c2Y c3Y a3X b4X c4X")
    wanted = matched(frame, PATTERNS["loop"], partition_by="sym")
    graphs = matched(frame, PATTERNS["loop"], partition_by="sym", matches="graph")
    assert sorted(sparkcep.expand(graphs).collect()) == sorted(wanted.collect())
    limited = matched(frame, PATTERNS["loop"], partition_by="sym", limit=2)
    assert sorted(sparkcep.expand(graphs, limit=2).collect()) == sorted(limited.collect())
    assert [row.match_number for row in sorted(limited.collect())] == [1, 2, 1, 2]


@pytest.mark.parametrize("arguments", [{"limit": 10}, {"sample": 10}])
def test_few_of_very_many_matches(spark: SparkSession, arguments: dict[str, Any]) -> None:
    """2^60 − 1 matches, none of them listed but those that are asked for."""
    frame = events(spark, LONG)
    begin = time.monotonic()
    graphs = matched(frame, PATTERNS["loop"], matches="graph").persist()
    row = graphs.first()
    assert row is not None
    assert row.match_count == 2**60 - 1
    edges = sum(len(node.preds) for node in row.graph.nodes)
    assert len(row.graph.nodes) <= 3 * 62
    assert edges <= 6 * 62
    found = sparkcep.expand(graphs, **arguments).collect()
    assert [row.match_number for row in found] == list(range(1, 11))
    assert len({tuple(event.name for event in row.b) for row in found}) == 10
    assert found == matched(frame, PATTERNS["loop"], **arguments).collect()
    if "limit" in arguments:
        assert [[event.name for event in row.b] for row in found] == [[f"b{i}"] for i in range(10)]
    assert time.monotonic() - begin < 120


def test_a_sample_is_of_all_matches_and_follows_its_seed(spark: SparkSession) -> None:
    frame = events(spark, STREAM)
    pattern = PATTERNS["loop"]
    whole = {str(row[1:]) for row in matched(frame, pattern).collect()}
    drawn = matched(frame, pattern, sample=4).collect()
    assert len(drawn) == 4
    assert {str(row[1:]) for row in drawn} <= whole
    assert drawn == matched(frame, pattern, sample=4).collect()
    others = [matched(frame, pattern, sample=4, options=sparkcep.Options(seed=seed)).collect() for seed in range(1, 4)]
    assert any(other != drawn for other in others)
    graphs = matched(frame, pattern, matches="graph").persist()
    assert sparkcep.expand(graphs, sample=4).collect() == drawn
    assert {str(row[1:]) for row in sparkcep.expand(graphs, sample=0.5, seed=3).collect()} <= whole
    assert len(matched(frame, pattern, sample=1000).collect()) == len(whole)


@pytest.mark.parametrize("pattern", ["SEQ(A a, ~D d WITHIN 3)", "SEQ(A a, B b, ~D d) WITHIN 3 EVENTS"])
def test_a_sample_of_matches_that_a_window_decides(spark: SparkSession, pattern: str) -> None:
    frame = events(spark, "a1 b1 a2 b2 a3 b3 b4 b5 a4 b6 b7 b8")
    whole = {str(row[1:]) for row in matched(frame, pattern).collect()}
    drawn = matched(frame, pattern, sample=2).collect()
    assert [row.match_number for row in drawn] == [1, 2]
    assert {str(row[1:]) for row in drawn} <= whole


def test_graphs_survive_filters_and_files(spark: SparkSession, tmp_path: Path) -> None:
    frame = events(spark, STREAM)
    graphs = matched(frame, PATTERNS["loop"], matches="graph")
    graphs.write.parquet(str(tmp_path / "graphs"))
    again = spark.read.parquet(str(tmp_path / "graphs")).where("match_count > 1")
    few = matched(frame, PATTERNS["loop"]).groupBy("match_end").count().where("count > 1").agg(F.sum("count")).first()
    assert few is not None
    assert sparkcep.expand(again).count() == few[0]


TYPED = {
    "days": "make_dt_interval(v)",
    "nested": "array(named_struct('a.b', v, 'm', map('k', v)))",
    "long_decimal": "CAST(v AS decimal(30, 3))",
    "ts": "timestamp'2026-01-01' + make_dt_interval(i)",
}


@pytest.mark.parametrize("order", ["ts", "ts - interval 1 day DESC"])
def test_events_of_all_types_come_back(spark: SparkSession, order: str) -> None:
    frame = events(spark, "a1(1) b1(2) c1(3)").select("*", *(F.expr(e).alias(n) for n, e in TYPED.items()))
    pattern = PATTERNS["loop"] if order == "ts" else "SEQ(C c, B+ b[], A a)"
    wanted = matched(frame, pattern, order_by=order)
    found = sparkcep.expand(matched(frame, pattern, order_by=order, matches="graph"))
    assert found.schema.simpleString() == wanted.schema.simpleString()
    assert found.collect() == wanted.collect()
    assert found.count() == 1


@pytest.mark.parametrize("matches", ["all", "graph"])
def test_intervals_come_back(spark: SparkSession, matches: str) -> None:
    """Python has no such values: they travel as texts and numbers."""
    intervals = {"months": "make_ym_interval(v, 1)", "calendar": "make_interval(0, 1, 0, v)"}
    frame = events(spark, "a1(1) b1(2) c1(3)").select("*", *(F.expr(e).alias(n) for n, e in intervals.items()))
    found = matched(frame, PATTERNS["loop"], matches=matches)
    found = found if matches == "all" else sparkcep.expand(found)
    assert [found.schema["a"].dataType[name].dataType.simpleString() for name in intervals] == [
        "interval year to month",
        "interval",
    ]
    shown = [F.col(f"a.{name}").cast("string") for name in intervals]
    shown += [F.col("b")[0][name].cast("string") for name in intervals]
    assert [tuple(row) for row in found.select(*shown).collect()] == [
        ("INTERVAL '1-1' YEAR TO MONTH", "1 months 1 days", "INTERVAL '2-1' YEAR TO MONTH", "1 months 2 days")
    ]


def test_a_graph_may_hold_identical_events(spark: SparkSession) -> None:
    frame = events(spark, "a1 b1 c1").select(*(name for name in COLUMNS if name != "i"))
    frame = frame.union(frame.where("name = 'b1'"))
    graphs = matched(frame, PATTERNS["loop"], order_by="t", matches="graph")
    assert sparkcep.expand(graphs).count() == 3


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "limit": ({"matches": "graph", "limit": 3}, "CONTRADICTION", "limit"),
    "sample of some": ({"matches": "one_per_start", "sample": 3}, "CONTRADICTION", "one_per_start"),
    "sample and limit": ({"limit": 3, "sample": 3}, "CONTRADICTION", "limit=3"),
    "no share": ({"sample": 1.0}, "WRONG_ARGUMENT", "between 0.0 and 1.0"),
    "no number": ({"sample": 0}, "WRONG_ARGUMENT", "from 1 on"),
    "true": ({"sample": True}, "WRONG_ARGUMENT", "True"),
    "measures": ({"matches": "graph", "measures": {"x": "a.v"}}, "CONTRADICTION", "whole events"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_graphs_and_samples_refuse(spark: SparkSession, name: str) -> None:
    arguments, code, words = WRONG[name]
    with pytest.raises(sparkcep.SparkcepError) as raised:
        matched(events(spark, "a1"), PATTERNS["loop"], **arguments)
    assert raised.value.code == code
    assert words in str(raised.value)


def test_a_graph_cannot_hold_absence_at_the_end(spark: SparkSession) -> None:
    with pytest.raises(sparkcep.BindingError, match="decided later"):
        matched(events(spark, "a1"), "SEQ(A a, ~B b WITHIN 5)", matches="graph")


def test_expand_tells_what_it_takes(spark: SparkSession) -> None:
    graphs = matched(events(spark, "a1 b1 c1"), PATTERNS["loop"], matches="graph")
    for frame in (spark.range(1), graphs.withColumn("graph", F.expr("named_struct('x', 1)")), graphs.drop("match_end")):
        with pytest.raises(sparkcep.BindingError, match="matches='graph'"):
            sparkcep.expand(frame)
    with pytest.raises(sparkcep.SparkcepError, match="sample draws from all"):
        sparkcep.expand(graphs, limit=1, sample=1)
