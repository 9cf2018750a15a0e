"""Random row patterns over small random tables, as arguments of ``match_pattern``.

Arithmetic that could overflow or divide by zero is drawn only where it is match-dependent, in
conditions: there the result is NULL under every plan. Elsewhere it would be Spark's error.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.property.reference import match_rows

TYPES = {"k": "string", "i": "bigint", "v": "bigint", "e": "string", "x": "double", "w": "bigint"}
VARIABLES = ("A", "B", "C", "D")
UNION = "U"
Drawn = TypeVar("Drawn")
_LEAST, _GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Case:
    """A table and the arguments of one call.

    Attributes
    ----------
    columns, types
        Names in order; the Spark type of each.
    rows
        Python values, None for NULL. The order column has no ties inside a partition.
    arguments
        Keyword arguments of ``match_pattern`` and of ``match_rows`` alike.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    arguments: dict[str, Any]

    @property
    def types(self) -> dict[str, str]:
        return {name: TYPES[name] for name in self.columns}

    def expected(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return names and rows as the reference finds them; raise what it raises."""
        return match_rows(self.columns, self.rows, **self.arguments, limit=20_000)

    def __str__(self) -> str:
        """Return the case as an entry of a case table, without what is expected."""
        lines = ["[[case]]", f"columns = {_toml(self.columns)}", f"types = {_toml(self.types)}"]
        lines += ["rows = [", *(f"    {_toml(row)}," for row in self.rows), "]"]
        return "\n".join(lines + [f"{name} = {_toml(value)}" for name, value in self.arguments.items()])

    __repr__ = __str__


def _toml(value: Any) -> str:
    if value is None:
        return '"NULL"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(item)}" for name, item in value.items()) + " }"
    return str(value)


def _some(share: int, usual: SearchStrategy[Drawn], rare: SearchStrategy[Drawn]) -> SearchStrategy[Drawn]:
    """Return `rare` about once in `share` draws."""
    return st.sampled_from([*[usual] * (share - 1), rare]).flatmap(lambda strategy: strategy)


# ---------------------------------------------------------------------------------------------
# Rows

_SMALL = st.sampled_from([1, 2, 3, 0, 1, 2, 4, -1, None])
_TEXT = st.sampled_from(["a", "b", "c", None])
_DOUBLE = st.sampled_from([0.0, 1.5, -2.5, -0.0, math.nan, math.inf, None])
_WIDE = st.sampled_from([0, 1, 2**53, 2**53 + 1, _GREATEST, _LEAST, None])
_GAP = st.sampled_from([1, 1, 2, 3])
_VALUES = st.tuples(_GAP, _SMALL, _TEXT, _DOUBLE, _WIDE)


_KEYS: tuple[str | None, ...] = ("x", None, *"abcdefghij")
_FEW_KEYS: tuple[tuple[str | None, ...], ...] = (("x",), ("x", "y"), ("x", None), ("x", "y", None))


@st.composite
def tables(draw: DrawFn, nullable_order: bool = True, partitions: int = 3) -> tuple[tuple[Any, ...], ...]:
    """Draw up to three, or about `partitions`, partitions of up to eight rows each, interleaved; columns as `TYPES`."""
    rows: list[tuple[Any, ...]] = []
    keys = _FEW_KEYS if partitions <= 3 else tuple(_KEYS[:size] for size in range(partitions // 2, partitions + 1))
    for key in draw(_some(30, st.sampled_from(keys), st.just(()))):
        size = draw(st.sampled_from([3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 2, 1]))
        values = [draw(_VALUES) for _ in range(size)]
        position = 0
        starts_null = nullable_order and draw(st.sampled_from([False] * 7 + [True]))
        for number, (gap, *others) in enumerate(values):
            position += gap
            rows.append((key, None if starts_null and number == 0 else position, *others))
    return tuple(draw(st.permutations(rows))) if draw(st.booleans()) else tuple(rows)


# ---------------------------------------------------------------------------------------------
# Patterns

_QUANTIFIERS = ("+", "*", "?", "{2}", "{1,2}", "{2,}", "{,2}", "{2,3}", "+?", "*?", "??", "{1,2}?", "{2,}?", "{,2}?")


_VARIABLE = st.sampled_from(VARIABLES)
_QUANTIFIED = st.tuples(_VARIABLE, st.sampled_from(_QUANTIFIERS)).map("".join)
_STEP = st.one_of(_VARIABLE, _QUANTIFIED)
_RARE = st.sampled_from(["()", "$", "^", "(^ | A)", "(B $ | C)", "(() | A)"])


def _excluded(draw_part: SearchStrategy[str]) -> SearchStrategy[str]:
    alone = draw_part.map(lambda part: f"{{- {part} -}}")
    pair = st.tuples(draw_part, st.sampled_from([" ", " | "]), draw_part)
    return st.one_of(alone, pair.map(lambda drawn: f"{{- {drawn[0]}{drawn[1]}{drawn[2]} -}}"))


def _extended(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    pair, several = st.tuples(inner, inner), st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        pair.map(lambda parts: f"({' '.join(parts)})"),
        pair.map(lambda parts: f"({' | '.join(parts)})"),
        st.tuples(inner, st.sampled_from(_QUANTIFIERS)).map(lambda drawn: f"({drawn[0]}){drawn[1]}"),
        several.map(lambda parts: f"({' | '.join(parts)})"),
        several.map(lambda parts: f"PERMUTE({', '.join(parts)})"),
    )


@functools.cache
def patterns(exclusions: bool = True) -> SearchStrategy[str]:
    """Return a strategy for pattern texts with at least one variable; exclusions are not nested."""
    leaf = _some(24, _STEP, _RARE)
    if exclusions:
        leaf = _some(8, leaf, _excluded(_STEP))
    tree = st.recursive(leaf, _extended, max_leaves=4)
    chain = st.lists(leaf, min_size=2, max_size=4).map(" ".join)
    around = st.tuples(_STEP, tree).map(" ".join)
    return st.one_of(chain, tree, around, chain).filter(lambda text: bool(variables_in(text)))


_ROWS = ("A", "B", "C", "B{2}", "(A B){2}", "A ()", "{- B -}", "(B C)")


def fixed_patterns() -> SearchStrategy[str]:
    """Return a strategy for patterns whose matches all have the same number of rows."""
    return st.lists(st.sampled_from(_ROWS), min_size=1, max_size=3).map(" ".join)


def variables_in(pattern: str) -> list[str]:
    """Return the variables of a drawn pattern, in order of first appearance."""
    return list(dict.fromkeys(re.findall(r"\b[A-D]\b", pattern)))


# ---------------------------------------------------------------------------------------------
# Expressions

_COMPARE = st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "<=>"])
_ROW_ONLY = (
    "v > 0",
    "v <= 2",
    "v >= 0",
    "e = 'a'",
    "e <> 'b'",
    "v IS NULL",
    "v IS NOT NULL",
    "NOT (v > 1)",
    "v + i > 4",
    "x >= 1.5D",
    "isnan(x)",
    "e IN ('a', 'c')",
    "v BETWEEN 0 AND 2",
    "w > 9007199254740992",
    "FALSE",
    "CASE WHEN v > 1 THEN e = 'a' ELSE v = 0 END",
)
_NEIGHBOURS = (
    "v > PREV(v)",
    "v < PREV(v)",
    "v < NEXT(v)",
    "PREV(v, 2) IS NULL",
    "NEXT(v) IS NULL",
    "e = PREV(e)",
    "w >= PREV(w)",
    "x > NEXT(x)",
    "NEXT(v, 2) > PREV(v, 0)",
)


def _own(variable: str) -> list[str]:
    return [
        text.replace("#", variable)
        for text in (
            "#.v > PREV(#.v)",
            "#.v >= NEXT(#.v)",
            "#.v > 0",
            "#.e = PREV(#.e, 2)",
            "LAST(#.v) > LAST(#.v, 1)",
            "LAST(#.v, 1) IS NULL",
            "COUNT(#.*) <= 2",
            "SUM(#.v) < 4",
            "v = MAX(#.v)",
            "AVG(#.v) >= 1",
            "#.x >= LAST(#.x, 1)",
        )
    ]


_WHOLE_TERMS = (
    "v",
    "1",
    "#.v",
    "LAST(#.v, 1)",
    "FIRST(#.v)",
    "FIRST(v)",
    "PREV(#.v)",
    "NEXT(#.v)",
    "COUNT(#.*)",
    "COUNT(*)",
    "COUNT(#.v)",
    "SUM(#.v)",
    "MIN(#.v)",
    "MAX(#.v)",
    "MAX(v)",
    "SUM(v)",
    "LAST(v, 1)",
    "FIRST(#.v, 1)",
    "LAST(#.v, 2)",
    "PREV(FIRST(#.v))",
    "NEXT(LAST(#.v, 1))",
    "PREV(LAST(v, 1), 2)",
    "NEXT(FIRST(#.v, 1), 2)",
    "PREV(#.v, 0)",
    "MATCH_NUMBER()",
    "COALESCE(#.v, 1)",
    "LAST(#.v + 1)",
    "GREATEST(FIRST(#.v), v)",
    "ABS(FIRST(#.v))",
    "CASE WHEN FIRST(#.v) > 0 THEN v ELSE COUNT(#.*) END",
    "FIRST(#.v) + v",
    "v - FIRST(#.v)",
)
_FAILING_TERMS = (
    "FIRST(#.v) % FIRST(v)",
    "FIRST(v) DIV FIRST(#.v)",
    "FIRST(#.w) + FIRST(w)",
    "FIRST(#.w) * FIRST(w)",
    "FIRST(w) - FIRST(#.w, 1)",
    "SUM(#.w)",
    "SUM(w)",
)
_WIDE_TERMS = ("w", "FIRST(#.w)", "LAST(#.w, 1)", "#.w", "MAX(#.w)", "MIN(w)", "PREV(#.w)")
_DOUBLE_TERMS = (
    "x",
    "FIRST(#.x)",
    "LAST(#.x, 1)",
    "#.x",
    "MAX(#.x)",
    "MIN(x)",
    "SUM(#.x)",
    "AVG(#.x)",
    "AVG(#.v)",
    "1.5D",
)
_TEXT_TERMS = (
    "e",
    "FIRST(#.e)",
    "LAST(#.e, 1)",
    "#.e",
    "MIN(#.e)",
    "MAX(e)",
    "PREV(#.e)",
    "'b'",
    "upper(#.e)",
    "concat_ws('', #.e, 'b')",
)
_LABEL_TERMS = (
    "CLASSIFIER()",
    "PREV(CLASSIFIER())",
    "LAST(CLASSIFIER(), 1)",
    "FIRST(CLASSIFIER())",
    "CLASSIFIER(#)",
    "PREV(CLASSIFIER(), 2)",
    "MAX(CLASSIFIER())",
)


@functools.cache
def _filled(terms: tuple[str, ...], names: tuple[str, ...]) -> SearchStrategy[str]:
    return st.tuples(st.sampled_from(terms), st.sampled_from(names)).map(lambda d: d[0].replace("#", d[1]))


@functools.cache
def _dependent(names: tuple[str, ...]) -> SearchStrategy[str]:
    """Conditions that read other rows of the match."""
    whole = _filled(_WHOLE_TERMS, names)
    labels = st.one_of(_filled(_LABEL_TERMS, names), st.sampled_from([f"'{name}'" for name in VARIABLES]))
    families = [
        whole,
        whole,
        labels,
        _filled(_TEXT_TERMS, names),
        _filled(_DOUBLE_TERMS, names),
        _filled(_WIDE_TERMS, names),
    ]
    comparisons = [st.tuples(terms, _COMPARE, terms).map(" ".join) for terms in families]
    mixed = st.tuples(whole, _COMPARE, _filled(("AVG(#.v)", "FIRST(#.v) / COUNT(#.*)"), names)).map(" ".join)
    nulls = st.tuples(
        st.one_of(whole, _filled(_FAILING_TERMS, names), labels), st.sampled_from([" IS NULL", " IS NOT NULL"])
    ).map("".join)
    failing = st.tuples(_filled(_FAILING_TERMS, names), _COMPARE, st.sampled_from(["0", "1"])).map(" ".join)
    return st.one_of(*comparisons, mixed, nulls, failing)


def _joined(simple: SearchStrategy[str]) -> SearchStrategy[str]:
    pair = st.tuples(simple, st.sampled_from(["OR", "OR", "AND"]), simple).map(lambda d: f"({d[0]}) {d[1]} ({d[2]})")
    easy = simple.map(lambda text: f"({text}) OR v >= 1")
    return st.one_of(easy, simple, pair, simple.map(lambda text: f"NOT ({text})"), simple)


@functools.cache
def conditions(variable: str, names: tuple[str, ...], dependent: bool = True) -> SearchStrategy[str]:
    """Return a strategy for the condition of `variable`; `names` are all variables, unions too."""
    local = st.sampled_from(_ROW_ONLY + _NEIGHBOURS)
    if not dependent:
        return _joined(local)
    return _joined(st.one_of(local, st.sampled_from(_own(variable)), _dependent(names)))


_AGGREGATE_MEASURES = (
    "COUNT(*)",
    "COUNT(#.*)",
    "COUNT(#.v)",
    "SUM(#.v)",
    "AVG(v)",
    "MIN(#.e)",
    "MAX(#.x)",
    "MIN(w)",
    "SUM(x)",
    "ARRAY_AGG(#.v)",
    "ARRAY_AGG(CLASSIFIER())",
    "ARRAY_AGG(e)",
    "COUNT(DISTINCT #.v)",
    "COUNT(DISTINCT e)",
    "COUNT(*) FILTER (WHERE v > 0)",
    "SUM(#.v) FILTER (WHERE #.e = 'a')",
    "SUM(v + 1)",
    "MAX(CLASSIFIER())",
)
_LOGICAL_MEASURES = (
    "FIRST(i)",
    "LAST(i)",
    "FIRST(#.v)",
    "LAST(#.v)",
    "LAST(#.e, 1)",
    "FIRST(#.x, 1)",
    "LAST(w, 2)",
    "FIRST(CLASSIFIER())",
    "LAST(#.v + #.i)",
    "LAST(CLASSIFIER(), 1)",
)
_OTHER_MEASURES = (
    "CLASSIFIER()",
    "MATCH_NUMBER()",
    "v",
    "#.v",
    "#.i",
    "CLASSIFIER(#)",
    "PREV(v)",
    "NEXT(e)",
    "PREV(#.v)",
    "NEXT(#.v, 2)",
    "PREV(FIRST(#.v))",
    "NEXT(FINAL LAST(#.i))",
    "PREV(LAST(#.i, 1), 2)",
    "PREV(CLASSIFIER())",
    "NEXT(CLASSIFIER())",
    "v - FIRST(v)",
    "COALESCE(#.v, FIRST(v), -7)",
    "COUNT(*) + COUNT(#.*)",
    "FINAL SUM(v) - SUM(v)",
    "upper(#.e)",
    "CASE WHEN COUNT(*) > 2 THEN 'long' ELSE CLASSIFIER() END",
    "7",
    "FIRST(v) IS NULL",
)


@functools.cache
def measures(names: tuple[str, ...]) -> SearchStrategy[dict[str, str]]:
    """Return a strategy for one to four measures m0, m1, …"""
    marked = _filled(_LOGICAL_MEASURES + _AGGREGATE_MEASURES, names)
    one = st.one_of(
        marked,
        _filled(_OTHER_MEASURES, names),
        st.tuples(st.sampled_from(["FINAL ", "RUNNING "]), marked).map("".join),
    )
    return st.lists(one, min_size=1, max_size=4).map(lambda texts: {f"m{n}": text for n, text in enumerate(texts)})


# ---------------------------------------------------------------------------------------------
# Whole cases


@functools.cache
def _skips(names: tuple[str, ...]) -> SearchStrategy[str]:
    target = _filled(("to last #", "to first #", "to #"), names)
    return st.one_of(st.just("past last row"), st.just("to next row"), st.just("past last row"), target)


_WITHIN: SearchStrategy[tuple[Any, bool]] = st.sampled_from(
    [(None, True)] * 6
    + [(distance, inclusive) for distance in (2, 4, 1, 7) for inclusive in (True, False)]
    + [(0, True), ("2 events", True), ("3 events", False), ("4 events", True), ("2.5", True)]
)


@st.composite
def cases(draw: DrawFn, dependent: bool = True, partitions: int = 3, fixed: bool = False) -> Case:
    """Draw a case; without `dependent` its conditions read the row and its neighbours only.

    `partitions` bounds the number of partitions; cases that may fail on their data have three at most.
    With `fixed`, all matches have the same number of rows, of which one is given, and most may overlap.
    """
    modes = ["one"] if fixed else ["one", "all", "all omit empty", "all with unmatched", "all show empty"]
    mode = draw(st.sampled_from(modes))
    pattern = draw(fixed_patterns() if fixed else patterns(mode != "all with unmatched"))
    primary = variables_in(pattern)
    members = (
        draw(st.lists(st.sampled_from(primary), min_size=1, max_size=2, unique=True)) if draw(st.booleans()) else []
    )
    names = (*primary, *([UNION] if members else []))
    within, inclusive = draw(_WITHIN)
    defined = [name for name in primary if draw(st.sampled_from([True, True, False]))]
    arguments: dict[str, Any] = {
        "pattern": pattern,
        "partition_by": draw(st.sampled_from([["k"], ["k"], ["k"], []])),
        "order_by": ["i"] if within is not None or draw(st.sampled_from([True] * 7 + [False])) else ["i DESC"],
        "define": {name: draw(conditions(name, names, dependent)) for name in defined},
        "measures": draw(measures(names)),
        "rows_per_match": mode,
        "after_match": "to next row" if fixed and draw(st.booleans()) else draw(_skips(names)),
    }
    if members:
        arguments["subset"] = {UNION: members}
    if within is not None:
        arguments |= {"within": within, "inclusive": inclusive}
    drops = draw(st.sampled_from([False] * 9 + [True]))
    if drops:
        arguments["null_order_value"] = "drop"
    measured = within is not None and not str(within).endswith("events")
    nullable = drops or not measured or draw(st.sampled_from([False] * 15 + [True]))
    targets_row = arguments["after_match"] not in ("past last row", "to next row")
    few = not arguments["partition_by"] or targets_row or (measured and nullable and not drops)
    rows = draw(tables(nullable, min(partitions, 3) if few else partitions))
    if not arguments["partition_by"]:
        rows = _without_ties(rows)
    return Case(tuple(TYPES), rows, arguments)


def _without_ties(rows: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    """Number the order column anew where all rows are one partition."""
    return tuple((row[0], 2 * number + (row[1] or 0) % 2, *row[2:]) for number, row in enumerate(rows, 1))
