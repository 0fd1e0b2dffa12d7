"""Sessions laid out as pcap records, and clones of them: the same octets, with addresses, times and checksums patched in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stompcap.columns import I64
from stompcap.generate.wire import Session

FILE_HEADER = np.array([0xA1B23C4D, 0x00040002, 0, 0, 1 << 18, 1], dtype="<u4").tobytes()
"""Of a pcap file with nanoseconds, little-endian, Ethernet."""
RECORD_HEADER = 16
IP = RECORD_HEADER + 14
SOURCE, TARGET = IP + 12, IP + 16
EPOCH_NS = 1_790_000_000_000_000_000
PAUSE_NS = 1_000_000
FIRST_CLIENT = 10 << 24



class Group:
    """Sessions laid out as pcap records in time order, and the positions of the columns to patch."""

    def __init__(
        self, sessions: Sequence[Session], spread_ns: int = 100_000_000, among: int = 0, hosts: Sequence[int] = ()
    ) -> None:
        """Starts of sessions, or of the first `among` of them, are spread over some time: connections overlap but do not begin at once.

        `hosts` numbers the clients' addresses where some sessions share one.
        """
        self.sessions = sessions
        self.hosts = np.array(hosts or range(len(sessions)), dtype=np.int64)
        self.frames = sum(session.frames for session in sessions)
        self.starts = [slot * spread_ns // (among or len(sessions)) for slot in range(len(sessions))]
        packets = sorted(
            (
                (packet.ns + self.starts[slot], slot, order, packet)
                for slot, session in enumerate(sessions)
                for order, packet in enumerate(session.packets)
            ),
            key=lambda entry: entry[:3],
        )
        self.ns = np.array([entry[0] for entry in packets], dtype=np.int64)
        self.slot = np.array([entry[1] for entry in packets], dtype=np.int64)
        lengths = np.array([len(entry[3].octets) for entry in packets], dtype=np.int64)
        headers = np.zeros((len(packets), 4), dtype="<u4")
        headers[:, 2], headers[:, 3] = lengths, [entry[3].wire_octets for entry in packets]
        self.octets = np.frombuffer(
            b"".join(header.tobytes() + entry[3].octets for header, entry in zip(headers, packets, strict=True)),
            dtype=np.uint8,
        ).copy()
        self.start: I64 = np.concatenate(([0], np.cumsum(lengths + RECORD_HEADER)))[:-1]
        from_client = np.array([entry[3].from_client for entry in packets])
        self.address: I64 = self.start + np.where(from_client, SOURCE, TARGET)
        ip = self.start + IP
        head = (self.octets[ip] & 15).astype(np.int64) * 4
        total = self._words(ip + 2)
        self.payload_octets = int((total - head - (self.octets[ip + head + 12] >> 4).astype(np.int64) * 4).sum())
        # A checksum that was cut off is not patched: its offset is that of the IP header's, which is patched after it.
        complete = lengths >= 14 + head + 18
        self._sums = np.stack((np.where(complete, ip + head + 16, ip + 10), ip + 10))
        self._known = np.stack([-self._words(at) - self._words(self.address) - self._words(self.address + 2) for at in self._sums])

    @property
    def span_ns(self) -> int:
        """The time from one clone to the next."""
        return int(self.ns[-1]) + PAUSE_NS

    def clone(self, number: int) -> memoryview:
        """The octets of the clone of that number; valid until the next call."""
        ns = EPOCH_NS + number * self.span_ns + self.ns
        self._put(self.start, np.stack((ns // 1_000_000_000, ns % 1_000_000_000), axis=1).astype("<u4"))
        client = FIRST_CLIENT + 1 + number * (int(self.hosts.max()) + 1) + self.hosts[self.slot]
        self._put(self.address, client.astype(">u4").reshape(-1, 1))
        for at, known in zip(self._sums, self._known, strict=True):  # RFC 1624, equation 3
            self._put(at, (-(known + (client >> 16) + (client & 0xFFFF)) % 0xFFFF).astype(">u2").reshape(-1, 1))
        return self.octets.data

    def _words(self, at: I64) -> I64:
        """The 16-bit words at some offsets."""
        return self.octets[at].astype(np.int64) * 256 + self.octets[at + 1]

    def _put(self, position: I64, values: np.ndarray) -> None:
        """Write the octets of each row of `values` at the position of that row."""
        octets = np.ascontiguousarray(values).view(np.uint8)
        self.octets[position[:, None] + np.arange(octets.shape[1])] = octets
