"""What carries generated conversations: other readers read it, and what it carries is the conversation over TCP, at the same times."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.generate.profiles import Wanted, made
from stompcap.generate.transports import OVER, carried_by
from stompcap.generate.wire import MSS
from stompcap.generate.write import Request, generate
from stompcap.options import Options
from tests.e2e.pure import tables_of
from tests.generate.by_tshark import asked, captured, complaints, followed, needs_tshark

SMALL = Wanted(connections=6, messages=20)
TLS = ("tls12", "tls13")
SENDS = st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=200) | st.sampled_from([b"\n", b"x" * 5_000, bytes(40_000)])))
TEXTS = st.lists(st.tuples(st.booleans(), st.text(min_size=1, max_size=200).map(str.encode) | st.sampled_from([b"\n", b'"\\' * 3_000])))


def conversations(over: str, seed: int = 7) -> list[Any]:
    """The connections of a group, straight over TCP where no transport is named."""
    return [talk for _, talk in made("carried", seed, replace(SMALL, over=over))]


@pytest.mark.parametrize("over", OVER)
def test_a_conversation_is_the_same_in_every_transport(over: str) -> None:
    plain, carried = conversations(""), conversations(over)
    for one, other in zip(plain, carried[: len(plain)], strict=True):
        for name in ("deliveries", "transactions", "receipts", "heartbeats", "gaps"):
            assert getattr(one.truth, name) == getattr(other.truth, name), name
        assert one.truth.findings == {"CN-20": 1}
        assert other.truth.findings == ({} if other.wire.key_log else one.truth.findings), "in TLS no passcode is in clear"
        for row, late in zip(one.truth.frames, other.truth.frames, strict=True):
            assert row | {"first_ns": None} == late | {"first_ns": None}
            # Of a frame over several packets the first octets are known by the last one where its record or message ends there.
            assert row["first_ns"] <= late["first_ns"] <= row["last_ns"]
        times = {packet.ns for packet in one.wire.packets}
        assert times <= {packet.ns for packet in other.wire.packets} | {20_000, 40_000, 60_000}, "packets come when they did"


@pytest.mark.parametrize("over", OVER)
def test_packets_are_in_order(over: str) -> None:
    for talk in conversations(over):
        times = [packet.ns for packet in talk.wire.packets]
        assert times == sorted(times)


@pytest.mark.parametrize("over", OVER)
def test_the_seed_decides_every_octet(over: str, tmp_path: Path) -> None:
    first, again, other = (
        generate(tmp_path / f"{name}.pcap", Request(over, seed, wanted=SMALL)) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first.paths[0].read_bytes() == again.paths[0].read_bytes() != other.paths[0].read_bytes()
    if first.keys and again.keys and other.keys:
        assert first.keys.read_bytes() == again.keys.read_bytes() != other.keys.read_bytes()


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("over", OVER)
def test_tshark_reads_every_packet(over: str, tmp_path: Path) -> None:
    """It inflates no messages in fragments and none where one direction keeps no context, and wants words behind PROXY UNKNOWN."""
    found = generate(tmp_path / "made.pcap", Request(over, 3, wanted=Wanted(connections=12, messages=20)))
    wanted = ("-T", "fields", "-e", "tcp.stream")
    hard = {row[0] for row in asked(found, "-Y", "websocket.opcode==0", *wanted)}
    hard |= {row[0] for row in asked(found, "-Y", 'http.sec_websocket_extensions contains "no_context"', *wanted)}
    for stream, payload, said in complaints(found):
        left = {one for one in said.split(",") if one != "Trailing stray characters"}  # NUL at the end of text
        if stream in hard:
            left -= {"Decompression failed"}
        if bytes.fromhex(payload).startswith(b"PROXY UNKNOWN\r\n"):
            left -= {"Badly formatted PROXY header line"}
        assert not left, (stream, left)


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("over", TLS)
def test_tshark_opens_what_the_key_log_is_for(over: str, tmp_path: Path) -> None:
    found = generate(tmp_path / "made.pcap", Request(over, 5, wanted=SMALL))
    straight = generate(tmp_path / "plain.pcap", Request("carried", 5, wanted=SMALL))
    plain = captured(straight.paths[0], 61613)
    for stream, (port,) in enumerate(asked(found, "-Y", "tcp.flags==2", "-T", "fields", "-e", "tcp.srcport")):
        assert followed(found, stream) == plain[int(port)]


@pytest.mark.parametrize("over", ["websocket", "deflate", "sockjs"])
@given(sent=TEXTS, port=st.integers(1, 65_535))
def test_a_reader_of_frames_has_what_was_sent(over: str, sent: list[tuple[bool, bytes]], port: int) -> None:
    check_messages(over, sent, port)


@pytest.mark.parametrize("over", ["websocket", "deflate"])
@given(sent=SENDS, port=st.integers(1, 65_535))
def test_a_reader_of_frames_has_octets_that_are_no_text(over: str, sent: list[tuple[bool, bytes]], port: int) -> None:
    check_messages(over, sent, port)


def check_messages(over: str, sent: list[tuple[bool, bytes]], port: int) -> None:
    wire = carried_by(over, port, (port, 3), "1.2")
    wire.open()
    for from_client, octets in sent:
        times = wire.send(from_client, octets)
        assert len(times) == -(-len(octets) // MSS)
    wire.close()
    for client in (True, False):
        said = b"".join(packet.octets[54:] for packet in wire.packets if packet.from_client == client)
        messages, closed = read(said.partition(b"\r\n\r\n")[2], masked=client, extension=wire.truth_rows()[0]["extensions"])
        if over == "sockjs":
            messages = [text.encode() for message in messages for text in unframed(message.decode())]
        assert b"".join(messages) == b"".join(octets for who, octets in sent if who == client)
        assert closed == 1000


def read(octets: bytes, *, masked: bool, extension: str | None) -> tuple[list[bytes], int]:
    """The messages of one direction and the code of its Close, read as RFC 6455 and RFC 7692 say, a frame at a time."""
    kept = f"{'client' if masked else 'server'}_no_context_takeover" not in (extension or "")
    inflater, found, message, packed = zlib.decompressobj(-15), list[bytes](), b"", False
    while octets:
        first, size, at = octets[0], octets[1] & 127, 2
        if size > 125:
            at = 4 if size == 126 else 10
            size = int.from_bytes(octets[2:at], "big")
        assert octets[1] >> 7 == masked
        mask = octets[at : at + 4] if masked else bytes(4)
        at += 4 * masked
        payload = bytes(octet ^ mask[place % 4] for place, octet in enumerate(octets[at : at + size]))
        octets = octets[at + size :]
        if first & 15 == 8:
            assert not octets, "nothing follows Close"
            return found, struct.unpack(">H", payload)[0]
        if first & 15 in (9, 10):
            continue
        if first & 15:
            message, packed = b"", bool(first & 64)
            assert not packed or extension
        message += payload
        if first & 128:
            if packed:
                inflater = inflater if kept else zlib.decompressobj(-15)
                message = inflater.decompress(message + b"\0\0\xff\xff")
            found.append(message)
    raise AssertionError("no Close")


def unframed(message: str) -> list[str]:
    """The strings of a SockJS message."""
    assert message[0] in "oahc["
    return json.loads(message.removeprefix("a")) if message[0] in "a[" else []


@pytest.mark.parametrize("over", ["deflate", "wss", "proxy"])
def test_clones_are_read_as_their_original_is(over: str, tmp_path: Path) -> None:
    """All have the same keys and contexts."""
    found = generate(tmp_path / "made.pcap", Request(over, 3, octets=500_000, wanted=SMALL))
    tables = tables_of([str(found.paths[0])], Options(keylog=(str(found.keys),)) if found.keys else Options())
    assert len(tables["streams"]) == found.totals["connections"] > 2 * SMALL.connections
    assert len(tables["frames"]) == sum(found.totals["commands"].values())
