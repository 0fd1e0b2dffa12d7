"""A scripted STOMP client: executes its script exactly, violations included, and logs both directions.

A separate thread reads and timestamps what arrives, so planted delays never delay the time of a delivery.
Clocks: `time.time_ns` just before the send call, and just after the receive call that completed a frame.
"""
from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from data.recorder.truth import SessionLog, Settlement
from data.recorder.wire import Frame, Header, Headers, serialize

PATIENCE_S = 20.0


class Connection(Protocol):
    """What carries STOMP: a TCP socket, or a layer upon one, whose `recv` gives None where it has received nothing for STOMP."""

    def fileno(self) -> int:
        """What select waits for."""

    def recv(self, most: int, /) -> bytes | None:
        """What came; empty at the end."""

    def sendall(self, octets: bytes, /) -> None:
        """Send it all."""

    def shutdown(self, how: int, /) -> None:
        """Say that nothing more comes."""

    def setsockopt(self, level: int, option: int, value: Any, /) -> None:
        """An option of the TCP socket."""

    def getsockname(self) -> Any:
        """The client's endpoint."""

    def getpeername(self) -> Any:
        """The server's endpoint."""

    def close(self) -> None:
        """End it."""


def tcp(address: tuple[str, int], source: tuple[str, int] | None = None) -> socket.socket:
    """A TCP connection whose every write is sent at once."""
    made = socket.create_connection(address, PATIENCE_S, source)
    made.settimeout(None)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


class Client:
    """One connection; `log` collects its truth."""

    def __init__(self, log: SessionLog, address: tuple[str, int], connection: Connection | None = None) -> None:
        self.log = log
        self.version = "1.2"
        self.changed = threading.Condition()
        self.sending = threading.Lock()
        self.ended = False  # the server closed or reset
        self.stopped = False
        self.beating: threading.Event | None = None
        self.taken: set[int] = set()
        self.receipts = 0
        self.socket = connection or tcp(address)
        log.opened_ns = time.time_ns()
        log.local, log.remote = self.socket.getsockname(), self.socket.getpeername()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        kind = "fin"
        while True:
            # Never blocked in recv: a close from the other thread must take effect at once.
            if not select.select([self.socket], [], [], 0.05)[0]:
                if self.stopped:
                    return
                continue
            try:
                chunk = self.socket.recv(262144)
            except OSError:
                chunk, kind = b"", "rst"
            if chunk is None:  # what came was the layer's own
                continue
            now = time.time_ns()
            with self.changed:
                if not chunk:
                    self.ended = True
                    if self.log.ended_by is None:
                        self.log.ended_by, self.log.end_kind, self.log.closed_ns = "server", kind, now
                    self.changed.notify_all()
                    return
                frames = self.log.tape_s2c.feed(chunk, now)
                self.log.received += frames
                for frame in frames:
                    if frame.command == "ERROR" and self.log.outcome == "unanswered":
                        self.log.outcome = "refused"
                self.changed.notify_all()

    def raw(self, octets: bytes) -> int:
        """Send octets unchanged; returns the offset of the first. A broken pipe is not an error here."""
        with self.sending:
            offset = len(self.log.tape_c2s.octets)
            self.log.tape_c2s.chunks.append((offset, len(octets), time.time_ns()))
            self.log.tape_c2s.octets += octets
            try:
                self.socket.sendall(octets)
            except OSError:
                self.log.notes.append(f"send at {offset} failed: the server had closed")
        return offset

    def send(self, command: str, headers: Headers, body: bytes = b"", *, eol: str = "\n", wire: bytes | None = None,
             plant: dict[str, str] | None = None) -> Frame:
        """Send one frame; `wire` overrides its octets, `plant` names the rules that it breaks and why."""
        octets = wire if wire is not None else serialize(command, headers, body, self.version, eol)
        before = time.time_ns()
        offset = self.raw(octets)
        frame = Frame(command, headers, body, offset, len(octets), before, before, list(plant or ()))
        self.log.sent.append(frame)
        for rule, note in (plant or {}).items():
            self.log.plant(rule, "client", offset, note)
        return frame

    def piece(self, octets: bytes, kind: str, plant: dict[str, str]) -> None:
        """Send octets that are no frame (junk, the head of a frame) and log them as such."""
        offset = self.raw(octets)
        self.log.pieces.append({"kind": "octets", "session": self.log.session, "direction": "c2s",
                                "stream_offset": offset, "length_octets": len(octets), "raw_kind": kind,
                                "text": octets.decode("latin-1")})
        for rule, note in plant.items():
            self.log.plant(rule, "client", offset, note)

    def wait(self, wanted: Callable[[Frame], bool], timeout_s: float = PATIENCE_S) -> Frame | None:
        """The first received frame not yet taken that `wanted` accepts; None on timeout or if the server closed."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while True:
                for frame in self.log.received:
                    if frame.offset not in self.taken and wanted(frame):
                        self.taken.add(frame.offset)
                        return frame
                left = deadline - time.monotonic()
                if self.ended or left <= 0:
                    return None
                self.changed.wait(left)

    def wait_closed(self, timeout_s: float) -> bool:
        """Wait for the server to close."""
        with self.changed:
            return self.changed.wait_for(lambda: self.ended, timeout_s)

    def connect(self, version: str = "1.2", heart_beat: tuple[int, int] | None = None, *, command: str = "CONNECT",
                headers: Headers | None = None, plant: dict[str, str] | None = None, eol: str = "\n") -> Frame | None:
        """Send CONNECT with the session's user and take the answer; without accept-version in 1.0."""
        user = self.log.user
        usual: list[Header] = [] if version == "1.0" else [("accept-version", version), ("host", "/")]
        chosen = usual if headers is None else headers
        pairs: list[Header] = [*chosen, ("login", user.login), ("passcode", user.passcode)]
        if heart_beat is not None:
            pairs.append(("heart-beat", f"{heart_beat[0]},{heart_beat[1]}"))
        self.version = version
        self.send(command, pairs, plant=plant, eol=eol)
        answer = self.wait(lambda frame: frame.command in ("CONNECTED", "ERROR"), 5)
        if answer is not None and answer.command == "CONNECTED":
            self.log.connected(answer, heart_beat or (0, 0))
            self.version = self.log.version or version
        return answer

    def receipt(self) -> str:
        """A receipt id not used before in this session."""
        self.receipts += 1
        return f"r-{self.receipts}"

    def ask(self, command: str, headers: Headers, body: bytes = b"") -> Frame | None:
        """Send with a receipt and wait for the answer."""
        name = self.receipt()
        self.send(command, [*headers, ("receipt", name)], body)
        return self.wait(lambda frame: frame.get("receipt-id") == name and frame.command in ("RECEIPT", "ERROR"), 5)

    def subscribe(self, destination: str, mode: str, name: str = "s-1", extra: Headers | None = None) -> None:
        """SUBSCRIBE and wait for its receipt."""
        self.ask("SUBSCRIBE", [("id", name), ("destination", destination), ("ack", mode), *(extra or [])])

    def publish(self, destination: str, body: bytes, headers: Headers | None = None) -> None:
        """SEND with content-length, without a receipt."""
        self.send("SEND", [("destination", destination), ("content-length", str(len(body))), *(headers or [])], body)

    def messages(self, count: int, timeout_s: float = PATIENCE_S) -> list[Frame]:
        """The next `count` MESSAGE frames; fewer raise."""
        out: list[Frame] = []
        for _ in range(count):
            frame = self.wait(lambda frame: frame.command == "MESSAGE", timeout_s)
            if frame is None:
                raise RuntimeError(f"{self.log.session}: {len(out)} of {count} messages came")
            out.append(frame)
        return out

    def settle(self, message: Frame, delay_ms: float, word: str = "ACK", also: list[Frame] | None = None,
               transaction: str | None = None) -> None:
        """ACK or NACK a message `delay_ms` after it arrived; `also` are earlier ones this settles cumulatively."""
        named = {"1.0": {"message-id": "message-id"}, "1.2": {"id": "ack"},
                 "1.1": {"message-id": "message-id", "subscription": "subscription"}}[self.version]
        headers: list[Header] = [(name, message.get(key) or "") for name, key in named.items()]
        if transaction is not None:
            headers.append(("transaction", transaction))
            self._count(transaction, "acks" if word == "ACK" else "nacks")
        left = message.last_ns / 1e9 + delay_ms / 1e3 - time.time()
        if left > 0:
            time.sleep(left)
        frame = self.send(word, headers)
        for one, by in [(message, "direct"), *((earlier, "cumulative") for earlier in also or [])]:
            self.log.settlements[one.offset] = Settlement(
                word.lower(), by, frame.first_ns, frame.offset, transaction, delay_ms if by == "direct" else None)

    def _count(self, transaction: str, what: str, octets: int = 0) -> None:
        record = next(one for one in reversed(self.log.transactions) if one["transaction"] == transaction)
        record[what] += 1
        record["body_octets"] += octets

    def begin(self, transaction: str) -> None:
        """BEGIN, with a receipt."""
        self.log.transactions.append({
            "kind": "transaction", "session": self.log.session, "transaction": transaction,
            "begin_offset": len(self.log.tape_c2s.octets), "outcome": None, "sends": 0, "acks": 0, "nacks": 0,
            "body_octets": 0, "begun_clock_ns": time.time_ns(), "ended_clock_ns": None})
        self.ask("BEGIN", [("transaction", transaction)])

    def publish_in(self, transaction: str, destination: str, body: bytes, receipt: str | None = None) -> None:
        """SEND within a transaction."""
        self._count(transaction, "sends", len(body))
        extra: list[Header] = [("transaction", transaction), *([("receipt", receipt)] if receipt else [])]
        self.publish(destination, body, extra)

    def end(self, transaction: str, command: str) -> None:
        """COMMIT or ABORT, with a receipt."""
        record = next(one for one in reversed(self.log.transactions) if one["transaction"] == transaction)
        record["outcome"] = {"COMMIT": "committed", "ABORT": "aborted"}[command]
        record["ended_clock_ns"] = time.time_ns()
        self.ask(command, [("transaction", transaction)])

    def beat(self, every_ms: float, eol: bytes = b"\n") -> None:
        """Send an EOL now and then every `every_ms`, until `hush`."""
        stop = self.beating = threading.Event()

        def run() -> None:
            due = time.monotonic()
            while not stop.is_set() and not self.ended:
                self.raw(eol)
                due += every_ms / 1e3
                stop.wait(max(0.0, due - time.monotonic()))

        threading.Thread(target=run, daemon=True).start()

    def hush(self) -> None:
        """Stop beating."""
        if self.beating is not None:
            self.beating.set()

    def disconnect(self) -> None:
        """DISCONNECT with a receipt, then close."""
        self.hush()
        self.ask("DISCONNECT", [])
        self.log.end_kind = "disconnect"
        self.log.ended_by = "client"
        self.close()

    def close(self) -> None:
        """FIN; read until the server closes too."""
        self.hush()
        if not self.ended:
            self.mine("fin")
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
            self.reader.join(3)
        self.stopped = True
        self.reader.join(3)
        self.socket.close()

    def reset(self) -> None:
        """RST: the connection ends at once."""
        self.hush()
        self.mine("rst")
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stopped = True
        self.reader.join(3)
        self.socket.close()

    def mine(self, kind: str) -> None:
        """Note that the client ends it, and how."""
        if self.log.ended_by is None:
            self.log.ended_by = "client"
        if self.log.end_kind == "open":
            self.log.end_kind = kind
        self.log.closed_ns = time.time_ns()
