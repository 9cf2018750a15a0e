"""Every example runs, prints rows and draws a picture."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/*.py"))


def test_there_are_examples() -> None:
    assert len(SCRIPTS) >= 4


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], script: Path) -> None:
    pytest.importorskip("altair")
    runpy.run_path(str(script))["main"](spark, tmp_path)
    assert capsys.readouterr().out.count("\n|") > 5
    picture = (tmp_path / f"{script.stem}.html").read_text(encoding="utf-8")
    assert "vega" in picture
    assert 'src="http' not in picture, "the picture needs no network"
