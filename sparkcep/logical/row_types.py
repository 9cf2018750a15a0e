"""Types and meaning of expressions over one row where no Spark is at hand, as inside of table functions.

Only what lowers to slot operations is known: columns, literals, arithmetic, comparison, logic, CASE,
COALESCE, LEAST, GREATEST, ABS, NULL tests and casts that lose nothing. Everything else is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sparkcep.errors import BindingError, PatternSyntaxError, did_you_mean
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.lowering import Lowering
from sparkcep.logical.slots import BIGINT, CURRENT_ROW, ConstantValue, Read, SlotExpression, SlotType
from sparkcep.logical.spans import SpannedExpression
from sparkcep.logical.type_rules import aggregate_type, arithmetic_type, is_lossless, united_type
from sparkcep.logical.types import slot_type
from sparkcep.logical.values import Leaf, Value, Values, constant, result, to_type
from sparkcep.syntax.durations import parse_within

_TYPED_NULL = re.compile(r"cast\(NULL AS ((?:[^()]|\([\d, ]*\))+)\)", re.IGNORECASE)
_SUM = re.compile(rf"{_TYPED_NULL.pattern} (\+|-|\*|/|div|%) {_TYPED_NULL.pattern}", re.IGNORECASE)
_AGGREGATE = re.compile(
    r"(count|sum|avg|mean|min|max|array_agg|collect_list)\((?!DISTINCT\b)(.*)\)", re.IGNORECASE | re.DOTALL
)
# What ARRAY_AGG becomes over collected structs.
_LISTED = re.compile(r"transform\(filter\((\w+), s -> s\.f0 IS NOT NULL\), s -> s\.f0\)")
_COALESCE = re.compile(r"coalesce\((.*)\)", re.IGNORECASE | re.DOTALL)
_CAST = re.compile(r"(?:try_)?cast\((.*) AS ([\w(), ]+)\)", re.IGNORECASE | re.DOTALL)
HINT = (
    "write the query for sparkcep.enable(spark) or df.match_pattern, where Spark computes such parts, or compute it "
    "in the input: TABLE(SELECT *, upper(x) AS ux FROM t)"
)


@dataclass(frozen=True, slots=True)
class RowExpression:
    """An expression over the columns of one row.

    Attributes
    ----------
    spark_type
        Its type, by Spark's simple name.
    column
        The column, if it is nothing else.
    slots
        What computes it; `reads` are its operands: a column, or a column that is cast without loss, and the
        type the operation takes it for.
    fields
        If it is a struct of columns: names and columns.
    collected
        If it lists the first field of collected structs, NULLs left out: the column that holds these.
    """

    spark_type: str
    column: str | None = None
    slots: SlotExpression | None = None
    reads: tuple[tuple[RowRead, SlotType], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    collected: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        whole = tuple(name for name in (self.column, self.collected) if name is not None)
        return (*whole, *(read.column for read, _ in self.reads), *(column for _, column in self.fields))


@dataclass(frozen=True, slots=True)
class RowRead:
    """A column, cast to `cast` if that is not None."""

    column: str
    cast: str | None


class RowTypes:
    """Answers like Spark for expressions that it can compute itself; see `logical.types.TypeOracle`.

    Parameters
    ----------
    columns
        Spark's simple type name of each column, by name.
    spark_computes_rows
        Whether Spark will compute conditions of one row, so that any predicate may stand there.
    """

    def __init__(self, columns: Mapping[str, str], *, spark_computes_rows: bool = False) -> None:
        self.columns = dict(columns)
        self.spark_computes_rows = spark_computes_rows
        self._hidden: HiddenColumns | None = None
        self._known: dict[str, RowExpression] = {}

    def attach(self, hidden: HiddenColumns) -> None:
        """Let expressions name hidden columns."""
        self._hidden = hidden

    def types(self, expressions: Sequence[str], *, clause: str) -> list[str]:
        """Return simple type names; of a predicate that only Spark can compute, its type is known all the same."""
        return ["boolean" if self._is_predicate(text, clause) else self.typed(text, clause) for text in expressions]

    def _is_predicate(self, text: str, clause: str) -> bool:
        if not self.spark_computes_rows or self.computes(text, clause):
            return False
        try:
            root = SpannedExpression(text).root.unnest()
        except ValueError:
            return False
        return isinstance(root, exp.Predicate | exp.Connector | exp.Not | exp.RegexpLike | exp.StartsWith)

    def computes(self, text: str, clause: str) -> bool:
        """Tell whether an expression is lowered."""
        try:
            self.typed(text, clause)
        except BindingError as error:
            if error.code == "NEEDS_SPARK":
                return False
            raise
        return True

    def typed(self, text: str, clause: str) -> str:
        """Return the type of an expression."""
        null = _TYPED_NULL.fullmatch(text)
        if null is not None:
            return null[1].lower()
        aggregate = _AGGREGATE.fullmatch(text)
        if aggregate is None:
            cast = _cast(text) if self.spark_computes_rows else None
            return self.expression(text, clause).spark_type if cast is None else cast[1]
        function = aggregate[1].lower()
        if function == "count":
            return "bigint"
        kind = self.typed(aggregate[2], clause)
        return f"array<{kind}>" if function in ("array_agg", "collect_list") else aggregate_type(function, kind)

    def expression(self, text: str, clause: str) -> RowExpression:
        """Return an expression, lowered.

        Raises
        ------
        BindingError
            NEEDS_SPARK: it holds something that only Spark can compute; UNRESOLVED_COLUMN.
        """
        if text not in self._known:
            self._known[text] = _Expression(self, clause).read(text)
        return self._known[text]

    def fields(self, text: str, clause: str) -> tuple[tuple[str, str], ...]:
        """Return names and columns of a struct of columns; none of anything else."""
        try:
            root = SpannedExpression(text).root.unnest()
        except ValueError:
            return ()
        found = []
        for name, value in _named_values(root):
            if not isinstance(value, exp.Column) or value.table:
                return ()
            found.append((name, self.column(value.name, clause)[0]))
        return tuple(found)

    def column(self, name: str, clause: str) -> tuple[str, str]:
        """Return a column as it is spelled, and its type."""
        folded = name.lower()
        own = next((known for known in self.columns if known.lower() == folded), None)
        if own is not None:
            return own, self.columns[own]
        hidden = self._hidden
        if hidden is not None:
            for computed in (*hidden.computed.values(), *hidden.numbered.values()):
                if computed.name == name:
                    return name, self.typed(computed.text, clause)
            for step in hidden.neighbours.values():
                if step.name == name:
                    return name, self.column(step.column, clause)[1]
        known = list(self.columns)
        raise BindingError(
            "UNRESOLVED_COLUMN", f"there is no column '{name}'", clause=clause, found=name, allowed=known,
            hint=did_you_mean(name, known),
        )  # fmt: skip


@dataclass(slots=True)
class _Expression:
    """Reads one expression."""

    types: RowTypes
    clause: str
    reads: dict[tuple[RowRead, SlotType], int] = field(default_factory=dict)

    def read(self, text: str) -> RowExpression:
        listed = _LISTED.fullmatch(text)
        if listed is not None:
            name, kind = self.types.column(listed[1], self.clause)
            return RowExpression(kind, collected=name)
        exact = self._exact_cast(text)
        if exact is not None:
            return exact
        fields = self.types.fields(text, self.clause)
        if fields:
            typed = [f"{_shown(name)}:{self.types.column(column, self.clause)[1]}" for name, column in fields]
            return RowExpression(f"struct<{','.join(typed)}>", fields=fields)
        values = _RowValues({}, self._operand, self.types, self.clause)
        try:
            parsed = SpannedExpression(text)
            value = _RowLowering(parsed, values, self._refused).lower(parsed.root)
            if value.leaf is not None and value.literal is None:
                return RowExpression(value.spark_type, _name(value.leaf.text))
            lowered = to_type(value, value.spark_type if value.spark_type != "void" else "boolean", values)
        except ValueError as error:
            raise self._refused(text, str(error), None) from None
        return RowExpression(value.spark_type, slots=lowered.expression, reads=tuple(self.reads))

    def _exact_cast(self, text: str) -> RowExpression | None:
        """Return a column that is cast without loss."""
        cast = _cast(text)
        if cast is None or not isinstance(cast[0], exp.Column) or cast[0].table:
            return None
        (column, wanted), kind = cast, slot_type(cast[1])
        name, have = self.types.column(column.name, self.clause)
        if kind is None or not is_lossless(have, wanted):
            return None
        read = RowRead(name, None if have == wanted else wanted)
        return RowExpression(wanted, slots=Read(0, CURRENT_ROW, kind), reads=((read, kind),))

    def _operand(self, text: str, kind: SlotType) -> int:
        return self.reads.setdefault((_read_of(text), kind), len(self.reads))

    def _refused(self, piece: str, reason: str, hint: str | None) -> BindingError:
        why = "" if "matched row" in reason or "rows of a match" in reason else f": {reason}"
        return BindingError(
            "NEEDS_SPARK",
            f"a table function cannot compute '{piece}' by itself{why}",
            clause=self.clause,
            found=piece,
            hint=HINT,
        )


def _named_values(root: exp.Expression) -> list[tuple[str, exp.Expression]]:
    """Return what named_struct names; old versions of sqlglot have no node for it."""
    if isinstance(root, exp.Struct) and all(isinstance(entry, exp.PropertyEQ) for entry in root.expressions):
        return [(entry.this.name, entry.expression) for entry in root.expressions]
    if isinstance(root, exp.Anonymous) and root.name.lower() == "named_struct":
        names, values = root.expressions[::2], root.expressions[1::2]
        return [(name.name, value) for name, value in zip(names, values, strict=False)]
    return []


def _cast(text: str) -> tuple[exp.Expression, str] | None:
    """Return what is cast, and to which type; None if that is not all of the text."""
    try:
        root = SpannedExpression(text).root.unnest()
    except ValueError:
        return None
    return (root.this, root.args["to"].sql("spark").lower().replace(", ", ",")) if isinstance(root, exp.Cast) else None


def _read_of(text: str) -> RowRead:
    cast = _CAST.fullmatch(text)
    if cast is not None:
        return RowRead(_name(cast[1]), cast[2].lower())
    return RowRead(_name(text), None)


def _shown(name: str) -> str:
    return name if name.isidentifier() else "`" + name.replace("`", "``") + "`"


def _name(text: str) -> str:
    if not (text.startswith("`") and text.endswith("`")):
        raise ValueError(f"{text} is no column")
    return text[1:-1].replace("``", "`")


class _RowValues(Values):
    """Values whose types are told by rules, since no Spark is there to ask."""

    def spark_type(self, text: str) -> str:
        """Return the type of what lowering asks for: arithmetic and COALESCE of typed NULLs, casts of columns."""
        pair = _SUM.fullmatch(text)
        if pair is not None:
            return arithmetic_type(pair[2], pair[1].lower(), pair[3].lower())
        united = _COALESCE.fullmatch(text)
        if united is not None:
            return united_type([kind.lower() for kind in _TYPED_NULL.findall(united[1])])
        raise ValueError(f"nothing is known of {text}")

    def read(self, leaf: Leaf, spark_type: str) -> Read:
        """Return the slot that reads a column."""
        _check_cast(leaf.text, self._oracle, self._clause)
        return super().read(leaf, spark_type)


def _check_cast(text: str, types: object, clause: str) -> None:
    """Refuse casts that are not exact."""
    cast = _CAST.fullmatch(text)
    if cast is None:
        return
    assert isinstance(types, RowTypes)
    wanted, have = cast[2].lower(), types.column(_name(cast[1]), clause)[1]
    if not is_lossless(have, wanted):
        raise ValueError(f"a cast of {have} to {wanted} is Spark's")


@dataclass(frozen=True, slots=True)
class _RowLowering(Lowering):
    """Lowers down to columns, where Spark is not there to compute the largest pieces without a slot."""

    def _leaf(self, node: exp.Expression) -> Value | None:
        if isinstance(node, exp.Column):
            if node.table:
                raise self._refused(node, "a field or a qualified name is Spark's to resolve")
            types = self.values._oracle
            assert isinstance(types, RowTypes)
            name, spark_type = types.column(node.name, self.values._clause)
            return Value(spark_type, leaf=Leaf("`" + name.replace("`", "``") + "`"))
        literal = constant(node)
        return literal if literal is not None else self._typed_literal(node)

    def _typed_literal(self, node: exp.Expression) -> Value | None:
        """Return ``CAST(NULL AS type)``, a date, or a day-time interval."""
        if isinstance(node, exp.Cast):
            kind = node.args["to"].sql("spark").lower().replace(" ", "")
            if isinstance(node.this, exp.Null):
                return Value(kind, slot=ConstantValue(None, slot_type(kind) or BIGINT))
            if isinstance(node.this, exp.Literal) and node.this.is_string and kind == "date":
                return result(ConstantValue(_days(node.this.this), BIGINT), "date")
        text = self.text.text_of(node)
        if isinstance(node, exp.Interval) and text is not None:
            try:
                within = parse_within(text)
            except PatternSyntaxError as error:
                raise ValueError(error.message) from None
            return result(ConstantValue(int(within.amount), BIGINT), "interval day to second")
        return None

    def _of_one_row(self, node: exp.Expression) -> Value | None:
        return None


def _days(text: str) -> int:
    import datetime as dt  # here: most conditions name no date

    return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days
