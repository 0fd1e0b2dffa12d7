"""Captures that are gone when the next run comes: what of connections with layers is kept in the state, and that nothing is invented."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from stompcap.options import Options
from tests.e2e.cutting import cut
from tests.e2e.runs import Lake
from tests.e2e.truth import DATA
from tests.examples import slow_behind

CARRIED = DATA / "transports"
SAID = ("stream_id", "direction", "command", "body_octets", "destination", "receipt_id", "subscription")


def lake(name: str, folder: Path, *, kept: bool) -> Lake:
    """A recording in five runs, each of which finds the captures of the others, or not."""
    log = CARRIED / f"{name.partition('.')[0]}.keys.txt"
    found = Lake(Options(keylog=(str(log),)) if log.exists() else Options(), kept=kept, most=0)
    for part in cut(CARRIED / name, folder, [0.2, 0.4, 0.6, 0.8]):
        found.run([str(part)])
    return found


def frames(found: Lake) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row[one] for one in SAID) for row in found.table("frames").to_pylist())


NAMES = ["rabbitmq_vertxtls.pcap", "spring_websocket.pcap", "rabbitmq_wssstompjs.pcap", "activemq_websocket.pcap"]


@pytest.mark.parametrize("name", slow_behind(1, NAMES))
def test_without_the_captures_nothing_is_invented_and_tls_goes_on(name: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(), (tmp_path / "gone").mkdir()
    there, gone = lake(name, tmp_path / "there", kept=True), lake(name, tmp_path / "gone", kept=False)
    expected, found = frames(there), frames(gone)
    assert not found - expected
    if "vertxtls" in name:
        assert found == expected
    broken = [
        {(row["stream_id"], row["rule_id"]) for row in one.table("compliance_findings").to_pylist() if row["rule_id"].startswith("TR-")}
        for one in (gone, there)
    ]
    assert broken[0] <= broken[1]
