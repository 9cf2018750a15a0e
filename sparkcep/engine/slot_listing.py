"""Prints register code as a numbered list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkcep.engine import slot_code as ops
from sparkcep.engine.slot_code import NUMBER_REGISTER, ROW_REGISTER
from sparkcep.logical.slots import RowSet

if TYPE_CHECKING:
    from sparkcep.engine.slots import SlotCode

_SYMBOLS = {
    ops.ADD: "+",
    ops.SUBTRACT: "-",
    ops.MULTIPLY: "*",
    ops.DIVIDE: "div",
    ops.REMAINDER: "%",
    ops.FLOAT_ADD: "+",
    ops.FLOAT_SUBTRACT: "-",
    ops.FLOAT_MULTIPLY: "*",
    ops.FLOAT_DIVIDE: "/",
    ops.FLOAT_REMAINDER: "%",
    ops.EQUAL: "=",
    ops.NOT_EQUAL: "!=",
    ops.LESS: "<",
    ops.LESS_EQUAL: "<=",
    ops.SAME: "<=>",
    ops.FLOAT_EQUAL: "=",
    ops.FLOAT_NOT_EQUAL: "!=",
    ops.FLOAT_LESS: "<",
    ops.FLOAT_LESS_EQUAL: "<=",
    ops.FLOAT_SAME: "<=>",
    ops.AND: "and",
    ops.OR: "or",
}
_WORDS = {
    ops.NEGATE: "minus",
    ops.FLOAT_NEGATE: "minus",
    ops.ABSOLUTE: "abs",
    ops.FLOAT_ABSOLUTE: "abs",
    ops.NOT: "not",
    ops.IS_NULL: "is null",
    ops.IS_TRUE: "is true",
    ops.IS_FALSE: "is false",
    ops.IS_NAN: "is nan",
    ops.COALESCE: "coalesce",
    ops.FLOAT_COALESCE: "coalesce",
    ops.LEAST: "least",
    ops.FLOAT_LEAST: "least",
    ops.GREATEST: "greatest",
    ops.FLOAT_GREATEST: "greatest",
}
_ONE_ARGUMENT = frozenset(
    {ops.NEGATE, ops.FLOAT_NEGATE, ops.ABSOLUTE, ops.FLOAT_ABSOLUTE}
    | {ops.NOT, ops.IS_NULL, ops.IS_TRUE, ops.IS_FALSE, ops.IS_NAN}
)


def listing(code: SlotCode) -> str:
    """Return the instructions of every variable with a match-dependent condition, one a line."""
    lines = []
    for variable, (first, last, result) in enumerate(code.ranges):
        if first == last:
            continue
        lines.append(f"{code.conditions.variables[variable]}:")
        lines += [f"  {_text(code, [int(x) for x in code.instructions[at]])}" for at in range(first, last)]
        lines.append(f"  test {_register(code, int(result))}")
    return "\n".join(lines)


def _text(code: SlotCode, instruction: list[int]) -> str:
    op, target, a, b, c = instruction[:5]
    return f"r{target} = {_value(code, op, a, b, c)}"


def _value(code: SlotCode, op: int, a: int, b: int, c: int) -> str:
    left, right = (_register(code, a), _register(code, b)) if op > ops.LAST_READ else ("", "")
    if op <= ops.LAST_READ:
        return _read(code, op, a, b)
    if op in _SYMBOLS:
        return f"{left} {_SYMBOLS[op]} {right}"
    if op in _ONE_ARGUMENT:
        return f"{_WORDS[op]} {left}"
    if op in _WORDS:
        return f"{_WORDS[op]}({left}, {right})"
    if op == ops.TO_FLOAT:
        return f"float {left} / 10^{b}" if b else f"float {left}"
    return f"if {left} then {right} else {_register(code, c)}"


def _read(code: SlotCode, op: int, a: int, b: int) -> str:
    if op in (ops.FIRST_ROW, ops.LAST_ROW):
        end = "first" if op == ops.FIRST_ROW else "last"
        offset = f", {b}" if b else ""
        return f"{end} row of {_rows(code, None if a < 0 else code.row_sets[a])}{offset}"
    if op in (ops.READ_INT, ops.READ_FLOAT):
        kinds = [o for o in code.conditions.operands if (o.type.kind == "float") == (op == ops.READ_FLOAT)]
        return f"{kinds[b].column} at {_register(code, a)}"
    if op == ops.CLASSIFIER:
        return f"classifier at {_register(code, a)}" + (f" {'-' if b < 0 else '+'} {abs(b)}" if b else "")
    if op == ops.COUNT_ROWS:
        return f"count of {_rows(code, None if a < 0 else code.row_sets[a])}"
    aggregate = code.aggregates[a]
    assert aggregate.operand is not None
    column = code.conditions.operands[aggregate.operand].column
    return f"{aggregate.function} of {column} over {_rows(code, aggregate.rows)}"


def _rows(code: SlotCode, rows: RowSet | None) -> str:
    if rows is None or rows.variables is None:
        return "all rows"
    return "{" + ", ".join(code.conditions.variables[v] for v in sorted(rows.variables)) + "}"


def _register(code: SlotCode, register: int) -> str:
    if register == ROW_REGISTER:
        return "row"
    if register == NUMBER_REGISTER:
        return "match number"
    constant = code.constants.get(register)
    if constant is None:
        return f"r{register}"
    return "NULL" if constant.value is None else repr(constant.value)
