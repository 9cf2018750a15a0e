"""Make examples/data/task_events.jsonl: task ends out of the event log of a small real run of Spark.

Three executors run a stage of eight tasks. Some of them fail on purpose in their first attempts, and an executor
where a task has failed does not get it again, so a task that fails twice and then succeeds has been on all three.
Of the log, the lines of SparkListenerTaskEnd are kept, without metrics, host names and stack traces.

    python scripts/make_task_events.py
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "examples" / "data" / "task_events.jsonl"
# Task: how many of its attempts fail.
FAILURES = {1: 1, 3: 2, 6: 2}
KEPT = {
    "Task Info": ("Task ID", "Index", "Attempt", "Launch Time", "Finish Time", "Executor ID", "Failed", "Killed"),
    "Task End Reason": ("Reason", "Class Name"),
}


def work(index: int, rows: Iterator[int]) -> Iterator[int]:
    """Sum the rows of a task, unless this attempt is one that shall fail."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber() < FAILURES.get(index, 0):
        raise OSError(f"task {index} fails on purpose")
    yield sum(rows)


def run(folder: str) -> None:
    """Run the stage and leave its log in the folder."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": Path(folder).as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.task.maxFailures": "10",
        "spark.excludeOnFailure.enabled": "true",
        "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor": "1",
        "spark.excludeOnFailure.task.maxTaskAttemptsPerNode": "9",
        "spark.excludeOnFailure.stage.maxFailedTasksPerExecutor": "9",
        "spark.excludeOnFailure.stage.maxFailedExecutorsPerNode": "9",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local-cluster[3,1,512]").appName("retries")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    total = spark.sparkContext.parallelize(range(800), 8).mapPartitionsWithIndex(work).sum()
    spark.stop()
    assert total == sum(range(800)), total


def task_ends(folder: str) -> Iterator[dict[str, Any]]:
    """Yield the lines to keep."""
    (log,) = (path for path in Path(folder).rglob("*") if path.is_file() and not path.name.startswith("."))
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            kept = {name: event[name] for name in ("Event", "Stage ID", "Stage Attempt ID", "Task Type")}
            for part, names in KEPT.items():
                kept[part] = {name: event[part][name] for name in names if name in event[part]}
            yield kept


def main() -> None:
    """Run, and write the file."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        run(folder)
        lines = [json.dumps(event) for event in task_ends(folder)]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} task ends written to {TARGET}")


if __name__ == "__main__":
    main()
