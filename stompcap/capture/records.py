"""Files to records: batches of packets as columns of position, length, time and link type.

Every record that can be read is given, whatever damage lies around it; what could not be read is noted in `status`
and `damage`. A walk from a checkpoint gives what the first walk gave from there on, in batches of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from stompcap.capture import chains, walk
from stompcap.capture.checkpoint import NO_END, Checkpoint
from stompcap.capture.files import PCAP_HEADER_OCTETS, PCAP_MAGICS, Window
from stompcap.capture.integers import u32
from stompcap.capture.interfaces import SMALLEST_OCTETS, Interfaces, interface_at
from stompcap.columns import I32, I64, Octets
from stompcap.units import IMPOSSIBLE

Search = Callable[[Octets, int, bool], tuple[int, int]]  # (octets, start, whether the file ends behind them): state and position
NAMED_FLAWS = 8
LARGEST_SNAPLEN = (1 << 31) - 1  # larger ones mean no limit: no packet is so long
TIMELESS = f"packets whose time is {IMPOSSIBLE} and counts as none"
ZEROS_OCTETS = 1 << 16  # octets that are looked at for zeros at a time
SMALLEST_BLOCK = 12  # octets of a pcapng block
DOUBT_OCTETS = 1 << 22  # how far a better record is searched for where one is doubtful


@dataclass(frozen=True)
class Records:
    """A batch in [begin, end) of `octets`, a row per packet; `first` is the first one's number, from 1."""

    octets: Octets
    first: int
    begin: int
    end: int
    position: I64
    captured: I64
    original: I64
    ts_ns: I64
    links: I32

    def __len__(self) -> int:
        return len(self.position)


@dataclass
class Walk:
    """One pass over a capture, or over its part from `begin` to packet `last`. Iterate it to the end, then read its results.

    A batch ends with the first record that reaches the offset `stop`, which may be changed after each batch;
    `reached` is the state behind the last batch.
    """

    capture: Window
    batch_packets: int = 65536
    begin: Checkpoint | None = None
    last: int = NO_END
    stop: int = NO_END
    reached: Checkpoint | None = None
    status: str = "complete"
    damage: str | None = None
    seen_links: dict[int, None] = field(default_factory=dict)
    largest: int = 0
    unlimited: bool = False
    packets: int = 0
    flaws: list[str] = field(default_factory=list)
    secrets: bool = False

    def __iter__(self) -> Iterator[Records]:
        self.packets = self.begin.packets if self.begin else 0
        if self.capture.format == "pcap":
            yield from self._pcap()
        elif self.capture.format == "pcapng":
            yield from self._pcapng()
        if self.capture.flaw:
            status, damage = self.capture.flaw
            self.status = "damaged" if self.status == "damaged" else status
            self.flaws.insert(0, damage)
        if self.flaws:
            more = len(self.flaws) - NAMED_FLAWS
            self.damage = "; ".join(self.flaws[:NAMED_FLAWS]) + (f"; and {more} more" if more > 0 else "")

    @property
    def link_types(self) -> list[int]:
        """The distinct link types of the interfaces."""
        return list(self.seen_links)

    @property
    def snaplen(self) -> int:
        """The largest snapshot length of the interfaces; 0 where one has no limit."""
        return 0 if self.unlimited else self.largest

    def _interface(self, link: int, snaplen: int) -> None:
        self.seen_links[link] = None
        if 0 < snaplen <= LARGEST_SNAPLEN:
            self.largest = max(self.largest, snaplen)
        else:
            self.unlimited = True

    def _offset_text(self, at: int) -> str:
        """Text for a position in the window."""
        return f"{'file' if self.capture.compression is None else 'decompressed'} offset {self.capture.base + at}"

    def _flaw(self, text: str, status: str = "damaged") -> None:
        """Note damage; a damaged file stays damaged, even where it is also truncated."""
        self.status = "damaged" if self.status == "damaged" else status
        self.flaws.append(text)

    def _stop(self, reason: int, at: int) -> None:
        """Note why the walk ended before the end of the file."""
        if reason == walk.TRUNCATED:
            self._flaw(f"the last record is cut off at {self._offset_text(at)}", "truncated")
        elif reason == walk.DAMAGED:
            self._flaw(f"no valid record at {self._offset_text(at)}")

    def _resume(self, bad: int, start: int, find: Search) -> tuple[int, int | None]:
        """Where in the window a bad record is, and where records continue behind it, searched for from `start` on; noted if found.

        The window may have slid: then the first of them lies before it.
        """
        position, where = self._offset_text(bad), self.capture.base + bad
        while True:
            state, at = find(self.capture.octets, start, self.capture.ended)
            if state == chains.HOLDS:
                self._passed(position, int(at))
            if state == chains.HOLDS or self.capture.ended:
                return where - self.capture.base, int(at) if state == chains.HOLDS else None
            start = 0 if self.capture.more(at) else at

    def _passed(self, bad: str, found: int) -> None:
        """Note the octets passed over."""
        self._flaw(f"no valid record at {bad}, the next at {self._offset_text(found)}")

    def _room(self) -> walk.Room:
        """Room for a batch; none behind the last packet."""
        packets = min(self.batch_packets, self.last - self.packets)
        position, captured, original, ts_ns = np.empty((4, packets), np.int64)
        return walk.Room(position, captured, original, ts_ns, np.empty(packets, np.int32))

    def _batch(self, count: int, begin: int, end: int, room: walk.Room) -> Records:
        first = self.packets + 1
        self.packets += count
        position, captured, original, ts_ns, links = room
        return Records(
            self.capture.octets, first, begin, end, position[:count], captured[:count], original[:count], ts_ns[:count], links[:count]
        )

    def _until(self, at: int) -> int:
        """Where in the window the batch that begins at `at` ends."""
        return max(self.stop - self.capture.base, at + 1)

    def _pcap(self) -> Iterator[Records]:
        header = np.frombuffer(self.capture.head, np.uint8)
        if len(header) < PCAP_HEADER_OCTETS:
            self.status, self.damage = "truncated", f"the file header is cut off at {self._offset_text(len(header))}"
            return
        big, ticks, head = PCAP_MAGICS[self.capture.head[:4]]
        snaplen, link = int(u32(header, 16, big)), int(u32(header, 20, big)) & 0xFFFF
        self._interface(link, snaplen)
        longest = min(max(snaplen, chains.USUAL_PACKET_OCTETS), chains.MAX_PACKET_OCTETS)
        layout = chains.Layout(big, head, ticks, longest)
        known = self.begin or Checkpoint(PCAP_HEADER_OCTETS, before=PCAP_HEADER_OCTETS)
        at, seconds, reason, trusting = known.offset - self.capture.base, known.seconds, walk.FULL, known.trusting
        before = known.before - self.capture.base  # where the last record begins: its length may be wrong
        while reason == walk.FULL:
            if self.packets == self.last:
                return
            room = self._room()
            begin, final = at, self.capture.ended
            count, at, reason, seconds = walk.walk_pcap(
                self.capture.octets, at, self._until(at), layout, link, seconds, trusting, final, room
            )
            if count:
                before = int(room.position[count - 1])
                base = self.capture.base
                self.reached = Checkpoint(base + at, self.packets + count, base + before, int(seconds), trusting)
                yield self._batch(count, begin, at, room)
            near = len(self.capture.octets) - at < DOUBT_OCTETS
            if not final and (reason in (walk.END, walk.TRUNCATED) or (reason == walk.DOUBTFUL and near)):
                if self.capture.more(before):
                    at, before = at - before, 0
                reason = walk.FULL  # more octets follow, or the file is known to end
            elif reason == walk.DOUBTFUL:
                state, found = chains.find_pcap(self.capture.octets, before, at + DOUBT_OCTETS, layout, seconds, final)
                if state == chains.OPEN and self.capture.more(before):
                    at, before = at - before, 0  # undecided until the window slides
                elif state != chains.HOLDS or chains.leads_to(self.capture.octets, at, found, layout):
                    trusting = True  # implausible, but no better record is near, or it leads to a plausible one
                else:
                    self._passed(self._offset_text(at), found)
                    at = before = int(found)
                reason = walk.FULL
            elif reason in (walk.TRUNCATED, walk.DAMAGED):
                start = at + head if reason == walk.TRUNCATED else before
                at, found = self._resume(at, start, finder(NO_END, layout, seconds))
                if found is not None:
                    at, before, reason = found, found, walk.FULL
        self._stop(reason, at)

    def _pcapng(self) -> Iterator[Records]:
        known = self.begin or Checkpoint(0)
        big, seen = known.big, np.zeros(5, np.int64)
        interfaces = Interfaces(known.interfaces)
        at, reason = known.offset - self.capture.base, walk.FULL if self.begin else walk.SECTION
        while reason not in (walk.END, walk.TRUNCATED, walk.DAMAGED):
            if self.packets == self.last:
                return
            octets = self.capture.octets
            if reason == walk.SECTION:
                section = section_at(octets, at)
                if section is None and self.capture.more(at):
                    at = 0
                    continue
                if section is not None:
                    big, at = section
                    interfaces = Interfaces()
                else:
                    at, found = self._resume(at, at + 1, block_finder(big))
                    if found is None:
                        reason = walk.TRUNCATED if at + 28 > len(self.capture.octets) else walk.DAMAGED
                        break
                    at = found
            elif reason == walk.INTERFACE:
                row = interface_at(octets, at, big)
                self._interface(row[0], row[1])
                interfaces.add(row)
                stated = int(u32(octets, at + 4, big))
                if stated < SMALLEST_OCTETS:
                    self._flaw(f"the interface block at {self._offset_text(at)} is too short to be one")
                at += chains.block_octets(stated)
            room = self._room()
            begin, final = at, self.capture.ended
            count, at, reason = walk.walk_pcapng(self.capture.octets, at, self._until(at), big, interfaces.rows, room, seen)
            for many, first, what in ((seen[0], seen[1], "packet blocks that cannot be"), (seen[2], seen[3], TIMELESS)):
                if many:
                    self._flaw(f"{many} {what}, the first at {self._offset_text(int(first))}")
            self.secrets |= bool(seen[4])
            seen[:] = 0
            if count:
                base = self.capture.base
                self.reached = Checkpoint(
                    base + at, self.packets + count, base + int(room.position[count - 1]), big=big, interfaces=interfaces.rows
                )
                yield self._batch(count, begin, at, room)
            if reason in (walk.END, walk.TRUNCATED) and not final:
                at, reason = 0 if self.capture.more(at) else at, walk.FULL
            elif reason in (walk.TRUNCATED, walk.DAMAGED):
                at, found = self._resume(at, at + 1, block_finder(big))
                at, reason = (at, reason) if found is None else (found, walk.FULL)
        self._stop(reason, at)


def finder(stop: int, layout: chains.Layout, seconds: int) -> Search:
    """A search for pcap records before `stop`. Zeros are passed over: no record begins in them, and writers that die leave many."""

    def find(octets: Octets, at: int, final: bool) -> tuple[int, int]:
        while (end := min(at + ZEROS_OCTETS, stop, len(octets) - layout.head + 1)) > at:
            if octets[at : end + layout.head - 1].any():
                state, found = chains.find_pcap(octets, at, end, layout, seconds, final)
                if state == chains.HOLDS or (state == chains.OPEN and found < end):
                    return int(state), int(found)
            at = end
        return (chains.BROKEN, stop) if final else (chains.OPEN, at)

    return find


def block_finder(big: bool) -> Search:
    """A search for pcapng blocks; zeros at its beginning are passed over."""

    def find(octets: Octets, at: int, final: bool) -> tuple[int, int]:
        while at + ZEROS_OCTETS + SMALLEST_BLOCK <= len(octets) and not octets[at : at + ZEROS_OCTETS + SMALLEST_BLOCK].any():
            at += ZEROS_OCTETS
        state, found = chains.find_pcapng(octets, at, big, final)
        return int(state), int(found)

    return find


def section_at(octets: Octets, at: int) -> tuple[bool, int] | None:
    """The section header block at `at`: (big endian, offset behind it), or None where there is no whole valid one."""
    if at + 28 > len(octets):
        return None
    order = octets[at + 8 : at + 12].tobytes()
    if order not in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"):
        return None
    big = order == b"\x1a\x2b\x3c\x4d"
    stated = int(u32(octets, at + 4, big))
    length = int(chains.block_octets(stated))
    if stated < 28 or at + length > len(octets) or u32(octets, at + length - 4, big) != stated:
        return None
    return big, at + length

