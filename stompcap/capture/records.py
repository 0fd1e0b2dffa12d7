"""Files to records: batches of packets as columns of place, length, time and link type.

Every record that can be read is given, whatever lies before or behind it; what could not be read is kept in `status`
and `damage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stompcap.capture import chains, walk
from stompcap.capture.compressed import Decompressed
from stompcap.capture.files import PCAP_HEADER_OCTETS, PCAP_MAGICS, Mapped, Octets
from stompcap.capture.integers import u32

Search = Callable[[Octets, int, bool], tuple[int, int]]  # octets, from where, nothing behind them: state and place
NAMED_FLAWS = 8
DOUBT_OCTETS = 1 << 22  # how far a better record is looked for where one is doubtful
NO_STOP = 1 << 62
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
    flaws: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Records]:
        if self.capture.format == "pcap":
            yield from self._pcap()
        elif self.capture.format == "pcapng":
            yield from self._pcapng()
        if self.capture.flaw:
            status, says = self.capture.flaw
            self.status = "damaged" if self.status == "damaged" else status
            self.flaws.insert(0, says)
        if self.flaws:
            more = len(self.flaws) - NAMED_FLAWS
            self.damage = "; ".join(self.flaws[:NAMED_FLAWS]) + (f"; and {more} more" if more > 0 else "")

    def _interface(self, link: int, snaplen: int) -> None:
        if link not in self.link_types:
            self.link_types.append(link)
        self.snaplen = max(self.snaplen, snaplen)

    def _place(self, at: int) -> str:
        """A place in the window, in words."""
        return f"{'file' if self.capture.compression is None else 'decompressed'} offset {self.capture.base + at}"

    def _flaw(self, says: str, status: str = "damaged") -> None:
        """Note what could not be read; a damaged file stays one, wherever it ends."""
        self.status = "damaged" if self.status == "damaged" else status
        self.flaws.append(says)

    def _stop(self, reason: int, at: int) -> None:
        """Note why the walk ended before the end of the file."""
        if reason == walk.TRUNCATED:
            self._flaw(f"the last record is cut off at {self._place(at)}", "truncated")
        elif reason == walk.DAMAGED:
            self._flaw(f"no valid record at {self._place(at)}")

    def _search(self, start: int, find: Search, *, slide: bool = True) -> int | None:
        """Where in the window records go on, looked for from `start` on; `slide`: whether the window may move on for it."""
        while True:
            final = self.capture.ended
            state, at = find(self.capture.octets, start, final)
            if state == chains.HOLDS:
                return int(at)
            if final or not slide:
                return None
            start = 0 if self.capture.more(at) else at

    def _resume(self, bad: int, start: int, find: Search) -> int | None:
        """Where in the window records go on behind a bad one, looked for from `start` on; noted if found."""
        place = self._place(bad)
        found = self._search(start, find)
        if found is not None:
            self._passed(place, found)
        return found

    def _passed(self, bad: str, found: int) -> None:
        """Note what was passed over."""
        self._flaw(f"no valid record at {bad}, the next at {self._place(found)}")

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
        big, ticks, head = PCAP_MAGICS[octets[:4].tobytes()]
        snaplen = int(u32(octets, 16, big))
        self._interface(int(u32(octets, 20, big)) & 0xFFFF, snaplen)
        longest = min(max(snaplen, chains.USUAL_PACKET_OCTETS), chains.MAX_PACKET_OCTETS)
        at, seconds, reason, trusting = PCAP_HEADER_OCTETS, -1, walk.FULL, False
        before = at  # where the octets of the last record begin: its length may be the wrong one
        while reason == walk.FULL:
            columns, links = self._columns(), np.empty(self.batch_packets, np.int32)
            begin, final = at, self.capture.ended
            count, at, reason, seconds = walk.walk_pcap(
                self.capture.octets, at, big, head, ticks, longest, seconds, trusting, final, self.link_types[0], *columns, links
            )  # fmt: skip
            if count:
                before = int(columns[0][count - 1])
                yield self._batch(count, begin, at, columns, links)
            near = len(self.capture.octets) - at < DOUBT_OCTETS
            if not final and (reason in (walk.END, walk.TRUNCATED) or (reason == walk.DOUBTFUL and near)):
                if self.capture.more(before):
                    at, before = at - before, 0
                reason = walk.FULL  # there are more octets, or it is known that there are none
            elif reason == walk.DOUBTFUL:
                find = finder(at + DOUBT_OCTETS, big, head, ticks, longest, seconds)
                found = self._search(before, find, slide=False)
                if found is None or chains.leads_to(self.capture.octets, at, found, big, head):
                    trusting = True  # odd, but nothing better is near, or all that is odd is of a piece with what isn't
                else:
                    self._passed(self._place(at), found)
                    at = before = found
                reason = walk.FULL
            elif reason in (walk.TRUNCATED, walk.DAMAGED):
                start = at + head if reason == walk.TRUNCATED else before
                found = self._resume(at, start, finder(NO_STOP, big, head, ticks, longest, seconds))
                if found is not None:
                    at, before, reason = found, found, walk.FULL
        self._stop(reason, at)

    def _pcapng(self) -> Iterator[Records]:
        big = False
        interfaces, bad = np.empty((0, 4), np.int64), np.zeros(2, np.int64)
        at, reason = 0, walk.SECTION
        while reason not in (walk.END, walk.TRUNCATED, walk.DAMAGED):
            octets = self.capture.octets
            if reason == walk.SECTION:
                section = section_at(octets, at)
                if section is None and self.capture.more(at):
                    at = 0
                    continue
                if section is not None:
                    big, at = section
                    interfaces = np.empty((0, 4), np.int64)
                else:
                    found = self._resume(at, at + 1, block_finder(big))
                    if found is None:
                        reason = walk.TRUNCATED if at + 28 > len(octets) else walk.DAMAGED
                        break
                    at = found
            elif reason == walk.INTERFACE:
                row = interface_at(octets, at, big)
                self._interface(row[0], row[1])
                interfaces = np.vstack([interfaces, np.array([row], np.int64)])
                at += int(u32(octets, at + 4, big))
            columns, links = self._columns(), np.empty(self.batch_packets, np.int32)
            begin, final = at, self.capture.ended
            count, at, reason = walk.walk_pcapng(self.capture.octets, at, big, interfaces, *columns, links, bad)
            if bad[0]:
                self._flaw(f"{bad[0]} packet blocks that cannot be, the first at {self._place(int(bad[1]))}")
                bad[:] = 0
            if count:
                yield self._batch(count, begin, at, columns, links)
            if reason in (walk.END, walk.TRUNCATED) and not final:
                at, reason = 0 if self.capture.more(at) else at, walk.FULL
            elif reason in (walk.TRUNCATED, walk.DAMAGED):
                found = self._resume(at, at + 1, block_finder(big))
                at, reason = (at, reason) if found is None else (found, walk.FULL)
        self._stop(reason, at)


def finder(stop: int, big: bool, head: int, ticks: int, longest: int, seconds: int) -> Search:
    """A search for pcap records before `stop`."""
    return lambda octets, at, final: chains.find_pcap(octets, at, stop, big, head, ticks, longest, seconds, final)


def block_finder(big: bool) -> Search:
    """A search for pcapng blocks."""
    return lambda octets, at, final: chains.find_pcapng(octets, at, big, final)


def section_at(octets: Octets, at: int) -> tuple[bool, int] | None:
    """The section header block at `at`: (big endian, offset behind it), or None where there is no whole valid one."""
    if at + 28 > len(octets):
        return None
    order = octets[at + 8 : at + 12].tobytes()
    if order not in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"):
        return None
    big = order == b"\x1a\x2b\x3c\x4d"
    length = int(u32(octets, at + 4, big))
    if length < 28 or length & 3 or at + length > len(octets) or u32(octets, at + length - 4, big) != length:
        return None
    return big, at + length


def interface_at(octets: Octets, at: int, big: bool) -> tuple[int, int, int, int]:
    """The interface block at `at`: link type, snaplen, if_tsresol (6 where absent), if_tsoffset in seconds."""
    length = int(u32(octets, at + 4, big))
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
