"""sparkcep finds patterns of events in Spark: MATCH_RECOGNIZE and SASE+ for PySpark 4.

Importing the package attaches ``DataFrame.match_pattern`` (classic and Connect); everything
heavy is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparkcep.api import analyze, expand, match_pattern, matcher, plan, sql
    from sparkcep.display import show_timeline
    from sparkcep.errors import (
        BindingError,
        MatchError,
        PatternSyntaxError,
        PlanError,
        SparkcepError,
        SparkcepWarning,
    )
    from sparkcep.planning.counters import Counters
    from sparkcep.planning.plans import Options
    from sparkcep.planning.statistics import Statistics
    from sparkcep.spark.enabled import disable, enable
    from sparkcep.spark.event_plan import EventPlan
    from sparkcep.spark.observation import read_observation
    from sparkcep.spark.plan import MatchPlan
    from sparkcep.spark.registration import register, register_pattern
    from sparkcep.spark.shipping import ship
    from sparkcep.syntax.builder import all_of, any_of, event, no, seq
    from sparkcep.syntax.dialects import translate

__version__ = "0.1.0"

_HOMES = {
    "analyze": "sparkcep.api",
    "expand": "sparkcep.api",
    "match_pattern": "sparkcep.api",
    "matcher": "sparkcep.api",
    "plan": "sparkcep.api",
    "sql": "sparkcep.api",
    "show_timeline": "sparkcep.display",
    "Counters": "sparkcep.planning.counters",
    "read_observation": "sparkcep.spark.observation",
    "disable": "sparkcep.spark.enabled",
    "enable": "sparkcep.spark.enabled",
    "register": "sparkcep.spark.registration",
    "register_pattern": "sparkcep.spark.registration",
    "ship": "sparkcep.spark.shipping",
    "all_of": "sparkcep.syntax.builder",
    "any_of": "sparkcep.syntax.builder",
    "event": "sparkcep.syntax.builder",
    "no": "sparkcep.syntax.builder",
    "seq": "sparkcep.syntax.builder",
    "translate": "sparkcep.syntax.dialects",
    "EventPlan": "sparkcep.spark.event_plan",
    "MatchPlan": "sparkcep.spark.plan",
    "Options": "sparkcep.planning.plans",
    "Statistics": "sparkcep.planning.statistics",
    "BindingError": "sparkcep.errors",
    "MatchError": "sparkcep.errors",
    "PatternSyntaxError": "sparkcep.errors",
    "PlanError": "sparkcep.errors",
    "SparkcepError": "sparkcep.errors",
    "SparkcepWarning": "sparkcep.errors",
}

__all__ = [
    "BindingError",
    "Counters",
    "EventPlan",
    "MatchError",
    "MatchPlan",
    "Options",
    "PatternSyntaxError",
    "PlanError",
    "SparkcepError",
    "SparkcepWarning",
    "Statistics",
    "all_of",
    "analyze",
    "any_of",
    "disable",
    "enable",
    "event",
    "expand",
    "match_pattern",
    "matcher",
    "no",
    "plan",
    "read_observation",
    "register",
    "register_pattern",
    "seq",
    "ship",
    "show_timeline",
    "sql",
    "translate",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sparkcep' has no attribute '{name}'")
    return getattr(importlib.import_module(home), name)


def _attach() -> None:
    """Give DataFrame the method `match_pattern`; the function is the API, the method is sugar."""
    try:
        from pyspark.sql import DataFrame
    except ImportError:
        return

    def match_pattern(self: DataFrame, pattern: Any, **arguments: Any) -> DataFrame:
        """Find a pattern; see `sparkcep.match_pattern`."""
        from sparkcep.api import match_pattern as function

        return function(self, pattern, **arguments)

    DataFrame.match_pattern = match_pattern  # type: ignore[attr-defined]


_attach()
