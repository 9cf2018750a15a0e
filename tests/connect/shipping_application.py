"""An application on a cluster whose executors lack sparkcep: what is told, and what is found after `sparkcep.ship`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import sparkcep

ROWS = "SELECT 'k' || id % 2 AS k, id AS t, (id * 7) % 5 AS v FROM range(12)"

CALL = """SELECT * FROM match_pattern(TABLE(rows), partition_by => 'k', order_by => 't', pattern => 'S DOWN+',
    define => map('DOWN', 'v < PREV(v)'), measures => map('n', 'COUNT(*)'))"""


def matches(spark: SparkSession) -> dict[str, DataFrame]:
    rows = spark.sql(ROWS)
    falls = rows.match_pattern(
        "S DOWN+", partition_by="k", order_by="t", define={"DOWN": "v < PREV(v)"}, measures={"n": "COUNT(*)"},
        options=sparkcep.Options(plan="sweep"),
    )  # fmt: skip
    return {"falls": falls}


def told(frame: DataFrame) -> str:
    try:
        return str(frame.collect())
    except PySparkException as error:
        return str(error)


def outcome(spark: SparkSession) -> dict[str, Any]:
    """Run before and after shipping; return messages and rows."""
    before = {name: told(frame) for name, frame in matches(spark).items()}
    assert sparkcep.ship(sparkcep.ship(spark)) is spark
    after = {name: sorted(map(tuple, frame.collect())) for name, frame in matches(spark).items()}

    def home(batches: Any) -> Any:
        import pyarrow as pa

        import sparkcep.engine.sweep as module

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"home": [module.__file__] * batch.num_rows})

    sparkcep.register(spark)
    spark.sql(ROWS).createOrReplaceTempView("rows")
    after["called"] = sorted(map(tuple, spark.sql(CALL).collect()))
    where = spark.range(1).mapInArrow(home, "home string").collect()[0][0]
    return {"before": before, "after": after, "home": where}


if __name__ == "__main__":
    builder = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "1").config("spark.executor.memory", "512m").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    print("outcome", json.dumps(outcome(session)))
    session.stop()
