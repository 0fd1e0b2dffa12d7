"""A service: one login that connects, works, and connects again when it has lost its connection, until the recording ends."""
from __future__ import annotations

import hashlib
import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from data.recorder.client import Client
from data.recorder.truth import SessionLog
from data.recorder.users import User
from data.recorder.wire import Frame

Incident = dict[str, Any]


def user_of(broker: str, login: str) -> User:
    """The made-up user of a service: a login as operators know them, a passcode that no other has."""
    digest = hashlib.sha256(f"stompcap recorder: incidents {broker} {login}".encode()).hexdigest()[:16]
    return User(login, f"pc-{broker}-{digest}")


@dataclass
class Scene:
    """What the services of a recording share: the broker, its clock, and the incidents noted so far."""

    broker: str
    direct: tuple[str, int]
    balanced: tuple[str, int]
    over: threading.Event
    begun_ns: int = 0
    incidents: list[Incident] = field(default_factory=list)
    sessions: int = 0

    def seconds(self) -> float:
        """Since the recording began."""
        return (time.time_ns() - self.begun_ns) / 1e9

    def rest(self, seconds: float) -> None:
        """Wait so long, or until the recording is over."""
        self.over.wait(max(0.0, seconds))

    def note(self, kind: str, subject_kind: str, subject: str, destination: str | None = None, **more: Any) -> Incident:
        """An incident that begins now; the same subject's first one counts."""
        for known in self.incidents:
            if (known["incident"], known["subject"]) == (kind, subject):
                return known
        self.incidents.append({"kind": "incident", "incident": kind, "subject_kind": subject_kind, "subject": subject,
                               "destination_name": destination, "begin_ns": time.time_ns(), **more})
        return self.incidents[-1]


class Link:
    """One connection of a service; every wait ends when the connection or the recording does."""

    def __init__(self, scene: Scene, user: User, source: str, balanced: bool = False) -> None:
        self.scene = scene
        address = scene.balanced if balanced else scene.direct
        made = socket.create_connection(address, 3, (source, 0))
        made.settimeout(None)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        scene.sessions += 1
        self.client = Client(SessionLog(user.login, scene.broker, "scripted", user), address, made)

    @property
    def up(self) -> bool:
        """Whether it is worth going on."""
        return not self.client.ended and not self.scene.over.is_set()

    def connect(self, beats: tuple[int, int] | None = None) -> bool:
        """Whether the broker lets it in; with heart-beats it keeps them."""
        answer = self.client.connect("1.2", beats)
        if answer is None or answer.command != "CONNECTED":
            return False
        if beats and beats[0]:
            self.client.beat(self.client.log.heartbeat_c2s_ms * 0.7)
        return True

    def subscribe(self, destination: str, mode: str, prefetch: int) -> None:
        """One subscription, without a receipt, as most libraries send it."""
        limit = [("prefetch-count", str(prefetch))] if self.scene.broker == "rabbitmq" else []
        self.client.send("SUBSCRIBE", [("id", "0"), ("destination", destination), ("ack", mode), *limit])

    def message(self, patience_s: float = 0.5) -> Frame | None:
        """The next MESSAGE, if one comes in time."""
        found = self.client.wait(lambda frame: frame.command == "MESSAGE", patience_s)
        if found is not None:  # what was taken is looked at no more
            with self.client.changed:
                self.client.log.received = [frame for frame in self.client.log.received if frame.offset > found.offset]
        return found

    def leave(self) -> None:
        """As a service that is stopped does."""
        if self.client.ended:
            self.client.close()
        else:
            self.client.disconnect()


@dataclass
class Service:
    """One login, and what it does with a connection; `address` is its own, `beatless` the brokers with which it agrees on no beats."""

    login: str
    address: str
    work: Callable[[Link], None]
    beats: tuple[int, int] | None = (10_000, 10_000)
    beatless: tuple[str, ...] = ()
    balanced: bool = False
    again_s: tuple[float, float] = (1.0, 2.5)

    def run(self, scene: Scene) -> None:
        """Connect and work, again and again."""
        dice = random.Random(self.login)
        user = user_of(scene.broker, self.login)
        while not scene.over.is_set():
            try:
                link = Link(scene, user, self.address, self.balanced)
            except OSError:
                scene.rest(dice.uniform(*self.again_s))
                continue
            if not link.connect(None if scene.broker in self.beatless else self.beats):
                link.client.close()
            else:
                self.work(link)
                if not link.client.stopped:
                    link.leave()
            scene.rest(dice.uniform(*self.again_s))


def consumes(
    destination: str, service_s: Callable[[float], float], mode: str = "client-individual", prefetch: int = 5
) -> Callable[[Link], None]:
    """A consumer that takes so long for each message, by the time since the recording began."""
    def work(link: Link) -> None:
        link.subscribe(destination, mode, prefetch)
        while link.up:
            if (message := link.message()) is not None and mode != "auto":
                link.scene.rest(service_s(link.scene.seconds()))
                link.client.settle(message, 0)
    return work


def produces(rates: dict[str, float], receipts: float = 0.2) -> Callable[[Link], None]:
    """A producer of so many messages a second on each destination, at random times; some ask for receipts."""
    def work(link: Link) -> None:
        dice, number, total = random.Random(), 0, sum(rates.values())
        while link.up:
            link.scene.rest(dice.expovariate(total))
            destination = dice.choices(list(rates), list(rates.values()))[0]
            number += 1
            body = b'{"number":%d,"note":"%s"}' % (number, dice.randbytes(dice.randrange(10, 40)).hex().encode())
            if not link.up:
                return
            if dice.random() < receipts:
                headers = [("destination", destination), ("content-type", "application/json"), ("content-length", str(len(body)))]
                link.client.ask("SEND", headers, body)
            else:
                link.client.publish(destination, body, [("content-type", "application/json")])
    return work
