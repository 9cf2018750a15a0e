"""Chains of late departures: three departures or more of one aircraft in a row, each 30 minutes late or more."""

from pathlib import Path

from pyspark.sql import SparkSession

import sparkcep

ROOT = Path(__file__).parents[2]
ORDER = ["scheduled_departure", "carrier", "flight"]


def main(spark: SparkSession, folder: Path) -> None:
    """Print the longest chains and draw them into `folder`."""
    flights = spark.read.parquet(str(ROOT / "examples/data/flights.parquet")).where("tail_number IS NOT NULL")
    late = {"LATE": "departure_delay >= 30"}

    chains = flights.match_pattern(
        "LATE{3,}",
        partition_by="tail_number",
        order_by=ORDER,
        define=late,
        measures={
            "since": "FIRST(scheduled_departure)",
            "until": "LAST(scheduled_departure)",
            "departures": "COUNT(*)",
            "worst": "MAX(departure_delay)",
        },
    )
    longest = chains.orderBy("departures", "worst", "tail_number", ascending=[False, False, True]).limit(10)
    longest.show(truncate=False)

    tails = [row.tail_number for row in longest.limit(6).collect()]
    rows = flights.where(flights.tail_number.isin(tails)).match_pattern(
        "LATE{3,}",
        partition_by="tail_number",
        order_by=ORDER,
        define=late,
        measures={
            "days": "timestampdiff(MINUTE, FIRST(scheduled_departure), scheduled_departure) / 1440D",
            "departures": "FINAL COUNT(*)",
        },
        rows_per_match="all",
    )
    chart = sparkcep.show_timeline(
        rows.where("departures >= 7").orderBy("tail_number", "days"),
        time="days",
        row="tail_number",
        colour="origin",
        size="departure_delay",
        label="destination",
        title="Chains of late departures",
        subtitle="days since the first late departure",
    )
    chart.save(str(folder / "late_departures.html"), inline=True)


if __name__ == "__main__":
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    main(SparkSession.builder.getOrCreate(), out)
    print(f"drawn: {out / 'late_departures.html'}")
