"""Results as tables on the screen and as JSON beside the code."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
PAGE = Path(__file__).parent / "README.md"
HEADING = "## Latest results"
# A table too long for the page of all others has its own, and is only judged there.
GRID_PAGE = Path(__file__).parents[1] / "docs" / "reference" / "planner-grid.md"

Record = Mapping[str, Any]


@dataclass(slots=True)
class Result:
    """What one benchmark found.

    Attributes
    ----------
    settings
        Rows, repetitions, and whatever else somebody needs to repeat it.
    records
        One per line of the table, all with the same keys.
    bars
        What was asked of the numbers: text, value, limit, whether it holds.
    """

    name: str
    title: str
    settings: dict[str, Any]
    records: list[Record] = field(default_factory=list)
    bars: list[Record] = field(default_factory=list)

    def at_most(self, text: str, value: float, limit: float) -> None:
        """Record a bar that `value` must not exceed."""
        self.bars.append({"bar": text, "value": value, "limit": f"≤ {limit:g}", "holds": value <= limit})

    def at_least(self, text: str, value: float, limit: float) -> None:
        """Record a bar that `value` must reach."""
        self.bars.append({"bar": text, "value": value, "limit": f"≥ {limit:g}", "holds": value >= limit})


def machine() -> dict[str, Any]:
    """Return what the numbers depend on besides the code."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = {name: version(name) for name in ("pyspark", "pyarrow", "numba", "numpy")}
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory),
        "python": platform.python_version(),
        **packages,
        "load": round(os.getloadavg()[0], 1),
    }


def table(records: Sequence[Record]) -> str:
    """Return records as a Markdown table."""
    if not records:
        return ""
    heads = list(records[0])
    rows = [[_cell(record[head]) for head in heads] for record in records]
    right = [isinstance(records[0][head], int | float) for head in heads]
    widths = [max(len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(heads)]
    marks = ["-" * (width - 1) + (":" if to_right else "-") for width, to_right in zip(widths, right, strict=True)]
    lines = [
        [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        for row in [heads, marks, *rows]
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def publish(result: Result, *, folder: Path = FOLDER) -> None:
    """Print a result and write it as JSON."""
    print(text(result), flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "name": result.name,
        "title": result.title,
        "machine": machine(),
        "settings": result.settings,
        "records": result.records,
        "bars": result.bars,
    }
    (folder / f"{result.name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def text(result: Result) -> str:
    """Return a result as Markdown: title, settings, records, bars."""
    settings = ", ".join(f"{name} {_cell(value)}" for name, value in result.settings.items())
    return (
        "\n\n".join(
            part for part in (f"### {result.title}", settings, table(result.records), table(result.bars)) if part
        )
        + "\n"
    )


def write_tables(page: Path = PAGE, folder: Path = FOLDER) -> None:
    """Put all published results into the page, behind its last heading; the lines of the grid into their own."""
    _write_behind(page, [_section(path, short=path.stem == "grid") for path in sorted(folder.glob("*.json"))])
    if (folder / "grid.json").exists():
        _write_behind(GRID_PAGE, [_section(folder / "grid.json")])


def _write_behind(page: Path, sections: Sequence[str]) -> None:
    head, heading, _ = page.read_text().partition(HEADING)
    page.write_text(head + heading + "\n\n" + "\n".join(sections))


def _section(path: Path, *, short: bool = False) -> str:
    content = json.loads(path.read_text())
    result = Result(*(content[name] for name in ("name", "title", "settings", "records", "bars")))
    if short:
        result.records = []
    return (
        text(result) + "\nMachine: " + ", ".join(f"{name} {value}" for name, value in content["machine"].items()) + "\n"
    )
