"""Tables in files, by extension: Parquet, CSV with a header, JSON lines."""

from __future__ import annotations

from pathlib import PurePosixPath

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from sparkcep.errors import CommandError

EXTENSIONS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}


def format_of(path: str) -> str:
    """Return Spark's name of a file's format.

    Raises
    ------
    CommandError
        UNKNOWN_EXTENSION.

    Examples
    --------
    >>> format_of("data/flights.PARQUET"), format_of("s3a://bucket/day=1/part.csv.gz")
    ('parquet', 'csv')
    """
    suffixes = [suffix.lower() for suffix in PurePosixPath(path.rstrip("/")).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst"):
        suffixes.pop()
    kind = EXTENSIONS.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise CommandError(
            "UNKNOWN_EXTENSION",
            f"The extension of '{path}' does not say what is in the file.",
            found=suffixes[-1] if suffixes else "no extension",
            allowed=EXTENSIONS,
        )
    return kind


def read_table(spark: SparkSession, path: str) -> DataFrame:
    """Read a file or a folder of files; CSV has a header and its types are inferred, which reads it once more."""
    kind = format_of(path)
    reader = spark.read.format(kind)
    return (reader.options(header=True, inferSchema=True) if kind == "csv" else reader).load(path)


def write_table(frame: DataFrame, path: str, *, overwrite: bool = False) -> int:
    """Write a DataFrame as Spark does, a folder of part files, and return the number of rows.

    The rows are counted while they are written.
    """
    kind = format_of(path)
    counted = Observation()
    writer = frame.observe(counted, F.count(F.lit(1)).alias("rows")).write.format(kind)
    writer = writer.option("header", True) if kind == "csv" else writer
    writer.mode("overwrite" if overwrite else "error").save(path)
    return int(counted.get["rows"])
