"""Segments of whole flows to TCP byte streams, as columns: what Spark's tasks and `stompcap.tcp.reassemble` both run.

Sides are named by endpoint, not by role: side 0 is what the low endpoint (the smaller address and port) sent. Who is
the client is for those to say who know the octets, where the handshake does not tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stompcap.capture.outer import KEYED, VLAN_BITS
from stompcap.tcp import assign as a
from stompcap.tcp import order as o

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Sides:
    """What is known of each side of each stream; arrays of shape (streams, 2), second index the side."""

    octets: Int64s  # length of the stream: gaps included, up to the FIN
    segments: Int64s  # segments that carried octets of the stream
    retransmitted_octets: Int64s
    out_of_order_segments: Int64s
    gap_octets: Int64s  # octets the capture lacks
    truncated_octets: Int64s  # the part of them that the snapshot length cut
    stray_segments: Int64s  # segments with impossible sequence numbers, left out
    synced: NDArray[np.bool_]  # offset 0 is the true beginning
    fin_ns: Int64s  # time of the side's FIN, -1 where none was captured
    rst_ns: Int64s  # time of its RST, -1


@dataclass(frozen=True)
class Streams:
    """One entry per connection, in order of flow and time."""

    stream_id: pa.StringArray
    row: Int64s  # row of its first packet in the input
    low: NDArray[np.uint8]  # (streams, 16) address of the low endpoint, IPv4 mapped
    low_port: NDArray[np.int32]
    high: NDArray[np.uint8]
    high_port: NDArray[np.int32]
    first_ns: Int64s
    last_ns: Int64s
    initiator: NDArray[np.int8]  # side that opened it by the handshake, -1: not seen
    syn_seen: NDArray[np.bool_]
    synack_seen: NDArray[np.bool_]
    history: list[str]  # Zeek's letters, upper case what the low endpoint did
    close_kind: NDArray[np.int8]  # index of words.CLOSE_KINDS: fin, rst, open
    closed_by: NDArray[np.int8]  # side, 2: both, -1: open
    close_ns: Int64s  # time of the first FIN or RST, -1: open
    first_capture: NDArray[np.int32]
    first_packet: Int64s
    outer: Int64s  # what lay around its first packet (stompcap.capture.outer)
    sides: Sides

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Extents:
    """Stretches of streams and the segments that have their octets, sorted by stream, side and offset."""

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    offset: Int64s
    length: Int64s
    row: Int64s  # row of the segment in the input
    skip: Int64s  # octets of its payload before the stretch

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Extents:
        """Some of them, by index, mask or slice."""
        return Extents(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class ZeroWindows:
    """Stalls: `side` could not send from `begin_ns` to `end_ns`, for the other side offered no window."""

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    begin_ns: Int64s
    end_ns: Int64s


@dataclass(frozen=True)
class Retransmissions:
    """Segments that brought octets again, later than a copy made by the capture can be."""

    stream: NDArray[np.int32]
    side: NDArray[np.int8]
    ts_ns: Int64s


@dataclass(frozen=True)
class Reassembly:
    """What `reassemble_columns` gives. `overlaps` are the octets captured again; `strays` what was left out."""

    streams: Streams
    extents: Extents
    overlaps: Extents
    zero_windows: ZeroWindows
    retransmissions: Retransmissions
    stream_of: NDArray[np.int32]  # stream of each input row


COPY_NS = 3_000_000  # a capture that sees a packet twice does so within milliseconds; no retransmission comes as soon


def reassemble_columns(segments: pa.Table, source: str = "default", overlap: str = "first") -> Reassembly:
    """Reassemble whole flows.

    `segments`: rows of the SEGMENTS schema, sorted by flow, endpoints, capture and packet, so that a flow's rows
    are adjacent and in wire order. `overlap`: whether the `first` or the `last` octets captured stand where copies
    differ; counters and times are those of the octets kept.
    """
    if overlap not in ("first", "last"):
        raise ValueError(f"overlap is 'first' or 'last', not {overlap!r}")
    columns = {
        name: column(segments, name) for name in ("flow", "ts_ns", "seq", "ack", "flags", "window", "wire_octets", "captured_octets")
    }
    forward = column(segments, "forward").astype(np.uint8)
    endpoints = fixed_rows(segments.column("endpoints"), 36)
    count = segments.num_rows
    stream_of, position, marks = np.empty(count, np.int32), np.zeros(count, np.int64), np.zeros(count, np.uint8)
    zeros = np.empty((int(np.count_nonzero(columns["window"] == 0)), 4), np.int64)
    state, letters, stalls = a.assign(
        columns["flow"], endpoints, forward, columns["ts_ns"], columns["seq"], columns["ack"], columns["flags"],
        columns["window"], columns["wire_octets"], stream_of, position, marks, zeros,
    )  # fmt: skip
    starts, rows = o.grouped(stream_of, forward, marks, columns["wire_octets"], len(state))
    extent_rows, overlap_rows, tallies = o.order(
        state, starts, rows, position, marks, columns["wire_octets"], columns["captured_octets"], overlap == "last"
    )
    extents, overlaps = as_extents(extent_rows), as_extents(overlap_rows)
    streams = as_streams(segments, state, letters, tallies, endpoints, source)
    zero = zeros[:stalls]
    windows = ZeroWindows(zero[:, 0].astype(np.int32), zero[:, 1].astype(np.int8), zero[:, 2].copy(), zero[:, 3].copy())
    return Reassembly(streams, extents, overlaps, windows, retransmissions(extents, overlaps, columns["ts_ns"]), stream_of)


def column(segments: pa.Table, name: str) -> NDArray[Any]:
    """A column of fixed width as one contiguous array."""
    chunked = segments.column(name)
    array = chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False))


def fixed_rows(values: pa.ChunkedArray, width: int) -> NDArray[np.uint8]:
    """A binary column whose values all have `width` octets as a matrix."""
    parts = []
    for chunk in values.chunks:
        _, offsets, data = chunk.buffers()
        begin = np.frombuffer(offsets, np.int32)[chunk.offset] if len(chunk) else 0
        octets = np.frombuffer(data, np.uint8)[begin : begin + len(chunk) * width] if len(chunk) else np.empty(0, np.uint8)
        parts.append(octets.reshape(-1, width))
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty((0, width), np.uint8)


def as_extents(rows: Int64s) -> Extents:
    """The kernel's rows as columns."""
    stream, side, offset, length, row, skip = (np.ascontiguousarray(rows[:, i]) for i in range(6))
    return Extents(stream.astype(np.int32), side.astype(np.int8), offset, length, row, skip)


def as_streams(
    segments: pa.Table,
    state: Int64s,
    letters: NDArray[np.uint8],
    tallies: Int64s,
    endpoints: NDArray[np.uint8],
    source: str,
) -> Streams:
    """The kernels' states and tallies as named columns."""
    n = len(state)
    row = state[:, a.FIRST_ROW].copy()
    ends = endpoints[row]
    outer = pc.take(segments.column("outer"), pa.array(row)).to_numpy()
    vlans = np.where(outer & KEYED, outer >> 32 & VLAN_BITS, 0)
    by_side = tallies.reshape(n, 2, o.TALLIES)
    own = state[:, a.SIDES :].reshape(n, 2, a.WIDTH)
    sides = Sides(
        octets=by_side[:, :, o.OCTETS],
        segments=by_side[:, :, o.SEGMENTS],
        retransmitted_octets=by_side[:, :, o.AGAIN],
        out_of_order_segments=by_side[:, :, o.OUT_OF_ORDER],
        gap_octets=by_side[:, :, o.GAP],
        truncated_octets=by_side[:, :, o.TRUNCATED],
        stray_segments=by_side[:, :, o.STRAY],
        synced=by_side[:, :, o.SYNCED] != 0,
        fin_ns=np.where(own[:, :, a.FIN_SEEN] != 0, own[:, :, a.FIN_NS], -1),
        rst_ns=np.where(own[:, :, a.RST_NS] != 0, own[:, :, a.RST_NS], -1),
    )
    return Streams(
        stream_id=stream_ids(source, ends, state[:, a.ORIGIN_NS], state[:, a.ORIGIN_SEQ], vlans),
        row=row,
        low=ends[:, :16].copy(),
        low_port=ports(ends, 16),
        high=ends[:, 18:34].copy(),
        high_port=ports(ends, 34),
        first_ns=state[:, a.FIRST_NS].copy(),
        last_ns=state[:, a.LAST_NS].copy(),
        initiator=state[:, a.INITIATOR].astype(np.int8),
        syn_seen=state[:, a.SYN_SEEN] != 0,
        synack_seen=state[:, a.SYNACK_SEEN] != 0,
        history=[spell(letters[i, : state[i, a.LETTERS]].tobytes(), by_side[i, :, o.GAP] > 0) for i in range(n)],
        close_kind=state[:, a.CLOSE_KIND].astype(np.int8),
        closed_by=state[:, a.CLOSED_BY].astype(np.int8),
        close_ns=np.where(state[:, a.CLOSE_KIND] == a.CLOSE_OPEN, -1, state[:, a.CLOSE_NS]),
        first_capture=pc.take(segments.column("capture"), pa.array(row)).to_numpy(),
        first_packet=pc.take(segments.column("packet"), pa.array(row)).to_numpy(),
        outer=outer,
        sides=sides,
    )


def ports(ends: NDArray[np.uint8], at: int) -> NDArray[np.int32]:
    """The port that stands in two columns of the endpoints, big endian."""
    return ends[:, at].astype(np.int32) << 8 | ends[:, at + 1]


def stream_ids(source: str, ends: NDArray[np.uint8], ts_ns: Int64s, seq: Int64s, vlans: Int64s) -> pa.StringArray:
    """20 hexadecimal digits a connection: of the capture point, its endpoints, time and number of its first SYN.

    And of its VLAN ids where they are part of the flow; 0 for any other.
    """
    tails = np.stack([ts_ns, seq], axis=1).astype(">i8")
    known = hashlib.blake2b(source.encode() + b"\0", digest_size=10)
    ids = []
    for i in range(len(ends)):
        digest = known.copy()
        digest.update(ends[i].tobytes() + tails[i].tobytes())
        if vlans[i]:
            digest.update(int(vlans[i]).to_bytes(8, "big"))
        ids.append(digest.hexdigest())
    return pa.array(ids, pa.string())


def spell(codes: bytes, gaps: Iterable[bool]) -> str:
    """A history as letters: the low endpoint's in upper case; `g` where a side has gaps."""
    letters = [chr(a.HISTORY_LETTERS[code & 0x7F]) for code in codes]
    words = [letter if code & 0x80 else letter.upper() for letter, code in zip(letters, codes, strict=True)]
    return "".join(words) + "".join(g for g, missing in zip("Gg", gaps, strict=True) if missing)


def history_for(history: str, client: int) -> str:
    """A history with the client's letters in upper case, `client` being its side."""
    return history.swapcase() if client == 1 else history


def retransmissions(extents: Extents, overlaps: Extents, ts_ns: Int64s) -> Retransmissions:
    """The overlaps that are retransmissions: later than the octets kept by more than copies of one packet can be."""
    if not len(overlaps):
        return Retransmissions(overlaps.stream, overlaps.side, np.empty(0, np.int64))
    kept = covering(extents, overlaps)
    late = ts_ns[overlaps.row] - ts_ns[extents.row[kept]] > COPY_NS
    rows, first = np.unique(overlaps.row[late], return_index=True)
    return Retransmissions(overlaps.stream[late][first], overlaps.side[late][first], ts_ns[rows])


def covering(extents: Extents, overlaps: Extents, *, last: bool = False) -> Int64s:
    """Index of the extent that has the first octet of each overlap, or the last octet."""
    at = overlaps.offset + overlaps.length - 1 if last else overlaps.offset
    group = extents.stream.astype(np.int64) * 2 + extents.side
    wanted = overlaps.stream.astype(np.int64) * 2 + overlaps.side
    # one number a side and offset; where those would not fit, the sides one by one
    span = int(max(extents.offset.max(initial=0), at.max(initial=0))) + 1
    if int(group[-1] + 1) < (1 << 62) // span:
        return np.searchsorted(group * span + extents.offset, wanted * span + at, "right") - 1
    begins, ends = np.searchsorted(group, wanted, "left"), np.searchsorted(group, wanted, "right")
    found = [
        begin + np.searchsorted(extents.offset[begin:end], offset, "right") - 1 for begin, end, offset in zip(begins, ends, at, strict=True)
    ]
    return np.array(found, np.int64)
