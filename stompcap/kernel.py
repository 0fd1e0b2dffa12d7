"""The one way a function is compiled: numba, without the interpreter lock, cached on disk where a place for it can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` for columns and buffers; it keeps its signature for type checkers."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def inline(function: F) -> F:
    """Compile a helper that kernels call in their inner loops; the compiler is told to inline it."""
    return cast(F, numba.njit(cache=True, nogil=True, inline="always")(function))
