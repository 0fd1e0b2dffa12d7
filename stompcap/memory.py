"""Memory that a process has freed: how it goes back to the system."""

from __future__ import annotations

import ctypes
import os

SYSTEM_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")
"""Arrow's memory pool in a process that lives on, read when pyarrow is imported: its own, mimalloc, keeps much of what was freed."""

ARENAS = 2
"""Arenas of glibc's malloc in a process that lives on. By default each thread gets one, up to eight for each processor: behind 170 rounds
of `watch`, sixteen of them held 570 MB, of which 90 MB were in use."""

_M_ARENA_MAX = -8  # malloc.h


def keep_little() -> None:
    """Keep little of what is freed, in a process that lives on; to be called before pyarrow is imported."""
    os.environ.setdefault(*SYSTEM_POOL)
    limit = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc has it
    if limit is not None:
        limit(_M_ARENA_MAX, ARENAS)


def release() -> None:
    """Give back to the system what was freed: whoever waits for its next task keeps none of the last one's memory."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)
