"""One lazy Spark session for the whole suite, tuned for tiny data."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    # Hundreds of tiny queries: starting fast counts, the optimising compilers and a parallel collector do not.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}",
    "spark.sql.warehouse.dir": "{folder}/warehouse",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start Spark when the first test asks for it; workers run this interpreter and see the tests."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["TZ"] = "UTC"
    time.tzset()
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("sparkcep tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value.format(folder=folder))
    session = builder.getOrCreate()
    # Tests expect errors of queries; Spark would log each one with its whole plan.
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def no_views_left(spark: SparkSession) -> Iterator[None]:
    """Drop the temporary views that a test creates."""
    before = {table.name for table in spark.catalog.listTables() if table.isTemporary}
    yield
    for table in spark.catalog.listTables():
        if table.isTemporary and table.name not in before:
            spark.catalog.dropTempView(table.name)
