"""TLS 1.3 (RFC 8446): a full handshake, now and then with HelloRetryRequest; session tickets, KeyUpdate now and then."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from random import Random

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from stompcap.generate.transports import tls_messages as messages
from stompcap.generate.transports.tls import Tls
from stompcap.generate.transports.tls_keys import CHANGE_CIPHER_SPEC, HANDSHAKE, V1_0, V1_2, V1_3, Sealed13, Suite, expand_label, plain
from stompcap.generate.transports.writer import Flight

SUITES = {
    "TLS_AES_128_GCM_SHA256": Suite(0x1301, "gcm", 16, "sha256"),
    "TLS_AES_256_GCM_SHA384": Suite(0x1302, "gcm", 32, "sha384"),
    "TLS_CHACHA20_POLY1305_SHA256": Suite(0x1303, "chacha", 32, "sha256"),
}
RETRY = hashlib.sha256(b"HelloRetryRequest").digest()
"""The random of a HelloRetryRequest (4.1.3)."""
SIGNED = b" " * 64 + b"TLS 1.3, server CertificateVerify\0"
COMPATIBLE = plain(CHANGE_CIPHER_SPEC, b"\1")
"""What is sent for the sake of middleboxes (D.4)."""
UPDATES = 0.01
"""How often KeyUpdate follows a send."""
RETRIES = 0.2


class Tls13(Tls):
    """One connection."""

    version = "1.3"

    def __init__(self, dice: Random, application: str = "") -> None:
        name = dice.choice(list(SUITES))
        super().__init__(dice, SUITES[name], name, application)
        self._size = hashlib.new(self.suite.hash).digest_size
        self._said = b""

    def handshake(self) -> Iterator[Flight]:
        """Both hellos, what the server proves, both Finished, and tickets."""
        session = self.dice.randbytes(32)
        ours, theirs = (X25519PrivateKey.from_private_bytes(self.dice.randbytes(32)) for _ in range(2))
        public = ours.public_key().public_bytes_raw()
        share = messages.share(messages.X25519, public)
        if retried := self.dice.random() < RETRIES:
            # What the client guesses is a share of the other group, whose octets nobody looks into.
            guess = messages.share(messages.SECP256R1, b"\4" + self.dice.randbytes(64))
            first = self._client_hello(session, guess)
            chosen = [messages.chosen_version(), (messages.KEY_SHARE, messages.words(messages.X25519))]
            retry = messages.server_hello(RETRY, session, self.suite.code, chosen)
            self._said = messages.message(messages.MESSAGE_HASH, hashlib.new(self.suite.hash, first).digest()) + retry
            yield True, plain(HANDSHAKE, first, V1_0)
            yield False, plain(HANDSHAKE, retry) + COMPATIBLE
        hello = self._client_hello(session, share)
        yield True, COMPATIBLE * retried + plain(HANDSHAKE, hello, V1_2 if retried else V1_0)
        chosen = [messages.chosen_version(), (messages.KEY_SHARE, messages.share(messages.X25519, theirs.public_key().public_bytes_raw()))]
        answer = messages.server_hello(self.dice.randbytes(32), session, self.suite.code, chosen)
        self._said += hello + answer
        main, secrets = self._handshake_secrets(theirs.exchange(ours.public_key()))
        client, server = (Sealed13(self.suite, secret) for secret in secrets)
        proof = self._proof(secrets[1])
        yield False, plain(HANDSHAKE, answer) + COMPATIBLE * (not retried) + b"".join(server.seal(HANDSHAKE, one) for one in proof)
        self._application_secrets(main)
        finished = self._finished(secrets[0])
        yield True, COMPATIBLE * (not retried) + client.seal(HANDSHAKE, finished)
        yield False, b"".join(self.seal(False, HANDSHAKE, self._ticket()) for _ in range(2))

    def flights(self) -> Iterator[Flight]:
        """Now and then the client asks for new keys (4.6.3)."""
        if self.dice.random() < UPDATES:
            for from_client, wants in ((True, 1), (False, 0)):
                yield from_client, self.seal(from_client, HANDSHAKE, messages.message(messages.KEY_UPDATE, bytes((wants,))))
                sealed = self.sealed[not from_client]
                assert isinstance(sealed, Sealed13)
                self.sealed[not from_client] = sealed.next()

    def _client_hello(self, session: bytes, share: bytes) -> bytes:
        more = [
            messages.versions(V1_3, V1_2), (messages.KEY_SHARE, messages.listed(share)), (messages.PSK_MODES, messages.listed(b"\1", 1)),
        ]  # fmt: skip
        more += [messages.alpn(self.application)] * bool(self.application)
        return messages.client_hello(self.random, session, [suite.code for suite in SUITES.values()], more)

    def _proof(self, secret: bytes) -> list[bytes]:
        """What the server sends under its first keys, in one record or several."""
        key, certificate = messages.broker()
        chosen = messages.extensions([messages.alpn(self.application)] if self.application else [])
        certificates = b"\0" + messages.listed(messages.listed(certificate, 3) + b"\0\0", 3)
        parts = [
            messages.message(messages.ENCRYPTED_EXTENSIONS, chosen),
            messages.message(messages.CERTIFICATE, certificates),
        ]
        self._said += b"".join(parts)
        signature = key.sign(SIGNED + self._digest())
        verify = messages.message(messages.CERTIFICATE_VERIFY, messages.words(messages.ED25519) + messages.listed(signature))
        self._said += verify
        parts += [verify, self._finished(secret)]
        self._said += parts[-1]
        return parts if self.dice.random() < 0.5 else [b"".join(parts)]

    def _handshake_secrets(self, shared: bytes) -> tuple[bytes, list[bytes]]:
        """The secret that all later ones come from, and those of both sides for the rest of the handshake (7.1)."""
        digest, nothing = self.suite.hash, bytes(self._size)
        early = hmac.digest(nothing, nothing, digest)
        secret = hmac.digest(self._derived(early), shared, digest)
        labels = "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"
        found = self._secrets(secret, ("c hs traffic", "s hs traffic"), labels)
        return hmac.digest(self._derived(secret), nothing, digest), found

    def _application_secrets(self, main: bytes) -> None:
        """Behind the server's Finished: what seals the records of both sides."""
        found = self._secrets(main, ("c ap traffic", "s ap traffic"), ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"))
        self._secrets(main, ("exp master",), ("EXPORTER_SECRET",))
        self.sealed = [Sealed13(self.suite, secret) for secret in found]

    def _secrets(self, secret: bytes, names: tuple[str, ...], labels: tuple[str, ...]) -> list[bytes]:
        found = [expand_label(secret, name, self._digest(), self._size, self.suite.hash) for name in names]
        for label, one in zip(labels, found, strict=True):
            self.log(label, one)
        return found

    def _derived(self, secret: bytes) -> bytes:
        return expand_label(secret, "derived", hashlib.new(self.suite.hash).digest(), self._size, self.suite.hash)

    def _digest(self) -> bytes:
        return hashlib.new(self.suite.hash, self._said).digest()

    def _finished(self, secret: bytes) -> bytes:
        key = expand_label(secret, "finished", b"", self._size, self.suite.hash)
        return messages.message(messages.FINISHED, hmac.digest(key, self._digest(), self.suite.hash))

    def _ticket(self) -> bytes:
        """A NewSessionTicket (4.6.1)."""
        ticket = messages.listed(self.dice.randbytes(8), 1) + messages.listed(self.dice.randbytes(64))
        return messages.message(messages.NEW_SESSION_TICKET, (7200).to_bytes(4, "big") + self.dice.randbytes(4) + ticket + b"\0\0")
