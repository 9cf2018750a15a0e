"""Runs Flink SQL (Java, batch, two parallel tasks) over a file of rows; see `serving` for how it is told what to do."""

import os
from collections.abc import Iterable

# The last one: no server for Python functions, there are none.
os.environ |= {
    "JAVA_TOOL_OPTIONS": "-Xmx4g",
    "MALLOC_ARENA_MAX": "2",
    "_python_worker_execution_mode": "process",
}

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
from row_jobs import FUNNEL, TURN, TURN_BY_LAST
from serving import serve

# Told with LAST in place of PREV.
JOBS = {FUNNEL.name: FUNNEL, TURN.name: TURN_BY_LAST}
SETTINGS = {
    "parallelism.default": "2",
    "table.exec.resource.default-parallelism": "2",
    "execution.batch.adaptive.auto-parallelism.enabled": "false",  # took one task for files of this size
    "taskmanager.numberOfTaskSlots": "2",
    "taskmanager.memory.managed.size": "1g",
    "table.local-time-zone": "UTC",
}


def load(path: str) -> TableEnvironment:
    """Return a session that knows the file; every job reads it."""
    settings = Configuration()
    for name, value in SETTINGS.items():
        settings.set_string(name, value)
    session = TableEnvironment.create(
        EnvironmentSettings.new_instance().in_batch_mode().with_configuration(settings).build()
    )
    session.execute_sql(f"""
        CREATE TEMPORARY TABLE steps (
            i BIGINT, ts TIMESTAMP(3), key INT, kind STRING, price DOUBLE, WATERMARK FOR ts AS ts
        ) WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv')
    """)
    session.execute_sql(
        "CREATE TEMPORARY TABLE nowhere (first_i BIGINT, last_i BIGINT) WITH ('connector' = 'blackhole')"
    )
    return session


def match(job: str, session: TableEnvironment) -> str:
    """Read the file, find the matches and throw them away."""
    session.execute_sql(f"INSERT INTO nowhere {JOBS[job].sql()}").wait()
    return job


def listed(job: str, session: TableEnvironment) -> Iterable[tuple[int, ...]]:
    """Return the numbers of each match's first and last row."""
    with session.execute_sql(JOBS[job].sql()).collect() as found:
        return [tuple(row) for row in found]


if __name__ == "__main__":
    serve(load, match, listed)
