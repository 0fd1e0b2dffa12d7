"""How functions are compiled: by numba, without the interpreter lock, cached on disk where that is writable.

`stompcap prepare` compiles all of them ahead; others are compiled at their first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from stompcap import kernel_cache

F = TypeVar("F", bound=Callable[..., Any])

BORROWING: dict[str, Any] = {"nogil": True, "_nrt": False}
COUNTING: dict[str, Any] = {"nogil": True, "_nrt": True}
"""numba's options of what counts no references, and of what does; its types do not have all that it takes."""

kernel_cache.use()


def ready() -> None:
    """Do what the first call of a kernel would otherwise wait for."""
    kernel_cache.ready()


def _cached(dispatcher: Any, function: F) -> F:
    """Give a compiled function this package's cache."""
    vars(dispatcher)["_cache"] = kernel_cache.KernelCache(function)
    return cast(F, dispatcher)


def kernel(function: F) -> F:
    """Compile `function` for columns and buffers; it keeps its signature for type checkers.

    It borrows its arrays from whoever calls it and counts no references to them: numba counts those to each array of a tuple at each
    call of a helper, which took a hundred times as long as what a kernel with many columns did. So it makes no array and returns none.
    """
    return _cached(numba.njit(**BORROWING)(function), function)


def inline(function: F) -> F:
    """Compile a helper that kernels call in their inner loops, as them; LLVM inlines it, whatever it costs in code."""
    return _cached(numba.njit(forceinline=True, **BORROWING)(function), function)


def allocating(function: F) -> F:
    """Compile a function that makes arrays, or returns some; those that it returns only another such function may take.

    It says so itself: numba gives what a kernel calls first the options of that kernel.
    """
    return _cached(numba.njit(**COUNTING)(function), function)
