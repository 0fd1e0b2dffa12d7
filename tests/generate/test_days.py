"""Profiles day and incidents: services that are well, and what is planted among them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from stompcap.generate.days.planted import KINDS
from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate

pytestmark = pytest.mark.slow

DAY_S, HOUR_NS = 86_400, 3_600_000_000_000
FEW = 400
"""Messages of the busiest hour."""


def truth_of(profile: str, path: Path, seed: int = 1, **wanted: Any) -> dict[str, Any]:
    made = generate(path / "made.pcap", Request(profile, seed, wanted=Wanted(**wanted)))
    return dict(json.loads(made.truth.read_text("utf-8")))


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return truth_of("day", tmp_path_factory.mktemp("day"), hourly=FEW)


@pytest.fixture(scope="module")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return truth_of("incidents", tmp_path_factory.mktemp("incidents"), duration_s=1_800, hourly=FEW)


def test_a_day_has_busy_and_quiet_hours(day: dict[str, Any]) -> None:
    sent = [row["first_ns"] for one in day["connections"] for row in one["frames"] if row["command"] == "SEND"]
    begin = min(sent)
    hours = Counter((ns - begin) // HOUR_NS for ns in sent)
    assert set(hours) == set(range(24))
    assert max(hours.values()) > 2 * min(hours.values())
    assert 0.5 * FEW < hours[0] < 1.3 * FEW


def test_on_a_day_every_message_is_settled_soon_and_services_come_and_go(day: dict[str, Any]) -> None:
    rows = [row for one in day["connections"] for row in one["deliveries"]]
    assert {row["status"] for row in rows} == {"settled", "auto"}
    assert max(row["ack_latency_us"] or 0 for row in rows) < 10_000_000
    assert day["totals"]["commands"]["DISCONNECT"] > 50
    assert 0 < day["totals"]["commands"]["ERROR"] < 30, "somebody mistypes a passcode now and then"
    assert "incidents" not in day


def test_clients_that_come_back_keep_their_address(day: dict[str, Any]) -> None:
    ports = defaultdict(set)
    for one in day["connections"]:
        assert one["client_port"] not in ports[one["client_ip"]]
        ports[one["client_ip"]].add(one["client_port"])
    assert len(ports) < 15 < len(day["connections"])


def test_every_incident_is_told_with_its_subject_and_within_the_capture(incidents: dict[str, Any]) -> None:
    assert len(incidents["incidents"]) == len(KINDS)
    assert len({row["kind"] for row in incidents["incidents"]}) == len(KINDS)
    begin = min(row["first_ns"] for one in incidents["connections"] for row in one["frames"]) - 60_000_000_000
    assert all(begin <= row["begin_ns"] < begin + incidents["group_ns"] + 60_000_000_000 for row in incidents["incidents"])
    assert len({row["subject"] for row in incidents["incidents"]}) == len(KINDS)


def test_planted_incidents_happen(incidents: dict[str, Any]) -> None:
    begun = {row["kind"]: row["begin_ns"] for row in incidents["incidents"]}
    of = defaultdict(list)
    for one in incidents["connections"]:
        of[one["note"]] += one["deliveries"]
    acked = [row for row in of["consumer_slow"] if row["settled_ns"]]
    before, after = (
        [row["ack_latency_us"] for row in acked if (row["delivered_ns"] > begun["consumer_slow"]) is late] for late in (False, True)
    )
    assert sum(after) / len(after) > 10 * sum(before) / len(before)
    assert not any(row["settled_ns"] and row["settled_ns"] > begun["consumer_stalled"] + 5e9 for row in of["consumer_stalled"])
    assert sum(row["settlement"] == "nack" for row in of["redelivery_loop"]) > 100
    assert sum(row["status"] == "unsettled" for row in of["reconnect_loop"]) > 50
    assert incidents["totals"]["commands"]["ERROR"] > 100


def test_one_kind_can_be_planted_alone(tmp_path: Path) -> None:
    told = truth_of("incidents", tmp_path, duration_s=600, hourly=FEW, incidents=("refused",))["incidents"]
    assert [(row["kind"], row["subject"]) for row in told] == [("refused", "reporting")]
