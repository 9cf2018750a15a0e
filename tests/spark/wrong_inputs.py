"""Wrong inputs, each with the call that gives it; what they are told stands in tests/golden/errors."""

from __future__ import annotations

from typing import Any

# Arguments over a frame with columns user_id, ts, day, price, volume, event, span; "pattern" included.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "unknown_column": {"pattern": "A B", "define": {"B": "prise > LAST(A.price)"}},
    "unknown_column_in_navigation": {"pattern": "A B", "define": {"B": "price > LAST(A.prise, 1)"}},
    "unknown_column_in_measures": {"pattern": "A", "measures": {"low": "ROUND(FIRST(A.prcie), 2)"}},
    "unknown_bare_column_in_measures": {"pattern": "A", "measures": {"low": "ROUND(volum, 2) + FIRST(price)"}},
    "unknown_column_in_cast_in_measures": {"pattern": "A", "measures": {"low": "CAST(volum AS INT)"}},
    "unknown_partition_column": {"pattern": "A", "partition_by": ["usr_id"]},
    "unknown_order_column": {"pattern": "A", "order_by": ["tss DESC"]},
    "unknown_variable": {"pattern": "STRT DOWN+", "define": {"DOWN": "price < LAST(START.price)"}},
    "unknown_function": {"pattern": "A", "define": {"A": "levenstein(event, 'view') < 3"}},
    "unbalanced_bracket_in_pattern": {"pattern": "A (B | C+ D"},
    "closing_bracket_too_many": {"pattern": "A B+) C"},
    "unbalanced_bracket_in_define": {"pattern": "A", "define": {"A": "price > (volume + 1"}},
    "quantifier_bounds_swapped": {"pattern": "A{3,1}"},
    "quantifier_of_nothing": {"pattern": "A | * B"},
    "skip_to_unknown_variable": {"pattern": "A B", "after_match": "to last C"},
    "wrong_after_match": {"pattern": "A B", "after_match": "past the last row"},
    "wrong_rows_per_match": {"pattern": "A B", "rows_per_match": "every"},
    "two_sets_of_rows": {"pattern": "A B", "measures": {"x": "LAST(A.price + B.price)"}},
    "two_sets_of_rows_in_aggregate": {"pattern": "A B", "measures": {"x": "SUM(A.price * volume)"}},
    "final_in_define": {"pattern": "A B", "define": {"B": "price > FINAL LAST(A.price)"}},
    "final_before_prev": {"pattern": "A B", "measures": {"x": "FINAL PREV(price)"}},
    "nested_aggregate": {"pattern": "A", "measures": {"x": "LAST(SUM(price))"}},
    "navigation_in_aggregate": {"pattern": "A", "measures": {"x": "SUM(price - PREV(price))"}},
    "aggregate_that_cannot_run": {"pattern": "A", "define": {"A": "price > STDDEV(A.price)"}},
    "distinct_in_define": {"pattern": "A+", "define": {"A": "COUNT(DISTINCT event) < 3"}},
    "window_function_in_measures": {"pattern": "A", "measures": {"x": "SUM(price) OVER (ORDER BY ts)"}},
    "aggregate_with_wrong_arguments": {"pattern": "A", "measures": {"x": "percentile(price)"}},
    "measure_of_wrong_type": {"pattern": "A", "measures": {"x": "FIRST(array(price)) + 1"}},
    "define_without_pattern": {"pattern": "A B", "define": {"C": "price > 1"}},
    "define_of_subset": {"pattern": "A B", "subset": {"U": ["A", "B"]}, "define": {"U": "price > 1"}},
    "subset_of_unknown": {"pattern": "A B", "subset": {"U": ["A", "D"]}},
    "duplicate_measure": {"pattern": "A", "measures": {"x": "FIRST(price)", "X": "LAST(price)"}},
    "measure_named_as_key": {"pattern": "A", "measures": {"user_id": "FIRST(price)"}},
    "condition_is_no_boolean": {"pattern": "A", "define": {"A": "price + 1"}},
    "dependent_condition_is_no_boolean": {"pattern": "A B", "define": {"B": "price - LAST(A.price)"}},
    "function_over_two_rows": {"pattern": "A B", "define": {"B": "levenshtein(A.event, B.event) < 3"}},
    "collated_comparison": {"pattern": "A B", "define": {"B": "collate(event, 'UNICODE_CI') = LAST(A.event)"}},
    "order_by_missing": {"pattern": "A", "order_by": None},
    "within_on_string": {"pattern": "A B", "order_by": "event", "within": 3},
    "within_months": {"pattern": "A B", "within": "INTERVAL '1' MONTH"},
    "within_descending": {"pattern": "A B", "order_by": "ts DESC", "within": "1 hour"},
    "within_number_on_timestamp": {"pattern": "A B", "within": 30},
    "within_interval_on_number": {"pattern": "A B", "order_by": "price", "within": "30 minutes"},
    "within_unreadable": {"pattern": "A B", "within": "half an hour"},
    "offset_is_negative": {"pattern": "A B", "define": {"B": "price > PREV(price, -1)"}},
    "offset_is_an_expression": {"pattern": "A B", "define": {"B": "price > LAST(price, volume)"}},
    "exclusion_with_unmatched": {"pattern": "A {- B -}", "rows_per_match": "all with unmatched"},
    "star_outside_count": {"pattern": "A", "measures": {"x": "SUM(A.*)"}},
    "clause_and_arguments": {"pattern": "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))", "define": {"A": "price > 1"}},
    "wrong_null_order_value": {"pattern": "A", "null_order_value": "skip"},
    "empty_pattern_text": {"pattern": ""},
    "unknown_column_in_prev": {"pattern": "A B", "define": {"B": "event = 'surprise' AND price > 2 * PREV(prise)"}},
    "unknown_column_in_prev_of_last": {"pattern": "A B", "define": {"B": "price > PREV(LAST(A.prise), 2)"}},
    "unknown_column_in_nested_next": {"pattern": "A", "measures": {"x": "upper(NEXT(LAST(evnt || 'x'), 2))"}},
    "unbalanced_bracket_in_order_by": {"pattern": "A", "order_by": ["abs(price"]},
    "unbalanced_bracket_in_partition_by": {"pattern": "A", "partition_by": ["upper(user_id"]},
    "key_hides_a_column": {"pattern": "A", "partition_by": ["upper(event) AS event"]},
    "union_named_as_variable": {"pattern": "A B", "subset": {"A": ["B"]}},
    "event_unknown_type": {
        "pattern": "SEQ(View a, Cart b)",
        "types": {"View": "event = 'view'", "Kart": "event = 'cart'"},
    },
    "event_unknown_column": {"pattern": "SEQ(View a, Cart b) WHERE b.prise > a.price", "type_column": "event"},
    "event_unknown_variable": {"pattern": "SEQ(View a, Cart b) WHERE b.price > aa.price", "type_column": "event"},
    "event_unclosed_brackets_of_a_loop": {"pattern": "SEQ(View a, Cart+ b[, Pay c)", "type_column": "event"},
    "event_unclosed_sequence": {"pattern": "SEQ(View a, AND(Cart b, Pay c)", "type_column": "event"},
    "event_loop_without_brackets_read_bare": {
        "pattern": "SEQ(View a, Cart+ b[], Pay c) WHERE c.price > b.price",
        "type_column": "event",
    },
    "event_two_negations_in_a_condition": {
        "pattern": "SEQ(View a, ~Cart b, Pay c, ~View d) WHERE b.price = d.price WITHIN '1 hour'",
        "type_column": "event",
    },
    "event_absence_at_the_end_without_window": {"pattern": "SEQ(View a, ~Pay b)", "type_column": "event"},
    "event_negated_sequence": {"pattern": "SEQ(View a, ~SEQ(Cart b, Pay c), View d)", "type_column": "event"},
    "event_window_of_months": {"pattern": "SEQ(View a, Pay b) WITHIN 2 months", "type_column": "event"},
    "event_wrong_strategy": {"pattern": "SEQ(View a, Pay b)", "type_column": "event", "strategy": "skip_till_next"},
    "event_two_strategies": {
        "pattern": "SEQ(View a, Pay b) WHERE strict { a.price > 1 }",
        "type_column": "event",
        "strategy": "skip_till_any_match",
    },
    "event_wrong_matches": {"pattern": "SEQ(View a, Pay b)", "type_column": "event", "matches": "one per start"},
    "event_limit_of_nothing": {"pattern": "SEQ(View a, Pay b)", "type_column": "event", "limit": 0},
    "event_sample_of_more_than_all": {"pattern": "SEQ(View a, Pay b)", "type_column": "event", "sample": 1.5},
    "event_sample_of_a_count": {
        "pattern": "SEQ(View a, Pay b)",
        "type_column": "event",
        "sample": 3,
        "matches": "count",
    },
    "event_define": {"pattern": "SEQ(View a, Pay b)", "type_column": "event", "define": {"a": "price > 1"}},
    "row_strategy": {"pattern": "A B", "strategy": "strict"},
    "event_no_types": {"pattern": "SEQ(View a, Pay b)"},
    "event_return_twice": {"pattern": "SEQ(View a, Pay b) RETURN a.ts AS x, b.ts AS x", "type_column": "event"},
    "event_return_and_measures": {
        "pattern": "SEQ(View a, Pay b) RETURN a.ts AS x",
        "type_column": "event",
        "measures": {"y": "b.ts"},
    },
    "event_time_outs_without_window": {"pattern": "SEQ(View a, Pay b)", "type_column": "event", "timeouts": True},
    "event_condition_no_branch_can_bind": {
        "pattern": "OR(View a, Pay b) WHERE a.price > b.price",
        "type_column": "event",
    },
}

STATEMENTS: dict[str, str] = {
    "sql_missing_table": "SELECT * FROM eventz MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))",
    "sql_unknown_column": """SELECT *
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id
  ORDER BY ts
  MEASURES FIRST(A.prise) AS low
  PATTERN (A B)
  DEFINE B AS B.price > A.price)""",
    "sql_unknown_variable": """SELECT *
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  PATTERN (STRT DOWN+)
  DEFINE DOWN AS DOWN.price < LAST(STRTT.price))""",
    "sql_not_boolean": "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS price + 1)",
    "sql_define_without_pattern": (
        "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE B AS price > 1)"
    ),
    "sql_unbalanced_bracket_in_measures": (
        "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts MEASURES f(A.price]) AS x PATTERN (A))"
    ),
    "sql_missing_pattern": "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts DEFINE A AS price > 1)",
    "sql_clauses_out_of_order": "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PARTITION BY user_id PATTERN (A))",
    "sql_persistent_view": "CREATE VIEW v AS SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))",
    "sql_correlated": """SELECT u.id, (SELECT COUNT(*) FROM (SELECT * FROM events WHERE user_id = u.id)
  MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B))) AS n FROM users AS u""",
    "sql_lateral": "SELECT * FROM users u, LATERAL (SELECT * FROM events) MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))",
    "sql_subset_of_unknown": """SELECT *
FROM events MATCH_RECOGNIZE (
  ORDER BY ts PATTERN (A B)
  SUBSET U = (A, B), W = (A, d) DEFINE A AS price > 1)""",
    "sql_union_named_as_variable": "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) SUBSET b = (A))",
    "sql_skip_to_unknown_variable": """SELECT *
FROM events MATCH_RECOGNIZE (
  ORDER BY ts
  AFTER MATCH SKIP TO LAST Bb PATTERN (A B))""",
    "sql_wrong_after_match": (
        "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts AFTER MATCH SKIP PAST THE LAST ROW PATTERN (A B))"
    ),
    "sql_unknown_partition_column": """SELECT *
FROM events MATCH_RECOGNIZE (
  PARTITION BY event, upper(usr_id) ORDER BY ts
  PATTERN (A B))""",
    "sql_key_hides_a_column": (
        "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY upper(event) AS event ORDER BY ts PATTERN (A))"
    ),
    "sql_unknown_order_column": """SELECT *
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY price, abs(tss) DESC
  PATTERN (A B))""",
    "sql_order_missing": "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY user_id PATTERN (A))",
    "sql_wrong_rows_per_match": (
        "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH WITH EMPTY MATCHES PATTERN (A))"
    ),
    "sql_exclusion_with_unmatched": """SELECT *
FROM events MATCH_RECOGNIZE (
  ORDER BY ts
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  PATTERN (A {- B -}))""",
    "sql_duplicate_measure": (
        "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(price) AS x, price AS X PATTERN (A))"
    ),
    "sql_defined_twice": (
        "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS price > 1, a AS price < 9)"
    ),
    "sql_unknown_column_in_prev": """SELECT *
FROM events MATCH_RECOGNIZE (
  ORDER BY ts PATTERN (A B)
  DEFINE B AS event = 'surprise' AND price > 2 * PREV(prise))""",
    "sql_missing_table_in_common_table": """WITH low AS (SELECT * FROM eventz WHERE price < 9)
SELECT * FROM low MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))""",
    "sql_bracket_too_many_in_define": (
        "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS price > (1 + 2])"
    ),
    "sql_unclosed_clause": "SELECT * FROM events MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE B AS price > 1",
}

# What only data can show: our part of the message that a Python worker sends; max_steps is one of the options.
ON_DATA: dict[str, dict[str, Any]] = {
    "null_order_value": {"pattern": "A B", "within": "1 hour"},
    "null_order_value_nulls_last": {"pattern": "A B", "order_by": "ts NULLS LAST", "within": "1 hour"},
    "work_budget": {
        "pattern": "(A* B?)* C",
        "define": {"A": "price > FIRST(volume)", "C": "price < FIRST(volume)"},
        "max_steps": 9,
    },
    "work_budget_with_within": {
        "pattern": "(A* B?)* C",
        "partition_by": ["volume > 0", "event = 'x' AS other"],
        "order_by": "price",
        "define": {"A": "price > FIRST(volume)", "C": "price < FIRST(volume)"},
        "within": 100,
        "max_steps": 9,
    },
    "skip_to_unbound_variable_later": {
        "pattern": "A (B | C)",
        "partition_by": "date(coalesce(ts, timestamp'2024-01-01 00:00:00')) AS day",
        "order_by": "ts NULLS LAST",
        "define": {"A": "price = 12", "B": "false"},
        "after_match": "to last B",
    },
    "skip_to_first_row": {"pattern": "A B", "order_by": ["volume", "event"], "after_match": "to first A"},
    "skip_to_unbound_variable": {"pattern": "A (B | C)", "define": {"B": "price > 99"}, "after_match": "to last B"},
}

# Here Spark says what is wrong, in words that change with its version; code, clause and place are ours.
IN_SPARKS_WORDS = ("aggregate_with_wrong_arguments", "measure_of_wrong_type")

WARNINGS: dict[str, dict[str, Any]] = {
    "never_true": {"pattern": "A+", "define": {"A": "price > LAST(A.price)"}},
    "one_partition": {"pattern": "A", "partition_by": None},
}
