"""The rows of the benchmarks: one Parquet folder per size, made once from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent / "data"
SEED = 7
FILES = 8
KINDS = ("view", "other", "cart", "buy")
KIND_SHARES = (0.5, 0.2, 0.2, 0.1)
GROUP_COUNTS = (1, 100, 10_000, 100_000, 1_000_000)


def events(rows: int) -> Path:
    """Return the folder with `rows` events; it is written if it is not there.

    Columns: ``g1 … g1000000`` (the row's key among that many), ``ts`` (ascending, distinct),
    ``price`` (a random walk, also over any subset of the rows), ``kind``, ``amount``
    (uniform in 0 … 999), all in order of time.
    """
    folder = FOLDER / f"events_{rows}"
    if (folder / "_complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    table = _events(rows)
    size = -(-rows // FILES)
    for part in range(FILES):
        pq.write_table(table.slice(part * size, size), folder / f"part-{part}.parquet")
    (folder / "_complete").touch()
    return folder


def _events(rows: int) -> pa.Table:
    rng = np.random.default_rng(SEED)
    columns = {f"g{count}": rng.integers(0, count, rows) for count in GROUP_COUNTS}
    seconds = np.cumsum(rng.integers(1, 4, rows))
    columns["price"] = 100 + np.cumsum(rng.standard_normal(rows))
    columns["amount"] = rng.integers(0, 1000, rows)
    kind = rng.choice(len(KINDS), rows, p=KIND_SHARES)
    table = pa.table(columns)
    stamps = pa.array(1_700_000_000_000_000 + 1_000_000 * seconds).cast(pa.timestamp("us", "UTC"))
    names = pa.DictionaryArray.from_arrays(kind.astype(np.int8), pa.array(KINDS)).dictionary_decode()
    return table.append_column("ts", stamps).append_column("kind", names)
