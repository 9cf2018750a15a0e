"""Whether events are near enough to each other, and which one is later."""

from __future__ import annotations

import numpy as np

from sparkcep.engine.compiled import inlined
from sparkcep.engine.event_tables import EVENTS, FLOAT, NO_WINDOW, Stream, Window, Windows
from sparkcep.engine.matches import Int64s


@inlined
def fits(stream: Stream, kind: int, whole: int, fraction: float, inclusive: bool, first: int, last: int) -> bool:
    """Tell whether row `last` is inside of a window from row `first` on."""
    if kind == NO_WINDOW:
        return True
    if kind == FLOAT:
        early, late = stream.fraction[first], stream.fraction[last]
        if early == late or (np.isnan(early) and np.isnan(late)):
            distance = 0.0
        else:
            distance = np.inf if np.isnan(late) else late - early
        return distance < fraction or (inclusive and distance == fraction)
    if whole < 0:
        return False
    if kind == EVENTS:
        return stream.ordinals[last] - stream.ordinals[first] <= whole
    # Order values ascend: as unsigned numbers differences are exact.
    return np.uint64(stream.whole[last]) - np.uint64(stream.whole[first]) <= np.uint64(whole)


@inlined
def is_later(stream: Stream, row: int, other: int) -> bool:
    """Tell whether row `other`, which lies behind `row`, has a later order value."""
    if stream.whole.shape[0]:
        return stream.whole[row] < stream.whole[other]
    return stream.fraction[row] < stream.fraction[other] or (
        np.isnan(stream.fraction[other]) and not np.isnan(stream.fraction[row])
    )


@inlined
def in_window(stream: Stream, window: Window, first: int, last: int) -> bool:
    """Tell whether row `last` is inside of `window` from row `first` on."""
    return fits(stream, window.kind, window.whole, window.fraction, window.inclusive, first, last)


@inlined
def is_open(stream: Stream, window: Window, class_counts: Int64s, first: int, now: int) -> bool:
    """Tell whether an event behind row `now` may still be inside of `window` from row `first` on.

    Windows of events count those of the class of `first`, whatever class row `now` has.
    """
    if window.kind == EVENTS:
        return class_counts[stream.classes[first]] - 1 - stream.ordinals[first] <= window.whole
    return in_window(stream, window, first, now)


@inlined
def in_own_window(stream: Stream, windows: Windows, index: int, first: int, last: int) -> bool:
    """Tell whether row `last` is inside of window `index` from row `first` on."""
    return fits(
        stream,
        windows.kind[index],
        windows.whole[index],
        windows.fraction[index],
        windows.inclusive[index],
        first,
        last,
    )
