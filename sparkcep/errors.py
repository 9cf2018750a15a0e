"""The errors of every stage: one base class, one class per stage.

An error knows its code, the clause it stands in, the text and the position of the
offending piece, what was found, what is allowed and, where a near name exists, a hint.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in a source text."""

    start: int
    end: int


class SparkcepError(Exception):
    """Base class of all errors that sparkcep raises.

    Parameters
    ----------
    code
        Upper-case words that name the kind of fault, as Spark's error classes do.
    message
        One sentence that says what is wrong.
    clause
        The clause the fault stands in: ``PATTERN``, ``DEFINE A``, ``MEASURES n`` …
    text, span
        Source text and the offending piece of it; shown underlined.
    found
        What stands there.
    allowed
        What may stand there.
    hint
        What the reader may want to do.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        clause: str | None = None,
        text: str | None = None,
        span: Span | None = None,
        found: str | None = None,
        allowed: str | Iterable[str] | None = None,
        hint: str | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.clause = clause
        self.text = text
        self.span = span
        self.found = found
        self.allowed = allowed if allowed is None or isinstance(allowed, str) else ", ".join(allowed)
        self.hint = hint
        super().__init__(self._rendered())

    def _rendered(self) -> str:
        where = f" (in {self.clause})" if self.clause else ""
        lines = [f"[{self.code}] {self.message}{where}"]
        if self.text is not None and self.span is not None:
            lines += underlined(self.text, self.span)
        for title, value in (("found", self.found), ("allowed", self.allowed), ("hint", self.hint)):
            if value:
                lines.append(f"  {title}: {value}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuilt, (type(self), self.__dict__.copy()))


def _rebuilt(kind: type[SparkcepError], state: dict[str, object]) -> SparkcepError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    Exception.__init__(error, error._rendered())
    return error


class PatternSyntaxError(SparkcepError):
    """A text cannot be read: pattern, clause or duration."""


class BindingError(SparkcepError):
    """A text can be read but breaks a rule of the language, or names what is not there."""


class PlanError(SparkcepError):
    """No plan may serve the pattern, or a forced plan is illegal for it."""


class MatchError(SparkcepError):
    """A fault that only data can show: skip target not bound, budget exceeded, NULL order value."""


class CommandError(SparkcepError):
    """The command line cannot start: a file is not there, an extension is unknown, Java is missing."""


class SparkcepWarning(UserWarning):
    """Something legal that is probably not meant."""


def warn(message: str) -> None:
    """Warn at the line of the caller's own code, however deep inside the package we are."""
    depth = 1
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sparkcep":
        frame = frame.f_back
        depth += 1
    warnings.warn(message, SparkcepWarning, stacklevel=depth)


def underlined(text: str, span: Span) -> list[str]:
    """Return the line of `text` that holds `span`, and a line that underlines the piece.

    >>> underlined("A B+) C", Span(4, 5))
    ['  line 1, column 5:', '    A B+) C', '        ^']
    """
    number, column = line_and_column(text, span.start)
    line_start = min(span.start, len(text)) - column + 1
    line_end = text.find("\n", line_start)
    line_end = len(text) if line_end < 0 else line_end
    line = text[line_start:line_end].replace("\t", " ")
    width = max(1, min(span.end, line_end) - line_start - column + 1)
    return [f"  line {number}, column {column}:", f"    {line}", "    " + " " * (column - 1) + "^" * width]


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of a character, both from 1 on; of the text's end behind it.

    >>> line_and_column("A B+) C", 4)
    (1, 5)
    """
    at = min(offset, len(text))
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the nearest known name, if one is near.

    >>> did_you_mean("prise", ["price", "volume"])
    "did you mean 'price'?"
    """
    by_fold = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), by_fold, n=1, cutoff=0.6)
    return f"did you mean '{by_fold[near[0]]}'?" if near else None
