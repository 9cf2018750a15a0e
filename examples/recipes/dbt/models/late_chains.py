"""A dbt Python model: one row per chain of late departures."""

import sparkcep


def model(dbt, session):
    """Return the chains as a DataFrame; dbt writes it as a table."""
    dbt.config(materialized="table", packages=["sparkcep"])
    flights = dbt.ref("flights").where("tail_number IS NOT NULL")
    return sparkcep.match_pattern(
        flights,
        "LATE{3,}",
        partition_by="tail_number",
        order_by=["scheduled_departure", "carrier", "flight"],
        define={"LATE": f"departure_delay >= {int(dbt.config.get('minutes') or 30)}"},
        measures={
            "since": "FIRST(scheduled_departure)",
            "departures": "COUNT(*)",
            "worst_delay": "MAX(departure_delay)",
        },
    )
