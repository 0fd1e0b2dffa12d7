"""Results of reassembly, as columns: streams, and which octets of which segments make them up.

Sides are named by endpoint, not by role: side 0 is what the low endpoint (the smaller address and port) sent. Where the handshake
does not show the client, it is found from the octets, by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from stompcap.columns import I8, I32, I64, U8, Bools

_INT32, _INT8, _INT64 = np.empty(0, np.int32), np.empty(0, np.int8), np.empty(0, np.int64)


@dataclass(frozen=True)
class Sides:
    """What is known of each side of each stream; arrays of shape (streams, 2), second index the side."""

    octets: I64  # length of the stream: gaps included, up to the FIN
    segments: I64  # segments that carried octets of the stream
    retransmitted_octets: I64
    duplicate_segments: I64  # copies of a packet made by the capture, in none of the other counters
    bad_checksum_segments: I64  # segments, with octets or without, whose TCP checksum is wrong as captured
    out_of_order_segments: I64
    gap_octets: I64  # octets missing from the capture
    truncated_octets: I64  # those of them cut by the snapshot length
    stray_segments: I64  # segments with impossible sequence numbers, left out
    stray_octets: I64  # the octets that they carried
    synced: Bools  # offset 0 is the true beginning
    fin_ns: I64  # time of the side's FIN, -1: none captured
    rst_ns: I64  # time of its RST, -1: none captured
    close_order: I64  # the last number in wire order before its first FIN or RST, -1: none captured


@dataclass(frozen=True)
class Streams:
    """One entry per connection, in order of flow and time."""

    stream_id: pa.StringArray
    low: U8  # (streams, 16) address of the low endpoint, IPv4 mapped
    low_port: I32
    high: U8
    high_port: I32
    first_ns: I64
    last_ns: I64
    initiator: I8  # side that opened it, by the handshake; -1: not captured
    syn_seen: Bools
    synack_seen: Bools
    history: list[str]  # Zeek's letters, upper case for the low endpoint
    close_kind: I8  # of the first FIN or RST, index of words.CLOSE_KINDS: fin, rst, open
    closed_by: I8  # side of the first FIN or RST; 2: both; -1: open, or unknown
    rst_by: I8  # side of the first RST; -1: none
    close_ns: I64  # time of the first FIN or RST, -1: open
    first_capture: I32
    first_packet: I64
    outer: I64  # encapsulation of its first packet (stompcap.capture.outer)
    clock_steps_back: I64  # packets earlier than the packet before them
    acks_against_time: I64  # segments behind octets of the other side, as they acknowledge them, that have a later time
    clock_min_ns: I64  # bounds of the high endpoint's clock less the low one's, since a clock stepped (stompcap.tcp.clocks)
    clock_max_ns: I64
    syn_rtt_ns: I64  # from SYN to SYN-ACK, -1 where it is not known which SYN was answered
    synack_rtt_ns: I64  # from SYN-ACK to its acknowledgement, likewise
    after_idle: Bools  # it began behind a silence of its flow: none of the connections before it goes on
    sides: Sides

    def __len__(self) -> int:
        return len(self.first_packet)

    def take(self, which: I64) -> Streams:
        """Some of them, by index."""
        sides = Sides(*(getattr(self.sides, name)[which] for name in Sides.__dataclass_fields__))
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("stream_id", "history", "sides")}
        return Streams(
            stream_id=self.stream_id.take(pa.array(which)),
            history=[self.history[i] for i in which.tolist()],
            sides=sides,
            **{name: column[which] for name, column in columns.items()},
        )


@dataclass(frozen=True)
class Extents:
    """Stretches of streams and the segments that supply them, sorted by stream, side and offset."""

    stream: I32
    side: I8
    offset: I64
    length: I64
    row: I64  # row of the segment in the input
    skip: I64  # octets of its payload before the stretch
    order: I64 = field(default_factory=lambda: _INT64)
    """Where it stands among those of both sides of the stream in wire order, from 1; 0 for octets captured again."""

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: I64 | Bools | slice) -> Extents:
        """Some of them, by index, mask or slice."""
        return Extents(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


NO_EXTENTS = Extents(_INT32, _INT8, _INT64, _INT64, _INT64, _INT64, _INT64)


@dataclass(frozen=True)
class ZeroWindows:
    """Stalls: `side` could not send from `begin_ns` to `end_ns`, because the other side offered no window."""

    stream: I32
    side: I8
    begin_ns: I64
    end_ns: I64


@dataclass(frozen=True)
class Retransmissions:
    """Segments that brought octets again, later than a copy made by the capture can come."""

    stream: I32
    side: I8
    ts_ns: I64


@dataclass(frozen=True)
class ClockSteps:
    """Steps of clocks: of that `side`, 2 where it is not known which; the first segment behind it, and the bounds up to it.

    `place` is 1 + the number of that segment in its flow; in tables it is the number in wire order of the first octets behind the step.
    """

    stream: I32
    side: I8
    ts_ns: I64
    place: I64
    min_ns: I64
    max_ns: I64


NO_STALLS = ZeroWindows(_INT32, _INT8, _INT64, _INT64)
NO_REPEATS = Retransmissions(_INT32, _INT8, _INT64)
NO_STEPS = ClockSteps(_INT32, _INT8, _INT64, _INT64, _INT64, _INT64)


@dataclass(frozen=True)
class Reassembly:
    """Result of `reassemble_columns`. `overlaps` are the octets captured again; `strays` the segments left out."""

    streams: Streams
    over: Bools  # which of them no later segment can belong to: their counters are final
    extents: Extents
    overlaps: Extents
    zero_windows: ZeroWindows
    retransmissions: Retransmissions
    clock_steps: ClockSteps
    stream_of: I32  # stream of each input row
    marks: U8  # of each input row, what it was taken for: the marks of stompcap.tcp.state
    acked_ns: I64  # of each input row, when all of its octets were acknowledged first (stompcap.tcp.acknowledged)
    ordered: I64  # of each stream, the last number given in wire order: later results have larger ones


def covering(extents: Extents, overlaps: Extents, *, last: bool = False) -> I64:
    """Index of the extent that has the first octet of each overlap, or the last octet."""
    at = overlaps.offset + overlaps.length - 1 if last else overlaps.offset
    group = extents.stream.astype(np.int64) * 2 + extents.side
    wanted = overlaps.stream.astype(np.int64) * 2 + overlaps.side
    # one number per side and offset; where those would not fit, the sides one by one
    span = int(max(extents.offset.max(initial=0), at.max(initial=0))) + 1
    if int(group[-1] + 1) < (1 << 62) // span:
        return np.searchsorted(group * span + extents.offset, wanted * span + at, "right") - 1
    begins, ends = np.searchsorted(group, wanted, "left"), np.searchsorted(group, wanted, "right")
    found = [
        begin + np.searchsorted(extents.offset[begin:end], offset, "right") - 1 for begin, end, offset in zip(begins, ends, at, strict=True)
    ]
    return np.array(found, np.int64)
