"""The way back: the matcher's rows become the result, with every measure finished by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.window import Window

from sparkcep.logical.bound import LateAggregate, LogicalMatch
from sparkcep.logical.outputs import CLASSIFIER, Aggregated, Collected, Gathered, Matched, Numbered, Output, OutputRows
from sparkcep.spark.types import brought_back, expression, needs_escort, quoted

Kinds = Mapping[str, T.DataType]


def output_type(output: Output, kinds: Kinds) -> T.DataType:
    """Return Spark's type of a column the matcher adds; `kinds` are the types of its input columns."""
    match output:
        case Numbered():
            return T.LongType()
        case Matched():
            return T.BooleanType()
        case Gathered(column=column):
            return _kind(column, kinds)
        case Collected(columns=columns):
            fields = [T.StructField(f"f{i}", _kind(name, kinds)) for i, name in enumerate(columns)]
            return T.ArrayType(T.StructType(fields))
        case Aggregated(function=function, column=column):
            return _aggregate_type(function, T.LongType() if column is None else kinds[column])


def _kind(column: str, kinds: Kinds) -> T.DataType:
    return T.StringType() if column == CLASSIFIER else kinds[column]


def _aggregate_type(function: str, kind: T.DataType) -> T.DataType:
    if function == "count":
        return T.LongType()
    if function == "avg":
        return T.DoubleType()
    if function != "sum":
        return kind
    if isinstance(kind, T.IntegralType):
        return T.LongType()
    if isinstance(kind, T.FractionalType) and not isinstance(kind, T.DecimalType):
        return T.DoubleType()
    if isinstance(kind, T.DecimalType):
        return T.DecimalType(min(38, kind.precision + 10), kind.scale)
    return kind


def matcher_schema(output: OutputRows, sent: T.StructType) -> T.StructType:
    """Return the schema of the rows the matcher emits, everything nullable."""
    kinds = {field.name: field.dataType for field in sent.fields}
    passed = [T.StructField(name, kinds[name]) for name in output.passed]
    return T.StructType([*passed, *(T.StructField(o.name, output_type(o, kinds)) for o in output.outputs)])


def finished(
    matched: DataFrame, match: LogicalMatch, output: OutputRows, originals: Kinds, alias: str | None
) -> DataFrame:
    """Return the result: passed columns and finished measures, in the standard's order.

    Parameters
    ----------
    matched
        What the matcher emitted.
    originals
        Types that columns had before they were escorted through the matcher.
    alias
        Name the input relation is called by in expressions.
    """
    frame = _restored(matched, output, originals)
    for together in _sharing_an_array(match.late_aggregates):
        frame = _aggregated(frame, together, match.prefix)
    named = frame.alias(alias) if alias else frame
    measures: list[Column] = []
    for measure in match.measures:
        column = expression(measure.text, measure.clause, named)
        if output.unmatched:
            column = F.when(F.col(f"{match.prefix}_matched"), column)
        measures.append(column.alias(measure.name))
    leading = _leading(match, output)
    rest = [name for name in output.passed if name not in leading]
    return named.select(*(F.col(quoted(n)) for n in leading), *measures, *(F.col(quoted(n)) for n in rest))


def counted(matched: DataFrame, output: OutputRows, originals: Kinds) -> DataFrame:
    """Return counts of matches as the matcher emitted them: partition columns, then the count."""
    return _restored(matched, output, originals)


def _leading(match: LogicalMatch, output: OutputRows) -> list[str]:
    """Partition and order columns come before the measures."""
    if match.rows_per_match == "one":
        return list(output.passed)
    orders = {key.expression.strip("`").lower() for key in match.order_by}
    keys = len(match.partition_by)
    return [*output.passed[:keys], *(name for name in output.passed[keys:] if name.lower() in orders)]


def _restored(matched: DataFrame, output: OutputRows, originals: Kinds) -> DataFrame:
    """Turn escorted columns back into the intervals they were, inside collected structs too."""
    by_name = {computed.name: computed for computed in output.outputs}
    columns = []
    changed = False
    for name in matched.columns:
        column = F.col(quoted(name))
        computed = by_name.get(name)
        if isinstance(computed, Collected):
            back = _restored_items(column, computed, originals)
        else:
            source = computed.column if isinstance(computed, Gathered) else name
            kind = None if computed is not None and not isinstance(computed, Gathered) else originals.get(source)
            back = brought_back(column, kind) if kind is not None and needs_escort(kind) else None
        changed = changed or back is not None
        columns.append(column if back is None else back.alias(name))
    return matched.select(*columns) if changed else matched


def _restored_items(column: Column, collected: Collected, originals: Kinds) -> Column | None:
    kinds = [_kind(name, originals) for name in collected.columns]
    if not any(needs_escort(kind) for kind in kinds):
        return None

    def item(struct: Column) -> Column:
        fields = [(struct[f"f{position}"], kind) for position, kind in enumerate(kinds)]
        back = [brought_back(value, kind) if needs_escort(kind) else value for value, kind in fields]
        return F.struct(*(value.alias(f"f{position}") for position, value in enumerate(back)))

    return F.transform(column, item)


def _sharing_an_array(late: Sequence[LateAggregate]) -> list[list[LateAggregate]]:
    """Put aggregates over one array together; a user-defined one stays alone."""
    groups: dict[tuple[str, str], list[LateAggregate]] = {}
    for aggregate in late:
        alone = aggregate.name if aggregate.user_defined else ""
        groups.setdefault((aggregate.collected, alone), []).append(aggregate)
    return list(groups.values())


def _aggregated(frame: DataFrame, together: Sequence[LateAggregate], prefix: str) -> DataFrame:
    """Let Spark aggregate a collected array: explode it, group by row, put the values beside the row."""
    row, item, at = f"{prefix}_row", f"{prefix}_s", f"{prefix}_at"
    others = frame.columns
    first = together[0]
    numbered = frame.withColumn(row, F.monotonically_increasing_id())
    exploded = numbered.select("*", F.posexplode_outer(F.expr(first.collected)).alias(at, item))
    if first.user_defined:
        # Python aggregates take no FILTER and no company: compute them over a window instead, in match order.
        in_order = Window.partitionBy(row).orderBy(at)
        whole_match = in_order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
        valued = exploded.select("*", F.expr(first.text).over(whole_match).alias(first.name))
        kept = F.when(F.col(at).isNotNull(), F.col(first.name)).alias(first.name)
        at_first = valued.where(F.coalesce(F.col(at), F.lit(0)) == 0)
        return at_first.select(*(F.col(quoted(name)) for name in others), kept)
    values = [F.expr(f"{late.text} FILTER (WHERE {at} IS NOT NULL)").alias(late.name) for late in together]
    whole = F.first(F.struct(*(F.col(quoted(name)) for name in others))).alias(item)
    grouped = exploded.groupBy(row).agg(whole, *values)
    return grouped.select(f"{item}.*", *(late.name for late in together))
