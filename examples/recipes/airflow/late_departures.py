"""What the task does: a plain function that needs Spark and sparkcep, and knows nothing of Airflow."""

from pyspark.sql import DataFrame, SparkSession

import sparkcep

OBSERVATION = "late_chains"


def late_chains(flights: DataFrame) -> DataFrame:
    """Return the chains of three late departures or more; runs no job."""
    return sparkcep.match_pattern(
        flights.where("tail_number IS NOT NULL"),
        "LATE{3,}",
        partition_by="tail_number",
        order_by=["scheduled_departure", "carrier", "flight"],
        define={"LATE": "departure_delay >= 30"},
        measures={
            "since": "FIRST(scheduled_departure)",
            "departures": "COUNT(*)",
            "worst_delay": "MAX(departure_delay)",
        },
        observe=OBSERVATION,
    )


def find_late_chains(source: str, target: str) -> int:
    """Read flights, write the chains among them, and return how many there are.

    What is returned is small, as what tasks hand to one another must be: the rows stay in Spark.
    """
    spark = SparkSession.builder.appName("late departures").getOrCreate()
    late_chains(spark.read.parquet(source)).write.mode("overwrite").parquet(target)
    return sparkcep.read_observation(OBSERVATION).matches or 0
