"""The input of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame

if TYPE_CHECKING:
    from sparkcep.spark.observation import Observed


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows come from, and how the caller speaks of them.

    Attributes
    ----------
    frame
        The input, with a hidden column for every Column the caller passed in place of text.
    columns
        Names of the caller's own columns.
    alias
        Name the input relation is called by in expressions.
    sort_orders
        Sort orders passed as Columns, by the placeholder that stands for them in ORDER BY.
    drop_null_order
        Whether rows with a NULL first order value are dropped.
    observed
        What the caller wants to be observed, if anything.
    """

    frame: DataFrame
    columns: tuple[str, ...]
    alias: str | None = None
    sort_orders: dict[str, Column] = field(default_factory=dict)
    drop_null_order: bool = False
    observed: Observed | None = None
