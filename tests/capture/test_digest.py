"""The digest of a capture beside the walk over it, and ranges that are requested ahead: what the walk alone gives, and no more requests."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.capture import Known, digest, examine, read_ahead, remote
from stompcap.capture.digest import Digest
from stompcap.capture.files import open_capture
from stompcap.capture.read_ahead import ReadAhead
from stompcap.capture.remote import Ranges
from stompcap.columns import Octets
from stompcap.errors import CaptureError
from tests.e2e.truth import DATA
from tests.examples import one_in

PATH = DATA / "rabbitmq_dialogue.pcap"
OCTETS = PATH.read_bytes()


class Remote(Ranges):
    """Octets that are asked for in ranges; those from `fails` on cannot be had."""

    def __init__(self, octets: bytes, fails: int = 1 << 62) -> None:
        self.path, self.size, self.octets, self.fails = "s3://bucket/a", len(octets), octets, fails
        self.asked: list[tuple[int, int]] = []

    def read(self, begin: int, end: int) -> Octets:
        self.asked.append((begin, end))
        if end > self.fails:
            raise CaptureError(self.path, "cannot be read")
        return np.frombuffer(self.octets[begin:end], np.uint8)


@pytest.mark.parametrize("piece", [1000, len(OCTETS) - 1, len(OCTETS)])
@pytest.mark.parametrize("damage", ["", "in the middle", "cut off"])
def test_a_survey_is_the_same_however_its_digest_is_computed(
    piece: int, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    octets = bytearray(OCTETS)
    if damage == "in the middle":
        octets[30_000:30_400] = b"\xff" * 400
    path = tmp_path / "a.pcap"
    path.write_bytes(octets[:-3] if damage == "cut off" else octets)
    known = [Known("earlier", 24, hashlib.sha256(OCTETS[:24]).hexdigest())]
    by_caller = examine(str(path), "s", 1 << 16, known)
    monkeypatch.setattr(digest, "HASH_OCTETS", piece)
    told: list[int] = []
    assert examine(str(path), "s", 1 << 16, known, progress=told.append) == by_caller
    assert by_caller is not None
    assert by_caller.row["capture_id"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sum(told) == path.stat().st_size


@one_in(3)
@given(st.lists(st.integers(0, len(OCTETS)), max_size=8), st.integers(1, 4000), st.integers(0, 3))
def test_the_digest_is_that_of_the_octets_up_to_each_place(ends: Sequence[int], piece: int, waiting: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digest, "HASH_OCTETS", piece)
        patch.setattr(digest, "WAITING", waiting)
        with Digest(open_capture(str(PATH))) as found:
            reached = 0
            for end in ends:
                found.to(end)
                reached = max(reached, end)
                assert found.hex() == hashlib.sha256(OCTETS[:reached]).hexdigest()


def test_no_thread_is_left_behind_when_a_walk_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "HASH_OCTETS", 1000)

    def walk() -> None:
        with Digest(open_capture(str(PATH))) as found:
            found.to(len(OCTETS))
            raise KeyError

    with pytest.raises(KeyError):
        walk()
    assert not [one.name for one in threading.enumerate() if one.name.startswith("digest")]


@pytest.mark.parametrize("first", [0, 700])
def test_ranges_read_in_order_are_asked_for_once_each(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "RANGE_OCTETS", 1000)
    there = Remote(OCTETS[:10_500])
    edges = [*range(first, there.size, 1000), there.size]
    with ReadAhead(there) as ahead:
        found = b"".join(ahead.read(begin, end).tobytes() for begin, end in pairwise(edges))
    assert found == there.octets[first:]
    assert sorted(there.asked) == list(pairwise(edges))


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 1500)), max_size=12))
def test_ranges_in_any_order_give_their_octets(ranges: Sequence[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "RANGE_OCTETS", 1000)
        with ReadAhead(Remote(OCTETS[:10_500])) as ahead:
            for begin, length in ranges:
                assert ahead.read(begin, begin + length).tobytes() == OCTETS[begin : begin + length]


def test_a_range_that_cannot_be_had_is_told_of_where_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "RANGE_OCTETS", 1000)
    monkeypatch.setattr(read_ahead, "AHEAD", 3)
    with ReadAhead(Remote(OCTETS[:10_500], fails=2500)) as ahead:
        assert len(ahead.read(0, 1000)) == len(ahead.read(1000, 2000)) == 1000
        with pytest.raises(CaptureError, match="cannot be read"):
            ahead.read(2000, 3000)
