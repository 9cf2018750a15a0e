"""Event patterns: text to tree, tree to text, and what is refused (semantics §3.1)."""

from __future__ import annotations

import pickle
import time

import pytest

from sparkcep.errors import PatternSyntaxError, Span
from sparkcep.syntax.clause import Fragment, Measure, Within
from sparkcep.syntax.event_pattern import (
    Component,
    EventPattern,
    Group,
    KeyTest,
    Negation,
    Quantifier,
    Variable,
    components_of,
    negations_of,
    variables_of,
)
from sparkcep.syntax.sase import parse_conditions, parse_event_pattern, parse_expression, parse_strategy

HOUR = 3_600_000_000


def variable(label: str) -> Variable:
    return Variable(label.upper(), label)


def one(type_name: str, label: str, **rest: object) -> Component:
    return Component(type_name, variable(label), **rest)


def loop(type_name: str, label: str, minimum: int, maximum: int | None, **rest: object) -> Component:
    return Component(type_name, variable(label), Quantifier(minimum, maximum), is_loop=True, **rest)


A, B, C = one("A", "a"), one("B", "b"), one("C", "c")
NO_B = Negation("B", variable("b"))

ROOTS: list[tuple[str, Group]] = [
    ("SEQ(A a)", Group("SEQ", (A,))),
    ("seq(A a, B b)", Group("SEQ", (A, B))),
    ("AND(A a, OR(B b, C c))", Group("AND", (A, Group("OR", (B, C))))),
    ("SEQ(a a, A A2)", Group("SEQ", (one("a", "a"), one("A", "A2")))),
    ("SEQ(_ x)", Group("SEQ", (one("_", "x"),))),
    ('SEQ("log in" a, `q"q` b)', Group("SEQ", (one("log in", "a"), one('q"q', "b")))),
    ('SEQ(A "a")', Group("SEQ", (Component("A", Variable("a", "a")),))),
    ('SEQ(A "x y")', Group("SEQ", (Component("A", Variable("x y", "x y")),))),
    ('SEQ("Next" "ANY", NEXT Permute PERMUTE)', Group("SEQ", (
        one("Next", "ANY"), one("Permute", "PERMUTE", strategy="NEXT"),
    ))),
    ("SEQ(A 1x)", Group("SEQ", (one("A", "1x"),))),
    ("SEQ(A+ a[])", Group("SEQ", (loop("A", "a", 1, None),))),
    ("SEQ(A * a [ ])", Group("SEQ", (loop("A", "a", 0, None),))),
    ("SEQ(A{2} a[], B{2,}b[], C{ 2 , 3 } c[])", Group("SEQ", (
        loop("A", "a", 2, 2), loop("B", "b", 2, None), loop("C", "c", 2, 3),
    ))),
    ("SEQ(A? a, B{0,1} b[], C{1} c)", Group("SEQ", (
        one("A", "a", quantifier=Quantifier(0, 1)), loop("B", "b", 0, 1), one("C", "c", quantifier=Quantifier(1, 1)),
    ))),
    ("SEQ(A a, SEQ(B b, C c)+)", Group("SEQ", (A, Group("SEQ", (B, C), Quantifier(1, None))))),
    ("SEQ(A a, OR(B b, C c){2,3})", Group("SEQ", (A, Group("OR", (B, C), Quantifier(2, 3))))),
    ("SEQ(A a, ~B b, C c)", Group("SEQ", (A, NO_B, C))),
    ("SEQ(~(B b), A a)", Group("SEQ", (NO_B, A))),
    ("SEQ(A a, SEQ(~(B b)), C c)", Group("SEQ", (A, Group("SEQ", (NO_B,)), C))),
    ("SEQ(A a, ~B b WITHIN 10 minutes)", Group("SEQ", (
        A, Negation("B", variable("b"), Within("interval", HOUR // 6)),
    ))),
    ("SEQ(A a, ~(B b) WITHIN 5 EXCLUSIVE, C c)", Group("SEQ", (
        A, Negation("B", variable("b"), Within("number", "5", inclusive=False)), C,
    ))),
    ("SEQ(A a, strict B b WITHIN 3 events, any C c)", Group("SEQ", (
        A, one("B", "b", strategy="STRICT", within=Within("events", 3)), one("C", "c", strategy="ANY"),
    ))),
    ("SEQ(A+ a[] UNTIL (f(x, ')') > 1) WITHIN INTERVAL '1' HOUR, C c)", Group("SEQ", (
        loop("A", "a", 1, None, until=Fragment("f(x, ')') > 1"), within=Within("interval", HOUR)), C,
    ))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "root"), ROOTS)
def test_text_becomes_tree_and_prints_back(text: str, root: Group) -> None:
    tree = parse_event_pattern(text)
    assert tree == EventPattern(root)
    assert parse_event_pattern(f"pattern {text}") == tree
    assert parse_event_pattern(str(tree)) == tree
    assert str(parse_event_pattern(str(tree))) == str(tree)


FULL = """PATTERN SEQ(Shelf a, ~(Register b), Exit+ c[])
WHERE   Skip_Till_Next_Match(a, b, c[]) { [tag_id] AND c[i].price > AVG(c[..i-1].price) /* up */
        AND a.v BETWEEN 1 AND 2 } -- the rule
WITHIN  12 hours EXCLUSIVE
RETURN  a.ts AS taken_at, COUNT(c) AS `n of`, CASE WHEN a.x THEN f(1, 2) END AS within"""


def test_full_text() -> None:
    tree = parse_event_pattern(FULL)
    assert tree == EventPattern(
        Group("SEQ", (one("Shelf", "a"), Negation("Register", variable("b")), loop("Exit", "c", 1, None))),
        "skip_till_next_match",
        ("A", "B", "C"),
        (
            KeyTest(Fragment("tag_id")),
            Fragment("c[i].price > AVG(c[..i-1].price)"),
            Fragment("a.v BETWEEN 1 AND 2"),
        ),
        Within("interval", 12 * HOUR, inclusive=False),
        (
            Measure("taken_at", Fragment("a.ts")),
            Measure("n of", Fragment("COUNT(c)")),
            Measure("within", Fragment("CASE WHEN a.x THEN f(1, 2) END")),
        ),
    )
    assert str(tree) == (
        "PATTERN SEQ(Shelf a, ~(Register b), Exit+ c[])\n"
        "WHERE skip_till_next_match(a, b, c) { [tag_id] AND c[i].price > AVG(c[..i-1].price) "
        "AND a.v BETWEEN 1 AND 2 }\n"
        "WITHIN INTERVAL '12' HOUR EXCLUSIVE\n"
        "RETURN a.ts AS taken_at, COUNT(c) AS `n of`, CASE WHEN a.x THEN f(1, 2) END AS within"
    )
    assert parse_event_pattern(str(tree)) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_nodes_know_their_place() -> None:
    cut = "SEQ(STRICT A+ a[] UNTIL (x > 1) WITHIN 5, ~(B b)) WHERE [k] AND a[1].v > 2 WITHIN 9 RETURN a[1].v AS v"
    source = f"SELECT '{'x' * 5}' {cut}"
    tree = parse_event_pattern(cut, source=source, offset=len(source) - len(cut))

    def shown(span: Span) -> str:
        return source[span.start : span.end]

    (a,) = components_of(tree.root)
    (b,) = negations_of(tree.root)
    assert shown(tree.root.span) == "SEQ(STRICT A+ a[] UNTIL (x > 1) WITHIN 5, ~(B b))"
    assert shown(a.span) == "STRICT A+ a[] UNTIL (x > 1) WITHIN 5"
    assert a.until is not None
    assert a.within is not None
    assert a.quantifier is not None
    assert tree.within is not None
    spans = [a.type_span, a.variable.span, a.quantifier.span, a.until.span, a.within.span, b.span, tree.within.span]
    assert [shown(span) for span in spans] == ["A", "a", "+", "x > 1", "5", "~(B b)", "9"]
    key, condition = tree.conditions
    assert (shown(key.span), shown(tree.keys[0].span), shown(condition.span)) == ("[k]", "k", "a[1].v > 2")
    assert shown(tree.returns[0].expression.span) == "a[1].v"
    assert tree.keys[0].source == source
    assert [v.name for v in variables_of(tree.root)] == ["A", "B"]
    with pytest.raises(PatternSyntaxError) as failure:
        parse_event_pattern("SEQ(A a, B a)", source="-- \nSEQ(A a, B a)", offset=4)
    assert failure.value.span == Span(15, 16)
    assert "line 2, column 12" in str(failure.value)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a.x = 1", ["a.x = 1"]),
        ("a.x AND b.x AND NOT c.x", ["a.x", "b.x", "NOT c.x"]),
        ("a.x BETWEEN 1 AND 2 AND b.x", ["a.x BETWEEN 1 AND 2", "b.x"]),
        ("a.x not between 1 and 2 and b.x", ["a.x not between 1 and 2", "b.x"]),
        ("a.x BETWEEN CASE WHEN p AND q THEN 1 END AND 2 AND b.x",
         ["a.x BETWEEN CASE WHEN p AND q THEN 1 END AND 2", "b.x"]),
        ("CASE WHEN p AND q THEN r END AND b.x", ["CASE WHEN p AND q THEN r END", "b.x"]),
        ("CASE WHEN CASE WHEN p THEN q END AND q THEN r END AND b.x",
         ["CASE WHEN CASE WHEN p THEN q END AND q THEN r END", "b.x"]),
        ("CASE WHEN end > 5 AND p THEN 1 ELSE end END AND b.x",
         ["CASE WHEN end > 5 AND p THEN 1 ELSE end END", "b.x"]),
        ("a.case = 1 AND a.end > 2 AND a.between = a.and AND end > 3",
         ["a.case = 1", "a.end > 2", "a.between = a.and", "end > 3"]),
        ("(a.x AND b.x) AND f(a.x AND b.x)", ["(a.x AND b.x)", "f(a.x AND b.x)"]),
        ("a.x AND b.x OR c.x", ["a.x AND b.x OR c.x"]),
        ("a.x OR b.x", ["a.x OR b.x"]),
        ("a.x IN (1, 2) AND a.s LIKE 'x AND y' AND \"and\" = 1",
         ["a.x IN (1, 2)", "a.s LIKE 'x AND y'", '"and" = 1']),
        ("between > 5 AND a.x", ["between > 5 AND a.x"]),
        ("case > 5 AND a.x", ["case > 5 AND a.x"]),
        ("a.x = 1 AND AND b.x", ["a.x = 1 AND AND b.x"]),
        ("a.x = within AND within > 3 AND a.return = 1", ["a.x = within", "within > 3", "a.return = 1"]),
        ("exists(a.l, x -> x > 1 AND x < 3) AND b.x", ["exists(a.l, x -> x > 1 AND x < 3)", "b.x"]),
        ("b[b.LEN].v > 1 AND (b[i].l)[0] = f(b)[1] AND b[..i-1].v IS NULL",
         ["b[b.LEN].v > 1", "(b[i].l)[0] = f(b)[1]", "b[..i-1].v IS NULL"]),
        ("[k] AND a.x", ["[k]", "a.x"]),
        ("a.x AND [ t.`k l` ]", ["a.x", "[t.`k l`]"]),
        ("[k] AND (a.x OR b.x)", ["[k]", "(a.x OR b.x)"]),
        ("[k]", ["[k]"]),
    ],
)  # fmt: skip
def test_conditions_are_split_only_where_that_is_sure(text: str, pieces: list[str]) -> None:
    for where in (text, f"strict {{ {text} }}", f"{text} WITHIN 5 RETURN a.x AS within"):
        tree = parse_event_pattern(f"SEQ(A a, B+ b[]) WHERE {where}")
        shown = [c.text if isinstance(c, Fragment) else str(c) for c in tree.conditions]
        assert shown == pieces
        assert parse_event_pattern(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "strategy", "names"),
    [
        ("strict { a.x }", "strict", ()),
        ("STRICT_CONTIGUITY(a, b) { a.x }", "strict", ("A", "B")),
        ("partition_contiguity{a.x}", "partition_contiguity", ()),
        ("skip_till_any_match(B, a [ ]) {a.x}", "skip_till_any_match", ("B", "A")),
        ("skip_till_next_match { }", "skip_till_next_match", ()),
    ],
)
def test_strategies(text: str, strategy: str, names: tuple[str, ...]) -> None:
    tree = parse_event_pattern(f"SEQ(A a, B b, ~C c) WHERE {text} WITHIN 5")
    assert (tree.strategy, tree.strategy_variables) == (strategy, names)
    assert parse_event_pattern(str(tree)) == tree


REFUSED = [
    # text, code, what is underlined, a word of the message
    ("", "EMPTY_PATTERN", "", "SEQ( … )"),
    ("PATTERN", "EMPTY_PATTERN", "", "SEQ( … )"),
    ("PATTERN (A B)", "UNEXPECTED_TOKEN", "(", "MATCH_RECOGNIZE"),
    ("PATTERN SQE(A a)", "UNEXPECTED_TOKEN", "SQE", "did you mean 'SEQ'?"),
    ("A a", "UNEXPECTED_TOKEN", "A", "put SEQ( … ) around"),
    ("SEQ()", "EMPTY_GROUP", "SEQ()", "a part"),
    ("SEQ(A a, OR())", "EMPTY_GROUP", "OR()", "a part"),
    ("SEQ(A a,)", "MISSING_PART", ")", "a type"),
    ("SEQ(,A a)", "MISSING_PART", ",", "a type"),
    ("SEQ(A a B b)", "UNEXPECTED_TOKEN", "B", "commas"),
    ("SEQ(A a", "UNBALANCED_BRACKET", "(", "not closed"),
    ("SEQ(A a))", "UNBALANCED_BRACKET", ")", "closes nothing"),
    ("SEQ(A{2 a[])", "UNBALANCED_BRACKET", ")", "'{2 a[]' is still open"),
    ("SEQ(A)", "MISSING_VARIABLE", ")", "A x"),
    ("SEQ(A UNTIL (x))", "MISSING_VARIABLE", "UNTIL", "A x"),
    ("SEQ(A a, Next)", "UNEXPECTED_TOKEN", ")", 'quote it if it is a type: "Next"'),
    ("SEQ(ANY a)", "MISSING_VARIABLE", ")", 'quote it if it is a type: "ANY"'),
    ("SEQ(A any)", "RESERVED_NAME", "any", 'quote it: "any"'),
    ("SEQ(WHERE a)", "RESERVED_NAME", "WHERE", 'quote it: "WHERE"'),
    ("SEQ(SEQ a)", "RESERVED_NAME", "SEQ", 'quote it: "SEQ"'),
    ('SEQ(A "")', "EMPTY_NAME", '""', "character"),
    ("SEQ('A' a)", "UNEXPECTED_TOKEN", "'A'", 'quoted so: "A"'),
    ("SEQ(A a, B A)", "DUPLICATE_VARIABLE", "A", "taken: a"),
    ("OR(A a, ~B b, B b)", "DUPLICATE_VARIABLE", "b", "taken: a, b"),
    ("SEQ(A+ a)", "LOOP_WITHOUT_BRACKETS", "a", "A+ a[]"),
    ("SEQ(A{2} a)", "LOOP_WITHOUT_BRACKETS", "a", "A{2} a[]"),
    ("SEQ(A a[])", "ARRAY_WITHOUT_LOOP", "[]", "A+ a[]"),
    ("SEQ(A a[1])", "UNEXPECTED_TOKEN", "1", "[]"),
    ("SEQ(A a+)", "MISPLACED_QUANTIFIER", "+", "A+ a[]"),
    ("SEQ(A+ a[]+)", "DOUBLE_QUANTIFIER", "+", "behind its type"),
    ("SEQ(A++ a[])", "DOUBLE_QUANTIFIER", "+", "one quantifier"),
    ("SEQ(A+? a[])", "RELUCTANT_QUANTIFIER", "?", "row patterns"),
    ("SEQ(SEQ(A a)+*)", "DOUBLE_QUANTIFIER", "*", "one quantifier"),
    ("SEQ(A{,3} a[])", "INVALID_QUANTIFIER", "{", "{0,m}"),
    ("SEQ(A{3,2} a[])", "INVALID_QUANTIFIER", "{3,2}", "{2,3}"),
    ("SEQ(A{0} a)", "INVALID_QUANTIFIER", "{0}", "m ≥ 1"),
    ("SEQ(A a)+", "UNEXPECTED_TOKEN", "+", "SEQ(SEQ( … )+)"),
    ("SEQ(A a, ~SEQ(B b))", "NEGATED_GROUP", "SEQ", "~SEQ is no negation"),
    ("SEQ(A a, ~(OR(B b)))", "NEGATED_GROUP", "OR", "share their gap"),
    ("SEQ(A a, ~~B b)", "UNEXPECTED_TOKEN", "~", "cannot be negated"),
    ("SEQ(A a, ~B+ b[])", "QUANTIFIED_NEGATION", "+", "no quantifier"),
    ("SEQ(A a, ~(B b){2})", "QUANTIFIED_NEGATION", "{", "no quantifier"),
    ("SEQ(A a, ~(B b[]))", "QUANTIFIED_NEGATION", "[", "no array"),
    ("SEQ(A a, ~B b UNTIL (x))", "MISPLACED_UNTIL", "UNTIL", "negation"),
    ("SEQ(A a, ~(B b WITHIN 5))", "UNEXPECTED_TOKEN", "WITHIN", "behind the bracket"),
    ("SEQ(A a, !(B b))", "UNEXPECTED_TOKEN", "!", "~(Type name)"),
    ("SEQ(A a, NOT B b)", "UNEXPECTED_TOKEN", "NOT", "~(Type name)"),
    ("SEQ(A a, STRICT ~B b)", "MISPLACED_STRATEGY", "STRICT", "negation"),
    ("SEQ(A a, ~(STRICT B b))", "MISPLACED_STRATEGY", "STRICT", "negation"),
    ("SEQ(A a, NEXT SEQ(B b))", "MISPLACED_STRATEGY", "NEXT", "group"),
    ("AND(A a, ~B b)", "MISPLACED_NEGATION", "~B b", "no neighbours"),
    ("OR(A a, ~(B b))", "MISPLACED_NEGATION", "~(B b)", "SEQ(A a, ~(B b), C c)"),
    ("AND(A a, SEQ(~B b))", "NO_POSITIVE_COMPONENT", "SEQ(~B b)", "AND"),
    ("SEQ(~B b, ~C c)", "NO_POSITIVE_COMPONENT", "SEQ(~B b, ~C c)", "absences only"),
    ("SEQ(A a, SEQ(~B b)+)", "NO_POSITIVE_COMPONENT", "SEQ(~B b)+", "repeated"),
    ("SEQ(A a UNTIL (x))", "MISPLACED_UNTIL", "UNTIL", "a is none"),
    ("SEQ(A+ a[] UNTIL x)", "UNEXPECTED_TOKEN", "x", "brackets"),
    ("SEQ(A+ a[] UNTIL ())", "MISSING_CONDITION", ")", "UNTIL (condition)"),
    ("SEQ(A+ a[] WITHIN 5 UNTIL (x))", "CLAUSE_OUT_OF_ORDER", "UNTIL", "before WITHIN"),
    ("SEQ(A a WITHIN)", "MISSING_DURATION", ")", "5 EVENTS"),
    ("SEQ(A a WITHIN 5 minuts)", "INVALID_DURATION", "5 minuts", "did you mean"),
    ("SEQ(SEQ(A a) WITHIN 5)", "UNEXPECTED_TOKEN", "WITHIN", "not to a group"),
    ("SEQ(A a) WHER x", "UNEXPECTED_TOKEN", "WHER", "did you mean 'WHERE'?"),
    ("SEQ(A a) FROM t", "UNEXPECTED_TOKEN", "FROM", "in this order"),
    ("SEQ(A a) WHERE", "MISSING_CONDITION", "WHERE", "needs a condition"),
    ("SEQ(A a) WHERE skip_till_nxt_match(a) { x }", "UNKNOWN_STRATEGY", "skip_till_nxt_match", "_next_match'?"),
    ("SEQ(A a) WHERE strict(a)", "MISSING_BRACES", "strict", "strict { … }"),
    ("SEQ(A a) WHERE strict {x} AND y", "UNEXPECTED_TOKEN", "AND", "behind the braces"),
    ("SEQ(A abc) WHERE strict(abd) { x }", "UNKNOWN_VARIABLE", "abd", "did you mean 'abc'?"),
    ("SEQ(A a, B b) WHERE strict(b) { x }", "INCOMPLETE_STRATEGY", "b", "but a is not named"),
    ("SEQ(A a) WHERE strict(a, a) { x }", "DUPLICATE_VARIABLE", "a", "each name once"),
    ("SEQ(A a) WHERE strict() { x }", "UNEXPECTED_TOKEN", ")", "Names of components"),
    ("SEQ(A a) WHERE strict(a[1]) { x }", "UNEXPECTED_TOKEN", "a", "Names of components"),
    ("SEQ(A a) WHERE [k] OR x", "MISPLACED_KEY_TEST", "[", "joined to others by AND"),
    ("SEQ(A a) WHERE NOT [k] AND x", "MISPLACED_KEY_TEST", "[", "joined to others by AND"),
    ("SEQ(A a) WHERE ([k]) AND x", "MISPLACED_KEY_TEST", "[", "joined to others by AND"),
    ("SEQ(A a) WHERE []", "EMPTY_KEY", "[", "[column]"),
    ("SEQ(A a) WHERE [a, b]", "UNEXPECTED_TOKEN", ",", "[a] AND [b]"),
    ("SEQ(A a) WHERE x AND", "MISSING_CONDITION", "AND", "missing here"),
    ("SEQ(A a) WHERE strict { AND x }", "MISSING_CONDITION", "AND", "missing here"),
    ("SEQ(A a) WHERE x > { 1 }", "UNEXPECTED_TOKEN", "{", "condition"),
    ("SEQ(A a) WHERE x; y", "UNEXPECTED_TOKEN", ";", "condition"),
    ("SEQ(A a) WITHIN", "MISSING_DURATION", "WITHIN", "distance"),
    ("SEQ(A a) WITHIN RETURN a.x AS y", "MISSING_DURATION", "WITHIN", "distance"),
    ("SEQ(A a) WITHIN 1 month", "MONTH_INTERVAL", "1 month", "days"),
    ("SEQ(A a) WITHIN 5 WITHIN 6", "CLAUSE_TWICE", "WITHIN", "twice"),
    ("SEQ(A a) WITHIN 5 WHERE x", "CLAUSE_OUT_OF_ORDER", "WHERE", "before WITHIN"),
    ("SEQ(A a) RETURN a.x", "MEASURE_WITHOUT_NAME", "x", "expression AS name"),
    ("SEQ(A a) RETURN a.x AS", "MEASURE_WITHOUT_NAME", "AS", "expression AS name"),
    ("SEQ(A a) RETURN AS y", "MEASURE_WITHOUT_NAME", "y", "expression AS name"),
    ("SEQ(A a) RETURN a.x AS y,", "MISSING_ITEM", ",", "missing here"),
    ("SEQ(A a) RETURN", "MISSING_ITEM", "RETURN", "missing here"),
    ("SEQ(A a) RETURN a AS b AS c", "UNEXPECTED_TOKEN", "AS", "one name"),
    ("SEQ(A a) RETURN a.x AS y WITHIN 5", "CLAUSE_OUT_OF_ORDER", "WITHIN", "before RETURN"),
    ("SEQ(A 'a)", "UNCLOSED_QUOTE", "'a)", "not closed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "place", "word"), REFUSED)
def test_refused(text: str, code: str, place: str, word: str) -> None:
    with pytest.raises(PatternSyntaxError) as failure:
        parse_event_pattern(text)
    error = failure.value
    assert error.code == code
    assert error.span is not None
    assert text[error.span.start : error.span.end] == place
    assert word in str(error)
    assert error.clause


def test_message_says_where_what_and_how() -> None:
    with pytest.raises(PatternSyntaxError) as failure:
        parse_event_pattern("PATTERN SEQ(A a,\n  B+ b)")
    assert str(failure.value) == (
        "[LOOP_WITHOUT_BRACKETS] b is a loop: its name is followed by []. (in PATTERN)\n"
        "  line 2, column 6:\n"
        "      B+ b)\n"
        "         ^\n"
        "  found: b\n"
        "  allowed: name[]\n"
        "  hint: B+ b[]"
    )


def test_clause_words_may_be_columns() -> None:
    tree = parse_event_pattern(
        "SEQ(A a) WHERE a.x = return AND percentile(a.x) WITHIN GROUP (ORDER BY b) > 1 "
        "RETURN within + a.where AS return, return AS `a b`"
    )
    assert [c.text for c in tree.conditions if isinstance(c, Fragment)] == [
        "a.x = return",
        "percentile(a.x) WITHIN GROUP (ORDER BY b) > 1",
    ]
    assert [(m.name, m.expression.text) for m in tree.returns] == [("return", "within + a.where"), ("a b", "return")]


def test_conditions_alone() -> None:
    assert parse_conditions("a.x AND b.x -- why") == (Fragment("a.x"), Fragment("b.x"))
    assert parse_conditions("a.x -- why\n OR b.x") == (Fragment("(a.x -- why\n OR b.x\n)"),)
    assert parse_conditions("a.x >") == (Fragment("(a.x >)"),)
    for text, code in [("", "MISSING_CONDITION"), ("x WITHIN 5", "UNEXPECTED_TOKEN"), ("(x", "UNBALANCED_BRACKET")]:
        with pytest.raises(PatternSyntaxError) as failure:
            parse_conditions(text)
        assert failure.value.code == code


def test_expressions_alone() -> None:
    assert parse_expression(" f(a, b) ", clause="x") == Fragment("f(a, b)")
    assert parse_expression("within", clause="x") == Fragment("within")
    for text, code in [("", "MISSING_EXPRESSION"), ("a, b", "UNEXPECTED_TOKEN"), ("a AS b", "UNEXPECTED_TOKEN")]:
        with pytest.raises(PatternSyntaxError) as failure:
            parse_expression(text, clause="x")
        assert failure.value.code == code


def test_strategy_alone() -> None:
    assert parse_strategy("Strict_Contiguity") == "strict"
    with pytest.raises(PatternSyntaxError, match="did you mean 'partition_contiguity'"):
        parse_strategy("partition_contguity")


def test_depth_is_bounded_and_length_is_not() -> None:
    deep = "SEQ(" * 100 + "A a" + ")" * 100
    assert str(parse_event_pattern(deep)) == f"PATTERN {deep}"
    with pytest.raises(PatternSyntaxError, match="PATTERN_TOO_DEEP"):
        parse_event_pattern(f"SEQ({deep})")
    began = time.perf_counter()
    wide = (
        "SEQ(" + ", ".join(f"A a{i}" for i in range(3000)) + ") WHERE " + " AND ".join(f"a{i}.x" for i in range(3000))
    )
    tree = parse_event_pattern(wide)
    assert (len(tree.root.parts), len(tree.conditions)) == (3000, 3000)
    assert time.perf_counter() - began < 5
