"""Messages that a broker passes on: producers, queues and topics, consumers; each MESSAGE with the SEND that it came of."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from stompcap.generate.conversation import MS, Conversation, Headers, Row, to

QUEUES = ("/queue/orders", "/queue/bills")
TOPIC = "/topic/prices"
UNREAD = "/queue/unread"
"""A queue that nobody reads."""

EQUAL = (b'{"beat":1}', b"{}")
"""Bodies that many messages have."""

BEGIN_MS = 500
"""All have connected and subscribed by then."""


@dataclass(frozen=True)
class Broker:
    """What tells brokers apart.

    `server` is its header. `names_producers`: the ids of its messages name the producer's connection and the SEND's number there, as
    ActiveMQ's do; RabbitMQ's name the consumer's.
    """

    server: str
    names_producers: bool


RABBITMQ, ACTIVEMQ = Broker("RabbitMQ/3.13.7", False), Broker("ActiveMQ/5.18.6", True)


@dataclass
class _Sent:
    """A SEND: its connection and place there, when it took effect, what it said; `copies` are the MESSAGEs that came of it."""

    connection: int
    row: Row
    headers: Headers
    body: bytes
    message_id: str
    copies: int = 0


@dataclass
class _Simulation:
    """Connections that share a clock: what happens next, and of each queue when its last message went out."""

    dice: Random
    broker: Broker
    talks: list[Conversation]
    consumers: dict[str, deque[tuple[int, str]]] = field(default_factory=lambda: defaultdict(deque))
    out_ns: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _next: list[tuple[int, int, Callable[[int], None]]] = field(default_factory=list)
    _count: int = 0

    def at(self, ns: int, does: Callable[[int], None]) -> None:
        """Have something happen then."""
        self._count += 1
        heapq.heappush(self._next, (ns, self._count, does))

    def run(self) -> int:
        """Until nothing is left to happen; returns the time."""
        ns = 0
        while self._next:
            ns, _, does = heapq.heappop(self._next)
            does(ns)
        return ns

    def send(self, connection: int, destination: str, ns: int) -> None:
        """A SEND, or some in a transaction, whose messages the broker passes on."""
        talk = self.talks[connection]
        talk.wire.wait_until(ns)
        if self.dice.random() < 0.1:
            self._transact(connection, destination)
            return
        body, headers = self._message(destination)
        if self.dice.random() < 0.3:
            frame = talk.ask("SEND", headers, body)
            sent = self._sent(connection, frame, headers, body)
            talk.pause(0.2, 3)
            talk.answer()
        else:
            [frame] = talk.say(True, ("SEND", headers, body))
            sent = self._sent(connection, frame, headers, body)
        self._takes_effect([sent], frame["last_ns"])

    def _transact(self, connection: int, destination: str) -> None:
        """Up to three SENDs in a transaction that is committed, or in one of four cases aborted."""
        talk, dice = self.talks[connection], self.dice
        outcome = dice.choice(("committed", "committed", "committed", "aborted"))
        name = f"tx-{len(talk.truth.transactions)}"
        [begun] = talk.say(True, ("BEGIN", [("transaction", name)], b""))
        sent = []
        for _ in range(dice.randrange(1, 4)):
            talk.pause(0.1, 3)
            body, headers = self._message(destination)
            [frame] = talk.say(True, ("SEND", [*headers, ("transaction", name)], body))
            sent.append(self._sent(connection, frame, headers, body, outcome))
        [ended] = talk.say(True, ("COMMIT" if outcome == "committed" else "ABORT", [("transaction", name)], b""))
        talk.truth.transactions.append({
            "transaction": name, "outcome": outcome, "sends": len(sent), "acks": 0, "nacks": 0,
            "body_octets": sum(len(one.body) for one in sent), "duration_us": (ended["first_ns"] - begun["first_ns"]) // 1_000,
        })  # fmt: skip
        if outcome == "committed":
            self._takes_effect(sent, ended["last_ns"])

    def _message(self, destination: str) -> tuple[bytes, list[tuple[str, str]]]:
        """A body and the headers of its SEND: most bodies are like no other."""
        body = self.dice.choice(EQUAL) if self.dice.random() < 0.15 else self.talks[0].body()
        headers = to(destination, body)
        if self.dice.random() < 0.2:
            headers.append(("correlation-id", f"{self.dice.getrandbits(64):016x}"))
        return body, headers

    def _sent(self, connection: int, frame: Row, headers: Headers, body: bytes, outcome: str | None = None) -> _Sent:
        """Note a SEND in the truth of its connection."""
        truth = self.talks[connection].truth
        row: Row = {
            "stream_offset": frame["stream_offset"], "sent_ns": frame["last_ns"], "effective_ns": None, "transaction_outcome": outcome,
            "number": len(truth.sends) + 1, "body_octets": len(body),
        }  # fmt: skip
        truth.sends.append(row)
        return _Sent(connection, row, headers, body, f"{_session(connection)}:-1:1:{row['number']}")

    def _takes_effect(self, sent: list[_Sent], ns: int) -> None:
        """The broker has the messages, and passes them on: each queue's in order, of a topic's one to each subscriber."""
        for one in sent:
            one.row["effective_ns"] = ns
            destination = dict(one.headers)["destination"]
            stalled = 1_000 if self.dice.random() < 0.002 else 0
            ready = ns + int((self.dice.uniform(0.3, 5) + stalled) * MS)
            self.out_ns[destination] = ready = max(ready, self.out_ns[destination] + MS // 20)
            subscribed = self.consumers[destination]
            if destination == TOPIC:
                for connection, name in subscribed:
                    self.at(ready, lambda now, one=one, to=connection, by=name: self.deliver(one, to, by, now))  # type: ignore[misc]
            elif subscribed:
                subscribed.rotate()
                connection, name = subscribed[0]
                self.at(ready, lambda now, one=one, to=connection, by=name: self.deliver(one, to, by, now))  # type: ignore[misc]

    def deliver(self, sent: _Sent, connection: int, subscription: str, ns: int, again: bool = False) -> None:
        """A MESSAGE, which is acknowledged later; one of fifty is refused, and delivered to the next consumer."""
        talk, destination = self.talks[connection], dict(sent.headers)["destination"]
        talk.wire.wait_until(ns)
        headers = [*((name, value) for name, value in sent.headers if name.startswith(("destination", "correlation")))]
        if self.broker.names_producers:
            headers += [("timestamp", str(ns // MS)), *([("redelivered", "true")] if again else [])]
        else:
            headers.append(("redelivered", str(again).lower()))
        name, row = talk.message(headers, sent.body, sent.message_id if self.broker.names_producers else "", subscription)
        sent.copies += not again
        if again:
            talk.truth.findings["MS-09"] = talk.truth.findings.get("MS-09", 0) + 1
        talk.truth.journeys.append({
            "stream_offset": row["stream_offset"], "message_ns": talk.truth.frames[-1]["first_ns"], "send_connection": sent.connection,
            "send_offset": sent.row["stream_offset"], "effective_ns": sent.row["effective_ns"], "redelivery": again,
        })  # fmt: skip
        refused = not again and destination != TOPIC and self.dice.random() < 0.02
        self.at(talk.wire.ns + int(self.dice.uniform(1, 60) * MS), lambda now: self._settle(connection, name, row, sent, refused, now))

    def _settle(self, connection: int, name: str, row: Row, sent: _Sent, refused: bool, ns: int) -> None:
        talk = self.talks[connection]
        talk.wire.wait_until(ns)
        talk.settle(name, row, "NACK" if refused else "ACK")
        if refused:
            subscribed = self.consumers[dict(sent.headers)["destination"]]
            subscribed.rotate()
            other, by = subscribed[0]
            self.at(talk.wire.ns + MS, lambda now: self.deliver(sent, other, by, now, again=True))


def passed_on(dice: Random, connections: int, messages: int, broker: Broker) -> list[Conversation]:
    """Half of the connections produce `messages` each, the others consume; all share a clock, and end together."""
    count = max(connections, 4)
    producers = range(count // 2)
    talks = [Conversation(dice, "passed-on", dice.choice(("1.1", "1.2", "1.2"))) for _ in range(count)]
    simulation = _Simulation(dice, broker, talks)
    for number, talk in enumerate(talks):
        session = _session(number) if broker.names_producers else ""
        talk.connect(server=broker.server, session=session)
        if number not in producers:
            for name, destination in (("0", QUEUES[number % len(QUEUES)]), ("1", TOPIC)):
                talk.pause(1, 5)
                talk.subscribe(destination, name=name)
                simulation.consumers[destination].append((number, name))
    for number in producers:
        ns = BEGIN_MS * MS
        for _ in range(messages):
            ns += int(dice.expovariate(1 / 40) * MS)
            destination = dice.choice((*QUEUES, *QUEUES, TOPIC)) if dice.random() < 0.98 else UNREAD
            simulation.at(ns, lambda now, connection=number, to=destination: simulation.send(connection, to, now))  # type: ignore[misc]
    end = simulation.run()
    for talk in talks:
        talk.wire.wait_until(end + 50 * MS)
        talk.disconnect()
    return talks


def _session(connection: int) -> str:
    """What ActiveMQ calls the session of a connection."""
    return f"ID:broker-41000-1790000000000-2:{connection + 1}"
