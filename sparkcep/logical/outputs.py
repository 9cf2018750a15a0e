"""What the matcher's output holds, as plain data: rows per match and the values gathered.

Everything here is picklable and free of SQL; `sparkcep.engine.measures` executes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sparkcep.logical.slots import RowSet

CLASSIFIER = "CLASSIFIER()"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The value of input column `column` at one row: FIRST, LAST, or a bare column.

    `final` looks at the whole match; otherwise at the rows up to the output row. NULL when
    there is no such row. `column` may be CLASSIFIER: the name of the row's variable, then
    `shift` moves that many rows inside the match (NULL outside).
    """

    name: str
    column: str
    rows: RowSet
    end: Literal["first", "last"]
    offset: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True, slots=True)
class Aggregated:
    """A native aggregate over `rows`; `column` None is COUNT(*).

    `filter` names a boolean input column; rows where it is not TRUE are passed over.
    "sum" and "avg" take whole numbers, decimals, doubles, day-time intervals ("avg" only whole
    numbers and doubles, giving a double); "min" and "max" any orderable type, NaN greatest.
    """

    name: str
    function: Literal["count", "sum", "avg", "min", "max"]
    column: str | None
    rows: RowSet
    final: bool = False
    filter: str | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """A list of structs, one per row of `rows` in match order (`columns`, CLASSIFIER allowed).

    Never NULL; empty for an empty match; NULL for an unmatched row. Field i is named ``f{i}``.
    """

    name: str
    columns: tuple[str, ...]
    rows: RowSet
    final: bool = False
    filter: str | None = None


@dataclass(frozen=True, slots=True)
class Numbered:
    """MATCH_NUMBER(), bigint."""

    name: str


@dataclass(frozen=True, slots=True)
class Matched:
    """Whether the output row belongs to a match (false for unmatched rows), boolean."""

    name: str


Output: TypeAlias = Gathered | Aggregated | Collected | Numbered | Matched


@dataclass(frozen=True, slots=True)
class OutputRows:
    """The rows and columns that leave the matcher.

    Attributes
    ----------
    mode
        "one": one row per match, `passed` columns taken at the match's first row (an empty
        match: at its row). "all": one row per matched row that is not excluded, `passed`
        columns taken there.
    show_empty
        With "all": an empty match gives one row.
    unmatched
        With "all": rows that start no match, empty or not, and lie in no non-empty match
        give one row with NULL outputs (`Matched` false).
    passed
        Input columns that are handed on under their own names; they come first.
    outputs
        Computed columns, in order behind `passed`.
    variables
        Primary variables' names by index.
    """

    mode: Literal["one", "all"]
    show_empty: bool
    unmatched: bool
    passed: tuple[str, ...]
    outputs: tuple[Output, ...]
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphColumns:
    """The columns that hold the graph of matches that one event completes.

    Attributes
    ----------
    end
        Order value of that event.
    nodes
        A `Collected` column: CLASSIFIER, which is NULL for a union of a node's predecessors, then
        the columns of the event.
    count
        How many matches the graph holds.
    preds, roots
        Per node its predecessors; the nodes that matches end in.
    """

    end: str
    nodes: str
    count: str
    preds: str
    roots: str
