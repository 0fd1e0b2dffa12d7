"""A client that does all as the specification says: what scripted brokers are tried against, and the model of a program under test.

It connects, subscribes to /queue/test with ack:client-individual, sends the body and the header `note` of each MESSAGE to /queue/echo and
acknowledges it, until a body is `end`; then it says DISCONNECT, waits for the receipt and closes.
"""

from __future__ import annotations

import time

from stompcap.active.frames import Frame, encoded
from stompcap.active.wire import Wire, known

TEST, ECHO, END = "/queue/test", "/queue/echo", b"end"
BEAT_MS = 500


class Echo:
    """One connection of such a client."""

    def __init__(self, wire: Wire, longest_s: float = 15) -> None:
        self.wire, self.version, self.until = wire, "1.2", time.monotonic() + longest_s
        self.beat_s = self.silence_s = 0.0
        self.beaten = time.monotonic()

    def run(self) -> None:
        """Play it to its end."""
        self.send("CONNECT", [("accept-version", "1.1,1.2"), ("host", "/"), ("heart-beat", f"{BEAT_MS},{BEAT_MS}")])
        connected = self.next()
        if connected is not None and connected.command == "CONNECTED" and connected.get("version") in ("1.1", "1.2"):
            self.version = self.wire.parser.version = known(connected.get("version"))
            gives, _, wants = (connected.get("heart-beat") or "0,0").partition(",")
            self.beat_s, self.silence_s = _interval(wants), 2.5 * _interval(gives)
            self.send("SUBSCRIBE", [("id", "1"), ("destination", TEST), ("ack", "client-individual")])
            if self.serve():
                self.send("DISCONNECT", [("receipt", "bye")])
                self.next()
        self.wire.finish(0)

    def serve(self) -> bool:
        """Echo and acknowledge; true where the end was said."""
        while (frame := self.next()) is not None and frame.command != "ERROR":
            if frame.command == "MESSAGE":
                self.echo(frame)
                if frame.body == END:
                    return True
        return False

    def echo(self, message: Frame) -> None:
        """Send a message back, and acknowledge it."""
        note = message.get("note")
        self.send("SEND", [("destination", ECHO), *[("note", one) for one in [note] if one is not None]], message.body)
        id_, message_id = message.get("ack"), message.get("message-id") or ""
        names = [("id", id_ or "")] if self.version == "1.2" else [("message-id", message_id), ("subscription", "1")]
        self.send("ACK", names)

    def next(self) -> Frame | None:
        """The next frame; None where the connection is over, or ought to be."""
        while True:
            if self.wire.frames:
                return self.wire.frames.pop(0)
            now = time.monotonic()
            silent = self.silence_s and now - self.wire.heard > self.silence_s
            if self.wire.ended or self.wire.malformed or silent or now > self.until:
                return None
            if self.beat_s and now - self.beaten > self.beat_s * 0.8:
                self.wire.send(b"\n")
                self.beaten = now
            self.wire.receive(0.05)

    def send(self, command: str, headers: list[tuple[str, str]], body: bytes = b"") -> None:
        """Send a frame."""
        self.wire.send(encoded(command, headers, body, self.version))


def _interval(text: str) -> float:
    """The interval that a number of heart-beat and this client's agree on, in seconds; 0 where there is none."""
    return max(BEAT_MS, int(text)) / 1000 if text.isdecimal() and int(text) else 0.0
