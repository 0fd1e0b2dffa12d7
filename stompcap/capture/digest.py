"""The SHA-256 of a capture's octets, computed beside the walk over its records: neither waits for the other until the end.

SHA-256 takes octets in order, so a thread of its own hashes what the walk has passed. `hashlib` and the kernels of the walk release
Python's lock, so two cores work; the octets are hashed while their pages, or the range that was fetched, are in memory.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from stompcap.capture.files import Window

if TYPE_CHECKING:
    from types import TracebackType

HASH_OCTETS = 1 << 24
WAITING = 8
"""Pieces of at most HASH_OCTETS that wait to be hashed, and are held in memory for it: then the walk waits."""


class Digest(AbstractContextManager["Digest"]):
    """The SHA-256 of a capture's octets up to `reached`; `progress` gets the octets hashed since its last call, in another thread.

    A capture of one piece is hashed by the caller's own thread, as is everything outside of a `with`.
    """

    def __init__(self, capture: Window, progress: Callable[[int], None] = lambda _: None) -> None:
        self.capture, self.progress, self.reached = capture, progress, 0
        self._sha = hashlib.sha256()
        self._waiting: deque[Future[None]] = deque()
        self._thread: ThreadPoolExecutor | None = None

    def __enter__(self) -> Digest:
        if self.capture.size > HASH_OCTETS:
            self._thread = ThreadPoolExecutor(1, "digest")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None

    def to(self, end: int) -> None:
        """Have the file's octets hashed up to `end`, and released then; returns before that is done."""
        while self.reached < end:
            begin, self.reached = self.reached, min(end, self.reached + HASH_OCTETS)
            octets = self.capture.read(begin, self.reached).data
            if self._thread is None:
                self._hash(octets, begin)
                continue
            self._waiting.append(self._thread.submit(self._hash, octets, begin))
            while len(self._waiting) > WAITING:
                self._waiting.popleft().result()

    def hex(self) -> str:
        """The digest of the octets up to `reached`, in hexadecimal; waits until they are hashed."""
        while self._waiting:
            self._waiting.popleft().result()
        return self._sha.hexdigest()

    def _hash(self, octets: memoryview, begin: int) -> None:
        self._sha.update(octets)
        self.capture.release(begin, begin + len(octets))
        self.progress(len(octets))
