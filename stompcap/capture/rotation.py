"""Names of files that a capture program rotates: their order, and which files of several taps belong to one period.

tcpdump appends numbers to the name given (`-C`: capture.pcap, capture.pcap1, ...) or makes it of the time (`-G`); dumpcap puts a number
and the time before the suffix (capture_00001_20260131120000.pcapng), or the other way round.
"""

from __future__ import annotations

import re

NUMBER = re.compile(r"(\d+)")
STAMP = re.compile(r"\d{4,}")
COMPRESSED = re.compile(r"\.(gz|zst|lz4|xz|bz2)$", re.IGNORECASE)
Name = tuple[str | int, ...]


def in_rotation(path: str) -> Name:
    """What orders files of one program: the name, in which numbers count as such."""
    name = COMPRESSED.sub("", path.rstrip("/").rsplit("/", 1)[-1])
    return tuple(int(part) if at % 2 else part for at, part in enumerate(NUMBER.split(name)))


def period(path: str) -> tuple[str, ...] | None:
    """What names of files of one period have in common: the folder, and all numbers of four digits or more; None where there are none."""
    folder, _, name = path.rstrip("/").rpartition("/")
    stamps = STAMP.findall(name)
    return (folder, *stamps) if stamps else None
