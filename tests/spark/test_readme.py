"""The Python of README and docs runs, and prints what the text block behind it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.frames import skip_unless_told_of_writes

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[str]:
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(page.relative_to(ROOT)) for page in found if "\n```python\n" in page.read_text(encoding="utf-8")]


def shown(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", pages())
def test_page(spark: SparkSession, no_views_left: None, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    if page.endswith("observe.md"):
        skip_unless_told_of_writes(spark)
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {"spark": spark}
    blocks = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    for (kind, code), (next_kind, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        if next_kind == "text":
            assert shown(printed.getvalue()) == shown(expected)
