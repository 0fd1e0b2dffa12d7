"""Every recorded capture, put by the generator's writers into each transport, gives the tables that it gives over TCP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stompcap.generate.transports import OVER
from stompcap.options import Options
from tests.e2e.truth import DATA
from tests.examples import every, slow_behind
from tests.generate.inside import Inside, textual
from tests.mangler.compare import both_ways, differences, rows_of
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import as_they_are

RECORDED = sorted(path.name for path in DATA.glob("*.pcap*") if "midstream" not in path.name)
COUNTERS = both_ways(
    "segments", "outer_octets", "retransmitted_octets", "duplicate_segments", "out_of_order_segments", "stray_segments", "stray_octets",
    "close_order", "inner_gap_octets",
)  # fmt: skip
EXCUSED = {
    "*": ("stream_id", "community_id"),
    "streams": (*COUNTERS, "final", "transport", "history", "origin_ip", "origin_port", "origin_source", "clock_difference_min_us",
                "clock_difference_max_us"),
    "sessions": ("transport", "origin_ip", "origin_port", "origin_source"),
    "raw_frames": ("first_wire_order", "wire_order", "acked_ns"), "frames": ("acked_ns",), "deliveries": ("network_us", "consumer_us"),
    "segments": (), "transports": (), "transport_events": (), "stalls": (),
}  # fmt: skip


CASES = [
    (over, name)
    for number, over in enumerate(OVER)
    for name in every(12, RECORDED[number:] + RECORDED[:number])
    if over != "sockjs" or "bodies" not in name  # no connection there is text alone
]
IN_CLEAR = re.compile(r"CN-20|cleartext_credentials")
"""What is not found in TLS: a passcode in clear."""
OF_LAYERS = re.compile(r"\bTR-\d\d")
"""Rules of the layers themselves."""


@pytest.mark.parametrize(("over", "name"), slow_behind(len(CASES[::3]), CASES[::3] + CASES[1::3] + CASES[2::3], several=True))
def test_a_recorded_capture_inside_a_transport_gives_its_tables(over: str, name: str, tmp_path: Path) -> None:
    inside, before = Inside(over), textual if over == "sockjs" else as_they_are
    (tmp_path / "plain").mkdir(), (tmp_path / "inside").mkdir()
    plain = Packaging(before).files(DATA / name, tmp_path / "plain")
    carried = Packaging(lambda packets: inside(before(packets))).files(DATA / name, tmp_path / "inside")
    log = tmp_path / "keys.txt"
    log.write_text("".join(f"{line}\n" for line in inside.key_log))
    options = Options(keylog=(str(log),)) if inside.key_log else Options()
    lines = [line for line in differences(rows_of(carried, options), rows_of(plain), EXCUSED) if not OF_LAYERS.search(line)]
    assert [line for line in lines if not (inside.key_log and IN_CLEAR.search(line))] == []
