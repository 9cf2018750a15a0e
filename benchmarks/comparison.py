"""Tables of all races, what the others' time is as a multiple of ours; and the figures of the README."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import FOLDER, PAGE, Record, table

RACES = ("apply_in_pandas", "lead_columns", "pandas_match_recognize", "flink", "epigrep", "pycer")
FLOORS = ("shapes", "event_shapes")
BEGIN, END = "<!-- {}: begin -->", "<!-- {}: end -->"
README = Path(__file__).parents[1] / "README.md"


def write_comparison(page: Path = PAGE, folder: Path = FOLDER, readme: Path = README) -> None:
    """Put the table of all published races into the page, and what is quoted of all figures into the README."""
    races = [line for found in _published(RACES, folder) for line in compared(found)]
    _write_between(page, "comparison", table(races))
    _write_between(readme, "floors", table(list(floors(_published(FLOORS, folder)))))
    _write_between(readme, "races", table(list(summed_up(races))))


def _published(names: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    for name in names:
        file = folder / f"{name}.json"
        if file.exists():
            yield json.loads(file.read_text())


def _write_between(page: Path, what: str, content: str) -> None:
    before, begin, rest = page.read_text().partition(BEGIN.format(what))
    _, end, after = rest.partition(END.format(what))
    page.write_text(f"{before}{begin}\n{content}\n{end}{after}")


def floors(found: Iterable[dict[str, Any]]) -> Iterator[Record]:
    """Return what whole jobs cost over their floors."""
    for benchmark in found:
        settings = benchmark["settings"]
        for record in benchmark["records"]:
            keys = record.get("keys", settings.get("keys"))
            job = f"{record['query']}, {keys:,} keys, {record['matches']:,} matches"
            yield {f"job, {settings['rows']:,} rows": job, "time ÷ floor": record["ratio"]}


def summed_up(races: Iterable[Record]) -> Iterator[Record]:
    """Return a line for each matcher and field of its whole races: the least and the most of all jobs."""
    found: dict[str, list[float]] = {}
    for line in races:
        ratio = line["their time ÷ ours"]
        if isinstance(ratio, float) and line["match sets"] == "same" and line["timed"] != "match":
            part = "" if line["timed"] == "whole" else f", {line['timed']}"
            field = ", ".join(str(line["job"]).split(", ")[-2:])
            found.setdefault(f"{line['against']}: {field}{part}", []).append(ratio)
    for name, ratios in found.items():
        low, high = f"{min(ratios):.2g}", f"{max(ratios):.2g}"
        yield {"against": name, "their time ÷ ours": low if low == high else f"{low} – {high}"}


def compared(race: dict[str, Any]) -> Iterator[Record]:
    """Return the lines of one race; what could not be run has one too, with the reason."""
    name, _, about = race["title"].removeprefix("Against ").partition(", ")
    where = f", {about}" if about else ""
    rows = race["settings"]["rows"]
    for record in race["records"]:
        says_rows = " rows" in record["job"]
        yield {
            "against": name,
            "job": record["job"] + where + ("" if says_rows else f", {rows:,} rows"),
            "timed": record["part"],
            "match sets": record["match sets"],
            "matches": record["matches"],
            "their time ÷ ours": record["their time ÷ ours"],
        }
    for setting, reason in race["settings"].items():
        if setting.startswith("skipped"):
            job = setting.removeprefix("skipped").removeprefix(", ") or "all"
            yield {
                "against": name,
                "job": job,
                "timed": "–",
                "match sets": f"not run: {reason}",
                "matches": "–",
                "their time ÷ ours": "–",
            }
