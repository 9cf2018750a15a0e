"""Lowers a match-dependent condition to slot operations (design: conditions, step 3).

The largest pieces without a slot are cut out in the user's words and become operand columns
that Spark computes; casts to a common type happen there too. What joins them is lowered here,
with the types Spark gives the same operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from sparkcep.errors import BindingError
from sparkcep.logical.arithmetic import lower_arithmetic, lower_negation
from sparkcep.logical.slots import BOOLEAN, DOUBLE, Choice, Comparison, Logic, Pick, SlotExpression, Unary
from sparkcep.logical.spans import SpannedExpression
from sparkcep.logical.values import Leaf, Value, Values, common_type, constant, result, to_type

COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
}  # fmt: skip
ARITHMETIC: dict[type[exp.Expression], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "div", exp.Mod: "%",
}  # fmt: skip
TRY_ARITHMETIC = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/", "try_mod": "%"}


@dataclass(frozen=True, slots=True)
class Lowering:
    """Lowers the nodes of one condition."""

    text: SpannedExpression
    values: Values
    refuse: Callable[[str, str, str | None], BindingError]

    def boolean(self, node: exp.Expression) -> SlotExpression:
        """Return a node as a three-valued condition."""
        value = self.lower(node)
        if value.spark_type not in ("boolean", "void"):
            raise self._refused(
                node, f"a condition is needed here, this is {value.spark_type}", "compare it with something"
            )
        return to_type(value, "boolean", self.values).expression

    def lower(self, node: exp.Expression) -> Value:
        """Return a node as a value with Spark's type."""
        if isinstance(node, exp.Paren):
            return self.lower(node.this)
        leaf = self._leaf(node)
        if leaf is not None:
            return leaf
        for kinds, lowered in _RULES:
            if isinstance(node, kinds):
                return lowered(self, node)
        return self._function(node)

    def _leaf(self, node: exp.Expression) -> Value | None:
        """Return a slot, a literal or an operand column; None when slots stand below `node`."""
        if isinstance(node, exp.Column) and not node.table and self.values.is_slot(node.name):
            return self.values.slot(node.name)
        if any(self.values.is_slot(column.name) for column in node.find_all(exp.Column)):
            return None
        literal = constant(node)
        if literal is not None:
            return literal
        text = self.text.text_of(node)
        if text is None:
            raise self._refused(node, "this part cannot be cut out of the condition")
        return self.values.operand(text)

    def _refused(self, node: exp.Expression, reason: str, hint: str | None = None) -> BindingError:
        return self.refuse(self.text.text_of(node) or self.text.text, reason, hint)

    # -- logic ------------------------------------------------------------------------------------

    def _logic(self, node: exp.Expression) -> Value:
        operator = "and" if isinstance(node, exp.And) else "or"
        left, right = self.boolean(node.left), self.boolean(node.right)
        return result(Logic(operator, left, right), "boolean")  # type: ignore[arg-type]

    def _not(self, node: exp.Expression) -> Value:
        return result(Unary("not", self.boolean(node.this), BOOLEAN), "boolean")

    def _is(self, node: exp.Expression) -> Value:
        right = node.expression
        negated = isinstance(right, exp.Not)
        right = right.this if negated else right
        if isinstance(right, exp.Null):
            test = Unary("is null", self._any(node.this), BOOLEAN)
        elif isinstance(right, exp.Boolean):
            test = Unary("is true" if right.this else "is false", self.boolean(node.this), BOOLEAN)
        else:
            raise self._refused(node, "IS takes NULL, TRUE or FALSE")
        return result(Unary("not", test, BOOLEAN) if negated else test, "boolean")

    def _any(self, node: exp.Expression) -> SlotExpression:
        value = self.lower(node)
        return to_type(value, value.spark_type, self.values).expression

    # -- comparison -------------------------------------------------------------------------------

    def _comparison(self, node: exp.Expression) -> Value:
        return self.compare(COMPARISONS[type(node)], self.lower(node.left), self.lower(node.right))

    def compare(self, operator: str, left: Value, right: Value) -> Value:
        """Return a comparison of two values in their common type."""
        left_slot, right_slot = self._unified(left, right)
        return result(Comparison(operator, left_slot, right_slot), "boolean")  # type: ignore[arg-type]

    def _unified(self, *values: Value) -> tuple[SlotExpression, ...]:
        wanted = common_type(values, self.values)
        return tuple(to_type(value, wanted, self.values).expression for value in values)

    def _distinct(self, node: exp.Expression) -> Value:
        same = self.compare("<=>", self.lower(node.this), self.lower(node.expression))
        if isinstance(node, exp.NullSafeNEQ):
            return result(Unary("not", same.expression, BOOLEAN), "boolean")
        return same

    def _between(self, node: exp.Expression) -> Value:
        value = self.lower(node.this)
        low = self.compare(">=", value, self.lower(node.args["low"]))
        high = self.compare("<=", value, self.lower(node.args["high"]))
        return result(Logic("and", low.expression, high.expression), "boolean")

    def _in(self, node: exp.Expression) -> Value:
        if node.args.get("query") is not None:
            raise self._refused(node, "a sub-query cannot be compared with a matched row", "join it before matching")
        value = self.lower(node.this)
        tests = [self.compare("=", value, self.lower(item)) for item in node.expressions]
        joined = tests[0].expression
        for test in tests[1:]:
            joined = Logic("or", joined, test.expression)
        return result(joined, "boolean")

    # -- arithmetic, choice, functions ----------------------------------------------------------------

    def _arithmetic(self, node: exp.Expression) -> Value:
        return self.arithmetic(node, ARITHMETIC[type(node)], node.left, node.right)

    def arithmetic(self, node: exp.Expression, operator: str, left: exp.Expression, right: exp.Expression) -> Value:
        """Return an arithmetic operation with Spark's result type."""
        try:
            return lower_arithmetic(operator, self.lower(left), self.lower(right), self.values)
        except ValueError as error:
            raise self._refused(node, str(error)) from None

    def _negation(self, node: exp.Expression) -> Value:
        return lower_negation("-", self.lower(node.this), self.values)

    def _absolute(self, node: exp.Expression) -> Value:
        return lower_negation("abs", self.lower(node.this), self.values)

    def _case(self, node: exp.Expression) -> Value:
        subject = node.this
        whens: list[tuple[SlotExpression, Value]] = []
        for branch in node.args["ifs"]:
            if subject is None:
                when = self.boolean(branch.this)
            else:
                when = self.compare("=", self.lower(subject), self.lower(branch.this)).expression
            whens.append((when, self.lower(branch.args["true"])))
        default = node.args.get("default")
        return self._chosen(whens, self.lower(default) if default is not None else constant(exp.Null()))

    def _if(self, node: exp.Expression) -> Value:
        default = node.args.get("false")
        otherwise = self.lower(default) if default is not None else constant(exp.Null())
        return self._chosen([(self.boolean(node.this), self.lower(node.args["true"]))], otherwise)

    def _chosen(self, whens: list[tuple[SlotExpression, Value]], otherwise: Value | None) -> Value:
        assert otherwise is not None
        values = [value for _when, value in whens] + [otherwise]
        wanted = common_type(values, self.values)
        chosen = to_type(otherwise, wanted, self.values).expression
        for when, value in reversed(whens):
            then = to_type(value, wanted, self.values).expression
            chosen = Choice(when, then, chosen, self.values.slot_type(wanted))
        return result(chosen, wanted)

    def _nullif(self, node: exp.Expression) -> Value:
        value = self.lower(node.this)
        same = self.compare("=", value, self.lower(node.expression))
        null = constant(exp.Null())
        return self._chosen([(same.expression, null)] if null else [], value)

    def pick(self, function: str, nodes: list[exp.Expression]) -> Value:
        """Return COALESCE, LEAST or GREATEST."""
        values = [self.lower(node) for node in nodes]
        wanted = common_type(values, self.values)
        arguments = tuple(to_type(value, wanted, self.values).expression for value in values)
        return result(Pick(function, arguments, self.values.slot_type(wanted)), wanted)  # type: ignore[arg-type]

    def _pick(self, node: exp.Expression) -> Value:
        function = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}[type(node)]
        return self.pick(function, [node.this, *node.expressions])

    def _is_nan(self, node: exp.Expression) -> Value:
        value = to_type(self.lower(node.this), "double", self.values)
        return result(Unary("is nan", value.expression, BOOLEAN), "boolean")

    def _cast(self, node: exp.Expression) -> Value:
        target = node.args["to"].sql("spark").lower()
        value = self.lower(node.this)
        try:
            return to_type(value, target, self.values)
        except ValueError as error:
            raise self._refused(node, str(error), "cast the column inside the navigation: LAST(CAST(x AS …))") from None

    def _function(self, node: exp.Expression) -> Value:
        """Functions sqlglot has no node of its own for, and everything we cannot serve."""
        name = (node.name if isinstance(node, exp.Anonymous) else node.key).lower()
        arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else []
        if name in TRY_ARITHMETIC and len(arguments) == 2:
            return self.arithmetic(node, TRY_ARITHMETIC[name], *arguments)
        if name in ("isnull", "isnotnull") and len(arguments) == 1:
            test = Unary("is null", self._any(arguments[0]), BOOLEAN)
            return result(test if name == "isnull" else Unary("not", test, BOOLEAN), "boolean")
        if name == "nvl2" and len(arguments) == 3:
            test = Unary("is null", self._any(arguments[0]), BOOLEAN)
            return self._chosen([(test, self.lower(arguments[2]))], self.lower(arguments[1]))
        at_one_row = self._of_one_row(node)
        if at_one_row is not None:
            return at_one_row
        raise self._refused(
            node,
            f"{name}() joins values of different rows of a match, which no plan can compute here",
            "keep the function inside one navigation, LAST(f(A.x)), and compare the results with "
            "arithmetic, comparison, CASE, COALESCE, LEAST, GREATEST or ABS",
        )

    def _of_one_row(self, node: exp.Expression) -> Value | None:
        """Return anything that reads one matched row, as Spark computes it there; None if it reads several.

        Without such a row it is what Spark makes of NULLs, which need not be NULL.
        """
        text = self.text.text_of(node)
        leaves = {}
        for column in node.find_all(exp.Column):
            slot = self.values.slot(column.name) if not column.table and self.values.is_slot(column.name) else None
            if slot is None or slot.leaf is None:
                return None
            leaves[column.name] = (slot.leaf, slot.spark_type)
        places = {leaf.at for leaf, _ in leaves.values()}
        if text is None or len(places) != 1 or node.find(exp.Query) is not None:
            return None
        at = places.pop()
        there = _replaced(text, {name: leaf.text for name, (leaf, _) in leaves.items()})
        nowhere = _replaced(text, {name: f"CAST(NULL AS {kind})" for name, (_, kind) in leaves.items()})
        spark_type = self.values.spark_type(there)
        absent = Unary("is null", self.values.read(Leaf("TRUE", at), "boolean"), BOOLEAN)
        value, otherwise = (self.values.read(leaf, spark_type) for leaf in (Leaf(there, at), Leaf(nowhere)))
        return result(Choice(absent, otherwise, value, value.type), spark_type)

    def _safe_divide(self, node: exp.Expression) -> Value:
        return self.arithmetic(node, "/", node.this, node.expression)


def _replaced(text: str, pieces: dict[str, str]) -> str:
    """Put expressions in the place of names."""
    return re.sub(rf"\b({'|'.join(map(re.escape, pieces))})\b", lambda name: f"({pieces[name[0]]})", text)


_RULES: tuple[tuple[tuple[type[exp.Expression], ...], Callable[[Lowering, exp.Expression], Value]], ...] = (
    ((exp.And, exp.Or), Lowering._logic),
    ((exp.Not,), Lowering._not),
    ((exp.Is,), Lowering._is),
    ((exp.NullSafeNEQ, exp.NullSafeEQ), Lowering._distinct),
    (tuple(COMPARISONS), Lowering._comparison),
    ((exp.Between,), Lowering._between),
    ((exp.In,), Lowering._in),
    (tuple(ARITHMETIC), Lowering._arithmetic),
    ((exp.Neg,), Lowering._negation),
    ((exp.Abs,), Lowering._absolute),
    ((exp.Case,), Lowering._case),
    ((exp.If,), Lowering._if),
    ((exp.Nullif,), Lowering._nullif),
    ((exp.Coalesce, exp.Least, exp.Greatest), Lowering._pick),
    ((exp.IsNan,), Lowering._is_nan),
    ((exp.Cast,), Lowering._cast),
    ((exp.SafeDivide,), Lowering._safe_divide),
)
__all__ = ["DOUBLE", "Lowering"]
