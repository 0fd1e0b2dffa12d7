"""Zeros behind a capture, or in the middle of one, as a writer leaves them that dies: hardly any of them is searched for records."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from stompcap.capture import chains, examine
from stompcap.capture.checkpoint import NO_END
from stompcap.capture.records import ZEROS_OCTETS, block_finder, finder
from tests.e2e.truth import DATA

CAPTURES = [DATA / "activemq_habits.pcap", DATA / "artemis_aftermath.pcapng"]
LAYOUT = chains.Layout(False, 16, 1_000_000, 1 << 18)


@pytest.mark.parametrize("zeros", [ZEROS_OCTETS * 3, ZEROS_OCTETS * 100 + 7])
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.suffix)
def test_few_octets_are_searched(capture: Path, zeros: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, searched = tmp_path / "capture", 0
    path.write_bytes(capture.read_bytes())
    before = examine(str(path), "default")
    os.truncate(path, path.stat().st_size + zeros)
    pcap, pcapng = chains.find_pcap, chains.find_pcapng

    def in_pcap(octets: np.ndarray, at: int, stop: int, *more: object) -> tuple[int, int]:  # type: ignore[type-arg]
        nonlocal searched
        searched += stop - at
        return pcap(octets, at, stop, *more)

    def in_pcapng(octets: np.ndarray, at: int, *more: object) -> tuple[int, int]:  # type: ignore[type-arg]
        nonlocal searched
        searched += len(octets) - at
        return pcapng(octets, at, *more)

    monkeypatch.setattr(chains, "find_pcap", in_pcap)
    monkeypatch.setattr(chains, "find_pcapng", in_pcapng)
    found = examine(str(path), "default")
    assert before is not None
    assert found is not None
    assert searched <= 3 * ZEROS_OCTETS
    assert (found.row["packets"], found.row["used_octets"]) == (before.row["packets"], before.row["used_octets"])


@pytest.mark.parametrize("zeros", [0, 1, 15, 16, ZEROS_OCTETS - 20, ZEROS_OCTETS - 1, ZEROS_OCTETS, ZEROS_OCTETS + 5, 3 * ZEROS_OCTETS])
@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("shown", [0, 3, 16, 40, None])
def test_records_behind_zeros_are_found_as_by_looking_at_each_octet(zeros: int, final: bool, shown: int | None) -> None:
    """Also where the window ends within a header."""
    records = CAPTURES[0].read_bytes()[24:]
    octets = np.frombuffer(bytes(zeros) + records[:shown], np.uint8)
    for stop in (NO_END, zeros // 2, len(octets)):
        plain = chains.find_pcap(octets, 0, stop, LAYOUT, -1, final)
        found = finder(stop, LAYOUT, -1)(octets, 0, final)
        assert found[0] == plain[0]
        if plain[0] == chains.HOLDS:
            assert found == plain
    blocks = CAPTURES[1].read_bytes()
    octets = np.frombuffer(bytes(zeros) + blocks[:shown], np.uint8)
    assert block_finder(False)(octets, 0, final) == tuple(chains.find_pcapng(octets, 0, False, final))
