"""Keys of TLS records, made from the secrets of a key log, and how a record is opened with them.

TLS 1.2: RFC 5246, 5 and 6.3; GCM: 5288; CCM: 6655; ChaCha20: 7905; encrypt-then-MAC: 7366. TLS 1.3: RFC 8446, 5.2, 5.3 and 7.
A record is opened only if its tag or MAC proves it.
"""

from __future__ import annotations

import hashlib
import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count, takewhile
from struct import Struct

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

COUNTED = Struct(">Q3sH").pack
"""What the tag or the MAC of a record in TLS 1.2 covers beside it: its number, type and version, how much it carries (RFC 5246, 6.2.3)."""

PADDING = tuple(bytes((last,)) * (last + 1) for last in range(256))
"""The padding of CBC by its last octet (RFC 5246, 6.2.3.2)."""


class Opener(ABC):
    """The keys of one direction for a while."""

    explicit = False
    """Whether records carry a part of their nonce, whose differences count records."""

    @abstractmethod
    def run(self, octets: bytes, begins: Sequence[int], lengths: Sequence[int], which: range, sequence: int) -> list[bytes]:
        """What these records carry, given where their bodies begin, and how long they are; up to the first whose tag does not fit."""

    def open(self, head: Buffer, body: Buffer, sequence: int) -> bytes | None:
        """What a record carries; None where its tag does not fit this number. In TLS 1.3 its type and padding are behind it."""
        return next(iter(self.run(bytes(head) + bytes(body), (HEAD,), (len(body),), range(1), sequence)), None)


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
        self._suite, self._secret = suite, secret

    @cached_property
    def decrypt(self) -> Callable[[bytes, Buffer, Buffer], bytes]:
        """Opens a record by nonce, body and head."""
        return _aead(self._suite, expand_label(self._secret, "key", self._suite.key, self._suite.hash))

    @cached_property
    def iv(self) -> int:
        """What the number of a record is combined with."""
        return int.from_bytes(expand_label(self._secret, "iv", 12, self._suite.hash), "big")

    def updated(self) -> Opener13:
        """The keys behind a KeyUpdate (RFC 8446, 7.2)."""
        suite = self._suite
        return Opener13(suite, expand_label(self._secret, "traffic upd", len(self._secret), suite.hash))

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


def unwrapped(plains: list[bytes]) -> tuple[list[bytes], bytes]:
    """What records of TLS 1.3 carry, and the types of that: each stands behind it, before padding of zeros (RFC 8446, 5.2 and 5.4)."""
    of = bytes([plain[-1] if plain else 0 for plain in plains])
    if 0 in of:
        plains = [plain.rstrip(b"\0") for plain in plains]
        of = bytes([plain[-1] if plain else 0 for plain in plains])
    return [plain[:-1] for plain in plains], of


class OpenerAead(Opener):
    """GCM, CCM and ChaCha20-Poly1305 in TLS 1.2.

    Of the first two four octets of the nonce are of the key block, the others in each record (RFC 5288, 3; RFC 6655, 3); the nonce of the
    last is made as in TLS 1.3 (RFC 7905, 2).
    """

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self.explicit = suite.kind != CHACHA
        self.inside = EXPLICIT if self.explicit else 0
        self.overhead, self.iv = self.inside + suite.tag, iv
        self.decrypt = _aead(suite, key)

    def run(self, octets: bytes, begins: Sequence[int], lengths: Sequence[int], which: range, sequence: int) -> list[bytes]:
        """See Opener."""
        found, decrypt, iv, inside, overhead = list[bytes](), self.decrypt, self.iv, self.inside, self.overhead
        add, number = found.append, int.from_bytes(iv, "big")
        with suppress(InvalidTag):
            for at in which:
                begin, size = begins[at], lengths[at] - overhead
                if size < 0:
                    break
                behind = begin + inside
                nonce = iv + octets[begin:behind] if inside else (number ^ sequence).to_bytes(12, "big")
                covered = COUNTED(sequence, octets[begin - HEAD : begin - 2], size)
                add(decrypt(nonce, octets[behind : begin + lengths[at]], covered))
                sequence += 1
        return found


class Mac:
    """HMAC (RFC 2104) with one key, of no more octets than a block of the hash: what both hashes begin with is reckoned once."""

    def __init__(self, key: bytes, name: str) -> None:
        self.size = len(key)
        inner, outer = hashlib.new(name), hashlib.new(name)
        padded = key.ljust(inner.block_size, b"\0")
        inner.update(bytes(octet ^ 0x36 for octet in padded))
        outer.update(bytes(octet ^ 0x5C for octet in padded))
        self._inner, self._outer = inner.copy, outer.copy

    def of(self, octets: bytes) -> bytes:
        """The tag of some octets."""
        inner, outer = self._inner(), self._outer()
        inner.update(octets)
        outer.update(inner.digest())
        return outer.digest()


class OpenerCbc(Opener):
    """CBC in TLS 1.2: an IV, what is encrypted, and the MAC within it or, with encrypt-then-MAC, behind it."""

    def __init__(self, suite: Suite, key: bytes, mac: bytes, *, encrypt_then_mac: bool) -> None:
        self.mac, self.behind = Mac(mac, suite.mac), encrypt_then_mac
        self.cipher = algorithms.AES(key)

    def run(self, octets: bytes, begins: Sequence[int], lengths: Sequence[int], which: range, sequence: int) -> list[bytes]:
        """See Opener. All are decrypted as one chain: what is before the first block of a record is its own IV."""
        found, mac, size = list[bytes](), self.mac.of, self.mac.size
        tail = size if self.behind else 0
        whole = takewhile(lambda at: lengths[at] - tail >= 2 * BLOCK and not (lengths[at] - tail) % BLOCK, which)
        bodies = [octets[begins[at] : begins[at] + lengths[at] - tail] for at in whole]
        text, end = Cipher(self.cipher, modes.CBC(bytes(BLOCK))).decryptor().update(b"".join(bodies)), 0
        for at, body, number in zip(which, bodies, count(sequence), strict=False):
            begin, end, first = end + BLOCK, end + len(body), begins[at]
            says, behind = octets[first - HEAD : first - 2], first + lengths[at]
            if tail and mac(COUNTED(number, says, len(body)) + body) != octets[behind - tail : behind]:
                break
            padding = PADDING[text[end - 1]]
            rest = end - len(padding) - (size - tail)  # where the MAC begins that is within
            plain = text[begin:rest]
            if rest < begin or not text.endswith(padding, begin, end):
                break
            if not tail and mac(COUNTED(number, says, rest - begin) + plain) != text[rest : rest + size]:
                break
            found.append(plain)
        return found


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
    return OpenerAead(suite, keys[0], ivs[0]), OpenerAead(suite, keys[1], ivs[1])


def suites_of(secret: bytes, suites: dict[int, Suite]) -> list[int]:
    """The suites of TLS 1.3 that a secret may belong to: those whose hash has as many octets."""
    return [code for code, suite in suites.items() if (48 if suite.hash == "sha384" else 32) == len(secret)]
