"""The table function in SQL text: found, read, replaced."""

from __future__ import annotations

import pytest

from sparkcep.errors import PatternSyntaxError
from sparkcep.syntax.statements import Occurrence, rewrite
from sparkcep.syntax.table_call import TableCall


def occurrences(text: str) -> tuple[str, list[Occurrence]]:
    found: list[Occurrence] = []

    def serve(occurrence: Occurrence) -> str:
        found.append(occurrence)
        return f"v{len(found)}"

    return rewrite(text, serve), found


def only(text: str) -> Occurrence:
    _, found = occurrences(f"SELECT * FROM {text}")
    assert len(found) == 1
    assert isinstance(found[0].clause, TableCall)
    return found[0]


def test_a_call_is_replaced_by_a_view() -> None:
    call = "match_pattern(TABLE(shop.readings) PARTITION BY tag ORDER BY ts, pattern => 'SEQ(A a, B b)')"
    text, found = occurrences(f"SELECT m.a FROM {call} AS m WHERE 1 = 1")
    assert text == "SELECT m.a FROM v1 AS m WHERE 1 = 1"
    assert found[0].relation == "SELECT * FROM shop.readings"
    assert found[0].relation_alias == "readings"
    assert found[0].clause_text == call
    assert isinstance(found[0].clause, TableCall)
    assert found[0].clause.arguments == {"partition_by": ["tag"], "order_by": ["ts"], "pattern": "SEQ(A a, B b)"}


def test_lists_stand_in_brackets() -> None:
    call = only("match_pattern(TABLE(t) PARTITION BY (k, upper(n)) ORDER BY (ts DESC, i), pattern => 'A')").clause
    assert isinstance(call, TableCall)
    assert call.arguments["partition_by"] == ["k", "upper(n)"]
    assert call.arguments["order_by"] == ["ts DESC", "i"]


def test_constants_of_every_kind() -> None:
    call = only("""MATCH_PATTERN(TABLE(t) WITH SINGLE PARTITION ORDER BY ts,
        pattern => 'SEQ(A a, B b) WHERE a.x = ''y''', within => INTERVAL '5' MINUTE, limit => 3, inclusive => false,
        types => map('A', 'x > 1', 'B', 'x < -1'), sample => -1.5, strategy => NULL, subset => map('U', array('A')))""")
    assert isinstance(call.clause, TableCall)
    assert call.clause.arguments == {
        "order_by": ["ts"], "pattern": "SEQ(A a, B b) WHERE a.x = 'y'", "within": "INTERVAL '5' MINUTE", "limit": 3,
        "inclusive": False, "types": {"A": "x > 1", "B": "x < -1"}, "sample": -1.5,
        "subset": {"U": ["A"]},
    }  # fmt: skip


def test_over_a_query_and_common_tables() -> None:
    found = only("match_pattern(TABLE(SELECT * FROM s WHERE x > 1) ORDER BY ts, pattern => 'A')")
    assert found.relation == "SELECT * FROM (SELECT * FROM s WHERE x > 1)"
    assert found.relation_alias is None
    _, (inner,) = occurrences("WITH s AS (SELECT 1 AS x) SELECT * FROM match_pattern(TABLE(s), pattern => 'A')")
    assert inner.relation == "WITH s AS (SELECT 1 AS x) SELECT * FROM s"


def test_calls_and_clauses_nest() -> None:
    inner = "match_pattern(TABLE(t) ORDER BY ts, pattern => 'SEQ(A a)')"
    text, found = occurrences(f"SELECT * FROM (SELECT * FROM {inner}) MATCH_RECOGNIZE (ORDER BY ts PATTERN (a)) AS m")
    assert text == "SELECT * FROM v2 AS m"
    assert found[1].relation == "SELECT * FROM (SELECT * FROM v1)"
    text, found = occurrences(
        "SELECT * FROM match_pattern(TABLE(SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a))), pattern => 'A')"
    )
    assert text == "SELECT * FROM v2"
    assert found[1].relation == "SELECT * FROM (SELECT * FROM v1)"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT match_pattern(a, b) FROM t",
        "SELECT 'match_pattern(TABLE(t))' FROM t",
        "SELECT t.match_pattern FROM t",
        "SELECT * FROM match_pattern",
    ],
)
def test_what_is_no_call_stays(text: str) -> None:
    assert occurrences(text) == (text, [])


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ("TABLE(t)", "MISSING_PATTERN", "pattern"),
        ("TABLE(t), 'SEQ(A a)'", "UNEXPECTED_TOKEN", "have names"),
        ("TABLE(t), patern => 'A'", "UNKNOWN_ARGUMENT", "did you mean 'pattern'?"),
        ("TABLE(t), pattern => 'A', pattern => 'B'", "CLAUSE_TWICE", "pattern"),
        ("TABLE(t) PARTITION BY k, partition_by => 'l', pattern => 'A'", "CLAUSE_TWICE", "partition_by"),
        ("TABLE(t) SORTED, pattern => 'A'", "UNEXPECTED_TOKEN", "SORTED"),
        ("TABLE(t) PARTITION BY (k,), pattern => 'A'", "MISSING_EXPRESSION", ""),
        ("TABLE(t) PARTITION BY, pattern => 'A'", "MISSING_EXPRESSION", ""),
        ("TABLE(t), pattern => x", "WRONG_ARGUMENT", "constant"),
        ("TABLE(t), pattern => 5", "WRONG_ARGUMENT", "a text"),
        ("TABLE(t), pattern => 'A', inclusive => 'no'", "WRONG_ARGUMENT", "TRUE or FALSE"),
        ("TABLE(t), pattern => 'A', types => map('A')", "WRONG_ARGUMENT", "constant"),
        ("TABLE(t), pattern => 'A',", "UNEXPECTED_TOKEN", "have names"),
        ("TABLE(t), pattern =>", "UNEXPECTED_TOKEN", "have names"),
    ],
)
def test_wrong_calls(arguments: str, code: str, word: str) -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        occurrences(f"SELECT * FROM match_pattern({arguments})")
    assert caught.value.code == code
    assert word in str(caught.value)
    assert caught.value.span is not None
