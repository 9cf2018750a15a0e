"""A second, deliberately naive implementation of row patterns that judges the engines.

It follows the definitions literally and shares no code with the library. Nothing here is fast:
the paths of a pattern are enumerated in order of preference, each condition is evaluated from
scratch on the path so far, and the first path that gets through is the match.
"""

from tests.property.reference.errors import ReferenceError_, StepLimitReached
from tests.property.reference.rows import match_rows

__all__ = ["ReferenceError_", "StepLimitReached", "match_rows"]
