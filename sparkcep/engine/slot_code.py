"""The register machine that tests match-dependent conditions: op codes, which `slot_kernels` interprets.

An instruction is eight whole numbers: op code, target register, three operands, the range of
a whole-number result, and one unused. Registers hold a 64-bit integer or a double, and a
NULL flag; register 0 holds the row under test, register 1 the match number, the constants follow. There are no
jumps: every instruction of a variable's range is executed, NULL is a value like any other.
"""

from __future__ import annotations

from typing import NamedTuple

from sparkcep.engine.matches import Bools, Float64s, Int64s

WIDTH = 8

# Reads; operands are registers of rows, row sets, columns, aggregates.
(FIRST_ROW, LAST_ROW, READ_INT, READ_FLOAT, CLASSIFIER, COUNT_ROWS) = range(6)
(AGGREGATE_COUNT_OF, AGGREGATE_INT, AGGREGATE_FLOAT, AGGREGATE_MEAN) = range(6, 10)
LAST_READ = AGGREGATE_MEAN
# Whole numbers with a range.
(ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, NEGATE, ABSOLUTE) = range(10, 17)
LAST_INTEGER = ABSOLUTE
# Doubles.
(FLOAT_ADD, FLOAT_SUBTRACT, FLOAT_MULTIPLY, FLOAT_DIVIDE, FLOAT_REMAINDER, FLOAT_NEGATE, FLOAT_ABSOLUTE) = range(17, 24)
TO_FLOAT = 24
LAST_FLOAT = TO_FLOAT
# Comparisons.
(EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, SAME) = range(25, 30)
(FLOAT_EQUAL, FLOAT_NOT_EQUAL, FLOAT_LESS, FLOAT_LESS_EQUAL, FLOAT_SAME, IS_NAN) = range(30, 36)
LAST_COMPARISON = IS_NAN
# Logic.
(AND, OR, NOT, IS_NULL, IS_TRUE, IS_FALSE) = range(36, 42)
LAST_LOGIC = IS_FALSE
# Selection.
(CHOOSE, COALESCE, LEAST, GREATEST) = range(42, 46)
(FLOAT_CHOOSE, FLOAT_COALESCE, FLOAT_LEAST, FLOAT_GREATEST) = range(46, 50)

ROW_REGISTER, NUMBER_REGISTER = range(2)


class Registers(NamedTuple):
    """int64[r], float64[r], bool[r]; a register is used as one kind only."""

    integers: Int64s
    floats: Float64s
    nulls: Bools


class Code(NamedTuple):
    """What the interpreter needs of compiled conditions.

    Attributes
    ----------
    instructions : int64[n, 8]
    ranges : int64[variables, 3]
        First instruction, the one behind the last, register of the result; first = last
        where a variable has no match-dependent condition.
    classifiers : int64[variables]
        Codes of the variables' names.
    """

    instructions: Int64s
    ranges: Int64s
    classifiers: Int64s
