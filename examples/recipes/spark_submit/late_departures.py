"""An application for spark-submit: ``late_departures.py FLIGHTS OUTPUT``."""

import sys

from pyspark.sql import SparkSession

import sparkcep


def main(source: str, target: str) -> None:
    """Read flights and write the chains of late departures among them."""
    spark = SparkSession.builder.appName("late departures").getOrCreate()
    chains = sparkcep.match_pattern(
        spark.read.parquet(source).where("tail_number IS NOT NULL"),
        "LATE{3,}",
        partition_by="tail_number",
        order_by=["scheduled_departure", "carrier", "flight"],
        define={"LATE": "departure_delay >= 30"},
        measures={
            "since": "FIRST(scheduled_departure)",
            "departures": "COUNT(*)",
            "worst_delay": "MAX(departure_delay)",
        },
        observe="late_chains",
    )
    chains.write.mode("overwrite").parquet(target)
    counters = sparkcep.read_observation("late_chains")
    print(f"{counters.matches} chains among {counters.rows} flights, found by {sparkcep.__file__}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
