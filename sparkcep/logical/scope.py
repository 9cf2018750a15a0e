"""What a name may mean inside one clause: pattern variables, unions, input columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sparkcep.errors import BindingError, PatternSyntaxError, Span, did_you_mean
from sparkcep.logical.slots import ALL_ROWS, RowSet
from sparkcep.syntax.clause import Fragment


@dataclass(frozen=True, slots=True)
class Names:
    """All names of one MATCH_RECOGNIZE clause and its input.

    Attributes
    ----------
    variables
        Primary variables in pattern order; their position is their index.
    subsets
        Union variables and the primary variables they stand for.
    columns
        Names of the input columns.
    aliases
        Names the input relation may be called by.
    is_aggregate
        Tells whether a function that is not in the list of Spark's own aggregates is one.
    """

    variables: tuple[str, ...]
    subsets: dict[str, tuple[str, ...]]
    columns: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    is_aggregate: Callable[[str], bool] = field(default=lambda _name: False)

    def rows_of(self, variable: str | None) -> RowSet:
        """Return the rows a variable stands for; None stands for all rows of the match."""
        if variable is None:
            return ALL_ROWS
        members = self.subsets.get(variable, (variable,))
        return RowSet(frozenset(self.variables.index(name) for name in members))

    def is_variable(self, name: str) -> bool:
        """Tell whether `name` (in normal form) is a primary or union variable."""
        return name in self.variables or name in self.subsets

    def column(self, name: str) -> str | None:
        """Return the input column that Spark would take `name` for (case does not matter)."""
        folded = name.lower()
        return next((column for column in self.columns if column.lower() == folded), None)


@dataclass(frozen=True, slots=True)
class Clause:
    """One expression's place: what it is called in messages, and the rules that hold there."""

    title: str
    fragment: Fragment
    names: Names
    tested: str | None = None

    @property
    def in_define(self) -> bool:
        """Whether this is a condition of DEFINE (else a measure)."""
        return self.tested is not None

    def error(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        *,
        found: str | None = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> BindingError:
        """Return an error that underlines ``fragment.text[start:end]`` in its source."""
        source = self.fragment.source
        base = self.fragment.span.start if source is not None else 0
        return BindingError(
            code,
            message,
            clause=self.title,
            text=source if source is not None else self.fragment.text,
            span=Span(base + start, base + end),
            found=found,
            allowed=allowed,
            hint=hint,
        )

    def unreadable(self, error: PatternSyntaxError) -> PatternSyntaxError:
        """Return an error of the clause's own text, told at its place in the source."""
        span = error.span or Span(0, len(self.fragment.text))
        placed = self.error(error.code, error.message, span.start, span.end)
        return PatternSyntaxError(
            error.code,
            error.message,
            clause=self.title,
            text=placed.text,
            span=placed.span,
            found=error.found,
            allowed=error.allowed,
            hint=error.hint,
        )

    def located(self, error: BindingError) -> BindingError:
        """Return Spark's complaint about a piece of the clause, told at the piece's place in it."""
        return located(error, self.fragment)

    def unknown_variable(self, name: str, start: int, end: int) -> BindingError:
        """Return the error for a qualifier that is neither a variable nor a column."""
        known = (*self.names.variables, *self.names.subsets)
        return self.error(
            "UNKNOWN_VARIABLE",
            f"'{name}' is neither a pattern variable nor a column",
            start,
            end,
            found=name,
            allowed=", ".join(known),
            hint=did_you_mean(name, (*known, *self.names.columns)) or f"add {name} to PATTERN or SUBSET",
        )


def located(error: BindingError, fragment: Fragment) -> BindingError:
    """Return a complaint about a piece of `fragment`, told at the piece's place in the text it was cut from."""
    source = fragment.source if fragment.source is not None else fragment.text
    if error.text == source:
        return error
    base = fragment.span.start if fragment.source is not None else 0
    place = next((place for piece in (error.found, error.text) if (place := _place(piece, fragment.text))), None)
    start, end = place or (0, len(fragment.text))
    return BindingError(
        error.code,
        error.message,
        clause=error.clause,
        text=source,
        span=Span(base + start, base + end),
        found=error.found,
        allowed=error.allowed,
        hint=error.hint,
    )


def _place(piece: str | None, text: str) -> tuple[int, int] | None:
    """Return where a piece stands in a text: as a whole word if it can."""
    if not piece:
        return None
    pattern = re.escape(piece)
    place = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) or re.search(pattern, text, re.IGNORECASE)
    return place.span() if place is not None else None
