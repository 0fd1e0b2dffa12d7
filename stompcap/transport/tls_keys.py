"""Keys of TLS records, made from the secrets of a key log, and how a record is opened with them.

TLS 1.2: RFC 5246, 5 and 6.3; GCM: 5288; CCM: 6655; ChaCha20: 7905; encrypt-then-MAC: 7366. TLS 1.3: RFC 8446, 5.2, 5.3 and 7.
A record is opened only if its tag or MAC proves it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

from stompcap.transport.tls_suites import CBC, CCM, CHACHA, GCM, Suite

HEAD = 5
"""Octets of a record's head: type, version, length."""

EXPLICIT = 8
"""Octets of the nonce that a record of TLS 1.2 has before what is encrypted with GCM or CCM."""

BLOCK = 16
Buffer = bytes | memoryview


class Opener:
    """The keys of one direction for a while."""

    explicit = False
    """Whether records carry a part of their nonce, whose differences count records."""

    def run(self, octets: bytes, begins: Sequence[int], lengths: Sequence[int], which: range, sequence: int) -> list[bytes]:
        """What these records carry, given where their bodies begin, and how long they are; up to the first whose tag does not fit."""
        found, view = list[bytes](), memoryview(octets)
        for at, number in zip(which, count(sequence)):
            begin = begins[at]
            plain = self.open(view[begin - HEAD : begin], view[begin : begin + lengths[at]], number)
            if plain is None:
                break
            found.append(plain)
        return found

    def open(self, head: Buffer, body: Buffer, sequence: int) -> bytes | None:
        """What a record carries; None where its tag does not fit this number. In TLS 1.3 its type and padding are behind it."""
        raise NotImplementedError


def expand_label(secret: bytes, label: str, size: int, name: str) -> bytes:
    """HKDF-Expand-Label with no context (RFC 8446, 7.1; RFC 5869, 2.3); `name` is that of the hash."""
    full = b"tls13 " + label.encode()
    info = size.to_bytes(2, "big") + bytes((len(full),)) + full + b"\0"
    out = last = b""
    for counter in range(1, 256):
        if len(out) >= size:
            break
        last = hmac.digest(secret, last + info + bytes((counter,)), name)
        out += last
    return out[:size]


def updated(secret: bytes, suite: Suite) -> bytes:
    """The secret behind a KeyUpdate (RFC 8446, 7.2)."""
    return expand_label(secret, "traffic upd", len(secret), suite.hash)


def prf(secret: bytes, label: bytes, seed: bytes, size: int, name: str) -> bytes:
    """The pseudorandom function of TLS 1.2 (RFC 5246, 5)."""
    seed = label + seed
    out, a = b"", seed
    while len(out) < size:
        a = hmac.digest(secret, a, name)
        out += hmac.digest(secret, a + seed, name)
    return out[:size]


def _aead(suite: Suite, key: bytes) -> Callable[[bytes, Buffer, Buffer], bytes]:
    if suite.kind == GCM:
        return AESGCM(key).decrypt
    if suite.kind == CHACHA:
        return ChaCha20Poly1305(key).decrypt
    return AESCCM(key, suite.tag).decrypt


class Opener13(Opener):
    """The keys that a secret of TLS 1.3 gives (RFC 8446, 7.3)."""

    def __init__(self, suite: Suite, secret: bytes) -> None:
        self.decrypt = _aead(suite, expand_label(secret, "key", suite.key, suite.hash))
        self.iv = int.from_bytes(expand_label(secret, "iv", 12, suite.hash), "big")

    def run(self, octets: bytes, begins: Sequence[int], lengths: Sequence[int], which: range, sequence: int) -> list[bytes]:
        """See Opener."""
        found, decrypt, iv = list[bytes](), self.decrypt, self.iv
        add = found.append
        with suppress(InvalidTag):
            for at in which:
                begin = begins[at]
                nonce = (iv ^ sequence).to_bytes(12, "big")
                add(decrypt(nonce, octets[begin : begin + lengths[at]], octets[begin - HEAD : begin]))
                sequence += 1
        return found

    def open(self, head: Buffer, body: Buffer, sequence: int) -> bytes | None:
        """See Opener."""
        try:
            return self.decrypt((self.iv ^ sequence).to_bytes(12, "big"), body, head)
        except InvalidTag:
            return None


class OpenerExplicit(Opener):
    """GCM and CCM in TLS 1.2: four octets of the nonce are of the key block, the others in each record."""

    explicit = True

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self.tag, self.iv = suite.tag, iv
        self.overhead = EXPLICIT + suite.tag
        self.decrypt = _aead(suite, key)

    def run(self, octets: bytes, begins: Sequence[int], lengths: Sequence[int], which: range, sequence: int) -> list[bytes]:
        """See Opener."""
        found, decrypt, iv, overhead = list[bytes](), self.decrypt, self.iv, self.overhead
        add = found.append
        with suppress(InvalidTag):
            for at in which:
                begin, size = begins[at], lengths[at] - overhead
                if size < 0:
                    break
                behind = begin + EXPLICIT
                covered = sequence.to_bytes(8, "big") + octets[begin - HEAD : begin - 2] + size.to_bytes(2, "big")
                add(decrypt(iv + octets[begin:behind], octets[behind : begin + lengths[at]], covered))
                sequence += 1
        return found

    def open(self, head: Buffer, body: Buffer, sequence: int) -> bytes | None:
        """See Opener."""
        size = len(body) - self.overhead
        if size < 0:
            return None
        try:
            return self.decrypt(self.iv + bytes(body[:EXPLICIT]), body[EXPLICIT:], _counted(head, sequence, size))
        except InvalidTag:
            return None


class OpenerChaCha(Opener):
    """ChaCha20-Poly1305 in TLS 1.2: its nonce is made as in TLS 1.3."""

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self.overhead, self.iv = suite.tag, int.from_bytes(iv, "big")
        self.decrypt = _aead(suite, key)

    def open(self, head: Buffer, body: Buffer, sequence: int) -> bytes | None:
        """See Opener."""
        size = len(body) - self.overhead
        if size < 0:
            return None
        try:
            return self.decrypt((self.iv ^ sequence).to_bytes(12, "big"), body, _counted(head, sequence, size))
        except InvalidTag:
            return None


class OpenerCbc(Opener):
    """CBC in TLS 1.2: an IV, what is encrypted, and the MAC within it or, with encrypt-then-MAC, behind it."""

    def __init__(self, suite: Suite, key: bytes, mac: bytes, *, encrypt_then_mac: bool) -> None:
        self.mac, self.hash, self.behind = mac, suite.mac, encrypt_then_mac
        self.cipher = algorithms.AES(key)

    def open(self, head: Buffer, body: Buffer, sequence: int) -> bytes | None:
        """See Opener."""
        body, size = bytes(body), len(self.mac)
        if self.behind:
            body, tag = body[:-size], body[-size:]
            if len(body) < 2 * BLOCK or hmac.digest(self.mac, _counted(head, sequence, len(body)) + body, self.hash) != tag:
                return None
        if len(body) < 2 * BLOCK or len(body) % BLOCK:
            return None
        machine = Cipher(self.cipher, modes.CBC(body[:BLOCK])).decryptor()
        plain = machine.update(body[BLOCK:]) + machine.finalize()
        padding = plain[-1] + 1
        if plain[-padding:] != bytes((padding - 1,)) * padding:
            return None
        plain = plain[:-padding]
        if self.behind:
            return plain
        plain, tag = plain[: len(plain) - size], plain[max(len(plain) - size, 0) :]
        return plain if hmac.digest(self.mac, _counted(head, sequence, len(plain)) + plain, self.hash) == tag else None


def _counted(head: Buffer, sequence: int, size: int) -> bytes:
    """What the tag or the MAC of a record in TLS 1.2 covers beside it (RFC 5246, 6.2.3)."""
    return sequence.to_bytes(8, "big") + bytes(head[:3]) + size.to_bytes(2, "big")


def openers_1_2(suite: Suite, master: bytes, client: bytes, server: bytes, *, encrypt_then_mac: bool) -> tuple[Opener, Opener]:
    """The keys of the client and of the server, from the master secret and both randoms (RFC 5246, 6.3)."""
    mac = {"": 0, "sha1": 20, "sha256": 32, "sha384": 48}[suite.mac]
    iv = {GCM: 4, CCM: 4, CHACHA: 12, CBC: 0}[suite.kind]
    block = prf(master, b"key expansion", server + client, 2 * (mac + suite.key + iv), suite.hash)
    ends = (mac, 2 * mac, 2 * mac + suite.key, 2 * (mac + suite.key), 2 * (mac + suite.key) + iv)
    macs, keys, ivs = ((block[: ends[0]], block[ends[0] : ends[1]]), (block[ends[1] : ends[2]], block[ends[2] : ends[3]]),
                       (block[ends[3] : ends[4]], block[ends[4] :]))  # fmt: skip
    if suite.kind == CBC:
        first, second = (OpenerCbc(suite, key, of, encrypt_then_mac=encrypt_then_mac) for key, of in zip(keys, macs, strict=True))
        return first, second
    kind = OpenerChaCha if suite.kind == CHACHA else OpenerExplicit
    return kind(suite, keys[0], ivs[0]), kind(suite, keys[1], ivs[1])


def suites_of(secret: bytes, suites: dict[int, Suite]) -> list[int]:
    """The suites of TLS 1.3 that a secret may belong to: those whose hash has as many octets."""
    return [code for code, suite in suites.items() if (48 if suite.hash == "sha384" else 32) == len(secret)]
