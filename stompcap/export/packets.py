"""From a stream back to its packets: which packets of which captures belong to one TCP connection.

The captures are read again, the flow's segments go through the reassembler, and what it takes for that connection is the answer,
fragments included. Memory holds what describes the flow's segments, some tens of octets each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.assembly import addresses
from stompcap.capture.checkpoint import NO_END
from stompcap.capture.decode import flow_hash
from stompcap.capture.digest import Digest
from stompcap.capture.files import open_capture
from stompcap.capture.outer import keyed
from stompcap.capture.records import Records, Walk
from stompcap.capture.rotation import SAME_CLOCK
from stompcap.capture.segment_columns import ELSEWHERE, SEGMENTS
from stompcap.capture.segments import read, segment_batch
from stompcap.capture.splits import Split
from stompcap.columns import I64
from stompcap.errors import CaptureError
from stompcap.tcp import WIRE_ORDER, as_they_crossed, reassemble_columns
from stompcap.tcp.capture_points import CapturePoints
from stompcap.tcp.file_steps import NO_CLOCKS
from stompcap.tcp.flows import NEVER
from stompcap.tcp.idle import IDLE_NS

BATCH_PACKETS = 65536
CHECKED = ("first_ns", "last_ns", "outer_octets_c2s", "outer_octets_s2c")
"""Columns of table streams in which a connection that was found must equal the row."""


@dataclass(frozen=True)
class CaptureFile:
    """The file of a capture, as its row of table `captures` describes it."""

    path: str
    used_octets: int
    """How much of the file the lake has read."""

    used_sha256: str
    """The digest of these octets."""

    compressed: bool
    before: int = 0
    """How many packets of the file other captures have, which this one continues."""

    clock: int = SAME_CLOCK
    """The number of its clock among those of the captures of its source."""

    @property
    def part(self) -> Split:
        """What of the file is read; without a limit, as it was within the limit when it was read first and is the same."""
        return Split(self.path, None if self.compressed else self.used_octets, limit=NO_END)

    def check(self) -> None:
        """Raise CaptureError where the file is gone, or is not the one it was."""
        try:
            source = open_capture(self.path)
        except CaptureError as error:
            raise CaptureError(self.path, f"the lake has read it from here, and now: {error.remedy}; put it back") from error
        digest = Digest(source)
        if source.size >= self.used_octets:
            digest.to(self.used_octets)
        if digest.hex() != self.used_sha256:
            raise CaptureError(self.path, "is not the file that the lake has read from here (its SHA-256 differs); put that one back")


@dataclass(frozen=True)
class Packets:
    """The packets of a stream: numbers by rank of the capture, ascending; the link types they have; whether tunnels were looked into."""

    numbers: Mapping[int, I64]
    links: frozenset[int]
    tunnels: bool


def packets_of(stream: Mapping[str, Any], captures: Sequence[CaptureFile], *, tunnels: bool = True) -> Packets | None:
    """The packets of a stream, a row of table `streams`, in captures given in wire order; None where these do not make it up.

    `tunnels`: whether the run that found it looked into them. Raises CaptureError.
    """
    endpoints, client_low = addresses.endpoints_of(stream)
    flow = _Flow(endpoints, tunnels)
    for rank, capture in enumerate(captures):
        flow.add(capture, rank)
    flow.clocks = np.array([capture.clock for capture in captures], np.int64)
    for vlan, alone in product((False, True), (False, True)):
        numbers = flow.incarnation(stream, client_low, vlan=vlan, alone=alone)
        if numbers is not None:
            return Packets(numbers, frozenset(flow.links), tunnels)
    return None


class _Flow:
    """What describes the segments of one flow, of all captures."""

    def __init__(self, endpoints: bytes, tunnels: bool) -> None:
        self.endpoints = np.frombuffer(endpoints, np.uint8).reshape(1, 36)
        self.hash = int(flow_hash(self.endpoints, 0))
        self.tunnels = tunnels
        self.batches: list[pa.RecordBatch] = []
        self.fragments: dict[tuple[int, int], list[int]] = {}
        """Of datagrams that came in fragments: by rank and number of the packet that completed one, the numbers of all its packets."""

        self.links: set[int] = set()
        self.clocks = NO_CLOCKS

    def add(self, capture: CaptureFile, rank: int) -> None:
        """Read a capture for its segments of the flow."""
        source, batches = read(capture.part, BATCH_PACKETS, tunnels=self.tunnels)
        seen: set[int] = set()
        for batch in batches:
            decoded, records = batch.decoded, batch.records
            seen.update(np.unique(records.links).tolist())
            rows = np.arange(len(records)) if batch.rows is None else batch.rows
            rows = rows[(decoded.flow[rows] == self.hash) & (records.first + rows > capture.before)]
            rows = rows[(decoded.endpoints[rows] == self.endpoints).all(axis=1)]
            if len(rows):
                self.batches.append(segment_batch(replace(batch, rows=rows, payloads={}), rank, carry=False))
                self.links.update(records.links[rows].tolist())
                for row in rows.tolist():
                    if row in batch.fragments:
                        self.fragments[rank, records.first + row] = batch.fragments[row]
                        self.links |= seen  # its fragments may have come by any
            source.release(records.begin, records.end)

    def incarnation(self, stream: Mapping[str, Any], client_low: bool, *, vlan: bool, alone: bool) -> dict[int, I64] | None:
        """The numbers of one connection's packets by capture; None where the flow has no such connection.

        `vlan`: VLAN ids separate connections. `alone`: only packets between its first and its last, however long it was silent.
        """
        segments = pa.Table.from_batches(self.batches, SEGMENTS)
        if alone:
            at = pc.field("ts_ns")
            segments = segments.filter((at >= (stream["first_ns"] or 0)) & (at <= (stream["last_ns"] or 0)))
        if vlan:
            flow, outer = keyed(segments.column("flow").to_numpy(), segments.column("outer").to_numpy())
            for name, values in (("flow", flow), ("outer", outer)):
                segments = segments.set_column(segments.schema.get_field_index(name), SEGMENTS.field(name), pa.array(values))
        segments = as_they_crossed(CapturePoints().marked(segments.sort_by(WIRE_ORDER).combine_chunks()), self.clocks)
        if not segments.num_rows:
            return None
        found = reassemble_columns(segments, stream["source"], idle_ns=NEVER if alone else IDLE_NS)
        which = found.streams.stream_id.index(stream["stream_id"]).as_py()
        if which < 0:
            return None
        octets = found.streams.sides.octets[which].tolist()
        life = (int(found.streams.first_ns[which]), int(found.streams.last_ns[which]), *(octets if client_low else octets[::-1]))
        if life != tuple(stream[name] or 0 for name in CHECKED):
            return None
        mine = (found.stream_of == which) & (segments.column("flags").to_numpy() & ELSEWHERE == 0)
        rank, packet = (segments.column(name).to_numpy()[mine] for name in ("capture", "packet"))
        numbers = {}
        for one in np.unique(rank).tolist():
            own = set(packet[rank == one].tolist())
            whole = own.union(*(self.fragments[one, number] for number in own if (one, number) in self.fragments))
            numbers[one] = np.array(sorted(whole), np.int64)
        return numbers


def records_of(capture: CaptureFile, numbers: I64) -> Iterator[tuple[Records, I64]]:
    """The records of a capture that have these numbers: batches, and the rows of them; each is good until the next is asked for."""
    source = open_capture(capture.path, capture.part.limit, capture.part.size)
    for records in Walk(source, BATCH_PACKETS, last=int(numbers[-1])):
        begin, end = np.searchsorted(numbers, [records.first, records.first + len(records)])
        if end > begin:
            yield records, numbers[begin:end] - records.first
        source.release(records.begin, records.end)
