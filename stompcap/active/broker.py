"""A broker in memory that does all as the specification says: scripted clients are tried against it, scripted brokers begin as it."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import RLock

from stompcap.active.frames import Frame, encoded
from stompcap.active.wire import Wire, known

Headers = list[tuple[str, str]]
OWN = ("destination", "receipt", "transaction", "content-length")
"""Headers of a SEND that its MESSAGE does not repeat as they are."""
NEEDED = {
    "SEND": ("destination",), "SUBSCRIBE": ("destination", "id"), "UNSUBSCRIBE": ("id",), "ACK": ("id",), "NACK": ("id",),
    "BEGIN": ("transaction",), "COMMIT": ("transaction",), "ABORT": ("transaction",),
}  # fmt: skip
BEAT_MS = 500
SILENT = 2.5
"""For so many intervals may a client be silent."""


@dataclass
class Message:
    """One message of a queue."""

    number: int
    destination: str
    headers: Headers
    body: bytes
    redelivered: bool = False


@dataclass
class Subscription:
    """A subscription, and what it has not acknowledged, by the ids of its MESSAGE frames."""

    session: Session
    id: str
    destination: str
    mode: str
    waiting: dict[str, Message] = field(default_factory=dict)


class Refused(Exception):
    """A frame that cannot be processed; the message goes into the ERROR."""


class Broker:
    """Its queues and subscriptions; sessions may be of different threads."""

    def __init__(self, passcode: str | None = None) -> None:
        self.passcode = passcode
        self.lock, self.numbers = RLock(), itertools.count(1)
        self.queues: dict[str, deque[Message]] = {}
        self.subscriptions: list[Subscription] = []

    def put(self, destination: str, headers: Headers, body: bytes) -> None:
        """A message for a queue."""
        with self.lock:
            self.queues.setdefault(destination, deque()).append(Message(next(self.numbers), destination, headers, body))
            self.deliver(destination)

    def deliver(self, destination: str) -> None:
        """Give what waits to a subscription."""
        with self.lock:
            queue = self.queues.get(destination, deque())
            while queue and (found := next((one for one in self.subscriptions if one.destination == destination), None)):
                found.session.message(found, queue.popleft())

    def back(self, messages: Sequence[Message]) -> None:
        """Messages that were not acknowledged are the first of their queues again."""
        with self.lock:
            for message in sorted(messages, key=lambda one: -one.number):
                message.redelivered = True
                self.queues.setdefault(message.destination, deque()).appendleft(message)
            for destination in {message.destination for message in messages}:
                self.deliver(destination)


class Session:
    """One connection. `on_frame` of its wire is `frame`; it is over when `over` is true, and the caller then closes."""

    versions = ("1.2", "1.1", "1.0")

    def __init__(self, broker: Broker, wire: Wire) -> None:
        self.broker, self.wire = broker, wire
        self.version, self.over, self.connected = "1.2", False, False
        self.beat_s = self.silence_s = 0.0
        self.subscriptions: dict[str, Subscription] = {}
        self.transactions: dict[str, list[Frame]] = {}

    def frame(self, frame: Frame) -> None:
        """Process one frame; what cannot be is answered by ERROR, behind which the session is over."""
        if self.over:
            return
        with self.broker.lock:
            try:
                self.process(frame)
            except Refused as refused:
                self.refuse(str(refused), frame)

    def refuse(self, why: str, frame: Frame | None = None) -> None:
        """ERROR, and the end."""
        receipt = frame.get("receipt") if frame is not None else None
        of = [("receipt-id", receipt)] * (receipt is not None)
        self.send("ERROR", [("message", why), ("content-type", "text/plain"), *[(name, value or "") for name, value in of]], why.encode())
        self.over = True

    def send(self, command: str, headers: Headers, body: bytes = b"") -> None:
        """Send a frame."""
        self.wire.send(encoded(command, headers, body, self.version))

    def process(self, frame: Frame) -> None:
        """Process one frame; raises Refused."""
        if frame.command in ("CONNECT", "STOMP"):
            self.connect(frame)
            return
        if not self.connected:
            raise Refused("CONNECT is to come first")
        for name in NEEDED.get(frame.command, ()):
            if frame.get(name) is None and not (self.version != "1.2" and name == "id"):
                raise Refused(f"{frame.command} needs {name}")
        transaction = frame.get("transaction")
        if transaction is not None and frame.command in ("SEND", "ACK", "NACK"):
            if transaction not in self.transactions:
                raise Refused(f"no transaction {transaction}")
            self.transactions[transaction].append(frame)
        else:
            self.apply(frame)
        if (receipt := frame.get("receipt")) is not None:
            self.send("RECEIPT", [("receipt-id", receipt)])

    def connect(self, frame: Frame) -> None:
        """CONNECT: the highest version of both."""
        if self.connected:
            raise Refused("connected already")
        offered = (frame.get("accept-version") or "1.0").split(",")
        chosen = next((one for one in self.versions if one in offered), None)
        if chosen is None:
            raise Refused(f"supported versions are {','.join(sorted(self.versions))}")
        if self.broker.passcode not in (None, frame.get("passcode")):
            raise Refused("access refused")
        self.version = self.wire.parser.version = known(chosen)
        self.connected = True
        gives, _, wants = (frame.get("heart-beat") or "0,0").partition(",")
        self.beat_s, self.silence_s = _interval(wants), SILENT * _interval(gives)
        self.welcome(chosen)

    def welcome(self, version: str) -> None:
        """CONNECTED."""
        self.send("CONNECTED", [("version", version), ("heart-beat", f"{BEAT_MS},{BEAT_MS}"), ("server", "stompcap-serve")])

    def apply(self, frame: Frame) -> None:
        """Do what a frame asks for."""
        command = frame.command
        if command == "SEND":
            headers = [(name, value) for name, value in dict(reversed(frame.headers)).items() if name not in OWN]
            self.broker.put(frame.get("destination") or "", headers[::-1], frame.body)
        elif command == "SUBSCRIBE":
            self.subscribe(frame)
        elif command == "UNSUBSCRIBE":
            self.unsubscribe(frame.get("id") or frame.get("destination") or "")
        elif command in ("ACK", "NACK"):
            self.settle(frame)
        elif command == "DISCONNECT":
            self.over = True
        else:
            self.transact(command, frame.get("transaction") or "")

    def subscribe(self, frame: Frame) -> None:
        """SUBSCRIBE, and what waits in the queue."""
        id_, mode = frame.get("id") or frame.get("destination") or "", frame.get("ack") or "auto"
        if id_ in self.subscriptions or mode not in ("auto", "client", "client-individual"):
            raise Refused(f"subscription {id_} is there already" if id_ in self.subscriptions else f"no mode {mode}")
        made = self.subscriptions[id_] = Subscription(self, id_, frame.get("destination") or "", mode)
        self.broker.subscriptions.append(made)
        self.broker.deliver(made.destination)

    def message(self, to: Subscription, message: Message) -> None:
        """MESSAGE."""
        id_ = f"m-{next(self.broker.numbers)}"
        headers = [("destination", to.destination), ("message-id", id_), ("subscription", to.id)]
        if to.mode != "auto":
            to.waiting[id_] = message
            headers += [("ack", id_)] * (self.version == "1.2")
        headers += [("redelivered", "true")] * message.redelivered
        self.send("MESSAGE", headers + message.headers, message.body)

    def unsubscribe(self, id_: str) -> None:
        """UNSUBSCRIBE; what was not acknowledged goes back."""
        found = self.subscriptions.pop(id_, None)
        if found is None:
            raise Refused(f"no subscription {id_}")
        self.broker.subscriptions.remove(found)
        self.broker.back(list(found.waiting.values()))

    def settle(self, frame: Frame) -> None:
        """ACK or NACK, in mode client of all up to it."""
        id_ = frame.get("id") or frame.get("message-id") or ""
        for one in self.subscriptions.values():
            if id_ in one.waiting:
                names = list(one.waiting)
                which = names[: names.index(id_) + 1] if one.mode == "client" else [id_]
                messages = [one.waiting.pop(name) for name in which]
                if frame.command == "NACK":
                    self.broker.back(messages)
                return
        raise Refused(f"no message {id_} waits for {frame.command}")

    def transact(self, command: str, id_: str) -> None:
        """BEGIN, COMMIT, ABORT."""
        if (id_ in self.transactions) == (command == "BEGIN"):
            raise Refused(f"transaction {id_} is {'open already' if command == 'BEGIN' else 'not open'}")
        if command == "BEGIN":
            self.transactions[id_] = []
            return
        frames = self.transactions.pop(id_)
        for frame in frames if command == "COMMIT" else ():
            self.apply(frame)

    def end(self) -> None:
        """The connection is gone: what it has not acknowledged goes back."""
        with self.broker.lock:
            for id_ in list(self.subscriptions):
                self.unsubscribe(id_)


def converse(session: Session) -> None:
    """Serve a connection until it is over, with heart-beats, and close it."""
    wire, beaten = session.wire, time.monotonic()
    while not session.over and not wire.ended:
        wire.receive(min(0.05, session.beat_s / 2 or 1))
        now = time.monotonic()
        if wire.malformed:
            session.refuse(wire.malformed)
        elif session.silence_s and now - wire.heard > session.silence_s:
            session.refuse("no heart-beat came")
        elif session.beat_s and now - beaten > session.beat_s * 0.9 and not session.over:
            with session.broker.lock:
                wire.send(b"\n")
            beaten = now
    session.end()
    wire.finish()


def _interval(text: str) -> float:
    """The interval that a number of heart-beat and this broker's agree on, in seconds; 0 where there is none."""
    return max(BEAT_MS, int(text)) / 1000 if text.isdecimal() and int(text) else 0.0
