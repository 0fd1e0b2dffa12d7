"""TLS as a writer: what both versions have in common. The handshake is a sound one; its secrets come from the connection's own chance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Protocol

from stompcap.generate.transports.tls_keys import ALERT, APPLICATION, HANDSHAKE, Suite
from stompcap.generate.transports.upgrade import HOST
from stompcap.generate.transports.writer import Flight, spread
from stompcap.tables.words import DIRECTIONS

HEAD = 5
MOST = 1 << 14
"""Octets of a record's head, and of its content at most (RFC 8446, 5.1)."""
CLOSE_NOTIFY = b"\1\0"
ONE, EACH, HALVES = range(3)
"""What is put in a record: what is sent at once, what is in one packet, or half of that."""


class Sealing(Protocol):
    """What seals the records of one side."""

    def seal(self, kind: int, octets: bytes, padding: int = 0) -> bytes:
        """A record."""


class Tls(ABC):
    """One connection. Its subclasses open it, and put into `sealed` what seals the records of the client and of the server."""

    version = ""

    def __init__(self, dice: Random, suite: Suite, name: str, application: str = "") -> None:
        """`name` is the suite's; `application` is agreed on by ALPN, if it is given."""
        self.dice, self.suite, self.application = dice, suite, application
        self.random = dice.randbytes(32)
        self.sealed: list[Sealing] = []
        self.key_log: list[str] = []
        self.resumed = False
        self._name = name
        self._records = dict.fromkeys(DIRECTIONS, 0)

    def opening(self) -> Iterator[Flight]:
        """The handshake."""
        for from_client, octets in self.handshake():
            yield from_client, self._counted(from_client, octets)

    @abstractmethod
    def handshake(self) -> Iterator[Flight]:
        """What both sides send before the first octet is carried."""

    def flights(self) -> Iterator[Flight]:
        """What a version says aside."""
        return iter(())

    def wrap(self, from_client: bool, pieces: Sequence[bytes]) -> tuple[list[bytes], list[int]]:
        """Records. What a record has can be read by the piece with its last octet."""
        how = self.dice.choices((ONE, EACH, HALVES), (6, 3, 1))[0]
        found, known = list[bytes](), list[int]()
        for group in _groups(pieces) if how == ONE else [[piece] for piece in pieces]:
            octets = b"".join(group)
            size = min(MOST, -(-len(octets) // 2) if how == HALVES else MOST)
            parts = (octets[at : at + size] for at in range(0, len(octets), size))
            records = b"".join(self.seal(from_client, APPLICATION, part) for part in parts)
            found += spread(self._counted(from_client, records), len(group))
            known += [len(found) - 1] * len(group)
        return found, known

    def aside(self) -> Iterator[Flight]:
        """What its version says now and then."""
        for from_client, octets in self.flights():
            yield from_client, self._counted(from_client, octets)

    def closing(self) -> Iterator[Flight]:
        """close_notify of both."""
        for from_client in (True, False):
            yield from_client, self._counted(from_client, self.seal(from_client, ALERT, CLOSE_NOTIFY))

    def truth_rows(self) -> list[dict[str, Any]]:
        """Its row. ALPN of TLS 1.3 is not in clear, but it is where the keys are known."""
        row = {
            "kind": "tls", "status": "read", "tls_version": f"TLS {self.version}", "cipher_suite": self._name, "server_name": HOST,
            "alpn": self.application or None, "resumed": self.resumed, **{f"units_{way}": n for way, n in self._records.items()},
        }  # fmt: skip
        return [row]

    def seal(self, from_client: bool, kind: int, octets: bytes) -> bytes:
        """A record of one side."""
        padding = self.dice.choice((1, 2, 5)) if self.dice.random() < 0.05 and kind != HANDSHAKE else 0
        return self.sealed[not from_client].seal(kind, octets, padding)

    def log(self, label: str, secret: bytes) -> None:
        """A line of the key log (RFC 9850)."""
        self.key_log.append(f"{label} {self.random.hex()} {secret.hex()}")

    def _counted(self, from_client: bool, records: bytes) -> bytes:
        """Records, which are counted."""
        at = 0
        while at < len(records):
            at += HEAD + int.from_bytes(records[at + 3 : at + HEAD], "big")
            self._records[DIRECTIONS[not from_client]] += 1
        return records


def _groups(pieces: Sequence[bytes]) -> list[list[bytes]]:
    """Pieces in groups that a record has room for."""
    found = list[list[bytes]]()
    size = MOST
    for piece in pieces:
        if size + len(piece) > MOST:
            found.append([])
            size = 0
        found[-1].append(piece)
        size += len(piece)
    return found
