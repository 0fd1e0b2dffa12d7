"""How functions are compiled: by numba, without the interpreter lock, cached on disk where that is writable.

`stompcap prepare` compiles all of them ahead; others are compiled at their first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.registry import CPUDispatcher

from stompcap import kernel_cache

F = TypeVar("F", bound=Callable[..., Any])

BORROWING: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "_nrt": False}
COUNTING: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "_nrt": True}
"""numba's options of what counts no references, and of what does; its types do not have all that it takes."""

kernel_cache.use()


def ready() -> None:
    """Do what the first call of a kernel would otherwise wait for."""
    kernel_cache.ready()


class Callee(CPUDispatcher):
    """What only kernels call: it has no wrapper that takes Python's objects, which is a third of what numba compiles."""

    def __call__(self, *arguments: Any) -> Any:
        """Run it as it is written, where Python calls it all the same."""
        return self.py_func(*arguments)


def _cached(dispatcher: Any, function: F) -> F:
    """Give a compiled function this package's cache."""
    vars(dispatcher)["_cache"] = kernel_cache.LazyCache(function)
    return cast(F, dispatcher)


def _called(function: F, **options: Any) -> F:
    """Compile a function for its callers among kernels alone."""
    compiled = numba.njit(**BORROWING | {"no_cpython_wrapper": True} | options)(function)
    if isinstance(compiled, CPUDispatcher):  # not so with no JIT
        compiled.__class__ = Callee
    return _cached(compiled, function)


def kernel(function: F) -> F:
    """Compile `function` for columns and buffers; it keeps its signature for type checkers.

    It borrows its arrays from whoever calls it and counts no references to them: numba counts those to each array of a tuple at each
    call of a helper, which took a hundred times as long as what a kernel with many columns did. So it makes no array and returns none.
    """
    return _cached(numba.njit(**BORROWING)(function), function)


def callee(function: F) -> F:
    """Compile a function that kernels call and Python does not, as them."""
    return _called(function)


def inline(function: F) -> F:
    """Compile a helper that kernels call in their inner loops, as them; LLVM inlines it, whatever it costs in code."""
    return _called(function, forceinline=True)


def allocating(function: F) -> F:
    """Compile a function that makes arrays, or returns some; those that it returns only another such function may take.

    It says so itself: numba gives what a kernel calls first the options of that kernel.
    """
    return _cached(numba.njit(**COUNTING)(function), function)
