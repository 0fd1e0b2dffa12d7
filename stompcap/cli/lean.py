"""Keeps pandas, SciPy and cffi out of a process: pyarrow and numba import them where they are installed, and nothing here needs them.

They take longer to import than a small capture takes to read. Garbage is not collected either: imports make none.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from types import ModuleType

OPTIONAL = ("pandas", "scipy", "cffi")


class _Without:
    """A finder of modules (`sys.meta_path`) for which these are not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise for one of these; None leaves the others to the finders behind."""
        del path, target
        if name in OPTIONAL:
            raise ModuleNotFoundError(f"{name} is not used here", name=name)


def begin() -> None:
    """From now on."""
    gc.disable()
    sys.meta_path.insert(0, _Without())
