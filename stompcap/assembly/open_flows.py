"""Flows that later captures may go on with: their segments, to be reassembled again together with those that come.

What is kept of a segment is its header and the place of its octets in the capture. Where the capture is gone by the time of the next
run, what is kept of the octets stands in for them: as tables show them, passcodes masked. They have the same lengths, so that they are
reassembled, delimited and decoded as the ones captured. Of connections that do not speak STOMP no octets are kept, but what
they showed the sender to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stompcap import tcp
from stompcap.assembly.rows import as_table, coded, constant
from stompcap.capture.again import header_begins, still_there
from stompcap.capture.columns import KEPT, NEW, NOT_KEPT, SEGMENTS
from stompcap.capture.files import Source
from stompcap.kernel import kernel
from stompcap.options import Options
from stompcap.stomp.peek import UNKNOWN
from stompcap.tables import words
from stompcap.tcp.block import column, fixed_rows
from stompcap.tcp.matching import may_go_on
from stompcap.tcp.octets import Octets, captured_twice, copy_runs
from stompcap.tcp.results import Extents, Int64s, Reassembly

Bools = NDArray[np.bool_]
MOST_PACKETS = 1 << 18
MOST_OCTETS = 1 << 27
"""Packets and octets that are kept of a flow: the connections of one that has more end with the run, and go on as others."""

HEADERS = (
    "packet", "ts_ns", "flow", "endpoints", "forward", "seq", "ack", "flags", "ip_id", "ttl", "wire_octets", "captured_octets",
    "bad_checksum",
)  # fmt: skip
RENAMED = {"window": "window_size", "outer": "layers"}  # words that SQL reserves


@dataclass(frozen=True)
class Detected:
    """Per stream, whether its octets are kept; and the role of each side, shape (streams, 2)."""

    kept: Bools
    roles: NDArray[np.int8]


@kernel
def copy_again(
    shown: Octets, one: Int64s, two: Int64s, kept: Octets, again: Octets, at: Int64s, lengths: Int64s
) -> None:
    """Show octets captured again as those they equal; where they differ, as others, so that they differ when they are compared again."""
    for i in range(len(lengths)):
        for k in range(lengths[i]):
            octet = shown[one[i] + k]
            shown[two[i] + k] = octet if kept[at[i] + k] == again[at[i] + k] else ~octet


class OpenFlows:
    """The open flows of one reassembly. `now_ns` is the latest capture time of their source."""

    def __init__(self, segments: pa.Table, reassembly: Reassembly, detected: Detected, options: Options, now_ns: int) -> None:
        self.segments, self.reassembly, self.detected, self.options = segments, reassembly, detected, options
        captured = column(segments, "captured_octets")
        flow_of_row = _flows(segments)
        flow = np.zeros(len(reassembly.streams), np.int64)
        flow[reassembly.stream_of] = flow_of_row
        kept_octets = np.bincount(flow_of_row, np.where(detected.kept[reassembly.stream_of], captured, 0))
        small = (np.bincount(flow_of_row) <= MOST_PACKETS) & (kept_octets <= MOST_OCTETS)
        self.streams: Bools = small[flow] & may_go_on(reassembly.streams, flow, now_ns, options.idle_ns)
        """Of each stream, whether later segments may belong to it."""

        self._rows: Int64s = np.flatnonzero(self.streams[reassembly.stream_of])
        held = np.zeros(segments.num_rows, np.bool_)
        held[self._rows] = self._with_octets()[reassembly.stream_of[self._rows], self._side()[self._rows]]
        ends = np.cumsum(np.where(held, captured, 0))
        self._place: Int64s = np.where(held, ends - captured, -1)
        self._octets = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
        self._known = np.zeros(segments.num_rows, np.bool_)  # rows with an octet that was shown

    def ids(self) -> pa.Array:
        """The ids of their streams."""
        return self.reassembly.streams.stream_id.filter(pa.array(self.streams))

    def take(self, extents: Extents, octets: Octets) -> None:
        """Take the octets of some extents, back to back, as tables show them."""
        targets = self._place[extents.row]
        mine = np.flatnonzero(targets >= 0)
        begins = np.cumsum(extents.length) - extents.length
        copy_runs(octets, begins[mine], extents.length[mine], (targets + extents.skip)[mine], self._octets)
        self._known[extents.row[mine]] = True

    def table(self, capture_ids: pa.Array, sources: Mapping[int, Source]) -> pa.Table:
        """Rows of table stream_state, when all octets were taken."""
        self._take_unclear(sources)
        self._take_again(sources)
        rows, chosen = self._rows, self.segments.take(pa.array(self._rows))
        held = self._place[rows] >= 0
        place = column(chosen, "place")
        shown = held & self._known[rows]  # without strays and copies, of which no stream has an octet
        lengths = np.where(held, column(chosen, "captured_octets"), 0)
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
        validity = pa.array(shown).buffers()[1] if len(rows) else None
        payload = pa.Array.from_buffers(pa.binary(), len(rows), [validity, pa.py_buffer(offsets), pa.py_buffer(self._octets)])
        stream = self.reassembly.stream_of[rows]
        role = np.where(held, -1, self.detected.roles[stream, self._side()[rows]])
        columns = {name: chosen.column(name) for name in HEADERS} | {other: chosen.column(name) for name, other in RENAMED.items()}
        columns |= {
            "stream_id": self.reassembly.streams.stream_id.take(pa.array(stream)),
            "source": constant(self.options.source, len(rows)),
            "capture_id": capture_ids.take(chosen.column("capture").combine_chunks()),
            "place": pa.array(np.where(place >= 0, place, -1)),
            "role": coded(words.ROLES, role),
            "payload": payload,
        }
        return as_table("stream_state", columns)

    def _side(self) -> NDArray[np.int64]:
        """The side that sent each segment."""
        return np.where(column(self.segments, "forward"), 0, 1)

    def _with_octets(self) -> Bools:
        """Per side of each stream, whether its octets are kept: those of STOMP, and the beginning of a stream that may become STOMP.

        Where the true beginning of a stream does not tell its protocol, it is EOLs and a part of a command, and no secret.
        """
        unclear = (self.detected.roles == UNKNOWN) & self.reassembly.streams.sides.synced
        found: Bools = self.detected.kept[:, None] | unclear
        return found

    def _take_unclear(self, sources: Mapping[int, Source]) -> None:
        """Take the octets of sides that are kept though their streams are not: nothing in them is to be masked."""
        e = self.reassembly.extents
        mine = e.take(np.flatnonzero((self._place[e.row] >= 0) & ~self.detected.kept[e.stream]))
        if len(mine):
            self.take(mine, tcp.gather(mine, self.segments, sources))

    def _take_again(self, sources: Mapping[int, Source]) -> None:
        """Take the octets that were captured again."""
        if not len(self.reassembly.overlaps):
            return
        one, two = captured_twice(self.reassembly)
        mine = np.flatnonzero((self._place[one.row] >= 0) & (self._place[two.row] >= 0))
        one, two = one.take(mine), two.take(mine)
        kept, again = (tcp.gather(part, self.segments, sources) for part in (one, two))
        at = np.cumsum(one.length) - one.length
        copy_again(self._octets, self._place[one.row] + one.skip, self._place[two.row] + two.skip, kept, again, at, one.length)
        self._known[two.row] = True


def segments_of(rows: pa.Table, order: Mapping[str, int], paths: Sequence[str]) -> pa.Table:
    """Rows of table stream_state as segments of a run.

    Those whose captures are still where they were are read there again. The others carry the octets that were kept; an octet that
    was not is missing. `order` are the ranks of the captures, by id, and `paths` their files by rank.
    """
    names = pa.array(list(order), pa.string())
    capture = pa.array(list(order.values()), pa.int32()).take(pc.index_in(rows.column("capture_id").combine_chunks(), names))
    place, captured = (column(rows, name) for name in ("place", "captured_octets"))
    endpoints = fixed_rows(rows.column("endpoints"), 36)
    headers = header_begins(endpoints, *(column(rows, name) for name in ("forward", "seq", "ack")))
    there = np.zeros(rows.num_rows, np.bool_)
    for rank in pc.unique(capture).to_pylist():
        mine = np.flatnonzero(capture.to_numpy() == rank)
        there[mine] = still_there(paths[rank], place[mine], captured[mine], headers[mine])
    role = pc.index_in(rows.column("role").combine_chunks(), pa.array(words.ROLES)).fill_null(-1).to_numpy(zero_copy_only=False)
    payload = rows.column("payload").combine_chunks()
    missing = ~there & (role < 0) & payload.is_null().to_numpy(zero_copy_only=False)
    columns = {
        "capture": capture,
        "captured_octets": pa.array(np.where(missing, 0, captured)),
        "place": pa.array(np.where(there, place, -1)),
        "earlier": pa.array(np.where(there, NEW, np.where(role < 0, KEPT, NOT_KEPT + role)).astype(np.int8)),
        "payload": pc.if_else(pa.array(there), pa.scalar(None, pa.binary()), payload),
    }
    columns |= {name: rows.column(RENAMED.get(name, name)) for name in SEGMENTS.names if name not in columns}
    return pa.table([columns[name] for name in SEGMENTS.names], names=SEGMENTS.names).cast(SEGMENTS)


def _flows(segments: pa.Table) -> Int64s:
    """The number of each row's flow; rows of a flow are adjacent."""
    begins = np.zeros(segments.num_rows, np.int64)
    for name in ("flow", "endpoints"):
        values = segments.column(name).combine_chunks()
        begins[1:] |= pc.not_equal(values.slice(1), values.slice(0, max(len(values) - 1, 0))).to_numpy(zero_copy_only=False)
    return np.cumsum(begins)
