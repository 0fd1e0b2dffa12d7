"""Capture files: their format by magic, and their octets as one mapped array, or as a window where they are compressed or remote.

The format depends on a file's first octets alone, never on its name.
"""

from __future__ import annotations

import errno
import mmap
import os
from dataclasses import dataclass

import numpy as np

from stompcap.capture.compressed import HEAD_OCTETS, Decompressed, compression_of
from stompcap.capture.remote import Blocks, Ranged, Ranges
from stompcap.capture.uris import is_uri, local
from stompcap.columns import Octets
from stompcap.errors import CaptureError, NoCapture

# first four octets: (big endian, ticks per second, octets of a record header)
PCAP_MAGICS: dict[bytes, tuple[bool, int, int]] = {
    b"\xd4\xc3\xb2\xa1": (False, 1_000_000, 16),
    b"\xa1\xb2\xc3\xd4": (True, 1_000_000, 16),
    b"\x4d\x3c\xb2\xa1": (False, 1_000_000_000, 16),
    b"\xa1\xb2\x3c\x4d": (True, 1_000_000_000, 16),
    b"\x34\xcd\xb2\xa1": (False, 1_000_000, 24),  # Kuznetzov's: interface, protocol and packet type behind the lengths
    b"\xa1\xb2\xcd\x34": (True, 1_000_000, 24),
}
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
PCAP_HEADER_OCTETS = 24


@dataclass(frozen=True)
class Mapped:
    """A capture's octets, mapped read-only: a window that covers the whole file; `release` returns walked pages to the system."""

    path: str
    octets: Octets
    format: str  # pcap, pcapng, or "" for an empty file
    mapping: mmap.mmap | None
    compression = None
    base = 0
    ended = True
    flaw = None

    @property
    def raw(self) -> Octets:
        """The file's own octets."""
        return self.octets

    @property
    def size(self) -> int:
        """Octets of the file."""
        return len(self.octets)

    def read(self, begin: int, end: int) -> Octets:
        """Octets of the file."""
        return self.octets[begin:end]

    @property
    def head(self) -> bytes:
        """The first octets, as many as a file header has."""
        return self.octets[:PCAP_HEADER_OCTETS].tobytes()

    def more(self, keep: int) -> bool:
        """False: there is nothing behind the octets of a mapped file."""
        del keep
        return False

    def release(self, begin: int, end: int) -> None:
        """Release the pages that lie wholly in [begin, end); reading them again is allowed and reads the file again."""
        page = mmap.PAGESIZE
        first, last = -(-begin // page) * page, end // page * page
        if self.mapping is not None and last > first and hasattr(mmap, "MADV_DONTNEED"):
            self.mapping.madvise(mmap.MADV_DONTNEED, first, last - first)


Window = Mapped | Ranged | Decompressed
Source = Octets | Mapped | Ranges  # what extents are read from


def format_of(head: bytes) -> str:
    """`pcap`, `pcapng` or "" by a file's first octets."""
    if head[:4] in PCAP_MAGICS:
        return "pcap"
    return "pcapng" if head[:4] == PCAPNG_MAGIC else ""


def is_capture(path: str) -> bool:
    """Whether a file is a capture by its magic, compressed or not; an empty file is not. Raises CaptureError where it cannot be read."""
    try:
        return bool(open_capture(path).format)
    except NoCapture:
        return False


def _remedy(problem: OSError) -> str:
    """What to do about a file that cannot be opened."""
    match problem.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "no such file; check the path"
        case errno.EACCES | errno.EPERM:
            return "no permission to read it; make it readable for this user"
        case errno.EISDIR:
            return "is a folder, not a capture file; name the captures in it"
        case _:
            return f"cannot be read ({problem.strerror}); check the file and its disk"


def map_file(path: str, size: int | None = None) -> mmap.mmap | None:
    """A file's octets, or its first `size`; None for an empty file.

    Raises CaptureError for a file that is missing, unreadable, a folder, or has become shorter.
    """
    try:
        path = local(path)
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with open(path, "rb") as file:
            there = os.fstat(file.fileno()).st_size
            if size is not None and there < size:
                raise CaptureError(path, "has become shorter since the run began; run again when it no longer changes")
            if (there if size is None else size) == 0:
                return None
            return mmap.mmap(file.fileno(), size or 0, access=mmap.ACCESS_READ)
    except OSError as problem:
        raise CaptureError(path, _remedy(problem)) from problem


def open_capture(path: str, limit: int | None = None, size: int | None = None, begin: int = 0, until: int | None = None) -> Window:
    """Open a capture file, local or by URI. An empty file gives no octets and the format "".

    `limit`: most octets that a compressed one may decompress to; None: `compressed.limit_in_force()`.
    `size`: how many octets of the file count, for it may be growing. `begin` and `until`: the part that will be read, of
    a file that is not compressed. Raises CaptureError for a file that is missing, unreadable, a folder, or not a capture by its
    magic.
    """
    data: mmap.mmap | Blocks
    raw: Source
    if is_uri(path):
        ranges = Ranges(path, size)
        if not ranges.size:
            return Mapped(path, np.frombuffer(b"", np.uint8), "", None)
        head = ranges.read(0, min(PCAP_HEADER_OCTETS, ranges.size)).tobytes()
        if kind := format_of(head):
            return Ranged(ranges, kind, head, begin, until)
        data, raw = Blocks(ranges), ranges
    else:
        mapping = map_file(path, size)
        if mapping is None:
            return Mapped(path, np.frombuffer(b"", np.uint8), "", None)
        data, raw, head = mapping, np.frombuffer(mapping, np.uint8), mapping[:PCAP_HEADER_OCTETS]
        if kind := format_of(head):
            return Mapped(path, raw, kind, mapping)
    compression = compression_of(head)
    if compression is None:
        raise NoCapture(path, "is not a pcap or pcapng capture by its first bytes; leave it out")
    window = Decompressed(path, data, raw, compression, limit)
    window.more(0, HEAD_OCTETS)
    window.head = window.octets[:PCAP_HEADER_OCTETS].tobytes()
    window.format = format_of(window.head)
    if not window.format:
        why = f"; {window.flaw[1]}" if window.flaw else ""
        raise NoCapture(path, f"is compressed with {compression} and contains no pcap or pcapng capture{why}; leave it out")
    return window


def octets(path: str) -> Source:
    """The octets of a capture file as stored, a source of extents: mapped, or by ranges. Errors as `open_capture`.

    Segments of a compressed capture have no offset in the file: they carry their payload.
    """
    return open_capture(path).raw
