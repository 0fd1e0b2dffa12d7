"""Files to records: batches of packets as columns of place, length, time and link type.

Every record that can be read is given, whatever comes behind it; what stopped the walk is kept in `status` and
`damage`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stompcap.capture import walk
from stompcap.capture.compressed import Decompressed
from stompcap.capture.files import PCAP_HEADER_OCTETS, PCAP_MAGICS, Mapped, Octets

Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Records:
    """A batch in [begin, end) of `octets`, a row per packet; `first` is the first one's number, from 1."""

    octets: Octets
    first: int
    begin: int
    end: int
    place: NDArray[np.int64]
    captured: NDArray[np.int64]
    original: NDArray[np.int64]
    ts_ns: NDArray[np.int64]
    links: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.place)


@dataclass
class Walk:
    """One pass over a capture. Iterate it to the end, then read what it found."""

    capture: Mapped | Decompressed
    batch_packets: int = 65536
    status: str = "complete"
    damage: str | None = None
    link_types: list[int] = field(default_factory=list)
    snaplen: int = 0
    packets: int = 0

    def __iter__(self) -> Iterator[Records]:
        if self.capture.format == "pcap":
            yield from self._pcap()
        elif self.capture.format == "pcapng":
            yield from self._pcapng()
        if self.capture.flaw:
            status, says = self.capture.flaw
            self.status, self.damage = status, f"{says}; {self.damage}" if self.damage else says

    def _interface(self, link: int, snaplen: int) -> None:
        if link not in self.link_types:
            self.link_types.append(link)
        self.snaplen = max(self.snaplen, snaplen)

    def _place(self, at: int) -> str:
        """A place in the window, in words."""
        return f"{'file' if self.capture.compression is None else 'decompressed'} offset {self.capture.base + at}"

    def _stop(self, reason: int, at: int) -> None:
        """Note why the walk ended before the end of the file."""
        if reason == walk.TRUNCATED:
            self.status, self.damage = "truncated", f"the last record is cut off at {self._place(at)}"
        elif reason == walk.DAMAGED:
            self.status, self.damage = "damaged", f"no valid record at {self._place(at)}"

    def _columns(self) -> Columns:
        place, captured, original, ts_ns = np.empty((4, self.batch_packets), np.int64)
        return place, captured, original, ts_ns

    def _batch(self, count: int, begin: int, end: int, columns: Columns, links: NDArray[np.int32]) -> Records:
        first = self.packets + 1
        self.packets += count
        place, captured, original, ts_ns = (column[:count] for column in columns)
        return Records(self.capture.octets, first, begin, end, place, captured, original, ts_ns, links[:count])

    def _pcap(self) -> Iterator[Records]:
        octets = self.capture.octets
        if len(octets) < PCAP_HEADER_OCTETS:
            self.status, self.damage = "truncated", f"the file header is cut off at {self._place(len(octets))}"
            return
        big, ticks = PCAP_MAGICS[octets[:4].tobytes()]
        self._interface(int(walk.u32(octets, 20, big)) & 0xFFFF, int(walk.u32(octets, 16, big)))
        at, reason = PCAP_HEADER_OCTETS, walk.FULL
        while reason == walk.FULL:
            columns, links = self._columns(), np.empty(self.batch_packets, np.int32)
            begin = at
            count, at, reason = walk.walk_pcap(
                self.capture.octets, at, big, 1_000_000_000 // ticks, self.link_types[0], *columns, links
            )  # fmt: skip
            if count:
                yield self._batch(count, begin, at, columns, links)
            if reason in (walk.END, walk.TRUNCATED) and self.capture.more(at):
                at, reason = 0, walk.FULL
        self._stop(reason, at)

    def _pcapng(self) -> Iterator[Records]:
        big = False
        interfaces = np.empty((0, 4), np.int64)
        at, reason = 0, walk.SECTION
        while reason not in (walk.END, walk.TRUNCATED, walk.DAMAGED):
            octets = self.capture.octets
            if reason == walk.SECTION:
                section = section_at(octets, at)
                if section is None and self.capture.more(at):
                    at = 0
                    continue
                if section is None:
                    reason = walk.TRUNCATED if at + 28 > len(octets) else walk.DAMAGED
                    break
                big, at = section
                interfaces = np.empty((0, 4), np.int64)
            elif reason == walk.INTERFACE:
                row = interface_at(octets, at, big)
                self._interface(row[0], row[1])
                interfaces = np.vstack([interfaces, np.array([row], np.int64)])
                at += int(walk.u32(octets, at + 4, big))
            columns, links = self._columns(), np.empty(self.batch_packets, np.int32)
            begin = at
            count, at, reason = walk.walk_pcapng(octets, at, big, interfaces, *columns, links)
            if count:
                yield self._batch(count, begin, at, columns, links)
            if reason in (walk.END, walk.TRUNCATED) and self.capture.more(at):
                at, reason = 0, walk.FULL
        self._stop(reason, at)


def section_at(octets: Octets, at: int) -> tuple[bool, int] | None:
    """The section header block at `at`: (big endian, offset behind it), or None where there is no whole valid one."""
    if at + 28 > len(octets):
        return None
    order = octets[at + 8 : at + 12].tobytes()
    if order not in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"):
        return None
    big = order == b"\x1a\x2b\x3c\x4d"
    length = int(walk.u32(octets, at + 4, big))
    if length < 28 or length & 3 or at + length > len(octets) or walk.u32(octets, at + length - 4, big) != length:
        return None
    return big, at + length


def interface_at(octets: Octets, at: int, big: bool) -> tuple[int, int, int, int]:
    """The interface block at `at`: link type, snaplen, if_tsresol (6 where absent), if_tsoffset in seconds."""
    length = int(walk.u32(octets, at + 4, big))
    order = "big" if big else "little"
    body = octets[at + 8 : at + length - 4].tobytes()
    link, snaplen = int.from_bytes(body[0:2], order), int.from_bytes(body[4:8], order)  # type: ignore[arg-type]
    resolution, offset, place = 6, 0, 8
    while place + 4 <= len(body):
        code, size = (int.from_bytes(body[place + i : place + i + 2], order) for i in (0, 2))  # type: ignore[arg-type]
        value = body[place + 4 : place + 4 + size]
        if code == 0:
            break
        if code == 9 and size == 1:
            resolution = value[0]
        elif code == 14 and size == 8:
            offset = int.from_bytes(value, order, signed=True)  # type: ignore[arg-type]
        place += 4 + (size + 3) // 4 * 4
    return link, snaplen, resolution, offset
