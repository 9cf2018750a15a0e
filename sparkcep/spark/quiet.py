"""Spark's Python side logs every error of a query with its stack: unwanted where the error is told in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

from sparkcep.private_pyspark import QUERY_LOGGERS


@contextmanager
def query_errors_unlogged() -> Iterator[None]:
    """Keep errors of queries out of the log inside the block; they are raised as ever."""
    loggers = [PySparkLogger.getLogger(name) for name in QUERY_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
