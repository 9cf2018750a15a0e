"""A Spark Connect server of its own for the tests, and the process that runs it.

PySpark decides once per process whether its functions speak to a JVM or to a server. So the server is another
process, and the tests have no JVM that anything could lean on.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]
PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"


class ConnectServer:
    """Starts the server; its answers tell what a client cannot see.

    Parameters
    ----------
    settings
        Of Spark.
    environment
        All variables of its process.
    folder
        Where it runs: relative paths of queries start there, and Python workers can import what is there.
    """

    def __init__(self, settings: Mapping[str, str], environment: Mapping[str, str], folder: Path = ROOT) -> None:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        self.url = f"sc://localhost:{port}"
        given = {**settings, "spark.plugins": PLUGIN, "spark.connect.grpc.binding.port": str(port)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            # Variables such as SPARK_REMOTE are about the client.
            env={name: value for name, value in environment.items() if not name.startswith("SPARK_")},
        )

    def __enter__(self) -> ConnectServer:
        try:
            self.jobs_begun()  # answered when the server stands
        except BaseException:
            self._process.communicate(timeout=60)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The server stops when its input ends; communicate closes both pipes.
        self._process.communicate(timeout=60)

    def jobs_begun(self) -> int:
        """Return how many jobs the server has begun so far."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("jobs\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("jobs "):
                return int(line.split()[1])
        raise RuntimeError("the Connect server did not start")


def serve(settings: Mapping[str, str]) -> None:
    """Serve until the input ends; answer each line with the number of jobs."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("sparkcep tests on Connect")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for _ in sys.stdin:
        print("jobs", spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs(), flush=True)
    spark.stop()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
