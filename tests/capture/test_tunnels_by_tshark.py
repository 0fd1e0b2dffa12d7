"""Rare tunnels as tshark reads them: the same ports, sequence number and octets of the innermost segment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.capture.linked import FRAMES
from tests.capture.packaging import Frame, pcap
from tests.capture.test_segments import read
from tests.shared import program

BEGINNINGS = ("GTP-U", "GRE in UDP", "IEEE 802.11 in GRE", "IEEE 802.11 QoS in", "IEEE 802.11 with four")
NAMES = ["Cisco HDLC", "Cisco HDLC where PPP is said", *(name for name in FRAMES if name.startswith(BEGINNINGS))]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_innermost_segment_is_that_of_tshark(name: str, tmp_path: Path) -> None:
    link, frame, _ = FRAMES[name]
    path = pcap(tmp_path / "one.pcap", [Frame(bytes(frame))], link)
    fields = ("tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len", "tcp.payload")
    words = [word for field in fields for word in ("-e", field)]
    done = subprocess.run([program("tshark"), "-r", path, "-T", "fields", *words], capture_output=True, text=True, check=True)
    (row,), (payload,), _ = read(tmp_path, frame, link)
    assert done.stdout.strip().split("\t") == ["40000", "61613", str(row["seq"]), str(row["wire_octets"]), payload.hex()]
