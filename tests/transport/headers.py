"""Headers of the PROXY protocol, and captures in which clients' connections begin with them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from stompcap.transport.proxy import SIGNATURE
from tests.mangler.segmentations import Change, Segments
from tests.mangler.taken_apart import Segment
from tests.transport.made_up import moved, openers


def v1(source: str, port: int, server: str = "192.0.2.9", family: str = "TCP4") -> bytes:
    return f"PROXY {family} {source} {server} {port} 61613\r\n".encode()


def v2(source: str, port: int, tlvs: bytes = b"", command: int = 1) -> bytes:
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    server = "2001:db8::9" if ":" in source else "192.0.2.9"
    block = socket.inet_pton(family, source) + socket.inet_pton(family, server) + struct.pack(">HH", port, 61613) + tlvs
    return SIGNATURE + bytes((0x20 | command, 0x21 if ":" in source else 0x11)) + len(block).to_bytes(2, "big") + block


def local() -> bytes:
    return SIGNATURE + b"\x20\x00\x00\x00"


def behind(*headers: bytes) -> Change:
    """The same dialogues behind these headers, in the first segment with octets of who opens a connection."""

    def change(packets: Sequence[Segment]) -> Segments:
        opening = openers(packets)
        return moved(packets, lambda way, content, _: {0: b"".join(headers)} if way in opening and content else {})

    return change
