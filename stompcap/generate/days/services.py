"""Services: a login each, which connects, consumes or produces, and now and then leaves and comes back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stompcap.generate.conversation import MS, Conversation, to
from stompcap.generate.days.broker import SECOND, Clock, Taker, ended_by_server
from stompcap.generate.wire import ACK, RST

DAY_S = 86_400
QUIETEST = 0.3
"""The share of the busiest hour's traffic that the quietest has."""


def rhythm(ns: int) -> float:
    """Between QUIETEST and 1: how busy this time of the day is, the beginning being early afternoon."""
    return QUIETEST + (1 - QUIETEST) * (1 + math.cos(2 * math.pi * ns / SECOND / DAY_S)) / 2


@dataclass
class Service:
    """One login on one host.

    `sends` has for each destination the messages a second at the busiest; `takes` the one that it consumes, `service_s` how long a message
    takes it; `stays_s` how long a connection lasts, at least and at most; `receipts` the share of SENDs that ask for one; `beats_ms` the
    interval of heart-beats, both ways, which are kept.
    """

    clock: Clock
    host: int
    login: str
    sends: Mapping[str, Callable[[int], float]] = field(default_factory=dict)
    takes: str = ""
    service_s: Callable[[int], float | None] = lambda ns: 0.02
    prefetch: int = 20
    stays_s: tuple[float, float] = (3 * 3_600, 9 * 3_600)
    receipts: float = 0.1
    beats_ms: int = 0
    note: str = "day"
    talk: Conversation | None = None
    taker: Taker | None = None

    def begin(self, ns: int) -> None:
        """Connect, subscribe, and send as long as the connection lasts."""
        if ns < self.clock.down_ns:
            self.clock.at(self.clock.down_ns + int(self.clock.dice.uniform(0.2, 3) * SECOND), self.begin)
            return
        self.talk = talk = self.clock.open(self.host, ns, self.note)
        talk.connect(self.login, beats=(f"{self.beats_ms},{self.beats_ms}",) * 2)
        if self.beats_ms:
            talk.truth.heartbeats = [
                {"direction": way, "interval_ms": self.beats_ms, "verdict": "ok", "late": 0, "violations": 0, "dead": 0}
                for way in ("c2s", "s2c")
            ]
            self._beat(talk, talk.wire.ns)
        if self.takes:
            talk.pause(1, 5)
            self.taker = self.subscribed(talk)
        for destination in self.sends:
            self._later(destination, talk, talk.wire.ns)
        self.clock.at(talk.wire.ns + int(self.clock.dice.uniform(*self.stays_s) * SECOND), lambda now: self.leave(now, talk))

    def subscribed(self, talk: Conversation) -> Taker:
        """Its subscription."""
        return Taker(self.clock, talk, self.clock.queue(self.takes), self.prefetch, self.service_s)

    def _beat(self, talk: Conversation, ns: int) -> None:
        if talk is not self.talk:
            return
        talk.wire.wait_until(ns)
        for from_client in (True, False):
            talk.wire.send(from_client, b"\n")
        self.clock.at(ns + self.beats_ms * MS * 4 // 5, lambda now: self._beat(talk, now))

    def _later(self, destination: str, talk: Conversation, ns: int) -> None:
        most = self.sends[destination](ns)
        gap = self.clock.dice.expovariate(most) if most else 1.0
        self.clock.at(ns + int(gap * SECOND), lambda now: self._send(destination, talk, now, most > 0))

    def _send(self, destination: str, talk: Conversation, ns: int, wanted: bool) -> None:
        if talk is not self.talk:
            return
        if wanted:
            self.send(destination, talk, ns)
        self._later(destination, talk, ns)

    def send(self, destination: str, talk: Conversation, ns: int) -> None:
        """One message, which the broker passes on."""
        talk.wire.wait_until(ns)
        body = b'{"note":"%s"}' % self.clock.dice.randbytes(self.clock.dice.randrange(20, 200)).hex().encode()
        if self.clock.dice.random() < self.receipts:
            talk.ask("SEND", to(destination, body), body)
            talk.pause(0.5, 5)
            talk.answer()
        else:
            talk.say(True, ("SEND", to(destination, body), body))
        self.clock.put(destination, body, talk.wire.ns)

    def leave(self, ns: int, talk: Conversation) -> None:
        """DISCONNECT where nothing is in hand, soon otherwise; and back after seconds."""
        if talk is not self.talk:
            return
        if self.taker and self.taker.held:
            self.taker.gone = False
            self.clock.at(ns + SECOND // 5, lambda now: self.leave(now, talk))
            return
        talk.wire.wait_until(ns)
        talk.disconnect()
        self.over()
        self.clock.at(talk.wire.ns + int(self.clock.dice.uniform(1, 4) * SECOND), self.begin)

    def dies(self, ns: int, talk: Conversation, again_s: float) -> None:
        """RST, with what it has in hand; and back."""
        if talk is not self.talk:
            return
        talk.wire.wait_until(ns)
        talk.truth.others = True
        talk.wire.segment(True, RST | ACK)
        self.over()
        self.clock.at(talk.wire.ns + int(again_s * SECOND), self.begin)

    def over(self) -> None:
        """The connection is no more."""
        if self.taker:
            self.taker.leave()
        self.talk = self.taker = None


@dataclass
class Visitor(Service):
    """Connects every so many seconds, sends a few messages, and leaves: a job that a schedule starts."""

    every_s: float = 600
    count: int = 3

    def begin(self, ns: int) -> None:
        """One visit, and the next one's time."""
        self.clock.at(ns + int(self.every_s * SECOND), self.begin)
        if ns < self.clock.down_ns:
            return
        talk = self.clock.open(self.host, ns, self.note)
        talk.connect(self.login)
        for _ in range(self.count):
            talk.pause(5, 50)
            for destination in self.sends:
                self.send(destination, talk, talk.wire.ns)
        talk.pause(1, 5)
        talk.disconnect()


def refused(clock: Clock, host: int, login: str, ns: int, note: str = "refused") -> None:
    """A CONNECT with a wrong passcode, as RabbitMQ answers it."""
    talk = clock.open(host, ns, note)
    talk.say(True, ("CONNECT", [("accept-version", "1.2"), ("host", "/"), ("login", login), ("passcode", f"{login}-1111")], b""))
    talk.pause(5, 20)
    body = f"Access refused for user '{login}'\n".encode()
    headers = [("message", "Bad CONNECT"), ("content-type", "text/plain"), ("version", "1.0,1.1,1.2"), ("content-length", str(len(body)))]
    talk.say(False, ("ERROR", headers, body))
    ended_by_server(talk, talk.wire.ns)
