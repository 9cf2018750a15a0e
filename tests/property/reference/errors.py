"""What the reference refuses."""

from __future__ import annotations


class ReferenceError_(Exception):
    """A clause that means nothing, or data that the clause cannot be applied to.

    Attributes
    ----------
    stage
        "plan": the clause is wrong whatever the data are. "data": it fails on these rows.
    """

    def __init__(self, message: str, stage: str = "plan") -> None:
        super().__init__(message)
        self.stage = stage


class StepLimitReached(Exception):
    """Brute force did not end in reasonable time: the case judges nothing."""
