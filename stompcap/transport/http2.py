"""HTTP/2 (RFC 9113), in which WebSocket may lie too (RFC 8441). It is found and named, and not read.

It begins with a preface of the client, in the clear or inside TLS (ALPN `h2`). A server offers WebSocket in it by a setting, a client asks
for it by the pseudo-header `:protocol`, whose name HPACK (RFC 7541) writes as it is or in Huffman's code, always from an octet's first bit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np

from stompcap.codes import HIGH, LOW, PROTOCOL_HTTP
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport.carried import Carried
from stompcap.transport.state import Arrays
from stompcap.transport.stretches import NO_STRETCHES
from stompcap.transport.summary import Summary

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LOOKED_AT = 1 << 16
"""Octets of a side that are looked at."""
ASKS = re.compile(rb"[\x40\x00\x10](?:\x09:protocol|\x87\xb9\x5d\x87\x49\xc8\x7a\x3f)")
"""The name as a literal of a new header: with or without an entry in the dynamic table, as octets or in Huffman's code."""
HEAD, SETTINGS, ENABLE_CONNECT_PROTOCOL = 9, 4, 8
"""Octets of a frame's head (RFC 9113, 4.1), the type of a frame of settings (6.5), and the setting that offers it (RFC 8441, 3)."""


def offers(octets: bytes) -> bool:
    """Whether the first frames of a server are settings that offer WebSocket."""
    at = 0
    while len(octets) >= at + HEAD:
        size, kind = int.from_bytes(octets[at : at + 3], "big"), octets[at + 3]
        payload = octets[at + HEAD : at + HEAD + size]
        if kind == SETTINGS:
            pairs = [payload[k : k + 6] for k in range(0, len(payload) - 5, 6)]
            if any(int.from_bytes(one[:2], "big") == ENABLE_CONNECT_PROTOCOL and int.from_bytes(one[2:], "big") == 1 for one in pairs):
                return True
        at += HEAD + size
    return False


class Http2:
    """The layer (stompcap.transport.layers.Layer); it gives nothing."""

    kind = "http2"
    protocol = PROTOCOL_HTTP
    keeps = ("said",)

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether it begins with the preface."""
        found = np.zeros(runs.synced.size, np.bool_)
        first = np.flatnonzero(runs.synced[runs.direction] & (runs.offset == 0) & (runs.length >= len(PREFACE)))
        for run in first[octets[runs.position[first]] == ord("P")].tolist():
            begin = int(runs.position[run])
            found[runs.direction[run]] = octets[begin : begin + len(PREFACE)].tobytes() == PREFACE
        return found

    def transport(self, below: int) -> int:
        """What carries it."""
        return below

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """Nothing; its first octets tell of WebSocket in it."""
        kept: list[Arrays] = []
        for stream, one in zip(streams.tolist(), before, strict=True):
            said = json.loads(one["said"].tobytes()) if one else {"asks": False, "offers": False}
            for side in (LOW, HIGH):
                begin, end = below.bounds[2 * stream + side :][:2].tolist()
                first = below.stretches.take(slice(begin, end))
                first = first.take(first.offset < LOOKED_AT)
                octets = below.read(first.between(0, LOOKED_AT)).tobytes()
                said["asks"] |= ASKS.search(octets) is not None
                said["offers"] |= not octets.startswith(PREFACE[:3]) and offers(octets)
            kept.append({"said": np.frombuffer(json.dumps(said).encode(), np.uint8)})
        return below.giving(streams, NO_STRETCHES, below.octets[streams], below.synced[streams]), kept

    def summaries(self, kept: Arrays) -> Sequence[Summary]:
        """One row, which says what is not read."""
        said = json.loads(kept["said"].tobytes())
        reason = "HTTP/2 is not read"
        if said["asks"]:
            reason = "WebSocket over HTTP/2 (RFC 8441) is not read"
        elif said["offers"]:
            reason += "; the server offers WebSocket in it (RFC 8441)"
        return [Summary("http", "unreadable", reason)]

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        """The same: nothing of it is a secret."""
        return kept
