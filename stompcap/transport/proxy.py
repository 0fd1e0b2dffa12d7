"""The PROXY protocol: a header by which a balancer says whose connection it passes on. Everything behind it is as if it were not there.

HAProxy's "The PROXY protocol", versions 1 and 2: the header stands at the very beginning of what the opener of a connection sends. It may
stand there several times, the one of the balancer next to the server first; who opened the connection is in the last.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from stompcap.codes import LOW, PROTOCOL_OTHER
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport.carried import Carried
from stompcap.transport.checks import Check
from stompcap.transport.crc32c import crc32c
from stompcap.transport.state import Arrays, Stack
from stompcap.transport.stretches import Stretches
from stompcap.transport.summary import Origin, Summary

KIND = "proxy"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
FIXED = 16
"""Octets of a header of version 2 before its addresses: the signature, version and command, family, and how many octets follow (2.2)."""
LONGEST_LINE = 107
"""Octets of a header of version 1, CRLF included (2.1)."""
LINE = re.compile(rb"PROXY (?:UNKNOWN(?: [^\r\n]*)?|(TCP4|TCP6) ([0-9A-Fa-f:.]{2,39}) ([0-9A-Fa-f:.]{2,39}) ([0-9]{1,5}) ([0-9]{1,5}))\r\n")
LOCAL, PROXY = range(2)
"""Commands of version 2: a connection of the balancer's own, such as a health check; one that it passes on. Version 1 has the latter."""
IPV4, IPV6 = 0x1, 0x2
SIZES = {IPV4: 12, IPV6: 36}
"""Octets of the addresses and ports of a family."""
SOURCES = {PROXY: "proxy", LOCAL: "proxy_local"}
BEFORE_TLVS = {0: 0, IPV4: 12, IPV6: 36, 3: 216}
"""Octets before the TLVs of a header of version 2, by family; that of 3 are paths of Unix sockets."""
CRC32C = 3
"""The type of the TLV that has the checksum of the header, reckoned with zeros in its place (2.2.3)."""
NO_CHECKSUM, RIGHT, WRONG = range(3)
MOST_CHECKED = 1 << 12
"""Octets of a header whose checksum is looked at."""
CHECKSUM = "checksum"


@dataclass(frozen=True)
class Header:
    """A header: how many octets it has, its command, and the address (4 or 16 octets) and port of who opened the connection.

    `address` is empty where it names none: UNKNOWN, LOCAL, and families other than IP.
    """

    length: int
    command: int = PROXY
    address: bytes = b""
    port: int = 0


def header_of(first: bytes) -> Header | None:
    """The header that these octets begin with; None where they begin with none, or with not enough of one to tell."""
    return _binary(first) if first.startswith(SIGNATURE) else _line(first)


def _line(first: bytes) -> Header | None:
    """Version 1 (2.1): a line."""
    found = LINE.match(first[:LONGEST_LINE])
    if found is None:
        return None
    if found[1] is None:
        return Header(found.end())
    kind = ipaddress.IPv4Address if found[1] == b"TCP4" else ipaddress.IPv6Address
    try:
        source, _ = (kind(found[at].decode()).packed for at in (2, 3))
    except ValueError:
        return None
    port = int(found[4])
    return Header(found.end(), PROXY, source, port) if max(port, int(found[5])) < 1 << 16 else None


def _binary(first: bytes) -> Header | None:
    """Version 2 (2.2). What follows the addresses (TLVs) is part of the header."""
    if len(first) < FIXED or first[12] >> 4 != 2 or first[12] & 15 > PROXY:
        return None
    family, size = first[13] >> 4, int.from_bytes(first[14:FIXED], "big")
    if first[12] & 15 == LOCAL:  # "the receiver must ... discard the protocol block including the family"
        return Header(FIXED + size, LOCAL)
    wanted = SIZES.get(family, 0)
    if size < wanted or len(first) < FIXED + wanted:
        return None
    if not wanted:
        return Header(FIXED + size)
    width = (wanted - 4) // 2
    port = int.from_bytes(first[FIXED + 2 * width : FIXED + 2 * width + 2], "big")
    return Header(FIXED + size, PROXY, first[FIXED : FIXED + width], port)


def checksum_of(header: bytes, length: int) -> int:
    """Whether a header of version 2 has the checksum that it says; NO_CHECKSUM where it says none, or not all of it is there."""
    if len(header) < length or not header.startswith(SIGNATURE):
        return NO_CHECKSUM
    at = FIXED + BEFORE_TLVS.get(header[13] >> 4, length)
    while at + 3 <= length:
        kind, end = header[at], at + 3 + int.from_bytes(header[at + 1 : at + 3], "big")
        if kind == CRC32C and end == at + 7 <= length:
            zeroed = header[: at + 3] + bytes(4) + header[end:]
            return RIGHT if crc32c(zeroed) == int.from_bytes(header[at + 3 : end], "big") else WRONG
        at = end
    return NO_CHECKSUM


class Proxy:
    """The layer (stompcap.transport.layers.Layer). Octets behind the header lie where they did."""

    kind = KIND
    protocol = PROTOCOL_OTHER
    keeps = ("side", "length", "command", "address", "port", "checksum")

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether its first octets are such a header, as far as it tells whose connection it is."""
        found = np.zeros(runs.synced.size, np.bool_)
        for run in self._possible(octets, runs).tolist():
            found[runs.direction[run]] = header_of(_first(octets[runs.position[run] :][: runs.length[run]])) is not None
        return found

    def transport(self, below: int) -> int:
        """What carries STOMP is what does so without it."""
        return below

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """The same octets without the header."""
        kept = [one or _kept(below, stream) for stream, one in zip(streams.tolist(), before, strict=True)]
        header = np.zeros((len(below), 2), np.int64)
        header[streams, [int(one["side"]) for one in kept]] = [int(one["length"]) for one in kept]
        found = below.stretches.take(below.of(streams))
        length = header[found.stream, found.side]
        skipped = np.clip(length - found.offset, 0, found.length)
        found = replace(
            found, offset=np.maximum(found.offset - length, 0), length=found.length - skipped, skip=found.skip + skipped
        )  # fmt: skip
        octets = np.maximum(below.octets - header, 0)
        return below.giving(streams, found.take(found.length > 0), octets[streams], below.synced[streams]), kept

    def summaries(self, kept: Arrays) -> Sequence[Summary]:
        """One row; the header gives nothing to what it carries."""
        source = SOURCES[int(kept["command"])]
        origin = Origin(kept["address"].tobytes(), int(kept["port"]) if kept["address"].size else None, source)
        units = (1, 0) if int(kept["side"]) == LOW else (0, 1)
        checks: tuple[Check, ...] = ()
        if checksum := int(kept["checksum"]):
            seen = "" if checksum == RIGHT else "the checksum is not that of the header"
            checks = (Check(CHECKSUM, int(kept["side"]), "kept" if checksum == RIGHT else "broken", seen=seen),)
        return [Summary(KIND, units=units, origin=origin, checks=checks)]

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        """The same: a header has no secrets."""
        return kept

    def _possible(self, octets: Octets, runs: Runs) -> I64:
        """The runs at a true beginning whose first octet may be that of a header."""
        first: I64 = np.flatnonzero(runs.synced[runs.direction] & (runs.offset == 0) & (runs.length > 0))
        return first[np.isin(octets[runs.position[first]], np.frombuffer(b"P\r", np.uint8))]


def headers_of(stretches: Stretches, stacks: Mapping[int, Stack]) -> Stretches:
    """What of the octets of TCP are headers, of streams with these layers; those of layers below others are not looked for."""
    length = np.zeros(2 * (int(stretches.stream.max(initial=-1)) + 1), np.int64)
    for stream, stack in stacks.items():
        for one in takewhile(lambda layer: layer.kind == KIND, stack):
            if 2 * stream < length.size:
                length[2 * stream + int(one.kept["side"])] += int(one.kept["length"])
    mine = stretches.take(stretches.offset < length[stretches.direction])
    return mine.between(0, length[mine.direction])


def _first(octets: Octets) -> bytes:
    return octets[:LONGEST_LINE].tobytes()


def _kept(below: Carried, stream: int) -> Arrays:
    """The header of a stream that has one, and which side sends it."""
    for side in range(2):
        begin, end = below.bounds[2 * stream + side : 2 * stream + side + 2].tolist()
        first = below.stretches.take(slice(begin, end))
        near = first.take((first.offset < MOST_CHECKED) & (first.offset == np.cumsum(first.length) - first.length))
        octets = below.read(near.between(0, np.full(len(near), MOST_CHECKED))) if len(near) else np.empty(0, np.uint8)
        found = header_of(_first(octets))
        if found is not None:
            return {
                "side": np.array(side), "length": np.array(found.length), "command": np.array(found.command),
                "address": np.frombuffer(found.address, np.uint8), "port": np.array(found.port),
                "checksum": np.array(checksum_of(octets[: found.length].tobytes(), found.length)),
            }  # fmt: skip
    raise ValueError("no side of the stream begins with a header of the PROXY protocol")
