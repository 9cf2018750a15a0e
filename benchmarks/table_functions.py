"""Benchmarks of the doors of SQL: table functions against DataFrames, and what `sparkcep.enable` costs a statement."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

from benchmarks.data import events
from benchmarks.jobs import Scale, run
from benchmarks.race import Job, Timing, paired_ratio, race
from benchmarks.report import Result
from benchmarks.session import session

ROWS_OF_A_KEY = 50
DEFINE = {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"}
MEASURES = {"began": "FIRST(ts)", "depth": "FIRST(price) - LAST(DOWN.price)", "n": "COUNT(*)"}
CLAUSE = f"""MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts
    MEASURES {", ".join(f"{text} AS {name}" for name, text in MEASURES.items())}
    PATTERN (STRT DOWN+ UP+)
    DEFINE {", ".join(f"{name} AS {text}" for name, text in DEFINE.items())})"""
ORDINARY = """SELECT k, count(*) AS n, avg(price) AS mean, max(ts) AS last
    FROM table_rows WHERE price > 10 AND k BETWEEN 5 AND 100 GROUP BY k HAVING count(*) > 3 ORDER BY n DESC LIMIT 10"""
STATEMENTS = 100
"""How many statements a repetition sends."""


class Nothing:
    """A row table function that takes the arguments of match_pattern, and does nothing."""

    @staticmethod
    def analyze(table: AnalyzeArgument, **arguments: AnalyzeArgument) -> AnalyzeResult:
        """Return a schema; partitions are those of the call."""
        return AnalyzeResult(T.StructType([T.StructField("n", T.LongType())]))

    def eval(self, row: T.Row, **arguments: Any) -> None:
        """Take a row."""

    def terminate(self) -> list[tuple[int]]:
        """Return nothing."""
        return []


def table_functions(scale: Scale) -> Result:
    """Measure partitions of 50 rows through table functions."""
    title = "Table functions: V-shape over partitions of 50 rows"
    result = Result("table_functions", title, scale.settings(keys=scale.rows // ROWS_OF_A_KEY))
    with session() as spark:
        jobs = _jobs(spark, scale)
        counts = {name: job.count() for name, job in jobs.items()}  # and all is warm
        timings: dict[str, Timing] = {}
        # In turns with what they are compared with: the doors that rows pass one by one take ten times as long.
        for names in (("DataFrame", "register_pattern"), ("partition_by =>", "PARTITION BY", "nothing")):
            runs: dict[str, Job] = {name: partial(run, jobs[name]) for name in names}
            timings |= race(runs, repeats=scale.repeats, warm_up=0)
    for name, timing in timings.items():
        record = {"job": name, "seconds": timing.median, "spread": timing.spread}
        result.records.append({**record, "matches": counts[name]})
    if len(set(counts.values()) - {counts["nothing"]}) > 1:
        raise AssertionError(f"different semantics: {counts}")
    frame, nothing = timings["DataFrame"], timings["nothing"]
    result.at_most("register_pattern ÷ DataFrame", paired_ratio(timings["register_pattern"], frame), 1.3)
    ratio = paired_ratio(timings["partition_by =>"], nothing)
    result.at_most("match_pattern, partition_by => ÷ a row function that does nothing", ratio, 1.5)
    return result


def _jobs(spark: SparkSession, scale: Scale) -> Mapping[str, DataFrame]:
    import sparkcep

    rows = spark.read.parquet(str(events(scale.rows))).selectExpr(
        f"g100000 % {scale.rows // ROWS_OF_A_KEY} AS k", "ts", "price"
    )
    rows.createOrReplaceTempView("table_rows")
    sparkcep.register(spark)
    sparkcep.register_pattern(spark, "valleys", CLAUSE, rows.schema)
    spark.udtf.register("nothing", F.udtf(Nothing, useArrow=False))  # type: ignore[arg-type]
    arguments = ", ".join(
        f"{name} => map({', '.join(repr(text) for pair in texts.items() for text in pair)})"
        for name, texts in (("define", DEFINE), ("measures", MEASURES))
    )
    given = f"pattern => 'STRT DOWN+ UP+', {arguments}"
    calls = {
        "register_pattern": "valleys(TABLE(table_rows) PARTITION BY k ORDER BY ts)",
        "partition_by =>": f"match_pattern(TABLE(table_rows), partition_by => 'k', order_by => 'ts', {given})",
        "PARTITION BY": f"match_pattern(TABLE(table_rows) PARTITION BY k ORDER BY ts, {given})",
        "nothing": f"nothing(TABLE(table_rows) PARTITION BY k ORDER BY ts, {given})",
    }
    frame = sparkcep.match_pattern(
        rows, "STRT DOWN+ UP+", partition_by="k", order_by="ts", define=DEFINE, measures=MEASURES
    )
    return {"DataFrame": frame} | {name: spark.sql(f"SELECT * FROM {call}") for name, call in calls.items()}


class Silent:
    """A session that does nothing with a statement."""

    def sql(self, text: str, args: Any = None, **parameters: Any) -> str:
        """Return the statement."""
        return text


def enabled(scale: Scale) -> Result:
    """Measure an ordinary statement in a session that understands the clause, and in one that does not."""
    import sparkcep

    result = Result("enabled", "An ordinary statement after sparkcep.enable", scale.settings(statements=STATEMENTS))
    silent: Any = Silent()
    unheard = _seconds(lambda: silent.sql(ORDINARY))
    sparkcep.enable(silent)
    alone = _seconds(lambda: silent.sql(ORDINARY)) - unheard
    with session() as spark:
        rows = spark.range(scale.rows).selectExpr("id % 7 AS k", "id AS ts", "CAST(id AS DOUBLE) AS price")
        rows.createOrReplaceTempView("table_rows")
        parser = spark._jsparkSession.sessionState().sqlParser()
        plain = _seconds(lambda: parser.parsePlan(ORDINARY))
        without, with_it = [], []
        for _ in range(scale.repeats + 1):
            sparkcep.disable(spark)
            without.append(_seconds(lambda: spark.sql(ORDINARY)))
            sparkcep.enable(spark)
            with_it.append(_seconds(lambda: spark.sql(ORDINARY)))
        differences = [after - before for before, after in zip(without[1:], with_it[1:], strict=True)]
    more = statistics.median(differences)
    measured = {
        "parsed by Spark": plain,
        "spark.sql": statistics.median(without[1:]),
        "enabled: more": more,
        "enabled: more, without Spark": alone,
    }
    for name, seconds in measured.items():
        result.records.append({"statement": name, "milliseconds": 1000 * seconds, "÷ parsing": seconds / plain})
    result.at_most("milliseconds more per statement", 1000 * more, 1)
    return result


def _seconds(statement: Callable[[], object]) -> float:
    """Return the median time of a statement."""
    seconds = []
    for _ in range(STATEMENTS):
        begin = time.perf_counter()
        statement()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)
