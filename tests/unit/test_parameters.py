"""Parameters of statements: which tokens are some, and what takes their place."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest

from sparkcep.errors import BindingError
from sparkcep.spark.literals import sql_literal
from sparkcep.spark.session import Given
from sparkcep.syntax.clause import MatchRecognize
from sparkcep.syntax.parameters import with_literals
from sparkcep.syntax.statements import Occurrence, rewrite
from sparkcep.syntax.table_call import TableCall

CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A? B{2} C*?) DEFINE B AS v > %s)"


def rewritten(text: str, args: Any = None, **fields: Any) -> tuple[str, list[Occurrence]]:
    found: list[Occurrence] = []

    def serve(occurrence: Occurrence) -> str:
        found.append(occurrence)
        return f"v{len(found)}"

    return rewrite(text, serve, Given(args, fields).parameters()), found


def condition(occurrence: Occurrence) -> str:
    assert isinstance(occurrence.clause, MatchRecognize)
    return occurrence.clause.definitions[0].condition.text


def test_question_marks_in_a_pattern_are_quantifiers() -> None:
    text = f"SELECT ?, '?' FROM (SELECT * FROM t WHERE x > ?) {CLAUSE % '? + 1'} WHERE y < ? -- ?"
    result, found = rewritten(text, [1, 2, 3, 4])
    assert result == "SELECT :sparkcep_0, '?' FROM v1 WHERE y < :sparkcep_3 -- ?"
    assert found[0].relation == "SELECT * FROM (SELECT * FROM t WHERE x > :sparkcep_1)"
    assert condition(found[0]) == "v > 3 + 1"
    given = Given([1, 2, 3, 4])
    assert given.named(result) == {"sparkcep_0": 1, "sparkcep_3": 4}
    assert given.named(found[0].relation) == {"sparkcep_1": 2}


def test_names_become_literals_inside_of_clauses_only() -> None:
    text = f"SELECT :a FROM (SELECT * FROM t WHERE x > :b) {CLAUSE % ':b'} WHERE w:b = :c LIMIT :b"
    result, found = rewritten(text, {"a": 1, "b": -2, "c": 3, "unused": object()})
    assert result == "SELECT :a FROM v1 WHERE w:b = :c LIMIT :b"
    assert found[0].relation == "SELECT * FROM (SELECT * FROM t WHERE x > :b)"
    assert condition(found[0]) == "v >  -2"
    assert Given({"a": 1, "z": 2}).named("SELECT :a, 'z'") == {"a": 1}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("v -:p", "v - -2"),
        ("v:p", "v:p"),
        (":p::string", "(-2)::string"),
        ("a[:p]", "a[ -2]"),
        ("x AND :p", "x AND  -2"),
    ],
)
def test_places_of_a_literal(written: str, read: str) -> None:
    assert condition(rewritten(f"SELECT * FROM t {CLAUSE % written}", {"p": -2})[1][0]) == f"v > {read}"


def test_calls_take_parameters_as_values_and_in_texts() -> None:
    text = """SELECT * FROM match_pattern(TABLE(SELECT * FROM t WHERE x > :x) ORDER BY ts, pattern => :pattern,
        within => :within, define => map('A', 'v > :x AND w <> '':x'''), measures => :measures)"""
    args = {"x": 1, "pattern": "A B?", "within": dt.timedelta(hours=1), "measures": {"n": "COUNT(*)"}}
    call = rewritten(text, args)[1][0]
    assert call.relation == "SELECT * FROM (SELECT * FROM t WHERE x > :x)"
    assert isinstance(call.clause, TableCall)
    assert call.clause.arguments == {
        "order_by": ["ts"], "pattern": "A B?", "within": "INTERVAL '0 01:00:00.000000' DAY TO SECOND",
        "define": {"A": "v > :x AND w <> ':x'"}, "measures": {"n": "COUNT(*)"},
    }  # fmt: skip
    assert with_literals("v > :x AND w <> ':x' OR y ? :z", Given(args).parameters()) == "v > 1 AND w <> ':x' OR y ? :z"


def test_fields_and_braces() -> None:
    text = f"SELECT {{n}}, '{{n}}' FROM t {CLAUSE % '{s}'} WHERE x IN {{list}}"
    result, found = rewritten(text, None, n=3, s="it's", list=(1, 2))
    assert result == "SELECT 3, '{n}' FROM v1 WHERE x IN (1, 2)"
    assert condition(found[0]) == "v > 'it\\'s'"
    assert rewritten(text.replace("{2}", "{{2}}"), None, n=3, s="", list=())[1][0].clause == rewritten(
        text, None, n=3, s="", list=()
    )[1][0].clause  # fmt: skip


def test_more_question_marks_than_values() -> None:
    with pytest.raises(BindingError, match="UNBOUND_PARAMETER") as caught:
        rewritten(f"SELECT ? FROM t {CLAUSE % '?'}", [1])
    assert caught.value.text is not None
    assert caught.value.span is not None
    assert caught.value.text[caught.value.span.start - 4 :].startswith("v > ?")


def test_statements_without_a_clause_keep_their_parameters() -> None:
    assert rewritten("SELECT ?, match_recognize(:a)", [1]) == ("SELECT ?, match_recognize(:a)", [])


def test_maps_and_what_is_no_literal() -> None:
    assert sql_literal({"a": 1.5, "b": math.nan}, "p") == "MAP('a', 1.5e0, 'b', DOUBLE('NaN'))"
    with pytest.raises(BindingError, match=r"UNSUPPORTED_PARAMETER.*:p is of type object"):
        sql_literal(object(), ":p")
