"""Recorded captures cut at any packet, as a capture that is rotated."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

FILE_HEADER, RECORD_HEADER = 24, 16


def records(octets: bytes) -> list[bytes]:
    """The records of a pcap file, headers included."""
    found, at = [], FILE_HEADER
    while at < len(octets):
        length = RECORD_HEADER + struct.unpack_from("<I", octets, at + 8)[0]
        found.append(octets[at : at + length])
        at += length
    return found


def cut(capture: Path, folder: Path, bounds: Sequence[float]) -> list[str]:
    """The files that a capture comes to, cut at some shares of its packets; none is empty."""
    octets = capture.read_bytes()
    packets, paths = records(octets), []
    where = sorted({int(bound * len(packets)) for bound in bounds} - {0, len(packets)})
    for number, (begin, end) in enumerate(pairwise([0, *where, len(packets)])):
        paths.append(folder / f"{capture.stem}-{number}.pcap")
        paths[-1].write_bytes(octets[:FILE_HEADER] + b"".join(packets[begin:end]))
    return [str(path) for path in paths]
