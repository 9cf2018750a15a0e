"""Reads an expression of DEFINE or MEASURES into a `Template`, by tokens.

Only our own calls are recognised: FIRST, LAST, PREV, NEXT, CLASSIFIER, MATCH_NUMBER, aggregates
and ``variable.column``. Everything between them is copied letter by letter, so Spark gets what
the user wrote, whether or not anybody but Spark can read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sparkcep.errors import BindingError, PatternSyntaxError, Span
from sparkcep.logical.calls import (
    SPARK_AGGREGATES,
    Aggregate,
    Call,
    Classifier,
    MatchNumberCall,
    Navigation,
    SortKey,
    Template,
)
from sparkcep.logical.rowsets import InnerText, read_inner
from sparkcep.logical.scope import Clause
from sparkcep.logical.tokens import TokenRange, token_range

LOGICAL = ("FIRST", "LAST")
PHYSICAL = ("PREV", "NEXT")
OURS = (*LOGICAL, *PHYSICAL, "CLASSIFIER", "MATCH_NUMBER")


def read_expression(clause: Clause) -> Template:
    """Return the template of a clause's expression.

    Raises
    ------
    BindingError
        When a call breaks a rule of ISO/IEC 19075-5: two sets of rows in one navigation,
        FINAL in DEFINE, nested aggregates, a negative offset, an unknown variable.
    """
    return _Reader(clause).template()


@dataclass(slots=True)
class _Prefix:
    """RUNNING or FINAL before a call, or nothing."""

    word: str | None
    start: int

    @property
    def final(self) -> bool:
        return self.word == "FINAL"


class _Reader:
    """Walks the tokens of one expression once."""

    def __init__(self, clause: Clause) -> None:
        self.clause = clause
        self.text = clause.fragment.text
        try:
            self.tokens = token_range(self.text)
        except PatternSyntaxError as error:
            raise clause.unreadable(error) from None
        self.parameters = self.tokens.lambda_parameters()

    def template(self) -> Template:
        pieces: list[str | Call] = []
        mentions: list[str] = []
        copied = 0
        position = 0
        while position < len(self.tokens):
            behind = self.tokens.behind_query(position)
            if behind is not None:  # a sub-query is Spark's alone; it may name columns of the row
                for inside in range(position, behind):
                    self._mention(inside, mentions)
                position = behind
                continue
            call, after = self._call_at(position)
            if call is None:
                self._mention(position, mentions)
                position += 1
                continue
            start = self.tokens[position].start
            if start > copied:
                pieces.append(self.text[copied:start])
            pieces.append(call)
            copied = self.tokens[after - 1].end
            position = after
        if copied < len(self.text):
            pieces.append(self.text[copied:])
        return Template(tuple(pieces), tuple(dict.fromkeys(mentions)))

    def _mention(self, position: int, mentions: list[str]) -> None:
        name = self.tokens.free_name(position, self.clause.names.aliases)
        column = self.clause.names.column(name) if name is not None else None
        if column is not None:
            mentions.append(column)

    def _call_at(self, position: int) -> tuple[Call | None, int]:
        """Return the call that starts at a token, and the position behind it."""
        prefix = self._prefix(position)
        name_at = position + (prefix.word is not None)
        word = self.tokens.function_name(name_at)
        if word in LOGICAL or word in PHYSICAL:
            return self._navigation(name_at, prefix)
        if word is not None and self._is_aggregate(word):
            return self._aggregate(name_at, prefix)
        if prefix.word is not None:
            raise self._wrong_prefix(prefix, position)
        if word == "MATCH_NUMBER":
            return self._match_number(position)
        if word == "CLASSIFIER":
            classifier = self._classifier(position)
            return self._located(classifier, position, self.tokens.closing(position + 1) + 1, _Prefix(None, 0))
        return self._variable_reference(position)

    def _prefix(self, position: int) -> _Prefix:
        token = self.tokens[position]
        word = token.text.upper() if self.tokens.is_word(position) else None
        follows = self.tokens.function_name(position + 1) is not None
        return _Prefix(word if word in ("RUNNING", "FINAL") and follows else None, token.start)

    def _wrong_prefix(self, prefix: _Prefix, position: int) -> BindingError:
        following = self.tokens[position + 1]
        return self.clause.error(
            "WRONG_SEMANTICS_KEYWORD",
            f"{prefix.word} must stand before FIRST, LAST or an aggregate",
            prefix.start,
            following.end,
            found=f"{prefix.word} {following.text}",
            allowed="FIRST, LAST, an aggregate function",
        )

    def _is_aggregate(self, word: str) -> bool:
        if word in OURS:
            return False
        return word.lower() in SPARK_AGGREGATES or self.clause.names.is_aggregate(word)

    def _check_final(self, prefix: _Prefix, end: int) -> None:
        if prefix.final and self.clause.in_define:
            raise self.clause.error(
                "FINAL_IN_DEFINE",
                "FINAL has no meaning in DEFINE: the match is not known yet",
                prefix.start,
                end,
                found="FINAL",
                allowed="RUNNING (the default)",
                hint="leave FINAL out, or move the expression to MEASURES",
            )

    # -- navigation -------------------------------------------------------------------------

    def _navigation(self, position: int, prefix: _Prefix) -> tuple[Navigation, int]:
        word = self.tokens[position].text.upper()
        after = self.tokens.closing(position + 1) + 1
        end = self.tokens[after - 1].end
        start = prefix.start if prefix.word else self.tokens[position].start
        self._check_final(prefix, end)
        if prefix.word and word in PHYSICAL:
            raise self._wrong_prefix(prefix, position - 1)
        arguments = self.tokens.arguments(position + 1)
        if not 1 <= len(arguments) <= 2:
            raise self.clause.error(
                "WRONG_ARGUMENTS", f"{word} takes an expression and an offset", start, end, allowed=f"{word}(x [, n])"
            )
        offset = self._offset(arguments[1]) if len(arguments) == 2 else int(word in PHYSICAL)
        if word in PHYSICAL:
            shift = -offset if word == "PREV" else offset
            return self._physical(arguments[0], shift, start, end), after
        return self._logical(arguments[0], word, offset, prefix.final, start, end), after

    def _offset(self, argument: TokenRange) -> int:
        text = argument.text
        if len(argument) == 1 and text.isdigit():
            return int(text)
        raise self.clause.error(
            "WRONG_OFFSET",
            "an offset is a whole number, not negative",
            argument.start,
            argument.end,
            found=text,
            allowed="0, 1, 2, …",
        )

    def _logical(self, argument: TokenRange, word: str, offset: int, final: bool, start: int, end: int) -> Navigation:
        inner, rows_of = self._inner(argument, word)
        side: Literal["first", "last"] = "first" if word == "FIRST" else "last"
        return Navigation(self.clause.names.rows_of(rows_of), side, offset, 0, final, inner, Span(start, end))

    def _physical(self, argument: TokenRange, shift: int, start: int, end: int) -> Navigation:
        """PREV or NEXT around FIRST or LAST (a logical step first), or around a plain expression."""
        span = Span(start, end)
        step = self._whole_call(argument)
        if step is not None:
            return Navigation(step.rows, step.end, step.offset, shift, step.final, step.inner, span)
        inner, rows_of = self._inner(argument, "NEXT" if shift > 0 else "PREV")
        return Navigation(self.clause.names.rows_of(rows_of), "last", 0, shift, False, inner, span)

    def _whole_call(self, argument: TokenRange) -> Navigation | None:
        """Return FIRST(…) or LAST(…) when the argument is just that."""
        first = argument.first
        prefix = self._prefix(first)
        name_at = first + (prefix.word is not None)
        if self.tokens.function_name(name_at) not in LOGICAL:
            return None
        if self.tokens[self.tokens.closing(name_at + 1)].end != argument.end:
            return None
        return self._navigation(name_at, prefix)[0]

    def _inner(self, argument: TokenRange, function: str) -> tuple[str | Classifier, str | None]:
        """Return what is evaluated at the row found, and the variable whose rows are meant."""
        first = argument.first
        if self.tokens.function_name(first) == "CLASSIFIER":
            if self.tokens[self.tokens.closing(first + 1)].end == argument.end:
                return Classifier(), self._classifier(first)
            raise self._nested(argument, function, "CLASSIFIER() must stand alone")
        self._refuse_nested(argument, function)
        inner = read_inner(argument, self.clause, function, self.parameters)
        return inner.text, inner.variable

    def _refuse_nested(self, argument: TokenRange, function: str) -> None:
        """Raise when one of our calls stands inside a navigation or an aggregate."""
        for position in argument.outside_queries():
            word = self.tokens.function_name(position)
            if word is None or not (word in OURS or self._is_aggregate(word)):
                continue
            if word in OURS:
                raise self._nested(argument, function, f"{word} cannot stand inside {function}")
            raise self.clause.error(
                "NESTED_AGGREGATE",
                f"the aggregate {word} cannot stand inside {function}",
                self.tokens[position].start,
                self.tokens[self.tokens.closing(position + 1)].end,
                found=f"{word}(…) inside {function}(…)",
                allowed="an expression over columns of one row",
                hint=f"use {word}(…) beside {function}(…), not in it",
            )

    def _nested(self, argument: TokenRange, function: str, message: str) -> BindingError:
        return self.clause.error(
            "NESTED_NAVIGATION",
            message,
            argument.start,
            argument.end,
            found=f"{function}({argument.text})",
            allowed="PREV or NEXT around FIRST or LAST; an expression over columns of one row",
        )

    # -- classifier, match number, A.x ----------------------------------------------------------

    def _classifier(self, position: int) -> str | None:
        """Return the variable named in CLASSIFIER(U), None for CLASSIFIER()."""
        arguments = self.tokens.arguments(position + 1)
        if not arguments:
            return None
        name = arguments[0].variable_name(0) if len(arguments) == 1 and len(arguments[0]) == 1 else None
        if name is None or not self.clause.names.is_variable(name):
            raise self.clause.unknown_variable(arguments[0].text, arguments[0].start, arguments[0].end)
        return name

    def _located(self, variable: str | None, position: int, after: int, prefix: _Prefix) -> tuple[Navigation, int]:
        span = Span(self.tokens[position].start, self.tokens[after - 1].end)
        rows = self.clause.names.rows_of(variable)
        return Navigation(rows, "last", 0, 0, prefix.final, Classifier(), span), after

    def _match_number(self, position: int) -> tuple[MatchNumberCall, int]:
        after = self.tokens.closing(position + 1) + 1
        start, end = self.tokens[position].start, self.tokens[after - 1].end
        if after != position + 3:
            raise self.clause.error("WRONG_ARGUMENTS", "MATCH_NUMBER() takes no argument", start, end)
        return MatchNumberCall(Span(start, end)), after

    def _variable_reference(self, position: int) -> tuple[Navigation | None, int]:
        """``A.x``, with any ``.field`` and ``[index]`` behind it: RUNNING LAST(A.x)."""
        variable = self.tokens.qualifier(position)
        if variable is None or self.tokens[position].text in self.parameters:
            return None, position + 1
        if not self.clause.names.is_variable(variable):
            self._check_qualifier(position, variable)
            return None, position + 1
        if self.tokens[position + 2].text == "*":
            raise self.clause.error(
                "WRONG_STAR",
                f"{variable}.* stands for rows, not for a value",
                self.tokens[position].start,
                self.tokens[position + 2].end,
                allowed=f"COUNT({variable}.*), or a column: {variable}.name",
            )
        after = self.tokens.path_end(position + 2)
        path = self.text[self.tokens[position + 2].start : self.tokens[after - 1].end]
        span = Span(self.tokens[position].start, self.tokens[after - 1].end)
        return Navigation(self.clause.names.rows_of(variable), "last", 0, 0, False, path, span), after

    def _check_qualifier(self, position: int, variable: str) -> None:
        token = self.tokens[position]
        plain = self.tokens.plain_name(position)
        names = self.clause.names
        known = names.column(plain) is not None or plain.lower() in {alias.lower() for alias in names.aliases}
        if not known and not self.tokens.is_qualified_function(position):
            raise self.clause.unknown_variable(variable, token.start, token.end)

    # -- aggregates -----------------------------------------------------------------------------

    def _aggregate(self, position: int, prefix: _Prefix) -> tuple[Aggregate, int]:
        word = self.tokens[position].text.upper()
        close = self.tokens.closing(position + 1)
        start = prefix.start if prefix.word else self.tokens[position].start
        self._check_final(prefix, self.tokens[close].end)
        arguments, distinct, inside = self.tokens.aggregate_arguments(position + 1)
        group, condition, after = self.tokens.aggregate_suffix(close + 1)
        order = inside or group
        self._check_suffix(word, after, start, distinct or order is not None or condition is not None)
        inners = [self._argument(argument, word) for argument in arguments]
        keys = tuple(self._sort_key(key, word) for key in (order.split(",") if order else ()))
        where = self._argument(condition, word)[0] if condition is not None else None
        read = [inner for _value, inner in inners if inner] + [inner for _key, inner in keys]
        if condition is not None:
            read += [inner for inner in [self._argument(condition, word)[1]] if inner]
        variable = self._one_variable(read, word, start, self.tokens[after - 1].end)
        call = Aggregate(
            word.lower(),
            tuple(value for value, _inner in inners if value is not None),
            self.clause.names.rows_of(variable),
            prefix.final,
            distinct,
            where if isinstance(where, str) else None,
            tuple(key for key, _inner in keys),
            Span(start, self.tokens[after - 1].end),
        )
        return call, after

    def _check_suffix(self, word: str, after: int, start: int, decorated: bool) -> None:
        end = self.tokens[after - 1].end
        if after < len(self.tokens) and self.tokens.is_word(after) and self.tokens[after].text.upper() == "OVER":
            raise self.clause.error(
                "WINDOW_FUNCTION", f"{word}(…) OVER (…): window functions cannot stand in a pattern", start, end
            )
        if decorated and self.clause.in_define:
            raise self.clause.error(
                "AGGREGATE_CLAUSE_IN_DEFINE",
                "DISTINCT, FILTER and ORDER BY inside an aggregate are allowed in MEASURES only",
                start,
                end,
                found=self.text[start:end],
                allowed=f"{word}(expression)",
            )

    def _argument(self, argument: TokenRange, word: str) -> tuple[str | Classifier | None, InnerText | None]:
        """Return an aggregate's argument (None for a star) and what it was read from."""
        first = argument.first
        if argument.text == "*":
            return None, None
        if len(argument) == 3 and argument[1].text == "." and argument[2].text == "*":
            variable = argument.variable_name(0)
            if variable is None or not self.clause.names.is_variable(variable):
                raise self.clause.unknown_variable(argument[0].text, argument[0].start, argument[0].end)
            return None, InnerText("", variable, None)
        if self.tokens.function_name(first) == "CLASSIFIER":
            _classifier, variable = self._inner(argument, word)
            return Classifier(), InnerText("", variable, "CLASSIFIER()" if variable is None else None)
        self._refuse_nested(argument, word)
        inner = read_inner(argument, self.clause, word, self.parameters)
        return inner.text, inner

    def _sort_key(self, key: TokenRange, word: str) -> tuple[SortKey, InnerText]:
        expression, ascending, nulls_first = key.sort_key()
        inner = read_inner(expression, self.clause, word, self.parameters)
        return SortKey(inner.text, ascending, nulls_first), inner

    def _one_variable(self, inners: Sequence[InnerText], word: str, start: int, end: int) -> str | None:
        named = list(dict.fromkeys(inner.variable for inner in inners if inner.variable is not None))
        bare = [inner.bare for inner in inners if inner.bare is not None]
        if len(named) > 1 or (named and bare):
            sets = [*named, *(f"all rows ({name})" for name in bare)]
            raise self.clause.error(
                "MIXED_ROWS",
                f"{word} speaks of one set of rows, here of {' and '.join(sets[:2])}",
                start,
                end,
                found=", ".join(sets),
                allowed="columns of one variable, or of none",
            )
        return named[0] if named else None
