"""Statements of other systems become ours, one test a difference; what changed is told."""

from __future__ import annotations

import pytest

from sparkcep.errors import PatternSyntaxError
from sparkcep.syntax.dialects import DIALECTS, translate


def changed(dialect: str, clause: str) -> tuple[str, list[str], tuple[str, ...]]:
    """Return the lines of the translated clause, and what is told."""
    found = translate(f"SELECT * FROM t MATCH_RECOGNIZE ({clause}) AS m", dialect)
    first, *lines, last = found.text.splitlines()
    assert (first, last) == ("SELECT * FROM t MATCH_RECOGNIZE (", ") AS m")
    return found.text, [line.strip() for line in lines], found.changes


@pytest.mark.parametrize(
    ("dialect", "ascending", "descending"),
    [("trino", " NULLS LAST", ""), ("oracle", " NULLS LAST", " NULLS FIRST"),
     ("snowflake", " NULLS LAST", " NULLS FIRST"), ("flink", "", "")],
)  # fmt: skip
def test_null_order(dialect: str, ascending: str, descending: str) -> None:
    clause = "ORDER BY a, b ASC, c DESC, d NULLS FIRST, e DESC NULLS LAST AFTER MATCH SKIP PAST LAST ROW PATTERN (X)"
    _, lines, changes = changed(dialect, clause)
    asked = "d NULLS FIRST, e DESC NULLS LAST"
    assert lines[0] == f"ORDER BY a{ascending}, b ASC{ascending}, c DESC{descending}, {asked}"
    assert len(changes) == 2 * bool(ascending) + bool(descending)
    name = DIALECTS[dialect].name
    assert all(f"where {name} sorts NULL and Spark does not" in change for change in changes)


@pytest.mark.parametrize(
    ("dialect", "mode"), [("trino", "PAST LAST ROW"), ("oracle", "PAST LAST ROW"), ("flink", "TO NEXT ROW")]
)
def test_default_skip(dialect: str, mode: str) -> None:
    _, lines, changes = changed(dialect, "ORDER BY a NULLS LAST PATTERN (X)")
    assert f"AFTER MATCH SKIP {mode}" in lines
    told = ["AFTER MATCH SKIP TO NEXT ROW added, which is the default of Flink"] if dialect == "flink" else []
    assert list(changes) == told


@pytest.mark.parametrize("mode", ["PAST LAST ROW", "TO NEXT ROW", "TO LAST X"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stated_skip_stays(dialect: str, mode: str) -> None:
    _, lines, changes = changed(dialect, f"ORDER BY a NULLS LAST AFTER MATCH SKIP {mode} PATTERN (Y X)")
    assert f"AFTER MATCH SKIP {mode}" in lines
    assert changes == ()


def test_the_edge_of_within() -> None:
    clause = "ORDER BY a AFTER MATCH SKIP PAST LAST ROW PATTERN (X) WITHIN INTERVAL '1' HOUR"
    _, lines, changes = changed("flink", clause)
    assert "WITHIN INTERVAL '1' HOUR EXCLUSIVE" in lines
    assert changes == ("WITHIN: EXCLUSIVE added, as Flink leaves the edge out",)
    assert changed("flink", clause + " INCLUSIVE")[2] == ()


def test_neighbours_in_define() -> None:
    clause = "ORDER BY a NULLS LAST MEASURES LAG(X.v) AS l PATTERN (X) DEFINE X AS v > LAG(v) AND v < lead(v, 2)"
    _, lines, changes = changed("snowflake", clause)
    assert "DEFINE X AS v > PREV(v) AND v < NEXT(v, 2)" in lines
    assert "MEASURES LAG(X.v) AS l" in lines
    assert changes == ("DEFINE X: LAG became PREV", "DEFINE X: LEAD became NEXT")


@pytest.mark.parametrize(
    ("dialect", "written", "becomes"),
    [
        ("trino", "CAST(v AS VARCHAR) = 'x'", "CAST(v AS STRING) = 'x'"),
        ("trino", "strpos(s, 'x') > 1", "LOCATE('x', s) > 1"),
        ("oracle", "NVL(v, 0) = 1", "COALESCE(v, 0) = 1"),
        ("snowflake", "v::INT = 1", "CAST(v AS INT) = 1"),
        ("snowflake", "IFF(v > 1, TRUE, FALSE)", "IF(v > 1, TRUE, FALSE)"),
    ],
)
def test_functions(dialect: str, written: str, becomes: str) -> None:
    _, lines, changes = changed(dialect, f"ORDER BY a NULLS LAST PATTERN (X) DEFINE X AS {written}")
    assert f"DEFINE X AS {becomes}" in lines
    assert changes == (f"DEFINE X: {written} became {becomes}",)


@pytest.mark.parametrize(("dialect", "told"), [("trino", 1), ("flink", 1), ("oracle", 0), ("snowflake", 0)])
def test_quotients(dialect: str, told: int) -> None:
    clause = "ORDER BY a NULLS LAST MEASURES X.v / 2 AS half AFTER MATCH SKIP TO NEXT ROW PATTERN (X)"
    _, lines, changes = changed(dialect, clause)
    assert "MEASURES X.v / 2 AS half" in lines
    assert len(changes) == told
    assert all("DIV does so here" in change for change in changes)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "expression",
    ["LAST(X.v, 1)", "FIRST(v, 2)", "FINAL LAST(X.v)", "RUNNING SUM(X.v)", "PREV(FIRST(X.v, 1), 2)", "COUNT(X.*)",
     "CLASSIFIER()", "MATCH_NUMBER()", "ARRAY_AGG(X.v)", "NEXT(v) - v"],
)  # fmt: skip
def test_what_is_said_of_rows_stays(dialect: str, expression: str) -> None:
    _, lines, changes = changed(
        dialect, f"ORDER BY a NULLS LAST MEASURES {expression} AS e AFTER MATCH SKIP TO NEXT ROW PATTERN (X)"
    )
    assert f"MEASURES {expression} AS e" in lines
    assert changes == ()


def test_around_the_clause() -> None:
    found = translate(
        'SELECT "k", m.n FROM (SELECT * FROM "t") MATCH_RECOGNIZE (ORDER BY a DESC PATTERN (X)) AS m', "trino"
    )
    assert found.text.startswith("SELECT `k`, m.n FROM (SELECT * FROM `t`) MATCH_RECOGNIZE (\n  ORDER BY a DESC\n")
    assert found.changes == ()
    ordered = translate("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY a DESC PATTERN (X)) ORDER BY a", "trino")
    assert ordered.text.endswith(") ORDER BY a NULLS LAST")
    assert ordered.changes == ("around the clauses the text was translated too",)


def test_clauses_in_clauses_and_side_by_side() -> None:
    inner = "(SELECT * FROM t MATCH_RECOGNIZE (ORDER BY a PATTERN (X))) AS u"
    outer = (
        f"SELECT * FROM {inner} MATCH_RECOGNIZE (ORDER BY b PATTERN (Y)), v MATCH_RECOGNIZE (ORDER BY c PATTERN (Z))"
    )
    text = translate(outer, "oracle").text
    assert text.count("MATCH_RECOGNIZE") == 3
    assert [line.strip() for line in text.splitlines() if "ORDER" in line] == [
        f"ORDER BY {name} NULLS LAST" for name in "abc"
    ]
    assert translate(text, "oracle").text.split() == text.split(), "a translation has nothing left to translate"


def test_a_clause_over_a_clause_over_a_clause() -> None:
    text = "t"
    for name in "abc":
        text = f"(SELECT * FROM {text} MATCH_RECOGNIZE (ORDER BY {name} PATTERN (X)))"
    found = translate(f"SELECT * FROM {text}", "oracle")
    assert [change[:10] for change in found.changes] == ["ORDER BY a", "ORDER BY b", "ORDER BY c"]
    assert found.text.count("NULLS LAST") == 3
    assert translate(found.text, "oracle").text.split() == found.text.split()


@pytest.mark.parametrize(
    ("text", "dialect", "code"),
    [
        ("SELECT 1", "trinno", "UNKNOWN_DIALECT"),
        (
            "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY a PATTERN (X) DEFINE X AS v >) AS m",
            "trino",
            "UNREADABLE_EXPRESSION",
        ),
        ("SELECT FROM WHERE", "trino", "UNREADABLE_EXPRESSION"),
        ("SELECT * FROM match_pattern(TABLE(t) ORDER BY a, pattern => 'SEQ(A a)')", "trino", "UNREADABLE_EXPRESSION"),
    ],
)
def test_refused(text: str, dialect: str, code: str) -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        translate(text, dialect)
    assert caught.value.code == code
