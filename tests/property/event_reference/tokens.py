"""The words of an event pattern's text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.property.reference.errors import ReferenceError_

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<quoted>"[^"]*"|`[^`]+`)
    |(?P<number>(?:\d+\.\d+|\d+(?!\.\d)|\.\d+)(?:[eE][+-]?\d+)?(?:[LlDd](?!\w))?)|(?P<word>[A-Za-z_]\w*)
    |(?P<symbol>\.\.|<=>|<=|>=|<>|!=|==|\|\||[-+*/%(),.<>=\[\]{}~?;]))""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind == "word" else self.text


def tokens(text: str) -> list[Token]:
    found, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise ReferenceError_(f"unexpected {text[place:].strip()[:10]} in {text}")
        found.append(Token(match.lastgroup, match.group(match.lastgroup)))
        place = match.end()
    return found
