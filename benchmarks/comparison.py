"""One table of all races: what the others' time is, as a multiple of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import FOLDER, PAGE, Record, table

RACES = ("apply_in_pandas", "lead_columns", "pandas_match_recognize", "flink", "epigrep", "pycer")
BEGIN, END = "<!-- comparison: begin -->", "<!-- comparison: end -->"


def write_comparison(page: Path = PAGE, folder: Path = FOLDER) -> None:
    """Put the table of all published races between its marks in the page."""
    files = [folder / f"{name}.json" for name in RACES]
    lines = [line for file in files if file.exists() for line in compared(json.loads(file.read_text()))]
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    page.write_text(f"{before}{begin}\n{table(lines)}\n{end}{after}")


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
