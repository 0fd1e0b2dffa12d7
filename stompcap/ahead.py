"""Kernels that the wheel brings compiled, for where numba is not installed: extension modules that `stompcap.prepare.extension` makes.

Each holds functions for the types of one line of `prepare/signatures.txt`; a call goes to the one whose types are those of its arguments,
or can take them: what is not written may be writable, and a whole number may be of any width.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from functools import cache, update_wrapper
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np

from stompcap import extras
from stompcap.errors import EnvironmentProblem
from stompcap.kernels_of_wheel import FOLDER, PATTERN, lacking

F = TypeVar("F", bound=Callable[..., Any])

LIST = FOLDER / "prepare" / "signatures.txt"
_WHOLE = re.compile(r"\bu?int(?:8|16|32|64)(?!\[)|\bbool(?!\[)")


class Kernel:
    """A function whose compiled forms are looked up by the types of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._found: dict[tuple[str, ...], Callable[..., Any]] = {}

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Run the form for these arguments; EnvironmentProblem where none is there for their types."""
        if named or len(given) != self.py_func.__code__.co_argcount:
            bound = inspect.signature(self.py_func).bind(*given, **named)
            bound.apply_defaults()
            given = bound.args
        types = tuple(map(spelled, given))
        found = self._found.get(types)
        if found is None:
            found = self._found[types] = self._form(types)
        return found(*given)

    def _form(self, types: tuple[str, ...]) -> Callable[..., Any]:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        forms = [line.split(" ") for line in listed().get(name, ())]
        for alike in (tuple, _taken):
            for line in forms:
                if alike(line[1:]) == alike(types) and (made := _compiled(symbol(" ".join(line)))) is not None:
                    return made
        raise EnvironmentProblem(f"{name} is not compiled for {' '.join(types)} in this wheel; {extras.command(extras.JIT)}")


def kernel(function: F) -> F:
    """As `stompcap.kernel.kernel`, without a compiler."""
    return cast(F, Kernel(function))


def callee(function: F) -> F:
    """As `stompcap.kernel.callee`: it is compiled into the kernels that call it, and Python runs it as it is written."""
    return function


allocating, inline = kernel, callee


def ready() -> None:
    """As `stompcap.kernel.ready`: the first call waits for nothing."""


def symbol(line: str) -> str:
    """The name of a compiled form, by its line in the list."""
    return f"k{hashlib.sha256(line.encode()).hexdigest()[:16]}"


@cache
def listed() -> dict[str, list[str]]:
    """The lines of the list, by function."""
    found: dict[str, list[str]] = {}
    for line in LIST.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            found.setdefault(line.partition(" ")[0], []).append(line)
    return found


def spelled(value: Any) -> str:
    """The type of an argument, as in the list (`stompcap.prepare.signatures.spell`)."""
    kind = type(value)
    if kind is np.ndarray:
        if not value.flags.c_contiguous:
            raise TypeError("an array that is not contiguous is given to a kernel")
        return f"{'' if value.flags.writeable else 'const-'}{value.dtype.name}[{':,' * (value.ndim - 1)}::1]"
    if kind is int:
        return "int64"
    if kind is bool:
        return "bool"
    if kind is float:
        return "float64"
    if isinstance(value, np.generic):
        return value.dtype.name
    if isinstance(value, tuple):
        inner = ",".join(map(spelled, value))
        return f"{kind.__module__}.{kind.__qualname__}({inner})" if hasattr(value, "_fields") else f"({inner})"
    raise TypeError(f"{kind.__name__}: no type of kernels")


def _taken(types: list[str] | tuple[str, ...]) -> list[str]:
    """Types without what a form that takes others may leave open."""
    return [_WHOLE.sub("int64", one.replace("const-", "")) for one in types]


@cache
def _modules() -> list[Any]:
    """The extension modules; EnvironmentProblem where this processor cannot run them."""
    if missing := lacking():
        raise EnvironmentProblem(f"this processor lacks {', '.join(missing)}, which the wheel's kernels need; {extras.command(extras.JIT)}")
    return [import_module(f"stompcap.{path.name.partition('.')[0]}") for path in sorted(FOLDER.glob(PATTERN))]


def _compiled(name: str) -> Callable[..., Any] | None:
    return next((getattr(module, name) for module in _modules() if hasattr(module, name)), None)
