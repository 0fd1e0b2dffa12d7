"""stomp.py as an application uses it; its transport's socket calls are logged for the truth."""
from __future__ import annotations

import threading
import time
from typing import Any

import stomp

from data.recorder.brokers import PORT
from data.recorder.scenario import Scenario, Stage
from data.recorder.truth import SessionLog, Settlement
from data.recorder.wire import Frame

KINDS = {"1.0": stomp.Connection10, "1.1": stomp.Connection11, "1.2": stomp.Connection12}


class Tap:
    """Wraps the socket calls of stomp.py's transport; logs every octet with the clock."""

    def __init__(self, connection: Any, log: SessionLog) -> None:
        self.log = log
        self.transport = connection.transport
        self.send, self.receive = self.transport.send, self.transport.receive
        self.transport.send, self.transport.receive = self._send, self._receive

    def _send(self, octets: bytes) -> None:
        self.log.sent += self.log.tape_c2s.feed(octets, time.time_ns())
        self.send(octets)

    def _receive(self) -> bytes | None:
        chunk: bytes | None = self.receive()
        now = time.time_ns()
        if not chunk:
            if self.log.ended_by is None:
                self.log.ended_by, self.log.end_kind = "server", "fin"
            self.log.closed_ns = now
            return chunk
        for frame in self.log.tape_s2c.feed(chunk, now):
            self.log.received.append(frame)
            if frame.command == "CONNECTED":
                self.log.connected(frame, self.offer())
        return chunk

    def offer(self) -> tuple[int, int]:
        """The heart-beat header of the library's CONNECT."""
        heart_beat = self.log.sent[0].get("heart-beat") or "0,0"
        can, wants = heart_beat.split(",")
        return int(can), int(wants)


class Consumer(stomp.ConnectionListener):  # type: ignore[misc]
    """Collects messages as the library hands them out."""

    def __init__(self) -> None:
        self.frames: list[Any] = []
        self.receipts: set[str] = set()
        self.changed = threading.Condition()

    def on_message(self, frame: Any) -> None:
        """A message came."""
        with self.changed:
            self.frames.append(frame)
            self.changed.notify_all()

    def on_receipt(self, frame: Any) -> None:
        """A receipt came."""
        with self.changed:
            self.receipts.add(frame.headers["receipt-id"])
            self.changed.notify_all()

    def wait(self, count: int) -> None:
        """Wait for `count` messages; raise after 20 s."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.frames) >= count, 20):
                raise RuntimeError(f"{len(self.frames)} of {count} messages came")

    def wait_receipt(self, name: str) -> None:
        """Wait for that receipt, at most five seconds."""
        with self.changed:
            self.changed.wait_for(lambda: name in self.receipts, 5)


def application(stage: Stage, mode: str, vhost: str | None = "/") -> None:
    """Sends, a transaction, acknowledgements with delays, heart-beats from 1.1 on, DISCONNECT with a receipt."""
    log, queue = stage.log(client=f"stomp.py/{'.'.join(map(str, stomp.__version__))}"), stage.queue()
    beat = stage.broker.beat_ms
    options: dict[str, Any] = {} if stage.version == "1.0" else {"heartbeats": (beat, beat), "vhost": vhost}
    connection = KINDS[stage.version]([(stage.broker.address, PORT)], **options)
    tap, consumer = Tap(connection, log), Consumer()
    connection.set_listener("consumer", consumer)
    log.opened_ns = time.time_ns()
    connection.connect(log.user.login, log.user.passcode, wait=True)
    inner = tap.transport.socket
    log.local, log.remote = inner.getsockname(), inner.getpeername()
    if stage.version != "1.0":
        log.planted_beats["c2s"] = "ok"
    connection.subscribe(queue, id="s-1", ack=mode)
    for number in range(4):
        connection.send(queue, f"library {number}: ½ €", content_type="text/plain;charset=utf-8", kind="número")
    transaction = {"kind": "transaction", "session": log.session, "transaction": "tx-lib", "outcome": "committed",
                   "begin_offset": len(log.tape_c2s.octets), "sends": 1, "acks": 0, "nacks": 0, "body_octets": 9,
                   "begun_clock_ns": time.time_ns()}
    connection.begin("tx-lib")
    connection.send(queue, "in a unit", transaction="tx-lib")
    transaction["ended_clock_ns"] = time.time_ns()
    connection.commit("tx-lib")
    log.transactions.append(transaction)
    consumer.wait(5)
    if mode != "auto":
        for delay, frame in zip((60.0, 90.0, 130.0, 180.0), consumer.frames, strict=False):
            _settle(stage, log, connection, frame, delay)
    time.sleep(2.2 * beat / 1e3)
    connection.disconnect(receipt="r-bye")
    consumer.wait_receipt("r-bye")
    log.end_kind, log.ended_by = "disconnect", "client"
    time.sleep(0.3)
    log.closed_ns = log.closed_ns or time.time_ns()


def _settle(stage: Stage, log: SessionLog, connection: Any, frame: Any, delay_ms: float) -> None:
    """ACK one message `delay_ms` after it arrived."""
    message: Frame = next(one for one in log.received if one.get("message-id") == frame.headers["message-id"])
    left = message.last_ns / 1e9 + delay_ms / 1e3 - time.time()
    time.sleep(max(0.0, left))
    before = len(log.sent)
    if stage.version == "1.2":
        connection.ack(frame.headers["ack"])
    elif stage.version == "1.1":
        connection.ack(frame.headers["message-id"], "s-1")
    else:
        connection.ack(frame.headers["message-id"])
    sent = next(one for one in log.sent[before:] if one.command == "ACK")
    log.settlements[message.offset] = Settlement("ack", "direct", sent.first_ns, sent.offset, None, delay_ms)


SCENARIOS = [
    Scenario("libauto", "library", lambda stage: application(stage, "auto")),
    Scenario("libclient", "library", lambda stage: application(stage, "client")),
    Scenario("libindividual", "library", lambda stage: application(stage, "client-individual"), ("1.1", "1.2")),
]
