"""Benchmark of compressed output: more matches than anybody can list, from 62 events."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.event_jobs import EventWorkload
from benchmarks.jobs import Scale, run
from benchmarks.race import race
from benchmarks.report import Result
from benchmarks.session import session

LOOPS = 60
PATTERN = "SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b, c) {}"
LISTED = EventWorkload(
    "list ten", PATTERN, {}, {}, ("kind = 'A'", "kind = 'B'", "kind = 'C'"), ("kind",),
    {"type_column": "kind", "limit": 10},
)  # fmt: skip
COUNTED = replace(LISTED, name="count", arguments={"type_column": "kind", "matches": "count"})
GRAPH = replace(LISTED, name="graph", arguments={"type_column": "kind", "matches": "graph"})


def compressed(scale: Scale) -> Result:
    """Measure count, graph and the first ten of 2^60 − 1 matches: seconds over the floor of the same rows."""
    import sparkcep

    result = Result("compressed", "2^60 − 1 matches of 62 events, compressed", scale.settings(loops=LOOPS))
    with session() as spark:
        rows, half = _loops(spark, LOOPS), _loops(spark, LOOPS // 2)
        graph = GRAPH.matched(rows, "one")
        floor = LISTED.floor(rows, "one")
        jobs = {
            "count": COUNTED.matched(rows, "one"),
            "graph": graph,
            "graph, expand(limit=10)": sparkcep.expand(graph, limit=10),
            "limit=10": LISTED.matched(rows, "one"),
        }
        timings = race(
            {"floor": lambda: run(floor)} | {name: lambda job=job: run(job) for name, job in jobs.items()},
            repeats=scale.repeats,
        )
        (counted,) = (int(row.match_count) for row in jobs["count"].collect())
        sizes = [_nodes(GRAPH.matched(frame, "one")) for frame in (half, rows)]
    least = timings["floor"].median
    for name, timing in timings.items():
        record = {"job": name, "seconds": timing.median, "over the floor": timing.median - least}
        result.records.append(record | {"spread": timing.spread})
        if name != "floor":
            result.at_most(f"{name}: seconds over the floor", timing.median - least, 1)
    result.settings["matches"] = counted
    result.at_most("nodes of 60 loops ÷ nodes of 30", sizes[1] / sizes[0], 2.1)
    return result


def _loops(spark: SparkSession, loops: int) -> DataFrame:
    kind = F.when(F.col("id") == 0, "A").when(F.col("id") <= loops, "B").otherwise("C")
    return spark.range(loops + 2).select(F.col("id").alias("ts"), kind.alias("kind"), F.lit(1).alias("one"))


def _nodes(graphs: DataFrame) -> int:
    (size,) = graphs.select(F.size("graph.nodes")).collect()
    return int(size[0])
