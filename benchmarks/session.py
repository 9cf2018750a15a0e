"""The Spark session of a measurement, and the memory of its Python workers."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

CORES = 2
SHUFFLE_PARTITIONS = 4
DRIVER_MEMORY = "6g"


@contextmanager
def session(*, reuse_workers: bool = True, cores: int = CORES) -> Iterator[SparkSession]:
    """Open a local session and stop it afterwards."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    )
    builder = SparkSession.builder.master(f"local[{cores}]").appName("benchmarks")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.sql.shuffle.partitions": SHUFFLE_PARTITIONS,
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.retainedStages": 100_000,  # task_seconds adds them all up
        "spark.python.worker.reuse": str(reuse_workers).lower(),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def stages(spark: SparkSession) -> list[Any]:
    """Return what Spark knows of the stages that it has run so far."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    nothing, no_quantiles = context._jvm.java.util.ArrayList(), context._gateway.new_array(context._jvm.double, 0)
    listed = context._jsc.sc().statusStore().stageList(nothing, False, False, no_quantiles, nothing)
    return [listed.apply(place) for place in range(listed.size())]


def task_seconds(spark: SparkSession) -> float:
    """Return the processor time of all tasks so far, without that of Python workers."""
    return sum(stage.executorCpuTime() for stage in stages(spark)) / 1e9


class WorkerMemory:
    """Watches the resident memory of the Python workers while a job runs.

    Workers that outlive the job are asked once, behind it. Where they do not, they have to be
    looked for every `interval` seconds.

    Attributes
    ----------
    peak
        Largest resident size of one worker, in bytes, since the block was entered.
    """

    def __init__(self, interval: float | None = None) -> None:
        self.peak = 0
        self._interval = interval
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> WorkerMemory:
        """Start to watch; what workers held earlier does not count."""
        for worker in workers():
            _forget_peak(worker)
        if self._interval is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the last look."""
        self._done.set()
        if self._interval is not None:
            self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._done.wait(self._interval):
            self._look()

    def _look(self) -> None:
        self.peak = max([self.peak, *(_peak(worker) for worker in workers())])


def bind(processors: set[int]) -> None:
    """Let this process, and all that it has started, run on these processors alone."""
    for pid in [os.getpid(), *_started()]:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), processors)


def workers() -> list[int]:
    """Return the process ids of the Python workers this process has started through Spark."""
    return [pid for pid, command in _started().items() if b"pyspark.daemon" in command or b"pyspark.worker" in command]


def _started() -> dict[int, bytes]:
    """Return the processes that this one has started, with their commands."""
    parents: dict[int, int] = {}
    commands: dict[int, bytes] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
            commands[int(entry)] = Path(f"/proc/{entry}/cmdline").read_bytes()
        except OSError:
            continue
        parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    return {pid: command for pid, command in commands.items() if _descends(pid, os.getpid(), parents)}


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


def _peak(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _forget_peak(pid: int) -> None:
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return
