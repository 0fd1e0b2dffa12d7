"""Profiles journeys and journeys-activemq: what a broker passes on, and the truth about it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stompcap.generate.profiles import PASSED_ON, Wanted
from stompcap.generate.write import Request, generate

WANTED = Wanted(connections=6, messages=150)


def truth_of(profile: str, folder: Path) -> dict[str, Any]:
    made = generate(folder / "made.pcap", Request(profile, seed=11, wanted=WANTED))
    truth: dict[str, Any] = json.loads(made.truth.read_text("utf-8"))
    return truth


@pytest.mark.parametrize("profile", PASSED_ON)
def test_each_message_came_of_a_send_that_had_taken_effect(profile: str, tmp_path: Path) -> None:
    connections = truth_of(profile, tmp_path)["connections"]
    sends = {(number, row["stream_offset"]): row for number, one in enumerate(connections) for row in one["sends"]}
    journeys = [row for one in connections for row in one["journeys"]]
    assert len(journeys) == sum(len(one["deliveries"]) for one in connections) > len(sends) > 400
    for row in journeys:
        sent = sends[row["send_connection"], row["send_offset"]]
        assert sent["sent_ns"] <= sent["effective_ns"] == row["effective_ns"] < row["message_ns"]


@pytest.mark.parametrize("profile", PASSED_ON)
def test_there_are_aborted_unread_fanned_out_and_redelivered_messages(profile: str, tmp_path: Path) -> None:
    connections = truth_of(profile, tmp_path)["connections"]
    sends = [row for one in connections for row in one["sends"]]
    first = [row for one in connections for row in one["journeys"] if not row["redelivery"]]
    copies = Counter((row["send_connection"], row["send_offset"]) for row in first)
    assert sum(row["transaction_outcome"] == "aborted" for row in sends) > 5
    assert sum(row["effective_ns"] is not None for row in sends) > len(copies), "some lie in a queue that nobody reads"
    assert {1, 3} <= set(copies.values())
    assert sum(row["redelivery"] for one in connections for row in one["journeys"]) > 3
