"""Settings of Spark that decide how fast a plan runs, for explanations."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sparkcep.private_pyspark import cores_of

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_NAMES = (
    _SHUFFLE_PARTITIONS,
    "spark.sql.adaptive.enabled",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.session.timeZone",
)


def settings_that_matter(spark: SparkSession) -> dict[str, str]:
    """Return the settings by name: tasks behind the shuffle, rows of a batch for Python, the zone of times."""
    return {name: str(spark.conf.get(name)) for name in _NAMES}


def tasks_at_once(spark: SparkSession) -> int:
    """Return how many tasks behind a shuffle run at once, as far as the session tells."""
    partitions, cores = int(str(spark.conf.get(_SHUFFLE_PARTITIONS))), cores_of(spark)
    return partitions if cores is None else min(partitions, cores)
