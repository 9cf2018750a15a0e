"""MATCH_RECOGNIZE inside of SQL statements: found, cut out, replaced; everything else stays."""

from __future__ import annotations

import pytest

from sparkcep.errors import BindingError, PatternSyntaxError, SparkcepError
from sparkcep.syntax.statements import Occurrence, rewrite, split_statements

CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"


def rewritten(text: str) -> tuple[str, list[Occurrence]]:
    """Rewrite a text in which ``$M`` stands for a clause; views are called v1, v2 …."""
    found: list[Occurrence] = []

    def serve(occurrence: Occurrence) -> str:
        found.append(occurrence)
        return f"v{len(found)}"

    return rewrite(text.replace("$M", CLAUSE), serve), found


CASES = [
    ("SELECT * FROM t $M", "SELECT * FROM v1", [("SELECT * FROM t", "t")]),
    ("select a from t $M where b", "select a from v1 where b", [("SELECT * FROM t", "t")]),
    (
        "SELECT * FROM a.b.t AS x $M AS m (c1, c2) WHERE m.c1 = 1",
        "SELECT * FROM v1 AS m (c1, c2) WHERE m.c1 = 1",
        [("SELECT * FROM a.b.t AS x", "x")],
    ),
    ("SELECT * FROM a.b.`my t` $M m", "SELECT * FROM v1 m", [("SELECT * FROM a.b.`my t`", "my t")]),
    (
        "SELECT * FROM (SELECT *, 1 AS one FROM t ORDER BY ts) $M",
        "SELECT * FROM v1",
        [("SELECT * FROM (SELECT *, 1 AS one FROM t ORDER BY ts)", None)],
    ),
    ("SELECT * FROM (SELECT 1) x $M", "SELECT * FROM v1", [("SELECT * FROM (SELECT 1) x", "x")]),
    ("SELECT * FROM (SELECT 1) x (c) $M", "SELECT * FROM v1", [("SELECT * FROM (SELECT 1) x (c)", "x")]),
    (
        "SELECT * FROM (SELECT * FROM t $M) AS x $M AS m",
        "SELECT * FROM v2 AS m",
        [("SELECT * FROM t", "t"), ("SELECT * FROM (SELECT * FROM v1) AS x", "x")],
    ),
    (
        "SELECT * FROM t $M AS m $M",
        "SELECT * FROM v2",
        [("SELECT * FROM t", "t"), ("SELECT * FROM v1 AS m", "m")],
    ),
    (
        "SELECT * FROM t $M a LEFT JOIN u $M b ON a.x = b.x, w z $M",
        "SELECT * FROM v1 a LEFT JOIN v2 b ON a.x = b.x, v3",
        [("SELECT * FROM t", "t"), ("SELECT * FROM u", "u"), ("SELECT * FROM w z", "z")],
    ),
    (
        "SELECT * FROM t JOIN u USING (a) JOIN w $M USING (a)",
        "SELECT * FROM t JOIN u USING (a) JOIN v1 USING (a)",
        [("SELECT * FROM w", "w")],
    ),
    (
        "SELECT (SELECT max(a) FROM t $M), b FROM u WHERE EXISTS (SELECT * FROM w $M) AND a IS DISTINCT FROM b",
        "SELECT (SELECT max(a) FROM v1), b FROM u WHERE EXISTS (SELECT * FROM v2) AND a IS DISTINCT FROM b",
        [("SELECT * FROM t", "t"), ("SELECT * FROM w", "w")],
    ),
    ("SELECT * FROM (t $M)", "SELECT * FROM (v1)", [("SELECT * FROM t", "t")]),
    ("SELECT * FROM(SELECT 1)$MAS m", "SELECT * FROM v1 AS m", [("SELECT * FROM (SELECT 1)", None)]),
    ("SELECT * FROM range(10) $M", "SELECT * FROM v1", [("SELECT * FROM range(10)", None)]),
    ("SELECT * FROM range(10) r $M", "SELECT * FROM v1", [("SELECT * FROM range(10) r", "r")]),
    (
        "SELECT * FROM u, VALUES (1, 2), (f(3), -4) AS v(a, ts) $M",
        "SELECT * FROM u, v1",
        [("SELECT * FROM VALUES (1, 2), (f(3), -4) AS v(a, ts)", "v")],
    ),
    (
        "SELECT * FROM VALUES 1, -2 AS v(ts), t $M",
        "SELECT * FROM VALUES 1, -2 AS v(ts), v1",
        [("SELECT * FROM t", "t")],
    ),
    (
        "SELECT * FROM t TABLESAMPLE (10 PERCENT) $M",
        "SELECT * FROM v1",
        [("SELECT * FROM t TABLESAMPLE (10 PERCENT)", None)],
    ),
    ("SELECT * FROM t VERSION AS OF 3 $M", "SELECT * FROM v1", [("SELECT * FROM t VERSION AS OF 3", None)]),
    ("SELECT * FROM IDENTIFIER('t') $M", "SELECT * FROM v1", [("SELECT * FROM IDENTIFIER('t')", None)]),
    ("FROM t $M |> WHERE a", "FROM v1 |> WHERE a", [("SELECT * FROM t", "t")]),
    ("INSERT INTO o SELECT * FROM t $M", "INSERT INTO o SELECT * FROM v1", [("SELECT * FROM t", "t")]),
    (
        "MERGE INTO o USING t $M AS m ON o.a = m.a WHEN MATCHED THEN DELETE",
        "MERGE INTO o USING v1 AS m ON o.a = m.a WHEN MATCHED THEN DELETE",
        [("SELECT * FROM t", "t")],
    ),
    (
        "EXPLAIN CREATE OR REPLACE TEMP VIEW w AS SELECT * FROM t $M",
        "EXPLAIN CREATE OR REPLACE TEMP VIEW w AS SELECT * FROM v1",
        [("SELECT * FROM t", "t")],
    ),
    ("CREATE TABLE o AS SELECT * FROM t $M", "CREATE TABLE o AS SELECT * FROM v1", [("SELECT * FROM t", "t")]),
    ("SELECT 1; SELECT * FROM t $M ;", "SELECT 1; SELECT * FROM v1 ;", [("SELECT * FROM t", "t")]),
]


@pytest.mark.parametrize(("text", "expected", "relations"), CASES)
def test_rewrite(text: str, expected: str, relations: list[tuple[str, str | None]]) -> None:
    result, found = rewritten(text)
    assert result == expected
    assert [(occurrence.relation, occurrence.relation_alias) for occurrence in found] == relations


COMMON_TABLES = [
    (
        "WITH a AS (SELECT 1 AS ts), b (x) AS (SELECT 2) SELECT * FROM a $M",
        ["WITH a AS (SELECT 1 AS ts), b (x) AS (SELECT 2) SELECT * FROM a"],
    ),
    (  # A definition sees those before it, its clauses are replaced for those behind it.
        "WITH a AS (SELECT 1), b AS (SELECT * FROM a $M), c AS (SELECT 3) SELECT * FROM b $M",
        [
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "WITH a AS (SELECT 1), b AS (SELECT * FROM v1), c AS (SELECT 3) SELECT * FROM b",
        ],
    ),
    (  # Inner lists nest: their names hide outer ones.
        "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a $M) q",
        ["WITH a AS (SELECT 1) (WITH a AS (SELECT * FROM a) SELECT * FROM a)"],
    ),
    (  # A list in a sub-query ends with it.
        "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) q JOIN t $M",
        ["SELECT * FROM t"],
    ),
    ("WITH a (SELECT 1) SELECT * FROM t $M", ["WITH a (SELECT 1) SELECT * FROM t"]),
    ("INSERT INTO o WITH a AS (SELECT 1) TABLE a; SELECT * FROM t $M", ["SELECT * FROM t"]),
    ("SELECT a FROM t GROUP BY a WITH ROLLUP UNION SELECT * FROM t $M", ["SELECT * FROM t"]),
    (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r $M",
        ["WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r"],
    ),
    (
        "WITH RECURSIVE r(n) MAX RECURSION LEVEL 5 AS (SELECT 1) SELECT * FROM r $M",
        ["WITH RECURSIVE r(n) MAX RECURSION LEVEL 5 AS (SELECT 1) SELECT * FROM r"],
    ),
    (
        "WITH recursive AS (SELECT 1) SELECT * FROM recursive $M",
        ["WITH recursive AS (SELECT 1) SELECT * FROM recursive"],
    ),
]


@pytest.mark.parametrize(("text", "relations"), COMMON_TABLES)
def test_common_tables_are_visible(text: str, relations: list[str]) -> None:
    _, found = rewritten(text)
    assert [occurrence.relation for occurrence in found] == relations


def test_occurrence_knows_clause_and_place() -> None:
    text = "SELECT *\nFROM t AS x\n  match_recognize (\n  ORDER BY ts\n  PATTERN (A B+)\n) AS m"
    found: list[Occurrence] = []

    def serve(occurrence: Occurrence) -> str:
        found.append(occurrence)
        return "`a view`"

    assert rewrite(text, serve) == "SELECT *\nFROM `a view` AS m"
    (occurrence,) = found
    assert text[occurrence.span.start : occurrence.span.end] == text[14:-5]
    assert occurrence.clause_text == text[occurrence.clause_text and text.index("match_rec") : -5]
    assert str(occurrence.clause.pattern) == "A B+"
    fragment = occurrence.clause.order_by[0]
    assert text[fragment.span.start : fragment.span.end] == "ts"


def test_clause_inside_of_a_condition_comes_first() -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x IN (SELECT x FROM u {CLAUSE}))"
    result, found = rewritten(text)
    assert result == "SELECT * FROM v2"
    assert [occurrence.relation for occurrence in found] == ["SELECT * FROM u", "SELECT * FROM t"]
    assert found[1].clause.definitions[0].condition.text == "x IN (SELECT x FROM v1)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        "SELECT 'MATCH_RECOGNIZE (PATTERN (A))' FROM t",
        "SELECT 1 -- FROM t MATCH_RECOGNIZE (PATTERN (A))",
        "SELECT 1 /* FROM t MATCH_RECOGNIZE (PATTERN (A)) */",
        "SELECT `match_recognize` FROM `t MATCH_RECOGNIZE (PATTERN (A))`",
        "SELECT match_recognize(1), x.match_recognize(2) FROM match_recognize",
        "SELECT * FROM t match_recognize (a, b), u AS match_recognize (c)",
        "WITH match_recognize (a) AS (SELECT 1) SELECT * FROM match_recognize",
        "SELECT my_match_recognize (PATTERN (A)) FROM t",
        "SELECT 'unclosed",
    ],
)
def test_left_alone(text: str) -> None:
    result, found = rewritten(text)
    assert result == text
    assert not found


REFUSED = [
    ("CREATE VIEW w AS SELECT * FROM t $M", "PERSISTENT_OBJECT", "CREATE VIEW"),
    ("CREATE OR REPLACE VIEW w AS SELECT * FROM t $M", "PERSISTENT_OBJECT", "CREATE OR REPLACE VIEW"),
    ("CREATE MATERIALIZED VIEW w AS SELECT * FROM t $M", "PERSISTENT_OBJECT", "CREATE MATERIALIZED VIEW"),
    ("CREATE STREAMING TABLE w AS SELECT * FROM t $M", "PERSISTENT_OBJECT", "CREATE STREAMING TABLE"),
    ("ALTER VIEW w AS SELECT * FROM t $M", "PERSISTENT_OBJECT", "ALTER VIEW"),
    ("CREATE FUNCTION f() RETURN SELECT * FROM t $M", "PERSISTENT_OBJECT", "CREATE FUNCTION"),
    ("CREATE TEMPORARY FUNCTION f() RETURN SELECT * FROM t $M", "PERSISTENT_OBJECT", "CREATE TEMPORARY FUNCTION"),
    ("SELECT 1; EXPLAIN EXTENDED CREATE VIEW w AS SELECT * FROM t $M", "PERSISTENT_OBJECT", "CREATE VIEW"),
    ("BEGIN SELECT * FROM t $M; END", "SQL_SCRIPT", "BEGIN"),
    ("SELECT * FROM t, LATERAL (SELECT t.a) $M", "LATERAL_RELATION", "LATERAL"),
    ("SELECT * FROM t JOIN LATERAL (SELECT t.a) x $M", "LATERAL_RELATION", "LATERAL"),
    ("SELECT * FROM t LATERAL VIEW explode(x) y AS z $M", "LATERAL_RELATION", "LATERAL"),
    (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r $M) TABLE r",
        "RECURSIVE_RELATION",
        "r",
    ),
    ("SELECT * FROM $M", "MISSING_RELATION", "MATCH_RECOGNIZE"),
    ("SELECT 1; $M", "MISSING_RELATION", "MATCH_RECOGNIZE"),
    ("SELECT a $M", "MISSING_RELATION", "SELECT"),
    ("SELECT * FROM t JOIN u ON t.a = u.a $M", "MISSING_RELATION", "ON"),
    ("SELECT * FROM t WHERE a $M", "MISSING_RELATION", "WHERE"),
    ("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts)", "MISSING_PATTERN", ")"),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B**))", "DOUBLE_QUANTIFIER", "*"),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)", "UNBALANCED_BRACKET", "("),
]


@pytest.mark.parametrize(("text", "code", "piece"), REFUSED)
def test_refused_with_reason_and_place(text: str, code: str, piece: str) -> None:
    with pytest.raises(SparkcepError) as caught:
        rewritten(text)
    error = caught.value
    assert error.code == code
    assert isinstance(error, BindingError if code in ("PERSISTENT_OBJECT", "SQL_SCRIPT") else SparkcepError)
    assert error.text == text.replace("$M", CLAUSE)
    assert error.span is not None
    assert error.text[error.span.start : error.span.end] == piece


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ; -- nothing; here\n ;", []),
        ("SELECT ';' -- a;b\n; /* ; */ SELECT `;`", ["SELECT ';' -- a;b", "/* ; */ SELECT `;`"]),
        ("SELECT 1;SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1; BEGIN SELECT 2; SELECT 3; END", ["SELECT 1", "BEGIN SELECT 2; SELECT 3; END"]),
        ("BEGIN; SELECT 1", ["BEGIN", "SELECT 1"]),
    ],
)
def test_split_statements(text: str, statements: list[str]) -> None:
    assert split_statements(text) == statements


def test_split_needs_closed_quotes() -> None:
    with pytest.raises(PatternSyntaxError, match="UNCLOSED_QUOTE"):
        split_statements("SELECT 1; SELECT 'a; b")
