"""One TCP connection written as Ethernet packets: sequence numbers, acknowledgements, checksums, times."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

IP_OCTETS, TCP_OCTETS = 20, 20
STOMP_PORT = 61613
SYN, FIN, RST, PSH, ACK = 0x02, 0x01, 0x04, 0x08, 0x10
MSS = 1448
US = 1_000
TICK_NS = 20 * US
CLIENT, SERVER = bytes((127, 0, 0, 11)), bytes((127, 0, 0, 1))


@dataclass(frozen=True)
class Packet:
    """One packet: nanoseconds since the first, the Ethernet frame as captured, its length on the wire, its sender."""

    ns: int
    octets: bytes
    wire_octets: int
    from_client: bool


@dataclass(frozen=True)
class Session:
    """Packets cloned together (one recorded capture, or one connection), and their number of STOMP frames."""

    name: str
    packets: tuple[Packet, ...]
    frames: int


def checksum(octets: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f">{(len(octets) + 1) // 2}H", octets + b"\0" * (len(octets) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Wire:
    """The packets of one connection so far; `ns` is the time of the last one, `sent` the octets that each side sent, the client's first."""

    def __init__(
        self, client_port: int = 40_000, initial: tuple[int, int] = (1_000, 5_000), server_port: int = STOMP_PORT
    ) -> None:
        self.packets: list[Packet] = []
        self.ns = 0
        self.sent = [0, 0]
        self._port, self._server_port = client_port, server_port
        self._sequence = {True: initial[0], False: initial[1]}

    def segment(self, from_client: bool, flags: int, payload: bytes = b"", captured: bool = True, window: int = 65_000) -> None:
        """One segment, 20 us after the one before; one that is not captured was sent all the same."""
        self.ns += TICK_NS
        port, peer = (self._port, self._server_port) if from_client else (self._server_port, self._port)
        ends = (CLIENT + SERVER) if from_client else (SERVER + CLIENT)
        acknowledged = self._sequence[not from_client] if flags & ACK else 0
        ports = struct.pack(">HHIIBB", port, peer, self._sequence[from_client], acknowledged, 5 << 4, flags)
        length = TCP_OCTETS + len(payload)
        tcp_sum = checksum(ends + struct.pack(">HH", 6, length) + ports + struct.pack(">HHH", window, 0, 0) + payload)
        head = struct.pack(">BBHHHBB", 0x45, 0, IP_OCTETS + length, len(self.packets) & 0xFFFF, 0x4000, 64, 6)
        ip = head + struct.pack(">H", checksum(head + b"\0\0" + ends)) + ends
        octets = b"".join((bytes(12), b"\x08\x00", ip, ports, struct.pack(">HHH", window, tcp_sum, 0), payload))
        if captured:
            self.packets.append(Packet(self.ns, octets, len(octets), from_client))
        self._sequence[from_client] = (self._sequence[from_client] + len(payload) + bool(flags & (SYN | FIN))) & 0xFFFFFFFF

    def send(self, from_client: bool, octets: bytes, captured: bool = True) -> list[int]:
        """Send octets in full segments, of which the other side acknowledges every second one; returns the time of each MSS of them."""
        times = []
        for number, at in enumerate(range(0, len(octets), MSS)):
            self.segment(from_client, PSH | ACK, octets[at : at + MSS], captured)
            times.append(self.ns)
            if number % 2:
                self.segment(not from_client, ACK)
        self.sent[not from_client] += len(octets)
        return times

    def wait_until(self, ns: int) -> None:
        """The next segment is sent at that time, or as soon after it as it can."""
        self.ns = max(self.ns, ns - TICK_NS)

    def open(self) -> None:
        """The handshake."""
        for from_client, flags in ((True, SYN), (False, SYN | ACK), (True, ACK)):
            self.segment(from_client, flags)

    def close(self) -> None:
        """FIN, FIN, ACK; the client begins."""
        for from_client, flags in ((True, FIN | ACK), (False, FIN | ACK), (True, ACK)):
            self.segment(from_client, flags)

    def truth_rows(self) -> list[dict[str, Any]]:
        """What the tables must say of layers between TCP and STOMP: there are none."""
        return []

    @property
    def key_log(self) -> list[str]:
        """The lines of the key log by which it can be opened: none are needed."""
        return []
