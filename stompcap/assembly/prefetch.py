"""The next of what an iterator gives is made by another thread while the one before it is used.

Kernels, Arrow and Parquet's encoders leave the interpreter to other threads, so that a task which decodes and judges keeps two cores busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetched(items: Iterable[T]) -> Iterator[T]:
    """The same items in their order, made one ahead: behind the last of them all were used. An error is raised in its turn."""
    coming, end = iter(items), object()
    with ThreadPoolExecutor(1, "prefetch") as thread:
        ahead = thread.submit(next, coming, end)
        while (item := ahead.result()) is not end:
            ahead = thread.submit(next, coming, end)
            yield item  # type: ignore[misc]  # not the end
