"""Capture files: what they are by magic, and their octets as one mapped array.

A file is judged by its first octets alone, never by its name.
"""

from __future__ import annotations

import errno
import mmap
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stompcap.errors import CaptureError

Octets = NDArray[np.uint8]

# first four octets: (big endian, ticks per second)
PCAP_MAGICS: dict[bytes, tuple[bool, int]] = {
    b"\xd4\xc3\xb2\xa1": (False, 1_000_000),
    b"\xa1\xb2\xc3\xd4": (True, 1_000_000),
    b"\x4d\x3c\xb2\xa1": (False, 1_000_000_000),
    b"\xa1\xb2\x3c\x4d": (True, 1_000_000_000),
}
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
COMPRESSED_MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x04\x22\x4d\x18": "lz4",
}
PCAP_HEADER_OCTETS = 24


@dataclass(frozen=True)
class Mapped:
    """A capture's octets, mapped read-only; `release` gives walked pages back to the system."""

    path: str
    octets: Octets
    format: str  # pcap, pcapng, or "" for an empty file
    mapping: mmap.mmap | None

    def release(self, begin: int, end: int) -> None:
        """Let the pages that lie wholly in [begin, end) go; reading them again is allowed and reads the file again."""
        page = mmap.PAGESIZE
        first, last = -(-begin // page) * page, end // page * page
        if self.mapping is not None and last > first and hasattr(mmap, "MADV_DONTNEED"):
            self.mapping.madvise(mmap.MADV_DONTNEED, first, last - first)


def format_of(head: bytes) -> str:
    """`pcap`, `pcapng` or "" by the first octets of a file."""
    if head[:4] in PCAP_MAGICS:
        return "pcap"
    return "pcapng" if head[:4] == PCAPNG_MAGIC else ""


def is_capture(path: str) -> bool:
    """Whether a file is a capture by its magic; False for what cannot be read at all."""
    try:
        with open(path, "rb") as file:
            return bool(format_of(file.read(8)))
    except OSError:
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


def open_capture(path: str) -> Mapped:
    """Map a capture file. An empty file gives no octets and the format "".

    Raises CaptureError for a file that is missing, unreadable, a folder, or no capture by its magic.
    """
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return Mapped(path, np.empty(0, np.uint8), "", None)
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as problem:
        raise CaptureError(path, _remedy(problem)) from problem
    head = mapping[:16]
    kind = format_of(head)
    if not kind:
        for magic, name in COMPRESSED_MAGICS.items():
            if head.startswith(magic):
                raise CaptureError(path, f"is compressed with {name}; decompress it first")
        raise CaptureError(path, "is not a pcap or pcapng capture by its first octets; leave it out")
    return Mapped(path, np.frombuffer(mapping, np.uint8), kind, mapping)


def octets(path: str) -> Octets:
    """The octets of a capture file as a mapped array, to read extents from. Errors as `open_capture`."""
    return open_capture(path).octets
