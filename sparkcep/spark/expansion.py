"""Graphs of matches in a DataFrame: how they are described, and how they become matches again."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from sparkcep.errors import BindingError
from sparkcep.logical.event_bound import LogicalEvents
from sparkcep.logical.outputs import Collected, Gathered, GraphColumns, Numbered, Output, OutputRows
from sparkcep.logical.slots import ALL_ROWS, RowSet
from sparkcep.spark.event_arguments import check_limit, check_sample
from sparkcep.spark.executors import on_executors
from sparkcep.spark.finish import matcher_schema
from sparkcep.spark.types import brought_back, escorted, expression, quoted

METADATA = "sparkcep"
_EVENT, _START, _NUMBER = "event", "start", "number"
_START_EVENT = "__cep_first"
_COLUMNS = {"match_end", "match_count"}


def graph_fields(graph: GraphColumns) -> list[T.StructField]:
    """Return the columns of a graph that the matcher adds behind the computed ones."""
    return [
        T.StructField(graph.count, T.DecimalType(38, 0)),
        T.StructField(graph.preds, T.ArrayType(T.ArrayType(T.IntegerType()))),
        T.StructField(graph.roots, T.ArrayType(T.IntegerType())),
    ]


def described(found: DataFrame, events: LogicalEvents, alias: str | None) -> DataFrame:
    """Return graphs with what `expand` must know of their pattern, as metadata of the column."""
    order = events.match.order_by[0]
    told = {
        "keys": [name for name in found.columns if name not in _COLUMNS and name != "graph"],
        "variables": [v.label for v in events.variables if not v.is_negated],
        "arrays": [v.label for v in events.variables if v.is_array and not v.is_negated],
        "order": order.expression,
        "ascending": order.ascending,
        "nulls_first": order.nulls_first,
        "alias": alias or "",
    }
    return found.withMetadata("graph", {METADATA: told})


def expanded(frame: DataFrame, limit: int | None, sample: int | float | None, seed: int) -> DataFrame:
    """Return the matches that the graphs of a DataFrame hold; see `sparkcep.expand`."""
    check_limit(limit)
    check_sample(sample)
    if limit is not None and sample is not None:
        raise BindingError("CONTRADICTION", "sample draws from all matches; limit would cut them", clause="limit")
    return _Expansion(frame, *_graph_column(frame)).expanded(limit, sample, seed)


def _graph_column(frame: DataFrame) -> tuple[str, dict[str, Any]]:
    """Return the column that holds graphs, and what is told of their pattern."""
    found = [(field.name, field.metadata[METADATA]) for field in frame.schema.fields if METADATA in field.metadata]
    needed = {"match_end", *(found[0][1]["keys"] if found else ())}
    missing = sorted(needed - set(frame.columns))
    if len(found) != 1 or missing:
        raise BindingError(
            "NO_MATCH_GRAPH",
            "expand takes the DataFrame that match_pattern(…, matches='graph') returns, with all its columns",
            clause="expand",
            found=", ".join(frame.columns),
            hint="filters, joins and saving keep what the column 'graph' knows of its pattern; expressions over it do "
            "not",
        )
    return found[0]


class _Expansion:
    """One call of expand."""

    def __init__(self, frame: DataFrame, graph: str, told: dict[str, Any]) -> None:
        self.frame, self.graph, self.told = frame, graph, told
        self.keys: list[str] = told["keys"]
        self.variables: list[str] = told["variables"]
        kind: Any = frame.schema[graph].dataType
        self.nodes: T.ArrayType = kind["nodes"].dataType
        self.event: T.DataType = kind["nodes"].dataType.elementType["event"].dataType

    def expanded(self, limit: int | None, sample: int | float | None, seed: int) -> DataFrame:
        """Return the matches."""
        from sparkcep.engine.expansion import ExpansionColumns, ExpansionTask  # here: other calls need no kernels

        sent = self._sent()
        passed = tuple(sent.columns[: len(self.keys) + 1])
        columns = ExpansionColumns(passed, _START, "nodes", "roots", _EVENT)
        output = OutputRows("one", False, False, passed, tuple(self._outputs()), tuple(self.variables))
        task = ExpansionTask(columns, tuple(self.variables), limit, sample, seed, output)
        kinds = T.StructType([*sent.schema.fields, T.StructField(_EVENT, self._sent_event(sent))])
        return self._finished(sent.mapInArrow(on_executors(task.run), matcher_schema(output, kinds)))

    def _sent(self) -> DataFrame:
        """Return keys, match_end, whether a partition starts, and the graph, sorted."""
        keys = [F.col(quoted(name)) for name in self.keys]
        end = F.col("match_end")
        window = Window.partitionBy(*keys).orderBy(self._sorted(end))
        graph = F.col(quoted(self.graph))
        held = self.frame.schema
        shown = [
            escorted(column, held[name].dataType).alias(f"k{place}")
            for place, (name, column) in enumerate(zip([*self.keys, "match_end"], [*keys, end], strict=True))
        ]
        first = (F.row_number().over(window) == 1).alias(_START)
        return self.frame.select(
            *shown, first, escorted(graph["nodes"], self.nodes).alias("nodes"), graph["roots"].alias("roots")
        )

    def _sorted(self, column: Column) -> Column:
        if self.told["ascending"]:
            return column.asc_nulls_first() if self.told["nulls_first"] else column.asc_nulls_last()
        return column.desc_nulls_first() if self.told["nulls_first"] else column.desc_nulls_last()

    def _sent_event(self, sent: DataFrame) -> T.DataType:
        kind: Any = sent.schema["nodes"].dataType
        found: T.DataType = kind.elementType["event"].dataType
        return found

    def _outputs(self) -> list[Output]:
        outputs: list[Output] = [Numbered(_NUMBER), Gathered(_START, _EVENT, ALL_ROWS, "first")]
        for index, name in enumerate(self.variables):
            rows = RowSet(frozenset({index}))
            if name in self.told["arrays"]:
                outputs.append(Collected(f"v{index}", (_EVENT,), rows))
            else:
                outputs.append(Gathered(f"v{index}", _EVENT, rows, "last"))
        return outputs

    def _finished(self, emitted: DataFrame) -> DataFrame:
        """Return the columns of matches="all"."""
        held = self.frame.schema
        columns = [
            brought_back(F.col(f"k{place}"), held[name].dataType).alias(name) for place, name in enumerate(self.keys)
        ]
        end = brought_back(F.col(f"k{len(self.keys)}"), held["match_end"].dataType)
        moments = [F.col(_NUMBER).alias("match_number"), end.alias("match_end"), end.alias("match_time")]
        events = [
            F.transform(F.col(f"v{index}"), lambda item: brought_back(item["f0"], self.event)).alias(name)
            if name in self.told["arrays"]
            else brought_back(F.col(f"v{index}"), self.event).alias(name)
            for index, name in enumerate(self.variables)
        ]
        start = brought_back(F.col(_START), self.event).alias(_START_EVENT)
        named = emitted.select(*columns, *moments, *events, start)
        return self._started(named)

    def _started(self, named: DataFrame) -> DataFrame:
        """Let Spark compute match_start from the first event, by the pattern's own words."""
        names = [name for name in named.columns if name != _START_EVENT]
        hidden = [F.col(quoted(name)).alias(f"{_START_EVENT}{place}") for place, name in enumerate(names)]
        opened = named.select(*hidden, F.col(f"{_START_EVENT}.*"))
        if self.told["alias"]:
            opened = opened.alias(self.told["alias"])
        start = expression(self.told["order"], "ORDER BY", opened).alias("match_start")
        shown = [F.col(f"{_START_EVENT}{place}").alias(name) for place, name in enumerate(names)]
        shown.insert(len(self.keys) + 1, start)
        return opened.select(*shown)
