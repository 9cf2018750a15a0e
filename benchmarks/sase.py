"""The stock stream of Agrawal et al. 2008 and its queries: rebuilt data, as matchers get them.

A stock's price moves by one step, up, down or not at all, modulo 1000; the queries look for a run
of prices after a round one, closed by a trade of small volume, within a number of events per stock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkcep.engine.events import EventRows, EventSearch, TimeUnits
from sparkcep.engine.matches import Int64s
from sparkcep.engine.runs_program import RunsProgram, compile_runs
from sparkcep.logical.event_binder import bind_events
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.syntax.clause import Fragment
from sparkcep.syntax.sase import parse_event_pattern

SEED = 7
COLUMNS = ("i", "symbol", "price", "volume")
START, END = "price % 500 = 0", "volume < 150"
RISING = {
    "p1": "",
    "p2": "AND a[i].price > a[i-1].price",
    "p3min": "AND a[i].price > MIN(a[..i-1].price)",
}
STRATEGIES = {"s2": "partition_contiguity", "s3": "skip_till_next_match"}


@dataclass(frozen=True, slots=True)
class Stock:
    """The stream: int64[n] each, one row per trade in order of time; symbols are 1 and 2."""

    symbol: Int64s
    price: Int64s
    volume: Int64s

    @property
    def count(self) -> int:
        """The number of trades."""
        return len(self.symbol)

    @property
    def conditions(self) -> dict[str, np.ndarray]:
        """What the queries ask of one row, by their words for it."""
        return {START: self.price % 500 == 0, END: self.volume < 150}


def stock(count: int, rising: float = 0.7) -> Stock:
    """Draw `count` trades; prices rise with the probability `rising`, and fall half as often as not."""
    random = np.random.default_rng(SEED)
    symbol, volume = random.integers(1, 3, count), random.integers(1, 1001, count)
    chance, first = random.random(count), random.integers(0, 1000, 2)
    step = np.where(chance < rising, 1, np.where(chance < rising + (1 - rising) / 2, -1, 0))
    price = np.empty(count, np.int64)
    for one in (1, 2):
        own = symbol == one
        price[own] = (first[one - 1] + np.cumsum(step[own])) % 1000
    return Stock(symbol, price, volume)


@dataclass(frozen=True, slots=True)
class Query:
    """A query of the paper: which prices go on with a run (p1, p2, p3min), the strategy (s2, s3), the window."""

    rising: str
    strategy: str
    window: int

    @property
    def name(self) -> str:
        """The paper's name for it."""
        return f"{self.rising} {self.strategy}"

    @property
    def text(self) -> str:
        """The pattern."""
        return f"""SEQ(_+ a[], _ b)
            WHERE {STRATEGIES[self.strategy]} {{
                [symbol] AND a[1].{START} {RISING[self.rising]} AND b.{END}
            }}
            WITHIN {self.window} EVENTS"""

    def bound(self) -> LogicalEvents:
        """Return the pattern as the binder reads it for a user."""
        return bind_events(
            parse_event_pattern(self.text),
            COLUMNS,
            _WholeNumbers(),
            types={},
            type_column=None,
            strategy=None,
            within=None,
            partition_by=(),
            order_by=(Fragment("i"),),
            matches="count",
        )

    def program(self, search: EventSearch) -> RunsProgram:
        """Return the pattern compiled."""
        return compile_runs(self.bound(), search, TimeUnits().window)

    def rows(self, stream: Stock) -> EventRows:
        """Return the stream as the matcher gets it: one group, a bit per condition, what conditions read."""
        events, count = self.bound(), stream.count
        conditions = np.zeros((1, count), np.uint64)
        for bit, condition in enumerate(events.match.conditions):
            holds = np.ones(count, np.bool_)
            if condition.row_only is not None:
                holds = stream.conditions[condition.row_only.text]
            conditions[0] |= holds.astype(np.uint64) << np.uint64(bit)
        operands = [getattr(stream, operand.column) for operand in events.operands]
        return EventRows(
            starts=np.zeros(1, np.int64),
            conditions=conditions,
            order=None,
            classes=stream.symbol - 1,
            integers=np.array(operands, np.int64).reshape(len(operands), count),
            integer_nulls=np.zeros((len(operands), count), np.bool_),
            floats=np.empty((0, count)),
            float_nulls=np.empty((0, count), np.bool_),
            complete=True,
        )


class _WholeNumbers:
    """Tells types as Spark would for columns of whole numbers and comparisons of them."""

    def attach(self, hidden: HiddenColumns) -> None:
        """No column needs to be known: all have one type."""

    def types(self, expressions: Sequence[str], *, clause: str) -> list[str]:
        return ["boolean" if any(sign in text for sign in "<>=") else "bigint" for text in expressions]
