"""Figures of Agrawal et al. 2008 on rebuilt data: matches and sums of their lengths, through Spark.

The data are those of the paper's generator with unit steps modulo 1000; golden figures are of seed 7,
200,000 events, p = 0.7, and windows of 500 events per symbol.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkcep

EVENTS = 200_000
RISING = {
    "p1": "",
    "p2": "AND a[i].price > a[i-1].price",
    "p3min": "AND a[i].price > MIN(a[..i-1].price)",
    "p3avg": "AND a[i].price > AVG(a[..i-1].price)",
}
NEXT, PARTITION = "skip_till_next_match", "partition_contiguity"


@pytest.fixture(scope="module")
def stock(spark: SparkSession) -> DataFrame:
    random = np.random.default_rng(7)
    symbol, volume = random.integers(1, 3, EVENTS), random.integers(1, 1001, EVENTS)
    chance, start = random.random(EVENTS), random.integers(0, 1000, 2)
    step = np.where(chance < 0.7, 1, np.where(chance < 0.85, -1, 0))
    price = np.empty(EVENTS, np.int64)
    for one in (1, 2):
        own = symbol == one
        price[own] = (start[one - 1] + np.cumsum(step[own])) % 1000
    rows = {"i": np.arange(EVENTS), "symbol": symbol, "price": price, "volume": volume}
    frame = spark.createDataFrame(pa.table(rows)).persist()
    assert frame.count() == EVENTS
    return frame


def matched(
    stock: DataFrame, rising: str, strategy: str, *, third: bool = False, matches: str = "all"
) -> tuple[int, int]:
    """Return how many matches there are, and the sum of their lengths."""
    last = ", _ c" if third else ""
    more = "AND c.price > a[1].price AND c.price < a[a.LEN].price" if third else ""
    found = stock.match_pattern(
        f"""PATTERN SEQ(_+ a[], _ b{last})
            WHERE {strategy} {{ [symbol] AND a[1].price % 500 = 0 {RISING[rising]} AND b.volume < 150 {more} }}
            WITHIN 500 EVENTS
            RETURN COUNT(a) AS n""",
        order_by="i",
        matches=matches,
    )
    row = found.agg(F.count("*"), F.sum(F.col("n") + (2 if third else 1))).first()
    assert row is not None
    return int(row[0]), int(row[1])


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize(
    ("rising", "strategy", "matches", "length"),
    [
        ("p1", PARTITION, 32_967, 8_314_267),
        ("p1", NEXT, 32_967, 8_314_267),
        ("p2", PARTITION, 221, 925),
        ("p2", NEXT, 32_967, 3_997_611),
        ("p3min", NEXT, 32_967, 8_272_624),
        ("p3avg", PARTITION, 12_380, 3_102_273),
    ],
)
def test_figures(stock: DataFrame, rising: str, strategy: str, matches: int, length: int) -> None:
    assert matched(stock, rising, strategy) == (matches, length)


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
def test_non_overlapping_figures(stock: DataFrame) -> None:
    assert matched(stock, "p3min", NEXT, matches="non_overlapping") == (260, 1_858)


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize(
    ("strategy", "everything", "apart"), [(PARTITION, 1_122, (221, 20_631)), (NEXT, 4_368, (223, 13_768))]
)
def test_figures_of_the_second_family(stock: DataFrame, strategy: str, everything: int, apart: tuple[int, int]) -> None:
    assert matched(stock, "p3min", strategy, third=True)[0] == everything
    assert matched(stock, "p3min", strategy, third=True, matches="non_overlapping") == apart


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
def test_counts_beyond_any_list(spark: SparkSession) -> None:
    rows = [("A", 0), *(("B", i) for i in range(1, 61)), ("C", 61)]
    frame = spark.createDataFrame(rows, "type string, i int")
    found = frame.match_pattern(
        "SEQ(A a, B+ b[], C c)", order_by="i", type_column="type", strategy="skip_till_any_match", matches="count"
    )
    assert [int(row.match_count) for row in found.collect()] == [2**60 - 1]


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
def test_a_match_of_a_hundred_thousand_events(spark: SparkSession) -> None:
    events = spark.range(100_001).select("id", F.when(F.col("id") < 100_000, "A").otherwise("B").alias("type"))
    found = events.match_pattern(
        "SEQ(A+ a[], B b) RETURN COUNT(a) + 1 AS n", order_by="id", type_column="type", matches="non_overlapping"
    )
    assert [row.n for row in found.collect()] == [100_001]


# The worked example of Yi et al. 2016 (their figure 2): letter, number, attributes.
APAM = "a1(2) c2(3,1) b3(1) c4(2,5) a5(7) a6(1) b7(9) c8(6,6) a9(9) b10(3) b11(4) c12(3,7) a13(3) c14(3,6) d15(5,7)"


@pytest.mark.filterwarnings("ignore:no partition_by:sparkcep.errors.SparkcepWarning")
@pytest.mark.parametrize(
    ("inclusive", "found"), [(False, [(6, 10, 12, 15)]), (True, [(5, 10, 12, 15), (6, 10, 12, 15)])]
)
@pytest.mark.parametrize("plan", ["runs", "ordered"])
def test_apam_example(spark: SparkSession, inclusive: bool, found: list[tuple[int, ...]], plan: str) -> None:
    rows = []
    for word in APAM.replace("a5(7)", "a5(2)").split():
        name, _, values = word.partition("(")
        first, _, second = values.rstrip(")").partition(",")
        rows.append((name[0].upper(), int(name[1:]), int(first), int(second) if second else None))
    frame = spark.createDataFrame(rows, "type string, i int, v int, w int")
    matches = frame.match_pattern(
        """SEQ(A a, B b, C c, D d) WHERE a.v < d.v AND b.v = c.v AND c.w = d.w
           RETURN a.i AS a, b.i AS b, c.i AS c, d.i AS d""",
        order_by="i",
        type_column="type",
        strategy="skip_till_any_match",
        within=10,
        inclusive=inclusive,
        options=sparkcep.Options(plan=plan),
    )
    assert sorted(tuple(row) for row in matches.collect()) == found
