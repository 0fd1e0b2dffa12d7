"""One STOMP connection as a client and a broker hold it, written as packets, with its truth."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from stompcap.generate.transports import carried_by
from stompcap.generate.truth import Truth
from stompcap.generate.wire import MSS, Session, Wire
from stompcap.stomp.write import write_frame

Row = dict[str, Any]
Headers = Sequence[tuple[str, str]]
MS = 1_000_000
WAYS = {True: "c2s", False: "s2c"}


def to(destination: str, body: bytes) -> list[tuple[str, str]]:
    """The headers of a SEND of JSON."""
    return [("destination", destination), ("content-type", "application/json"), ("content-length", str(len(body)))]


class Conversation:
    """The connection so far. A frame of the server is followed by an LF, as RabbitMQ writes it."""

    def __init__(
        self, dice: Random, note: str = "", version: str = "1.2", over: str = "", begin_ns: int = 0, port: int = 0
    ) -> None:
        """`over` names the transport (stompcap.generate.transports.OVER) that carries it, none of which changes what the dice give.

        It begins at `begin_ns`; of port 0 the dice decide.
        """
        self.dice = dice
        self.version = version
        port = port or dice.randrange(32_768, 60_000)
        initial = dice.getrandbits(32), dice.getrandbits(32)
        self.wire = carried_by(over, port, initial, version) if over else Wire(port, initial)
        self.truth = Truth(port, note)
        self._receipts: list[Row] = []
        self._messages = 0
        self.wire.wait_until(begin_ns)
        self.wire.open()

    def pause(self, least_ms: float, most_ms: float) -> None:
        """Time passes, in whole microseconds."""
        self.wire.ns += int(self.dice.uniform(least_ms, most_ms) * 1_000) * 1_000

    def say(self, from_client: bool, *frames: tuple[str, Headers, bytes], captured: bool = True) -> list[Row]:
        """Send frames in one go; returns their rows. What is not captured must fit a segment; its rows are not part of the truth."""
        way, base = WAYS[from_client], self.wire.sent[not from_client]
        octets = bytearray()
        rows: list[Row] = []
        for command, headers, body in frames:
            written = write_frame(command, headers, body, self.version)
            rows.append({"direction": way, "stream_offset": base + len(octets), "length_octets": len(written), "command": command})
            octets += written if from_client else written + b"\n"
        times = self.wire.send(from_client, bytes(octets), captured)
        for row in rows:
            begin = row["stream_offset"] - base
            row["first_ns"], row["last_ns"] = times[begin // MSS], times[(begin + row["length_octets"] - 1) // MSS]
        if captured:
            self.truth.frames += rows
        else:
            self._lose(way, base, len(octets))
        return rows

    def _lose(self, way: str, offset: int, octets: int) -> None:
        """Note missing octets; with those missing right before them they are one gap."""
        for gap in self.truth.gaps:
            if gap["direction"] == way and gap["stream_offset"] + gap["length_octets"] == offset:
                gap["length_octets"] += octets
                return
        self.truth.gaps.append({"direction": way, "stream_offset": offset, "length_octets": octets})

    def connect(
        self, login: str = "generated", beats: tuple[str, str] = ("0,0", "0,0"), server: str = "RabbitMQ/3.13.7", session: str = ""
    ) -> None:
        """CONNECT and CONNECTED, with the `heart-beat` header of each side; the passcode in clear, which is in no TLS, is a finding."""
        if not self.wire.key_log:
            self.truth.findings["CN-20"] = 1
        self.say(True, ("CONNECT", [
            ("accept-version", self.version), ("host", "/"), ("login", login), ("passcode", f"{login}-0000"), ("heart-beat", beats[0]),
        ], b""))  # fmt: skip
        self.pause(1, 20)
        session = session or f"session-{self.dice.getrandbits(48):012x}"
        self.say(False, ("CONNECTED", [
            ("server", server), ("session", session), ("heart-beat", beats[1]), ("version", self.version),
        ], b""))  # fmt: skip

    def subscribe(self, destination: str, prefetch: int = 20, name: str = "0", mode: str = "client-individual") -> None:
        """One subscription."""
        headers = [("id", name), ("destination", destination), ("ack", mode), ("prefetch-count", str(prefetch))]
        self.say(True, ("SUBSCRIBE", headers, b""))

    def body(self) -> bytes:
        """A JSON body, now and then one of several segments."""
        size = self.dice.choice((20, 80, 200, 400, 400, 900, 5_000))
        return b'{"note":"%s"}' % self.dice.randbytes(size // 2).hex().encode()

    def deliver(self, destination: str, captured: bool = True, small: bool = False) -> tuple[str, Row]:
        """A MESSAGE of a body of its own; returns what an ACK names, and the row of its delivery."""
        body = b"x" * 40 if small else self.body()
        return self.message([("destination", destination), ("redelivered", "false")], body, captured=captured)

    def message(
        self, headers: Headers, body: bytes, message_id: str = "", subscription: str = "0", captured: bool = True, auto: bool = False
    ) -> tuple[str, Row]:
        """A MESSAGE with those headers; returns what an ACK names, and the row of its delivery, which in mode auto needs none."""
        self._messages += 1
        name = f"T_{subscription}@@{self.truth.client_port}@@{self._messages}"
        message_id = message_id or name
        named = [("subscription", subscription), ("message-id", message_id), *headers]
        named += [("content-type", "application/json"), ("content-length", str(len(body)))]
        if self.version == "1.2" and not auto:
            named.append(("ack", name))
        [frame] = self.say(False, ("MESSAGE", named, body), captured=captured)
        row = {
            "stream_offset": frame["stream_offset"], "message_id": message_id, "subscription": subscription,
            "delivered_ns": frame["last_ns"], "status": "auto" if auto else "unsettled", "settlement": None, "settled_by": None,
            "settled_ns": None, "ack_latency_us": None,
        }  # fmt: skip
        if captured:
            self.truth.deliveries.append(row)
        return name, row

    def settle(self, name: str, row: Row, command: str = "ACK", captured: bool = True) -> None:
        """ACK or NACK of one delivery."""
        named = [("subscription", row["subscription"]), ("message-id", row["message_id"])]
        headers = [("id", name)] if self.version == "1.2" else named
        [frame] = self.say(True, (command, headers, b""), captured=captured)
        if not captured:
            row["status"] = "unknown"
            return
        latency = (frame["first_ns"] - row["delivered_ns"]) // 1_000
        row.update(
            status="settled", settlement=command.lower(), settled_by="direct", settled_ns=frame["first_ns"], ack_latency_us=latency
        )

    def ask(self, command: str, headers: Headers, body: bytes = b"", captured: bool = True) -> Row:
        """A frame with a receipt, which `answer` brings; returns its row."""
        receipt = f"r-{len(self._receipts)}"
        [frame] = self.say(True, (command, [*headers, ("receipt", receipt)], body), captured=captured)
        row = {
            "request_offset": frame["stream_offset"], "command": command, "receipt": receipt, "status": "unanswered", "answer": None,
            "latency_us": None, "first_ns": frame["first_ns"],
        }  # fmt: skip
        self._receipts.append(row)
        if captured:
            self.truth.receipts.append({name: value for name, value in row.items() if name != "first_ns"})
        return frame

    def answer(self) -> None:
        """RECEIPT to the last frame that asked for one."""
        asked = self._receipts[-1]
        [frame] = self.say(False, ("RECEIPT", [("receipt-id", asked["receipt"])], b""))
        for row in self.truth.receipts[-1:]:
            if row["receipt"] == asked["receipt"]:
                row.update(status="answered", answer="RECEIPT", latency_us=(frame["last_ns"] - asked["first_ns"]) // 1_000)

    def transact(self, number: int, sends: int, outcome: str) -> None:
        """A transaction of some SEND frames, `committed` or `aborted`."""
        name = f"tx-{number}"
        [begun] = self.say(True, ("BEGIN", [("transaction", name)], b""))
        octets = 0
        for _ in range(sends):
            self.pause(0.1, 5)
            body = self.body()
            octets += len(body)
            self.say(True, ("SEND", [*to("/queue/done", body), ("transaction", name)], body))
        [ended] = self.say(True, ("COMMIT" if outcome == "committed" else "ABORT", [("transaction", name)], b""))
        duration = (ended["first_ns"] - begun["first_ns"]) // 1_000
        self.truth.transactions.append(
            {"transaction": name, "outcome": outcome, "sends": sends, "acks": 0, "nacks": 0, "body_octets": octets, "duration_us": duration}
        )

    def disconnect(self) -> None:
        """DISCONNECT with a receipt, and the end of the connection."""
        self.ask("DISCONNECT", [])
        self.pause(0.1, 5)
        self.answer()
        self.wire.close()

    def session(self) -> Session:
        """Its packets."""
        self.truth.layers = self.wire.truth_rows()
        return Session(self.truth.note, tuple(self.wire.packets), len(self.truth.frames))
