"""Journeys of recorded traffic against what clients logged: bodies, times, and how many are joined."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import pytest

from tests.e2e.journeys import JOINED, journeys_of
from tests.e2e.truth import captures, sessions, truths

Row = dict[str, Any]
NEAR_NS = 5 * 10**9
LONGEST_NS = 600 * 10**9
WIRE_US = 1000


@pytest.fixture(scope="module")
def recorded() -> tuple[list[Row], dict[tuple[str, str, int], Row], dict[str, Row]]:
    """Journeys of all recordings, what clients logged of frames by stream, direction and offset, and the sessions by stream."""
    streams, rows = journeys_of(captures())
    by_ends: dict[tuple[int, str], list[Row]] = {}
    for stream in streams:
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


def test_two_taps_each_have_their_journeys() -> None:
    [path] = [one for one in captures() if one.endswith("rabbitmq_library.pcap")]
    streams, rows = journeys_of([path], "before", "behind")
    source = {row["stream_id"]: row["source"] for row in streams}
    joined = [row for row in rows if row["message_stream_id"] is not None and row["send_stream_id"] is not None]
    assert {source[row["message_stream_id"]] for row in joined} == {"before", "behind"}
    assert [row for row in joined if not row["source"] == source[row["send_stream_id"]] == source[row["message_stream_id"]]] == []
    assert len(joined) == 2 * len([row for row in journeys_of([path])[1] if row["message_stream_id"] and row["send_stream_id"]])
