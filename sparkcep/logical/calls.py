"""What the reader finds in an expression besides plain Spark text.

An expression becomes a `Template`: the user's own words, interrupted by navigation calls,
aggregates, CLASSIFIER() and MATCH_NUMBER(). Only those are ours; all the rest is Spark's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkcep.errors import Span
from sparkcep.logical.slots import RowSet
from sparkcep.syntax.clause import Fragment


@dataclass(frozen=True, slots=True)
class Classifier:
    """``CLASSIFIER([variable])`` as the thing that is navigated to."""


@dataclass(frozen=True, slots=True)
class Navigation:
    """FIRST, LAST, PREV, NEXT or a bare ``A.x``: one value at one row.

    First a logical step (the `offset`-th row of `rows` from `end`), then a physical one
    (`shift` rows onward, negative for PREV). `inner` is the expression evaluated there, with
    the variable's name taken off.
    """

    rows: RowSet
    end: Literal["first", "last"]
    offset: int
    shift: int
    final: bool
    inner: str | Classifier
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class SortKey:
    """``expression [ASC|DESC] [NULLS FIRST|LAST]`` inside an aggregate, or of ORDER BY: then with its `fragment`."""

    expression: str
    ascending: bool
    nulls_first: bool
    fragment: Fragment | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate call. `arguments` is empty for COUNT(*) and COUNT(A.*)."""

    function: str
    arguments: tuple[str | Classifier, ...]
    rows: RowSet
    final: bool
    distinct: bool
    filter: str | None
    order_by: tuple[SortKey, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class MatchNumberCall:
    """``MATCH_NUMBER()``."""

    span: Span = field(compare=False)


Call: TypeAlias = Navigation | Aggregate | MatchNumberCall


@dataclass(frozen=True, slots=True)
class Template:
    """Text and calls in order; `mentions` are the input columns named outside the calls."""

    pieces: tuple[str | Call, ...]
    mentions: tuple[str, ...]

    @property
    def calls(self) -> Iterator[Call]:
        """The calls in text order."""
        return (piece for piece in self.pieces if not isinstance(piece, str))

    def spliced(self, replacement: Callable[[Call], str]) -> str:
        """Return the text with every call replaced."""
        return "".join(piece if isinstance(piece, str) else replacement(piece) for piece in self.pieces)


# Spark's aggregate functions (the group "agg_funcs" of its function reference).
_AGGREGATE_NAMES = """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or
    collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every
    first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last_value listagg
    max max_by mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc product
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg
    theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp
    variance
"""
SPARK_AGGREGATES = frozenset(_AGGREGATE_NAMES.split())
