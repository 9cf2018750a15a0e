"""Recipes for ``spark-submit`` and ``spark-pipelines``, run as their README says, offline."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from tests.connect.bare_python import bare_python, environment

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples/recipes"
FLIGHTS = ROOT / "examples/data/flights.parquet"
# As in sql/golden/totals.csv.
CHAINS = 2_025
QUIET = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]


def run(command: list[str], env: dict[str, str], folder: Path) -> str:
    """Run a command of Spark; return what it prints."""
    path = Path(pyspark.__file__).parent / "bin" / command[0]
    done = subprocess.run(
        [str(path), *command[1:]], env=env, cwd=folder, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def rows_in(folder: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in folder.rglob("*.parquet"))


def test_spark_submit_with_a_wheel_where_sparkcep_is_not_installed(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", str(tmp_path)]
    subprocess.run([*wheel, str(ROOT)], check=True, timeout=120)
    (wheel_file,) = tmp_path.glob("sparkcep-*.whl")
    archive = wheel_file.rename(tmp_path / "sparkcep.zip")
    python = bare_python(tmp_path)
    env = environment(tmp_path, python) | {"PYSPARK_DRIVER_PYTHON": python}
    application = str(RECIPES / "spark_submit/late_departures.py")
    target = tmp_path / "chains"
    submit = ["spark-submit", "--master", "local[2]", *QUIET, "--py-files", str(archive), application]
    told = run([*submit, str(FLIGHTS), str(target)], env, tmp_path)
    assert f"{CHAINS} chains among" in told
    assert "sparkcep.zip" in told
    assert rows_in(target) == CHAINS


def pipeline(folder: Path) -> Path:
    """Copy the project, with folders of the test; what it runs is written into an event log."""
    project = folder / "project"
    shutil.copytree(RECIPES / "declarative_pipeline", project)
    spec = project / "spark-pipeline.yml"
    text = spec.read_text(encoding="utf-8")
    for old, new in (
        ("file:///srv/pipelines/late_departures", (folder / "storage").as_uri()),
        ("/srv/data/flights.parquet", str(FLIGHTS)),
    ):
        assert old in text
        text = text.replace(old, new)
    spec.write_text(text, encoding="utf-8")
    return project


def jobs_in(logs: Path) -> int:
    lines = [line for file in logs.rglob("*") if file.is_file() for line in file.read_text().splitlines() if line]
    return sum(json.loads(line).get("Event") == "SparkListenerJobStart" for line in lines if line.startswith("{"))


@pytest.mark.skipif(importlib.util.find_spec("pyspark.pipelines") is None, reason="Spark 4.1 brought pipelines")
def test_declarative_pipeline(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    pytest.importorskip("grpc")
    project = pipeline(tmp_path)
    env = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    env |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "TZ": "UTC"}
    found = []
    for command in ("dry-run", "run"):
        logs = tmp_path / command
        logs.mkdir()
        settings = {
            "spark.ui.enabled": "false", "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": logs.as_uri(), "spark.eventLog.compress": "false",
            "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        }  # fmt: skip
        conf = tmp_path / f"{command}-conf"
        conf.mkdir()
        lines = [f"{name} {value}" for name, value in settings.items()]
        (conf / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
        run(["spark-pipelines", command], env | {"SPARK_CONF_DIR": str(conf)}, project)
        found.append(jobs_in(logs))
    assert found[0] == 0
    assert found[1] > 0
    assert rows_in(tmp_path / "warehouse" / "late_chains") == CHAINS
    assert rows_in(tmp_path / "warehouse" / "airports_of_late_chains") == 3
