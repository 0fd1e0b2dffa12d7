"""Keeps pandas, SciPy and cffi out of a process: pyarrow and numba import them where they are installed, and nothing here needs them.

They take longer to import than a small capture takes to read. Garbage is not collected either: imports make none.
"""

from __future__ import annotations

import gc

from stompcap import without

OPTIONAL = ("pandas", "scipy", "cffi")


def begin() -> None:
    """From now on."""
    gc.disable()
    without.always(*OPTIONAL)
