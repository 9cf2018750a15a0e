"""The case tables of event patterns through the reference: the tables and the judge agree."""

from __future__ import annotations

import pytest

from tests.property.comparison import compare
from tests.property.event_reference import ReferenceError_, match_events
from tests.tables.event_cases import ORDER, EventTableCase, load_event_cases


@pytest.mark.parametrize("case", load_event_cases(), ids=str)
def test_reference_agrees_with_the_table(case: EventTableCase) -> None:
    if case.expected is None:
        with pytest.raises(ReferenceError_) as raised:
            match_events(case.rows, case.pattern, order_by=ORDER, strategy=case.strategy, **case.arguments)
        assert [word for word in case.error if word not in str(raised.value)] == []
        return
    found = match_events(case.rows, case.pattern, order_by=ORDER, strategy=case.strategy, **case.arguments)
    if isinstance(case.expected, int):
        assert len(found) == case.expected
        return
    compare(case.expected, [case.shown(match) for match in found], case.show or None)
