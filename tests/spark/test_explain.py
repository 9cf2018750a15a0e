"""Explanations in all formats: every candidate with its outcome, settings, and nothing of the user's text unescaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.errors import PlanError
from sparkcep.spark.event_plan import EventPlan
from sparkcep.spark.plan import MatchPlan

HOSTILE = "'</pre><script>\"#'"
TAGS = "html head meta title style body h1 h2 ul ol li b br table tr th td pre"


class Tags(HTMLParser):
    """Collects tags and text; complains when tags do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.told = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert all(name in ("class", "lang", "charset") for name, _ in attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.told += data


@pytest.fixture(scope="module")
def plans(spark: SparkSession) -> list[MatchPlan | EventPlan]:
    events = spark.sql("SELECT 1 AS k, 2 AS t, 3 AS v, 'x' AS kind")
    return [_rows(events, "A B C"), _rows(events, "A B+ C"), _events(events)]


def _rows(events: DataFrame, pattern: str) -> MatchPlan:
    define = {"A": f"kind <> {HOSTILE}", "B": "v < LAST(A.v) AND kind > '<b>'", "C": "v > 3"}
    found = sparkcep.plan(
        events, pattern, partition_by="k", order_by="t", define=define, measures={"n": "C.v"}, after_match="to next row"
    )
    assert isinstance(found, MatchPlan)
    return found


def _events(events: DataFrame) -> EventPlan:
    types = {"A": f"kind <> {HOSTILE}", "B": "kind = '<b>'"}
    found = sparkcep.plan(events, "SEQ(A a, B b) WHERE a.v < b.v", types=types, partition_by="k", order_by="t")
    assert isinstance(found, EventPlan)
    return found


def test_all_candidates_are_told_in_all_formats(plans: list[MatchPlan | EventPlan]) -> None:
    for plan in plans:
        decision = plan.compiled.decision
        for form in ("text", "mermaid", "html"):
            told = plan.explain(form)
            for candidate in decision.candidates:
                assert candidate.name in told
            assert f"chosen, cost {decision.chosen.cost:,.1f}" in told
        assert "spark.sql.shuffle.partitions = " in plan.explain()


def test_a_page_stands_alone_and_holds_the_text_of_the_user_escaped(plans: list[MatchPlan | EventPlan]) -> None:
    for plan in plans:
        told = plan.explain("html")
        tags = Tags()
        tags.feed(told)
        tags.close()
        assert tags.open == []
        assert tags.seen <= set(TAGS.split())
        assert HOSTILE in tags.told
        assert "http" not in told
        assert told.count('<tr class="chosen">') == told.count('<li class="chosen">') == 1
        for line in plan.explain().splitlines():
            if not line.startswith((" * ", "Engines:")) and ": not legal" not in line and ": cost " not in line:
                assert line.strip().rstrip(":") in tags.told


def test_a_flow_chart_holds_the_text_of_the_user_escaped(plans: list[MatchPlan | EventPlan]) -> None:
    for plan in plans:
        lines = plan.explain("mermaid").splitlines()
        assert lines[0] == "flowchart LR"
        for line in lines[1:]:
            node = re.fullmatch(r'  (step\d+|plans)\["(.*)"\]', line)
            assert node or re.fullmatch(r"  (step\d+ --> )+step\d+|  plans -\.- step2", line)
            assert node is None or not re.search(r'["`]|<(?!br/>)', node[2])


def test_rows_of_a_fixed_pattern_are_told(plans: list[MatchPlan | EventPlan]) -> None:
    told = plans[0].explain()
    assert "row 1: B: its bit AND row 1.v < row 0.v" in told
    assert "the next match starts 1 row(s) on or later: every start counts" in told
    assert "SPLIT" in plans[1].explain().upper()


def test_a_forced_plan_may_be_dearer(spark: SparkSession) -> None:
    options = sparkcep.Options(plan="sweep")
    events = spark.sql("SELECT 1 AS k, 2 AS t")
    told = sparkcep.plan(events, "A", partition_by="k", order_by="t", options=options).explain()
    assert re.search(r"window: cost [\d.]+, less than that of the plan that was forced", told)
    assert re.search(r"backtrack: cost [\d,.]+: over 1,000 times that of the chosen plan", told)


def test_an_unknown_format_is_refused(plans: list[MatchPlan | EventPlan]) -> None:
    for plan in plans:
        with pytest.raises(PlanError, match="text, mermaid, html") as caught:
            plan.explain("pdf")
        assert caught.value.code == "UNKNOWN_FORMAT"
