"""What a matcher has done, counted beside its work."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.engine.events import EventMatches
from sparkcep.engine.matches import Matches

LARGEST_COUNT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class EngineWork:
    """What an engine of event patterns has done so far.

    Attributes
    ----------
    condition_tests
        Events that were tested against partial matches, or partial matches against one another.
    partial_match_peak
        The most partial matches that were kept at a time; None where none are kept.
    runs_merged
        Partial matches that were merged with equal ones; None where none ever are.
    """

    condition_tests: int
    partial_match_peak: int | None = None
    runs_merged: int | None = None


@dataclass(slots=True)
class Tally:
    """Counters of one Spark partition; None where the engine counts no such thing.

    Attributes
    ----------
    rows
        Rows that were matched.
    partitions
        Groups of rows that began.
    ties
        Rows with the same order values as the row before them in their group.
    matches, longest_match
        Matches that were found; rows (row patterns) or events (event patterns) of the longest one.
    condition_tests, partial_match_peak, runs_merged
        See `EngineWork`; row patterns: rows × passes of the sweep, steps of the backtracking machine.
    """

    rows: int = 0
    partitions: int | None = 0
    ties: int = 0
    matches: int = 0
    longest_match: int | None = 0
    partial_match_peak: int | None = None
    runs_merged: int | None = None
    condition_tests: int = 0

    def add_rows(self, marks: pa.Array | pa.ChunkedArray, partitions: int | None) -> None:
        """Count rows by their marks: 1 with a tie, 0 without, NULL for a copy that counts elsewhere."""
        self.rows += len(marks) - marks.null_count
        self.ties += pc.sum(marks).as_py() or 0
        self.partitions = None if partitions is None or self.partitions is None else self.partitions + partitions

    def add_row_matches(self, matches: Matches) -> None:
        """Count the matches of a row pattern, empty ones among them, and the steps it took to find them."""
        self.matches += len(matches.start)
        self._lengthen(matches.end - matches.start)
        self.condition_tests += matches.steps

    def add_event_matches(self, matches: EventMatches, work: EngineWork) -> None:
        """Count the matches of an event pattern, time-outs left out; what is not listed has no known length."""
        found = matches.waiting < 0 if len(matches.waiting) else np.ones(matches.count, np.bool_)
        self.matches += int(found.sum())
        self._lengthen(np.diff(matches.offsets)[found])
        unlisted = [count for _, count in matches.counts] + [graph.count for graph in matches.graphs]
        if unlisted:
            self.matches, self.longest_match = min(self.matches + sum(unlisted), LARGEST_COUNT), None
        self.condition_tests = work.condition_tests
        self.partial_match_peak, self.runs_merged = work.partial_match_peak, work.runs_merged

    def _lengthen(self, lengths: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        if self.longest_match is not None and len(lengths):
            self.longest_match = max(self.longest_match, int(lengths.max()))

    def struct(self, sampled: list[int] | None) -> pa.Array:
        """Return the counters as one struct, with what was counted on a sample."""
        return pa.array([{SAMPLED: sampled} | {name: getattr(self, name) for name in COUNTERS}], COUNTERS_TYPE)


COUNTERS = tuple(field.name for field in fields(Tally))
SAMPLED = "sampled"
COUNTERS_TYPE = pa.struct([*((name, pa.int64()) for name in COUNTERS), (SAMPLED, pa.list_(pa.int64()))])
