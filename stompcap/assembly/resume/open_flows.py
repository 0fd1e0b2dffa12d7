"""Flows that later captures may go on with: their segments, to be reassembled again together with those that come.

What is kept of a segment is its header and the places of its octets in the capture and in raw_frames
(`stompcap.assembly.resume.raw_places`); where they are not all in raw_frames, these octets too (`stompcap.assembly.resume.octets`). Of
connections that have shown no STOMP no octets are kept, but what they showed the sender to be. An open flow of many packets goes on by
the states of the machines instead (`stompcap.assembly.stateful_flows`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.assembly.parts import Part
from stompcap.assembly.resume import raw_places, segment_rows
from stompcap.assembly.resume.connects import layered
from stompcap.assembly.resume.octets import KeptOctets
from stompcap.assembly.resume.raw_places import RawPlaces
from stompcap.capture.files import Source
from stompcap.columns import I8, I64, Bools, Octets, column
from stompcap.options import Options
from stompcap.tcp.idle import lives, over
from stompcap.tcp.octets import captured_twice
from stompcap.tcp.results import Reassembly
from stompcap.transport import proxy
from stompcap.transport.detect import Detected
from stompcap.transport.stretches import Stretches

FEW_PACKETS = 1 << 9
"""Packets that are kept of a flow with an open connection; the state of one that has more is smaller, and costs less to go on with.

Where only one side was captured, the captures with the other may come a run later; where a connection was joined midway, its version is
told by what it says, not by CONNECTED: packets of these are kept until they are a block.
"""

MOST_PACKETS = 1 << 18
MOST_OCTETS = 1 << 27
"""Packets and octets that are kept where no state can be: the connections of a flow that has more end with the run, and go on as others."""


@dataclass(frozen=True)
class Lives:
    """Of each stream of a reassembly its flow, when that was last seen, whether a connection of it is open, and whether it goes on.

    `flow_of_row` is the flow of each segment. Later segments may belong to the streams that go on.
    """

    flow_of_row: I64
    flow: I64
    last_ns: I64
    some_open: Bools
    goes_on: Bools

    @staticmethod
    def of(segments: pa.Table, reassembly: Reassembly, options: Options, now_ns: int) -> Lives:
        """Those of the streams of these segments; `now_ns` is the latest capture time of their source."""
        flow_of_row = flow_numbers(segments)
        flow = np.zeros(len(reassembly.streams), np.int64)
        flow[reassembly.stream_of] = flow_of_row
        recent, last_ns, some_open = lives(reassembly.streams, flow)
        return Lives(flow_of_row, flow, last_ns, some_open, recent & ~over(now_ns - last_ns, options.idle_ns, some_open))


class OpenFlows:
    """The open flows of one reassembly; `states`: whether states can be kept."""

    def __init__(
        self, segments: pa.Table, reassembly: Reassembly, detected: Detected, options: Options, known: Lives, *, states: bool
    ) -> None:
        self.reassembly, self.detected, self.options = reassembly, detected, options
        flow_of_row, flow, goes_on = known.flow_of_row, known.flow, known.goes_on
        self._last_ns, self._some_open = known.last_ns, known.some_open
        kept_octets = np.bincount(flow_of_row, np.where(detected.is_stomp[reassembly.stream_of], column(segments, "captured_octets"), 0))
        packets = np.bincount(flow_of_row)
        forward = np.bincount(flow_of_row, column(segments, "forward"))
        large = np.zeros(packets.size, np.bool_)
        large[flow[goes_on & self._some_open]] = True
        large &= states & (packets > FEW_PACKETS) & (forward > 0) & (forward < packets)
        large[flow[goes_on & detected.is_stomp & ~reassembly.streams.sides.synced.all(axis=1)]] = False
        # of what layers have opened no octets lie in segments; where no states can be kept, such connections end with the run
        opened = detected.unopened.copy()
        opened[[stream for stream, stack in detected.stacks.items() if layered(stack)]] = True
        large[flow[goes_on & opened]] = states
        small = states | ((packets <= MOST_PACKETS) & (kept_octets <= MOST_OCTETS))
        small[flow[goes_on & opened]] = False
        ends = np.cumsum(packets)
        self.large_flows: list[tuple[int, int]] = list(zip((ends - packets)[large].tolist(), ends[large].tolist(), strict=True))
        """The rows, from and to, of each open flow of many packets."""

        self.large: Bools = large[flow]
        """Of each stream, whether it is of such a flow."""

        self.streams: Bools = goes_on & small[flow] & ~self.large
        """Of each other stream, whether later segments may belong to it."""

        self._rows: I64 = np.flatnonzero(self.streams[reassembly.stream_of])
        self._side: I64 = np.where(column(segments, "forward"), 0, 1)
        held = np.zeros(segments.num_rows, np.bool_)
        held[self._rows] = detected.is_stomp[reassembly.stream_of[self._rows]]
        there = detected.carried.stretches
        there = there.take(np.flatnonzero((self.streams & detected.is_stomp)[there.stream] & (there.at < segments.num_rows)))
        self._places = RawPlaces(column(segments, "captured_octets"))
        self._places.add(there.at, there.offset - there.skip, there.length)
        elsewhere = self._places.offsets() >= 0
        if len(reassembly.overlaps):  # octets that came again are compared with those shown
            for again in captured_twice(reassembly):
                elsewhere[again.row] = False
        self._octets = KeptOctets(segments, held, elsewhere)

    def ids(self) -> pa.Array:
        """The ids of their streams."""
        return self.reassembly.streams.stream_id.filter(pa.array(self.streams))

    def take(self, stretches: Stretches, octets: Octets) -> None:
        """Take the octets of some stretches, back to back, as tables show them."""
        self._octets.take(stretches, octets)

    def part(self, capture_ids: pa.Array, sources: Mapping[int, Source], client: I8) -> Part:
        """The rows of table stream_state, when all octets were taken. `client` is the side of each stream's client."""
        headers = proxy.headers_of(Stretches.of_extents(self.reassembly.extents), self.detected.stacks)  # no table shows them
        self._octets.take(headers, self.detected.carried.read(headers))
        equal = self._octets.complete(self.reassembly, sources)
        plain = np.ones(len(self.streams), np.bool_)
        plain[list(self.detected.stacks)] = False  # offsets in raw_frames are TCP's
        equal = equal.take(np.flatnonzero(plain[equal.stream]))
        self._places.add(equal.row, equal.offset - equal.skip, equal.length)
        offsets = self._places.offsets()
        self._octets.drop(offsets >= 0)
        stream = self.reassembly.stream_of[self._rows]
        ids, role = self.reassembly.streams.stream_id.take(pa.array(stream)), self.detected.roles[stream, self._side[self._rows]]
        more = raw_places.columns_of(offsets[self._rows], client[stream] ^ self._side[self._rows])
        more |= {"last_ns": pa.array(self._last_ns[stream]), "some_open": pa.array(self._some_open[stream])}
        rows = segment_rows.of_segments(self._octets, self._rows, ids, role, capture_ids, self.options.source, more)
        return Part({"stream_state": rows}, going_on=self.ids())


def flow_numbers(segments: pa.Table) -> I64:
    """The number of each row's flow; rows of a flow are adjacent."""
    begins = np.zeros(segments.num_rows, np.int64)
    for name in ("flow", "endpoints"):
        values = segments.column(name).combine_chunks()
        begins[1:] |= pc.not_equal(values.slice(1), values.slice(0, max(len(values) - 1, 0))).to_numpy(zero_copy_only=False)
    return np.cumsum(begins)
