"""Counters of a match through ``DataFrame.observe``, and the way back from them to the reader."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread
from typing import Any, Literal
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.window import WindowSpec

from sparkcep.engine.tally import COUNTERS, SAMPLED
from sparkcep.errors import BindingError, PatternSyntaxError, did_you_mean, warn
from sparkcep.planning.counters import Counters
from sparkcep.planning.plans import PlanName
from sparkcep.spark.event_sampling import EventSample
from sparkcep.spark.executors import on_executors
from sparkcep.spark.observed_task import ObservableTask, ObservedTask
from sparkcep.spark.types import quoted

_PEAKS = ("longest_match", "partial_match_peak")
_NEVER_COUNTED: dict[PlanName, tuple[str, ...]] = {
    "sweep": ("partial_match_peak", "runs_merged"),
    "backtrack": ("partial_match_peak", "runs_merged"),
    "ordered": ("partial_match_peak", "runs_merged"),
    "tree": ("runs_merged",),
}
_BY_NAME: dict[str, Observation] = {}
_DROPPED: WeakKeyDictionary[Observation, Observation] = WeakKeyDictionary()
"""The observation of rows that were dropped, by that of the match."""


def read_observation(observation: str | Observation, *, timeout: float = 60.0) -> Counters:
    """Read what ``observe=`` counted in the first job over the matches, and warn about ties.

    Parameters
    ----------
    observation
        What was given as ``observe=``. Of several matches with one name, that whose DataFrame was built last.
    timeout
        Seconds to wait, on classic sessions, until that job has ended and Spark has told the counters.

    Returns
    -------
    Counters
        Rows, partitions, matches and the rest; None where the plan that ran counts no such thing.

    Raises
    ------
    BindingError
        UNKNOWN_OBSERVATION: no match of this Python process was built with that name. NOTHING_OBSERVED: no job has
        run over the matches yet, or it had no need to read them, or it read them where Spark tells nothing:
        through a view of the caller, or in a sub-query that is an expression.

    Warns
    -----
    SparkcepWarning
        Rows of one partition have equal order values, so that the result may depend on how Spark read them.

    Examples
    --------
    >>> falls = df.match_pattern("A B+", order_by="ts", observe="falls")     # doctest: +SKIP
    >>> falls.write.parquet("falls")                                         # doctest: +SKIP
    >>> sparkcep.read_observation("falls").matches                           # doctest: +SKIP
    """
    found = _BY_NAME.get(observation) if isinstance(observation, str) else observation
    if found is None:
        raise BindingError(
            "UNKNOWN_OBSERVATION",
            f"no match was built with observe='{observation}'",
            clause="read_observation",
            found=str(observation),
            allowed=_BY_NAME or "none so far",
            hint=did_you_mean(str(observation), _BY_NAME),
        )
    metrics = _found_in(found, timeout)
    if "plan" not in metrics:
        raise BindingError(
            "NOTHING_OBSERVED",
            "nothing was observed of a match",
            clause="read_observation",
            found=str(metrics or "no metrics"),
            hint="pass it as observe= to match_pattern, and run a job over the DataFrame that it returns",
        )
    dropped = _DROPPED.get(found)
    if dropped is not None:
        metrics.update(_found_in(dropped, timeout))
    counters = Counters.of(metrics)
    _warn_of_ties(counters)
    return counters


def _warn_of_ties(counters: Counters) -> None:
    if counters.ties:
        warn(
            f"{counters.ties:,} of {counters.rows or 0:,} rows have the same order values as the row before them in "
            "their partition: which comes first, and so what matches, depends on how Spark read them; add columns to "
            "order_by that tell them apart"
        )


def _found_in(observation: Observation, timeout: float) -> dict[str, Any]:
    """Return the metrics of an observation, none where Spark has not told any."""
    found: dict[str, Any] = {}
    raised: list[Exception] = []

    def read() -> None:
        try:
            found.update(observation.get)
        except Exception as error:
            # Classic PySpark fails to read metrics that are not there, by an assertion of its Java side.
            if type(error).__name__ != "Py4JJavaError":
                raised.append(error)

    # A classic Observation waits without end, so somebody else must.
    reader = Thread(target=read, daemon=True)
    reader.start()
    reader.join(timeout)
    if raised:
        raise raised[0]
    return found


def counters_of(observed: str | Observation | Counters | None) -> Counters | None:
    """Return counters, read if they are not."""
    return observed if observed is None or isinstance(observed, Counters) else read_observation(observed)


@dataclass(frozen=True, slots=True)
class Groups:
    """How workers see the rows of a match.

    Attributes
    ----------
    plan
        The engine.
    prefix
        Of hidden columns.
    partitions
        "whole": groups of rows are partitions; "one": all rows are one; "cut": groups are parts of partitions.
    """

    plan: PlanName
    prefix: str
    partitions: Literal["whole", "one", "cut"] = "whole"


class Observed:
    """What a caller gave as ``observe=``.

    Parameters
    ----------
    given
        A name, or an Observation of Spark.

    Raises
    ------
    PatternSyntaxError
        WRONG_ARGUMENT: it is neither.
    """

    def __init__(self, given: Any) -> None:
        if not (isinstance(given, str) and given) and not hasattr(type(given), "get"):
            raise PatternSyntaxError(
                "WRONG_ARGUMENT",
                "observe names an observation, or is one",
                clause="observe",
                found=repr(given),
                allowed="a text, a pyspark.sql.Observation",
            )
        self.given: str | Observation = given
        self._dropped: Observation | None = None

    def matches(self, frame: DataFrame, plan: PlanName, metrics: dict[str, Column]) -> DataFrame:
        """Return a frame that is observed."""
        given = self.given
        observation = Observation(given) if isinstance(given, str) else given
        if isinstance(given, str):
            _BY_NAME[given] = observation
        if self._dropped is not None:
            _DROPPED[observation] = self._dropped
        told = [F.lit(plan).alias("plan"), *(metric.alias(name) for name, metric in metrics.items())]
        return frame.observe(observation, *told)

    def without_null_order(self, frame: DataFrame, order: Column) -> DataFrame:
        """Drop rows without an order value, and count them in an observation of their own."""
        self._dropped = Observation()
        counted = F.count(F.when(order.isNull(), F.lit(1))).alias("dropped")
        return frame.observe(self._dropped, counted).where(order.isNotNull())

    def emitted(
        self,
        sent: DataFrame,
        task: ObservableTask,
        schema: T.StructType,
        groups: Groups,
        sample: EventSample | None,
    ) -> DataFrame:
        """Match in workers as without an observation, and observe what they count.

        Parameters
        ----------
        sent
            What workers are sent.
        task, schema
            What they do, and what they put out.
        sample
            What looks closer at some events.
        """
        name = f"{groups.prefix}_counters"
        counting = ObservedTask(task, tie_mark(groups.prefix), name, groups.partitions == "whole", sample)
        numbers = [T.StructField(counter, T.LongType()) for counter in COUNTERS]
        kind = T.StructType([*numbers, T.StructField(SAMPLED, T.ArrayType(T.LongType()))])
        rows = sent.mapInArrow(on_executors(counting.run), T.StructType([*schema.fields, T.StructField(name, kind)]))
        counters = F.col(quoted(name))
        metrics = _metrics(counters, groups) | _sampled(counters, sample)
        return self.matches(rows, groups.plan, metrics).where(counters.isNull()).drop(name)


def _metrics(counters: Column, groups: Groups) -> dict[str, Column]:
    """Return what is observed of a column that is NULL in output, and holds the counters of a task in its last row."""
    # Without rows there are no counters, but with output and without counters the job stopped early.
    nothing = F.when(F.count(F.when(counters.isNull(), F.lit(1))) == 0, F.lit(0))
    found = {}
    for name in COUNTERS:
        values = counters.getField(name)
        if name not in _NEVER_COUNTED.get(groups.plan, ()):
            found[name] = F.coalesce(F.max(values) if name in _PEAKS else F.try_sum(values), nothing)
    if groups.partitions == "one":
        found["partitions"] = F.least(found["rows"], F.lit(1))
    elif groups.partitions == "cut":
        del found["partitions"]
    return found


def _sampled(counters: Column, sample: EventSample | None) -> dict[str, Column]:
    """Return what is observed of the numbers of a sample."""
    names, numbers = [] if sample is None else sample.names(), counters.getField(SAMPLED)
    return {f"{SAMPLED} {name}": F.try_sum(numbers.getItem(place)) for place, name in enumerate(names)}


def tie_mark(prefix: str) -> str:
    """Return the name of the column that marks ties: 1 or 0; NULL for copies of rows."""
    return f"{prefix}_tie"


def tied(window: WindowSpec) -> Column:
    """Return 1 where a row has the same order values as one before it, else 0.

    Ranks leave ties out, whatever rows are sorted by; both functions share the window that numbers the rows.
    """
    return (F.rank().over(window) != F.row_number().over(window)).cast("tinyint")


def observed_rows(matches: Column, length: int, number: Column, tie: Column) -> dict[str, Column]:
    """Return what is observed of rows of which some are the first one of a match.

    Parameters
    ----------
    matches
        Whether a row is.
    length
        How many rows each match has.
    number, tie
        The number of the row in its partition, and whether it ties.
    """
    return {
        "rows": F.count(F.lit(1)),
        "partitions": F.count(F.when(number == 1, F.lit(1))),
        "ties": F.coalesce(F.sum(tie), F.lit(0)),
        "matches": F.count(F.when(matches, F.lit(1))),
        "longest_match": F.coalesce(F.max(F.when(matches, F.lit(length))), F.lit(0)),
    }


def observed_events(events: Column) -> dict[str, Column]:
    """Return what is observed of matches that are arrays of events."""
    return {"matches": F.count(F.lit(1)), "longest_match": F.coalesce(F.max(F.size(events)), F.lit(0))}


def observed_counts(counts: Column) -> dict[str, Column]:
    """Return what is observed of counts of matches."""
    return {"matches": F.coalesce(F.try_sum(counts), F.lit(0)).try_cast("bigint")}
