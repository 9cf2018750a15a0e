"""Runs every kernel once in this process and prints what compiling them took in seconds of processor time, as JSON."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numba.core import event


@dataclass
class Compilations(event.Listener):
    """Processor time spent on each kernel, without those it calls."""

    kernels: dict[str, list[float]] = field(default_factory=dict)
    _open: list[tuple[str, float, float]] = field(default_factory=list)

    def on_start(self, event: Any) -> None:
        """Note which kernel's turn it is."""
        function = event.data["dispatcher"].py_func
        self._open.append((f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}", time.process_time(), 0))

    def on_end(self, event: Any) -> None:
        """Charge the kernel, and take its time out of its caller's."""
        name, begin, inside = self._open.pop()
        seconds = time.process_time() - begin
        entry = self.kernels.setdefault(name, [0, 0.0])
        entry[0] += 1
        entry[1] += seconds - inside
        if self._open:
            caller, started, others = self._open[-1]
            self._open[-1] = (caller, started, others + seconds)


def main() -> None:
    """Use every kernel: both matchers, limits, all outputs."""
    compilations = Compilations()
    event.register("numba:compile", compilations)
    from benchmarks.kernels import V_SHAPE, kernel_jobs, rows_of, variables_of
    from sparkcep.engine.automaton import compile_automaton
    from sparkcep.engine.matches import Search
    from sparkcep.engine.measures import assemble
    from sparkcep.engine.sweep import sweep
    from sparkcep.logical.outputs import Aggregated, Collected, Gathered, Matched, Numbered, OutputRows
    from sparkcep.logical.slots import ALL_ROWS
    from sparkcep.syntax.row_pattern import parse_row_pattern

    begin = time.process_time()
    for job in kernel_jobs(1000).values():
        job()
    automaton = compile_automaton(parse_row_pattern(V_SHAPE), variables_of(V_SHAPE))
    rows = rows_of(1000, *np.ones((3, 1000), np.bool_))
    table = pa.table({"x": np.arange(1000), "y": np.arange(1000.0)})
    for order, within in ((np.arange(1000), 20), (np.arange(1000.0), 20.0)):
        rows.order = order
        sweep(automaton, rows, Search(within=within))
    matches = sweep(automaton, rows, Search())
    outputs = (
        Gathered("a", "x", ALL_ROWS, "first"),
        Gathered("b", "CLASSIFIER()", ALL_ROWS, "last"),
        *(
            Aggregated(f"{function}_{column}", function, column, ALL_ROWS)
            for function in ("count", "sum", "avg", "min", "max")
            for column in ("x", "y")
        ),
        Collected("c", ("x",), ALL_ROWS),
        Numbered("n"),
    )
    names = variables_of(V_SHAPE)
    assemble(table, rows, matches, automaton.labels, OutputRows("one", False, False, ("x",), outputs, names))
    every = OutputRows("all", True, True, ("x",), (*outputs, Matched("m")), names)
    assemble(table, rows, matches, automaton.labels, every)
    print(json.dumps({"seconds": time.process_time() - begin, "kernels": compilations.kernels}))


if __name__ == "__main__":
    main()
