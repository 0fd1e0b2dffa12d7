"""The hellos of a TLS handshake: what client and server agree on in the clear (RFC 8446, 4.1; RFC 5246, 7.4.1)."""

from __future__ import annotations

from dataclasses import dataclass

TLS_1_2, TLS_1_3 = 0x0303, 0x0304
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", TLS_1_2: "TLS 1.2", TLS_1_3: "TLS 1.3"}

CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET, END_OF_EARLY_DATA, ENCRYPTED_EXTENSIONS = 1, 2, 4, 5, 8
CERTIFICATE_REQUEST, FINISHED, KEY_UPDATE = 13, 20, 24
"""Types of handshake messages (RFC 8446, appendix B.3)."""

MESSAGE = 4
"""Octets of a message before its body: type and length."""

MOST_HELLO = 1 << 17
"""Octets of a hello that are waited for: keys for several groups after quantum computers have some ten thousand."""

RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random by which a ServerHello is a HelloRetryRequest (RFC 8446, 4.1.3)."""

SERVER_NAME, ALPN, ENCRYPT_THEN_MAC, EXTENDED_MASTER_SECRET, TICKET = 0, 16, 22, 23, 35
PRE_SHARED_KEY, EARLY_DATA, SUPPORTED_VERSIONS, ECH = 41, 42, 43, 0xFE0D
"""Extensions (RFC 6066, 7301, 7366, 7627, 5077, 8446, and draft-ietf-tls-esni)."""


@dataclass(frozen=True)
class Hello:
    """A ClientHello or a ServerHello.

    `version` is the one chosen or, of a client, the highest offered; `suites` are those offered or the one chosen. `ticket` is that a
    client offers for resumption, empty if none; `psk` of a server: that it resumes.
    """

    client: bool
    random: bytes
    version: int
    suites: tuple[int, ...]
    session: bytes = b""
    server_name: str | None = None
    alpn: tuple[str, ...] = ()
    ticket: bytes = b""
    psk: bool = False
    early_data: bool = False
    encrypt_then_mac: bool = False
    extended_master_secret: bool = False
    ech: bool = False

    @property
    def retry(self) -> bool:
        """Whether it asks the client for another hello."""
        return self.random == RETRY


class _Octets:
    """Octets that are taken one field after another; ValueError where they end too soon."""

    def __init__(self, octets: bytes) -> None:
        self._octets, self._at = octets, 0

    def __bool__(self) -> bool:
        return self._at < len(self._octets)

    def take(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._octets):
            raise ValueError("a hello ends within a field")
        return self._octets[self._at - count : self._at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def vector(self, width: int) -> bytes:
        """What has its length before it, in so many octets."""
        return self.take(self.number(width))


def hello_of(kind: int, body: bytes) -> Hello | None:
    """The hello that is the body of a handshake message; None where it is none."""
    try:
        return _hello(kind == CLIENT_HELLO, _Octets(body)) if kind in (CLIENT_HELLO, SERVER_HELLO) else None
    except ValueError:
        return None


def _hello(client: bool, octets: _Octets) -> Hello:
    version, random, session = octets.number(2), octets.take(32), octets.vector(1)
    if client:
        offered = octets.vector(2)
        suites = tuple(int.from_bytes(offered[at : at + 2], "big") for at in range(0, len(offered) - 1, 2))
        octets.vector(1)
    else:
        suites = (octets.number(2),)
        octets.take(1)
    found = dict[int, bytes]()
    extensions = _Octets(octets.vector(2)) if octets else _Octets(b"")
    while extensions:
        number = extensions.number(2)
        found[number] = extensions.vector(2)
    chosen, name = _version(client, version, found.get(SUPPORTED_VERSIONS)), _server_name(found.get(SERVER_NAME, b""))
    return Hello(
        client, random, chosen, suites, session, name, alpn_of(found.get(ALPN, b"")), found.get(TICKET, b""),
        PRE_SHARED_KEY in found, EARLY_DATA in found, ENCRYPT_THEN_MAC in found, EXTENDED_MASTER_SECRET in found, ECH in found,
    )  # fmt: skip


def _version(client: bool, version: int, supported: bytes | None) -> int:
    """The version: that of the extension, if there is one (RFC 8446, 4.2.1). Values reserved for GREASE (RFC 8701) are none."""
    if not supported:
        return version
    offered = supported[1:] if client else supported
    found = [int.from_bytes(offered[at : at + 2], "big") for at in range(0, len(offered) - 1, 2)]
    return max((one for one in found if one in VERSIONS), default=version)


def _server_name(extension: bytes) -> str | None:
    """The name of the host asked for (RFC 6066, 3); a server repeats the extension without one."""
    if not extension:
        return None
    names = _Octets(_Octets(extension).vector(2))
    while names:
        kind, name = names.number(1), names.vector(2)
        if kind == 0:
            return name.decode("ascii", "backslashreplace")
    return None


def alpn_of(extension: bytes) -> tuple[str, ...]:
    """The names of protocols in an extension (RFC 7301, 3.1)."""
    if not extension:
        return ()
    names, found = _Octets(_Octets(extension).vector(2)), list[str]()
    while names:
        found.append(names.vector(1).decode("utf-8", "backslashreplace"))
    return tuple(found)


def extensions_of(body: bytes) -> dict[int, bytes]:
    """The extensions in EncryptedExtensions (RFC 8446, 4.3.1); none where they cannot be read."""
    found = dict[int, bytes]()
    try:
        octets = _Octets(_Octets(body).vector(2))
        while octets:
            number = octets.number(2)
            found[number] = octets.vector(2)
    except ValueError:
        return {}
    return found
