"""STOMP is found by what a connection says, on any port; where it says nothing clear, the ports named are believed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap.options import STOMP_PORTS, Options
from stompcap.transport import detect
from tests.capture.packaging import pcap
from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import captures
from tests.examples import every
from tests.tcp.wire import Wire as Packets

KNOWN, ODD = 61613, 61999
"""Both above all ports of the clients: which end of a connection is the lower one stays as it was."""
PORT_DEPENDENT = {"stream_id", "community_id", "server_port"}


def moved(wire: Wire, port: int = ODD) -> Wire:
    """The same packets, their servers listening on another port."""
    column = wire.segments.column("endpoints").to_pylist()
    old, new = struct.pack(">H", KNOWN), struct.pack(">H", port)

    def other(ends: bytes) -> bytes:
        at = 16 if ends[16:18] == old else 34
        assert ends[at : at + 2] == old
        return ends[:at] + new + ends[at + 2 :]

    ends = pa.array([other(one) for one in column], pa.binary())
    return replace(wire, segments=wire.segments.set_column(wire.segments.schema.get_field_index("endpoints"), "endpoints", ends))


def named(tables: dict[str, pa.Table]) -> dict[str, list[dict[str, Any]]]:
    """Rows without what depends on the port, their streams named by client and time instead."""
    names = {row["stream_id"]: f"{row['client_port']} {row['first_ns']}" for row in tables["streams"].to_pylist()}

    def rows(table: pa.Table) -> Iterator[tuple[str, dict[str, Any]]]:
        for row in table.to_pylist():
            kept = {name: value for name, value in row.items() if name not in PORT_DEPENDENT}
            kept["stream"] = names[row["stream_id"]] if "stream_id" in row else ""
            yield repr(kept), kept

    return {name: [row for _, row in sorted(rows(table), key=lambda pair: pair[0])] for name, table in tables.items()}


@pytest.mark.parametrize(
    "path",
    [
        path if "dialogue" in path else pytest.param(path, marks=pytest.mark.slow) for path in captures()
        if "dialogue" in path or path in every(3, captures())
    ],
    ids=lambda path: path.rsplit("/", 1)[-1],
)  # fmt: skip
def test_the_same_packets_on_any_port_give_the_same_tables(path: str) -> None:
    wire = wire_of([path])
    assert named(moved(wire).tables()) == named(wire.tables())


SEND = b"SEND\ndestination:/queue/a\n\n"
LONG = b"x" * 3000


def of(folder: Path, *said: bytes) -> Wire:
    """A connection caught in the middle, one segment after the other from its client."""
    wire, at = Packets(), 0
    for octets in said:
        wire.c(at, octets)
        at += len(octets)
    return wire_of([str(pcap(folder / "middle.pcap", wire.frames))])


CAUGHT = {
    "a whole frame": ([b"tail of one\x00", SEND + b"\x00"], True),
    "a whole frame behind a large one": ([LONG, LONG, b"\x00" + SEND + b"\x00"], True),
    "a whole frame that is large": ([SEND, LONG, b"\x00"], True),
    "a frame that has no end": ([b"\x00" + SEND, LONG], False),
    "heart-beats": ([b"\n", b"\n", b"\n"], False),
}
"""What is sent, and whether it says that this is STOMP."""


@pytest.mark.parametrize(("octets", "clear"), CAUGHT.values(), ids=CAUGHT.keys())
def test_caught_in_the_middle_on_any_port(octets: list[bytes], clear: bool, tmp_path: Path) -> None:
    wire = of(tmp_path, *octets)
    here, there, named_there = wire.tables(), moved(wire).tables(), moved(wire).tables(Options(ports=STOMP_PORTS | {ODD}))
    assert here["streams"].column("protocol").to_pylist() == ["stomp"]
    assert there["streams"].column("protocol").to_pylist() == ["stomp" if clear else "other"]
    assert ("raw_frames" in there) == clear
    assert named(named_there) == named(here)


def test_a_deeper_look_finds_a_frame_behind_a_larger_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "DEEPER", 4096)
    wire = moved(of(tmp_path, LONG, LONG, b"\x00" + SEND + b"\x00"))
    assert wire.tables()["streams"].column("protocol").to_pylist() == ["other"]
    assert wire.tables(Options(all_ports=True))["streams"].column("protocol").to_pylist() == ["stomp"]


def test_a_bounded_number_of_octets_is_looked_at_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "LOOKED_AT_ONCE", 500)
    wire = wire_of([next(path for path in captures() if path.endswith("rabbitmq_dialogue.pcap"))])
    looked = wire.tables()
    monkeypatch.undo()
    assert named(looked) == named(wire.tables())


@pytest.mark.parametrize(
    ("client", "server", "protocol", "transport"),
    [
        (b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x03\x00\x05hello", "tls", "tls"),
        (b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "http", "websocket"),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", "http", "tcp"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\4\0\0\0\0\0", "http", "tcp"),
        (b"AMQP\0\0\x09\1", b"\1\0\0\0\0\1\xf8\0\x0a\0\x0a", "amqp", "tcp"),
        (b"\x10\x1e\0\4MQTT\4\xc2\0\x3c", b"\x20\2\0\0", "mqtt", "tcp"),
        (b"\0\0\0\x3e\1ActiveMQ\0\0\0\x0c", b"\0\0\0\x3e\1ActiveMQ\0\0\0\x0c", "openwire", "tcp"),
        (b"ARTEMIS\0\0\0\x2f", b"\0\0\0\x11", "core", "tcp"),
        (b"SSH-2.0-a\r\n", b"SSH-2.0-b\r\n", "other", "tcp"),
    ],
)
@pytest.mark.parametrize("port", [KNOWN, ODD])
def test_what_else_is_spoken(client: bytes, server: bytes, protocol: str, transport: str, port: int, tmp_path: Path) -> None:
    packets = Packets().handshake().c(0, client).s(0, server, ack=len(client))
    tables = moved(wire_of([str(pcap(tmp_path / "else.pcap", packets.frames))]), port).tables()
    row = tables["streams"].to_pylist()[0]
    assert (row["protocol"], row["transport"]) == (protocol, transport)
    assert (row["outer_octets_c2s"], row["octets_c2s"]) == (len(client), len(client) if transport == "tcp" else 0)
    assert "raw_frames" not in tables
