"""What one writes without a matcher: `applyInPandas` with a loop over the rows of each key."""

from __future__ import annotations

import pandas as pd
from pyspark.sql import DataFrame

FOUND = "first_i bigint, last_i bigint"


def funnel(rows: DataFrame) -> DataFrame:
    """Return a view, carts, a buy, each right behind the other: the numbers of first and last row."""
    return rows.select("key", "ts", "i", "kind").groupBy("key").applyInPandas(_funnel, FOUND)


def v_shape(rows: DataFrame) -> DataFrame:
    """Return falls of the price and the rises right behind them: the numbers of first and last row."""
    return rows.select("key", "ts", "i", "price").groupBy("key").applyInPandas(_v_shape, FOUND)


def _funnel(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.sort_values("ts")
    kinds, numbers = rows["kind"].tolist(), rows["i"].tolist()
    found = []
    at = 0
    while at < len(kinds):
        end = at + 1
        if kinds[at] == "view":
            while end < len(kinds) and kinds[end] == "cart":
                end += 1
            if at + 1 < end < len(kinds) and kinds[end] == "buy":
                found.append((numbers[at], numbers[end]))
                end += 1
        at = end
    return pd.DataFrame(found, columns=["first_i", "last_i"])


def _v_shape(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.sort_values("ts")
    prices, numbers = rows["price"].tolist(), rows["i"].tolist()
    found = []
    at = 0
    while at < len(prices):
        bottom = at
        while bottom + 1 < len(prices) and prices[bottom + 1] < prices[bottom]:
            bottom += 1
        end = bottom
        if bottom > at:
            while end + 1 < len(prices) and prices[end + 1] > prices[end]:
                end += 1
        if end > bottom:
            found.append((numbers[at], numbers[end]))
        at = end + 1
    return pd.DataFrame(found, columns=["first_i", "last_i"])
