"""The binder of event patterns: orders, places of conjuncts, what they read, columns of the result, errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from sparkcep.errors import BindingError, Span, SparkcepError
from sparkcep.logical.event_binder import bind_events
from sparkcep.logical.event_bound import EventTest, LogicalEvents
from sparkcep.logical.hidden import HiddenColumns
from sparkcep.logical.outputs import Aggregated, Collected, Gathered, Numbered
from sparkcep.logical.slot_text import SlotText
from sparkcep.logical.slots import ALL_ROWS, RowSet
from sparkcep.syntax.clause import Fragment, Measure, Within
from sparkcep.syntax.sase import parse_event_pattern

COLUMNS = {"type": "string", "v": "bigint", "w": "bigint", "x": "double", "sym": "string", "t": "bigint"}
_KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "if", "distinct", "order", "by", "y", "true"})
_NAME = re.compile(r"`([^`]+)`|(?<![.\w])([A-Za-z_]\w*)(?!\w*\()")
_TRUTH = re.compile(r"[<>=]|\b(IS|IN|LIKE|AND|OR|NOT|TRUE)\b|^nullif|^exists")


class SomeTypes:
    """Types as Spark has them, as far as these tests go."""

    hidden: HiddenColumns

    def attach(self, hidden: HiddenColumns) -> None:
        self.hidden = hidden

    def types(self, expressions: Sequence[str], *, clause: str) -> list[str]:
        return [self._type(text, clause) for text in expressions]

    def _type(self, text: str, clause: str) -> str:
        for quoted, plain in _NAME.findall(re.sub(r"'(\\.|[^'\\])*'|AS \w+|\w+ ->", "", text)):
            name = (quoted or plain).lower()
            if not (name in COLUMNS or name in _KEYWORDS or name.startswith(self.hidden.prefix)):
                raise BindingError("UNRESOLVED_COLUMN", f"there is no column '{name}'", clause=clause, text=text,
                                   span=Span(0, len(text)), found=name)  # fmt: skip
        if text.startswith("coalesce(CAST(NULL"):
            return "double" if "double" in text else "bigint"
        if _TRUTH.search(text):
            return "boolean"
        if "named_struct" in text:
            return "struct" if text.startswith(("named", "(named")) else "array"
        if "double" in text.lower() or text.strip("()").lower() == "x":
            return "double"
        return COLUMNS.get(text.strip("`()").lower(), "bigint")


def bound(text: str, **more: Any) -> LogicalEvents:
    """Return the bound pattern; `types` are texts."""
    given = {
        "types": {}, "type_column": "type", "strategy": None, "within": None, "partition_by": (),
        "order_by": (Fragment("t"),), **more,
    }  # fmt: skip
    given["types"] = {name: Fragment(predicate) for name, predicate in given["types"].items()}
    return bind_events(parse_event_pattern(text), tuple(COLUMNS), SomeTypes(), **given)


class Told:
    """What a bound pattern says, as text: type tests are left out."""

    def __init__(self, events: LogicalEvents) -> None:
        self.events = events
        texts = {column.name: column.text for column in events.match.hidden}
        self.slots = SlotText([variable.label for variable in events.variables], events.operands, texts)

    def words_of(self, test: EventTest) -> str:
        """Return the bits in Spark's words, then the slots."""
        conditions = [condition.row_only for condition in self.events.match.conditions]
        bits = [conditions[bit].text for bit in test.bits]  # type: ignore[union-attr]
        shown = [text for text in bits if not text.startswith("`type` =")]
        return "; ".join(shown + ([self.slots.of(test.slots)] if test.slots is not None else []))

    def orders(self) -> list[list[str]]:
        """Return per order and component ``name``, and what is tested where."""
        return [[self.component(component) for component in order.components] for order in self.events.orders]

    def component(self, component: Any) -> str:
        parts = {
            "begin": self.words_of(component.begin),
            "take": self.words_of(component.take) if component.is_loop else "",
            "leave": self.slots.of(component.leave) if component.leave is not None else "",
            "until": self.words_of(component.until) if component.until is not None else "",
        }
        told = [f"{name}: {text}" for name, text in parts.items() if text]
        return " | ".join([self.events.variables[component.variable].label, *told])


def placed(text: str, **more: Any) -> list[str]:
    """Return the components of the only order."""
    (order,) = Told(bound(text, **more)).orders()
    return order


# ---------------------------------------------------------------------------------------------
# Places and forms


PLACES = {
    "SEQ(A a, B b) WHERE a.v > 1 AND b.v > a.v": ["a | begin: v > 1", "b | begin: this.v > LAST(a).v"],
    "SEQ(A a, B b, C c) WHERE NOT (b.v <= a.v OR c.v < b.v)": [
        "a",
        "b | begin: NOT(this.v <= LAST(a).v)",
        "c | begin: NOT(this.v < LAST(b).v)",
    ],
    "SEQ(A a, B b, C c) WHERE b.v BETWEEN a.v AND c.v": [
        "a",
        "b | begin: this.v >= LAST(a).v",
        "c | begin: LAST(b).v <= this.v",
    ],
    "SEQ(A a) WHERE (a.v > 1 OR a.w > 2 AND a.w < 9)": [
        "a | begin: (v > 1) OR (w > 2); (v > 1) OR (w < 9)",
    ],
    "SEQ(A a) WHERE NOT (a.v IS NULL OR a.w NOT IN (1, 2))": [
        "a | begin: NOT (v IS NULL); NOT (w NOT IN (1, 2))",
    ],
    "SEQ(A a, B+ b[]) WHERE b.v > 1": ["a", "b | begin: v > 1 | take: v > 1"],
    "SEQ(A a, B+ b[]) WHERE b[1].v > a.v": ["a", "b | begin: this.v > LAST(a).v"],
    "SEQ(A a, B+ b[]) WHERE b[i].v > b[i-1].v": ["a", "b | take: this.v > LAST(b).v"],
    "SEQ(B+ b[]) WHERE b[ I ].v > b[1].v": ["b | take: this.v > FIRST(b).v"],
    "SEQ(B+ b[]) WHERE b.v >= b[1].v": ["b | begin: v >= v | take: this.v >= FIRST(b).v"],
    "SEQ(B+ b[]) WHERE b[i].v > AVG(b[..i-1].v) AND COUNT(b[..i-1].*) < 3": [
        "b | take: (this.(cast(v AS double)) > AVG(b.v)) AND (COUNT(b.*) < 3)",
    ],
    "SEQ(B+ b[]) WHERE b[b.LEN].v > 5 AND COUNT(b) = 2": ["b | leave: (LAST(b).v > 5) AND (COUNT(b.*) = 2)"],
    "SEQ(B+ b[], C c) WHERE c.v = SUM(b.v) AND c.v > b[b.LEN].v AND c.v > b[1].v": [
        "b",
        "c | begin: ((this.v = SUM(b.v)) AND (this.v > LAST(b).v)) AND (this.v > FIRST(b).v)",
    ],
    "SEQ(A a, B b) WHERE COUNT(b) = 1 AND MAX(b.v) > a.v": [
        "a",
        "b | begin: CAST(1 AS BIGINT) = 1; this.v > LAST(a).v",
    ],
    "SEQ(A a, B+ b[] UNTIL (v > a.v), C c)": ["a", "b | until: this.v > LAST(a).v", "c"],
    "SEQ(B+ b[] UNTIL (v > 5))": ["b | until: v > 5"],
    "SEQ(B+ b[] UNTIL (v > b[b.LEN].v + COUNT(b)))": ["b | until: this.v > (LAST(b).v + COUNT(b.*))"],
    'SEQ(A "a b", B b) WHERE b.v > "a b".v': ["a b", "b | begin: this.v > LAST(a b).v"],
    "SEQ(A a, B b) WHERE a.sym[0].q = 1": ["a | begin: sym[0].q = 1", "b"],
    "SEQ(A a, B b) WHERE exists(array(1), y -> y > a.v)": ["a | begin: exists(array(1), y -> y > v)", "b"],
}


@pytest.mark.parametrize("text", PLACES)
def test_conjuncts_sit_on_the_component_bound_last(text: str) -> None:
    assert placed(text) == PLACES[text]


def test_a_group_tests_each_round_for_itself() -> None:
    assert Told(bound("SEQ(SEQ(A a, B b){2}) WHERE b.v > a.v")).orders() == [
        ["a", "b | begin: this.v > LAST(a).v", "a", "b | begin: this.v > LAST(a).v"],
    ]


def test_in_a_round_in_another_order_another_component_is_last() -> None:
    orders = Told(bound("SEQ(AND(A a, B b){2}) WHERE b.v > a.v")).orders()
    assert len(orders) == 4
    assert ["a", "b | begin: this.v > LAST(a).v", "b", "a | begin: LAST(b).v > this.v"] in orders


def test_elements_run_on_through_the_rounds() -> None:
    (order,) = Told(bound("SEQ(SEQ(A a, B b){2}) WHERE a[i].v > a[i-1].v AND b[1].v > 2")).orders()
    assert order == ["a", "b | begin: v > 2", "a | begin: this.v > LAST(a).v", "b"]


def test_every_event_of_the_last_variable_finds_the_others_in_its_round() -> None:
    orders = Told(bound("SEQ(SEQ(A? a, B b){2}) WHERE b.v > a.v")).orders()
    alone, paired = "b | begin: v > CAST(NULL AS bigint)", "b | begin: this.v > LAST(a).v"
    assert orders == [["b", "b"], [alone, "a", paired], ["a", paired, alone], ["a", paired, "a", paired]]
    orders = Told(bound("SEQ(SEQ(A a, B? b){2}) WHERE b.v > a.v")).orders()
    assert orders == [["a", "a"], ["a", "a", paired], ["a", paired, "a"], ["a", paired, "a", paired]]


def test_the_last_element_of_a_group_is_the_event_under_test() -> None:
    (order,) = Told(bound("SEQ(SEQ(A a){2}) WHERE a[a.LEN].v > 5 AND SUM(a.v) > 3")).orders()
    assert order == ["a", "a | begin: v > 5 | leave: SUM(a.v) > 3"]


def test_a_conjunct_waits_where_parts_interleave() -> None:
    events = bound("AND(A a, B b) WHERE b.v > a.v", strategy="skip_till_any_match")
    assert Told(events).orders() == [[
        "a | begin: (COUNT(b.*) < 1) OR (LAST(b).v > this.v)",
        "b | begin: (COUNT(a.*) < 1) OR (this.v > LAST(a).v)",
    ]]  # fmt: skip
    assert events.orders[0].before == (frozenset(), frozenset())


def test_a_conjunct_applies_where_its_variables_are_bound() -> None:
    assert Told(bound("SEQ(A a, OR(B b, C c)) WHERE b.v > a.v")).orders() == [
        ["a", "b | begin: this.v > LAST(a).v"],
        ["a", "c"],
    ]
    assert Told(bound("SEQ(A a, B? b, C c) WHERE b.v > a.v")).orders() == [
        ["a", "c"],
        ["a", "b | begin: this.v > LAST(a).v", "c"],
    ]


WITNESSES = {
    "SEQ(A a, ~B b, C c) WHERE b.v = c.v": "this.v = LAST(c).v",
    "SEQ(A a, ~B b, C c) WHERE b.v > 3": "v > 3",
    "SEQ(A a, ~B b, C c) WHERE COUNT(b) > 0": "CAST(1 AS BIGINT) > 0",
    "SEQ(A+ a[], ~B b, C c) WHERE b.v > MAX(a.v) AND b.v < a[1].v": "(this.v > MAX(a.v)) AND (this.v < FIRST(a).v)",
}


@pytest.mark.parametrize("text", WITNESSES)
def test_conjuncts_of_a_negation(text: str) -> None:
    events = bound(text)
    (gap,) = events.orders[0].gaps
    assert Told(events).words_of(gap.witness) == WITNESSES[text]
    assert (gap.before, gap.after) == ({0}, {1})


def test_a_negation_reads_the_events_of_its_round() -> None:
    events = bound("SEQ(SEQ(A a, ~N n, B b){2}) WHERE n.v > a.v")
    gaps = events.orders[0].gaps
    assert [Told(events).words_of(gap.witness) for gap in gaps] == ["this.v > LAST(a).v", "this.v > LAST(a).v"]
    assert [(gap.own_before, gap.own_after) for gap in gaps] == [({0}, set()), ({0}, set())]
    gaps = bound("SEQ(SEQ(A a, ~N n, B b)+) WHERE n.v > b.v").orders[0].gaps
    assert {(gap.own_before, gap.own_after) for gap in gaps} == {(frozenset(), frozenset({2}))}


# ---------------------------------------------------------------------------------------------
# Orders, strategies, types, keys, windows


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SEQ(A a, B? b, C* c[])", 4),
        ("SEQ(A a, B{0,2} b[])", 2),
        ("OR(A a, SEQ(B b, OR(C c, D d)))", 3),
        ("AND(A a, B b, C c)", 6),
        ("AND(A a, SEQ(B b, C c))", 2),
        ("SEQ(SEQ(A a, B b){1,3})", 3),
        ("SEQ(SEQ(A a, B b)?, C c)", 2),
        ("SEQ(SEQ(A? a){2}, C c)", 3),
        ("SEQ(SEQ(AND(A a, B b)){2})", 4),
        ("SEQ(SEQ(A? a, B? b){2}, C c)", 12),
    ],
)
def test_orders_are_spelled_out(text: str, count: int) -> None:
    events = bound(text)
    assert len(events.orders) == count
    assert all(before == frozenset(range(k)) for order in events.orders for k, before in enumerate(order.before))


def test_parts_of_and_interleave_under_skip_till_any_only() -> None:
    text = "SEQ(A a, AND(SEQ(B b, C c), D d), E e)"
    assert len(bound(text).orders) == 2
    (order,) = bound(text, strategy="skip_till_any_match").orders
    assert order.before == ({*()}, {0}, {0, 1}, {0}, {0, 1, 2, 3})
    assert len(bound("AND(A a, NEXT B b)", strategy="skip_till_any_match").orders) == 2


def test_strategies_of_steps() -> None:
    (order,) = bound("SEQ(A a, STRICT B b, ANY C c, NEXT D d)", strategy="partition_contiguity").orders
    assert [component.strategy for component in order.components] == [
        "partition_contiguity", "strict", "skip_till_any_match", "skip_till_next_match",
    ]  # fmt: skip
    (order,) = bound("SEQ(A a) WHERE strict { a.v > 1 }", strategy="strict").orders
    assert order.components[0].strategy == "strict"
    assert bound("SEQ(A a)").orders[0].components[0].strategy == "skip_till_next_match"


def test_types_are_bits_and_equal_bits_are_one() -> None:
    events = bound("SEQ(A a, Low b, A c, _ d) WHERE a.v > 1 AND c.v > 1", types={"Low": "v < 5"})
    texts = [condition.row_only.text for condition in events.match.conditions if condition.row_only]
    assert texts == ["v > 1", "`type` = 'A'", "v < 5"]
    assert [component.begin.bits for component in events.orders[0].components] == [(1, 0), (2,), (1, 0), ()]


def test_a_predicate_beats_the_type_column() -> None:
    events = bound('SEQ(A a, _ b, "it\'s" c)', types={"A": "v > 1", "_": "w > 1"})
    texts = [condition.row_only.text for condition in events.match.conditions if condition.row_only]
    assert texts == ["v > 1", "w > 1", r"`type` = 'it\'s'"]


def test_keys_are_columns() -> None:
    events = bound("SEQ(A a) WHERE [sym] AND [v % 10]")
    hidden = {column.name: column.text for column in events.match.hidden}
    assert [hidden.get(key, key) for key in events.keys] == ["sym", "v % 10"]


def test_windows() -> None:
    events = bound("SEQ(A a, B b WITHIN 3, ~N n WITHIN 2 INCLUSIVE) WITHIN 9", inclusive=False)
    assert events.within == Within("number", "9", False)
    assert events.orders[0].components[1].within == Within("number", "3", False)
    assert events.orders[0].gaps[0].within == Within("number", "2", True)
    assert bound("SEQ(A a)", within=Within("number", "9")).within == Within("number", "9")


def test_bounds_and_kinds_of_variables() -> None:
    events = bound("SEQ(A a, B{2,4} b[], C* c[], D? d, SEQ(E e){1,2}, F{1} f[], ~G g, H h)")
    order = max(events.orders, key=lambda each: len(each.components))
    told = {events.variables[c.variable].label: (c.least, c.most, c.is_loop) for c in order.components}
    assert told == {
        "a": (1, 1, False), "b": (2, 4, True), "c": (1, None, True), "d": (1, 1, False), "e": (1, 1, False),
        "f": (1, 1, True), "h": (1, 1, False),
    }  # fmt: skip
    arrays = [variable.label for variable in events.variables if variable.is_array]
    assert arrays == ["b", "c", "e", "f"]
    assert [variable.label for variable in events.variables if variable.is_negated] == ["g"]


# ---------------------------------------------------------------------------------------------
# Columns of the result


def test_columns_without_return() -> None:
    events = bound("SEQ(A a, B+ b[], ~N n, C c)")
    assert [measure.name for measure in events.match.measures] == [
        "match_number", "match_start", "match_end", "match_time", "a", "b", "c",
    ]  # fmt: skip
    assert events.time is None
    struct = next(
        column.name for column in events.match.hidden if column.text.startswith("named_struct('type', `type`")
    )
    kinds = {(type(o), getattr(o, "column", None), getattr(o, "rows", None)) for o in events.match.outputs}
    assert kinds == {
        (Numbered, None, None), (Gathered, "t", ALL_ROWS), (Gathered, struct, RowSet(frozenset({0}))),
        (Gathered, struct, RowSet(frozenset({3}))), (Collected, None, RowSet(frozenset({1}))),
    }  # fmt: skip


def test_the_order_is_that_of_the_input_whatever_the_variables_are_called() -> None:
    events = bound("SEQ(A s, B b)", order_by=(Fragment("s.t DESC"),), aliases=("s",))
    hidden = {column.name: column.text for column in events.match.hidden}
    ends = [o for o in events.match.outputs if isinstance(o, Gathered) and hidden.get(o.column) == "s.t"]
    assert [(o.end, o.rows) for o in ends] == [("first", ALL_ROWS), ("last", ALL_ROWS)]


def test_time_of_absence_is_filled_in_by_the_matcher() -> None:
    events = bound("SEQ(A a, ~B b WITHIN 5)")
    assert events.ends_in_absence
    assert any(isinstance(output, Gathered) and output.column == events.time for output in events.match.outputs)
    returned = bound("SEQ(A a, ~B b WITHIN 5) RETURN a.v AS v")
    assert returned.ends_in_absence
    assert returned.time is None


def test_return_is_navigation_over_the_match() -> None:
    events = bound("SEQ(A a, B+ b[]) RETURN a.v AS v, b[1].v AS f, b[b.LEN].v AS l, COUNT(b) AS n, SUM(b.w) AS s")
    rows = RowSet(frozenset({1}))
    outputs = [
        (type(o).__name__, o.column, o.rows, getattr(o, "end", None) or getattr(o, "function", None))
        for o in events.match.outputs
        if isinstance(o, Gathered | Aggregated)
    ]
    assert outputs == [
        ("Gathered", "v", RowSet(frozenset({0})), "last"), ("Gathered", "v", rows, "first"),
        ("Gathered", "v", rows, "last"), ("Aggregated", None, rows, "count"), ("Aggregated", "w", rows, "sum"),
    ]  # fmt: skip


def test_aggregates_of_return_keep_their_clauses() -> None:
    events = bound("SEQ(B+ b[]) RETURN ARRAY_AGG(b.v ORDER BY b.w) AS o, SUM(b.v) FILTER (WHERE b.v > 1) AS f")
    assert [measure.name for measure in events.match.measures] == ["o", "f"]
    assert any(isinstance(output, Aggregated) and output.filter for output in events.match.outputs)


def test_measures_stand_for_return() -> None:
    events = bound("SEQ(A a)", measures=(Measure("v", Fragment("a.v + 1")),))
    assert [measure.name for measure in events.match.measures] == ["v"]


def test_a_count_has_no_columns() -> None:
    events = bound("SEQ(A a, ~B b) WITHIN 3", matches="count")
    assert (events.match.measures, events.match.outputs, events.time) == ((), (), None)


# ---------------------------------------------------------------------------------------------
# Errors


V = (Measure("q", Fragment("a.v")),)
LOOP = "b[1].v, b[b.LEN].v, MIN, MAX or ARRAY_AGG(b.v)"
ERRORS: list[tuple[str, dict[str, Any], str, str | None, str | None, str | None]] = [
    # text, arguments, code, clause, underlined, words of the message as shown
    ("SEQ(A a, B+ b[], C c) WHERE c.v > b.v", {}, "BARE_ARRAY", "WHERE", "b.v", LOOP),
    ("AND(A a, B+ b[]) WHERE b.v > a.v", {}, "BARE_ARRAY", "WHERE", "b.v", LOOP),
    ("SEQ(A+ a[], B+ b[]) WHERE b[i].v > a[i].v", {}, "BARE_ARRAY", "WHERE", "a[i].v", "a[1].v"),
    ("SEQ(SEQ(A a, B b){2}, C c) WHERE c.v > a.v", {}, "BARE_ARRAY", "WHERE", "a.v", "a[1].v"),
    ("SEQ(A a, B+ b[] UNTIL (b.v > 2))", {}, "BARE_ARRAY", "UNTIL of b", "b.v", LOOP),
    ("SEQ(A a, B+ b[] UNTIL (v > b[i-1].v))", {}, "BARE_ARRAY", "UNTIL of b", "b[i-1].v", LOOP),
    ("SEQ(A a, B+ b[] UNTIL (v > c.v), C c)", {}, "NOT_YET_BOUND", "UNTIL of b", "c.v", "before this loop"),
    ("SEQ(A a, B b) WHERE b.v > a[1].v", {}, "NOT_AN_ARRAY", "WHERE", "a[1].v", "no array"),
    ("SEQ(A a, ~B b, C c) WHERE b[1].v > 1", {}, "NOT_AN_ARRAY", "WHERE", "b[1].v", "no array"),
    ("SEQ(A a, B+ b[]) WHERE b[3].v > 1", {}, "UNKNOWN_ELEMENT", "WHERE", "b[3]", "b[b.LEN].x"),
    ("SEQ(A a, B+ b[]) WHERE b[a.LEN].v > 1", {}, "UNKNOWN_ELEMENT", "WHERE", "b[a.LEN]", "b[b.LEN].x"),
    ("SEQ(A a, B+ b[]) WHERE b[..i-1].v > 1", {}, "UNKNOWN_ELEMENT", "WHERE", "b[..i-1]", "inside an aggregate"),
    ("SEQ(A a, B+ b[]) WHERE b[i].v > b[b.LEN].v", {}, "MIXED_ELEMENTS", "WHERE", "b[i].v", "split it"),
    ("SEQ(A a, B b) WHERE MAX(a.v + b.v) > 1", {}, "MIXED_ROWS", "WHERE", "MAX(a.v + b.v)", None),
    ("SEQ(A a, B b) WHERE COUNT(DISTINCT a.v) = 1", {}, "UNSUPPORTED_AGGREGATE", "WHERE",
     "COUNT(DISTINCT a.v)", "RETURN"),
    ("SEQ(A+ a[], B b) WHERE b.v > MEDIAN(a.v)", {}, "UNSUPPORTED_AGGREGATE", "WHERE", "MEDIAN(a.v)", "AVG"),
    ("SEQ(A a, B b) WHERE LAST(a.v) = 1", {}, "ROW_PATTERN_FUNCTION", "WHERE", "LAST(a.v)", "b[b.LEN].x"),
    ("SEQ(A a) RETURN MATCH_NUMBER() AS n", {}, "ROW_PATTERN_FUNCTION", "RETURN n", "MATCH_NUMBER()", "match_number"),
    ("SEQ(Tick tick, B b) WHERE tik.v = 1", {}, "UNKNOWN_VARIABLE", "WHERE", "tik", "did you mean 'TICK'?"),
    ("SEQ(A a, B b) WHERE v = 1", {}, "MISSING_VARIABLE", "WHERE", "v", "a.v, b.v"),
    ("SEQ(A a, B b) WHERE 1 = 1", {}, "MISSING_VARIABLE", "WHERE", "1 = 1", "no event"),
    ("SEQ(A a, ~B b) WITHIN 3 RETURN v AS q", {}, "MISSING_VARIABLE", "RETURN q", "v", "allowed: a.v\n"),
    ("SEQ(A a, B b) WHERE a.v", {}, "NOT_A_CONDITION", "WHERE", "a.v", "bigint"),
    ("SEQ(A a, B b) WHERE a.nix > 1", {}, "UNRESOLVED_COLUMN", "WHERE", "nix", None),
    ("SEQ(A a, B b) WHERE exists(array(1), v -> v > a.v)", {}, "HIDDEN_COLUMN", "WHERE", "a.v", "another name"),
    ("SEQ(A a, ~B b, ~C c, D d) WHERE b.v = c.v", {}, "TWO_NEGATIONS", "WHERE", "b.v = c.v", "negated"),
    ("SEQ(A a, OR(B b, C c)) WHERE b.v > c.v", {}, "NO_BRANCH", "WHERE", "b.v > c.v", "branch"),
    ("OR(SEQ(A a, B b), SEQ(C c, D d)) WHERE b.v > 1 OR d.v > 1", {}, "NO_BRANCH", "WHERE",
     "b.v > 1 OR d.v > 1", "branch"),
    ("SEQ(A a, B b) WHERE [1]", {}, "KEY_WITHOUT_COLUMN", "WHERE", "1", "sym"),
    ("SEQ(A a, B b) WHERE [nix]", {}, "UNRESOLVED_COLUMN", "WHERE", "nix", None),
    ("SEQ(A a, ~B b)", {}, "MISSING_WITHIN", "PATTERN", "~B b", "window"),
    ("SEQ(~(B b), A a)", {}, "MISSING_WITHIN", "PATTERN", "~(B b)", "WITHIN"),
    ("SEQ(A a, ~B b, C? c)", {}, "MISSING_WITHIN", "PATTERN", "~B b", "WITHIN"),
    ("SEQ(A a WITHIN 3, B b)", {}, "WRONG_WITHIN", "PATTERN", "A a WITHIN 3", "step before"),
    ("SEQ(SEQ(A? a, ~N n)+, B b)", {}, "UNBOUNDED_GROUP", "PATTERN", "+", "a round of a group that repeats"),
    (
        "SEQ(AND(A+ a[], B b), SEQ(C c){2,})", {"strategy": "skip_till_any_match"}, "UNBOUNDED_GROUP", "PATTERN",
        "{2,}", "SEQ(…){2,5}",
    ),
    (
        "SEQ(SEQ(AND(A a, B b), ~N n, C c){3}) WHERE n.v > a.v", {"strategy": "skip_till_any_match"},
        "UNSUPPORTED_CONDITION", "WHERE", "a.v", "in the middle",
    ),
    ("AND(A a, B b, C c, D d, E e, F f)", {}, "PATTERN_TOO_LARGE", "PATTERN", None, "500"),
    ("AND(AND(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j), K k)", {}, "PATTERN_TOO_LARGE", "PATTERN",
     None, "500"),
    ("SEQ(A a, Tickt b)", {"types": {"A": "v > 1", "Tick": "v < 1"}, "type_column": None}, "UNKNOWN_TYPE", "PATTERN",
     "Tickt", "did you mean 'Tick'?"),
    ("SEQ(A a)", {"type_column": None}, "UNKNOWN_TYPE", "PATTERN", "A", "type_column="),
    ("SEQ(A a)", {"types": {"A": "v + 1"}}, "NOT_A_CONDITION", "TYPE A", "v + 1", None),
    ("SEQ(A a) WHERE strict { a.v > 1 }", {"strategy": "skip_till_any_match"}, "CONTRADICTION", "strategy",
     None, "strict"),
    ("SEQ(A a) WITHIN 3", {"within": Within("number", "4")}, "CONTRADICTION", "WITHIN", None, "differ"),
    ("SEQ(A a) RETURN a.v AS v", {"measures": V}, "CONTRADICTION", "RETURN", None, "measures="),
    ("SEQ(A a) RETURN a.v AS v", {"matches": "count"}, "CONTRADICTION", "RETURN", None, "matches='count'"),
    ("SEQ(A a)", {"measures": V, "matches": "count"}, "CONTRADICTION", "measures", None, "matches='count'"),
    ("SEQ(A a)", {"order_by": ()}, "MISSING_ORDER", "ORDER BY", None, "order_by=[…]"),
    ("SEQ(A a) RETURN a.v AS v, a.w AS V", {}, "DUPLICATE_COLUMN", "RETURN", None, "'V'"),
    ("SEQ(A sym)", {"partition_by": (Fragment("sym"),)}, "DUPLICATE_COLUMN", "RETURN", None, "'sym'"),
    ("SEQ(A k)", {"partition_by": (Fragment("v % 2 AS k"),)}, "DUPLICATE_COLUMN", "RETURN", None, "'k'"),
    ("SEQ(A Match_Start)", {}, "DUPLICATE_COLUMN", "RETURN", None, "Match_Start"),
    ("SEQ(A a, B+ b[]) RETURN b[1].nix AS q", {}, "UNRESOLVED_COLUMN", "RETURN q", "nix", None),
    ("SEQ(A a) RETURN a.nix AS q", {}, "UNRESOLVED_COLUMN", "RETURN q", "nix", None),
    ("SEQ(A a, B+ b[]) RETURN b.v AS q", {}, "WRONG_RETURN", "RETURN q", "b.v", LOOP),
    ("SEQ(A a, B+ b[]) RETURN b[i].v AS q", {}, "WRONG_RETURN", "RETURN q", "b[i].v", LOOP),
    ("SEQ(A a, B+ b[]) RETURN SUM(b[..i-1].v) AS q", {}, "WRONG_RETURN", "RETURN q", "SUM(b[..i-1].v)", LOOP),
    ("SEQ(A a, ~B b, C c) RETURN b.v AS q", {}, "WRONG_RETURN", "RETURN q", "b.v", "must not happen"),
    ("SEQ(A a) RETURN a[1].v AS q", {}, "WRONG_RETURN", "RETURN q", "a[1].v", "one event"),
    ("AND(A a, B+ b[]) WHERE b[b.LEN].v > a.v", {"strategy": "skip_till_any_match"}, "UNSUPPORTED_CONDITION", "WHERE",
     "b[b.LEN].v > a.v", "OR(SEQ(…), SEQ(…))"),
    ("SEQ(SEQ(A a, B b){2}) WHERE b.v > SUM(a.v)", {}, "UNSUPPORTED_CONDITION", "WHERE", "SUM(a.v)", "has not ended"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "arguments", "code", "clause", "underlined", "words"),
    ERRORS,
    ids=[f"{code}: {text}" for text, _, code, *_ in ERRORS],
)
def test_errors_name_code_clause_place_and_way_out(
    text: str, arguments: dict[str, Any], code: str, clause: str, underlined: str | None, words: str | None
) -> None:
    with pytest.raises(SparkcepError) as caught:
        bound(text, **arguments)
    error = caught.value
    assert (error.code, error.clause) == (code, clause), str(error)
    assert words is None or words in str(error) + "\n", str(error)
    if underlined is not None:
        assert error.text is not None
        assert error.span is not None
        assert error.text[error.span.start : error.span.end] == underlined
        assert arguments.get("types") or error.text == text


GOLDEN = """\
[BARE_ARRAY] b may hold several events here: which of them is meant? (in WHERE)
  line 2, column 13:
    WHERE c.v > b.v
                ^^^
  found: b.v
  allowed: b[1].v, b[b.LEN].v, MIN, MAX or ARRAY_AGG(b.v)"""


def test_a_message_as_a_reader_sees_it() -> None:
    with pytest.raises(BindingError) as caught:
        bound("SEQ(A a, B+ b[], C c)\nWHERE c.v > b.v")
    assert str(caught.value) == GOLDEN
