"""What a match has done, as an observation tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sparkcep.planning.statistics import SampledEvents, Statistics

_SAMPLED = "sampled "
"""What metrics begin with that were counted on a sample of events: ``sampled events a``, ``sampled tested a b``."""


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
    statistics
        Rates and selectivities, measured on the first rows of each Spark partition on their way to the matcher; None
        where no plan would use them. `Options(stats=…)` takes them for the next run.
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
    statistics: Statistics | None = field(default=None, compare=False)

    @classmethod
    def of(cls, metrics: Mapping[str, Any]) -> Counters:
        """Return the counters among the metrics of an observation."""
        found = {each.name: metrics[each.name] for each in fields(cls) if each.name in metrics}
        return cls(**found, statistics=_statistics(metrics))

    def counted(self) -> dict[str, int]:
        """Return what was counted, by the names in words."""
        found = {name.replace("_", " "): getattr(self, name) for name in _NUMBERS}
        return {name: value for name, value in found.items() if value is not None}

    def uncounted(self) -> list[str]:
        """Return the names, in words, of what was not; `dropped` is asked for apart."""
        names = [name for name in _NUMBERS if name != "dropped"]
        return [name.replace("_", " ") for name in names if getattr(self, name) is None]


_NUMBERS = tuple(each.name for each in fields(Counters) if each.name not in ("plan", "statistics"))


def _statistics(metrics: Mapping[str, Any]) -> Statistics | None:
    """Return the statistics among the metrics of an observation."""
    told = {tuple(name.split()[1:]): int(value or 0) for name, value in metrics.items() if name.startswith(_SAMPLED)}
    if not told.get(("rows",)):
        return None

    def counts(what: str) -> dict[Any, int]:
        return {key[1:]: value for key, value in told.items() if key[0] == what}

    events = {variable: count for (variable,), count in counts("events").items()}
    sample = SampledEvents(told["rows",], told["in_windows",], events, counts("tested"), counts("passed"))
    return Statistics(sample.rates(), sample.selectivities(), rows=metrics.get("rows"))
