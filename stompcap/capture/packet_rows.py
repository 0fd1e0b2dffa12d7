"""TCP packets as an analyst reads them, addresses as text, with payload: the rows of `spark.read.format("pcap")`."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from stompcap.capture.segments import carried, read, segment_batch
from stompcap.capture.splits import Split
from stompcap.columns import U8, Octets

PACKETS = pa.schema(
    [
        pa.field("path", pa.string(), False),
        pa.field("packet", pa.int64(), False),  # from 1, as Wireshark counts
        pa.field("ts_ns", pa.int64()),  # null where the capture has no times
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("src_ip", pa.string(), False),
        pa.field("src_port", pa.int32(), False),
        pa.field("dst_ip", pa.string(), False),
        pa.field("dst_port", pa.int32(), False),
        pa.field("seq", pa.int64(), False),
        pa.field("ack", pa.int64(), False),
        pa.field("flags", pa.int32(), False),  # FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32
        pa.field("window", pa.int32(), False),  # unscaled
        pa.field("payload_octets", pa.int64(), False),  # by the IP length; `payload` is shorter where the snapshot length cut it
        pa.field("payload", pa.binary(), False),
    ]
)
BATCH_PACKETS = 8192
BATCH_OCTETS = 1 << 28  # of payload; one packet may exceed it


def packets(what: str | Split, *, tunnels: bool = True) -> Iterator[pa.RecordBatch]:
    """The TCP packets of a capture file, or of a part of one, as batches of the PACKETS schema; otherwise as `read_segments`."""
    source, batches = read(what, BATCH_PACKETS, tunnels=tunnels)
    for batch in batches:
        if batch.used:
            yield from _slices(source.path, batch.records.octets, segment_batch(batch, 0, carry=False))
        source.release(batch.records.begin, batch.records.end)


def _slices(path: str, octets: Octets, segments: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Segments with their payloads, cut so that no batch has much more than BATCH_OCTETS of payload."""
    sizes = segments.column("captured_octets").to_numpy()
    parts = (np.cumsum(sizes) - sizes) // BATCH_OCTETS
    for part in np.unique(parts).tolist():
        begin, end = np.searchsorted(parts, [part, part + 1])
        yield packet_batch(path, octets, segments.slice(begin, end - begin))


def packet_batch(path: str, octets: Octets, segments: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of SEGMENTS as PACKETS."""
    count = len(segments)
    ends = np.frombuffer(b"".join(segments.column("endpoints").to_pylist()), np.uint8).reshape(count, 2, 18)
    forward = segments.column("forward").to_numpy(zero_copy_only=False)
    rows = np.arange(count)
    source, target = ends[rows, np.where(forward, 0, 1)], ends[rows, np.where(forward, 1, 0)]
    ts_ns = segments.column("ts_ns").to_numpy()
    columns = {
        "path": pa.repeat(path, count),
        "ts_ns": pa.array(ts_ns, mask=ts_ns == 0),
        "ts": pa.array(ts_ns // 1000, PACKETS.field("ts").type, mask=ts_ns == 0),
        "src_ip": addresses(source[:, :16]),
        "src_port": ports(source),
        "dst_ip": addresses(target[:, :16]),
        "dst_port": ports(target),
        "payload_octets": segments.column("wire_octets"),
        "payload": payloads(octets, segments),
    }
    arrays = [columns[name] if name in columns else segments.column(name) for name in PACKETS.names]
    return pa.RecordBatch.from_arrays(arrays, schema=PACKETS)


def payloads(octets: Octets, segments: pa.RecordBatch) -> pa.Array:
    """The captured payload of each segment."""
    position = segments.column("file_offset").to_numpy()
    copies = {row: segments.column("payload")[row].as_py() for row in np.flatnonzero(position < 0).tolist()}
    return carried(octets, position, segments.column("captured_octets").to_numpy(), copies)


def address(octets: bytes) -> str:
    """16 octets as the text of an address; IPv4-mapped ones as IPv4."""
    ip = ipaddress.IPv6Address(octets)
    return str(ip.ipv4_mapped or ip)


def addresses(rows: U8) -> pa.Array:
    """Addresses as text; each distinct one is formatted once."""
    distinct, index = np.unique(np.ascontiguousarray(rows).view("V16").ravel(), return_inverse=True)
    return pa.array([address(one.tobytes()) for one in distinct], pa.string()).take(pa.array(index))


def ports(ends: U8) -> pa.Array:
    """The ports of endpoints."""
    return pa.array(ends[:, 16].astype(np.int32) << 8 | ends[:, 17])
