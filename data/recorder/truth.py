"""One session's own log: what it sent and received, what was planned, and how it ended.

`records()` gives the lines of the truth file; data/README.md describes their format.
"""
from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from data.recorder.users import User
from data.recorder.wire import Frame, Parser

Record = dict[str, Any]
# Ratios of gap to interval from which a gap is late, a violation, dead.
SEVERITIES = ((3.0, "dead"), (1.5, "violation"), (1.1, "late"))


def severity(ratio: float) -> str:
    """The word for a gap of `ratio` intervals."""
    return next((word for limit, word in SEVERITIES if ratio > limit), "ok")


@dataclass
class Settlement:
    """How a delivery was settled, by plan."""

    word: str
    by: str
    ns: int
    offset: int
    transaction: str | None
    delay_ms: float | None


@dataclass
class SessionLog:
    """Everything that the recorder knows about one session."""

    session: str
    broker: str
    client: str
    user: User
    registered: bool = True
    local: tuple[str, int] = ("", 0)
    remote: tuple[str, int] = ("", 0)
    version: str | None = None
    outcome: str = "unanswered"
    end_kind: str = "open"
    ended_by: str | None = None
    opened_ns: int = 0
    closed_ns: int = 0
    from_c2s: int = 0
    from_s2c: int = 0
    midstream: bool = False
    still_open: bool = False
    heartbeat_c2s_ms: int = 0
    heartbeat_s2c_ms: int = 0
    connected_ns: int = 0
    tape_c2s: Parser = field(default_factory=Parser)
    tape_s2c: Parser = field(default_factory=Parser)
    sent: list[Frame] = field(default_factory=list)
    received: list[Frame] = field(default_factory=list)
    pieces: list[Record] = field(default_factory=list)
    settlements: dict[int, Settlement] = field(default_factory=dict)  # by the MESSAGE's offset
    handed: dict[int, int] = field(default_factory=dict)  # when a library handed out the MESSAGE at that offset, if it reports it
    transactions: list[Record] = field(default_factory=list)
    violations: list[Record] = field(default_factory=list)
    planted_beats: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    sent_c2s: int | None = None  # octets that left the machine, where the server closed before the others could
    carried: Record = field(default_factory=dict)  # what carried it, where that was not TCP alone

    def connected(self, frame: Frame, offer: tuple[int, int]) -> None:
        """Take CONNECTED: version, and the heart-beat intervals as a client computes them."""
        self.version = frame.get("version") or "1.0"
        self.outcome = "connected"
        self.connected_ns = frame.last_ns
        for tape in (self.tape_c2s, self.tape_s2c):
            tape.version = self.version
        can, wants = (int(word) for word in (frame.get("heart-beat") or "0,0").split(","))
        self.heartbeat_c2s_ms = max(offer[0], wants) if offer[0] and wants else 0
        self.heartbeat_s2c_ms = max(offer[1], can) if offer[1] and can else 0

    def subscription_of(self, message: Frame) -> Frame | None:
        """The SUBSCRIBE a MESSAGE belongs to: the latest of its subscription id, else of its destination."""
        asked = [frame for frame in self.sent if frame.command == "SUBSCRIBE"]
        name, destination = message.get("subscription"), message.get("destination")
        known = [frame for frame in asked if name is not None and frame.get("id") == name]
        both = [frame for frame in known if frame.get("destination") == destination]
        near = both or known or [frame for frame in asked if frame.get("destination") == destination]
        return near[-1] if near else None

    def plant(self, rule: str, side: str, offset: int, note: str) -> None:
        """Note a violation planted at a stream offset of the client's direction."""
        self.violations.append({"kind": "violation", "session": self.session, "rule_id": rule, "side": side,
                                "direction": "c2s", "stream_offset": offset, "note": note})

    def records(self) -> list[Record]:
        """All lines of this session, its summary first."""
        return [self._summary(), *self._frames(), *self.pieces, *self._deliveries(), *self._transactions(),
                *self._receipts(), *self._heartbeats(), *self.violations]

    def _summary(self) -> Record:
        return {
            "kind": "session", "session": self.session, "broker": self.broker, "client": self.client,
            "client_ip": self.local[0], "client_port": self.local[1], "server_ip": self.remote[0],
            "server_port": self.remote[1], "login": self.user.login, "passcode": self.user.passcode,
            "version": self.version, "outcome": "midstream" if self.midstream else self.outcome,
            "midstream": self.midstream, "captured_from_c2s": self.from_c2s, "captured_from_s2c": self.from_s2c,
            "heartbeat_c2s_ms": self.heartbeat_c2s_ms, "heartbeat_s2c_ms": self.heartbeat_s2c_ms,
            "octets_c2s": len(self.tape_c2s.octets), "octets_s2c": len(self.tape_s2c.octets),
            "frames_c2s": len(self.sent), "frames_s2c": len(self.received), "opened_clock_ns": self.opened_ns,
            "closed_clock_ns": self.closed_ns, "end_kind": self.end_kind, "ended_by": self.ended_by,
            "notes": self.notes,
        } | self.carried

    def _frames(self) -> list[Record]:
        both = [("c2s", frame) for frame in self.sent] + [("s2c", frame) for frame in self.received]
        return [{
            "kind": "frame", "session": self.session, "direction": direction, "stream_offset": frame.offset,
            "length_octets": frame.length, "first_clock_ns": frame.first_ns, "last_clock_ns": frame.last_ns,
            "captured": self._captured(frame) if direction == "c2s" else frame.offset >= self.from_s2c,
            "command": frame.command, "headers": frame.headers, "body_octets": len(frame.body),
            "body_sha256": hashlib.sha256(frame.body).hexdigest(), "planted": frame.planted,
        } for direction, frame in sorted(both, key=lambda pair: pair[1].last_ns)]

    def _deliveries(self) -> list[Record]:
        ends = {record["transaction"]: record["outcome"] for record in self._transactions()}
        out = []
        for frame in self.received:
            if frame.command != "MESSAGE":
                continue
            asked = self.subscription_of(frame)
            subscription = (asked.get("id") or asked.get("destination")) if asked else None
            mode = (asked.get("ack") or "auto") if asked else None
            how = self.settlements.get(frame.offset)
            end = ends.get(how.transaction) if how and how.transaction else None
            if mode == "auto":
                status = "auto"
            elif how is not None:
                status = "voided" if end in ("aborted", "implicitly_aborted") else "settled"
            else:
                status = "open" if self.still_open else "unsettled"
            out.append({
                "kind": "delivery", "session": self.session, "stream_offset": frame.offset,
                "message_id": frame.get("message-id"), "ack_id": frame.get("ack"), "subscription": subscription,
                "destination": frame.get("destination"), "ack_mode": mode, "status": status,
                "settlement": how.word if how else None, "settled_by": how.by if how else None,
                "settle_offset": how.offset if how else None, "transaction": how.transaction if how else None,
                "transaction_outcome": end, "delay_ms": how.delay_ms if how else None,
                "delivered_clock_ns": self.handed.get(frame.offset, frame.last_ns),
                "settled_clock_ns": how.ns if how else None,
                "captured": frame.offset >= self.from_s2c,
            })
        return out

    def _transactions(self) -> list[Record]:
        lost = "open" if self.still_open else "implicitly_aborted"
        return [record | {"outcome": record["outcome"] or lost} for record in self.transactions]

    def _receipts(self) -> list[Record]:
        answers = [frame for frame in self.received if frame.command in ("RECEIPT", "ERROR")]
        out = []
        for frame in self.sent:
            wanted = frame.get("receipt")
            if wanted is None or frame.command in ("CONNECT", "STOMP"):
                continue
            answer = next((reply for reply in answers if reply.get("receipt-id") == wanted), None)
            if answer is not None:
                answers.remove(answer)
                status = "answered" if answer.command == "RECEIPT" else "refused"
            else:
                status = "open" if self.still_open else "unanswered"
            out.append({
                "kind": "receipt", "session": self.session, "request_offset": frame.offset, "command": frame.command,
                "receipt": wanted, "status": status, "answer": answer.command if answer else None,
                "requested_clock_ns": frame.first_ns, "answered_clock_ns": answer.last_ns if answer else None,
                "captured": self._captured(frame),
            })
        return out

    def _captured(self, sent: Frame) -> bool:
        """Whether the capture has a frame of the client."""
        return sent.offset >= self.from_c2s and (self.sent_c2s is None or sent.offset + sent.length <= self.sent_c2s)

    def _heartbeats(self) -> list[Record]:
        """The longest silence of each direction; behind its DISCONNECT nobody owes a beat, however late the broker answers."""
        out = []
        left_ns = min((frame.first_ns for frame in self.sent if frame.command == "DISCONNECT"), default=self.closed_ns)
        until_ns = min(left_ns, self.closed_ns)
        for direction, interval, tape in (("c2s", self.heartbeat_c2s_ms, self.tape_c2s),
                                          ("s2c", self.heartbeat_s2c_ms, self.tape_s2c)):
            if not interval:
                continue
            times = [self.connected_ns, *(ns for _, _, ns in tape.chunks if self.connected_ns < ns < until_ns), until_ns]
            gap = max(after - before for before, after in pairwise(times)) / 1e6
            out.append({
                "kind": "heartbeat", "session": self.session, "direction": direction, "interval_ms": interval,
                "planted": self.planted_beats.get(direction), "measured_max_gap_ms": round(gap, 3),
                "measured": severity(gap / interval),
            })
        return out
