"""Handshake messages of TLS 1.2 and 1.3 (RFC 5246, 7.4; RFC 8446, 4), and the certificate that the broker of generated captures has."""

from __future__ import annotations

import datetime
import hashlib
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from stompcap.generate.transports.tls_keys import V1_2, V1_3
from stompcap.generate.transports.upgrade import HOST

(CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET, ENCRYPTED_EXTENSIONS, CERTIFICATE, SERVER_KEY_EXCHANGE, SERVER_HELLO_DONE) = (
    1, 2, 4, 8, 11, 12, 14,
)  # fmt: skip
CERTIFICATE_VERIFY, CLIENT_KEY_EXCHANGE, FINISHED, KEY_UPDATE, MESSAGE_HASH = 15, 16, 20, 24, 254
SERVER_NAME, GROUPS, POINT_FORMATS, SIGNATURES, ALPN, ENCRYPT_THEN_MAC, EXTENDED_MASTER_SECRET = 0, 10, 11, 13, 16, 22, 23
SESSION_TICKET, SUPPORTED_VERSIONS, PSK_MODES, KEY_SHARE, RENEGOTIATION = 35, 43, 45, 51, 0xFF01
X25519, SECP256R1, ED25519, ECDSA_SECP256R1 = 0x001D, 0x0017, 0x0807, 0x0403
Extension = tuple[int, bytes]


def message(kind: int, octets: bytes) -> bytes:
    """A handshake message."""
    return bytes((kind,)) + len(octets).to_bytes(3, "big") + octets


def listed(octets: bytes, width: int = 2) -> bytes:
    """A vector: its length in `width` octets, and itself."""
    return len(octets).to_bytes(width, "big") + octets


def words(*numbers: int) -> bytes:
    """Numbers of two octets."""
    return struct.pack(f">{len(numbers)}H", *numbers)


def extensions(found: Iterable[Extension]) -> bytes:
    """The extensions of a message."""
    return listed(b"".join(words(kind) + listed(octets) for kind, octets in found))


def client_hello(random: bytes, session: bytes, suites: Sequence[int], more: Iterable[Extension]) -> bytes:
    """A ClientHello for the broker, with what both versions ask for and `more`."""
    common = [
        (SERVER_NAME, listed(b"\0" + listed(HOST.encode()))),
        (GROUPS, listed(words(X25519, SECP256R1))),
        (SIGNATURES, listed(words(ED25519, ECDSA_SECP256R1))),
    ]
    body = words(V1_2) + random + listed(session, 1) + listed(words(*suites)) + b"\1\0"
    return message(CLIENT_HELLO, body + extensions([*common, *more]))


def server_hello(random: bytes, session: bytes, suite: int, more: Iterable[Extension]) -> bytes:
    """A ServerHello."""
    return message(SERVER_HELLO, words(V1_2) + random + listed(session, 1) + words(suite) + b"\0" + extensions(more))


def share(group: int, public: bytes) -> bytes:
    """A key share."""
    return words(group) + listed(public)


def versions(*numbers: int) -> Extension:
    """The versions that a client supports."""
    return SUPPORTED_VERSIONS, listed(words(*numbers), 1)


def chosen_version() -> Extension:
    """TLS 1.3, as a server chooses it."""
    return SUPPORTED_VERSIONS, words(V1_3)


def alpn(name: str) -> Extension:
    """One application protocol."""
    return ALPN, listed(listed(name.encode(), 1))


@lru_cache(maxsize=1)
def broker() -> tuple[Ed25519PrivateKey, bytes]:
    """The key and the certificate (DER) of the broker, the same in every capture: they are made up, and open nothing."""
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"the broker of generated captures").digest())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    built = x509.CertificateBuilder(name, name, key.public_key(), serial_number=1)
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    built = built.not_valid_before(begin).not_valid_after(begin.replace(year=2036))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
    return key, built.sign(key, None).public_bytes(Encoding.DER)
