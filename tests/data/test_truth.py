"""The bundled captures and their truth files: whole, small, consistent, every passcode its session's own."""
from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data"
BROKERS = ("rabbitmq", "activemq", "artemis")
CAPTURES = ("dialogue", "library", "bodies", "heartbeats", "stalls", "midstream", "violations",
            "aftermath", "habits", "stompjs", "gostomp", "vertx", "stompest")
TRUTHS = sorted(DATA.glob("*.truth.jsonl"))
KINDS = {"capture", "session", "frame", "octets", "delivery", "transaction", "receipt", "heartbeat", "violation"}
MAGICS = {"rabbitmq": "d4c3b2a1", "activemq": "4d3cb2a1", "artemis": "0a0d0d0a"}


@cache
def records(truth: Path) -> list[dict]:
    return [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]


def of(truth: Path, kind: str) -> list[dict]:
    return [record for record in records(truth) if record["kind"] == kind]


def test_every_broker_has_every_capture() -> None:
    assert {truth.name for truth in TRUTHS} == {f"{b}_{c}.truth.jsonl" for b in BROKERS for c in CAPTURES}


def test_all_of_it_stays_small() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir() if path.is_file()) < 10_500_000


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name)
def test_first_line_describes_the_capture(truth: Path) -> None:
    head = records(truth)[0]
    octets = (DATA / head["capture"]).read_bytes()
    assert head["kind"] == "capture"
    assert hashlib.sha256(octets).hexdigest() == head["sha256"]
    assert octets[:4].hex() == MAGICS[head["broker"]]
    assert len(of(truth, "session")) == head["sessions"]
    assert {record["kind"] for record in records(truth)} <= KINDS


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name)
def test_sessions_are_told_apart_by_name_and_port(truth: Path) -> None:
    sessions = of(truth, "session")
    assert len({one["session"] for one in sessions}) == len(sessions)
    assert len({one["client_port"] for one in sessions}) == len(sessions)
    assert {one["session"] for one in records(truth)[1:]} == {one["session"] for one in sessions}


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name)
def test_frames_lie_apart_and_within_their_direction(truth: Path) -> None:
    sizes = {(one["session"], side): one[f"octets_{side}"] for one in of(truth, "session") for side in ("c2s", "s2c")}
    ends = dict.fromkeys(sizes, 0)
    units = of(truth, "frame") + of(truth, "octets")
    for unit in sorted(units, key=lambda one: one["stream_offset"]):
        key = unit["session"], unit["direction"]
        assert unit["stream_offset"] >= ends[key]
        ends[key] = unit["stream_offset"] + unit["length_octets"]
        assert ends[key] <= sizes[key]


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name)
def test_each_message_is_a_delivery_once(truth: Path) -> None:
    came = Counter((one["session"], one["stream_offset"]) for one in of(truth, "frame")
                   if one["command"] == "MESSAGE" and one["direction"] == "s2c")
    assert came == Counter((one["session"], one["stream_offset"]) for one in of(truth, "delivery"))


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name)
def test_planted_delays_were_kept(truth: Path) -> None:
    for one in of(truth, "delivery"):
        if one["delay_ms"] is not None:
            assert one["settled_clock_ns"] - one["delivered_clock_ns"] >= one["delay_ms"] * 1e6 - 1e6


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda path: path.name)
def test_planted_heart_beat_troubles_happened(truth: Path) -> None:
    words = ("ok", "late", "violation", "dead")
    for one in of(truth, "heartbeat"):
        if one["planted"] == "ok":
            assert one["measured"] == "ok"
        elif one["planted"] is not None:
            assert words.index(one["measured"]) >= words.index(one["planted"])


def test_passcodes_are_unique_and_listed() -> None:
    passcodes = [one["passcode"] for truth in TRUTHS for one in of(truth, "session")]
    assert len(set(passcodes)) == len(passcodes)
    assert sorted(passcodes) == (DATA / "passcodes.txt").read_text().split()
    assert all(passcode.startswith("pc-") for passcode in passcodes)
