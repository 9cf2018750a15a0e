"""One lazy Spark session for the whole suite, tuned for tiny data."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
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
    "spark.python.daemon.module": "tests.spark.warm_daemon",
    # Hundreds of tiny queries: starting fast counts; generated code, the optimising compilers and a parallel
    # collector do not.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.ui.explainMode": "simple",
    # Else every call that makes a Column looks for the line that made it.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}",
    "spark.sql.warehouse.dir": "{folder}/warehouse",
}


# Files with the most work come first, so that no worker is left alone with a long one.
LONGEST = (
    "test_event_tables", "test_tables", "test_cli", "test_features", "test_expressions", "test_register", "test_sql",
    "test_sql_jobs", "test_examples", "test_sase_figures", "test_observe", "test_aggregates", "test_match_graphs",
    "test_event_engines", "test_values", "test_readme", "test_event_features", "test_recipes", "test_semi_joins",
    "test_engines", "test_slices", "test_enable", "test_windows", "test_type_rules", "test_errors",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order files by their work, and keep the order inside a file."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))


def use_this_python() -> dict[str, str]:
    """Let Spark run this interpreter, which sees the tests, in UTC; return the variables that say so."""
    given = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "TZ": "UTC",
    }
    os.environ.update(given)
    time.tzset()
    return given


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start Spark when the first test asks for it; tests/connect has another one."""
    use_this_python()
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
def jobs_begun(spark: SparkSession) -> Callable[[], int]:
    """Return what tells how many jobs Spark has begun so far."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    return lambda: int(scheduler.numTotalJobs())


@pytest.fixture
def generated_code(spark: SparkSession) -> Iterator[None]:
    """Let Spark generate code, as it does by default: without, it cannot list tables (catalog.listTables)."""
    before = spark.conf.get("spark.sql.codegen.factoryMode")
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    yield
    spark.conf.set("spark.sql.codegen.factoryMode", before or "")


@pytest.fixture
def no_views_left(spark: SparkSession, generated_code: None) -> Iterator[None]:
    """Drop the temporary views that a test creates."""
    before = {table.name for table in spark.catalog.listTables() if table.isTemporary}
    yield
    for table in spark.catalog.listTables():
        if table.isTemporary and table.name not in before:
            spark.catalog.dropTempView(table.name)
