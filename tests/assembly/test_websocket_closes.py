"""Who ended a session inside WebSocket: who sent the first Close, behind which the server closes TCP whoever asked (RFC 6455, 7.1.1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scapy.layers.inet import TCP

from stompcap.cli.dialogue.lines import dialogues
from stompcap.cli.dialogue.summary import summary
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import SERVER as BROKER
from tests.tcp.wire import START_NS, Wire
from tests.transport.in_websocket import answer, frame, request

MS = 1_000_000
MASK = b"\x01\x02\x03\x04"
CLIENT, SERVER = 0, 1


class Talk(Wire):
    """A session that agrees on a heart-beat each second from the client, the other way none, or the reverse; CONNECTED comes at 0 ms."""

    def __init__(self, beats: bytes) -> None:
        super().__init__()
        self.at = [0, 0]
        self.handshake()
        self.octets(-5, CLIENT, request()).octets(-4, SERVER, answer())
        self.say(-2, CLIENT, b"CONNECT\naccept-version:1.2\nhost:h\nheart-beat:%b\n\n\0" % beats)
        self.say(0, SERVER, b"CONNECTED\nversion:1.2\nheart-beat:%b\n\n\0" % b",".join(reversed(beats.split(b","))))
        for number, one in enumerate(self.frames[:3]):
            object.__setattr__(one, "ts_ns", START_NS + (number - 9) * MS)

    def octets(self, at: float, side: int, payload: bytes = b"", flags: str = "A") -> Talk:
        self.put(side, self.at[side], payload, flags, self.at[1 - side], at_ns=START_NS + round(at * MS))
        self.at[side] += len(payload) + ("F" in flags)
        return self

    def say(self, at: float, side: int, payload: bytes, opcode: int = 1) -> Talk:
        return self.octets(at, side, frame(payload, opcode, mask=None if side else MASK))

    def close(self, at: float, side: int, payload: bytes = b"") -> Talk:
        return self.say(at, side, payload, 8)

    def shut(self, at: float, side: int = SERVER) -> Talk:
        return self.octets(at, side, flags="FA").octets(at + 1, 1 - side, flags="FA")


FROM_CLIENT, FROM_SERVER = b"1000,0", b"0,1000"
CLOSES = {
    "the client": (Talk(FROM_CLIENT).close(1700, 0).close(1701, 1).shut(1702), "client", "client", "unknown", None),
    "the client, for 1001": (Talk(FROM_CLIENT).close(1700, 0, b"\x03\xe9").close(1701, 1).shut(1702), "client", "client", "unknown", None),
    "the server": (Talk(FROM_CLIENT).close(1700, 1).close(1701, 0).shut(1702), "server", "server", "heartbeat_client", 1.702),
    "the server, by FIN": (Talk(FROM_CLIENT).shut(1702), None, "server", "heartbeat_client", 1.702),
    "the server, whose FIN the client answers by a Close": (
        Talk(FROM_CLIENT).octets(1700, 1, flags="FA").close(1701, 0).octets(1702, 0, flags="FA"), None, "server", "heartbeat_client", 1.7,
    ),
    "the client, as the server says nothing": (
        Talk(FROM_SERVER).close(2000, 0).close(2001, 1).shut(2002), "client", "client", "heartbeat_server", 2.002,
    ),
    "the server, itself silent": (Talk(FROM_SERVER).close(2000, 1).close(2001, 0).shut(2002), "server", "server", "unknown", None),
}  # fmt: skip


@pytest.mark.parametrize("who", CLOSES)
def test_who_sends_the_first_close_ends_the_session(who: str, tmp_path: Path) -> None:
    talk, asked, by, cause, cut_off = CLOSES[who]
    tables = tables_of([str(pcap(tmp_path / "closes.pcap", talk.frames, nano=True))])
    [stream], [session] = tables["streams"].to_pylist(), tables["sessions"].to_pylist()
    assert (stream["closed_by"], stream["asked_by"]) == ("server", asked)
    assert (session["end_kind"], session["ended_by"], session["close_cause"]) == ("fin", by, cause)
    [found] = [row["cut_off_after_intervals"] for row in tables["heartbeats"].to_pylist() if row["interval_ms"]]
    assert found == (None if cut_off is None else pytest.approx(cut_off))
    assert ("Close of the" in session["close_evidence"]) == (asked is not None and cause != "unknown")
    [shown] = dialogues(tables, {})
    assert next(iter(summary(shown))).startswith(f"ended by {'WebSocket close' if asked else 'FIN'} of the {by} after ")


@pytest.mark.parametrize("ahead_ms", [-4000, 4000])
@pytest.mark.parametrize("who", CLOSES)
def test_so_does_it_where_the_clocks_of_the_directions_differ(who: str, ahead_ms: int, tmp_path: Path) -> None:
    talk, asked, *_ = CLOSES[who]
    shifted = [replace(one, ts_ns=one.ts_ns + ahead_ms * MS * (TCP(one.octets[34:]).sport == BROKER[1])) for one in talk.frames]
    path = pcap(tmp_path / "closes.pcap", sorted(shifted, key=lambda one: one.ts_ns), nano=True)
    [stream] = tables_of([str(path)])["streams"].to_pylist()
    assert stream["clock_difference_min_us"] * ahead_ms > 0
    assert stream["asked_by"] == asked


LEAVE = b"DISCONNECT\nreceipt:1\n\n\0"
RULES = {
    "the client, without DISCONNECT": (Talk(b"0,0").close(1700, 0).close(1701, 1).shut(1702), {("DS-04", "client")}),
    "the client, before the RECEIPT": (Talk(b"0,0").say(1600, 0, LEAVE).close(1700, 0).close(1701, 1).shut(1702), {("DS-03", "client")}),
    "the server, not the RECEIPT": (Talk(b"0,0").say(1600, 0, LEAVE).close(1700, 1).close(1701, 0).shut(1702), {("DS-05", "server")}),
    "the server": (Talk(b"0,0").close(1700, 1).close(1701, 0).shut(1702), set()),
}  # fmt: skip


@pytest.mark.parametrize("who", RULES)
def test_rules_blame_who_sent_the_first_close(who: str, tmp_path: Path) -> None:
    talk, broken = RULES[who]
    tables = tables_of([str(pcap(tmp_path / "closes.pcap", talk.frames, nano=True))])
    assert {(row["rule_id"], row["side"]) for row in tables["compliance_findings"].to_pylist() if row["rule_id"].startswith("DS")} == broken
