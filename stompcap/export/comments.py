"""Comments of packets: which packet of a file each belongs to, and a pcapng with them, which Wireshark shows beside the packets.

opt_comment: draft-ietf-opsawg-pcapng, section 3.5. A packet may have several; Wireshark shows all from 3.6 on.
"""

from __future__ import annotations

import os
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from stompcap.capture.checkpoint import NO_END
from stompcap.capture.segment_columns import SEGMENTS, SYN
from stompcap.capture.segments import read, segment_batch
from stompcap.capture.splits import Split
from stompcap.capture.writing import block, option
from stompcap.columns import I64, Bools
from stompcap.export.writing import writable
from stompcap.visible import visible

BATCH_PACKETS = 65536
ENHANCED_PACKET, COMMENT, END = 6, 1, 0
BLOCK_ENDS = 12  # octets of a block around its body
LONGEST = 400
"""Characters of a comment."""

MOST = 20
"""Comments of a packet; how many more there are is the last one."""

Texts = Mapping[int, Sequence[str]]


@dataclass(frozen=True)
class Note:
    """A comment, and what it is about: what one side of a connection had sent by a time."""

    endpoints: bytes
    """The 36 octets of the connection's flow (stompcap.assembly.addresses)."""

    from_low: bool
    """Whether the low endpoint sent it."""

    ns: int
    last: int
    """The offset of its last octet in the side's stream; -1 where that is not known."""

    text: str


def place(path: str, notes: Sequence[Note]) -> dict[int, list[str]]:
    """The texts by number of packet in a capture file, each on the last packet that its side had sent by its time.

    Of several packets of the same time, it is the one with the last octet. Notes of connections that are not in the file, or of times
    before their first packet, are left out.
    """
    found: dict[int, list[str]] = defaultdict(list)
    waiting = list(notes)
    for tunnels in (True, False):
        sides = _sides(path, {note.endpoints for note in waiting}, tunnels=tunnels) if waiting else {}
        for note in waiting:
            packet = sides[note.endpoints, note.from_low].packet(note) if (note.endpoints, note.from_low) in sides else -1
            if packet > 0:
                found[packet].append(note.text)
        waiting = [note for note in waiting if (note.endpoints, note.from_low) not in sides]
    return dict(found)


@dataclass(frozen=True)
class _Side:
    """The packets of one side of a flow, in order of time."""

    packets: I64
    ns: I64
    seq: I64
    octets: I64
    syn: Bools

    def packet(self, note: Note) -> int:
        """The number of the packet that a note is about, or -1."""
        end = int(np.searchsorted(self.ns, note.ns, "right"))
        if end == 0:
            return -1
        begin = int(np.searchsorted(self.ns, self.ns[end - 1], "left"))
        same = np.arange(begin, end)
        full = same[self.octets[same] > 0]
        if not full.size:
            return int(self.packets[begin])
        opened = np.flatnonzero(self.syn[:end])
        if note.last >= 0 and opened.size and full.size > 1:
            at = (self.seq[full] - self.seq[opened[-1]] - 1) % (1 << 32)
            full = np.concatenate([full[(at <= note.last % (1 << 32)) & (note.last % (1 << 32) < at + self.octets[full])], full])
        return int(self.packets[full[0]])


def _sides(path: str, wanted: set[bytes], *, tunnels: bool) -> dict[tuple[bytes, bool], _Side]:
    """By flow and direction the packets of these flows in a file."""
    _, batches = read(Split(path, limit=NO_END), BATCH_PACKETS, tunnels=tunnels)
    tables = [segment_batch(batch, 0, carry=False) for batch in batches if batch.used]
    segments = pa.Table.from_batches(tables, SEGMENTS)
    endpoints = segments.column("endpoints").to_pylist()
    numbers = {name: segments.column(name).to_numpy() for name in ("packet", "ts_ns", "seq", "wire_octets", "flags", "forward")}
    rows: dict[tuple[bytes, bool], list[int]] = defaultdict(list)
    for row, ends in enumerate(endpoints):
        if ends in wanted:
            rows[ends, bool(numbers["forward"][row])].append(row)
    return {key: _side(numbers, np.array(own, np.int64)) for key, own in rows.items()}


def _side(numbers: Mapping[str, Any], rows: I64) -> _Side:
    rows = rows[np.argsort(numbers["ts_ns"][rows], kind="stable")]
    packets, ns, seq, octets, flags = (numbers[name][rows] for name in ("packet", "ts_ns", "seq", "wire_octets", "flags"))
    return _Side(packets, ns, seq, octets, (flags & SYN) != 0)


def annotate(path: str, output: str, texts: Texts) -> int:
    """Copy a pcapng that stompcap has written, with these comments by number of packet; gives how many comments it has.

    Raises EnvironmentProblem where the file cannot be written.
    """
    part, count, number = f"{output}.part", 0, 0
    with writable(output, part):
        with open(path, "rb") as source, open(part, "wb") as file:
            for kind, body in _blocks(source):
                number += kind == ENHANCED_PACKET
                said = _bounded(texts.get(number, ())) if kind == ENHANCED_PACKET else []
                options = b"".join(option(COMMENT, one.encode("utf-8", "backslashreplace")) for one in said)
                file.write(block(kind, body + options + option(END, b"") if said else body))
                count += len(said)
        os.replace(part, output)
    return count


def _bounded(texts: Sequence[str]) -> list[str]:
    """The first of them as they are written: without characters that do not print, each as long as a comment may be."""
    rest = len(texts) - MOST
    more: Iterable[str] = [f"stompcap: {rest} more"] if rest > 0 else []
    return [visible(one, LONGEST) for one in (*texts[:MOST], *more)]


def _blocks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The blocks of a little-endian pcapng: type and body, whose packets have no options yet."""
    while head := file.read(8):
        kind, length = struct.unpack("<II", head)
        yield kind, file.read(length - BLOCK_ENDS)
        file.seek(4, os.SEEK_CUR)
