"""What one writes in plain Spark for three fixed steps: the next two rows beside each row."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812


def strict_funnel(rows: DataFrame) -> DataFrame:
    """Return a view, a cart, a buy, each right behind the other: the numbers of first and last row."""
    next_rows = Window.partitionBy("key").orderBy("ts")
    beside = rows.select(
        "kind",
        F.col("i").alias("first_i"),
        F.lead("kind", 1).over(next_rows).alias("second"),
        F.lead("kind", 2).over(next_rows).alias("third"),
        F.lead("i", 2).over(next_rows).alias("last_i"),
    )
    return beside.where("kind = 'view' AND second = 'cart' AND third = 'buy'").select("first_i", "last_i")
