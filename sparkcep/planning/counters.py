"""What a match has done, as an observation tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Counters:
    """What was counted while a match ran; None where the plan counts no such thing.

    All of them speak of the Spark partitions that were read to their ends: of a job that stops early, as ``show()``
    and ``limit`` let it, they tell a part or nothing.

    Attributes
    ----------
    plan
        The engine or plan that ran.
    rows
        Rows that reached it; those that can take part in no match are filtered out before.
    partitions
        Partitions of ``partition_by`` that these rows form.
    ties
        Rows with the same order values as the row before them in their partition. Which of such rows comes first
        depends on how Spark happened to read them, and so may the matches.
    matches
        Matches that were found, empty ones among them; at most 2^63 − 1.
    longest_match
        The most rows of a match of a row pattern, or events of a match of an event pattern. None for
        ``matches="count"`` and ``"graph"``, which list none.
    partial_match_peak
        The most partial matches that one task kept at a time: "runs", "tree".
    runs_merged
        Partial matches that were merged with equal ones: "runs".
    condition_tests
        "sweep": rows × passes. "backtrack": steps of its machine. "runs": visits of partial matches by events.
        "ordered": events tested against those bound before them. "tree": candidates tested against partial matches.
    dropped
        Rows that ``null_order_value="drop"`` dropped; None without it.
    """

    plan: str
    rows: int | None = None
    partitions: int | None = None
    ties: int | None = None
    matches: int | None = None
    longest_match: int | None = None
    partial_match_peak: int | None = None
    runs_merged: int | None = None
    condition_tests: int | None = None
    dropped: int | None = None

    @classmethod
    def of(cls, metrics: Mapping[str, Any]) -> Counters:
        """Return the counters among the metrics of an observation."""
        return cls(**{field.name: metrics[field.name] for field in fields(cls) if field.name in metrics})

    def counted(self) -> dict[str, int]:
        """Return what was counted, by the names in words."""
        found = {field.name.replace("_", " "): getattr(self, field.name) for field in fields(self)[1:]}
        return {name: value for name, value in found.items() if value is not None}

    def uncounted(self) -> list[str]:
        """Return the names, in words, of what was not; `dropped` is asked for apart."""
        names = [field.name for field in fields(self)[1:] if field.name != "dropped"]
        return [name.replace("_", " ") for name in names if getattr(self, name) is None]
