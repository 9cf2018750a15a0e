"""Runs jobs in turns and compares them: medians, spread, ratios of one run."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.session import WorkerMemory

Job = Callable[[], object]


@dataclass(slots=True)
class Timing:
    """Seconds of each repetition of one job, and the largest worker seen in them (bytes)."""

    seconds: list[float] = field(default_factory=list)
    peak: int = 0

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Distance between slowest and fastest repetition, as a share of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median


def race(
    jobs: Mapping[str, Job],
    *,
    repeats: int,
    warm_up: int = 1,
    watch_every: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
    budget: float = math.inf,
) -> dict[str, Timing]:
    """Run all jobs in turns, so that what disturbs the machine disturbs all of them.

    `watch_every` is the interval in seconds at which short-lived workers are looked for;
    `clock` tells the time: that of the processor for what runs in this thread alone.
    Every other round goes backwards, so that no job always follows the same one.
    Once all rounds together took `budget` seconds, no further one begins; one is always run.
    """
    end = time.perf_counter() + budget
    timings = {name: Timing() for name in jobs}
    for round_number in range(-warm_up, repeats):
        if round_number > 0 and time.perf_counter() > end:
            break
        names = list(jobs) if round_number % 2 else list(jobs)[::-1]
        for name in names:
            gc.collect()
            with WorkerMemory(watch_every) as memory:
                begin = clock()
                jobs[name]()
                seconds = clock() - begin
            if round_number >= 0:
                timings[name].seconds.append(seconds)
                timings[name].peak = max(timings[name].peak, memory.peak)
    return timings


def paired_ratio(over: Timing, under: Timing) -> float:
    """Return the median of the ratios of neighbouring repetitions."""
    return statistics.median(a / b for a, b in zip(over.seconds, under.seconds, strict=True))


def line_through(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Return slope, intercept and R² of the least-squares line."""
    slope, intercept = statistics.linear_regression(x, y)
    middle = statistics.fmean(y)
    total = sum((value - middle) ** 2 for value in y)
    left = sum((value - slope * at - intercept) ** 2 for at, value in zip(x, y, strict=True))
    return slope, intercept, 1 - left / total if total else 1.0
