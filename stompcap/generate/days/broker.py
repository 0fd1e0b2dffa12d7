"""A broker that passes messages on to consumers with a limit and a service time, on a clock that all connections share."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from stompcap.generate.conversation import MS, Conversation, Row
from stompcap.generate.wire import ACK, FIN

SECOND = 1_000 * MS


@dataclass
class Message:
    """What waits in a queue, and how often it was delivered."""

    body: bytes
    deliveries: int = 0


@dataclass
class Queue:
    """Messages that wait, and who takes them, in turn."""

    name: str
    waiting: deque[Message] = field(default_factory=deque)
    takers: deque[Taker] = field(default_factory=deque)

    def give(self, ns: int) -> None:
        """Pass on what consumers have room for."""
        while self.waiting and (taker := next((one for one in self.takers if one.room), None)):
            self.takers.rotate(-1)
            taker.take(self.waiting.popleft(), ns)


class Taker:
    """A subscription that works on one message after the other; `service_s` gives how long it takes for each, a limit of 0 is mode auto."""

    def __init__(self, clock: Clock, talk: Conversation, queue: Queue, prefetch: int, service_s: Callable[[int], float | None]) -> None:
        """`service_s` has the time since the beginning, in nanoseconds; None where the message is never settled."""
        self.clock, self.talk, self.queue, self.prefetch, self.service_s = clock, talk, queue, prefetch, service_s
        self.auto = prefetch == 0
        self.held: deque[tuple[Message, str, Row]] = deque()
        self.gone = False
        self.refuses: Callable[[Message], bool] = lambda message: False
        talk.subscribe(queue.name, prefetch, mode="auto" if self.auto else "client-individual")
        queue.takers.append(self)
        clock.at(talk.wire.ns + MS, queue.give)

    @property
    def room(self) -> bool:
        """Whether it may have one more."""
        return not self.gone and (self.auto or len(self.held) < self.prefetch)

    def take(self, message: Message, ns: int) -> None:
        """A MESSAGE of the server; work begins at once where there is none."""
        again = message.deliveries > 0
        self.talk.wire.wait_until(ns + int(self.clock.dice.uniform(0.2, 2) * MS))
        headers = [("destination", self.queue.name), ("redelivered", str(again).lower())]
        name, row = self.talk.message(headers, message.body, auto=self.auto)
        if again:
            self.talk.truth.findings["MS-09"] = self.talk.truth.findings.get("MS-09", 0) + 1
        message.deliveries += 1
        if self.auto:
            return
        self.held.append((message, name, row))
        if len(self.held) == 1:
            self._work(self.talk.wire.ns)

    def _work(self, ns: int) -> None:
        if (service := self.service_s(ns)) is not None:
            self.clock.at(ns + int(service * SECOND), self._settle)

    def _settle(self, ns: int) -> None:
        if self.gone or not self.held:
            return
        message, name, row = self.held.popleft()
        refused = self.refuses(message)
        self.talk.wire.wait_until(ns)
        self.talk.settle(name, row, "NACK" if refused else "ACK")
        if refused:
            self.queue.waiting.appendleft(message)
        if self.held:
            self._work(self.talk.wire.ns)
        self.clock.at(self.talk.wire.ns + MS, self.queue.give)

    def leave(self) -> None:
        """What it holds goes back to the head of its queue."""
        self.gone = True
        if self in self.queue.takers:
            self.queue.takers.remove(self)
        self.queue.waiting.extendleft(message for message, _, _ in reversed(self.held))
        self.held.clear()

    def stays(self) -> None:
        """It still holds what it holds where the capture ends."""
        for _, _, row in self.held:
            row["status"] = "open"


class Clock:
    """What happens next, the queues, and all connections so far with the numbers of their hosts."""

    def __init__(self, dice: Random, end_ns: int) -> None:
        self.dice, self.end_ns = dice, end_ns
        self.talks: list[tuple[int, Conversation]] = []
        self.queues: dict[str, Queue] = {}
        self.down_ns = 0
        self._ports: dict[int, int] = defaultdict(lambda: 32_768 + dice.randrange(1_000))
        self._next: list[tuple[int, int, Callable[[int], None]]] = []
        self._count = 0

    def at(self, ns: int, does: Callable[[int], None]) -> None:
        """Have something happen then, unless the capture has ended."""
        self._count += 1
        if ns < self.end_ns:
            heapq.heappush(self._next, (ns, self._count, does))

    def run(self) -> None:
        """Until the capture ends."""
        while self._next:
            ns, _, does = heapq.heappop(self._next)
            does(ns)

    def queue(self, name: str) -> Queue:
        """A queue, which is there as soon as it is named."""
        return self.queues.setdefault(name, Queue(name))

    def put(self, name: str, body: bytes, ns: int) -> None:
        """A message has come."""
        queue = self.queue(name)
        queue.waiting.append(Message(body))
        queue.give(ns)

    def open(self, host: int, ns: int, note: str) -> Conversation:
        """A connection from that host, of a port that it has not used before."""
        self._ports[host] += 1
        talk = Conversation(self.dice, note, begin_ns=ns, port=self._ports[host])
        self.talks.append((host, talk))
        return talk


def ended_by_server(talk: Conversation, ns: int) -> None:
    """The server closes, the client after it; which rules that breaks depends on what went before."""
    talk.truth.others = True
    talk.wire.wait_until(ns)
    for from_client, flags in ((False, FIN | ACK), (False, ACK), (True, FIN | ACK)):
        talk.wire.segment(from_client, flags)
