"""Commits that never come through, as if the process had been killed before them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deltalake import DeltaTable


class Killed(BaseException):
    """Stands for SIGKILL: nothing is written after it."""


@contextmanager
def killed_at(commit: int) -> Iterator[list[int]]:
    """No commit from this one on comes through, counted from 0; yields how many were tried."""
    whole, lock, tried = DeltaTable.create_write_transaction, threading.Lock(), [0]

    def counted(self: DeltaTable, *arguments: Any, **named: Any) -> None:
        with lock:
            tried[0] += 1
            if tried[0] > commit:
                raise Killed
        whole(self, *arguments, **named)

    DeltaTable.create_write_transaction = counted  # type: ignore[method-assign]
    try:
        yield tried
    finally:
        DeltaTable.create_write_transaction = whole  # type: ignore[method-assign]
