"""Commits that never come through, as if the process had been killed before them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deltalake import DeltaTable

from stompcap.lake.commits import FINAL_ROWS


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


@contextmanager
def killed_between(done: str, lacking: str) -> Iterator[None]:
    """No commit comes through once one table has its rows, and never one of another table."""
    whole, committed = DeltaTable.create_write_transaction, threading.Event()

    def chosen(self: DeltaTable, *arguments: Any, **named: Any) -> None:
        table = self.table_uri.rstrip("/").rpartition("/")[2]
        if table == lacking:
            committed.wait(60)
        if table == lacking or committed.is_set():
            raise Killed
        whole(self, *arguments, **named)
        if table == done and not any(one.app_id.endswith(FINAL_ROWS) for one in named["commit_properties"].app_transactions):
            committed.set()

    DeltaTable.create_write_transaction = chosen  # type: ignore[method-assign]
    try:
        yield
    finally:
        DeltaTable.create_write_transaction = whole  # type: ignore[method-assign]
    assert committed.is_set()
