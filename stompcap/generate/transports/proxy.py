"""Headers of the PROXY protocol, versions 1 and 2 (HAProxy's "The PROXY protocol"), as a balancer puts them before what it passes on."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from stompcap.generate.transports.upgrade import HOST
from stompcap.generate.transports.writer import Flight

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL, PROXY = 0x20, 0x21
STREAM = 1
ALPN, AUTHORITY, CRC32C, NOOP, UNIQUE_ID = 0x01, 0x02, 0x03, 0x04, 0x05
POLYNOMIAL = 0x82F63B78
CLIENTS = ((4, "198.51.100.0"), (4, "203.0.113.0"), (6, "2001:db8:1::"))
"""Families, and nets of clients."""
BALANCER = {4: "192.0.2.10", 6: "2001:db8::10"}


class Proxy:
    """The header of one connection, which the client's side sends first; `probe` says that nothing is passed on."""

    key_log: Sequence[str] = ()

    def __init__(self, dice: Random, port: int, *, probe: bool = False) -> None:
        family, net = dice.choice(CLIENTS)
        self._source = str(ipaddress.ip_address(net) + dice.randrange(1, 255))
        self._port = dice.randrange(1_024, 65_536)
        ends = (self._source, BALANCER[family], self._port, port)
        self._named = dice.random() < 0.9
        self._local = probe and dice.random() < 0.5
        if self._local:
            self._header = SIGNATURE + bytes((LOCAL, 0, 0, 0))
            self._named = False
        elif dice.random() < 0.5:
            self._header = _binary(family, ends, dice) if self._named else _binary(0, ends, dice)
        else:
            self._header = "PROXY TCP{} {} {} {} {}\r\n".format(family, *ends).encode() if self._named else b"PROXY UNKNOWN\r\n"

    def opening(self) -> Iterable[Flight]:
        """The header."""
        return [(True, self._header)]

    def wrap(self, from_client: bool, pieces: Sequence[bytes]) -> tuple[list[bytes], list[int]]:
        """The octets as they are."""
        return list(pieces), list(range(len(pieces)))

    def aside(self) -> Iterable[Flight]:
        """Nothing."""
        return ()

    def closing(self) -> Iterable[Flight]:
        """Nothing."""
        return ()

    def truth_rows(self) -> list[dict[str, Any]]:
        """Its row, and the address that it names."""
        origin = {"origin_ip": self._source, "origin_port": self._port} if self._named else {"origin_ip": None, "origin_port": None}
        return [{"kind": "proxy", "status": "read", "origin_source": "proxy_local" if self._local else "proxy"} | origin]


def _binary(family: int, ends: tuple[str, str, int, int], dice: Random) -> bytes:
    """Version 2, with TLVs; a family of 0 names no address."""
    addresses = b""
    if family:
        addresses = b"".join(ipaddress.ip_address(end).packed for end in ends[:2]) + struct.pack(">HH", *ends[2:])
    more = [(AUTHORITY, HOST.encode()), (UNIQUE_ID, dice.randbytes(16)), (NOOP, bytes(dice.randrange(8))), (ALPN, b"stomp")]
    tlvs = b"".join(_tlv(*one) for one in dice.sample(more, dice.randrange(len(more) + 1)))
    checked = dice.random() < 0.5
    size = len(addresses) + len(tlvs) + 7 * checked
    kind = {0: 0, 4: 0x10 | STREAM, 6: 0x20 | STREAM}[family]
    header = SIGNATURE + struct.pack(">BBH", PROXY, kind, size) + addresses + tlvs
    if not checked:
        return header
    return header + _tlv(CRC32C, struct.pack(">I", crc32c(header + _tlv(CRC32C, bytes(4)))))


def _tlv(kind: int, value: bytes) -> bytes:
    return struct.pack(">BH", kind, len(value)) + value


def crc32c(octets: bytes) -> int:
    """The checksum of RFC 3720, appendix B.4, which PP2_TYPE_CRC32C has.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    left = 0xFFFFFFFF
    for octet in octets:
        left ^= octet
        for _ in range(8):
            left = left >> 1 ^ (POLYNOMIAL if left & 1 else 0)
    return left ^ 0xFFFFFFFF
