"""Relations, patterns and conditions of test_features.py, each with what must come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

# Statements over the table visits_table, the views visits and names.
DIP = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES FIRST(t) AS start, LAST(UP.v) AS top
  PATTERN (S DOWN UP) DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v))"""
DIPS = [("a", 1, 8), ("b", 1, 5)]
RELATIONS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "table": (f"SELECT * FROM visits_table {DIP}", DIPS),
    "view": (f"SELECT * FROM visits {DIP} AS m", DIPS),
    "alias of the input": (
        "SELECT * FROM visits AS x MATCH_RECOGNIZE (PARTITION BY x.k ORDER BY x.t MEASURES LAST(x.v) AS top "
        "PATTERN (A B C) DEFINE B AS x.v < PREV(x.v)) m",
        [("a", 8), ("b", 5)],
    ),
    "column aliases": (f"SELECT m.high, m.key FROM visits {DIP} AS m (key, begun, high)", [(5, "b"), (8, "a")]),
    "CTE below": (f"WITH low AS (SELECT * FROM visits WHERE v < 8) SELECT * FROM low {DIP}", [("b", 1, 5)]),
    "CTE above": (
        f"WITH dips (k, s, top) AS (SELECT * FROM visits {DIP}) SELECT k, top FROM dips",
        [("a", 8), ("b", 5)],
    ),
    "CTE of a CTE": (
        f"WITH one AS (SELECT * FROM visits), two AS (SELECT * FROM one {DIP}), three AS (SELECT * FROM two) "
        "SELECT MAX(top) FROM three",
        [(8,)],
    ),
    "sub-query": (f"SELECT * FROM (SELECT * FROM visits WHERE k = 'b') AS s {DIP} AS m", [("b", 1, 5)]),
    "in a scalar sub-query": (f"SELECT name, (SELECT MAX(top) FROM visits {DIP}) FROM names", [("Ann", 8), ("Bob", 8)]),
    "in EXISTS and IN": (
        f"SELECT name FROM names WHERE k IN (SELECT k FROM visits {DIP} WHERE top > 5) "
        f"AND EXISTS (SELECT 1 FROM visits {DIP})",
        [("Ann",)],
    ),
    "over a join": (
        f"SELECT k, top FROM (SELECT v.*, name FROM visits v JOIN names n ON v.k = n.k WHERE name = 'Ann') {DIP}",
        [("a", 8)],
    ),
    "left of a join": (f"SELECT name, m.top FROM visits {DIP} m JOIN names n ON m.k = n.k", [("Ann", 8), ("Bob", 5)]),
    "right of a join": (
        f"SELECT n.name, m.top FROM names n LEFT JOIN visits {DIP} AS m ON m.k = n.k AND m.top > 5",
        [("Ann", 8), ("Bob", None)],
    ),
    "joined to another": (
        f"SELECT x.k, y.high FROM visits {DIP} x JOIN visits_table {DIP} AS y (k, begun, high) ON x.k = y.k",
        [("a", 8), ("b", 5)],
    ),
    "over another": (
        f"SELECT * FROM visits {DIP} MATCH_RECOGNIZE (ORDER BY k MEASURES SUM(top) AS s, COUNT(*) AS n PATTERN (A+)) z",
        [(13, 2)],
    ),
    "everything in one query": (
        f"""WITH dips (key, begun, high) AS (SELECT * FROM (SELECT * FROM visits WHERE t < 9) AS s {DIP}),
            tops AS (SELECT m.top FROM visits_table {DIP} AS m)
        SELECT n.name, d.high, o.high FROM dips d JOIN names n ON d.key = n.k
          LEFT JOIN visits {DIP} AS o (key, begun, high) ON o.key = n.k AND o.high = (SELECT MAX(top) FROM tops)
        UNION ALL SELECT 'all', COUNT(*), MAX(top) FROM visits AS v {DIP}""",
        [("Ann", 8, 8), ("Bob", 5, None), ("all", 2, 8)],
    ),
}

# Sort orders, and the values 2, NULL, 3, 1 in them. Columns can be built only once a session runs.
ORDERS: list[tuple[str | list[str] | Callable[[], Column | list[Column]], list[int | None]]] = [
    ("v", [None, 1, 2, 3]),
    ("v ASC NULLS LAST", [1, 2, 3, None]),
    ("v DESC", [3, 2, 1, None]),
    ("v DESC NULLS FIRST", [None, 3, 2, 1]),
    (lambda: F.col("v").desc_nulls_last(), [3, 2, 1, None]),
    (lambda: F.asc_nulls_last("v"), [1, 2, 3, None]),
    ("-v", [None, 3, 2, 1]),
    ("abs(v - 2), v DESC", [None, 2, 3, 1]),
    (["v IS NULL", "v % 2", "v"], [2, 1, 3, None]),
    (lambda: [F.col("v") % 2, F.col("v").desc()], [None, 2, 3, 1]),
]

# Where the search for A B B goes on, and where matches then start.
SKIPS: list[tuple[str | None, list[int]]] = [
    (None, [1, 4]),
    ("past last row", [1, 4]),
    ("AFTER MATCH SKIP PAST LAST ROW", [1, 4]),
    ("to next row", [1, 2, 3, 4]),
    ("to first B", [1, 2, 3, 4]),
    ("to last B", [1, 3]),
    ("to B", [1, 3]),
    ("skip to last u", [1, 3]),
    ("to first U", [1, 2, 3, 4]),
]

# Patterns over rows t = 1 to 6, DEFINE, and the variables of each match.
PATTERNS: list[tuple[str, dict[str, str], list[str]]] = [
    ("A B", {}, ["AB"] * 3),
    ("A | A B", {}, ["A"] * 6),
    ("(A B | C)", {"A": "t = 2"}, ["C", "AB", "C", "C", "C"]),
    ("A (B | C)+", {"B": "t % 2 = 0", "C": "t % 3 = 0"}, ["ABCB", "AB"]),
    ("A*", {"A": "t > 2"}, ["", "", "AAAA"]),
    ("A+ B", {"B": "t IN (3, 5)"}, ["AAAAB"]),
    ("A? B", {"A": "t = 2"}, ["B", "AB", "B", "B", "B"]),
    ("(A B)* C", {"C": "t % 2 = 1"}, ["ABABC"]),
    ("(A | B C){2}", {"A": "t = 3"}, ["BCA"]),
    ("A+? B", {}, ["AB"] * 3),
    ("A?? B", {}, ["B"] * 6),
    ("A*? B", {"B": "t = 4"}, ["AAAB"]),
    ("A{4}", {}, ["AAAA"]),
    ("A{2,}", {}, ["A" * 6]),
    ("A{2,}? B", {"B": "t IN (4, 6)"}, ["AAAB"]),
    ("A{,2}? B", {"B": "t IN (2, 3)"}, ["AB", "B"]),
    ("A{1,4}", {}, ["AAAA", "AA"]),
    ("A{,2}", {}, ["AA"] * 3),
    ("A{2,3}? B", {}, ["AAB"] * 2),
    ("A{4}? B", {}, ["AAAAB"]),
    ("() | A", {}, [""] * 6),
    ("A (| B)", {}, ["A"] * 6),
    ("(A | ){2} B", {}, ["AAB"] * 2),
    ("(A | () | B)+ C", {"A": "t < 3", "B": "t = 3", "C": "t = 4"}, ["AABC"]),
    ("(A? B?)*", {}, ["ABABAB"]),
    ("(A??)* B", {"A": "t < 3"}, ["AAB", "B", "B", "B"]),
    ("(A?){2,} B", {"B": "t = 6"}, ["AAAAAB"]),
    ("(A*)* B", {"A": "t < 3"}, ["AAB", "B", "B", "B"]),
]

# Conditions of B, and the variables of each match of A B.
CONDITIONS: list[tuple[str | Callable[[], Column] | None, list[str]]] = [
    (None, ["AB"] * 3),
    ("t = 3", ["AB"]),
    (lambda: F.col("t") == 3, ["AB"]),
    ("B.t = A.t + 1 AND A.t >= 4", ["AB"]),
    ("t > PREV(t, 2)", ["AB"] * 2),
    ("NEXT(t) IS NULL", ["AB"]),
    ("NEXT(t, 2) = t + 2", ["AB"] * 2),
    ("PREV(A.t) = t - 2", ["AB"] * 2),
    ("NEXT(A.t, 2) = t + 1", ["AB"] * 2),
    ("PREV(FIRST(t), 1) IS NULL", ["AB"]),
    ("NEXT(LAST(A.t), 1) = t", ["AB"] * 3),
    ("LAST(t, 1) = t - 1 AND FIRST(t, 1) = t", ["AB"] * 3),
    ("CLASSIFIER() = 'B' AND CLASSIFIER(A) = 'A' AND PREV(CLASSIFIER()) = 'A'", ["AB"] * 3),
    ("NEXT(CLASSIFIER()) IS NULL", ["AB"] * 3),
    ("CLASSIFIER(U) = 'B' AND LAST(CLASSIFIER(U), 1) = 'A' AND FIRST(U.t) = t - 1", ["AB"] * 3),
    ("PREV(LAST(A.t, 0), 2) = t - 3 AND NEXT(FIRST(U.t, 1), 1) IS NULL", ["AB"]),
    ("FIRST(A.t, 1) IS NULL AND LAST(B.t, 1) IS NULL AND PREV(t, 0) = t", ["AB"] * 3),
    ("AVG(U.t) > 4 AND MIN(A.t) < MAX(B.t) AND COUNT(U.t) = 2", ["AB"]),
    ("MATCH_NUMBER() = 2", []),
    ("MATCH_NUMBER() = 1", ["AB"]),
    ("COUNT(*) = 2 AND COUNT(A.*) = 1 AND SUM(t) > 6", ["AB"] * 2),
    ("COALESCE(LAST(C.t), -1) = -1", ["AB"] * 3),
]

# Arguments that name what is not there, or have wrong types, and a part of what is told.
UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"define": {"A": "vv > 1"}}, "there is no column 'vv'"),
    ({"define": {"A": "v > LAST(A.vv)"}}, "there is no column 'vv'"),
    ({"measures": {"x": "FIRST(pricee)"}}, "there is no column 'pricee'"),
    ({"measures": {"x": "Q.v"}}, "neither a pattern variable nor a column"),
    ({"partition_by": "kk"}, "there is no column 'kk'"),
    ({"order_by": "tt"}, "there is no column 'tt'"),
    ({"define": {"A": "v + 1"}}, "takes conditions"),
    ({"define": {"A": "no_such_function(v)"}}, "no_such_function"),
    ({"define": {"A": "v > array(v)"}}, "."),
    ({"measures": {"x": "SUM(k, v)"}}, "."),
    ({"measures": {"x": "percentile(v)"}}, "."),
    ({"measures": {"x": "date_add(FIRST(array(v)), 1)"}}, "."),
    ({"measures": {"x": "COUNT(*) FILTER (WHERE v)"}}, "FILTER takes a condition"),
    ({"measures": {"x": "SUM(v) || array(v)"}}, "."),
]

# ALL ROWS of A* where t is 2 or 3: t, match number, count, classifier.
ROWS: list[tuple[str, list[tuple[int, int | None, int | None, str | None]]]] = [
    ("all", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
    ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
    ("all show empty", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
    ("all omit empty", [(2, 2, 1, "A"), (3, 2, 2, "A")]),
    ("All Rows Per Match Omit Empty Matches", [(2, 2, 1, "A"), (3, 2, 2, "A")]),
    ("all with unmatched", [(1, 1, 0, None), (2, 2, 1, "A"), (3, 2, 2, "A"), (4, 3, 0, None)]),
]
