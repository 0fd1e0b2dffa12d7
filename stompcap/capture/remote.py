"""Captures on another machine: read in ranges, only those that a task needs, never a whole file at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stompcap.capture.uris import explained, located
from stompcap.columns import Octets
from stompcap.errors import CaptureError

RANGE_OCTETS = 1 << 24  # in one request
AHEAD_OCTETS = 1 << 20  # read behind the part, as records that follow decide a doubtful one
BLOCKS_KEPT = 4


class Ranges:
    """A remote file, read in ranges. Raises CaptureError."""

    def __init__(self, path: str, size: int | None = None) -> None:
        system, where = located(path)
        self.path = path
        with explained(path):
            self._file = system.open_input_file(where)
            there = self._file.size()
        if size is not None and there < size:
            raise CaptureError(path, "has become shorter since the run began; run again when it no longer changes")
        self.size = there if size is None else size

    def __len__(self) -> int:
        return self.size

    def read(self, begin: int, end: int) -> Octets:
        """The octets from `begin` to `end`, in one request."""
        with explained(self.path):
            octets = np.frombuffer(self._file.read_at(end - begin, begin), np.uint8)
        if len(octets) != end - begin:
            raise CaptureError(self.path, "has become shorter since it was opened; run again when it no longer changes")
        return octets


class Blocks:
    """A remote file read from beginning to end, as `compressed.reader` needs it: sliceable, with the last blocks cached."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.reached = 0  # how far it has been read
        self._kept: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self.ranges)

    def __getitem__(self, what: slice) -> bytes:
        begin, end, _ = what.indices(len(self))
        found = bytearray()
        while begin < end:
            block, skip = divmod(begin, RANGE_OCTETS)
            part = self._block(block)[skip : skip + end - begin]
            found += part
            begin += len(part)
        return bytes(found)

    def _block(self, number: int) -> bytes:
        if number not in self._kept:
            begin = number * RANGE_OCTETS
            end = min(begin + RANGE_OCTETS, len(self))
            while len(self._kept) >= BLOCKS_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[number] = self.ranges.read(begin, end).tobytes()
            self.reached = max(self.reached, end)
        return self._kept[number]


class Ranged:
    """A window that slides over a remote capture. Same interface as `files.Mapped`.

    It begins at `begin`; octets from `until` on are fetched only on explicit request.
    """

    compression = None
    flaw = None

    def __init__(self, raw: Ranges, kind: str, head: bytes, begin: int = 0, until: int | None = None) -> None:
        self.raw, self.path, self.format, self.head = raw, raw.path, kind, head
        self.base, self.until = begin, len(raw) if until is None else until
        self.octets: Octets = np.frombuffer(b"", np.uint8)
        self.sliding: Callable[[int], object] | None = None  # called with the offset before which octets are dropped
        self.more(0)

    @property
    def size(self) -> int:
        """Octets of the file."""
        return len(self.raw)

    @property
    def ended(self) -> bool:
        """Whether the window reaches the end of the file."""
        return self.base + len(self.octets) >= self.size

    def more(self, keep: int) -> bool:
        """Drop the octets before `keep` and add some behind; False, and nothing changed, at the end of the file."""
        if self.ended:
            return False
        if self.sliding:
            self.sliding(self.base + keep)
        begin = self.base + len(self.octets)
        end = min(begin + RANGE_OCTETS, self.until) if begin < self.until else begin + AHEAD_OCTETS
        self.octets = np.concatenate((self.octets[keep:], self.raw.read(begin, min(end, self.size))))
        self.octets.flags.writeable = False  # as in a mapped file, so that one compiled kernel serves both
        self.base += keep
        return True

    def read(self, begin: int, end: int) -> Octets:
        """Octets of the file, from the window where they are in it."""
        if self.base <= begin and end <= self.base + len(self.octets):
            return self.octets[begin - self.base : end - self.base]
        return self.raw.read(begin, end)

    def release(self, begin: int, end: int) -> None:
        """Does nothing: the window drops octets as it slides."""
