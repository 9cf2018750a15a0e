"""The queries that are measured, each with its floor: the least Spark must do for it, by hand.

The floor numbers the rows in a window and counts them in ``mapInArrow``. It reads the same
rows and sends exactly the columns the matcher is sent: the byte of condition bits with the
partition start in it, the key if there is one, and what the measures read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

ALWAYS, NEVER = "amount >= 0", "amount < 0"


@dataclass(frozen=True)
class Workload:
    """A pattern query over the events.

    Attributes
    ----------
    bits
        Conditions over one row, that the floor also computes and sends, by bit.
    columns
        Further columns the measures or conditions read.
    """

    name: str
    pattern: str
    define: dict[str, str]
    measures: dict[str, str]
    bits: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)

    def matched(self, events: DataFrame, key: str | None, **arguments: Any) -> DataFrame:
        """Return the matches; `arguments` are further ones of the call."""
        import sparkcep  # here, so that a process that runs a floor alone does without

        return sparkcep.match_pattern(
            events,
            self.pattern,
            partition_by=key,
            order_by="ts",
            define=self.define,
            measures=self.measures,
            **self.arguments,
            **arguments,
        )

    def floor(self, events: DataFrame, key: str | None) -> DataFrame:
        """Return the number of rows, counted behind window and Arrow."""
        names = [name for name in (key, *self.columns) if name is not None]
        mask = F.lit(0)
        for position, text in enumerate(self.bits):
            mask = mask.bitwiseOR(F.when(F.expr(text), F.lit(2 << position)).otherwise(F.lit(0)))
        narrow = events.select("ts", mask.cast("tinyint").alias("mask"), *(name for name in names if name != "ts"))
        window = Window.partitionBy(*([key] if key else [])).orderBy("ts")
        numbered = narrow.withColumn("number", F.row_number().over(window))
        start = F.when(F.col("number") == 1, F.lit(1)).otherwise(F.lit(0))
        sent = numbered.select(F.col("mask").bitwiseOR(start).cast("tinyint").alias("mask"), *names)
        return sent.mapInArrow(count_rows, "n bigint")


def count_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the rows of a Spark partition."""
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"n": pa.array([rows], pa.int64())})


V_SHAPE = Workload(
    "V-shape",
    "STRT DOWN+ UP+",
    {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"},
    {"bottom": "LAST(DOWN.price)", "days": "COUNT(*)"},
    columns=("price",),
)
FUNNEL = Workload(
    "funnel A B+ C",
    "A B+ C",
    {"A": "kind = 'view'", "B": "kind = 'cart'", "C": "kind = 'buy'"},
    {"began": "A.ts", "carts": "COUNT(B.*)"},
    bits=("kind = 'view'", "kind = 'cart'", "kind = 'buy'"),
    columns=("ts",),
)
STRICT = Workload(
    "funnel A B C",
    "A B C",
    {"A": "kind = 'view'", "B": "kind = 'cart'", "C": "kind = 'buy'"},
    {"began": "A.ts", "ended": "C.ts"},
    bits=("kind = 'view'", "kind = 'cart'", "kind = 'buy'"),
    columns=("ts",),
)
FAILING = Workload(
    "failing A+ B",
    "A+ B",
    {"A": ALWAYS, "B": NEVER},
    {"began": "FIRST(A.ts)"},
    bits=(ALWAYS, NEVER),
    columns=("ts",),
)
DEPENDENT_V_SHAPE = Workload(
    "V-shape, match-dependent",
    "STRT DOWN+ UP+",
    {"DOWN": "price < LAST(price, 1)", "UP": "price > LAST(price, 1) AND price < FIRST(STRT.price) + 3"},
    {"bottom": "LAST(DOWN.price)", "days": "COUNT(*)"},
    columns=("price",),
)

SHAPES = (V_SHAPE, FUNNEL, FAILING, DEPENDENT_V_SHAPE)


def _pathological(name: str, pattern: str, define: dict[str, str], **arguments: Any) -> Workload:
    return Workload(
        name, pattern, define, {"n": "COUNT(*)"}, bits=tuple(define.values()), columns=(), arguments=arguments
    )


PATHOLOGICAL = (
    _pathological("A+ B failing", "A+ B", {"A": ALWAYS, "B": NEVER}),
    _pathological("(A+)+ B failing", "(A+)+ B", {"A": ALWAYS, "B": NEVER}),
    _pathological("A* A* A* A* B failing", "A* A* A* A* B", {"A": ALWAYS, "B": NEVER}),
    _pathological("(A?){50} A{50}", "(A?){50} A{50}", {"A": ALWAYS}),
    _pathological("A+, to next row", "A+", {"A": ALWAYS}, after_match="to next row"),
    _pathological("A+, one match", "A+", {"A": ALWAYS}),
    Workload(
        "A+ B failing, match-dependent",
        "A+ B",
        {"A": ALWAYS, "B": "price > LAST(A.price) + 1e9"},
        {"n": "COUNT(*)"},
        bits=(ALWAYS,),
        columns=("price",),
    ),
)
