"""Random event patterns over small random streams, as arguments of ``match_pattern``.

What the pages leave open is not drawn: conditions over the rounds of a repeated group, negation at
the edge of a part of AND. What the reference still refuses or cannot end, `EventCase.expected` raises.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.property.event_reference import match_events

COLUMN_TYPES = {
    "i": "bigint",
    "t": "bigint",
    "type": "string",
    "v": "bigint",
    "x": "double",
    "sym": "string",
    "grp": "string",
}
EVENT_TYPES = ("A", "B", "C", "D")
STRATEGIES = ("strict", "partition_contiguity", "skip_till_next_match", "skip_till_any_match")
MATCHES = ("all", "all", "all", "non_overlapping", "one_per_start", "count")


@dataclass(frozen=True)
class EventCase:
    """A stream and the arguments of one call.

    Attributes
    ----------
    rows
        Events as mappings of the columns of `COLUMN_TYPES`, in no order; column i is unique.
    arguments
        Keyword arguments of ``match_pattern`` and of ``match_events`` alike; `order_by` is t, i.
    """

    rows: tuple[dict[str, Any], ...]
    arguments: dict[str, Any]

    def expected(self, limit: int = 30_000) -> list[dict[str, Any]]:
        """Return the matches as the reference finds them; raise what it raises."""
        return match_events(self.rows, **self.arguments, limit=limit)

    def __str__(self) -> str:
        lines = [" ".join(_shown(row) for row in sorted(self.rows, key=lambda row: (row["t"], row["i"])))]
        return "\n".join(lines + [f"{name} = {value!r}" for name, value in self.arguments.items()])

    __repr__ = __str__


def _shown(row: dict[str, Any]) -> str:
    value, x = ("NULL" if row[name] is None else row[name] for name in ("v", "x"))
    return f"{row['type'].lower()}{row['i']}({value},{x}){row['sym'] or ''}{row['grp'] or ''}@{row['t']}"


# ---------------------------------------------------------------------------------------------
# Streams

_SMALL = (0, 1, 2, 3, 1, 2, 4, None)
_DOUBLE = (0.5, 1.0, 2.0, 3.0, -0.0, float("nan"), None)
_GAP = (1, 1, 1, 2, 0, 3)
_SYM = ("X", "X", "X", "Y", None)
_GRP = ("P", "P", "Q", None)


class Source(Protocol):
    """Where choices come from."""

    def integer(self, least: int, most: int) -> int: ...

    def choose(self, *choices: Any) -> Any: ...


@dataclass(frozen=True)
class Shrinkable:
    """Choices that hypothesis can make smaller."""

    draw: DrawFn

    def integer(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def choose(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))


class Seeded:
    """Independent choices: far more different cases than a shrinkable source makes in the same time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def choose(self, *choices: Any) -> Any:
        return self.random.choice(choices)


def _stream(source: Source, types: Sequence[str], largest: int) -> tuple[dict[str, Any], ...]:
    """Draw events, mostly of `types` and mostly in their order; times may tie, i never does."""
    rows, time, count = [], 0, source.integer(3, largest)
    for i in range(count):
        time += source.choose(*_GAP)
        place = i * len(types) // count
        kind = types[place] if source.integer(0, 2) else source.choose(*types, *EVENT_TYPES)
        values = (source.choose(*choices) for choices in (_SMALL, _DOUBLE, _SYM, _GRP))
        rows.append(dict(zip(COLUMN_TYPES, (i, time, kind, *values), strict=True)))
    return tuple(rows[::-1]) if source.integer(0, 5) == 5 else tuple(rows)


# ---------------------------------------------------------------------------------------------
# Patterns


@dataclass
class Declared:
    """A variable of a drawn pattern: what conditions may read of it."""

    name: str
    loop: bool = False
    negated: bool = False
    repeated: bool = False
    branch: tuple[int, ...] = ()
    parallel: bool = False


@dataclass
class Draft:
    """A pattern under construction."""

    source: Source
    window: bool
    declared: list[Declared] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    steps: bool = True
    branches: int = 0

    def one_in(self, count: int) -> bool:
        return self.source.integer(1, count) == count

    def choose(self, *choices: Any) -> Any:
        return self.source.choose(*choices)

    def has_step_before(self, scope: Declared) -> bool:
        """Tell whether a component drawn next stands behind another one in every branch."""
        earlier = [one for one in self.declared[:-1] if not one.negated and one.branch == scope.branch]
        return bool(earlier) and not scope.parallel


_QUANTIFIERS = ("+", "+", "+", "*", "{2}", "{1,2}", "{2,}", "{0,2}", "{2,3}")


def _component(draft: Draft, scope: Declared) -> str:
    kind = "_" if draft.one_in(25) else draft.choose(*EVENT_TYPES)
    quantifier = draft.choose("", "", "", "?") if draft.one_in(2) else draft.choose(*_QUANTIFIERS, "", "", "", "")
    loop = quantifier not in ("", "?")
    name = "abcdefghijklmnop"[len(draft.declared)]
    draft.declared.append(Declared(name, loop, False, scope.repeated, scope.branch, scope.parallel))
    draft.types.append(kind if kind != "_" else "A")
    text = draft.choose("STRICT ", "NEXT ", "ANY ") if draft.steps and draft.one_in(10) else ""
    text += f"{kind}{quantifier} {name}{'[]' if loop else ''}"
    if loop and draft.one_in(8):
        until = draft.choose("v > 2", "type = 'D'", "v IS NULL")
        text += f" UNTIL ({until})"
    if draft.steps and draft.has_step_before(scope) and draft.one_in(8):
        text += f" WITHIN {draft.choose('2', '3', '4', '3 EVENTS')}"
    return text


def _negation(draft: Draft, scope: Declared, at_edge: bool) -> str:
    name = "abcdefghijklmnop"[len(draft.declared)]
    draft.declared.append(Declared(name, False, True, scope.repeated, scope.branch, scope.parallel))
    kind = draft.choose(*EVENT_TYPES)
    draft.types.append(kind)
    text = draft.choose(f"~{kind} {name}", f"~({kind} {name})")
    needs_own = not draft.window and (at_edge or draft.one_in(2))
    return f"{text} WITHIN {draft.choose(2, 3)}" if needs_own or draft.one_in(6) else text


def _sequence(draft: Draft, scope: Declared, most: int, edges: bool) -> list[str]:
    count = draft.source.integer(1, most)
    parts = []
    for place in range(count):
        if draft.one_in(6) and (place > 0 or edges):
            parts.append(_negation(draft, scope, at_edge=place == 0))
        parts.append(_part(draft, scope) if most > 2 else _component(draft, scope))
    if edges and draft.one_in(8):
        parts.append(_negation(draft, scope, at_edge=True))
    return parts


def _part(draft: Draft, scope: Declared) -> str:
    if not draft.one_in(8):
        return _component(draft, scope)
    kind = draft.choose("SEQ", "OR", "AND")
    repeat = str(draft.choose("", "", "?", "{2}", "{1,2}", "+", "+", "*", "{2,}"))
    inner = Declared("", False, False, scope.repeated or repeat not in ("", "?"), scope.branch, scope.parallel)
    return _group(draft, kind, inner, 2) + repeat


def _group(draft: Draft, kind: str, scope: Declared, most: int) -> str:
    if kind == "SEQ":
        return f"SEQ({', '.join(_sequence(draft, scope, most, edges=False))})"
    members = []
    for _ in range(2):
        branch = scope.branch
        if kind == "OR":
            draft.branches += 1
            branch = (*branch, draft.branches)
        inner = Declared("", False, False, scope.repeated, branch, scope.parallel or kind == "AND")
        simple = not draft.one_in(3)
        members.append(_component(draft, inner) if simple else _group(draft, "SEQ", inner, 2))
    return f"{kind}({', '.join(members)})"


def _whole(draft: Draft) -> str:
    scope = Declared("")
    kind = draft.choose("SEQ", "SEQ", "SEQ", "SEQ", "SEQ", "SEQ", "OR", "AND")
    if kind != "SEQ":
        return _group(draft, kind, scope, 2)
    return f"SEQ({', '.join(_sequence(draft, scope, 4, edges=True))})"


# ---------------------------------------------------------------------------------------------
# Conditions

_COMPARISONS = ("<", "<=", ">", ">=", "=", "<>")


def _own(draft: Draft, one: Declared) -> str:
    """Return what a condition reads of the component it sits on."""
    column = draft.choose("v", "v", "x")
    if one.repeated or not one.loop:
        return f"{one.name}.{column}"
    name = one.name
    return str(
        draft.choose(f"{name}.{column}", f"{name}[i].{column}", f"{name}[1].{column}", f"{name}[{name}.LEN].{column}")
    )


def _other(draft: Draft, one: Declared) -> str:
    """Return what a condition reads of another component."""
    column = draft.choose("v", "v", "x")
    if not one.loop:
        return f"{one.name}.{column}"
    name = one.name
    aggregate = f"{draft.choose('MIN', 'MAX', 'SUM', 'AVG', 'COUNT')}({name}.{column})"
    return str(draft.choose(f"{name}[1].{column}", f"{name}[{name}.LEN].{column}", aggregate))


def _before(draft: Draft, name: str) -> str:
    aggregate = draft.choose("AVG", "SUM", "COUNT", "MIN", "MAX")
    return str(draft.choose(f"{name}[i-1].v", f"{name}[i-1].v", f"{aggregate}({name}[..i-1].v)"))


def _compatible(one: Declared, other: Declared) -> bool:
    """Tell whether some branch binds both."""
    shared = min(len(one.branch), len(other.branch))
    return one.branch[:shared] == other.branch[:shared]


def _comparison(draft: Draft, place: int) -> str:
    one = draft.declared[place]
    sign = draft.choose(*_COMPARISONS)
    if one.loop and not one.repeated and draft.one_in(3):
        return f"{one.name}[i].v {sign} {_before(draft, one.name)}"
    if one.loop and not one.repeated and draft.one_in(5):
        return f"{draft.choose('MIN', 'MAX', 'SUM', 'AVG', 'COUNT')}({one.name}.v) {sign} {draft.choose(1, 2, 3)}"
    others = [
        other
        for number, other in enumerate(draft.declared)
        if not other.negated
        and not other.repeated
        and _compatible(one, other)
        and (number < place or (one.negated and number != place))
    ]
    if not others or one.repeated or draft.one_in(3):
        return f"{_own(draft, one)} {sign} {draft.choose(1, 2, 3)}"
    other = draft.choose(*others)
    entangled = one.loop and (one.parallel or other.parallel)
    left = _other(draft, one) if entangled else _own(draft, one)
    return f"{left} {sign} {_other(draft, other)}{draft.choose('', '', '', ' + 1')}"


def _conditions(draft: Draft) -> list[str]:
    found = []
    for _ in range(draft.choose(0, 1, 1, 2, 3)):
        place = draft.source.integer(0, len(draft.declared) - 1)
        text = _comparison(draft, place)
        one = draft.declared[place]
        if not one.loop and draft.one_in(5):
            text = draft.choose(
                f"({text} OR {one.name}.v IS NULL)", f"NOT ({text})", f"NOT ({text} AND {one.name}.v > 0)"
            )
        found.append(text)
    if draft.one_in(4):
        found.append("[sym]")
    return found


# ---------------------------------------------------------------------------------------------
# Cases


def _window(draft: Draft) -> str:
    size = draft.choose("3", "4", "6", "2", "4 EVENTS", "3 EVENTS")
    return f" WITHIN {size}{draft.choose('', '', ' EXCLUSIVE', ' INCLUSIVE')}"


def _case(source: Source, strategy: str | None, largest: int) -> EventCase:
    chosen = strategy or source.choose(*STRATEGIES)
    draft = Draft(source, window=source.integer(0, 1) == 1, steps=source.integer(0, 2) == 2)
    pattern = _whole(draft)
    where = " AND ".join(_conditions(draft))
    arguments: dict[str, Any] = {"order_by": ["t", "i"], "type_column": "type"}
    if where and draft.one_in(4):
        pattern = f"PATTERN {pattern} WHERE {chosen} {{ {where} }}"
    else:
        pattern = f"{pattern} WHERE {where}" if where else pattern
        arguments["strategy"] = chosen
    arguments["pattern"] = pattern + (_window(draft) if draft.window else "")
    arguments["matches"] = draft.choose(*MATCHES)
    if draft.one_in(6):
        arguments["strict_time"] = True
    if draft.one_in(3):
        arguments["partition_by"] = ["grp"]
    if draft.one_in(6):
        arguments["inclusive"] = False
    return EventCase(_stream(source, draft.types, largest), arguments)


@st.composite
def event_cases(draw: DrawFn, strategy: str | None = None, largest: int = 9) -> EventCase:
    """Draw a case that shrinks; `strategy` fixes the strategy, `largest` the number of events."""
    return _case(Shrinkable(draw), strategy, largest)


def seeded_case(seed: int, strategy: str | None = None, largest: int = 9) -> EventCase:
    """Return the case of a seed; a failing one is made smaller by drawing `event_cases`."""
    return _case(Seeded(seed), strategy, largest)
