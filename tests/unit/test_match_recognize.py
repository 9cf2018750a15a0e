"""The MATCH_RECOGNIZE clause: text to tree and back, and what is refused."""

from __future__ import annotations

import pytest

from sparkcep.errors import PatternSyntaxError, Span
from sparkcep.syntax.clause import AfterMatch, Definition, Fragment, MatchRecognize, Measure, Subset, Within
from sparkcep.syntax.match_recognize import parse_after_match, parse_match_recognize, parse_rows_per_match, print_clause
from sparkcep.syntax.pattern import Label
from sparkcep.syntax.row_pattern import parse_row_pattern

FULL = """MATCH_RECOGNIZE (
  PARTITION BY t.user_id, `x y` -- keys, all
  ORDER BY ts DESC NULLS LAST, f(a, b)
  MEASURES FIRST(A.ts) AS start_ts, COUNT(B.*) n, A.x IS NULL AS `is null`,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY x) AS "med", CASE WHEN a THEN 1 END AS pattern
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP TO FIRST b
  PATTERN (A B+ "c d"{2,3}?) WITHIN INTERVAL '30' MINUTE EXCLUSIVE
  SUBSET U = (A, b), V = ("c d")
  DEFINE B AS price > PREV(price, 1) /* up, always */ AND within > 3, "c d" AS define IN (1, 2)
)"""

TREE = MatchRecognize(
    pattern=parse_row_pattern('A B+ "c d"{2,3}?'),
    partition_by=(Fragment("t.user_id"), Fragment("`x y`")),
    order_by=(Fragment("ts DESC NULLS LAST"), Fragment("f(a, b)")),
    measures=(
        Measure("start_ts", Fragment("FIRST(A.ts)")),
        Measure("n", Fragment("COUNT(B.*)")),
        Measure("is null", Fragment("A.x IS NULL")),
        Measure("med", Fragment("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)")),
        Measure("pattern", Fragment("CASE WHEN a THEN 1 END")),
    ),
    rows_per_match="all with unmatched",
    after_match=AfterMatch("to first", "B"),
    subsets=(Subset("U", ("A", "B")), Subset("V", ("c d",))),
    within=Within("interval", 1_800_000_000, inclusive=False),
    definitions=(
        Definition("B", Fragment("price > PREV(price, 1) /* up, always */ AND within > 3")),
        Definition("c d", Fragment("define IN (1, 2)")),
    ),
)


def clause(body: str) -> MatchRecognize:
    return parse_match_recognize(f"MATCH_RECOGNIZE ({body})")


def test_full_clause() -> None:
    assert parse_match_recognize(FULL) == TREE
    assert parse_match_recognize(print_clause(TREE)) == TREE


def test_fragments_know_their_place() -> None:
    source = f"SELECT * FROM t {FULL} AS m"
    tree = parse_match_recognize(FULL, source=source, offset=16)
    fragments = [*tree.partition_by, *tree.order_by, *(m.expression for m in tree.measures)]
    fragments += [definition.condition for definition in tree.definitions]
    for fragment in fragments:
        assert fragment.source == source
        assert source[fragment.span.start : fragment.span.end] == fragment.text
    places = [tree.after_match.span, tree.subsets[0].span, tree.definitions[1].span]
    assert [source[span.start : span.end] for span in places] == [
        "AFTER MATCH SKIP TO FIRST b",
        "U = (A, b)",
        '"c d"',
    ]
    assert tree.within is not None
    assert source[tree.within.span.start : tree.within.span.end] == "INTERVAL '30' MINUTE EXCLUSIVE"


def test_pattern_alone() -> None:
    assert clause("pattern (a)") == MatchRecognize(Label("A"))
    assert print_clause(clause("pattern (a)")) == (
        "MATCH_RECOGNIZE (\n  ONE ROW PER MATCH\n  AFTER MATCH SKIP PAST LAST ROW\n  PATTERN (A)\n)"
    )


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("one", "one"),
        ("ONE ROW PER MATCH", "one"),
        ("all", "all"),
        ("All Rows Per Match", "all"),
        ("all show empty", "all"),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", "all"),
        ("all omit empty", "all omit empty"),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "all omit empty"),
        ("all with unmatched", "all with unmatched"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "all with unmatched"),
    ],
)
def test_rows_per_match(text: str, mode: str) -> None:
    assert parse_rows_per_match(text) == mode
    if "PER MATCH" in text:
        assert clause(f"{text} PATTERN (A)").rows_per_match == mode


@pytest.mark.parametrize(
    "text", ["", "both", "one row", "all rows", "all empty", "one show empty", "all with unmatched matches", "'one'"]
)
def test_no_rows_per_match(text: str) -> None:
    with pytest.raises(PatternSyntaxError, match="INVALID_ROWS_PER_MATCH"):
        parse_rows_per_match(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("past last row", AfterMatch()),
        ("to next row", AfterMatch("to next row")),
        ("to first b", AfterMatch("to first", "B")),
        ("to last b", AfterMatch("to last", "B")),
        ("to b", AfterMatch("to last", "B")),
        ('to first "b c"', AfterMatch("to first", "b c")),
        ('to "FIRST"', AfterMatch("to last", "FIRST")),
    ],
)
def test_after_match(text: str, expected: AfterMatch) -> None:
    for prefix in ("", "SKIP ", "AFTER MATCH SKIP "):
        assert parse_after_match(prefix + text) == expected
    tree = clause(f"AFTER MATCH SKIP {text} PATTERN (A)")
    assert tree.after_match == expected
    assert parse_match_recognize(print_clause(tree)) == tree


@pytest.mark.parametrize(
    "text", ["", "to", "to first", "to last", "to next", "past row", "to first a b", "to 'a'", "b"]
)
def test_no_after_match(text: str) -> None:
    with pytest.raises(PatternSyntaxError, match="INVALID_AFTER_MATCH"):
        parse_after_match(text)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("MEASURES measures AS x PATTERN (A)", ["x"]),
        ("MEASURES a AS define, define AS within, within AS subset PATTERN (A)", ["define", "within", "subset"]),
        ("MEASURES a.pattern AS pattern PATTERN (A)", ["pattern"]),
        ("MEASURES f(x) total, a[1] first_one, 1 one, 'x' s PATTERN (A)", ["total", "first_one", "one", "s"]),
        ("MEASURES a AS Mixed, b AS `we``ird` PATTERN (A)", ["Mixed", "we`ird"]),
    ],
)
def test_measure_names_keep_their_case_and_may_be_words_of_the_clause(body: str, names: list[str]) -> None:
    tree = clause(body)
    assert [measure.name for measure in tree.measures] == names
    assert parse_match_recognize(print_clause(tree)) == tree


@pytest.mark.parametrize(
    "body", ["PARTITION BY measures ORDER BY within PATTERN (A)", "PATTERN (A) DEFINE A AS subset > define"]
)
def test_columns_may_be_words_of_the_clause(body: str) -> None:
    tree = clause(body)
    assert parse_match_recognize(print_clause(tree)) == tree


ERRORS = [
    ("", "MISSING_PATTERN", ")"),
    ("ORDER BY ts", "MISSING_PATTERN", ")"),
    ("foo PATTERN (A)", "UNEXPECTED_TOKEN", "foo"),
    ("PATTERN A B", "UNEXPECTED_TOKEN", "A"),
    ("PATTERN (A) B", "UNEXPECTED_TOKEN", "B"),
    ("PATTERN ()", "EMPTY_PATTERN", ""),
    ("PATTERN (A) ORDER BY ts", "CLAUSE_OUT_OF_ORDER", "ORDER"),
    ("PATTERN (A) AFTER MATCH SKIP TO NEXT ROW", "CLAUSE_OUT_OF_ORDER", "AFTER"),
    ("PATTERN (A) DEFINE A AS b > 1 SUBSET U = (A)", "CLAUSE_OUT_OF_ORDER", "SUBSET"),
    ("WITHIN 5 PATTERN (A)", "CLAUSE_OUT_OF_ORDER", "PATTERN"),
    ("ORDER BY a ORDER BY b PATTERN (A)", "CLAUSE_TWICE", "ORDER"),
    ("ONE ROW PER MATCH ALL ROWS PER MATCH PATTERN (A)", "CLAUSE_TWICE", "ALL"),
    ("PATTERN (A) PATTERN (B)", "CLAUSE_TWICE", "PATTERN"),
    ("SEEK PATTERN (A)", "UNSUPPORTED_CLAUSE", "SEEK"),
    ("INITIAL PATTERN (A)", "UNSUPPORTED_CLAUSE", "INITIAL"),
    ("PARTITION BY ORDER BY ts PATTERN (A)", "MISSING_ITEM", "ORDER"),
    ("MEASURES a AS x, PATTERN (A)", "MISSING_ITEM", "PATTERN"),
    ("PATTERN (A) DEFINE", "MISSING_ITEM", ")"),
    ("PATTERN (A) DEFINE A AS x,", "MISSING_ITEM", ")"),
    ("MEASURES COUNT(*) PATTERN (A)", "MEASURE_WITHOUT_NAME", ")"),
    ("MEASURES price PATTERN (A)", "MEASURE_WITHOUT_NAME", "price"),
    ("MEASURES a IS NULL PATTERN (A)", "MEASURE_WITHOUT_NAME", "NULL"),
    ("MEASURES A.price PATTERN (A)", "MEASURE_WITHOUT_NAME", "price"),
    ("MEASURES AS x PATTERN (A)", "MEASURE_WITHOUT_NAME", "x"),
    ("MEASURES a AS 'x' PATTERN (A)", "MEASURE_WITHOUT_NAME", "'x'"),
    ("MEASURES a AS x y PATTERN (A)", "MEASURE_WITHOUT_NAME", "y"),
    ("PATTERN (A) DEFINE A x > 1", "INVALID_DEFINITION", "A"),
    ("PATTERN (A) DEFINE A AS", "INVALID_DEFINITION", "A"),
    ("PATTERN (A) DEFINE A.x AS b", "INVALID_DEFINITION", "A"),
    ("PATTERN (A) DEFINE permute AS b", "RESERVED_NAME", "permute"),
    ("PATTERN (A) SUBSET U = A", "INVALID_SUBSET", "U"),
    ("PATTERN (A) SUBSET U = ()", "INVALID_SUBSET", "U"),
    ("PATTERN (A) SUBSET U = (A,)", "INVALID_SUBSET", "U"),
    ("PATTERN (A) SUBSET U = (A B)", "INVALID_SUBSET", "U"),
    ("AFTER MATCH SKIP TO PATTERN (A)", "INVALID_AFTER_MATCH", "AFTER MATCH SKIP TO"),
    ("ALL ROWS PER MATCH EMPTY PATTERN (A)", "INVALID_ROWS_PER_MATCH", "ALL ROWS PER MATCH EMPTY"),
    ("PATTERN (A) WITHIN 1 MONTH", "MONTH_INTERVAL", "1 MONTH"),
    ("PATTERN (A) WITHIN", "INVALID_DURATION", None),
    ("PATTERN (A +* B)", "DOUBLE_QUANTIFIER", "*"),
    ("PATTERN (A {- B) DEFINE A AS b", "UNCLOSED_EXCLUSION", ""),
]


@pytest.mark.parametrize(("body", "code", "found"), ERRORS)
def test_refused_with_code_and_place(body: str, code: str, found: str | None) -> None:
    text = f"MATCH_RECOGNIZE ({body})"
    with pytest.raises(PatternSyntaxError) as caught:
        parse_match_recognize(text)
    error = caught.value
    assert error.code == code
    assert error.text == text
    assert error.span is not None
    if found is not None:
        assert text[error.span.start : error.span.end] == found


def test_order_is_named() -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        clause("PATTERN (A) MEASURES a AS x")
    assert "MEASURES must stand before PATTERN" in str(caught.value)
    assert "PARTITION BY …, ORDER BY …, MEASURES …" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "UNEXPECTED_TOKEN"),
        ("MATCH_RECOGNIZE", "UNEXPECTED_TOKEN"),
        ("PATTERN (A)", "UNEXPECTED_TOKEN"),
        ("MATCH_RECOGNIZE (PATTERN (A)) AS m", "UNEXPECTED_TOKEN"),
        ("MATCH_RECOGNIZE (PATTERN (A)", "UNBALANCED_BRACKET"),
        ("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x = 'y)", "UNCLOSED_QUOTE"),
    ],
)
def test_no_clause(text: str, code: str) -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        parse_match_recognize(text)
    assert caught.value.code == code


def test_errors_underline_in_the_source() -> None:
    source = "SELECT *\nFROM t MATCH_RECOGNIZE (PATTERN (A))"
    with pytest.raises(PatternSyntaxError) as caught:
        parse_match_recognize("MATCH_RECOGNIZE (PATTERN A)", source=source, offset=16)
    assert caught.value.span == Span(41, 42)
    assert caught.value.text == source


def test_a_comment_at_the_end_of_an_expression_hides_nothing() -> None:
    tree = MatchRecognize(Label("A"), definitions=(Definition("A", Fragment("x > 1 -- why")),))
    assert parse_match_recognize(print_clause(tree)).definitions[0].condition.text == "x > 1"
