"""The time of an event in units of windows, and stretches of it."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from sparkcep.engine.events import EventWindow

_MOST = 9e18


def bucket(time: Column, window: EventWindow) -> Column:
    """Return the number of the stretch, as long as a window, that a time lies in.

    Times that are at most a window apart lie in the same stretch or in neighbouring ones; where they are
    fractions, rounding may put one more between them.

    Parameters
    ----------
    time
        bigint or double, as the window counts.
    """
    return stretch(time, window, 1)


def stretch(time: Column, window: EventWindow, windows: int) -> Column:
    """Return the same for stretches that are `windows` times as long."""
    if window.kind == "float":
        share = time / F.lit(max(float(window.amount) * windows, 1e-300))
        return F.floor(F.least(F.greatest(share, F.lit(-_MOST)), F.lit(_MOST)))
    width = F.lit(max(int(window.amount), 1) * windows).cast("bigint")
    # Rounded down, for negative times too; beyond the lowest number there is none, and all of them are one stretch.
    return F.call_function("div", F.try_subtract(time, F.pmod(time, width)), width)
