"""Command line: ``python -m benchmarks NAME``; see benchmarks/README.md."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import (
    any_order,
    calibration,
    compressed,
    event_jobs,
    events,
    grid,
    jobs,
    kernels,
    kinds_of_rows,
    peer_races,
    plans,
    races,
    spark_plans,
    starting,
    table_functions,
)
from benchmarks.comparison import write_comparison
from benchmarks.jobs import Scale
from benchmarks.report import Result, publish, write_tables


@dataclass(frozen=True)
class Benchmark:
    """A benchmark and the number of rows it is quoted for."""

    measure: Callable[[Scale], Result]
    rows: int


BENCHMARKS = {
    "shapes": Benchmark(jobs.shapes, 8_000_000),
    "groups": Benchmark(jobs.groups, 8_000_000),
    "window_plan": Benchmark(jobs.window_plan, 8_000_000),
    "output": Benchmark(jobs.output, 1_000_000),
    "pathological": Benchmark(jobs.pathological, 1_000_000),
    "memory": Benchmark(jobs.memory, 1_000_000),
    "window_memory": Benchmark(kinds_of_rows.window_memory, 50_000_000),
    "kinds_of_rows": Benchmark(kinds_of_rows.kinds_of_rows, 1_000_000),
    "kernels": Benchmark(kernels.kernels, 8_000_000),
    "compile": Benchmark(kernels.compiling, 1_000),
    "event_shapes": Benchmark(event_jobs.event_shapes, 8_000_000),
    "windows": Benchmark(event_jobs.windows, 1_000_000),
    "event_output": Benchmark(event_jobs.event_output, 1_000_000),
    "any_order_windows": Benchmark(any_order.any_order_windows, 1_000_000),
    "any_order_output": Benchmark(any_order.any_order_output, 100_000),
    "plan_windows": Benchmark(spark_plans.plan_windows, 1_000_000),
    "spark_output": Benchmark(spark_plans.spark_output, 400_000),
    "lazy": Benchmark(any_order.lazy, 23_000),
    "compressed": Benchmark(compressed.compressed, compressed.LOOPS + 2),
    "runs": Benchmark(events.runs, 2_000_000),
    "merging": Benchmark(events.merging, events.MERGED_TRADES),
    "lengths": Benchmark(events.lengths, 100_000),
    "backtracking": Benchmark(events.backtracking, events.MERGED_TRADES),
    "epigrep": Benchmark(races.against_epigrep, 500_000),
    "pycer": Benchmark(races.against_pycer, 200_000),
    "apply_in_pandas": Benchmark(peer_races.apply_in_pandas, 1_000_000),
    "lead_columns": Benchmark(peer_races.lead_columns, 1_000_000),
    "pandas_match_recognize": Benchmark(peer_races.pandas_match_recognize, 1_000_000),
    "flink": Benchmark(peer_races.flink, 200_000),
    "joins": Benchmark(plans.joins, 10_000_000),
    "semi_join": Benchmark(plans.semi_join, 8_000_000),
    "apam": Benchmark(plans.apam, 100_000),
    "grid": Benchmark(grid.grid, 200),
    "calibrate": Benchmark(calibration.calibrate, 60),
    "slices": Benchmark(plans.slices, 20_000_000),
    "start": Benchmark(starting.first_query, 100_000),
    "table_functions": Benchmark(table_functions.table_functions, 1_000_000),
    "enabled": Benchmark(table_functions.enabled, 1_000),
}


def main() -> int:
    """Run what is asked for; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure sparkcep.")
    parser.add_argument(
        "name",
        nargs="?",
        default="all",
        choices=[*BENCHMARKS, "all", "tables"],
        help="'tables' only writes the latest results into benchmarks/README.md",
    )
    parser.add_argument("--rows", type=int, help="in place of the number the benchmark is quoted for")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    if given.name == "tables":
        write_tables()
        write_comparison()
        return 0
    warnings.simplefilter("ignore")
    missed = 0
    for name in [name for name in BENCHMARKS if name != "calibrate"] if given.name == "all" else [given.name]:
        benchmark = BENCHMARKS[name]
        result = benchmark.measure(Scale(given.rows or benchmark.rows, given.repeats))
        publish(result)
        missed += sum(not bar["holds"] for bar in result.bars)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
