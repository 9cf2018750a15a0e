"""Rules for types where no Spark is at hand, against Spark."""

from __future__ import annotations

import itertools
from contextlib import suppress

from pyspark.sql import SparkSession

from sparkcep.logical.type_rules import aggregate_type, arithmetic_type, united_type

TYPES_OF_VALUES = (
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(18,0)", "decimal(38,10)",
    "decimal(38,38)", "date", "timestamp_ntz",
)  # fmt: skip


def test_types_by_rules_are_those_of_spark(spark: SparkSession) -> None:
    told: dict[str, str] = {}
    for left, right in itertools.product(TYPES_OF_VALUES, repeat=2):
        pair = f"CAST(NULL AS {left})", f"CAST(NULL AS {right})"
        for operator in ("+", "-", "*", "/", "div", "%"):
            with suppress(ValueError):
                told[f"{pair[0]} {operator} {pair[1]}"] = arithmetic_type(operator, left, right)
        with suppress(ValueError):
            told[f"coalesce({', '.join(pair)})"] = united_type([left, right])
    for function, kind in itertools.product(("sum", "avg", "max"), TYPES_OF_VALUES):
        with suppress(ValueError):
            told[f"{function}(CAST(NULL AS {kind}))"] = aggregate_type(function, kind)
    assert len(told) > 400
    schema = spark.range(1).selectExpr(*(f"{text} AS c{place}" for place, text in enumerate(told))).schema
    assert dict(zip(told, (field.dataType.simpleString() for field in schema), strict=True)) == told
