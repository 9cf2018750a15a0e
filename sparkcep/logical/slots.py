"""Match-dependent conditions as plain trees, free of SQL: what the kernel interprets.

Values are 64-bit integers or doubles, each possibly NULL; logic is three-valued; arithmetic
is try_ arithmetic: overflow and division by zero give NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias, get_args


@dataclass(frozen=True, slots=True)
class SlotType:
    """The type of a slot value.

    Attributes
    ----------
    kind
        "bool" (0 and 1), "int" (whole numbers; decimals as unscaled values; timestamps and
        day-time intervals in microseconds, dates in days), "float", or "code".
    low, high
        Inclusive range of an "int" result; a value outside is an overflow, hence NULL.
    scale
        Digits behind the point of a decimal's unscaled value.
    domain
        Of a "code": codes of one domain are ordered and comparable ("string", "binary",
        "decimal", "classifier" shares "string").
    """

    kind: Literal["bool", "int", "float", "code"]
    low: int = -(2**63)
    high: int = 2**63 - 1
    scale: int = 0
    domain: str = ""


BOOLEAN = SlotType("bool", 0, 1)
BIGINT = SlotType("int")
DOUBLE = SlotType("float")
STRING = SlotType("code", domain="string")


@dataclass(frozen=True, slots=True)
class RowSet:
    """The rows of a match that carry one of some variables (indexes); None means all rows."""

    variables: frozenset[int] | None = None


ALL_ROWS = RowSet()


@dataclass(frozen=True, slots=True)
class RowReference:
    """The `offset`-th row from the front ("first") or the back ("last") of `rows` so far.

    The row under test already belongs to the match, as a row of the variable under test.
    ``RowReference(ALL_ROWS, "last", 0)`` is the row under test itself.
    """

    rows: RowSet
    end: Literal["first", "last"]
    offset: int = 0


CURRENT_ROW = RowReference(ALL_ROWS, "last", 0)


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """A constant: bool, int (unscaled), float, str (a code of its domain), bytes, or None (NULL)."""

    value: bool | int | float | str | bytes | None
    type: SlotType


@dataclass(frozen=True, slots=True)
class Read:
    """The value of operand column `operand` (index) at `at`; NULL when there is no such row."""

    operand: int
    at: RowReference
    type: SlotType


@dataclass(frozen=True, slots=True)
class Running:
    """An aggregate over `rows` of the match so far. `operand` None is COUNT(*).

    NULLs are passed over. COUNT over nothing is 0, the others NULL. "avg" is a float: the
    sum divided by the count. "sum" over "int" that leaves the range of `type` is NULL from there on.
    """

    function: Literal["count", "sum", "avg", "min", "max"]
    operand: int | None
    operand_type: SlotType | None
    rows: RowSet
    type: SlotType


@dataclass(frozen=True, slots=True)
class ClassifierOf:
    """The variable (a code of domain "string") of the row `shift` rows from `at`.

    NULL when there is no such row in the match so far.
    """

    at: RowReference
    shift: int = 0
    type: SlotType = STRING


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """MATCH_NUMBER() of the match being tried."""

    type: SlotType = BIGINT


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Both sides have the kind of `type`. "/" is for floats only; "div" and "%" truncate as in Spark."""

    operator: Literal["+", "-", "*", "/", "div", "%"]
    left: SlotExpression
    right: SlotExpression
    type: SlotType


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides have one kind (and scale, and domain). NaN = NaN and greatest, −0.0 = 0.0. "<=>" is never NULL."""

    operator: Literal["=", "!=", "<", "<=", ">", ">=", "<=>"]
    left: SlotExpression
    right: SlotExpression
    type: SlotType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Logic:
    """Three-valued "and" and "or"."""

    operator: Literal["and", "or"]
    left: SlotExpression
    right: SlotExpression
    type: SlotType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Unary:
    """One argument.

    "to float" divides an int by 10^scale; "rescale" takes an int to the (larger) scale of `type`.
    """

    operator: Literal["not", "is null", "is true", "is false", "is nan", "-", "abs", "to float", "rescale"]
    argument: SlotExpression
    type: SlotType


@dataclass(frozen=True, slots=True)
class Choice:
    """``CASE WHEN when THEN then ELSE otherwise END``; longer ones nest."""

    when: SlotExpression
    then: SlotExpression
    otherwise: SlotExpression
    type: SlotType


@dataclass(frozen=True, slots=True)
class Pick:
    """The first argument that is not NULL, or the least or greatest of those that are not."""

    function: Literal["coalesce", "least", "greatest"]
    arguments: tuple[SlotExpression, ...]
    type: SlotType


@dataclass(frozen=True, slots=True)
class SparkCondition:
    """A condition on several rows that does not come apart, such as ``levenshtein(a.x, b.x) < 3``: joins test it.

    Attributes
    ----------
    text
        SQL, with names in place of values.
    names, values
        The names, and what each stands for; of a read here only row and column count.
    refusal
        What is said where no join may test it.
    """

    text: str
    names: tuple[str, ...]
    values: tuple[Read, ...]
    refusal: Exception = field(compare=False)
    type: SlotType = BOOLEAN

    def text_over(self, value: Callable[[Read], str]) -> str:
        """Return the condition with SQL text for each value."""
        texts = dict(zip(self.names, map(value, self.values), strict=True))
        return re.sub(rf"\b({'|'.join(texts)})\b", lambda found: texts[found[1]], self.text)


SlotExpression: TypeAlias = (
    ConstantValue
    | Read
    | Running
    | ClassifierOf
    | MatchNumber
    | Arithmetic
    | Comparison
    | Logic
    | Unary
    | Choice
    | Pick
    | SparkCondition
)


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand column: its name in the batch and its type."""

    column: str
    type: SlotType


@dataclass(frozen=True, slots=True)
class SlotConditions:
    """The match-dependent part of each variable's condition (None: nothing but its bit).

    `variables` are the primary variables' names by index, in pattern order.
    """

    variables: tuple[str, ...]
    operands: tuple[Operand, ...]
    conditions: tuple[SlotExpression | None, ...]


def conjuncts(tree: SlotExpression | None) -> Iterator[SlotExpression]:
    """Return what is joined by "and" in a condition."""
    waiting = [tree]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Logic) and found.operator == "and":
            waiting += [found.left, found.right]
        elif found is not None:
            yield found


def nodes(tree: object) -> Iterator[SlotExpression]:
    """Yield a tree, or what a tuple holds, and all its parts."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from nodes(part)
    elif isinstance(tree, get_args(SlotExpression)):
        yield tree
        for part in fields(tree):
            yield from nodes(getattr(tree, part.name))
