"""`sparkcep.ship`: executors that really lack sparkcep, of a cluster and behind Connect."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.connect import shipping_application
from tests.connect.bare_python import bare_python, environment, spark_home
from tests.connect.server import ConnectServer


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return bare_python(tmp_path_factory.mktemp("bare"))


def check(outcome: dict[str, Any], cache: Path) -> None:
    for message in outcome["before"].values():
        assert "[MISSING_ON_EXECUTORS] The executors do not have sparkcep" in message
        assert "sparkcep.ship(spark)" in message
    for rows in outcome["after"].values():
        assert [list(row) for row in rows] == [["k0", 5], ["k1", 3], ["k1", 3]]
    assert Path(outcome["home"]).is_relative_to(cache)
    # numba found a place for machine code beside the sources.
    assert list(Path(outcome["home"]).parent.glob("__pycache__/sweep*.nbi")) != []


def test_a_cluster(python: str, tmp_path: Path) -> None:
    command = [sys.executable, shipping_application.__file__, "local-cluster[1,1,1024]"]
    given = {**environment(tmp_path, python), "SPARK_HOME": spark_home(tmp_path)}
    finished = subprocess.run(
        command, capture_output=True, text=True, timeout=280, check=False, cwd=tmp_path, env=given
    )
    (told,) = [line for line in finished.stdout.splitlines() if line.startswith("outcome ")] or [finished.stderr]
    check(json.loads(told.removeprefix("outcome ")), tmp_path / "cache")


def test_connect(python: str, tmp_path: Path) -> None:
    settings = {"spark.master": "local[1]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
    with ConnectServer(settings, environment(tmp_path, python), tmp_path) as server:
        spark = SparkSession.builder.remote(server.url).create()
        try:
            check(shipping_application.outcome(spark), tmp_path / "cache")
        finally:
            spark.stop()
