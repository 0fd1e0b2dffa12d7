"""What is known of a TLS connection: what its hellos agreed on, and the keys of each side's phases, made from a key log when needed.

A phase is the time for which keys stay. It counts from 0, in which records are in the clear. In TLS 1.2 each ChangeCipherSpec begins one.
In TLS 1.3 phase EARLY has the client's early data, then come the handshake's, and that of APPLICATION with one more for each KeyUpdate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from stompcap.transport.keys import APPLICATION as APPLICATION_SECRETS
from stompcap.transport.keys import EARLY as EARLY_SECRET
from stompcap.transport.keys import HANDSHAKE as HANDSHAKE_SECRETS
from stompcap.transport.keys import MASTER, SESSION, KeyLog, digest
from stompcap.transport.state import Arrays
from stompcap.transport.tls_hello import TLS_1_2, TLS_1_3, Hello
from stompcap.transport.tls_keys import Opener, Opener13, openers_1_2, suites_of
from stompcap.transport.tls_suites import SUITES_1_2, SUITES_1_3

CLEAR, EARLY, HANDSHAKE, APPLICATION = range(4)
NOBODY = -1
UNKNOWN, REFUSED, ACCEPTED = range(3)
MOST_RANDOMS = 4096
"""Connections of a key log that are tried where a connection does not tell its own."""

NUMBERS = ("client", "version", "resumed", "early", "retried", "ech", "extended_master_secret", "unwalked", "guessed", "logged")
DIGEST = 32


@dataclass(eq=False, repr=False)
class Connection:
    """What is known of one connection.

    client     the client's side, or NOBODY
    digests    of the client's hellos, renegotiations included: the digest of the random
    own        the random of the first, where the key log may have its secret by another name: that of the session, or of the connection
               that it resumes
    session, echoed   the id of a session that the client offers, and the one that the server answers
    hellos     of the server's hellos: suite, whether MACs cover what is encrypted, and the random
    early      whether the server accepted early data
    ech        whether the client's hello has an encrypted one inside, whose random the key log has
    unwalked   nobody asks for its records: they are not looked at
    guessed    whether a tag has told the random, where no hello did
    logged     bits: whether there was a key log, whether that has secrets of it, and whether one that was named could not be read
    """

    keys: KeyLog
    client: int = NOBODY
    version: int = 0
    resumed: int = 0
    early: int = UNKNOWN
    retried: int = 0
    ech: int = 0
    extended_master_secret: int = 0
    unwalked: int = 0
    guessed: int = 0
    logged: int = 0
    digests: list[bytes] = field(default_factory=list)
    hellos: list[tuple[int, int, bytes]] = field(default_factory=list)
    own: bytes = b""
    session: bytes = b""
    echoed: bytes = b""
    server_name: str | None = None
    offered: tuple[str, ...] = ()
    alpn: str | None = None
    _openers: dict[tuple[int, int], Opener | None] = field(default_factory=dict)

    def take(self, side: int, hello: Hello) -> None:
        """Take in a hello of a side."""
        if hello.client:
            self._of_client(side, hello)
        elif hello.retry:
            self.retried, self.client, self.early = 1, 1 - side, REFUSED
        else:
            self._of_server(side, hello)
        self._openers.clear()

    def _of_client(self, side: int, hello: Hello) -> None:
        mine = digest(hello.random)
        self.client, self.ech = side, int(hello.ech)
        if not self.digests or self.digests[-1] != mine:  # after a HelloRetryRequest it is the same
            self.digests.append(mine)
        if len(self.digests) == 1:
            self.session, self.server_name, self.offered = hello.session, hello.server_name, hello.alpn
            elsewhere = self.keys.of_sessions or (self.keys.of_masters and not self.keys.has(hello.random))
            self.own = hello.random if elsewhere else b""
            if not self.hellos:
                self.version = self.version or -hello.version
            if not hello.early_data:
                self.early = REFUSED

    def _of_server(self, side: int, hello: Hello) -> None:
        self.client = 1 - side
        if self.guessed and self.hellos[0][2] == bytes(DIGEST):  # it comes after all, behind what a tag has told
            self.hellos.clear()
            self.guessed = 0
        self.hellos.append((hello.suites[0], int(hello.encrypt_then_mac), hello.random))
        if len(self.hellos) == 1:
            self.version = hello.version
            self.extended_master_secret = int(hello.extended_master_secret)
            self.resumed, self.echoed = int(hello.psk), hello.session
            self.alpn = self.alpn or next(iter(hello.alpn), None)
            if not self.goes_on and not self.keys.of_sessions:
                self.own = b""

    @property
    def is_1_3(self) -> bool:
        """Whether it is TLS 1.3, as far as is known."""
        return self.version == TLS_1_3 or (not self.hellos and self.version in (0, -TLS_1_3))

    @property
    def goes_on(self) -> bool:
        """Whether it resumes an earlier one: with its keys (RFC 8446, 2.2), or with its session or ticket (RFC 5246, F.1.4; 5077, 3.4)."""
        return bool(self.resumed) or (self.version <= TLS_1_2 and bool(self.session) and self.session == self.echoed)

    @property
    def suite(self) -> int | None:
        """The code of the suite of the first handshake."""
        return self.hellos[0][0] if self.hellos else None

    @property
    def readable(self) -> bool:
        """Whether this reads its version and its suite."""
        if not self.hellos:
            return self.version in (0, -TLS_1_3, -TLS_1_2)
        suites = SUITES_1_3 if self.version == TLS_1_3 else SUITES_1_2 if self.version == TLS_1_2 else {}
        return self.hellos[0][0] in suites

    @property
    def random(self) -> bytes | None:
        """The client's random, if the key log has a secret of it."""
        found = self.keys.random_of(self.digests[0]) if self.digests else None
        return found or (self.own if self.own and self._of_session is not None else None)

    @property
    def _of_session(self) -> bytes | None:
        """The master secret of TLS 1.2 by the id of the session."""
        return self.keys.secret(SESSION, self.echoed) if self.echoed else None

    def may_guess(self) -> bool:
        """Whether the key log may have secrets of it although a hello was lost, or names another random than the log."""
        if not self.keys or self.version not in (0, -TLS_1_3, -TLS_1_2, TLS_1_2, TLS_1_3):
            return False
        return not self.hellos if self.random else not self.digests or bool(self.ech) or self.takes_over

    @property
    def takes_over(self) -> bool:
        """Whether it has the master secret of a connection that it resumes, by whose random alone some libraries log it: NSS, Go."""
        return self.version == TLS_1_2 and len(self.hellos) == 1 and bool(self.own) and self.goes_on

    def opener(self, side: int, phase: int) -> Opener | None:
        """The keys of a side in a phase; None where the key log does not have them, or this does not read the suite."""
        if (side, phase) not in self._openers:
            self._openers[side, phase] = self._made(side, phase)
        return self._openers[side, phase]

    def _made(self, side: int, phase: int) -> Opener | None:
        if phase == CLEAR or not self.hellos or self.client == NOBODY:
            return None
        if self.version == TLS_1_3:
            before = self._openers.get((side, phase - 1)) if phase > APPLICATION else None
            if isinstance(before, Opener13):
                return before.updated()
            random = self.random
            return None if random is None else opener_1_3(self.keys, random, self.hellos[0][0], int(side != self.client), phase)
        if self.version != TLS_1_2 or phase > min(len(self.digests), len(self.hellos)):
            return None
        random = self.random if phase == 1 else self.keys.random_of(self.digests[phase - 1])
        return None if random is None else self.opener_1_2(random, int(side != self.client), phase)

    def opener_1_2(self, random: bytes, role: int, phase: int = 1) -> Opener | None:
        """The keys of the client (role 0) or server in TLS 1.2, were the master secret that of this client's random."""
        code, encrypt_then_mac, server = self.hellos[phase - 1]
        suite, master = SUITES_1_2.get(code), self.keys.secret(MASTER, random)
        if master is None and phase == 1 and random == self.own:
            master = self._of_session
        if suite is None or master is None:
            return None
        own = self.own if phase == 1 and self.own else random
        return openers_1_2(suite, master, own, server, encrypt_then_mac=bool(encrypt_then_mac))[role]

    def guesses(self, side: int, phases: tuple[int, ...]) -> Iterator[tuple[bytes, int, int, int, Opener]]:
        """Keys that may be those of a side, where no hello told: the random, the client's side, the suite, the phase, the keys."""
        clients = (self.client,) if self.client != NOBODY else (side, 1 - side)
        for random in [self.random] if self.random else islice(self.keys.randoms, MOST_RANDOMS):
            for client in clients:
                role = int(side != client)
                if self.hellos and self.version == TLS_1_2:
                    opener = self.opener_1_2(random, role)
                    if opener is not None:
                        yield random, client, self.hellos[0][0], 1, opener
                    continue
                for phase in phases:
                    secret = self.keys.secret((HANDSHAKE_SECRETS if phase == HANDSHAKE else APPLICATION_SECRETS)[role], random)
                    codes = [self.hellos[0][0]] if self.hellos else suites_of(secret, dict(SUITES_1_3)) if secret else []
                    for code in codes:
                        opener = opener_1_3(self.keys, random, code, role, phase)
                        if opener is not None:
                            yield random, client, code, phase, opener

    def found(self, random: bytes, client: int, suite: int) -> None:
        """A tag has proven that this is the random, and which side and suite it is of."""
        self.digests[:1], self.client, self.guessed = [digest(random)], client, 1
        if not self.hellos:
            self.hellos.append((suite, 0, bytes(DIGEST)))
            self.version = TLS_1_3
        self._openers.clear()

    # what goes on

    def kept(self) -> dict[str, np.ndarray[Any, Any]]:
        """What is kept of it: nothing that is not in the clear on the wire."""
        self.logged = bool(self.keys) | 2 * (self.random is not None) | 4 * bool(self.keys.unread)
        hellos = b"".join(code.to_bytes(2, "big") + bytes((etm,)) + random for code, etm, random in self.hellos)
        texts = {"server_name": self.server_name, "alpn": self.alpn, "offered": "\0".join(self.offered)}
        return {
            "connection": np.array([int(getattr(self, name)) for name in NUMBERS], np.int64), "digests": _octets(b"".join(self.digests)),
            "hellos": _octets(hellos), "session": _octets(self.session),
            "echoed": _octets(self.echoed), "own": _octets(self.own),
            **{name: _octets(b"" if text is None else b"=" + text.encode()) for name, text in texts.items()},
        }  # fmt: skip

    @staticmethod
    def of(kept: Arrays | None, keys: KeyLog) -> Connection:
        """The connection that was kept, or a new one."""
        if kept is None:
            return Connection(keys)
        numbers = dict(zip(NUMBERS, kept["connection"].tolist(), strict=True))
        digests, hellos = kept["digests"].tobytes(), kept["hellos"].tobytes()
        texts = {name: kept[name].tobytes().decode() for name in ("server_name", "alpn", "offered")}
        name, alpn = (texts[one][1:] if texts[one] else None for one in ("server_name", "alpn"))
        size = 3 + DIGEST
        parts = [hellos[at : at + size] for at in range(0, len(hellos), size)]
        return Connection(
            keys, **numbers, digests=[digests[at : at + DIGEST] for at in range(0, len(digests), DIGEST)],
            hellos=[(int.from_bytes(one[:2], "big"), one[2], one[3:]) for one in parts], session=kept["session"].tobytes(),
            own=kept["own"].tobytes(), echoed=kept["echoed"].tobytes(), server_name=name, alpn=alpn,
            offered=tuple(filter(None, texts["offered"][1:].split("\0"))),
        )  # fmt: skip


KEEPS = ("connection", "digests", "hellos", "own", "session", "echoed", "server_name", "alpn", "offered")


def _octets(octets: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(octets, np.uint8)


def opener_1_3(keys: KeyLog, random: bytes, code: int, role: int, phase: int) -> Opener13 | None:
    """The keys of the client (role 0) or the server of TLS 1.3 in a phase."""
    suite = SUITES_1_3.get(code)
    if phase == EARLY:
        secret = keys.secret(EARLY_SECRET, random) if role == 0 else None
    else:
        secret = keys.secret((HANDSHAKE_SECRETS if phase == HANDSHAKE else APPLICATION_SECRETS)[role], random)
    if suite is None or secret is None:
        return None
    opener = Opener13(suite, secret)
    for _ in range(APPLICATION, phase):
        opener = opener.updated()
    return opener
