"""A pipeline of two materialized views: chains of late departures, and the airports that they begin at.

A query function may only return a DataFrame: Spark refuses to analyse one there, and a pattern is checked against the
columns of its input. So the match is built outside, when Spark imports this file, which runs no job either.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sparkcep

spark = SparkSession.active()

# With a schema Spark need not look into the files before it runs.
SCHEMA = """tail_number string, scheduled_departure timestamp_ntz, carrier string, flight int, origin string,
            departure_delay int"""
FLIGHTS = spark.read.schema(SCHEMA).parquet(spark.conf.get("recipe.flights"))

CHAINS = sparkcep.match_pattern(
    FLIGHTS.where("tail_number IS NOT NULL"),
    "LATE{3,}",
    partition_by="tail_number",
    order_by=["scheduled_departure", "carrier", "flight"],
    define={"LATE": "departure_delay >= 30"},
    measures={
        "since": "FIRST(scheduled_departure)",
        "origin": "FIRST(origin)",
        "departures": "COUNT(*)",
        "worst_delay": "MAX(departure_delay)",
    },
)


@dp.materialized_view
def late_chains() -> DataFrame:
    """Three departures or more of one aircraft in a row, each 30 minutes late or more."""
    return CHAINS


@dp.materialized_view
def airports_of_late_chains() -> DataFrame:
    """How many chains begin at an airport."""
    return spark.read.table("late_chains").groupBy("origin").agg(F.count("*").alias("chains"))
