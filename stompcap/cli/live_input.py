"""A capture that comes through a pipe: its complete packets, batch by batch, as columns that carry their payload.

What was read lies in a temporary file, which begins again with the file's header where it has become large.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from stompcap.capture import SEGMENTS
from stompcap.capture.chains import ENHANCED_BLOCK, OBSOLETE_BLOCK, SIMPLE_BLOCK
from stompcap.capture.checkpoint import Checkpoint
from stompcap.capture.files import PCAP_HEADER_OCTETS, PCAP_MAGICS, PCAPNG_MAGIC, open_capture
from stompcap.capture.records import Walk
from stompcap.capture.segments import Decoder, segment_batch
from stompcap.errors import CaptureError
from stompcap.units import size

if TYPE_CHECKING:
    from stompcap.options import Options

READ_OCTETS = 1 << 20
SPOOL_OCTETS = 1 << 26
PIPE = "-"


class LiveInput:
    """Packets of a pipe; `last_ns` is the time of the latest."""

    def __init__(self, pipe: BinaryIO, folder: Path, options: Options) -> None:
        self.descriptor, self.path = pipe.fileno(), folder / "pipe"
        self.decoder = Decoder(vlan=options.vlan, tunnels=options.tunnels)
        self.reached: Checkpoint | None = None
        self.header = b""
        self.last_ns, self.over, self.started = 0, False, False
        self.spool = open(self.path, "w+b", buffering=0)  # noqa: SIM115 - as long as this object

    def batches(self, interval_s: float) -> Iterator[pa.Table]:
        """Segments as they come, and an empty table where none came for so many seconds; until the end of the pipe."""
        while not self.over:
            if self._wait(interval_s) and self._ready():
                yield self._read()
            else:
                yield SEGMENTS.empty_table()

    def _wait(self, interval_s: float) -> bool:
        """Take what comes, until nothing more does or the interval is over; whether anything came."""
        until, came = time.monotonic() + interval_s, 0
        while not self.over and came < READ_OCTETS and (left := until - time.monotonic()) > 0:
            if not select.select([self.descriptor], [], [], left)[0]:
                break
            octets = os.read(self.descriptor, READ_OCTETS)
            self.over = not octets
            self.spool.write(octets)
            came += len(octets)
            until = min(until, time.monotonic() + interval_s / 4)  # what comes together is read together
        return came > 0

    def _ready(self) -> bool:
        """Whether the capture's header is there; raises CaptureError where the pipe carries no capture."""
        if self.started:
            return True
        head = os.pread(self.spool.fileno(), SPOOL_OCTETS, 0)
        if len(head) >= 4 and head[:4] not in PCAP_MAGICS and head[:4] != PCAPNG_MAGIC:
            raise CaptureError("standard input", "is not a pcap or pcapng capture by its first bytes; decompress it, or name it as a file")
        if head[:4] in PCAP_MAGICS:
            self.header, self.started = head[:PCAP_HEADER_OCTETS], len(head) >= PCAP_HEADER_OCTETS
        else:
            self.header = pcapng_header(head)
            self.started = len(self.header) > 0
        if not self.started and len(head) == SPOOL_OCTETS:
            raise CaptureError("standard input", f"has no packet in its first {size(SPOOL_OCTETS)}; write it to a file and name that")
        return self.started

    def _read(self) -> pa.Table:
        """The complete packets that came since the last time."""
        window = open_capture(str(self.path))
        walk, found = Walk(window, begin=self.reached), []
        for records in walk:
            batch = self.decoder.decode(records)
            if len(records):
                self.last_ns = max(self.last_ns, int(records.ts_ns.max()))
            if batch.used:
                found.append(segment_batch(batch, 0, carry=True))
        self.reached = walk.reached or self.reached
        if self.reached is not None and self.reached.offset > SPOOL_OCTETS:
            self._again(self.reached)
        return pa.Table.from_batches(found, SEGMENTS)

    def _again(self, here: Checkpoint) -> None:
        """Begin the file again with its header and what was not read yet."""
        end = os.fstat(self.spool.fileno()).st_size
        rest = os.pread(self.spool.fileno(), end - here.offset, here.offset)
        self.spool.close()
        self.path.unlink()
        self.spool = open(self.path, "w+b", buffering=0)  # noqa: SIM115
        self.spool.write(self.header + rest)
        self.reached = replace(here, offset=len(self.header), before=len(self.header))


def pcapng_header(head: bytes) -> bytes:
    """The blocks before the first packet; nothing where these are not complete."""
    at, order = 0, "little"
    while at + 12 <= len(head):
        if head[at : at + 4] == PCAPNG_MAGIC:
            order = "big" if head[at + 8 : at + 12] == b"\x1a\x2b\x3c\x4d" else "little"
        kind = int.from_bytes(head[at : at + 4], order)  # type: ignore[arg-type]
        length = int.from_bytes(head[at + 4 : at + 8], order)  # type: ignore[arg-type]
        if kind in (ENHANCED_BLOCK, OBSOLETE_BLOCK, SIMPLE_BLOCK):
            return head[:at]
        if length < 12:
            break  # no block is shorter
        at += length
    return b""
