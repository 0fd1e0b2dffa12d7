"""Keys of TLS made from secrets (RFC 5246, 5 and 6.3; RFC 7627; RFC 8446, 7), and records sealed with them."""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from random import Random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION = 20, 21, 22, 23
V1_0, V1_2, V1_3 = 0x0301, 0x0303, 0x0304
TAG, BLOCK = 16, 16
NONCE = 12


@dataclass(frozen=True)
class Suite:
    """A cipher suite: its code, its cipher, octets of a key, the hash of its schedule, and with CBC that of the MAC."""

    code: int
    cipher: str
    key: int
    hash: str
    mac: str = ""


def plain(kind: int, octets: bytes, version: int = V1_2) -> bytes:
    """A record that nothing protects."""
    return struct.pack(">BHH", kind, version, len(octets)) + octets


def expand_label(secret: bytes, label: str, context: bytes, size: int, digest: str) -> bytes:
    """HKDF-Expand-Label (RFC 8446, 7.1)."""
    name = b"tls13 " + label.encode()
    info = struct.pack(">HB", size, len(name)) + name + bytes((len(context),)) + context
    found, last = b"", b""
    for number in range(1, -(-size // hashlib.new(digest).digest_size) + 1):
        last = hmac.digest(secret, last + info + bytes((number,)), digest)
        found += last
    return found[:size]


def prf(secret: bytes, label: str, seed: bytes, size: int, digest: str) -> bytes:
    """The pseudo-random function of TLS 1.2 (RFC 5246, 5)."""
    named = label.encode() + seed
    found, last = b"", named
    while len(found) < size:
        last = hmac.digest(secret, last, digest)
        found += hmac.digest(secret, last + named, digest)
    return found[:size]


class Sealed13:
    """What one side seals under a traffic secret of TLS 1.3."""

    def __init__(self, suite: Suite, secret: bytes) -> None:
        self._suite, self._secret = suite, secret
        self._cipher = _aead(suite, expand_label(secret, "key", b"", suite.key, suite.hash))
        self._iv = int.from_bytes(expand_label(secret, "iv", b"", NONCE, suite.hash), "big")
        self._number = 0

    def seal(self, kind: int, octets: bytes, padding: int = 0) -> bytes:
        """A record (5.2)."""
        inner = octets + bytes((kind,)) + bytes(padding)
        head = struct.pack(">BHH", APPLICATION, V1_2, len(inner) + TAG)
        nonce = (self._iv ^ self._number).to_bytes(NONCE, "big")
        self._number += 1
        return head + self._cipher.encrypt(nonce, inner, head)

    def next(self) -> Sealed13:
        """The same behind a KeyUpdate (7.2)."""
        size = hashlib.new(self._suite.hash).digest_size
        return Sealed13(self._suite, expand_label(self._secret, "traffic upd", b"", size, self._suite.hash))


class Sealed12:
    """What one side seals under its part of a key block of TLS 1.2. `late` is encrypt-then-MAC (RFC 7366)."""

    def __init__(self, suite: Suite, keys: tuple[bytes, bytes, bytes], dice: Random, *, late: bool) -> None:
        """`keys` are those of the MAC, the cipher, and the implicit nonce."""
        self._suite, self._dice, self._late = suite, dice, late
        self._mac, self._key, self._iv = keys
        self._cipher = None if suite.mac else _aead(suite, self._key)
        self._number = 0

    def seal(self, kind: int, octets: bytes, padding: int = 0) -> bytes:
        """A record (RFC 5246, 6.2.3; RFC 5288; RFC 7905); `padding` blocks are added with CBC."""
        number = struct.pack(">Q", self._number)
        self._number += 1
        if self._cipher is None:
            body = self._cbc(number, kind, octets, padding)
        else:
            more = number + struct.pack(">BHH", kind, V1_2, len(octets))
            if self._suite.cipher == "chacha":
                nonce = (int.from_bytes(self._iv, "big") ^ int.from_bytes(number, "big")).to_bytes(NONCE, "big")
                body = self._cipher.encrypt(nonce, octets, more)
            else:
                body = number + self._cipher.encrypt(self._iv + number, octets, more)
        return struct.pack(">BHH", kind, V1_2, len(body)) + body

    def _cbc(self, number: bytes, kind: int, octets: bytes, blocks: int) -> bytes:
        """The fragment of a record with CBC (6.2.3.2)."""

        def mac(of: bytes) -> bytes:
            return hmac.digest(self._mac, number + struct.pack(">BHH", kind, V1_2, len(of)) + of, self._suite.mac)

        content = octets if self._late else octets + mac(octets)
        pad = -(len(content) + 1) % BLOCK + BLOCK * blocks
        iv = self._dice.randbytes(BLOCK)
        cipher = Cipher(algorithms.AES(self._key), modes.CBC(iv)).encryptor()
        found = iv + cipher.update(content + bytes((pad,)) * (pad + 1)) + cipher.finalize()
        return found + mac(found) if self._late else found


def _aead(suite: Suite, key: bytes) -> AESGCM | ChaCha20Poly1305:
    return ChaCha20Poly1305(key) if suite.cipher == "chacha" else AESGCM(key)
