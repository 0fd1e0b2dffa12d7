"""Results of reassembly, as columns: streams, and which octets of which segments make them up.

Sides are named by endpoint, not by role: side 0 is what the low endpoint (the smaller address and port) sent. Where the handshake
does not show the client, it is found from the octets, by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
_INT32, _INT8, _INT64 = np.empty(0, np.int32), np.empty(0, np.int8), np.empty(0, np.int64)


@dataclass(frozen=True)
class Sides:
    """What is known of each side of each stream; arrays of shape (streams, 2), second index the side."""

    octets: Int64s  # length of the stream: gaps included, up to the FIN
    segments: Int64s  # segments that carried octets of the stream
    retransmitted_octets: Int64s
    duplicate_segments: Int64s  # copies of a packet made by the capture, in none of the other counters
    bad_checksum_segments: Int64s  # segments, with octets or without, whose TCP checksum is wrong as captured
    out_of_order_segments: Int64s
    gap_octets: Int64s  # octets missing from the capture
    truncated_octets: Int64s  # those of them cut by the snapshot length
    stray_segments: Int64s  # segments with impossible sequence numbers, left out
    stray_octets: Int64s  # the octets that they carried
    synced: NDArray[np.bool_]  # offset 0 is the true beginning
    fin_ns: Int64s  # time of the side's FIN, -1: none captured
    rst_ns: Int64s  # time of its RST, -1: none captured
    close_order: Int64s  # the last place in wire order before its first FIN or RST, -1: none captured


@dataclass(frozen=True)
class Streams:
    """One entry per connection, in order of flow and time."""

    stream_id: pa.StringArray
    low: NDArray[np.uint8]  # (streams, 16) address of the low endpoint, IPv4 mapped
    low_port: NDArray[np.int32]
    high: NDArray[np.uint8]
    high_port: NDArray[np.int32]
    first_ns: Int64s
    last_ns: Int64s
    initiator: NDArray[np.int8]  # side that opened it, by the handshake; -1: not captured
    syn_seen: NDArray[np.bool_]
    synack_seen: NDArray[np.bool_]
    history: list[str]  # Zeek's letters, upper case for the low endpoint
    close_kind: NDArray[np.int8]  # of the first FIN or RST, index of words.CLOSE_KINDS: fin, rst, open
    closed_by: NDArray[np.int8]  # side of the first FIN or RST; 2: both; -1: open, or unknown
    rst_by: NDArray[np.int8]  # side of the first RST; -1: none
    close_ns: Int64s  # time of the first FIN or RST, -1: open
    first_capture: NDArray[np.int32]
    first_packet: Int64s
    outer: Int64s  # encapsulation of its first packet (stompcap.capture.outer)
    clock_steps_back: Int64s  # packets earlier than the packet before them
    acks_against_time: Int64s  # segments behind octets of the other side, as they acknowledge them, that have a later time
    clock_min_ns: Int64s  # bounds of the high endpoint's clock less the low one's, since a clock stepped (stompcap.tcp.clocks)
    clock_max_ns: Int64s
    after_idle: NDArray[np.bool_]  # it began behind a silence of its flow: none of the connections before it goes on
    sides: Sides

    def __len__(self) -> int:
        return len(self.first_packet)

    def take(self, which: Int64s) -> Streams:
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

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    offset: Int64s
    length: Int64s
    row: Int64s  # row of the segment in the input
    skip: Int64s  # octets of its payload before the stretch
    order: Int64s = field(default_factory=lambda: _INT64)
    """Where it stands among those of both sides of the stream in wire order, from 1; 0 for octets captured again."""

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Extents:
        """Some of them, by index, mask or slice."""
        return Extents(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


NO_EXTENTS = Extents(_INT32, _INT8, _INT64, _INT64, _INT64, _INT64, _INT64)


@dataclass(frozen=True)
class ZeroWindows:
    """Stalls: `side` could not send from `begin_ns` to `end_ns`, because the other side offered no window."""

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    begin_ns: Int64s
    end_ns: Int64s


@dataclass(frozen=True)
class Retransmissions:
    """Segments that brought octets again, later than a copy made by the capture can come."""

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    ts_ns: Int64s


@dataclass(frozen=True)
class ClockSteps:
    """Steps of clocks: of that `side`, 2 where it is not known which; the first segment behind it, and the bounds up to it.

    `place` is 1 + the number of that segment in its flow, in tables where it stands in wire order.
    """

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    ts_ns: Int64s
    place: Int64s
    min_ns: Int64s
    max_ns: Int64s


NO_STALLS = ZeroWindows(_INT32, _INT8, _INT64, _INT64)
NO_REPEATS = Retransmissions(_INT32, _INT8, _INT64)
NO_STEPS = ClockSteps(_INT32, _INT8, _INT64, _INT64, _INT64, _INT64)


@dataclass(frozen=True)
class Reassembly:
    """Result of `reassemble_columns`. `overlaps` are the octets captured again; `strays` the segments left out."""

    streams: Streams
    over: NDArray[np.bool_]  # which of them no later segment can belong to: their counters are final
    extents: Extents
    overlaps: Extents
    zero_windows: ZeroWindows
    retransmissions: Retransmissions
    clock_steps: ClockSteps
    stream_of: NDArray[np.int32]  # stream of each input row
    ordered: Int64s  # of each stream, the last place that was given in wire order: later results stand behind it


def covering(extents: Extents, overlaps: Extents, *, last: bool = False) -> Int64s:
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
