"""The files of captures that `export` reads, and the packets of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stompcap import capture
from stompcap.export.find import capture_files
from stompcap.export.packets import records_of
from tests.capture.packaging import frames, pcap
from tests.cli.exported import conversation, ether


def test_a_capture_that_goes_on_where_another_ended_gives_each_packet_once(tmp_path: Path) -> None:
    talk = [ether(p) for p in conversation()]
    path = pcap(tmp_path / "a.pcap", frames(talk))
    whole = capture.survey(str(path), "default")
    part = {**whole, "capture_id": "first", "packets": 5, "used_octets": 24 + sum(16 + len(bytes(p)) for p in talk[:5]), "continues": None}
    rest = {**whole, "continues": "first", "packets": 6}
    files = capture_files([part, rest], [part, rest])
    assert [file.before for file in files] == [0, 5] or [file.before for file in files] == [5, 0]


def test_packets_are_named_by_number(tmp_path: Path) -> None:
    path = pcap(tmp_path / "a.pcap", frames([ether(p) for p in conversation()]))
    row = capture.survey(str(path), "default")
    (file,) = capture_files([row], [row])
    found = [int(n) for records, rows in records_of(file, np.array([2, 3, 9])) for n in records.first + rows]
    assert found == [2, 3, 9]
