"""Slot trees as text, for explanations: what is compared with what, in the words of the pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkcep.logical.slots import (
    Arithmetic,
    Choice,
    ClassifierOf,
    Comparison,
    ConstantValue,
    Logic,
    MatchNumber,
    Operand,
    Pick,
    Read,
    RowReference,
    RowSet,
    Running,
    SlotExpression,
    SparkCondition,
    Unary,
)


class SlotText:
    """Prints slot trees.

    Parameters
    ----------
    variables
        Names of the variables by index.
    operands
        The operand columns.
    texts
        What stands behind hidden columns.
    """

    def __init__(self, variables: Sequence[str], operands: Sequence[Operand], texts: Mapping[str, str]) -> None:
        self.variables = variables
        self.operands = operands
        self.texts = texts

    def of(self, tree: SlotExpression) -> str:
        """Return a tree as text."""
        match tree:
            case ConstantValue(value):
                return "NULL" if value is None else repr(value)
            case Read(operand, at):
                return f"{self._at(at)}.{self._operand(operand)}"
            case Running(function, operand, _, rows):
                what = "*" if operand is None else self._operand(operand)
                return f"{function.upper()}({self._rows(rows)}.{what})"
            case Arithmetic(operator, left, right) | Comparison(operator, left, right):
                return f"{self._bracketed(left)} {operator} {self._bracketed(right)}"
            case Logic(operator, left, right):
                return f"{self._bracketed(left)} {operator.upper()} {self._bracketed(right)}"
            case Unary(operator, argument):
                return self._unary(operator, argument)
            case Choice(when, then, otherwise):
                return f"CASE WHEN {self.of(when)} THEN {self.of(then)} ELSE {self.of(otherwise)} END"
            case Pick(function, arguments):
                return f"{function.upper()}({', '.join(map(self.of, arguments))})"
            case ClassifierOf():
                return "CLASSIFIER()"
            case MatchNumber():
                return "MATCH_NUMBER()"
            case SparkCondition():
                return tree.text_over(self.of)

    def _unary(self, operator: str, argument: SlotExpression) -> str:
        if operator in ("to float", "rescale"):
            return self.of(argument)
        if operator.startswith("is"):
            return f"{self._bracketed(argument)} {operator.upper()}"
        return f"{operator.upper()}({self.of(argument)})"

    def _bracketed(self, tree: SlotExpression) -> str:
        inner = isinstance(tree, Arithmetic | Comparison | Logic)
        return f"({self.of(tree)})" if inner else self.of(tree)

    def _operand(self, index: int) -> str:
        column = self.operands[index].column
        text = self.texts.get(column, column)
        return text if text.replace("_", "a").isalnum() else f"({text})"

    def _rows(self, rows: RowSet) -> str:
        if rows.variables is None:
            return "event"
        return "|".join(self.variables[variable] for variable in sorted(rows.variables))

    def _at(self, at: RowReference) -> str:
        if at.rows.variables is None:
            return "this"
        return f"{at.end.upper()}({self._rows(at.rows)})"
