"""How functions are compiled: by numba, without the interpreter lock, cached on disk where that is writable.

`stompcap prepare` compiles all of them ahead; others are compiled at their first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from stompcap import kernel_cache

F = TypeVar("F", bound=Callable[..., Any])

kernel_cache.use()


def _cached(dispatcher: Any, function: F) -> F:
    """Give a compiled function this package's cache."""
    vars(dispatcher)["_cache"] = kernel_cache.KernelCache(function)
    return cast(F, dispatcher)


def kernel(function: F) -> F:
    """Compile `function` for columns and buffers; it keeps its signature for type checkers."""
    return _cached(numba.njit(nogil=True)(function), function)


def inline(function: F) -> F:
    """Compile a helper that kernels call in their inner loops, which LLVM inlines, whatever it costs in code."""
    return _cached(numba.njit(nogil=True, forceinline=True)(function), function)
