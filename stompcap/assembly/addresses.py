"""Endpoints as people write them and as flows are known by them, and the Community ID of a connection."""

from __future__ import annotations

import binascii
import hashlib
import ipaddress
import socket
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from stompcap.columns import U8

MAPPED = bytes(10) + b"\xff\xff"
TCP = 6


def text(address: bytes) -> str:
    """An address of 4 or 16 octets as text; IPv4 mapped ones (RFC 4291, 2.5.5.2) as IPv4."""
    if len(address) == 4 or address.startswith(MAPPED):
        return socket.inet_ntop(socket.AF_INET, address[-4:])
    return socket.inet_ntop(socket.AF_INET6, address)


def texts(addresses: U8) -> pa.StringArray:
    """Addresses, 16 octets a row, as text; each different one is put in words once."""
    kind = pa.binary(addresses.shape[1])
    coded = pa.Array.from_buffers(kind, len(addresses), [None, pa.py_buffer(addresses.tobytes())]).dictionary_encode()
    return pa.array([text(one) for one in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)


def endpoints_of(stream: Mapping[str, Any]) -> tuple[bytes, bool]:
    """The 36 octets that a stream's flow is known by, and whether its client is the low endpoint."""
    ends = []
    for role in ("client", "server"):
        ip = ipaddress.ip_address(stream[f"{role}_ip"])
        address = ip.packed if ip.version == 6 else MAPPED + ip.packed
        ends.append(address + int(stream[f"{role}_port"]).to_bytes(2, "big"))
    return b"".join(sorted(ends)), ends[0] <= ends[1]


def community_id(endpoints: bytes) -> str:
    """Community ID version 1, seed 0, of the 36 octets address, port, address, port."""
    low, low_port, high, high_port = endpoints[:16], endpoints[16:18], endpoints[18:34], endpoints[34:36]
    if low.startswith(MAPPED) and high.startswith(MAPPED):
        low, high = low[12:], high[12:]
    if (low, low_port) > (high, high_port):
        low, low_port, high, high_port = high, high_port, low, low_port
    digest = hashlib.sha1(b"\0\0" + low + high + bytes((TCP, 0)) + low_port + high_port, usedforsecurity=False).digest()
    return "1:" + binascii.b2a_base64(digest, newline=False).decode()


def community_ids(endpoints: U8) -> pa.StringArray:
    """That of each row of 36 octets."""
    octets, width = endpoints.tobytes(), endpoints.shape[1]
    return pa.array([community_id(octets[at : at + width]) for at in range(0, len(octets), width)], pa.string())
