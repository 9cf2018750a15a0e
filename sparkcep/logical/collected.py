"""Aggregates as Spark array expressions over the collected values of a match.

The array's elements are structs that stand in match order. An argument is a field of the
struct ``s`` (``s.f0``) or a constant. Sorting is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkcep.logical.calls import Aggregate, SortKey

INVERSE_DISTRIBUTIONS = frozenset({"percentile_cont", "percentile_disc", "mode"})
Rule = Callable[[str, Sequence[str], bool], str]


def over_array(call: Aggregate, array: str, arguments: Sequence[str], keys: Sequence[str]) -> str | None:
    """Return Spark text that computes `call` over `array`, None when it takes an aggregation.

    Like Spark's own, ARRAY_AGG, COLLECT_SET and COUNT(DISTINCT) pass over NULLs.

    Parameters
    ----------
    call
        The aggregate.
    array
        Name of the array column.
    arguments, keys
        The call's arguments and ORDER BY keys over the struct ``s``.
    """
    rule = _RULES.get(call.function)
    return rule(ordered(call, array, keys), arguments, call.distinct) if rule is not None else None


def aggregate_text(call: Aggregate, arguments: Sequence[str], keys: Sequence[str]) -> str:
    """Return the call as Spark writes it, over other arguments; `keys` stand in WITHIN GROUP."""
    distinct = "DISTINCT " if call.distinct else ""
    starred = "*" if call.function == "count" and not arguments else ", ".join(arguments)
    text = f"{call.function}({distinct}{starred})"
    if not keys:
        return text
    directed = [
        f"{key} {'ASC' if by.ascending else 'DESC'} NULLS {'FIRST' if by.nulls_first else 'LAST'}"
        for key, by in zip(keys, call.order_by, strict=True)
    ]
    return f"{text} WITHIN GROUP (ORDER BY {', '.join(directed)})"


def ordered(call: Aggregate, array: str, keys: Sequence[str]) -> str:
    """Return the array sorted by the call's keys, ties in match order."""
    if not keys:
        return array
    step = "CASE WHEN l.i < r.i THEN -1 ELSE 1 END"
    for field, key in reversed(list(zip(keys, call.order_by, strict=True))):
        step = _compared(field.removeprefix("s."), key, step)
    numbered = f"transform({array}, (s, i) -> struct(s AS s, i AS i))"
    return f"transform(array_sort({numbered}, (l, r) -> {step}), x -> x.s)"


def _compared(field: str, key: SortKey, otherwise: str) -> str:
    left, right = f"l.s.{field}", f"r.s.{field}"
    null_left, null_right = (-1, 1) if key.nulls_first else (1, -1)
    less, more = (-1, 1) if key.ascending else (1, -1)
    return (
        f"CASE WHEN {left} IS NULL AND {right} IS NOT NULL THEN {null_left} "
        f"WHEN {left} IS NOT NULL AND {right} IS NULL THEN {null_right} "
        f"WHEN {left} < {right} THEN {less} WHEN {left} > {right} THEN {more} ELSE {otherwise} END"
    )


def _values(array: str, arguments: Sequence[str], distinct: bool) -> str:
    """The first argument's values, NULLs dropped, equal ones too with DISTINCT."""
    values = f"transform(filter({array}, s -> {arguments[0]} IS NOT NULL), s -> {arguments[0]})"
    return f"array_distinct({values})" if distinct else values


def _set(array: str, arguments: Sequence[str], _distinct: bool) -> str:
    return _values(array, arguments, True)


def _count(array: str, arguments: Sequence[str], distinct: bool) -> str:
    present = " AND ".join(f"{argument} IS NOT NULL" for argument in arguments)
    fields = ", ".join(f"{argument} AS f{index}" for index, argument in enumerate(arguments))
    tuples = f"transform(filter({array}, s -> {present}), s -> struct({fields}))"
    return f"CAST(size({f'array_distinct({tuples})' if distinct else tuples}) AS BIGINT)"


def _minimum(array: str, arguments: Sequence[str], distinct: bool) -> str:
    return f"array_min({_values(array, arguments, distinct)})"


def _maximum(array: str, arguments: Sequence[str], distinct: bool) -> str:
    return f"array_max({_values(array, arguments, distinct)})"


def _joined(array: str, arguments: Sequence[str], distinct: bool) -> str:
    """LISTAGG over nothing is NULL."""
    values = _values(array, arguments, distinct)
    delimiter = arguments[1] if len(arguments) > 1 else "''"
    joined = f"array_join(transform({values}, v -> CAST(v AS STRING)), {delimiter})"
    return f"CASE WHEN size({values}) > 0 THEN {joined} END"


def _first(array: str, arguments: Sequence[str], _distinct: bool) -> str:
    return f"try_element_at(transform({array}, s -> {arguments[0]}), 1)"


def _last(array: str, arguments: Sequence[str], _distinct: bool) -> str:
    return f"try_element_at(transform({array}, s -> {arguments[0]}), -1)"


_RULES: dict[str, Rule] = {
    "array_agg": _values,
    "collect_list": _values,
    "collect_set": _set,
    "count": _count,
    "min": _minimum,
    "max": _maximum,
    "listagg": _joined,
    "string_agg": _joined,
    "first_value": _first,
    "any_value": _first,
    "last_value": _last,
}
