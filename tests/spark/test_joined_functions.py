"""Conditions that call functions over several events: by joins, against the joins one would write by hand."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep
from sparkcep.errors import BindingError, PlanError

NAMES = """
    SELECT id AS t, element_at(array('A', 'B', 'C'), CAST(pmod(hash(id), 3) AS int) + 1) AS type,
        element_at(array('kitten', 'sitting', 'mitten', 'kit'), CAST(pmod(hash(id, 1), 4) AS int) + 1) AS name,
        array(id % 3, id % 5) AS tags
    FROM range(60)
"""
ANY = "skip_till_any_match"


@pytest.fixture(scope="module")
def names(spark: SparkSession) -> DataFrame:
    return spark.sql(NAMES).cache()


def found(names: DataFrame, pattern: str, **more: object) -> DataFrame:
    return names.match_pattern(pattern, order_by="t", type_column="type", strategy=ANY, **more)


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
def test_functions_and_types_that_kernels_do_not_know(names: DataFrame) -> None:
    sequence = """SEQ(A a, B b, C c) WHERE levenshtein(a.name, b.name) < 3 AND arrays_overlap(b.tags, c.tags)
        WITHIN 10 RETURN a.t AS a, b.t AS b, c.t AS c"""
    negated = """SEQ(A a, ~(C x), B b) WHERE levenshtein(a.name, b.name) < 3 AND size(array_except(x.tags, a.tags)) = 0
        WITHIN 10 RETURN a.t AS a, b.t AS b, 0 AS c"""
    ways = found(names, sequence).withColumn("way", F.lit(1)).union(found(names, negated).withColumn("way", F.lit(2)))
    kinds = {kind: names.where(f"type = '{kind.upper()}'").alias(kind) for kind in "abc"}
    near = (F.levenshtein("a.name", "b.name") < 3) & F.expr("a.t < b.t AND b.t - a.t <= 10")
    pairs = kinds["a"].join(kinds["b"], near)
    triples = pairs.join(kinds["c"], F.expr("arrays_overlap(b.tags, c.tags) AND b.t < c.t AND c.t - a.t <= 10"))
    between = F.expr("size(array_except(c.tags, a.tags)) = 0 AND a.t < c.t AND c.t < b.t")
    by_hand = triples.selectExpr("a.t", "b.t", "c.t", "1").union(
        pairs.join(kinds["c"], between, "left_anti").selectExpr("a.t", "b.t", "0", "2")
    )
    expected = sorted(map(tuple, by_hand.collect()))
    assert {way for *_, way in expected} == {1, 2}
    assert sorted(map(tuple, ways.collect())) == expected


def test_no_other_plan_may_test_them(names: DataFrame) -> None:
    pattern = "SEQ(A a, B b) WHERE levenshtein(a.name, b.name) < 3"
    decision = sparkcep.plan(names, pattern, order_by="t", type_column="type", strategy=ANY).compiled.decision
    assert [candidate.name for candidate in decision.candidates if candidate.legal] == ["join"]
    with pytest.raises(PlanError, match="calls what only Spark computes"):
        found(names, pattern, options=sparkcep.Options(plan="ordered"))
    with pytest.raises(PlanError, match="calls what only Spark computes"):
        sparkcep.analyze(names, pattern, order_by="t", type_column="type", strategy=ANY)


@pytest.mark.parametrize(
    ("pattern", "arguments", "code", "told"),
    [
        ("SEQ(A a, B+ b[]) WHERE levenshtein(a.name, b[i].name) < 3", {}, "UNSUPPORTED_CONDITION",
         "joins could compute it, but b takes several events"),
        ("SEQ(A a, B b) WHERE levenshtein(a.name, b.name) < 3", {"matches": "graph"}, "UNSUPPORTED_CONDITION",
         "joins could compute it, but matches='graph' puts out"),
        ("SEQ(A a, B b) WHERE levenshtein(a.name, b.name)", {}, "NOT_A_CONDITION", "is int, not boolean"),
        ("SEQ(A a, B b) WHERE levenstein(a.name, b.name) < 3", {}, "UNRESOLVED_ROUTINE", "did you mean 'levenshtein'"),
    ],
)  # fmt: skip
def test_refused_with_the_reason(
    names: DataFrame, pattern: str, arguments: dict[str, object], code: str, told: str
) -> None:
    with pytest.raises(BindingError, match=told) as caught:
        found(names, pattern, **arguments)
    assert caught.value.code == code
