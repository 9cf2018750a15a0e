"""Hidden columns: the one place that names what travels between Spark and the matcher."""

from __future__ import annotations

from sparkcep.logical.bound import HiddenColumn, Neighbour
from sparkcep.logical.calls import Navigation
from sparkcep.logical.scope import Names
from sparkcep.logical.slots import Operand, SlotType
from sparkcep.logical.tokens import token_range


class HiddenColumns:
    """Hands out hidden columns; equal texts share one."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.prefix = "__cep"
        while any(column.lower().startswith(self.prefix) for column in names.columns):
            self.prefix += "_"
        self.computed: dict[str, HiddenColumn] = {}
        self.numbered: dict[str, HiddenColumn] = {}
        self.neighbours: dict[tuple[str, int], Neighbour] = {}
        self.operands: dict[Operand, int] = {}
        self._taken = 0

    def fresh(self, kind: str) -> str:
        """Return a new hidden name."""
        self._taken += 1
        return f"{self.prefix}_{kind}{self._taken}"

    def column(self, text: str, clause: str) -> str:
        """Return the column that holds `text`: an input column, or a hidden one.

        Text that names a neighbour is computed after the rows are numbered.
        """
        tokens = token_range(text)
        if len(tokens) == 1 and tokens.is_name(0):
            name = tokens.plain_name(0)
            own = self._names.column(name)
            if own is not None:
                return own
            if name in {neighbour.name for neighbour in self.neighbours.values()}:
                return name
        home = self.numbered if self.reads_neighbour(text) else self.computed
        if text not in home:
            home[text] = HiddenColumn(self.fresh("c"), text, clause, self.mentions(text))
        return home[text].name

    def neighbour(self, inner: str, shift: int, clause: str) -> str:
        """Return the column that holds `inner` `shift` rows onward in the partition."""
        column = self.column(inner, clause)
        if shift == 0:
            return column
        if (column, shift) not in self.neighbours:
            self.neighbours[column, shift] = Neighbour(self.fresh("n"), column, shift)
        return self.neighbours[column, shift].name

    def located(self, call: Navigation, clause: str) -> str:
        """Return the column to read at the row that a navigation's logical step finds."""
        assert isinstance(call.inner, str)
        return self.neighbour(call.inner, call.shift, clause)

    def operand(self, text: str, kind: SlotType, clause: str) -> int:
        """Return the index of the operand column that holds `text`."""
        operand = Operand(self.column(text, clause), kind)
        return self.operands.setdefault(operand, len(self.operands))

    def reads_neighbour(self, text: str) -> bool:
        """Tell whether a text names a neighbour column."""
        return any(neighbour.name in text for neighbour in self.neighbours.values())

    def mentions(self, text: str) -> tuple[str, ...]:
        """Return the input columns a text may read; all of them when it holds a star argument."""
        tokens = token_range(text)
        found: dict[str, None] = {}
        for position in range(len(tokens)):
            if tokens.is_symbol(position, "*") and not _is_product(tokens, position):
                return self._names.columns
            if tokens.is_name(position):
                own = self._names.column(tokens.plain_name(position))
                if own is not None:
                    found[own] = None
        return tuple(found)


def _is_product(tokens: object, position: int) -> bool:
    """A star behind a value is a product; behind a bracket, a comma or a dot it stands for columns."""
    before = tokens[position - 1] if position else None  # type: ignore[index]
    return before is not None and before.text not in ("(", ",", ".")
