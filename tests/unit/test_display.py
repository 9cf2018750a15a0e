"""Aligned text and the refusals of timelines; the picture itself is looked at in the examples' tests."""

from __future__ import annotations

import datetime as dt
import sys

import pandas as pd
import pytest

from sparkcep.display import show_timeline, text_table
from sparkcep.errors import BindingError, PlanError

ROWS = pd.DataFrame(
    {
        "key": ["a", "a", "b"],
        "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 1, 1)],
        "step": ["X", "Y", "X"],
        "size.of": [1, 2, 3],
    }
)


def test_text_table_aligns_numbers_right_and_cuts_long_cells() -> None:
    table = text_table(["name", "n"], [["a" * 9, 10], [None, 9]], widest=5)
    assert table.splitlines() == ["name    n", "─────  ──", "aaaa…  10", "        9"]


def test_text_table_without_rows_has_its_header() -> None:
    assert text_table(["x", "yy"], []).splitlines() == ["x  yy", "─  ──"]


def test_timeline_draws_lines_dots_and_labels() -> None:
    pytest.importorskip("altair")
    chart = show_timeline(ROWS, time="day", row="key", colour="step", size="size.of", label="step", title="T")
    drawn = chart.to_dict()
    marks = [layer["mark"]["type"] for layer in drawn["layer"]]
    assert marks == ["line", "circle", "text", "text"]
    assert drawn["layer"][0]["encoding"]["y"]["sort"] == ["a", "b"]
    assert drawn["layer"][0]["encoding"]["x"]["type"] == "temporal"


def test_timeline_names_the_unknown_column() -> None:
    pytest.importorskip("altair")
    with pytest.raises(BindingError, match="did you mean 'step'"):
        show_timeline(ROWS, time="day", row="key", colour="stop")


def test_timeline_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(PlanError, match=r"pip install 'sparkcep\[viz\]'"):
        show_timeline(ROWS, time="day", row="key")
