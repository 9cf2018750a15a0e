"""Lowers match-dependent conditions to straight-line register code.

``SlotConditions`` (trees) → ``SlotCode`` (numbers), interpreted by `sparkcep.engine.slot_code`.
Equal sub-expressions of one condition share a register, constants are shared by all.
``str(code)`` lists the instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

import numpy as np

from sparkcep.engine import slot_code as ops
from sparkcep.engine.history import (
    AGGREGATE_AVG,
    AGGREGATE_COUNT,
    AGGREGATE_MAX,
    AGGREGATE_MIN,
    AGGREGATE_SUM,
    Tracked,
)
from sparkcep.engine.matches import Int64s
from sparkcep.engine.slot_code import NUMBER_REGISTER, ROW_REGISTER, WIDTH, Code, Registers
from sparkcep.engine.slot_listing import listing
from sparkcep.logical.slots import (
    ALL_ROWS,
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
    SlotConditions,
    SlotExpression,
    SlotType,
    Unary,
)

CodeValue: TypeAlias = str | bytes | Decimal
Codes: TypeAlias = Mapping[str, Mapping[CodeValue, int]]

_FUNCTIONS = {
    "count": AGGREGATE_COUNT,
    "sum": AGGREGATE_SUM,
    "avg": AGGREGATE_AVG,
    "min": AGGREGATE_MIN,
    "max": AGGREGATE_MAX,
}
_ARITHMETIC = {
    ("+", False): ops.ADD,
    ("-", False): ops.SUBTRACT,
    ("*", False): ops.MULTIPLY,
    ("div", False): ops.DIVIDE,
    ("%", False): ops.REMAINDER,
    ("+", True): ops.FLOAT_ADD,
    ("-", True): ops.FLOAT_SUBTRACT,
    ("*", True): ops.FLOAT_MULTIPLY,
    ("/", True): ops.FLOAT_DIVIDE,
    ("%", True): ops.FLOAT_REMAINDER,
}
_COMPARISONS = {
    "=": (ops.EQUAL, ops.FLOAT_EQUAL),
    "!=": (ops.NOT_EQUAL, ops.FLOAT_NOT_EQUAL),
    "<": (ops.LESS, ops.FLOAT_LESS),
    "<=": (ops.LESS_EQUAL, ops.FLOAT_LESS_EQUAL),
    "<=>": (ops.SAME, ops.FLOAT_SAME),
}
_MIRRORED = {">": "<", ">=": "<="}
_LOGIC = {
    "not": ops.NOT,
    "is null": ops.IS_NULL,
    "is true": ops.IS_TRUE,
    "is false": ops.IS_FALSE,
    "is nan": ops.IS_NAN,
}
_PICKS = {
    "coalesce": (ops.COALESCE, ops.FLOAT_COALESCE),
    "least": (ops.LEAST, ops.FLOAT_LEAST),
    "greatest": (ops.GREATEST, ops.FLOAT_GREATEST),
}


@dataclass(frozen=True, slots=True)
class Constant:
    """What a constant register holds; a code is known only when the rows of a call are."""

    value: bool | int | float | CodeValue | None
    type: SlotType


@dataclass(frozen=True, slots=True, eq=False)
class SlotCode:
    """Match-dependent conditions as register code.

    Attributes
    ----------
    conditions
        What was lowered.
    instructions : int64[n, 8]
        See `sparkcep.engine.slot_code`.
    ranges : int64[variables, 3]
        First instruction, the one behind the last, register of the result.
    constants
        Constant registers, by register.
    registers
        The number of registers.
    row_sets
        Row sets whose rows a history must keep (never "all rows", which need no keeping).
    aggregates
        Running aggregates a history must keep.
    tracked
        The same two as arrays.
    """

    conditions: SlotConditions
    instructions: Int64s
    ranges: Int64s
    constants: Mapping[int, Constant]
    registers: int
    row_sets: tuple[RowSet, ...]
    aggregates: tuple[Running, ...]
    tracked: Tracked

    def bound(self, codes: Codes) -> tuple[Code, Registers]:
        """Return code and registers for one call, whose rows' codes are `codes`.

        Raises
        ------
        KeyError
            A literal or a variable's name has no code.
        """
        registers = bound_registers(self.constants, self.registers, codes)
        names = codes["string"] if self.reads_classifier else dict.fromkeys(self.conditions.variables, 0)
        classifiers = np.array([names[name] for name in self.conditions.variables], np.int64)
        return Code(self.instructions, self.ranges, classifiers), registers

    @property
    def reads_classifier(self) -> bool:
        """Whether a condition reads CLASSIFIER()."""
        return bool((self.instructions[:, 0] == ops.CLASSIFIER).any())

    @property
    def literals(self) -> dict[str, set[CodeValue]]:
        """The values, by domain, that need a code besides those of the rows."""
        values = literals_of(self.constants)
        if self.reads_classifier:
            values.setdefault("string", set()).update(self.conditions.variables)
        return values

    def __str__(self) -> str:
        return listing(self)


def lower(conditions: SlotConditions) -> SlotCode:
    """Lower the conditions of all variables.

    Raises
    ------
    TypeError
        A tree that breaks the contract of `sparkcep.logical.slots` (mixed kinds, "/" on whole numbers).
    """
    lowering = SlotLowering(conditions)
    ranges = [lowering.condition(variable, condition) for variable, condition in enumerate(conditions.conditions)]
    instructions = np.array(lowering.instructions, np.int64).reshape(-1, WIDTH)
    return SlotCode(
        conditions=conditions,
        instructions=instructions,
        ranges=np.array(ranges, np.int64).reshape(-1, 3),
        constants=lowering.constants,
        registers=lowering.registers,
        row_sets=tuple(lowering.row_sets),
        aggregates=tuple(lowering.aggregates),
        tracked=_tracked(conditions, tuple(lowering.row_sets), tuple(lowering.aggregates)),
    )


def bound_registers(constants: Mapping[int, Constant], count: int, codes: Codes) -> Registers:
    """Return `count` registers that hold the constants; raises KeyError when a literal has no code."""
    registers = Registers(np.zeros(count, np.int64), np.zeros(count, np.float64), np.zeros(count, np.bool_))
    for register, constant in constants.items():
        if constant.value is None:
            registers.nulls[register] = True
        elif constant.type.kind == "float":
            registers.floats[register] = float(constant.value)
        elif constant.type.kind == "code":
            registers.integers[register] = codes[constant.type.domain][_code_value(constant.value)]
        else:
            registers.integers[register] = int(constant.value)
    return registers


def literals_of(constants: Mapping[int, Constant]) -> dict[str, set[CodeValue]]:
    """Return the values, by domain, that need a code besides those of the rows."""
    values: dict[str, set[CodeValue]] = {}
    for constant in constants.values():
        if constant.type.kind == "code" and constant.value is not None:
            values.setdefault(constant.type.domain, set()).add(_code_value(constant.value))
    return values


def operand_columns(operands: tuple[Operand, ...]) -> tuple[tuple[bool, int], ...]:
    """Return, per operand, whether it is floating, and its row in the floats or the integers."""
    taken = {False: 0, True: 0}
    places = []
    for operand in operands:
        is_float = operand.type.kind == "float"
        places.append((is_float, taken[is_float]))
        taken[is_float] += 1
    return tuple(places)


def _code_value(value: object) -> CodeValue:
    if isinstance(value, str | bytes | Decimal):
        return value
    raise TypeError(f"not the value of a code: {value!r}")


def _members(conditions: SlotConditions, rows: RowSet) -> list[bool]:
    return [rows.variables is None or v in rows.variables for v in range(len(conditions.variables))]


def _tracked(conditions: SlotConditions, row_sets: tuple[RowSet, ...], aggregates: tuple[Running, ...]) -> Tracked:
    places = operand_columns(conditions.operands)
    table = np.zeros((len(aggregates), 5), np.int64)
    for g, aggregate in enumerate(aggregates):
        assert aggregate.operand is not None
        is_float, column = places[aggregate.operand]
        table[g] = (_FUNCTIONS[aggregate.function], is_float, column, aggregate.type.low, aggregate.type.high)
    shape = (len(conditions.variables), -1)
    set_members = np.array([_members(conditions, rows) for rows in row_sets], np.bool_)
    aggregate_members = np.array([_members(conditions, a.rows) for a in aggregates], np.bool_)
    return Tracked(
        np.ascontiguousarray(set_members.T).reshape(shape if row_sets else (shape[0], 0)),
        table,
        np.ascontiguousarray(aggregate_members.T).reshape(shape if aggregates else (shape[0], 0)),
    )


@dataclass(slots=True)
class SlotLowering:
    """Lowers trees to instructions, one condition after the other."""

    conditions: SlotConditions
    instructions: list[list[int]] = field(default_factory=list)
    constants: dict[int, Constant] = field(default_factory=dict)
    registers: int = 2
    row_sets: dict[RowSet, int] = field(default_factory=dict)
    aggregates: dict[Running, int] = field(default_factory=dict)
    known_constants: dict[tuple[str, str, str], int] = field(default_factory=dict)
    known: dict[tuple[int, ...], int] = field(default_factory=dict)
    variable: int = 0

    def condition(self, variable: int, condition: SlotExpression | None) -> tuple[int, int, int]:
        """Lower one variable's condition; return its range of instructions and result register."""
        self.variable = variable
        first = len(self.instructions)
        if condition is None:
            return first, first, 0
        self.known.clear()
        result = self.lower(condition)
        if len(self.instructions) == first:
            # A lone constant: the interpreter takes an empty range for "no condition".
            result = self.emit(ops.IS_TRUE, result, result)
        return first, len(self.instructions), result

    def new_register(self) -> int:
        """Return a register of its own."""
        self.registers += 1
        return self.registers - 1

    def emit(self, op: int, a: int = 0, b: int = 0, c: int = 0, low: int = 0, high: int = 0) -> int:
        """Return the register of a value, computed unless an equal one has been."""
        key = (op, a, b, c, low, high)
        if key not in self.known:
            register = self.new_register()
            self.instructions.append([op, register, a, b, c, low, high, 0])
            self.known[key] = register
        return self.known[key]

    def constant(self, value: bool | int | float | CodeValue | None, type_: SlotType) -> int:
        """Return the register of a constant."""
        kind = "code" if type_.kind == "code" else "float" if type_.kind == "float" else "int"
        key = (kind, type_.domain, repr(value))
        if key not in self.known_constants:
            register = self.new_register()
            self.constants[register] = Constant(value, type_)
            self.known_constants[key] = register
        return self.known_constants[key]

    def lower(self, tree: SlotExpression) -> int:
        """Return the register that holds the value of `tree`."""
        is_float = tree.type.kind == "float"
        match tree:
            case ConstantValue(value, type_):
                return self.constant(_literal_value(value, type_), type_)
            case MatchNumber():
                return NUMBER_REGISTER
            case Read():
                return self.read(tree)
            case Running():
                return self.running(tree)
            case ClassifierOf(at, shift):
                return self.emit(ops.CLASSIFIER, self.row(at), shift)
            case Arithmetic(operator, left, right, type_):
                if (operator, is_float) not in _ARITHMETIC:
                    raise TypeError(f"{operator} of {type_.kind} values")
                op = _ARITHMETIC[operator, is_float]
                return self.emit(op, self.lower(left), self.lower(right), 0, *_range(type_))
            case Comparison():
                return self.comparison(tree)
            case Logic(operator, left, right):
                return self.emit(ops.AND if operator == "and" else ops.OR, self.lower(left), self.lower(right))
            case Unary():
                return self.unary(tree)
            case Choice(when, then, otherwise):
                op = ops.FLOAT_CHOOSE if is_float else ops.CHOOSE
                return self.emit(op, self.lower(when), self.lower(then), self.lower(otherwise))
            case Pick(function, arguments):
                return self.pick(_PICKS[function][is_float], [self.lower(argument) for argument in arguments])
        raise TypeError(f"not a slot expression: {tree!r}")

    def row(self, at: RowReference) -> int:
        """Return the register that holds the row of a reference, −1 if there is none."""
        if at.end == "last" and at.offset == 0 and (at.rows.variables is None or self.variable in at.rows.variables):
            # The row under test is the last one of all sets that it belongs to.
            return ROW_REGISTER
        return self.emit(ops.FIRST_ROW if at.end == "first" else ops.LAST_ROW, self.row_set(at.rows), at.offset)

    def row_set(self, rows: RowSet) -> int:
        """Return the number of a row set, −1 for all rows."""
        every = frozenset(range(len(self.conditions.variables)))
        return -1 if rows == ALL_ROWS or rows.variables == every else self.row_sets.setdefault(rows, len(self.row_sets))

    def read(self, tree: Read) -> int:
        """Return the register of an operand at a row."""
        is_float, column = operand_columns(self.conditions.operands)[tree.operand]
        return self.emit(ops.READ_FLOAT if is_float else ops.READ_INT, self.row(tree.at), column)

    def running(self, tree: Running) -> int:
        """Return the register of an aggregate."""
        if tree.operand is None:
            return self.emit(ops.COUNT_ROWS, self.row_set(tree.rows))
        place = self.aggregates.setdefault(tree, len(self.aggregates))
        operand = self.conditions.operands[tree.operand].type
        if tree.function == "count":
            return self.emit(ops.AGGREGATE_COUNT_OF, place)
        if tree.function == "avg":
            return self.emit(ops.AGGREGATE_MEAN, place, operand.scale if operand.kind == "int" else 0)
        if (operand.kind == "float") != (tree.type.kind == "float"):
            raise TypeError(f"{tree.function} of {operand.kind} as {tree.type.kind}")
        return self.emit(ops.AGGREGATE_FLOAT if operand.kind == "float" else ops.AGGREGATE_INT, place)

    def comparison(self, tree: Comparison) -> int:
        """Return the register of a comparison."""
        left, right, operator = tree.left, tree.right, str(tree.operator)
        if (left.type.kind == "float") != (right.type.kind == "float"):
            raise TypeError(f"comparison of {left.type.kind} and {right.type.kind}")
        if operator in _MIRRORED:
            left, right, operator = right, left, _MIRRORED[operator]
        return self.emit(_COMPARISONS[operator][left.type.kind == "float"], self.lower(left), self.lower(right))

    def unary(self, tree: Unary) -> int:
        """Return the register of an operation on one value."""
        argument, type_ = tree.argument.type, tree.type
        value = self.lower(tree.argument)
        if tree.operator in _LOGIC:
            return self.emit(_LOGIC[tree.operator], value, value)
        if tree.operator == "to float":
            return value if argument.kind == "float" else self.emit(ops.TO_FLOAT, value, argument.scale)
        if tree.operator == "rescale":
            factor = self.constant(10 ** (type_.scale - argument.scale), SlotType("int"))
            return self.emit(ops.MULTIPLY, value, factor, 0, *_range(type_))
        if type_.kind == "float":
            return self.emit(ops.FLOAT_NEGATE if tree.operator == "-" else ops.FLOAT_ABSOLUTE, value, value)
        return self.emit(ops.NEGATE if tree.operator == "-" else ops.ABSOLUTE, value, value, 0, *_range(type_))

    def pick(self, op: int, values: list[int]) -> int:
        """Return the register of the value picked from several."""
        register = values[0]
        for value in values[1:]:
            register = self.emit(op, register, value)
        return register


def _range(type_: SlotType) -> tuple[int, int]:
    return (0, 0) if type_.kind == "float" else (type_.low, type_.high)


def _literal_value(
    value: bool | int | float | str | bytes | None, type_: SlotType
) -> bool | int | float | CodeValue | None:
    """Return a literal's value; decimals that are codes become exact decimals."""
    if type_.kind != "code" or type_.domain != "decimal" or value is None:
        return value
    if isinstance(value, int):
        return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -type_.scale))
    return Decimal(str(value))
