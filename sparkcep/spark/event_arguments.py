"""Arguments of `match_pattern` with an event pattern: which language it is, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame

from sparkcep.errors import BindingError, PatternSyntaxError, SparkcepError, did_you_mean
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.types import TypeOracle
from sparkcep.spark.arguments import ArgumentReader, Arguments, listed, refuse_other_language
from sparkcep.spark.source import Source
from sparkcep.syntax.builder import Pattern
from sparkcep.syntax.clause import Fragment, Measure, Within
from sparkcep.syntax.durations import parse_within
from sparkcep.syntax.event_pattern import EventPattern, Strategy
from sparkcep.syntax.lexer import tokenize
from sparkcep.syntax.sase import parse_event_pattern, parse_strategy

ROW_ARGUMENTS = {
    "define": "types={name: predicate} says what an event is, WHERE what must hold between events",
    "subset": "OR(A a, B b), or a type whose predicate holds for both",
    "rows_per_match": "a match is one row; its loops are arrays, which Spark's explode takes apart",
    "after_match": "matches='non_overlapping' or matches='one_per_start'",
}
"""What only row patterns take, and what to do about it in an event pattern."""

MATCHES = ("all", "non_overlapping", "one_per_start", "count", "graph")
_GROUPS = ("SEQ", "AND", "OR")


@dataclass(frozen=True, slots=True)
class EventClause:
    """An event pattern and its arguments, read.

    Attributes
    ----------
    types
        Predicates by type name.
    within, inclusive
        The argument's window, and whether a window of the text that does not say so includes its edge.
    """

    pattern: EventPattern
    types: dict[str, Fragment]
    type_column: str | None
    strategy: Strategy | None
    within: Within | None
    inclusive: bool
    partition_by: tuple[Fragment, ...]
    order_by: tuple[Fragment, ...]
    measures: tuple[Measure, ...]
    matches: str
    limit: int | None
    sample: int | float | None
    strict_time: bool
    timeouts: bool

    def bound(
        self,
        columns: Sequence[str],
        oracle: TypeOracle,
        *,
        aliases: Sequence[str] = (),
        is_aggregate: Callable[[str], bool] = lambda _name: False,
    ) -> LogicalEvents:
        """Return what it means over an input with these columns; see `bind_events`."""
        from sparkcep.logical.event_binder import bind_events  # here: row patterns need nothing of it

        return bind_events(
            self.pattern,
            columns,
            oracle,
            types=self.types,
            type_column=self.type_column,
            strategy=self.strategy,
            within=self.within,
            partition_by=self.partition_by,
            order_by=self.order_by,
            measures=self.measures,
            aliases=aliases,
            is_aggregate=is_aggregate,
            matches=self.matches,
            inclusive=self.inclusive,
            timeouts=self.timeouts,
        )


def is_event_pattern(pattern: object) -> bool:
    """Tell whether this is an event pattern: ``SEQ(…``, ``AND(…``, ``OR(…``, with or without PATTERN, or built.

    >>> is_event_pattern("PATTERN SEQ(A a, B b)"), is_event_pattern("or (A a, B b)"), is_event_pattern("A B+")
    (True, True, False)
    """
    if not isinstance(pattern, str):
        return isinstance(pattern, EventPattern | Pattern)
    try:
        tokens = tokenize(pattern)
    except SparkcepError:
        return False
    named = bool(tokens) and tokens[0].keyword == "PATTERN"
    words = [token.keyword for token in tokens[named : named + 1]]
    if named and not (len(tokens) > 1 and tokens[1].is_symbol("(")):
        return len(tokens) > 2 and tokens[2].is_symbol("(")
    return bool(words) and words[0] in _GROUPS and len(tokens) > 1 and tokens[1].is_symbol("(")


def read_event_arguments(frame: DataFrame, arguments: Arguments) -> tuple[EventClause, Source]:
    """Return the event pattern with its arguments, and the input it is to be matched over.

    Raises
    ------
    PatternSyntaxError
        When a text cannot be read, or an argument of row patterns is given (WRONG_LANGUAGE).
    """
    refuse_other_language(arguments, ROW_ARGUMENTS, "an event", "row")
    _check_output(arguments)
    drop = arguments.drops_null_order
    reader = ArgumentReader(frame, arguments)
    pattern, types = _pattern(arguments.pattern)
    read = {name: Fragment(text) for name, text in types.items()}
    for name, predicate in (arguments.types or {}).items():
        if name in types:
            raise _wrong("CONTRADICTION", f"the pattern says itself what '{name}' is: {types[name]}", "types")
        read[name] = reader.fragment(predicate)
    if pattern.returns and arguments.measures:
        raise _wrong("CONTRADICTION", "the pattern has a RETURN clause; measures= says the same", "measures")
    clause = EventClause(
        pattern=pattern,
        types=read,
        type_column=_type_column(reader, arguments.type_column),
        strategy=None if arguments.strategy is None else parse_strategy(arguments.strategy),
        within=None if arguments.within is None else parse_within(arguments.within, arguments.inclusive),
        inclusive=arguments.inclusive,
        partition_by=tuple(reader.key(item) for item in listed(arguments.partition_by)),
        order_by=tuple(reader.order(item) for item in listed(arguments.order_by)),
        measures=tuple(Measure(name, reader.fragment(text)) for name, text in (arguments.measures or {}).items()),
        matches=arguments.matches,
        limit=arguments.limit,
        sample=arguments.sample,
        strict_time=arguments.strict_time,
        timeouts=bool(arguments.timeouts),
    )
    _check_first_order(clause, reader)
    return clause, Source(reader.frame, reader.columns, None, reader.sort_orders, drop)


def _pattern(given: object) -> tuple[EventPattern, dict[str, str]]:
    """Return the tree, and the predicates that come with a built pattern."""
    if isinstance(given, Pattern):
        return given.tree, dict(given.types)
    if isinstance(given, EventPattern):
        return given, {}
    assert isinstance(given, str)
    return parse_event_pattern(given), {}


def _type_column(reader: ArgumentReader, given: str | Column | None) -> str | None:
    return None if given is None else reader.fragment(given).text


def _check_output(arguments: Arguments) -> None:
    if arguments.matches not in MATCHES:
        raise PatternSyntaxError(
            "WRONG_ARGUMENT",
            "matches says which of the matches come out",
            clause="matches",
            found=repr(arguments.matches),
            allowed=MATCHES,
            hint=did_you_mean(str(arguments.matches), MATCHES),
        )
    limit = arguments.limit
    check_limit(limit)
    check_sample(arguments.sample)
    if limit is not None and arguments.matches in ("count", "graph"):
        raise _wrong("CONTRADICTION", f"matches='{arguments.matches}' holds all matches; limit cuts them", "limit")
    if arguments.sample is not None:
        for name, value in (("limit", limit), ("matches", arguments.matches)):
            if value not in (None, "all"):
                raise _wrong("CONTRADICTION", f"sample draws from all matches; {name}={value!r} would cut them", name)
    if arguments.timeouts and arguments.sample is not None:
        raise _wrong("CONTRADICTION", "sample draws from matches; a time-out is none", "timeouts")


def check_limit(limit: object) -> None:
    """Refuse what is no number of matches."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise PatternSyntaxError(
            "WRONG_ARGUMENT",
            "limit says how many matches come out, the first ones of each partition",
            clause="limit",
            found=repr(limit),
            allowed="whole numbers from 1 on",
            hint="leave limit out for all matches; matches='count' counts them",
        )


def check_sample(sample: object) -> None:
    """Refuse what is neither a number of matches nor a share."""
    is_number = isinstance(sample, int) and not isinstance(sample, bool) and sample >= 1
    if sample is not None and not is_number and not (isinstance(sample, float) and 0 < sample < 1):
        raise PatternSyntaxError(
            "WRONG_ARGUMENT",
            "sample says how many matches of each partition are drawn, or with which chance each of them",
            clause="sample",
            found=repr(sample),
            allowed="whole numbers from 1 on, shares between 0.0 and 1.0",
            hint="leave sample out for all matches",
        )


def _check_first_order(clause: EventClause, reader: ArgumentReader) -> None:
    """Results show the first order value, so it must be known and not only sorted by."""
    if clause.order_by and clause.order_by[0].text in reader.sort_orders:
        raise BindingError(
            "WRONG_ARGUMENT",
            "match_start cannot look into a computed sort order made with Column.asc() or .desc()",
            clause="ORDER BY",
            hint="write the first order as text, order_by=['expression DESC']",
        )


def _wrong(code: str, message: str, clause: str) -> PatternSyntaxError:
    return PatternSyntaxError(code, message, clause=clause)
