"""Runs pandas-match-recognize (Python, one core) over a file of rows; see `serving` for how it is told what to do."""

from collections.abc import Iterable

import pandas as pd
from pandas_match_recognize import match_recognize
from row_jobs import COLUMNS, FUNNEL, V_SHAPE
from serving import serve

JOBS = {job.name: job for job in (FUNNEL, V_SHAPE)}


def load(path: str) -> pd.DataFrame:
    """Return the rows."""
    return pd.read_csv(path, names=list(COLUMNS), parse_dates=["ts"])


def match(job: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Find the matches."""
    return match_recognize(JOBS[job].sql(), rows)


def listed(found: pd.DataFrame, rows: pd.DataFrame) -> Iterable[tuple[int, ...]]:
    """Return the numbers of each match's first and last row."""
    return zip(found["first_i"].astype(int).tolist(), found["last_i"].astype(int).tolist(), strict=True)


if __name__ == "__main__":
    serve(load, match, listed)
