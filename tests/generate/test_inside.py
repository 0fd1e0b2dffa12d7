"""Every recorded capture, put by the generator's writers into each transport, gives the tables that it gives over TCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.truth import DATA
from tests.examples import every
from tests.generate.inside import Inside, textual
from tests.mangler.compare import both_ways, differences, rows_of
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import as_they_are

RECORDED = sorted(path.name for path in DATA.glob("*.pcap*") if "midstream" not in path.name)
COUNTERS = both_ways(
    "segments", "outer_octets", "retransmitted_octets", "duplicate_segments", "out_of_order_segments", "stray_segments", "stray_octets",
    "close_order",
)  # fmt: skip
EXCUSED = {
    "*": ("stream_id", "community_id"),
    "streams": (*COUNTERS, "transport", "history", "origin_ip", "origin_port", "origin_source", "clock_difference_min_us",
                "clock_difference_max_us"),
    "sessions": ("transport", "origin_ip", "origin_port", "origin_source"),
    "raw_frames": ("first_wire_order", "wire_order"),
    "segments": (), "transports": (), "transport_events": (), "stalls": (),
}  # fmt: skip


READ = ("proxy",)


@pytest.mark.parametrize("over", READ)
@pytest.mark.parametrize("name", every(4, RECORDED))
def test_a_recorded_capture_inside_a_transport_gives_its_tables(over: str, name: str, tmp_path: Path) -> None:
    inside, before = Inside(over), textual if over == "sockjs" else as_they_are
    (tmp_path / "plain").mkdir(), (tmp_path / "inside").mkdir()
    plain = Packaging(before).files(DATA / name, tmp_path / "plain")
    carried = Packaging(lambda packets: inside(before(packets))).files(DATA / name, tmp_path / "inside")
    assert differences(rows_of(carried), rows_of(plain), EXCUSED) == []
