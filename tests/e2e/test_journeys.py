"""Journeys of recorded and generated traffic, against what clients logged and what the generator did: none is wrong."""

from __future__ import annotations

import json
import random
import statistics
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.metrics import journeys, journeys_sql
from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate
from stompcap.lake.query import Query, in_process
from tests.e2e.pure import tables_of
from tests.e2e.truth import captures, sessions, truths

Row = dict[str, Any]
JOINED = ("identity", "unique", "ordered")
NEAR_NS = 5 * 10**9
LONGEST_NS = 600 * 10**9
WIRE_US = 1000


def journeys_of(paths: list[str]) -> tuple[list[Row], dict[str, Row]]:
    """The rows of table journeys of these captures, and their streams by id."""
    made = tables_of(paths)
    streams = {row["stream_id"]: row for row in made["streams"].to_pylist()}
    ends = max(row["last_ns"] for row in streams.values())
    made["captures"] = pa.table({"source": ["default"], "last_ns": pa.array([ends], pa.int64())})
    query = Query("journeys", journeys.TABLES_READ, journeys_sql.journeys())
    return in_process({name: made[name] for name in journeys.TABLES_READ}, [query])["journeys"].to_pylist(), streams


# ---- recordings


@pytest.fixture(scope="module")
def recorded() -> tuple[list[Row], dict[tuple[str, str, int], Row], dict[str, Row]]:
    """Journeys of all recordings, what clients logged of frames by stream, direction and offset, and the sessions by stream."""
    rows, streams = journeys_of(captures())
    by_ends: dict[tuple[int, str], list[Row]] = {}
    for stream in streams.values():
        by_ends.setdefault((stream["client_port"], stream["server_ip"]), []).append(stream)
    frames, clients = dict[tuple[str, str, int], Row](), dict[str, Row]()
    for path in truths():
        for session in sessions(path):
            for stream in by_ends.get(session.ends, []):
                behind = stream["first_ns"] - session.summary["opened_clock_ns"]
                if abs(behind) < NEAR_NS or (session.summary["midstream"] and 0 < behind < LONGEST_NS):
                    clients[stream["stream_id"]] = session.summary
                    for frame in session.logged["frame"]:
                        way = frame["direction"]
                        frames[stream["stream_id"], way, frame["stream_offset"] - session.shift(way)] = frame
    return rows, frames, clients


def test_bodies_that_clients_sent_and_got_are_the_same(recorded: tuple[list[Row], dict[tuple[str, str, int], Row], dict[str, Row]]) -> None:
    rows, frames, _ = recorded
    joined = [row for row in rows if row["joined_by"] in JOINED]
    assert len(joined) > 1150
    for row in joined:
        sent = frames[row["send_stream_id"], "c2s", row["send_offset"]]
        got = frames[row["message_stream_id"], "s2c", row["message_offset"]]
        assert (sent["command"], got["command"]) == ("SEND", "MESSAGE")
        assert sent["body_sha256"] == got["body_sha256"]


def test_residence_is_what_clients_saw(recorded: tuple[list[Row], dict[tuple[str, str, int], Row], dict[str, Row]]) -> None:
    """Scripted clients write and read sockets themselves; libraries log a frame when they hand it on, some milliseconds beside the wire.

    What differs by more than 20 ms is a SEND that TCP sent so much later than the client wrote it, as the one before was not acknowledged.
    """
    rows, frames, clients = recorded
    differences = []
    for row in rows:
        ends = (row["send_stream_id"], row["message_stream_id"])
        if row["joined_by"] not in JOINED or row["residence_us"] is None or {clients[one]["client"] for one in ends} != {"scripted"}:
            continue
        sent = frames[row["send_stream_id"], "c2s", row["send_offset"]]
        got = frames[row["message_stream_id"], "s2c", row["message_offset"]]
        before, behind = (row["send_ns"] - sent["last_clock_ns"]) / 1000, (got["first_clock_ns"] - row["message_ns"]) / 1000
        assert min(before, behind) > -WIRE_US, "on the wire behind the write, and before the read"
        in_broker = (got["first_clock_ns"] - sent["last_clock_ns"] - (row["effective_ns"] - row["send_ns"])) / 1000
        differences.append(abs(in_broker - row["residence_us"]))
        assert differences[-1] < 20_000 or before > 20_000
    assert len(differences) > 500
    assert statistics.median(differences) < WIRE_US


@pytest.mark.parametrize(
    ("broker", "how", "least"), [("ActiveMQ", "identity", 380), ("Artemis", "unique", 380), ("RabbitMQ", "unique", 400)]
)
def test_most_messages_of_each_broker_are_joined(
    recorded: tuple[list[Row], dict[tuple[str, str, int], Row], dict[str, Row]], broker: str, how: str, least: int
) -> None:
    found = Counter(row["joined_by"] for row in recorded[0] if row["server_product"] == broker and row["message_ns"] is not None)
    assert found[how] >= least
    assert found["ambiguous"] == 0
    assert found["none"] + found["timestamp"] < 10


# ---- generated


def packets(path: Path) -> tuple[bytes, list[bytes]]:
    """The header of a pcap, and its packets with theirs."""
    octets, at, found = path.read_bytes(), 24, []
    while at < len(octets):
        length = 16 + struct.unpack("<I", octets[at + 8 : at + 12])[0]
        found.append(octets[at : at + length])
        at += length
    return octets[:24], found


def ports(packet: bytes) -> tuple[int, int]:
    """The ports of a packet: Ethernet and IPv4."""
    tcp = 16 + 14 + (packet[30] & 15) * 4
    source, destination = struct.unpack(">HH", packet[tcp : tcp + 4])
    return source, destination


def judged(capture: Path, connections: list[Row]) -> Counter[str]:
    """How MESSAGEs are joined; asserts that none is joined to another SEND than its own."""
    rows, streams = journeys_of([str(capture)])
    ends = [(one["client_ip"], one["client_port"]) for one in connections]
    right = {
        (end, row["message_ns"]): (ends[row["send_connection"]], row["send_offset"], row["redelivery"])
        for end, one in zip(ends, connections, strict=True) for row in one["journeys"]
    }  # fmt: skip
    found = Counter[str]()
    for row in (row for row in rows if row["message_ns"] is not None):
        found[row["joined_by"]] += 1
        sent, offset, redelivery = right[_end(streams[row["message_stream_id"]]), row["message_ns"]]
        assert row["redelivery"] == redelivery
        if row["send_stream_id"] is not None:
            assert (_end(streams[row["send_stream_id"]]), row["send_offset"]) == (sent, offset)
    return found


def _end(stream: Row) -> tuple[str, int]:
    return stream["client_ip"], stream["client_port"]


@pytest.mark.parametrize("profile", ["journeys", "journeys-activemq"])
def test_no_journey_of_generated_traffic_is_wrong(profile: str, tmp_path: Path) -> None:
    """Fan-out, equal bodies, transactions, redelivery; whole, with packets lost, with a producer that was not captured."""
    made = generate(tmp_path / "made.pcap", Request(profile, seed=5, wanted=Wanted(connections=8, messages=200)))
    connections = json.loads(made.truth.read_text("utf-8"))["connections"]
    whole = judged(tmp_path / "made.pcap", connections)
    assert sum(whole[how] for how in JOINED) >= 0.99 * whole.total()
    head, found = packets(tmp_path / "made.pcap")
    for share in (0.01, 0.1):
        dice = random.Random(share)
        (tmp_path / "lost.pcap").write_bytes(head + b"".join(one for one in found if dice.random() >= share))
        lossy = judged(tmp_path / "lost.pcap", connections)
        assert sum(lossy[how] for how in JOINED) >= 0.1 * lossy.total()
    producer = next(one["client_port"] for one in connections if one["sends"])
    (tmp_path / "less.pcap").write_bytes(head + b"".join(one for one in found if producer not in ports(one)))
    less = judged(tmp_path / "less.pcap", connections)
    assert sum(less[how] for how in JOINED) >= 0.5 * less.total()
    assert less["none"] + less["timestamp"] >= 100
