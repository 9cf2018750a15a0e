"""Match-dependent conditions as columns of Spark, against their definition; operands as they are encoded."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from itertools import cycle, islice
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from sparkcep.logical.slots import (
    BIGINT,
    BOOLEAN,
    CURRENT_ROW,
    DOUBLE,
    STRING,
    Arithmetic,
    ClassifierOf,
    ConstantValue,
    MatchNumber,
    Operand,
    Read,
    SlotExpression,
    SlotType,
    Unary,
    nodes,
)
from sparkcep.planning.windows import FixedRows, at_known_rows
from sparkcep.spark.slot_columns import encoded, slot_column
from tests.engine.condition_strategies import booleans, floats, ints, strings
from tests.engine.conditions import Match

NAMES = ("A", "B", "b")
ROWS = FixedRows((0, 1, 2, 0, 1), (None,) * 5, 1, "allowed")
VALUES: tuple[tuple[str, list[Any]], ...] = (
    ("bigint", [1, None, 3, -2, 2**63 - 1, -(2**63), 7, 0]),
    ("double", [1.5, math.nan, None, -0.0, math.inf, 2.5, 0.0]),
    ("string", ["A", None, "", "b", "B"]),
)
# The operands of several matches, each with its own share of the values.
MATCHES = [[list(islice(cycle(values), start, start + len(ROWS))) for _, values in VALUES] for start in (0, 1, 2, 3, 5)]
TREES = st.one_of(booleans(2), ints(2), floats(2), strings).filter(
    lambda tree: not any(isinstance(node, MatchNumber) for node in nodes(tree))
)


def read(wanted: Read) -> Column:
    return F.col("rows")[wanted.at.offset][f"f{wanted.operand}"]


def same(one: Any, other: Any) -> bool:
    return one == other or (
        isinstance(one, float) and isinstance(other, float) and math.isnan(one) == math.isnan(other)
    )


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
def test_columns_mean_what_conditions_mean(spark: SparkSession) -> None:
    fields = ", ".join(f"f{i}: {kind}" for i, (kind, _) in enumerate(VALUES))
    data = [(number, [tuple(row) for row in zip(*match, strict=True)]) for number, match in enumerate(MATCHES)]
    frame = spark.createDataFrame(data, f"number int, rows array<struct<{fields}>>").sort("number")

    differences: list[str] = []

    # A job of Spark per try: what differs is told as it is.
    @settings(
        max_examples=2,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(st.tuples(TREES, st.integers(0, len(ROWS) - 1)), min_size=20, max_size=25))
    def run(drawn: list[tuple[SlotExpression, int]]) -> None:
        columns = [slot_column(at_known_rows(tree, ROWS, row, NAMES), read) for tree, row in drawn]
        for match, found in zip(MATCHES, frame.select(*columns).collect(), strict=True):
            for (tree, row), value in zip(drawn, found, strict=True):
                expected = Match(match, NAMES, 0, ROWS.variables[: row + 1], 1).value(tree)
                if not same(value, expected):
                    differences.append(f"{value} instead of {expected}: {tree} at {row} of {match}")

    run()
    assert not differences, min(differences, key=len)


@pytest.mark.parametrize("node", [MatchNumber(), ClassifierOf(CURRENT_ROW)])
def test_what_only_a_matcher_knows_is_no_column(spark: SparkSession, node: SlotExpression) -> None:
    with pytest.raises(TypeError, match="only a matcher knows"):
        slot_column(node, read)


def test_numbers_of_other_types(spark: SparkSession) -> None:
    small, cents = SlotType("int", -128, 127), SlotType("int", -999, 999, 2)
    wide, odd = SlotType("int", 1 - 10**18, 10**18 - 1, 18), SlotType("int", -5, 9)

    def whole(value: int, kind: SlotType = BIGINT) -> ConstantValue:
        return ConstantValue(value, kind)

    cases: list[tuple[SlotExpression, Any]] = [
        (Arithmetic("+", whole(100), whole(27), small), 127),
        (Arithmetic("+", whole(100), whole(28), small), None),
        (Arithmetic("-", whole(-999), whole(1), cents), None),
        (Arithmetic("*", whole(-5), whole(1), odd), -5),
        (Arithmetic("*", whole(5), whole(2), odd), None),
        (Arithmetic("div", whole(-(2**63)), whole(-1), BIGINT), None),
        (Arithmetic("%", whole(-(2**63)), whole(-1), BIGINT), 0),
        (Unary("abs", whole(-(2**63)), BIGINT), None),
        (Unary("rescale", whole(3, SlotType("int", scale=1)), cents), 30),
        (Unary("rescale", whole(300, SlotType("int", scale=1)), cents), None),
        (Unary("to float", whole(123456789012345678, wide), DOUBLE), 0.12345678901234568),
        (Unary("to float", whole(9007199254740993, SlotType("int", scale=1)), DOUBLE), 900719925474099.3),
    ]
    (found,) = spark.range(1).select(*(slot_column(tree, read) for tree, _ in cases)).collect()
    assert list(found) == [expected for _, expected in cases]


def test_operands_are_the_numbers_of_the_kernels(spark: SparkSession) -> None:
    whole = BIGINT
    cases = {
        "TIMESTAMP'1969-12-31 23:59:59.999999'": (whole, -1),
        "TIMESTAMP_NTZ'2020-10-25 02:30:00.000001'": (whole, 1_603_593_000_000_001),
        "DATE'1969-12-30'": (whole, -2),
        "INTERVAL '3 04:05:06.789' DAY TO SECOND": (whole, 273_906_789_000),
        "INTERVAL '-7' HOUR": (whole, -25_200_000_000),
        "CAST(-12.34 AS decimal(18,2))": (whole, -1234),
        "CAST(1e-18 AS decimal(18,18))": (whole, 1),
        "CAST(7 AS tinyint)": (whole, 7),
        "CAST(1.5 AS float)": (DOUBLE, 1.5),
        "true": (BOOLEAN, True),
        "'x'": (STRING, "x"),
        "CAST(5 AS decimal(38,2))": (SlotType("code", domain="decimal"), Decimal("5.00")),
    }  # fmt: skip
    frame = spark.range(1).select(*(F.expr(text).alias(f"c{i}") for i, text in enumerate(cases)))
    columns = [
        encoded(F.col(field.name), Operand(field.name, kind), field.dataType)
        for field, (kind, _) in zip(frame.schema.fields, cases.values(), strict=True)
    ]
    (found,) = frame.select(*columns).collect()
    assert list(found) == [expected for _, expected in cases.values()]
    assert dt.timedelta(microseconds=found[3]) == dt.timedelta(days=3, hours=4, minutes=5, seconds=6.789)
