"""Values inside a match-dependent condition: slots, literals and operand columns with Spark's types.

A value that still is a column (`Leaf`) is cast by Spark, as an operand of its own; only results
of slot arithmetic are converted by the kernel, and only where that loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from sparkcep.logical.slots import (
    CURRENT_ROW,
    DOUBLE,
    ConstantValue,
    Read,
    RowReference,
    SlotExpression,
    SlotType,
    Unary,
)
from sparkcep.logical.types import (
    DECIMAL_DIGITS,
    TypeOracle,
    decimal_digits,
    is_day_time,
    is_integral,
    refusal,
    slot_type,
)

_INTEGER_LIMITS = (("int", 2**31), ("bigint", 2**63))


@dataclass(frozen=True, slots=True)
class Leaf:
    """An expression that Spark computes, read at one row of the match."""

    text: str
    at: RowReference = CURRENT_ROW


@dataclass(frozen=True, slots=True)
class Value:
    """Something with Spark's type: a `Leaf`, a constant (`text` and `literal`), or a slot expression."""

    spark_type: str
    slot: SlotExpression | None = None
    leaf: Leaf | None = None
    literal: bool | int | str | Decimal | float | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the value is a literal (NULL included)."""
        return self.slot is None and (self.leaf is None or self.literal is not None)

    @property
    def expression(self) -> SlotExpression:
        """The slot expression of a value that went through `to_type`."""
        assert self.slot is not None
        return self.slot


def result(expression: SlotExpression, spark_type: str) -> Value:
    """Return a computed value."""
    return Value(spark_type, slot=expression)


class Values:
    """The values of one clause: its slots by placeholder name, its operands, Spark's types."""

    def __init__(
        self,
        slots: dict[str, Value],
        operand_index: Callable[[str, SlotType], int],
        oracle: TypeOracle,
        clause: str,
    ) -> None:
        self._slots = slots
        self._operand_index = operand_index
        self._oracle = oracle
        self._clause = clause
        self._known: dict[str, str] = {}

    def is_slot(self, name: str) -> bool:
        """Tell whether a column name is the placeholder of a slot."""
        return name in self._slots

    def slot(self, name: str) -> Value:
        """Return the value behind a placeholder."""
        return self._slots[name]

    def spark_type(self, text: str) -> str:
        """Return Spark's type of an expression over the input columns."""
        if text not in self._known:
            self._known[text] = self._oracle.types([text], clause=self._clause)[0]
        return self._known[text]

    def operand(self, text: str, at: RowReference = CURRENT_ROW) -> Value:
        """Return the value of an expression that Spark computes on every row."""
        return Value(self.spark_type(text), leaf=Leaf(text, at))

    def slot_type(self, spark_type: str) -> SlotType:
        """Return the kernel's type; ValueError when it has none."""
        found = slot_type(spark_type)
        if found is None:
            raise ValueError(refusal(spark_type))
        return found

    def operand_index(self, text: str, kind: SlotType) -> int:
        """Return the index of the operand column that holds `text`."""
        return self._operand_index(text, kind)

    def define(self, name: str, value: Value) -> None:
        """Let a column name stand for a slot."""
        self._slots[name] = value

    def read(self, leaf: Leaf, spark_type: str) -> Read:
        """Return the slot that reads `leaf` as `spark_type`."""
        kind = self.slot_type(spark_type)
        return Read(self._operand_index(leaf.text, kind), leaf.at, kind)


def constant(node: exp.Expression) -> Value | None:
    """Return a number, string, boolean or NULL literal as a value."""
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        inner = constant(node.this)
        if inner is None or not isinstance(inner.literal, int | float | Decimal):
            return None
        return Value(inner.spark_type, leaf=Leaf(f"-{node.this.this}"), literal=-inner.literal)
    if isinstance(node, exp.Null):
        return Value("void")
    if isinstance(node, exp.Boolean):
        return Value("boolean", leaf=Leaf(str(bool(node.this)).upper()), literal=bool(node.this))
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        escaped = node.this.replace("\\", "\\\\").replace("'", "\\'")
        return Value("string", leaf=Leaf(f"'{escaped}'"), literal=node.this)
    return _number(node.this)


def _number(text: str) -> Value | None:
    leaf = Leaf(text)
    if re.fullmatch(r"\d+", text):
        for name, limit in _INTEGER_LIMITS:
            if int(text) < limit:
                return Value(name, leaf=leaf, literal=int(text))
        return None
    if re.fullmatch(r"\d*\.\d*", text):
        number = Decimal(text)
        scale = max(0, -int(number.as_tuple().exponent))
        precision = max(len(number.as_tuple().digits), scale)
        return Value(f"decimal({precision},{scale})", leaf=leaf, literal=number)
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)[eE][+-]?\d+", text):
        return Value("double", leaf=leaf, literal=float(text))
    return None


def common_type(values: Iterable[Value], context: Values) -> str:
    """Return the type Spark compares or unites values in.

    Results of slot arithmetic that meet a decimal are taken to 64-bit unscaled values: beyond
    them is an overflow, hence NULL.
    """
    values = list(values)
    types = [value.spark_type for value in values if value.spark_type != "void"]
    if not types:
        return "boolean"
    if len(set(types)) == 1:
        return types[0]
    for spark_type in types:
        if spark_type.startswith("string collate") and slot_type(spark_type) is None:
            raise ValueError(refusal(spark_type))
    casts = ", ".join(f"CAST(NULL AS {spark_type})" for spark_type in types)
    wanted = context.spark_type(f"coalesce({casts})")
    digits = decimal_digits(wanted)
    computed = any(value.slot is not None for value in values)
    if digits is not None and digits[0] > DECIMAL_DIGITS and computed:
        return f"decimal({DECIMAL_DIGITS},{digits[1]})"
    return wanted


def to_type(value: Value, wanted: str, context: Values) -> Value:
    """Return `value` as a slot expression of type `wanted`.

    Raises
    ------
    ValueError
        When a computed value cannot be converted without loss.
    """
    kind = context.slot_type(wanted)
    if value.slot is not None:
        return result(_converted(value, wanted, kind), wanted)
    if value.spark_type == "void":
        return result(ConstantValue(None, kind), wanted)
    if value.literal is not None:
        literal = _literal(value.literal, value.spark_type, wanted, kind)
        if literal is not None:
            return result(literal, wanted)
    assert value.leaf is not None
    return result(context.read(_cast(value, value.leaf, wanted), wanted), wanted)


def _cast(value: Value, leaf: Leaf, wanted: str) -> Leaf:
    """Let Spark cast where the kernel would see different numbers."""
    same = value.spark_type == wanted or (
        slot_type(value.spark_type) == slot_type(wanted) and _same_family(value, wanted)
    )
    widened = is_integral(value.spark_type) and is_integral(wanted)
    if same or widened or (value.spark_type == "float" and wanted == "double"):
        return leaf
    function = "try_cast" if decimal_digits(wanted) and decimal_digits(value.spark_type) else "cast"
    return Leaf(f"{function}({leaf.text} AS {wanted})", leaf.at)


def _same_family(value: Value, wanted: str) -> bool:
    return is_day_time(value.spark_type) and is_day_time(wanted)


def _converted(value: Value, wanted: str, kind: SlotType) -> SlotExpression:
    expression = value.expression
    have = expression.type
    if value.spark_type == wanted or (have.kind == kind.kind != "int" and have.domain == kind.domain):
        return expression
    if kind == DOUBLE and have.kind == "int" and (is_integral(value.spark_type) or decimal_digits(value.spark_type)):
        return Unary("to float", expression, DOUBLE)
    if have.kind == kind.kind == "int" and _numeric(value.spark_type) and _numeric(wanted):
        if have.scale < kind.scale:
            return Unary("rescale", expression, kind)
        if have.scale == kind.scale:
            return expression
    if is_day_time(value.spark_type) and is_day_time(wanted):
        return expression
    raise ValueError(f"{value.spark_type} cannot become {wanted} once it is computed from matched rows")


def _numeric(spark_type: str) -> bool:
    return is_integral(spark_type) or decimal_digits(spark_type) is not None


def _literal(literal: object, spark_type: str, wanted: str, kind: SlotType) -> ConstantValue | None:
    """Return the constant in another type, None where Spark has to cast."""
    if isinstance(literal, bool):
        return ConstantValue(literal, kind) if wanted == "boolean" else None
    if isinstance(literal, str):
        return ConstantValue(literal, kind) if kind.domain == "string" else None
    if isinstance(literal, float):
        return ConstantValue(literal, kind) if kind == DOUBLE else None
    if not isinstance(literal, int | Decimal):
        return None
    if kind == DOUBLE:
        return ConstantValue(float(literal), kind)
    if kind.kind != "int" or not _numeric(wanted):
        return None
    scaled = Decimal(literal).scaleb(kind.scale)
    if scaled != scaled.to_integral_value() or not kind.low <= int(scaled) <= kind.high:
        return None
    return ConstantValue(int(scaled), kind)


def unscaled_type(spark_type: str, values: Sequence[Value]) -> str:
    """Return `spark_type`, as 64-bit unscaled values hold it: with a literal, results beyond 18 digits are NULL.

    Raises
    ------
    ValueError
        When it is a decimal of more than 18 digits and neither side is a literal.
    """
    digits = decimal_digits(spark_type)
    if digits is not None and digits[1] <= DECIMAL_DIGITS < digits[0] and any(value.is_constant for value in values):
        return f"decimal({DECIMAL_DIGITS},{digits[1]})"
    if digits is not None and digits[0] > DECIMAL_DIGITS:
        names = " and ".join(value.spark_type for value in values)
        raise ValueError(
            f"decimal arithmetic beyond {DECIMAL_DIGITS} digits ({names} gives {spark_type}): "
            "cast one side to DOUBLE or to a narrower DECIMAL"
        )
    return spark_type
