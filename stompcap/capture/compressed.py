"""Compressed captures: a window that slides over the decompressed octets, so that memory stays bounded.

Members and frames may follow one another, as `cat a.gz b.gz` and parallel compressors write them. A file that is cut off
or corrupt yields the octets before that. Where only a checksum is wrong, it yields all but the last octet, which comes with it.
"""

from __future__ import annotations

import bz2
import contextlib
import lzma
import mmap
import os
import zlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from stompcap.capture.remote import Blocks, Ranges
from stompcap.columns import Octets
from stompcap.errors import CaptureError, UsageError
from stompcap.options import LIMIT_VARIABLE

MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x04\x22\x4d\x18": "lz4",
}
INPUT_OCTETS = 1 << 16
CHUNK_OCTETS = 1 << 18
HEAD_OCTETS = 2 * CHUNK_OCTETS  # enough to recognise the format
WINDOW_OCTETS = 1 << 24
MAX_DECOMPRESSED_OCTETS = 64 << 30
MAX_MEMORY_OCTETS = 1 << 28  # that an xz file may demand; the other formats limit themselves


class Reader(Protocol):
    """Decompressed octets in order: b"" at the end, EOFError where the file is cut off, another error where it is corrupt."""

    def read(self, most: int) -> bytes:
        """Up to that many octets."""


class Data(Protocol):
    """A file's own octets, read by slices."""

    def __len__(self) -> int: ...
    def __getitem__(self, what: slice, /) -> bytes: ...


class Members:
    """gzip, bzip2 and xz, member after member, with Python's own decompressors; zeros behind a member are padding."""

    def __init__(self, data: Data, make: Callable[[], Any]) -> None:
        self.data, self.make = data, make
        self.at, self.member = 0, make()

    def read(self, most: int) -> bytes:
        """As Reader."""
        while True:
            if self.member.eof:
                self.at -= len(self.member.unused_data)
                while self.data[self.at : self.at + 1] == b"\0":
                    self.at += 1
                if self.at == len(self.data):
                    return b""
                self.member = self.make()
            chunk = getattr(self.member, "unconsumed_tail", b"")
            if not chunk and getattr(self.member, "needs_input", True):
                chunk = self.data[self.at : self.at + INPUT_OCTETS]
                self.at += len(chunk)
            octets: bytes = self.member.decompress(chunk, most)
            if octets:
                return octets
            if not chunk and not self.member.eof:
                raise EOFError


class _Feed:
    """A file object over the octets, for Arrow to read."""

    closed = False

    def __init__(self, data: Data) -> None:
        self.data, self.at = data, 0

    def read(self, most: int) -> bytes:
        chunk = self.data[self.at : self.at + most]
        self.at += len(chunk)
        return chunk


class Frames:
    """zstd and lz4, frame after frame, with Arrow."""

    def __init__(self, data: Data, codec: str) -> None:
        source = pa.BufferReader(pa.py_buffer(data)) if isinstance(data, mmap.mmap) else pa.PythonFile(_Feed(data), "r")
        self.stream = pa.CompressedInputStream(source, codec)

    def read(self, most: int) -> bytes:
        """As Reader."""
        try:
            octets: bytes = self.stream.read(most)
        except OSError as problem:
            raise EOFError if "runcated" in str(problem) else problem from problem
        return octets


def reader(data: Data, kind: str) -> Reader:
    """A reader from the beginning of a file."""
    match kind:
        case "gzip":
            return Members(data, lambda: zlib.decompressobj(zlib.MAX_WBITS | 16))
        case "bzip2":
            return Members(data, bz2.BZ2Decompressor)
        case "xz":
            return Members(data, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_MEMORY_OCTETS))
        case _:
            return Frames(data, kind)


def compression_of(head: bytes) -> str | None:
    """The compression of a file by its first octets; None for none known."""
    return next((kind for magic, kind in MAGICS.items() if head.startswith(magic)), None)


def limit_in_force() -> int:
    """How many octets a capture may decompress to: the environment variable, else MAX_DECOMPRESSED_OCTETS."""
    value = os.environ.get(LIMIT_VARIABLE) or str(MAX_DECOMPRESSED_OCTETS)
    if not value.isdecimal():
        raise UsageError(f"{LIMIT_VARIABLE} must be a number of bytes, not {value!r}")
    return int(value)


class Decompressed:
    """The window: `octets` are decompressed ones from `base` on; `more` slides it. Same interface as `files.Mapped`.

    `data` and `raw` are the file's own octets, as slices and as a source of extents.
    """

    def __init__(self, path: str, data: Data, raw: Octets | Ranges, kind: str, limit: int | None = None) -> None:
        self.path, self.compression, self.data, self.raw = path, kind, data, raw
        self.limit = limit_in_force() if limit is None else limit
        self.format, self.head = "", b""
        self.octets: Octets = np.frombuffer(b"", np.uint8)
        self.base = 0
        self.ended = False
        self.flaw: tuple[str, str] | None = None  # status and damage, where the compressed octets end early
        self._source = reader(data, kind)
        self._read = 0

    def more(self, keep: int, room: int = WINDOW_OCTETS) -> bool:
        """Drop the octets before `keep` and add up to `room` behind; False, and nothing changed, at the end of the file."""
        if self.ended:
            return False
        rest = self.octets[keep:]
        window = np.empty(len(rest) + room, np.uint8)
        window[: len(rest)] = rest
        filled = len(rest)
        while not self.ended and len(window) - filled >= CHUNK_OCTETS:
            chunk = self._next()
            window[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
            filled += len(chunk)
        if filled == len(rest):
            return False
        window.flags.writeable = False  # as in a mapped file, so that one compiled kernel serves both
        self.octets, self.base = window[:filled], self.base + keep
        return True

    @property
    def size(self) -> int:
        """Octets of the file."""
        return len(self.data)

    @property
    def fetched(self) -> int:
        """How far the file has been fetched; only the last few blocks before that are still in memory."""
        return self.data.reached if isinstance(self.data, Blocks) else 0

    def read(self, begin: int, end: int) -> Octets:
        """Octets of the file."""
        return self.raw[begin:end] if isinstance(self.raw, np.ndarray) else np.frombuffer(self.data[begin:end], np.uint8)

    def release(self, begin: int, end: int) -> None:
        """Does nothing: the window drops octets as it slides."""

    def _next(self) -> bytes:
        try:
            chunk = self._source.read(CHUNK_OCTETS)
        except Exception as problem:  # noqa: BLE001  each library has errors of its own for corrupt octets
            chunk = self._last()
            cut = isinstance(problem, EOFError)
            what, behind = "is cut off" if cut else "is corrupt", self._read + len(chunk)
            why = "" if cut else f" ({problem})"
            damage = f"the {self.compression} data {what} behind {behind} decompressed bytes{why}"
            self.flaw, self.ended = ("truncated" if cut else "damaged", damage), True
        self.ended = self.ended or not chunk
        self._read += len(chunk)
        if self._read > self.limit:
            remedy = f"if it is not a decompression bomb, raise the limit with --max-decompressed or {LIMIT_VARIABLE}"
            raise CaptureError(self.path, f"decompresses to more than {self.limit} bytes; {remedy}")
        return chunk

    def _last(self) -> bytes:
        """What a failing read had decompressed before it failed: reads again from the beginning, and octet by octet near the failure."""
        source, behind, last = reader(self.data, self.compression), 0, bytearray()
        with contextlib.suppress(Exception):  # the same failure
            while behind < self._read:
                behind += len(source.read(min(CHUNK_OCTETS, self._read - behind)))
            while len(last) < CHUNK_OCTETS and (octet := source.read(1)):
                last += octet
        return bytes(last)
