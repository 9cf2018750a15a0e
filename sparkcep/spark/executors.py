"""Functions for ``mapInArrow`` that tell what to do where an executor lacks sparkcep, or what it needs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

Batches: TypeAlias = Iterator[pa.RecordBatch]
_SPARKCEP = (
    "[MISSING_ON_EXECUTORS] The executors do not have sparkcep, or not this version ({name} is missing). Call "
    "sparkcep.ship(spark) before the match, or install sparkcep for the Python that they run ({python})."
)
_OTHER = (
    "[MISSING_ON_EXECUTORS] sparkcep needs '{name}' on executors, and the Python that they run ({python}) does not "
    "have it. Install sparkcep, or numpy, numba and pyarrow, there; or let PYSPARK_PYTHON, or "
    "spark.pyspark.python, name a Python that has them."
)
_CACHE = (
    "[NO_CACHE_ON_EXECUTORS] numba finds no folder where it may keep compiled kernels: neither beside sparkcep, nor in "
    "the user's cache. Call sparkcep.ship(spark), or name one with spark.executorEnv.NUMBA_CACHE_DIR."
)


def on_executors(run: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Return a function that does what `run` does, and can be loaded where sparkcep is missing.

    `run` must be something that pickles by name: then its kernels come from files, and from numba's cache. It travels
    as bytes inside a function that travels as code, so what loads it is Spark, and what misses it is that function.
    """
    pickled = pickle.dumps(run)

    def matched(batches: Batches) -> Batches:
        # Nothing here may need the package before it is known to be there.
        try:
            found: Callable[[Batches], Batches] = pickle.loads(pickled)
        except ModuleNotFoundError as error:
            import sys

            text = _SPARKCEP if str(error.name).split(".")[0] == "sparkcep" else _OTHER
            raise ModuleNotFoundError(text.format(name=error.name, python=sys.executable), name=error.name) from None
        except RuntimeError as error:
            raise (RuntimeError(_CACHE) if "no locator available" in str(error) else error) from None
        return found(batches)

    return matched
