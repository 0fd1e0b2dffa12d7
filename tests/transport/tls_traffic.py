"""Dialogues inside TLS: real handshakes and records of OpenSSL, in memory, with the key log that it writes."""

from __future__ import annotations

import functools
import ssl
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.mangler.segmentations import Change, Segments
from tests.mangler.taken_apart import ACK, FIN, SYN, Segment

SUITES = {
    "1.3 AES-256-GCM": None, "1.2 AES-256-GCM": "ECDHE-RSA-AES256-GCM-SHA384", "1.2 AES-128-GCM": "ECDHE-RSA-AES128-GCM-SHA256",
    "1.2 ChaCha20": "ECDHE-RSA-CHACHA20-POLY1305", "1.2 AES-128-CBC-SHA": "ECDHE-RSA-AES128-SHA",
    "1.2 AES-256-CBC-SHA384": "ECDHE-RSA-AES256-SHA384", "1.2 AES-128-CCM": "AES128-CCM", "1.2 RSA AES-256-CBC-SHA256": "AES256-SHA256",
}  # fmt: skip
"""OpenSSL's names of suites; Python's module lets none be chosen for TLS 1.3."""



@functools.cache
def certificate() -> tuple[str, str]:
    """The files of a certificate and its key, made once."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="stompcap-tls-"))
    paths = str(folder / "certificate.pem"), str(folder / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=broker.example", "-out", paths[0],
         "-keyout", paths[1]], check=True, capture_output=True,
    )  # fmt: skip
    return paths


@dataclass
class Pair:
    """A client and a server of TLS in memory. What they put on the wire is taken from `wire`: (side, octets), 0 being the client."""

    suite: str = "1.3 AES-256-GCM"
    session: ssl.SSLSession | None = None
    contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
    log: str | None = None
    alpn: tuple[str, ...] = ("stomp",)
    wire: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.contexts is None:
            self.contexts = contexts(self.suite, self.log, self.alpn)
        client, server = self.contexts
        self.buffers = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
        self.ends = [
            client.wrap_bio(*self.buffers[0], server_hostname="broker.example", session=self.session),
            server.wrap_bio(*self.buffers[1], server_side=True),
        ]

    def handshake(self) -> list[tuple[int, bytes]]:
        """What both send until the handshake is over and the server's tickets are there."""
        waiting = {0, 1}
        while waiting:
            for side in (0, 1):
                if side in waiting:
                    try:
                        self.ends[side].do_handshake()
                        waiting.discard(side)
                    except ssl.SSLWantReadError:
                        pass
                self.passed(side)
        self.read(0)
        return self.taken()

    def passed(self, side: int) -> None:
        """Take what a side has for the other from one to the other."""
        octets = self.buffers[side][1].read()
        if octets:
            self.wire.append((side, octets))
            self.buffers[1 - side][0].write(octets)

    def read(self, side: int) -> bytes:
        found = b""
        try:
            while octets := self.ends[side].read(1 << 16):
                found += octets
            return found
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            return found

    def send(self, side: int, octets: bytes, record: int = 1 << 14) -> bytes:
        """The records in which a side sends octets, so many in each; the other side reads them."""
        before = len(self.wire)
        for at in range(0, len(octets), record):
            self.ends[side].write(octets[at : at + record])
            self.passed(side)
        assert self.read(1 - side) == octets
        found = b"".join(one for of, one in self.wire[before:] if of == side)
        del self.wire[before:]
        return found

    def close(self, side: int) -> bytes:
        """The alert by which a side says that nothing follows."""
        with suppress(ssl.SSLError):
            self.ends[side].unwrap()
        self.passed(side)
        self.read(1 - side)
        return b"".join(one for of, one in self.taken() if of == side)

    def taken(self) -> list[tuple[int, bytes]]:
        found, self.wire = self.wire, []
        return found


def contexts(suite: str, log: str | None, alpn: Sequence[str] = ("stomp",)) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    version = ssl.TLSVersion.TLSv1_3 if suite.startswith("1.3") else ssl.TLSVersion.TLSv1_2
    cipher = SUITES[suite]
    client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    server.load_cert_chain(*certificate())
    for one in (client, server):
        one.minimum_version = one.maximum_version = version
        if cipher:
            one.set_ciphers(f"{cipher}:@SECLEVEL=0")
        one.set_alpn_protocols(list(alpn))
    if log:
        client.keylog_filename = log
    return client, server


def inside(log: str | None, suite: str = "1.3 AES-256-GCM", record: int = 1 << 14, closing: bool = False) -> Change:
    """The same dialogues inside TLS: each segment with octets becomes records, the handshake lies before the first of them.

    The keys are appended to `log`. Without one it is plain TCP, with segments without octets where the handshake would lie.
    """

    def change(packets: Sequence[Segment]) -> Segments:
        return Wrapped(log, suite, record, closing).segments(packets)

    return change


class Wrapped:
    """Connections whose octets were put into TLS. Of captures in which nothing is missing and no octet comes twice or out of order."""

    def __init__(self, log: str | None, suite: str, record: int, closing: bool) -> None:
        self.log, self.suite, self.record, self.closing = log, suite, record, closing
        self.contexts = contexts(suite, log)
        self.pairs: dict[object, Pair] = {}
        self.clients: dict[object, tuple] = {}
        self.seq: dict[object, int] = {}
        """By way: the number of its next octet."""

    def segments(self, packets: Sequence[Segment]) -> Segments:
        return [made for one in packets for made in self.wrapped(one)]

    def wrapped(self, one: Segment) -> Segments:
        way, back = one.way, (one.dst, one.dport, one.src, one.sport)
        if one.flags & SYN:
            if not one.flags & ACK:
                self.clients[one.flow] = way
                self.pairs.pop(one.flow, None)
            self.seq[way] = (one.seq + 1) % 2**32
            return [one]
        client = self.clients.setdefault(one.flow, way)
        found: Segments = []
        if one.payload:
            if one.flow not in self.pairs:
                pair = self.pairs[one.flow] = Pair(self.suite, contexts=self.contexts)
                for side, octets in pair.handshake():
                    of = client if side == 0 else (client[2], client[3], client[0], client[1])
                    found.append(self.put(one, of, octets if self.log else b"", ACK))
            pair, side = self.pairs[one.flow], 0 if way == client else 1
            octets = pair.send(side, one.payload, self.record) if self.log else one.payload
            if self.closing and one.flags & FIN:
                octets += pair.close(side) if self.log else b""
            found.append(self.put(one, way, octets, one.flags))
            return found
        ack = self.seq.get(back, one.ack) + bool(self.seq.get(("fin", back)))
        octets = b""
        if self.closing and one.flags & FIN and one.flow in self.pairs and self.log:
            octets = self.pairs[one.flow].close(0 if way == client else 1)
        made = replace(one, seq=self.seq.get(way, one.seq), ack=ack % 2**32, payload=octets)
        self.seq[way] = (made.seq + len(octets)) % 2**32
        if one.flags & FIN:
            self.seq["fin", way] = 1
        return [made]

    def put(self, like: Segment, way: tuple, octets: bytes, flags: int) -> Segment:
        """A segment of a way like another one, with these octets."""
        src, sport, dst, dport = way
        seq, ack = self.seq[way], self.seq[dst, dport, src, sport] + bool(self.seq.get(("fin", (dst, dport, src, sport))))
        self.seq[way] = (seq + len(octets)) % 2**32
        if flags & FIN:
            self.seq["fin", way] = 1
        return replace(like, src=src, sport=sport, dst=dst, dport=dport, seq=seq, ack=ack % 2**32, payload=octets, flags=flags)
