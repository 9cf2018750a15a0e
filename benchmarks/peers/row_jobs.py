"""Row patterns that several matchers are told in the same words.

Needs nothing but the standard library, because other Pythons read it, without this project.
"""

from typing import NamedTuple

COLUMNS = ("i", "ts", "key", "kind", "price")
"""Of a line of the file: seconds of the time, which no two rows share, time, key, kind, price."""


class RowJob(NamedTuple):
    """A pattern over the rows of the file; a match is told by the numbers of its first and last row."""

    name: str
    pattern: str
    define: dict[str, str]

    def sql(self) -> str:
        """Return the query in SQL:2016."""
        first, *_, last = self.pattern.replace("+", "").split()
        conditions = ", ".join(f"{variable} AS {condition}" for variable, condition in self.define.items())
        return f"""
            SELECT first_i, last_i
            FROM steps MATCH_RECOGNIZE (
                PARTITION BY key
                ORDER BY ts
                MEASURES FIRST({first}.i) AS first_i, LAST({last}.i) AS last_i
                ONE ROW PER MATCH
                AFTER MATCH SKIP PAST LAST ROW
                PATTERN ({self.pattern})
                DEFINE {conditions}
            ) AS m
        """


_KINDS = {"A": "kind = 'view'", "B": "kind = 'cart'", "C": "kind = 'buy'"}
_FALL_OF_MATCH = "(LAST(DOWN.price, 1) IS NULL AND price < STRT.price) OR price < LAST(DOWN.price, 1)"

FUNNEL = RowJob("funnel A B+ C", "A B+ C", _KINDS)
STRICT = RowJob("funnel A B C", "A B C", _KINDS)
V_SHAPE = RowJob(
    "V-shape STRT DOWN+ UP+", "STRT DOWN+ UP+", {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"}
)
# The current row is named without its variable, which spares some matchers the search for it.
# The same once with PREV and once with rows of the match, for matchers that look no further.
TURN = RowJob("turn STRT DOWN+ UP", "STRT DOWN+ UP", {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"})
TURN_BY_LAST = RowJob(
    "turn STRT DOWN+ UP, LAST", "STRT DOWN+ UP", {"DOWN": _FALL_OF_MATCH, "UP": "price > LAST(DOWN.price)"}
)
