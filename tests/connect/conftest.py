"""The bodies of tests/spark once more, on Spark Connect.

``pytest tests/connect`` runs them; a run of anything else passes them over, because classic sessions and Connect
sessions cannot share a process.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

from tests.conftest import SETTINGS, use_this_python
from tests.connect.server import ConnectServer

HERE = Path(__file__).parent


def _asked_for(config: pytest.Config) -> bool:
    chosen = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return all(path.is_relative_to(HERE) for path in chosen)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect nothing here unless nothing else was asked for."""
    return None if _asked_for(config) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pass over what is about a classic session itself; each mark says why."""
    for item in items:
        mark = item.get_closest_marker("classic_only")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


@pytest.fixture(scope="session", autouse=True)
def windows_unheard() -> Iterator[None]:
    """Pass over what PySpark's client warns of wherever a window has no partition: sparkcep says that itself.

    A filter would not do, since filters do not hold for other threads.
    """

    def warn(message: str) -> None:
        if not message.startswith("WARN WindowExpression: No Partition Defined"):
            warnings.warn(message, stacklevel=2)

    with patch("pyspark.sql.connect.expressions.warnings", SimpleNamespace(warn=warn)):
        yield


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """Start the server when the first test asks for it."""
    folder = tmp_path_factory.mktemp("connect")
    settings = {name: value.format(folder=folder) for name, value in SETTINGS.items()}
    with ConnectServer({"spark.master": "local[2]", **settings}, {**os.environ, **use_this_python()}) as server:
        yield server


@pytest.fixture(scope="session")
def spark(connect_server: ConnectServer) -> Iterator[SparkSession]:
    """Connect to the server: what every test below this folder gets for ``spark``."""
    # The command line finds its session by this variable, as under every other program that speaks Connect.
    os.environ["SPARK_REMOTE"] = connect_server.url
    session = SparkSession.builder.getOrCreate()
    assert type(session) is not SparkSession
    yield session
    session.stop()


@pytest.fixture
def jobs_begun(connect_server: ConnectServer) -> Callable[[], int]:
    """Ask the server."""
    return connect_server.jobs_begun
