"""timeouts=True: partial matches whose window closed, beside the matches."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from tests.spark.test_match_graphs import events, matched

pytestmark = pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
NEXT = "skip_till_next_match"


def late(frame: DataFrame, pattern: str, **arguments: Any) -> DataFrame:
    return matched(frame, pattern, **{"strategy": NEXT, "timeouts": True, **arguments})


def test_status_stands_behind_what_is_returned(spark: SparkSession) -> None:
    frame = events(spark, "a1(1)@0 b1(2)@3 a2(5)@20")
    found = late(frame, "SEQ(A a, B b) WITHIN 10 RETURN a.v AS first, b.v AS second")
    assert found.columns == ["first", "second", "match_status", "waiting_for", "deadline"]
    assert sorted(map(tuple, found.collect())) == [(1, 2, "match", None, None), (5, None, "timeout", "b", 30)]
    whole = late(frame, "SEQ(A a, B b) WITHIN 10")
    assert whole.columns == [
        "match_number", "match_start", "match_end", "match_time", "a", "b", "match_status", "waiting_for", "deadline",
    ]  # fmt: skip
    rows = {row.match_status: row for row in whole.collect()}
    assert (rows["match"].match_number, rows["match"].match_time) == (1, 3)
    assert (rows["timeout"].match_number, rows["timeout"].match_time, rows["timeout"].b) == (None, 30, None)


def test_windows_of_events_close_with_their_last_event(spark: SparkSession) -> None:
    frame = events(spark, "a1@10 c1@11 c2@12 c3@13 a2@14 c4@15")
    found = late(frame, "SEQ(A a, B b) WITHIN 3 EVENTS").select("a.name", "waiting_for", "deadline")
    assert sorted(map(tuple, found.collect())) == [("a1", "b", 12), ("a2", "b", None)]


def test_partial_matches_of_partitions_and_keys(spark: SparkSession) -> None:
    frame = events(spark, "a1X@0 a2Y@1 b1Y@2 a3X@9")
    for arguments, where in (({"partition_by": "sym"}, ""), ({}, "WHERE [sym]"), ({}, "WHERE a.sym = b.sym")):
        found = late(frame, f"SEQ(A a, B b) {where} WITHIN 5", **arguments).select("a.name", "match_status", "deadline")
        assert sorted(map(tuple, found.collect())) == [
            ("a1", "timeout", 5), ("a2", "match", None), ("a3", "timeout", 14),
        ]  # fmt: skip


def test_a_run_that_an_event_ended_does_not_time_out(spark: SparkSession) -> None:
    frame = events(spark, "a1@0 c1@1 b1@2 a2@20 b2@21")
    found = late(frame, "SEQ(A a, B b) WITHIN 5", strategy="strict").select("a.name", "match_status")
    assert [tuple(row) for row in found.collect()] == [("a2", "match")]


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no window": ("SEQ(A a, B b)", {}, "MISSING_WITHIN"),
    "count": ("SEQ(A a, B b) WITHIN 5", {"matches": "count"}, "CONTRADICTION"),
    "graph": ("SEQ(A a, B b) WITHIN 5", {"matches": "graph"}, "CONTRADICTION"),
    "sample": ("SEQ(A a, B b) WITHIN 5", {"sample": 3}, "CONTRADICTION"),
    "interleaved": ("AND(A a, B b) WITHIN 5", {"strategy": "skip_till_any_match"}, "UNSUPPORTED_TIMEOUTS"),
    "a name that is taken": ("SEQ(A a, B deadline) WITHIN 5", {}, "DUPLICATE_COLUMN"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_time_outs_refuse(spark: SparkSession, name: str) -> None:
    pattern, arguments, code = WRONG[name]
    with pytest.raises(sparkcep.SparkcepError) as raised:
        late(events(spark, "a1"), pattern, **arguments)
    assert raised.value.code == code
