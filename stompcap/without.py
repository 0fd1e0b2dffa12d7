"""Keeps modules from being imported: libraries import them where they are installed, and nothing here needs them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType


class Without:
    """A finder of modules (`sys.meta_path`) for which some are not installed: for all threads, or for one."""

    def __init__(self, names: Sequence[str], thread: int | None = None) -> None:
        self._names, self._thread = names, thread

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise for one of these; None leaves the others to the finders behind."""
        del path, target
        if name in self._names and self._thread in (None, threading.get_ident()):
            raise ModuleNotFoundError(f"{name} is not used here", name=name)


def always(*names: str) -> None:
    """From now on, in this process."""
    sys.meta_path.insert(0, Without(names))


@contextmanager
def meanwhile(*names: str) -> Iterator[None]:
    """Within a context, in this thread."""
    finder = Without(names, threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
