"""TLS 1.2 (RFC 5246): a full handshake or a resumed one, with GCM, ChaCha20 or CBC, the latter with and without encrypt-then-MAC."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import accumulate, pairwise
from random import Random

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from stompcap.generate.transports import tls_messages as messages
from stompcap.generate.transports.tls import Tls
from stompcap.generate.transports.tls_keys import CHANGE_CIPHER_SPEC, HANDSHAKE, NONCE, V1_0, Sealed12, Suite, plain, prf
from stompcap.generate.transports.writer import Flight

SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": Suite(0xC02B, "gcm", 16, "sha256"),
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": Suite(0xC02C, "gcm", 32, "sha384"),
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": Suite(0xCCA9, "chacha", 32, "sha256"),
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": Suite(0xC009, "cbc", 16, "sha256", "sha1"),
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": Suite(0xC00A, "cbc", 32, "sha256", "sha1"),
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": Suite(0xC023, "cbc", 16, "sha256", "sha256"),
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384": Suite(0xC024, "cbc", 32, "sha384", "sha384"),
}
CHANGED = plain(CHANGE_CIPHER_SPEC, b"\1")
RESUMED = 0.3
"""The share of connections that go on with a session of before the capture."""


class Tls12(Tls):
    """One connection."""

    version = "1.2"

    def __init__(self, dice: Random, application: str = "") -> None:
        name = dice.choice(list(SUITES))
        super().__init__(dice, SUITES[name], name, application)
        self.resumed = dice.random() < RESUMED
        self._late = bool(self.suite.mac) and dice.random() < 0.5
        self._server_random = dice.randbytes(32)
        self._said = b""

    def handshake(self) -> Iterator[Flight]:
        """Both hellos, the exchange of keys unless they are known, and Finished of both."""
        session = self.dice.randbytes(32)
        asked = [
            (messages.RENEGOTIATION, b"\0"), (messages.EXTENDED_MASTER_SECRET, b""), (messages.POINT_FORMATS, messages.listed(b"\0", 1)),
        ]  # fmt: skip
        answered = list(asked)
        asked += [(messages.SESSION_TICKET, b""), (messages.ENCRYPT_THEN_MAC, b"")]
        answered += [(messages.ENCRYPT_THEN_MAC, b"")] * self._late
        if self.application:
            asked.append(messages.alpn(self.application))
            answered.append(messages.alpn(self.application))
        hello = messages.client_hello(self.random, session * self.resumed, [suite.code for suite in SUITES.values()], asked)
        answer = messages.server_hello(self._server_random, session, self.suite.code, answered)
        self._said = hello + answer
        yield True, plain(HANDSHAKE, hello, V1_0)
        if self.resumed:
            master = self.dice.randbytes(48)
            self._change(master)
            yield False, plain(HANDSHAKE, answer) + CHANGED + self._finished(False, master)
            yield True, CHANGED + self._finished(True, master)
            return
        ours, theirs = (X25519PrivateKey.from_private_bytes(self.dice.randbytes(32)) for _ in range(2))
        proof = self._proof(theirs.public_key().public_bytes_raw())
        self._said += b"".join(proof)
        yield False, b"".join(plain(HANDSHAKE, one) for one in (answer, *proof))
        exchange = messages.message(messages.CLIENT_KEY_EXCHANGE, messages.listed(ours.public_key().public_bytes_raw(), 1))
        self._said += exchange
        # RFC 7627, 4
        shared = theirs.exchange(ours.public_key())
        master = prf(shared, "extended master secret", hashlib.new(self.suite.hash, self._said).digest(), 48, self.suite.hash)
        self._change(master)
        yield True, plain(HANDSHAKE, exchange) + CHANGED + self._finished(True, master)
        yield False, CHANGED + self._finished(False, master)

    def _proof(self, public: bytes) -> list[bytes]:
        """The server's certificate, its key share with a signature (RFC 8422, 5.4), and that it has said all."""
        key, certificate = messages.broker()
        params = b"\3" + messages.words(messages.X25519) + messages.listed(public, 1)
        signature = key.sign(self.random + self._server_random + params)
        signed = params + messages.words(messages.ED25519) + messages.listed(signature)
        return [
            messages.message(messages.CERTIFICATE, messages.listed(messages.listed(certificate, 3), 3)),
            messages.message(messages.SERVER_KEY_EXCHANGE, signed),
            messages.message(messages.SERVER_HELLO_DONE, b""),
        ]

    def _change(self, master: bytes) -> None:
        """The keys of both sides (6.3)."""
        suite = self.suite
        self.log("CLIENT_RANDOM", master)
        mac = hashlib.new(suite.mac).digest_size if suite.mac else 0
        iv = 0 if suite.mac else NONCE if suite.cipher == "chacha" else 4
        sizes = [mac, mac, suite.key, suite.key, iv, iv]
        block = prf(master, "key expansion", self._server_random + self.random, sum(sizes), suite.hash)
        parts = [block[begin:end] for begin, end in pairwise(accumulate(sizes, initial=0))]
        self.sealed = [Sealed12(suite, (parts[side], parts[2 + side], parts[4 + side]), self.dice, late=self._late) for side in (0, 1)]

    def _finished(self, from_client: bool, master: bytes) -> bytes:
        """Finished of one side (7.4.9), sealed."""
        label = "client finished" if from_client else "server finished"
        digest = hashlib.new(self.suite.hash, self._said).digest()
        finished = messages.message(messages.FINISHED, prf(master, label, digest, 12, self.suite.hash))
        self._said += finished
        return self.seal(from_client, HANDSHAKE, finished)
