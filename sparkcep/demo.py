"""The demonstration: chains of late departures of one year's flights, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkcep.api import match_pattern, sql
from sparkcep.display import show_timeline
from sparkcep.errors import CommandError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SHOWN, DRAWN = 10, 8
LONGEST_SPAN = timedelta(days=5)  # of a chain in the picture: one line of two weeks would squeeze the others
_BARS = "▁▂▃▄▅▆▇█"
_PLACES = (Path(__file__).parent / "demo_data", Path(__file__).parents[1])
_AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}


def run_demo(spark: SparkSession, pictures: Sequence[str] = ()) -> str:
    """Find the chains of late departures and return the text to print.

    Parameters
    ----------
    spark
        Any session.
    pictures
        Files to draw the longest chains into: ``.html`` (self-contained), ``.png`` or ``.svg``.
    """
    flights = spark.read.parquet(str(_file("examples/data/flights.parquet")))
    flights.createOrReplaceTempView("flights")
    chains = sql(spark, _file("sql/late_departures.sql").read_text(encoding="utf-8")).collect()
    text = chains_text(chains, flights.count())
    if pictures:
        drawn = [chain for chain in chains if chain.last_departure - chain.first_departure <= LONGEST_SPAN][:DRAWN]
        chart = chains_picture(flights, [chain.tail_number for chain in drawn])
        text += "\n"
        for path in pictures:
            save_picture(chart, path)
            text += f"\nA picture of {DRAWN} long chains: {path}"
    return text


def _file(name: str) -> Path:
    """Find a file of the demonstration, in the installed package or in a checkout."""
    for place in _PLACES:
        if (place / name).is_file():
            return place / name
    raise CommandError("DEMO_DATA_MISSING", f"the demonstration's {name} is not here", allowed=map(str, _PLACES))


def check_picture(path: str) -> str:
    """Return `path` if a picture can be written under that name.

    Raises
    ------
    CommandError
        UNKNOWN_EXTENSION.
    """
    if Path(path).suffix.lower() not in (".html", ".png", ".svg"):
        raise CommandError(
            "UNKNOWN_EXTENSION", f"'{path}' does not say what to draw", found=path, allowed=[".html", ".png", ".svg"]
        )
    return path


def save_picture(chart: Any, path: str) -> None:
    """Write an altair chart; HTML holds everything it needs and opens without a network."""
    target = Path(check_picture(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix.lower() == ".html":
        chart.save(str(target), inline=True)
    else:
        chart.save(str(target), **({"scale_factor": 2} if target.suffix.lower() == ".png" else {}))


def chains_text(chains: Sequence[Row], flights: int) -> str:
    """Print the longest chains, two lines each: the chain, and its legs with their delays."""
    departures = sum(chain.departures for chain in chains)
    lines = [
        "Chains of late departures, New York 2013",
        f"{flights:,} flights. {len(chains):,} times an aircraft left 30 minutes late or more, three times or more in",
        f"a row: {departures:,} late departures in all. The {SHOWN} longest chains:",
    ]
    for place, chain in enumerate(chains[:SHOWN], 1):
        lines += ["", *_chain_lines(place, chain)]
    return "\n".join(lines)


def _chain_lines(place: int, chain: Row) -> list[str]:
    delays = [int(delay) for delay in chain.delays.split()]
    legs = [f"{leg.replace('-', '→')} {_hours(delay)}" for leg, delay in zip(chain.legs.split(), delays, strict=True)]
    span = f"{_moment(chain.first_departure)} – {_moment(chain.last_departure)}"
    summary = f"{chain.departures} late   worst {_hours(chain.worst_delay):>5}   sum {_hours(chain.total_delay):>5}"
    rows = [legs[start : start + 5] for start in range(0, len(legs), 5)]
    return [
        f"{place:>2}  {chain.tail_number:<8}{span}   {summary}   {_bars(delays)}",
        *("    " + " " * 8 + "   ".join(f"{leg:<13}" for leg in row).rstrip() for row in rows),
    ]


def _moment(moment: datetime) -> str:
    return f"{moment:%a} {moment.day:>2} {moment:%b %H:%M}"


def _hours(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"


def _bars(values: Sequence[int]) -> str:
    highest = max(values)
    return "".join(_BARS[min(len(_BARS) - 1, value * len(_BARS) // (highest + 1))] for value in values)


def chains_picture(flights: DataFrame, aircraft: Sequence[str]) -> Any:
    """Draw the longest chain of each aircraft, one line a chain, one dot a departure."""
    chains: Any = match_pattern(
        flights.where(flights.tail_number.isin(list(aircraft))),
        "LATE{3,}",
        partition_by="tail_number",
        order_by=["scheduled_departure", "carrier", "flight"],
        define={"LATE": "departure_delay >= 30"},
        measures={
            "days_since_the_first_departure": "timestampdiff(MINUTE, FIRST(scheduled_departure), scheduled_departure)"
            " / 1440D",
            "departures": "FINAL COUNT(*)",
            "first": "FIRST(scheduled_departure)",
        },
        rows_per_match="all",
    ).toPandas()
    chains = chains[chains.departures == chains.groupby("tail_number").departures.transform("max")]
    chains["aircraft"] = chains.tail_number + chains["first"].dt.strftime("  from %d %b")
    chains["airport"] = chains.origin.map(_AIRPORTS)
    chains["minutes_late"] = chains.departure_delay
    place = {tail: position for position, tail in enumerate(aircraft)}
    chains = chains.sort_values(["tail_number", "scheduled_departure"]).sort_values(
        "tail_number", key=lambda tails: tails.map(place), kind="stable"
    )
    return show_timeline(
        chains,
        time="days_since_the_first_departure",
        row="aircraft",
        colour="airport",
        size="minutes_late",
        label="destination",
        title="Late again and again",
        subtitle="Aircraft that left New York half an hour late or more, time after time; letters name destinations",
        width=980,
    )
