"""The packets of one TCP connection, made from what its two ends said: Ethernet, IPv4 or IPv6, TCP with right checksums.

Whoever stands between two sockets sees what each end sends and when, but no packets. These are those that would have brought it:
RFC 791, RFC 8200 and RFC 9293.
"""

from __future__ import annotations

import ipaddress
import secrets
import struct

from stompcap.active.addresses import Address

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
MOST = 60_000
"""The most octets of a segment: an IPv4 packet has at most 65,535, and the window is not larger either."""
WINDOW, TTL, TCP = 65_535, 64, 6
MAC_CLIENT, MAC_SERVER = bytes((2, 0, 0, 0, 0, 1)), bytes((2, 0, 0, 0, 0, 2))  # locally administered


def checksum(octets: bytes) -> int:
    """The Internet checksum (RFC 1071) of octets that are not all zero: adding words with end-around carry is adding modulo 65,535."""
    padded = octets + b"\0" * (len(octets) % 2)
    return 0xFFFF - (int.from_bytes(padded, "big") % 0xFFFF or 0xFFFF)


class Packets:
    """Makes the packets of one connection, in the order in which things happened."""

    def __init__(self, client: Address, server: Address) -> None:
        ends = [ipaddress.ip_address(host) for host, _ in (client, server)]
        self._ipv4 = all(end.version == 4 for end in ends)
        if self._ipv4:
            self._hosts = [end.packed for end in ends]
        else:  # IPv4 on one side only: as it is written in IPv6 (RFC 4291, section 2.5.5.2)
            self._hosts = [end.packed if end.version == 6 else b"\0" * 10 + b"\xff\xff" + end.packed for end in ends]
        self._ports = (client[1], server[1])
        self._next = [secrets.randbits(32), secrets.randbits(32)]
        self._taken = [0, 0]  # what each end has been given of the other, as the number it acknowledges
        self._number = 0

    def segment(self, from_client: bool, flags: int, payload: bytes = b"") -> bytes:
        """A segment of one end; it acknowledges what that end has been given (`given`)."""
        side = 0 if from_client else 1
        head = struct.pack(
            ">HHIIBBH", self._ports[side], self._ports[1 - side], self._next[side],
            self._taken[side] if flags & ACK else 0, 5 << 4, flags, WINDOW,
        )  # fmt: skip
        self._next[side] = (self._next[side] + len(payload) + bool(flags & (SYN | FIN))) & 0xFFFFFFFF
        ends = self._hosts[side] + self._hosts[1 - side]
        length = len(head) + 4 + len(payload)
        pseudo = ends + struct.pack(">IHBB", length, 0, 0, TCP)
        tcp = head + struct.pack(">HH", checksum(pseudo + head + b"\0\0\0\0" + payload), 0) + payload
        macs = MAC_SERVER + MAC_CLIENT if from_client else MAC_CLIENT + MAC_SERVER
        return macs + (self._ipv4_head(ends, length) if self._ipv4 else self._ipv6_head(ends, length)) + tcp

    def given(self, to_client: bool) -> None:
        """All that the other end has sent so far has reached this one."""
        side = 0 if to_client else 1
        self._taken[side] = self._next[1 - side]

    def _ipv4_head(self, ends: bytes, length: int) -> bytes:
        """EtherType and IPv4 header."""
        self._number = (self._number + 1) & 0xFFFF
        head = struct.pack(">BBHHHBB", 0x45, 0, 20 + length, self._number, 0x4000, TTL, TCP)
        return b"\x08\x00" + head + struct.pack(">H", checksum(head + b"\0\0" + ends)) + ends

    def _ipv6_head(self, ends: bytes, length: int) -> bytes:
        """EtherType and IPv6 header."""
        return b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, length, TCP, TTL) + ends
