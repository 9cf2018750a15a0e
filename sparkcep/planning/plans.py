"""Options of the caller, and the candidates a plan is chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PlanName = Literal["sweep", "backtrack"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may say about how, never about what.

    Parameters
    ----------
    plan
        "auto" lets the planner choose; "sweep" or "backtrack" forces an engine and is an error
        when that engine may not serve the pattern.
    max_steps
        Work budget of the backtracking engine per partition, in program steps; beyond it the
        query fails with an error that names the partition.

    Examples
    --------
    >>> Options(plan="backtrack").plan
    'backtrack'
    """

    plan: Literal["auto", "sweep", "backtrack"] = "auto"
    max_steps: int = 2_000_000_000

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.plan not in ("auto", "sweep", "backtrack"):
            raise ValueError(f"plan is 'auto', 'sweep' or 'backtrack', not {self.plan!r}")
        if self.max_steps < 1:
            raise ValueError(f"max_steps is at least 1, not {self.max_steps}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One engine that might find the matches.

    Attributes
    ----------
    cost
        Row visits per input row; None when the engine may not serve the pattern.
    reason
        Why it is legal or not, why it won or lost.
    """

    name: PlanName
    cost: float | None
    reason: str

    @property
    def legal(self) -> bool:
        """Whether the engine may serve the pattern."""
        return self.cost is not None


@dataclass(frozen=True, slots=True)
class Decision:
    """The candidate that was chosen, and all that were weighed."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]
