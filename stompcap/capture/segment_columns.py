"""The columns of a captured TCP segment, from capture to reassembly.

Some tens of octets per packet: where its octets lie in the file, not the octets. A packet whose octets do not lie there (from a
compressed capture, reassembled from fragments, or dissected by scapy) carries them in `payload` instead.
"""

import pyarrow as pa

SEGMENTS = pa.schema(
    [
        pa.field("capture", pa.int32(), False),  # rank of the capture in its run (stompcap.capture.rotation)
        pa.field("packet", pa.int64(), False),  # 1-based number in the file, as Wireshark counts
        pa.field("ts_ns", pa.int64(), False),  # nanoseconds since the epoch
        pa.field("flow", pa.int64(), False),  # hash of `endpoints`
        pa.field("endpoints", pa.binary(), False),  # 36 octets: low address (16, IPv4 mapped), low port (2, big endian), high, high
        pa.field("forward", pa.bool_(), False),  # sent by the low endpoint
        pa.field("seq", pa.int64(), False),  # 0 .. 2^32-1
        pa.field("ack", pa.int64(), False),
        pa.field("flags", pa.int32(), False),  # TCP flags, FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32
        pa.field("window", pa.int32(), False),  # as in the header, unscaled
        pa.field("ip_id", pa.int32(), False),  # IPv4 identification, -1 for IPv6
        pa.field("ttl", pa.int32(), False),
        pa.field("wire_octets", pa.int64(), False),  # TCP payload by the IP length
        pa.field("captured_octets", pa.int64(), False),  # those of them in the file (snaplen)
        pa.field("bad_checksum", pa.bool_(), False),  # as captured, often because of checksum offloading; false where the packet was cut
        pa.field("file_offset", pa.int64(), False),  # file offset of the payload; -1 where `payload` carries it
        pa.field("outer", pa.int64(), False),  # encapsulation (stompcap.capture.outer)
        pa.field("earlier", pa.int8(), False),  # STATE, NEW, KEPT, or NOT_KEPT and the role of its sender (stompcap.stomp.peek)
        pa.field("payload", pa.binary(), True),
    ]
)
STATE, NEW, KEPT, NOT_KEPT = -1, 0, 1, 2
"""Values of `earlier`. STATE: no segment, but a part of the state that an earlier run left of the flow. NEW: one of this run's captures.
KEPT, NOT_KEPT: a segment of an earlier run's capture, with its octets as tables show them or without octets."""

SPILLED = -2  # a file offset from here down is one in the task's spill file: SPILLED - file_offset
FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
ELSEWHERE = 1 << 16
"""A flag of no TCP header: the packet is known from another capture of the source, or of a connection that another capture point gives
(stompcap.tcp.capture_points)."""

STEPPED = 1 << 17
"""Another: before this packet a clock stepped, between two captures (stompcap.tcp.file_steps)."""
