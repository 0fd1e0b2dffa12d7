"""A compressed capture with gigabytes behind its last packet: only the pass that takes its digest unpacks them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from stompcap.capture import compressed, examine, read_segments
from tests.e2e.truth import DATA

CAPTURE = DATA / "activemq_habits.pcap"
BEHIND = 1 << 26


@pytest.mark.parametrize("head", [CAPTURE.read_bytes(), CAPTURE.read_bytes()[:24]], ids=["packets", "none"])
def test_what_lies_behind_the_last_packet_is_unpacked_once(head: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, unpacked, plain = tmp_path / "bomb.pcap.gz", 0, compressed.Members.read
    path.write_bytes(gzip.compress(head + bytes(BEHIND), 1))

    def read(self: compressed.Members, most: int) -> bytes:
        nonlocal unpacked
        octets = plain(self, most)
        unpacked += len(octets)
        return octets

    monkeypatch.setattr(compressed.Members, "read", read)
    found = examine(str(path), "default")
    assert found is not None
    assert BEHIND < unpacked < BEHIND + (1 << 21)
    unpacked = 0
    [split] = found.splits
    rows = sum(batch.num_rows for batch in read_segments(split, 0))
    assert rows == found.row["tcp_segments"] == (sum(batch.num_rows for batch in read_segments(str(CAPTURE), 0)) if len(head) > 24 else 0)
    assert unpacked <= 2 * compressed.WINDOW_OCTETS
