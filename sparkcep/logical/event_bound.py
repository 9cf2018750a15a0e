"""An event pattern with every name resolved: sequences of components, what each tests, what must not happen.

A pattern is the union of its `orders`: optional parts, branches of OR, orders of AND and rounds of
groups are spelled out. Inside a condition, slot trees mean:

``CURRENT_ROW``
    the event under test: the one to be taken, or the candidate of a negation or of UNTIL;
``RowReference({v}, "first")``, ``RowReference({v}, "last")``
    the first and the last event that variable v (an index) took *before* the event under test;
``Running(…, rows={v})``
    the aggregate over what v took before the event under test.

So ``b[i-1]`` and ``AGG(b[..i-1].x)`` in a test, ``b[b.LEN]`` and ``AGG(b.x)`` where a loop is left, and
``a.x`` of an earlier component are all reads of what has been taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.logical.bound import LogicalMatch
from sparkcep.logical.outputs import GraphColumns
from sparkcep.logical.slots import Operand, SlotExpression
from sparkcep.syntax.clause import Within
from sparkcep.syntax.event_pattern import Strategy


@dataclass(frozen=True, slots=True)
class EventVariable:
    """A variable. `label` names its column; an array's column is an array of structs."""

    name: str
    label: str
    is_array: bool
    is_negated: bool


@dataclass(frozen=True, slots=True)
class EventTest:
    """What an event must satisfy.

    Attributes
    ----------
    bits
        Indexes of row conditions (`LogicalMatch.conditions`) that must all hold: its type, and
        conjuncts that read nothing but this event.
    slots
        The conjuncts that read other events too, joined by "and"; None where there are none.
    """

    bits: tuple[int, ...] = ()
    slots: SlotExpression | None = None


@dataclass(frozen=True, slots=True)
class EventComponent:
    """A positive component in one order.

    Attributes
    ----------
    variable
        Index into `LogicalEvents.variables`. Rounds of a group repeat a variable.
    least, most
        How many events it takes: at least one here, absent components are left out; None: no end.
    is_loop
        Whether it waits for more after its first event (also ``{1}`` with ``[]`` does, with most = 1).
    begin, take
        Tests on its first event and on every later one. Where an earlier round has taken events
        of the variable, `begin` holds the conjuncts on later elements.
    leave
        What must hold, of what has been taken, when a loop is left or a match ends in it.
    until
        Ends the loop when an event satisfies it.
    within
        Longest distance from the last event of the components before it.
    """

    variable: int
    least: int
    most: int | None
    is_loop: bool
    strategy: Strategy
    begin: EventTest
    take: EventTest
    leave: SlotExpression | None = None
    until: EventTest | None = None
    within: Within | None = None


@dataclass(frozen=True, slots=True)
class EventGap:
    """A negation in one order.

    Attributes
    ----------
    before, after
        Components (indexes) right before and right after it: all of them; empty at an end of the order.
    witness
        The test on an event that forbids the match.
    within
        Its own time, from the last event before it.
    own_before, own_after
        Variables of its round: in the witness their last event stands for the last one before the gap, or for
        the first one behind it.
    """

    variable: int
    before: frozenset[int]
    after: frozenset[int]
    witness: EventTest
    within: Within | None = None
    own_before: frozenset[int] = frozenset()
    own_after: frozenset[int] = frozenset()

    @property
    def is_decided_by_place(self) -> bool:
        """Whether nothing but the place of its neighbours matters: any witness between them forbids the match."""
        return bool(self.before and self.after) and self.within is None and self.witness.slots is None


@dataclass(frozen=True, slots=True)
class EventOrder:
    """Components in the order in which they take their events.

    In a sequence each one has its place. Parts of AND under skip-till-any may interleave: such an
    order is a partial one. A group that repeats without end makes a cyclic order, a graph whose
    walks are sequences: a component has been copied for all that may come right after it, so that
    all components right after another one begin alike and differ in nothing but what follows.

    Attributes
    ----------
    components
        The components.
    before
        For each those that come before it; in a cyclic order those that may.
    gaps
        Negations. In a cyclic order each lists the components right before and right after it.
    following
        In a cyclic order, for each component those that may come right after it: none behind the last.
    """

    components: tuple[EventComponent, ...]
    before: tuple[frozenset[int], ...]
    gaps: tuple[EventGap, ...] = ()
    following: tuple[frozenset[int], ...] | None = None

    @property
    def is_sequential(self) -> bool:
        """Whether the last component that took an event tells what may come next: no parts interleave."""
        places = range(len(self.components))
        return self.following is not None or all(self.before[k] == frozenset(range(k)) for k in places)

    @property
    def first(self) -> frozenset[int]:
        """The components that may take the first event."""
        return frozenset(k for k, before in enumerate(self.before) if not before)

    def after(self, component: int) -> frozenset[int]:
        """Return what may come right after a component, in an order that is sequential."""
        if self.following is not None:
            return self.following[component]
        return frozenset({component + 1} if component + 1 < len(self.components) else ())


@dataclass(frozen=True, slots=True)
class LogicalEvents:
    """Everything the planner, the engine and the drivers need to know of an event pattern.

    Attributes
    ----------
    match
        What Spark computes before and after: `conditions` are the row conditions, one bit each
        (their `variable` is only a name for messages); `variables` the normal names of `variables`;
        `hidden`, `measures`, `outputs` as for row patterns, over the events of a match in order of time
        as its rows; one row per match; `pattern` is a placeholder that nobody reads.
    keys
        Columns of the ``[key]`` tests, computed by Spark.
    operands
        Operand columns that slot trees read.
    within
        Window of the whole match.
    time
        Hidden column that stands for match_time, which the matcher fills in, if a measure reads it.
    graph
        With matches="graph": the columns that hold it.
    waiting
        With time-outs: the hidden column that the matcher fills in with what a partial match waited for.
    """

    match: LogicalMatch
    variables: tuple[EventVariable, ...]
    orders: tuple[EventOrder, ...]
    keys: tuple[str, ...]
    operands: tuple[Operand, ...]
    within: Within | None
    time: str | None = None
    graph: GraphColumns | None = None
    waiting: str | None = None

    @property
    def filled_in(self) -> tuple[str, ...]:
        """The hidden columns that no input column stands behind: the matcher adds them."""
        return tuple(name for name in (self.time, self.waiting) if name is not None)

    @property
    def ends_in_absence(self) -> bool:
        """Whether a negation stands at the end of an order, so that a closing window decides matches."""
        return any(not gap.after for order in self.orders for gap in order.gaps)

    @property
    def windows(self) -> tuple[tuple[str, Within], ...]:
        """All windows, each with the clause it stands in."""
        found = [("WITHIN", self.within)]
        for order in self.orders:
            steps = [(component.variable, component.within) for component in order.components]
            steps += [(gap.variable, gap.within) for gap in order.gaps]
            found += [(f"WITHIN of {self.variables[variable].label}", within) for variable, within in steps]
        return tuple((clause, within) for clause, within in dict.fromkeys(found) if within is not None)
