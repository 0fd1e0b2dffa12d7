"""A remote file whose next ranges are on their way while one is read: a pass over it waits for the network once, not for each range."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from stompcap.capture import remote
from stompcap.capture.remote import Ranges

if TYPE_CHECKING:
    from types import TracebackType

    from stompcap.columns import Octets

AHEAD = 4
"""Ranges of at most RANGE_OCTETS that are requested before they are asked for, and held in memory."""


class ReadAhead(Ranges, AbstractContextManager["ReadAhead"]):
    """A remote file that is read in order: same interface as Ranges, and no more requests or octets."""

    def __init__(self, ranges: Ranges) -> None:
        self.path, self.size, self._ranges = ranges.path, ranges.size, ranges
        self._coming: deque[tuple[int, int, Future[Octets]]] = deque()
        self._threads = ThreadPoolExecutor(AHEAD, "range")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown(cancel_futures=True)

    def read(self, begin: int, end: int) -> Octets:
        """As Ranges: a range that was foreseen is waited for, and the next ones are requested; any other is read at once."""
        if not self._coming:
            self._foresee(begin)
        if not self._coming or self._coming[0][:2] != (begin, end):
            return self._ranges.read(begin, end)
        _, _, found = self._coming.popleft()
        self._foresee(end)
        return found.result()

    def _foresee(self, begin: int) -> None:
        """Request what follows `begin`, in ranges as `remote.Ranged` asks for them."""
        begin = self._coming[-1][1] if self._coming else begin
        while len(self._coming) < AHEAD and begin < self.size:
            end = min(begin + remote.RANGE_OCTETS, self.size)
            self._coming.append((begin, end, self._threads.submit(self._ranges.read, begin, end)))
            begin = end
