"""The case tables through the reference: the tables and the judge agree."""

from __future__ import annotations

import pytest

from tests.property.comparison import compare
from tests.property.reference import ReferenceError_, match_rows
from tests.tables.cases import TableCase, load_cases


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: f"{case.table}: {case.name}")
def test_reference_agrees_with_the_table(case: TableCase) -> None:
    if case.expected is None:
        with pytest.raises(ReferenceError_) as raised:
            match_rows(case.columns, case.rows, **case.arguments)
        assert [word for word in case.error if word not in str(raised.value)] == []
        return
    names, rows = match_rows(case.columns, case.rows, **case.arguments)
    visible = case.visible(names)
    places = [names.index(name) for name in visible]
    compare(case.expected, [tuple(row[place] for place in places) for row in rows], visible)
