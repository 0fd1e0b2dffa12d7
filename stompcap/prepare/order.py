"""In which order several processes compile kernels: callers wait for their callees, so that none is compiled twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from numba.core.registry import CPUDispatcher

from stompcap.prepare.signatures import Signature

Key = tuple[str, str]  # module and name of a function


class Order:
    """Hands out signatures: `take` those whose callees are compiled, longest chain of callers first, and report each as `done`."""

    def __init__(self, wanted: Sequence[Signature]) -> None:
        self._callees = callees(wanted)
        heights = _heights(self._callees)
        self._waiting = sorted(wanted, key=lambda one: -heights[one.module, one.function])
        self._left: dict[Key, int] = {}
        for one in wanted:
            self._left[one.module, one.function] = self._left.get((one.module, one.function), 0) + 1

    def take(self) -> Signature | None:
        """The next to be compiled; None where all that are left wait for one that is being compiled."""
        for at, one in enumerate(self._waiting):
            if not any(self._left.get(callee) for callee in self._callees[one.module, one.function]):
                return self._waiting.pop(at)
        return None

    def done(self, one: Signature) -> None:
        """A signature that was taken is compiled."""
        self._left[one.module, one.function] -= 1


def callees(wanted: Sequence[Signature]) -> dict[Key, set[Key]]:
    """Which kernels each function of a list calls directly, by the names in its code; includes kernels that are not in the list."""
    found: dict[Key, set[Key]] = {}
    for one in wanted:
        key = (one.module, one.function)
        if key not in found:
            found[key] = {(called.__module__, called.__name__) for called in _called(one.dispatcher().py_func)} - {key}
    return found


def _called(function: Any) -> Iterator[Any]:
    """The kernels among the globals, and among the attributes of modules, that a function's code names."""
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        inside = [getattr(value, other, None) for other in names] if isinstance(value, ModuleType) else [value]
        yield from (one.py_func for one in inside if isinstance(one, CPUDispatcher))


def _heights(called: dict[Key, set[Key]]) -> dict[Key, int]:
    """The longest chain of callers above each function; no kernel is recursive."""
    callers: dict[Key, set[Key]] = {}
    for key, below in called.items():
        for callee in below:
            callers.setdefault(callee, set()).add(key)
    heights: dict[Key, int] = {}

    def height(key: Key) -> int:
        if key not in heights:
            heights[key] = max((height(caller) + 1 for caller in callers.get(key, ())), default=0)
        return heights[key]

    for key in called:
        height(key)
    return heights
