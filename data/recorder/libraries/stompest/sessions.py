"""Plays the sessions of a plan with stompest, side by side, and prints what happened as JSON lines.

Argument: the plan, a file of JSON. ../play.py describes the format of plan and lines, and the course of each session.
"""
from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stompest.config import StompConfig
from stompest.sync.client import Stomp
from stompest.sync.transport import StompFrameTransport

PLAN: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
LINES: list[dict[str, Any]] = []
# A session whose thread sleeps beats this often, in intervals.
PACE = 0.8


class Session:
    """One session, on a thread of its own."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked, self.version = asked, asked["version"]
        self.messages: list[tuple[Any, float]] = []
        self.beat_ms = 0 if self.version == "1.0" else PLAN["beat_ms"]
        self.receipts = 0
        self.answered: set[str] = set()
        session = self

        class Tapped(StompFrameTransport):
            """A transport that logs every octet before it is sent and as it is received."""

            def connect(self, timeout: float | None = None) -> None:
                super().connect(timeout)
                session.note("open", local=self._socket.getsockname(), remote=self._socket.getpeername())
                self._socket = Socket(self._socket)

        class Socket:
            def __init__(self, inner: Any) -> None:
                self.inner, self.fileno, self.close = inner, inner.fileno, inner.close

            def sendall(self, octets: bytes) -> None:
                session.note("octets", direction="c2s", hex=octets.hex())
                self.inner.sendall(octets)

            def recv(self, size: int) -> bytes:
                octets: bytes = self.inner.recv(size)
                if octets:
                    session.note("octets", direction="s2c", hex=octets.hex())
                return octets

        config = StompConfig(f"tcp://{PLAN['address']}:{PLAN['port']}", login=asked["login"], passcode=asked["passcode"],
                             version=self.version)
        self.client = type("Client", (Stomp,), {"_transportFactory": Tapped})(config)
        # The library leaves the pace of heart-beats to its user.
        self.due = float("inf")

    def note(self, event: str, **of: object) -> None:
        """One line of the log."""
        LINES.append({"session": self.asked["session"], "at": time.time_ns(), "event": event, "of": of})

    def serve(self, until: float) -> bool:
        """Read and beat until a frame has come (true) or that time (false); a RECEIPT is logged, a MESSAGE kept."""
        while True:
            now = time.time()
            if now >= self.due:
                self.client.beat()
                self.due = now + PACE * self.client.clientHeartBeat / 1e3
            if self.client.canRead(max(0.0, min(until, self.due) - now)):
                break
            if time.time() >= until:
                return False
        frame = self.client.receiveFrame()
        if frame.command == "MESSAGE":
            self.note("message", message_id=frame.headers["message-id"])
            self.messages.append((frame, time.time()))
        elif frame.command == "RECEIPT":
            name = self.client.receipt(frame)
            self.note("receipt", receipt=name)
            self.answered.add(name)
        else:
            raise RuntimeError(f"{frame.command}: {frame.headers}")
        return True

    def wait(self, seconds: float) -> None:
        """Wait, reading and beating."""
        until = time.time() + seconds
        while self.serve(until):
            pass

    @contextmanager
    def receipt(self) -> Iterator[str]:
        """A receipt id; waits for its RECEIPT on exit."""
        self.receipts += 1
        name = f"r-{self.receipts}"
        yield name
        until = time.time() + 20
        while name not in self.answered:
            if not self.serve(until):
                raise RuntimeError(f"no receipt {name}")

    def came(self, count: int, seconds: float) -> bool:
        """Whether that many messages have come in time."""
        until = time.time() + seconds
        while len(self.messages) < count:
            if not self.serve(until):
                return False
        return True

    def settle(self, word: str, number: int, also: list[int], delay_ms: int, transaction: str | None = None) -> None:
        """ACK or NACK a message that long after it came; `also` are those that a cumulative one settles with it."""
        frame, at = self.messages[number]
        self.wait(at + delay_ms / 1e3 - time.time())
        self.note("settle", word=word, messages=[number, *also], delay_ms=delay_ms, transaction=transaction)
        if transaction is not None:
            frame.unraw()
            frame.headers["transaction"] = transaction
        (self.client.ack if word == "ACK" else self.client.nack)(frame)

    def unit(self, name: str, command: str) -> None:
        """BEGIN, COMMIT or ABORT, with a receipt."""
        self.note("transaction", command=command, transaction=name)
        with self.receipt() as receipt:
            getattr(self.client, command.lower())(name, receipt)

    def send(self, text: str, receipt: str | None = None, **more: str) -> None:
        """SEND with a content type; the library writes content-length only where it is asked to."""
        self.client.send(self.asked["queue"], text.encode(), {"content-type": "text/plain;charset=utf-8", **more}, receipt)

    def play(self) -> None:
        """The programme of ../play.py."""
        mode, queue = self.asked["mode"], self.asked["queue"]
        # In 1.2 the library's own offer is kept: all versions it supports.
        versions = None if self.version == "1.2" else [self.version]
        beats = (self.beat_ms, self.beat_ms) if self.beat_ms else None
        self.client.connect(versions=versions, host="/", heartBeats=beats, connectedTimeout=20)
        if self.client.clientHeartBeat:
            self.due = time.time() + PACE * self.client.clientHeartBeat / 1e3
        with self.receipt() as receipt:
            token = self.client.subscribe(queue, {"id": "s-1", "ack": mode}, receipt)
        kind = {} if self.version == "1.0" else {"kind": "número"}  # its 1.0 is ASCII
        for number in range(3):
            self.send(f"library {number}: ½ €", **kind)
        with self.receipt() as receipt:
            self.send("library 3", receipt, note="a:b\\c")
        self.unit("tx-1", "BEGIN")
        self.send("in a unit", transaction="tx-1")
        self.unit("tx-1", "COMMIT")
        self.unit("tx-2", "BEGIN")
        self.send("never", transaction="tx-2")
        self.unit("tx-2", "ABORT")
        if not self.came(5, 20):
            raise RuntimeError(f"{len(self.messages)} of 5 messages came")
        if mode == "client":
            self.settle("ACK", 1, [0], 40)
            self.settle("ACK", 4, [2, 3], 90)
        elif mode == "client-individual":
            self.settle("ACK", 2, [], 40)
            self.unit("tx-3", "BEGIN")
            self.settle("ACK", 0, [], 70, "tx-3")
            self.unit("tx-3", "COMMIT")
            self.settle("NACK", 3, [], 100)
            self.settle("ACK", 1, [], 130)
            self.settle("ACK", 4, [], 160)
            number = 5
            while self.came(number + 1, 0.4):
                self.settle("ACK", number, [], 30)
                number += 1
        self.wait(2.2 * self.beat_ms / 1e3)
        with self.receipt() as receipt:
            self.client.unsubscribe(token, receipt)
        with self.receipt() as receipt:
            self.client.disconnect(receipt)
        self.client.close()
        self.note("end")


def play(asked: dict[str, Any]) -> None:
    """One session; the process ends if it fails."""
    try:
        Session(asked).play()
    except BaseException as error:  # noqa: BLE001  # a thread's failure must end the process, whatever it is
        sys.stderr.write(f"{asked['session']}: {type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    threads = [threading.Thread(target=play, args=(asked,)) for asked in PLAN["sessions"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(json.dumps(line) for line in LINES))
