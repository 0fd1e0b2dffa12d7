"""Causes of the ends of every recorded connection, against what the recorder's scenarios did and brokers answered."""

from __future__ import annotations

from functools import cache

import pytest

from tests.session.products.test_recorded_products import CAPTURES, analyses


@cache
def ended() -> list[tuple[dict, dict]]:
    """The truth about each recorded session, with its row."""
    return [(truth[row["client_port"]] | {"recording": path.name.partition(".")[0].partition("_")[2]}, row) for path in CAPTURES
            for truth, analysis in analyses(path) for row in analysis.tables["sessions"].to_pylist()]  # fmt: skip


SCENARIOS = [
    # recording, part of the session's name, causes that its end can have
    ("dialogue", "-rst-", {"reset"}),
    ("dialogue", "-txrst-", {"reset"}),
    ("dialogue", "-fin-", {"unknown"}),  # a client that closes without DISCONNECT shows no reason
    ("dialogue", "-txfin-", {"unknown"}),
    ("dialogue", "-wrong-", {"refused"}),
    ("heartbeats", "-dies-", {"heartbeat_client"}),
    ("habits", "artemis-idle-", {"idle_cut"}),
    ("violations", "-nocommon-", {"refused"}),
    ("violations", "-dupsub-", {"error", "unknown"}),
    ("violations", "-halfframe-", {"unknown"}),
    ("midstream", "-begins-", {"capture_end", "disconnect"}),
]


@pytest.mark.parametrize(("recording", "session", "causes"), SCENARIOS)
def test_scenarios_have_their_causes(recording: str, session: str, causes: set[str]) -> None:
    found = {row["close_cause"] for truth, row in ended() if truth["recording"] == recording and session in truth["session"]}
    assert found
    assert found <= causes


def test_who_says_disconnect_ends_by_that_alone() -> None:
    assert all((row["close_cause"] == "disconnect") == (row["end_kind"] == "disconnect") for _, row in ended())


def test_only_an_error_at_the_end_is_one() -> None:
    for _, row in ended():
        if row["close_cause"] in ("error", "refused"):
            assert row["error_message"] is not None
            assert row["close_evidence"].startswith("ERROR at s2c ")


def test_no_recorded_client_vanished_and_none_was_slow() -> None:
    assert not {row["close_cause"] for _, row in ended()} & {"vanished", "slow_consumer", "size_limit", "heartbeat_server"}


def test_no_secret_is_in_what_shows_a_cause() -> None:
    said = " ".join(str(row["close_evidence"]) + str(row["error_detail"]) for _, row in ended())
    assert not [truth["passcode"] for truth, _ in ended() if truth["passcode"] in said]
