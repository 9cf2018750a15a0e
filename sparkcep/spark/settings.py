"""Settings of Spark that decide how fast a plan runs, for explanations."""

from __future__ import annotations

from pyspark.sql import SparkSession

_NAMES = (
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.enabled",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.session.timeZone",
)


def settings_that_matter(spark: SparkSession) -> dict[str, str]:
    """Return the settings by name: tasks behind the shuffle, rows of a batch for Python, the zone of times."""
    return {name: str(spark.conf.get(name)) for name in _NAMES}
