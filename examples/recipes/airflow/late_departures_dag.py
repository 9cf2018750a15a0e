"""A DAG that looks for chains of late departures every day.

Nothing of Spark is imported while Airflow reads this file, which it does every few seconds.
"""

from datetime import datetime

from airflow.sdk import dag, task


@dag(schedule="@daily", start_date=datetime(2013, 1, 1), catchup=False, tags=["flights"])
def late_departures() -> None:
    """Find the chains, then say how many there are."""

    @task
    def find(source: str, target: str) -> int:
        from late_departures import find_late_chains

        return find_late_chains(source, target)

    @task
    def report(chains: int) -> None:
        print(f"{chains} chains of late departures")

    report(find("/srv/data/flights.parquet", "/srv/data/late_chains.parquet"))


late_departures()
