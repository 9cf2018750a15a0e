"""A second, deliberately naive implementation of event patterns that judges the engines.

It follows the definitions literally and shares no code with the library: a pattern becomes the
union of its sequences without options, each sequence an automaton, each run of it an object
with its whole history. Nothing is merged, nothing is shared, nothing is fast.
"""

from tests.property.event_reference.matching import match_events
from tests.property.reference.errors import ReferenceError_, StepLimitReached

__all__ = ["ReferenceError_", "StepLimitReached", "match_events"]
