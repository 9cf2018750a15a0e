"""Reads expressions over the events of a match: ``a.x``, ``b[1].x``, ``b[i-1].x``, ``AVG(b[..i-1].x)``.

As for row patterns, only our own forms are recognised, by tokens; everything between them is copied
letter by letter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sparkcep.errors import BindingError, PatternSyntaxError, did_you_mean
from sparkcep.logical.calls import SPARK_AGGREGATES
from sparkcep.logical.reader import OURS
from sparkcep.logical.scope import Clause
from sparkcep.logical.tokens import TokenRange, token_range
from sparkcep.syntax.row_pattern import normal_name

Form: TypeAlias = Literal["each", "first", "later", "previous", "before", "last", "whole"]
_FORMS: dict[str, Form] = {"1": "first", "i": "later", "i-1": "previous", "..i-1": "before"}


@dataclass(frozen=True, slots=True)
class Reference:
    """``b[form].text``: an expression over one event, the variable taken off; or over none, when it is a column.

    An aggregate has its `function`; its `text` is the argument, empty for COUNT(b); it is `decorated` by
    DISTINCT, FILTER, ORDER BY or a second argument.
    """

    variable: str
    form: Form
    text: str
    start: int
    end: int
    function: str | None = None
    decorated: bool = False


@dataclass(frozen=True, slots=True)
class EventTemplate:
    """Text and references in order; `bare` are columns that stand without a variable."""

    pieces: tuple[str | Reference, ...]
    bare: tuple[tuple[str, int, int], ...]

    @property
    def references(self) -> list[Reference]:
        """The references in text order."""
        return [piece for piece in self.pieces if isinstance(piece, Reference)]

    def spliced(self, replacement: Callable[[Reference], str]) -> str:
        """Return the text with every reference replaced."""
        return "".join(piece if isinstance(piece, str) else replacement(piece) for piece in self.pieces)


def read_event_expression(clause: Clause, arrays: Mapping[str, bool]) -> EventTemplate:
    """Return the template of a clause's expression.

    Parameters
    ----------
    arrays
        The pattern's variables by normal name, and whether each is an array.

    Raises
    ------
    BindingError
        UNKNOWN_ELEMENT, MIXED_ROWS, UNKNOWN_VARIABLE, ROW_PATTERN_FUNCTION.
    """
    try:
        tokens = token_range(clause.fragment.text)
    except PatternSyntaxError as error:
        raise clause.unreadable(error) from None
    return _Reader(clause, tokens, arrays).template()


class _Reader:
    def __init__(self, clause: Clause, tokens: TokenRange, arrays: Mapping[str, bool]) -> None:
        self.clause, self.tokens, self.arrays = clause, tokens, arrays
        self.text = clause.fragment.text
        self.parameters = tokens.lambda_parameters()

    def template(self) -> EventTemplate:
        pieces: list[str | Reference] = []
        bare: list[tuple[str, int, int]] = []
        copied, position = 0, 0
        while position < len(self.tokens):
            behind = self.tokens.behind_query(position)
            if behind is not None:  # a sub-query is Spark's alone
                position = behind
                continue
            self._refuse_row_pattern(position)
            found = self._aggregate(position) or self._reference(position)
            if found is None:
                self._note_bare(position, bare)
                position += 1
                continue
            reference, position = found
            pieces += [self.text[copied : reference.start]] if reference.start > copied else []
            pieces.append(reference)
            copied = reference.end
        if copied < len(self.text):
            pieces.append(self.text[copied:])
        return EventTemplate(tuple(pieces), tuple(bare))

    def _refuse_row_pattern(self, position: int) -> None:
        word = self.tokens.function_name(position)
        if word not in OURS:
            return
        close = self.tokens.closing(position + 1)
        raise self.clause.error(
            "ROW_PATTERN_FUNCTION",
            f"{word} belongs to row patterns",
            self.tokens[position].start,
            self.tokens[close].end,
            found=self.text[self.tokens[position].start : self.tokens[close].end],
            allowed="a.x, b[1].x, b[i].x, b[i-1].x, b[b.LEN].x, aggregates",
            hint="match_number is a column of the result without RETURN" if word == "MATCH_NUMBER" else None,
        )

    def _note_bare(self, position: int, bare: list[tuple[str, int, int]]) -> None:
        if self.tokens.is_name(position) and self.tokens[position].text in self.parameters:
            return
        name = self.tokens.free_name(position, self.clause.names.aliases)
        column = self.clause.names.column(name) if name is not None else None
        token = self.tokens[position]
        if column is not None:
            bare.append((column, token.start, token.end))
            return
        qualifier = self.tokens.qualifier(position)
        known = name is not None and name.lower() in {alias.lower() for alias in self.clause.names.aliases}
        if qualifier is not None and not known and not self.tokens.is_qualified_function(position):
            known_names = tuple(self.arrays)
            raise self.clause.error(
                "UNKNOWN_VARIABLE",
                f"'{token.text}' is neither a variable of the pattern nor a column",
                token.start,
                token.end,
                found=token.text,
                allowed=", ".join(known_names),
                hint=did_you_mean(qualifier, (*known_names, *self.clause.names.columns)),
            )

    def _variable(self, position: int) -> str | None:
        """Return the normal form of a variable's name at `position`."""
        if not self.tokens.is_name(position) or self.tokens[position].text in self.parameters:
            return None
        if self.tokens.is_symbol(position - 1, ".") or self.tokens.is_symbol(position - 1, ":"):
            return None
        name = normal_name(self.tokens.tokens[position].text)
        return name if name in self.arrays else None

    def _reference(self, position: int) -> tuple[Reference, int] | None:
        """Return ``b.x`` or ``b[form].x`` at `position`, and the position behind it."""
        variable = self._variable(position)
        if variable is None:
            return None
        form, behind = self._form(variable, position)
        if not self.tokens.is_symbol(behind, ".") or not self.tokens.is_name(behind + 1):
            if form == "each":
                return None  # a column of the same name
            raise self._wrong_element(variable, position, behind, "an element needs a column behind it")
        last = self.tokens.path_end(behind + 1) - 1
        if form == "before":
            raise self._wrong_element(variable, position, behind, "[..i-1] stands inside an aggregate only")
        start, end = self.tokens[position].start, self.tokens[last].end
        if self.tokens[behind + 1].text in self.parameters:
            raise self.clause.error(
                "HIDDEN_COLUMN",
                f"column '{self.tokens[behind + 1].text}' is hidden by a parameter of a lambda function",
                start,
                end,
                hint="give the parameter another name",
            )
        return Reference(variable, form, self.text[self.tokens[behind + 1].start : end], start, end), last + 1

    def _form(self, variable: str, position: int) -> tuple[Form, int]:
        """Return the form of the element at `position` and the position behind its brackets."""
        if not self.tokens.is_symbol(position + 1, "["):
            return "each", position + 1
        close = self.tokens.closing(position + 1)
        inside = self.text[self.tokens[position + 1].end : self.tokens[close].start]
        compact = "".join(inside.split())
        form: Form | None = _FORMS.get(compact.lower())
        name, dot, length = compact.rpartition(".")
        if dot and length.upper() == "LEN" and normal_name(name) == variable:
            form = "last"
        if form is None:
            raise self._wrong_element(variable, position, close + 1, f"'{inside.strip()}' names no element")
        return form, close + 1

    def _wrong_element(self, variable: str, position: int, behind: int, why: str) -> BindingError:
        shown = self.tokens[position].text
        return self.clause.error(
            "UNKNOWN_ELEMENT",
            why,
            self.tokens[position].start,
            self.tokens[behind - 1].end,
            found=self.text[self.tokens[position].start : self.tokens[behind - 1].end],
            allowed=f"{shown}[1].x, {shown}[i].x, {shown}[i-1].x, {shown}[{shown}.LEN].x, AVG({shown}[..i-1].x)",
            hint=None if self.arrays[variable] else f"{shown} takes one event: {shown}.x",
        )

    # -- aggregates ----------------------------------------------------------------------------

    def _aggregate(self, position: int) -> tuple[Reference, int] | None:
        """Return an aggregate over events at `position`, and the position behind it."""
        word = self.tokens.function_name(position)
        if word is None or not (word.lower() in SPARK_AGGREGATES or self.clause.names.is_aggregate(word)):
            return None
        arguments, distinct, order = self.tokens.aggregate_arguments(position + 1)
        close = self.tokens.closing(position + 1)
        group, condition, behind = self.tokens.aggregate_suffix(close + 1)
        found: dict[tuple[str, Form], None] = {}
        texts = [self._argument(argument, found) for argument in arguments]
        for part in (order, group, condition):
            if part is not None:
                self._argument(part, found)
        start, end = self.tokens[position].start, self.tokens[behind - 1].end
        if not found:
            return None
        if len(found) > 1 or next(iter(found))[1] not in ("whole", "before"):
            raise self._mixed(word, start, end, found)
        (variable, form), *_ = found
        text = texts[0] if len(texts) == 1 and texts[0] != "*" else ", ".join(texts) if len(texts) > 1 else ""
        decorated = distinct or len(texts) > 1 or behind > close + 1 or order is not None
        return Reference(variable, form, text, start, end, word.lower(), decorated), behind

    def _argument(self, argument: TokenRange, found: dict[tuple[str, Form], None]) -> str:
        """Return an argument with its variables taken off, and note them; empty for ``b``."""
        text, copied, at = "", argument.start, argument.first
        while at < argument.last:
            variable = self._variable(at)
            if variable is None:
                at += 1
                continue
            form, behind = self._form(variable, at)
            dotted = self.tokens.is_symbol(behind, ".")
            if not dotted and form == "each" and len(argument) > 1:
                at += 1
                continue
            found[variable, "whole" if form == "each" else form] = None
            text += self.text[copied : self.tokens[at].start]
            at = behind + 1 if dotted else behind
            copied = self.tokens[at].start if at < argument.last else argument.end
        return (text + self.text[copied : argument.end]).strip()

    def _mixed(self, word: str, start: int, end: int, found: Mapping[tuple[str, Form], None]) -> BindingError:
        names = sorted({name for name, _ in found})
        return self.clause.error(
            "MIXED_ROWS",
            f"{word} speaks of all events of one variable, or of those before this one",
            start,
            end,
            found=self.text[start:end],
            allowed=", ".join(f"{word}({name}.x), {word}({name}[..i-1].x)" for name in names[:2]),
        )
