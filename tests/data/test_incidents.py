"""The recorded incidents and their truth files: whole, small, the same things wrong at each broker, no passcode of another."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from data.recorder.incidents.programme import END_S, FLAKY_S, FREEZE_S, RESTART_S, SERVICES, SLOW_S
from data.recorder.incidents.record import BALANCERS
from data.recorder.incidents.service import user_of

INCIDENTS = Path(__file__).parents[2] / "data" / "incidents"
BEGINS_S = {
    ("refused", "reporting"): 0, ("no_consumer", "/queue/ledger"): 0, ("idle_cut", "standby"): 23, ("reconnect_loop", "flaky"): FLAKY_S,
    ("consumer_stalled", "mailer"): FREEZE_S, ("consumer_slow", "billing"): SLOW_S,
}  # fmt: skip


def truth(broker: str, kind: str) -> list[dict[str, Any]]:
    lines = (INCIDENTS / f"{broker}_incidents.truth.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]


@pytest.mark.parametrize("broker", BALANCERS)
def test_the_truth_is_of_its_capture(broker: str) -> None:
    [head] = truth(broker, "capture")
    octets = (INCIDENTS / head["capture"]).read_bytes()
    assert (hashlib.sha256(octets).hexdigest(), len(octets)) == (head["sha256"], head["size_octets"])
    assert octets[:4].hex() == "0a0d0d0a"


@pytest.mark.parametrize("broker", BALANCERS)
def test_what_goes_wrong_begins_when_the_programme_says(broker: str) -> None:
    [head] = truth(broker, "capture")
    rows = truth(broker, "incident")
    found = {(row["incident"], row["subject"]): (row["begin_ns"] - head["begin_ns"]) / 1e9 for row in rows}
    stops = {key: found.pop(key) for key in list(found) if key[0] == "broker_stop"}
    assert found.keys() == BEGINS_S.keys()
    assert not [(key, at) for key, at in found.items() if abs(at - BEGINS_S[key]) > 8]
    assert [round(at) for at in stops.values()] == [RESTART_S]
    assert RESTART_S < END_S


def test_both_stay_small() -> None:
    assert sum(path.stat().st_size for path in INCIDENTS.iterdir()) < 6_000_000


def test_passcodes_are_unique_and_listed() -> None:
    rows = [row for broker in BALANCERS for row in truth(broker, "login")]
    assert sorted(row["passcode"] for row in rows) == (INCIDENTS / "passcodes.txt").read_text("ascii").split()
    assert len({row["passcode"] for row in rows}) == len(rows) == len(BALANCERS) * len(SERVICES)
    assert all(row["passcode"] == user_of(broker, row["login"]).passcode for broker in BALANCERS for row in truth(broker, "login"))
