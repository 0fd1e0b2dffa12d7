"""Key logs: the secrets of TLS connections, by which captured records are opened.

RFC 9850 ("The SSLKEYLOGFILE Format for TLS"): a line has a label, the random of the ClientHello and the secret, both in hexadecimal.
A secret is in memory only, and only here and in the keys made from it: no table, state, log or message has it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import NoReturn

MASTER = "CLIENT_RANDOM"
EARLY = "CLIENT_EARLY_TRAFFIC_SECRET"
HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
APPLICATION = ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
"""Labels (RFC 9850, 2.1 and 2.2): the master secret of TLS 1.2; of TLS 1.3 the secrets of the client, then of the server."""

SIZES = {MASTER: (48,), EARLY: (32, 48)} | dict.fromkeys(HANDSHAKE + APPLICATION, (32, 48))
"""Octets of a secret: 48 of a master secret (RFC 5246, 8.1), those of the suite's hash in TLS 1.3."""

OTHERS = frozenset({
    "EARLY_EXPORTER_SECRET", "EXPORTER_SECRET", "ECH_SECRET", "ECH_CONFIG", "RSA", "CLIENT_EARLY_TRAFFIC_SECRET_0",
    "CLIENT_TRAFFIC_SECRET_N", "SERVER_TRAFFIC_SECRET_N",
})  # fmt: skip
"""Labels of lines that are not needed; OpenSSL writes those with N at each KeyUpdate."""

RANDOM = 32
"""Octets of a random (RFC 5246, 7.4.1.2)."""

SESSION = "RSA Session-ID"
SESSION_LINE = re.compile(rb"RSA Session-ID:((?:[0-9A-Fa-f]{2})+) Master-Key:([0-9A-Fa-f]{96})[ \t]*")
"""What older tools and agents of the JVM write of TLS 1.2: the master secret by the session's id, which the server's hello has."""

LINE = re.compile(rb"([A-Za-z0-9_]+) ([0-9A-Fa-f]{64}) ((?:[0-9A-Fa-f]{2})+)[ \t]*")
Secrets = Mapping[tuple[str, bytes], bytes]


@dataclass(frozen=True, eq=False, repr=False)
class KeyLog:
    """Secrets by label and client random, or the id of a session, and how many lines were none that a key log has.

    `unread` are key logs that were named, and could not be read where the secrets are needed.
    """

    secrets: Secrets = field(default_factory=lambda: MappingProxyType({}))
    malformed: int = 0
    unread: int = 0

    @staticmethod
    def of(text: bytes) -> KeyLog:
        """What the lines say; the last of a label and random counts. They end with LF, CR or both; those with # first say nothing."""
        secrets, malformed = dict[tuple[str, bytes], bytes](), 0
        for line in re.split(rb"[\r\n]+", text.removeprefix(b"\xef\xbb\xbf")):
            if not line or line.startswith(b"#"):
                continue
            session = SESSION_LINE.fullmatch(line)
            if session:
                secrets[SESSION, bytes.fromhex(session[1].decode())] = bytes.fromhex(session[2].decode())
                continue
            found = LINE.fullmatch(line)
            label = found[1].decode() if found else ""
            if found and label in SIZES and len(found[3]) // 2 in SIZES[label]:
                secrets[label, bytes.fromhex(found[2].decode())] = bytes.fromhex(found[3].decode())
            elif line.split(b" ", 1)[0].decode("latin-1") not in OTHERS:
                malformed += 1
        return KeyLog(MappingProxyType(secrets), malformed)

    def __or__(self, other: KeyLog) -> KeyLog:
        """Both; where they differ the other counts."""
        secrets = MappingProxyType({**self.secrets, **other.secrets})
        return KeyLog(secrets, self.malformed + other.malformed, self.unread + other.unread)

    def __bool__(self) -> bool:
        return bool(self.secrets)

    def __repr__(self) -> str:
        return f"KeyLog({len(self.randoms)} connections, {self.malformed} lines malformed)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("secrets leave no process")

    def secret(self, label: str, random: bytes) -> bytes | None:
        """The secret of a label and a client random, if the log has it."""
        return self.secrets.get((label, random))

    def has(self, random: bytes) -> bool:
        """Whether there is a secret of the connection with this client random."""
        return random in self.randoms

    @cached_property
    def randoms(self) -> Mapping[bytes, tuple[str, ...]]:
        """The labels of each client random."""
        found = dict[bytes, tuple[str, ...]]()
        for label, random in self.secrets:
            if label != SESSION:
                found[random] = (*found.get(random, ()), label)
        return found

    @cached_property
    def of_sessions(self) -> bool:
        """Whether there are secrets by the ids of sessions."""
        return any(label == SESSION for label, _ in self.secrets)

    @cached_property
    def of_masters(self) -> bool:
        """Whether there are master secrets of TLS 1.2."""
        return any(label == MASTER for label, _ in self.secrets)

    @cached_property
    def _by_digest(self) -> Mapping[bytes, bytes]:
        return {digest(random): random for random in self.randoms}

    def random_of(self, digested: bytes) -> bytes | None:
        """The client random of which this is the digest."""
        return self._by_digest.get(digested)

    def having(self, label: str) -> Iterator[bytes]:
        """The client randoms with a secret of this label."""
        return (random for of, random in self.secrets if of == label)


def digest(random: bytes) -> bytes:
    """What a state has of a client random: its SHA-256, by which a log is searched for it."""
    return hashlib.sha256(random).digest()


NO_KEYS = KeyLog()


def no_keys() -> KeyLog:
    """A key log of no connection."""
    return NO_KEYS
