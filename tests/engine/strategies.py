"""Random row patterns, rows and searches for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from sparkcep.engine.matches import TO_FIRST, Search
from sparkcep.syntax import pattern as tree

VARIABLES = ("A", "B", "C")

labels = st.sampled_from(VARIABLES).map(tree.Label)
leaves = st.one_of(labels, labels, labels, st.sampled_from([tree.Anchor("start"), tree.Anchor("end"), tree.Empty()]))


@st.composite
def quantified(draw: st.DrawFn, parts: st.SearchStrategy[tree.RowPattern]) -> tree.Quantified:
    minimum = draw(st.integers(0, 3))
    maximum = draw(st.one_of(st.none(), st.integers(max(minimum, 1), 4)))
    return tree.Quantified(draw(parts), minimum, maximum, draw(st.booleans()))


def nodes(parts: st.SearchStrategy[tree.RowPattern]) -> st.SearchStrategy[tree.RowPattern]:
    some = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        quantified(parts),
        quantified(parts),
        some.map(tree.Concatenation),
        some.map(tree.Concatenation),
        some.map(tree.Alternation),
        some.map(tree.Permutation),
        parts.map(tree.Exclusion),
    )


patterns = st.recursive(leaves, nodes, max_leaves=6)
rows = st.sets(st.sampled_from(VARIABLES), max_size=3)
groups = st.lists(st.lists(rows, max_size=7), min_size=1, max_size=3)
limits = st.one_of(st.none(), st.integers(0, 5))


@st.composite
def searches(draw: st.DrawFn) -> Search:
    skip = draw(st.integers(0, 3))
    targets = draw(st.sets(st.integers(0, 2), min_size=1, max_size=2)) if skip >= TO_FIRST else ()
    max_rows = draw(st.one_of(st.none(), st.integers(1, 5)))
    return Search(skip, tuple(targets), within=draw(limits), max_rows=max_rows)
