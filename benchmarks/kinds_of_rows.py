"""Benchmarks of rows as they come in life: skewed keys, wide and nested rows, texts, decimals, all rows returned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.data import FOLDER, SEED, events
from benchmarks.jobs import MIB, Scale, against_floor, run
from benchmarks.race import race
from benchmarks.report import Result
from benchmarks.session import session
from benchmarks.workloads import FUNNEL, V_SHAPE, Workload

WIDE = 100
KEY = "g10000"
# Keys k = 1, 2, … with shares like k^−1.5, drawn from a key that is uniform among a million.
SKEWED = "LEAST(CAST(POW(1 - g1000000 / 1e6D, -2) AS BIGINT), 1000000)"
COLUMNS = ("price", "amount", "ts", "kind")


def _all_rows(name: str, columns: tuple[str, ...]) -> Workload:
    arguments = {"rows_per_match": "all"}
    return replace(FUNNEL, name=name, measures={"n": "MATCH_NUMBER()"}, columns=columns, arguments=arguments)


def _falling(name: str, column: str, sent: str) -> Workload:
    define = {"DOWN": f"{column} < LAST({column}, 1)", "UP": f"{column} > LAST({column}, 1)"}
    return Workload(name, V_SHAPE.pattern, define, {"bottom": f"LAST(DOWN.{column})"}, columns=(sent,))


def kinds_of_rows(scale: Scale) -> Result:
    """Measure whole jobs against their floors, which read and send the same columns."""
    result = Result("kinds_of_rows", "Skewed, wide and nested rows: whole job ÷ floor", scale.settings())
    with session() as spark:
        rows = spark.read.parquet(str(events(scale.rows)))
        wide = spark.read.parquet(str(wide_events(scale.rows)))
        typed = rows.selectExpr(
            "*", f"{SKEWED} AS skewed", "CAST(price AS DECIMAL(12, 4)) AS exact",
            "named_struct('price', price) AS nested",
            "CONCAT('price ', LPAD(CAST(CAST(price * 100 AS BIGINT) AS STRING), 12, '0')) AS text",
        )  # fmt: skip
        more = tuple(name for name in wide.columns if name not in (KEY, "ts"))
        races: tuple[tuple[DataFrame, Workload, str], ...] = (
            (typed, replace(FUNNEL, name="skewed keys"), "skewed"),
            (wide, replace(FUNNEL, name=f"{WIDE} columns, 3 read"), KEY),
            (rows, _all_rows("all rows", COLUMNS), KEY),
            (wide, _all_rows(f"all rows of {WIDE} columns", ("ts", *more)), KEY),
            (typed, _falling("decimals compared", "exact", "exact"), KEY),
            (typed, _falling("fields compared", "nested.price", "nested"), KEY),
            (typed, _falling("texts compared", "text", "text"), KEY),
        )
        result.records += [against_floor(*race_, scale) for race_ in races]
    return result


def wide_events(rows: int) -> Path:
    """Return a file of as many rows of `WIDE` columns: key, time, kind, and numbers nobody asks for."""
    file = FOLDER / f"wide_{rows}.parquet"
    if file.exists():
        return file
    random = np.random.default_rng(SEED)
    columns = {
        KEY: random.integers(0, 10_000, rows),
        "ts": np.arange(rows),
        "kind": random.choice(np.array(["view", "other", "cart", "buy"]), rows, p=(0.5, 0.2, 0.2, 0.1)),
    }
    columns |= {f"c{number}": random.integers(0, 1000, rows) for number in range(WIDE - len(columns))}
    FOLDER.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file.with_suffix(".part"))
    return file.with_suffix(".part").rename(file)


def window_memory(scale: Scale) -> Result:
    """Measure bar 10: memory of a worker on one partition with a window, a tenth of the rows and all of them."""
    result = Result("window_memory", "Memory of a worker on one partition with WITHIN 1000", scale.settings())
    with session(reuse_workers=False) as spark:
        spark.conf.set("spark.sql.shuffle.partitions", 1)
        for name, engine in (("row pattern", "sweep"), ("row pattern", "backtrack"), ("event pattern", "runs")):
            tenth, whole = (_peak_within(spark, engine, rows) for rows in (scale.rows // 10, scale.rows))
            record = {"what": name, "engine": engine, "⅒ MiB": tenth // MIB, "1 MiB": whole // MIB}
            result.records.append(record)
            result.at_most(f"{engine}: memory of ten times the rows", whole / tenth, 1.3)
    return result


def _peak_within(spark: SparkSession, engine: str, rows: int) -> int:
    frame = spark.range(rows).selectExpr("id AS t", "pmod(hash(id), 1000) AS x")
    job = _within(frame, engine)
    return race({"job": lambda: run(job)}, repeats=1, warm_up=0, watch_every=0.1)["job"].peak


def _within(frame: DataFrame, engine: str) -> DataFrame:
    import sparkcep

    if engine == "runs":
        return sparkcep.match_pattern(
            frame,
            """SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { b[i].x > b[i-1].x } WITHIN 1000
            RETURN a.t AS began, COUNT(b) AS n""",
            order_by="t",
            types={"A": "x < 10", "B": "x BETWEEN 10 AND 900", "C": "x > 900"},
            options=sparkcep.Options(plan="runs", slices="never"),
        )
    return sparkcep.match_pattern(
        frame,
        "A B* C",
        order_by="t",
        define={"A": "x < 10", "B": "x < 990" if engine == "sweep" else "x < A.x + 900", "C": "x >= 990"},
        measures={"began": "A.t", "n": "COUNT(B.*)"},
        within="1000",
        after_match="to next row",
        options=sparkcep.Options(plan=engine),  # type: ignore[arg-type]
    )
