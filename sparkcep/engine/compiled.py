"""How kernels are compiled.

Kernels write to arrays that they are given and make none, so they need no reference counts:
counting would cost an atomic instruction per array and call. Small pieces are inlined,
so that passing many arrays costs nothing. Machine code is cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from numba import njit

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
# The option that leaves reference counting out is not part of numba's type hints.
_njit: Any = njit
_OPTIONS = {"error_model": "numpy", "nogil": True, "_nrt": False}
# Nobody calls a piece from Python, so it needs neither a wrapper nor a file of its own.
_PIECE = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Compile a function that makes no arrays; division follows IEEE 754, the GIL is released."""
    dispatcher: Callable[_Arguments, _Result] = _njit(cache=True, **_OPTIONS)(function)
    return dispatcher


def inlined(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Compile a function into the machine code of its callers."""
    dispatcher: Callable[_Arguments, _Result] = _njit(**_OPTIONS, **_PIECE)(function)
    return dispatcher
