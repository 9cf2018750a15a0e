"""A MATCH_RECOGNIZE clause with every name resolved and every rule checked.

What Spark computes stands here as text in the user's words; what the matcher computes stands
here as plain trees. Hidden columns carry values from Spark to the matcher and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sparkcep.errors import BindingError
from sparkcep.logical.calls import SortKey
from sparkcep.logical.outputs import Output
from sparkcep.logical.scope import located
from sparkcep.logical.slots import RowSet, SlotConditions
from sparkcep.syntax.clause import AfterMatch, Fragment, RowsPerMatch, Within
from sparkcep.syntax.pattern import RowPattern


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """A column computed by Spark before the rows are numbered: ``text AS name``."""

    name: str
    text: str
    clause: str
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The value `shift` rows onward in the partition (negative: back): lag or lead of `column`."""

    name: str
    column: str
    shift: int


@dataclass(frozen=True, slots=True)
class RowCondition:
    """The part of a variable's condition that Spark computes, one bit of the mask.

    `numbered` says that it reads neighbours, so it is computed after the rows are numbered;
    `mentions` are the input columns it then needs.
    """

    text: str
    numbered: bool
    mentions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LateAggregate:
    """An aggregate that Spark computes over a collected array, after matching.

    `name` is the hidden column that holds its value; `collected` the array of structs with
    fields f0, f1, …; `text` the call over the fields of one struct. A `user_defined` one is
    a Python function that takes no FILTER.
    """

    name: str
    collected: str
    text: str
    user_defined: bool


@dataclass(frozen=True, slots=True)
class MeasureText:
    """A measure as Spark finishes it: text over gathered columns."""

    name: str
    text: str
    clause: str


@dataclass(frozen=True, slots=True)
class Condition:
    """What DEFINE says of one primary variable.

    `text` is the user's condition, None where there is none. `row_only` is the part that Spark
    computes; `dependent` says that a part is left for the matcher.
    """

    variable: str
    text: str | None = None
    row_only: RowCondition | None = None
    dependent: bool = False


@dataclass(frozen=True, slots=True)
class LogicalMatch:
    """Everything the planner and the drivers need to know.

    `fragments` are the user's conditions and measures by the clause they stand in: ``DEFINE A``, ``MEASURES n``.
    """

    pattern: RowPattern
    variables: tuple[str, ...]
    subsets: dict[str, tuple[str, ...]]
    partition_by: tuple[Fragment, ...]
    order_by: tuple[SortKey, ...]
    rows_per_match: RowsPerMatch
    after_match: AfterMatch
    skip_rows: RowSet | None
    within: Within | None
    conditions: tuple[Condition, ...]
    slots: SlotConditions | None
    hidden: tuple[HiddenColumn, ...]
    numbered: tuple[HiddenColumn, ...]
    neighbours: tuple[Neighbour, ...]
    measures: tuple[MeasureText, ...]
    outputs: tuple[Output, ...]
    late_aggregates: tuple[LateAggregate, ...]
    bare_columns: tuple[str, ...]
    prefix: str
    kind: Literal["row pattern"] = field(default="row pattern")
    fragments: dict[str, Fragment] = field(default_factory=dict, compare=False, repr=False)

    def located(self, error: BindingError) -> BindingError:
        """Return a complaint about a piece of a condition or a measure, told at its place in the user's text."""
        fragment = self.fragments.get(error.clause or "")
        return error if fragment is None else located(error, fragment)
