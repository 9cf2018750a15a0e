"""Options of the caller, and the candidates a plan is chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sparkcep.planning.costs import Work
from sparkcep.planning.statistics import Statistics

PlanName = Literal["sweep", "backtrack", "window", "runs", "ordered", "tree", "join"]
AUTO, NEVER = "auto", "never"
_PLANS = ("auto", *get_args(PlanName))


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may say about how, never about what.

    Parameters
    ----------
    plan
        "auto" lets the planner choose; "sweep", "backtrack", "window" (row patterns), "runs", "ordered",
        "tree" or "join" (event patterns) forces an engine and is an error when that engine may not serve the pattern.
    max_steps
        Work budget of the backtracking engine per partition, in program steps; beyond it the
        query fails with an error that names the partition.
    merge_runs
        Whether partial matches of an event pattern that differ in nothing a later condition reads
        are kept as one; False is slower and finds the same.
    max_partial_matches
        Budget of partial matches of an event pattern that are open at a time, per partition.
    overflow
        What happens beyond that budget: "fail" stops the query with an error that names the partition.
    seed
        Of the random numbers of ``sample=``: the same seed over the same rows draws the same matches.
    stats
        What is known of an event pattern's variables: the planner compares engines by it, and "ordered"
        binds first what is rare and selective.
    sample
        How many rows of the input to measure `stats` on before planning, if none are given: the one option that
        runs a job when the DataFrame is built. None: no job.
    semi_join
        A variable that every match binds: rows without an event of it in their partition (or, without keys, in
        their window) are dropped before the shuffle, at the price of reading the input twice. "auto": where
        `stats` tell that most are; "never".
    slices
        How many windows of time a slice of a partition is long: slices are matched in parallel, each with the
        rows of one window behind it; skip rules, and ``matches="non_overlapping"``, choose among the candidates of
        all of them. "auto": slices of 32 windows where there is no `partition_by`, or `stats` tell of one that
        holds more than a quarter of the rows; where such a choice is left, only if four tasks may run at once.
        "never".

    Examples
    --------
    >>> Options(plan="backtrack").plan
    'backtrack'
    """

    plan: Literal["auto"] | PlanName = "auto"
    max_steps: int = 2_000_000_000
    merge_runs: bool = True
    max_partial_matches: int = 10_000_000
    overflow: Literal["fail"] = "fail"
    seed: int = 0
    stats: Statistics | None = None
    sample: int | None = None
    semi_join: str = AUTO
    slices: int | Literal["auto", "never"] = "auto"

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.plan not in _PLANS:
            raise ValueError(f"plan is {', '.join(map(repr, _PLANS[:-1]))} or {_PLANS[-1]!r}, not {self.plan!r}")
        is_count = isinstance(self.slices, int) and not isinstance(self.slices, bool) and self.slices >= 1
        if not is_count and self.slices not in (AUTO, NEVER):
            raise ValueError(f"slices are a number of windows from 1 on, 'auto' or 'never', not {self.slices!r}")
        if self.sample is not None and not (isinstance(self.sample, int) and self.sample >= 1):
            raise ValueError(f"sample is a number of rows from 1 on, or None, not {self.sample!r}")
        if self.max_steps < 1:
            raise ValueError(f"max_steps is at least 1, not {self.max_steps}")
        if self.max_partial_matches < 1:
            raise ValueError(f"max_partial_matches is at least 1, not {self.max_partial_matches}")
        if self.overflow != "fail":
            raise ValueError(f"overflow is 'fail', not {self.overflow!r}")
        if not isinstance(self.stats, Statistics | None):
            raise ValueError(f"stats are sparkcep.Statistics, not {self.stats!r}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One engine that might find the matches.

    Attributes
    ----------
    cost
        Row visits per input row; None when the engine may not serve the pattern.
    reason
        Why it is legal or not, why it won or lost.
    work
        What the cost was computed from, where statistics tell it.
    """

    name: PlanName
    cost: float | None
    reason: str
    work: Work | None = None

    @property
    def legal(self) -> bool:
        """Whether the engine may serve the pattern."""
        return self.cost is not None


@dataclass(frozen=True, slots=True)
class Decision:
    """The candidate that was chosen, all that were weighed, and what else was decided, in words."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()
