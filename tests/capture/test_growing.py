"""A file that is still written: what is complete is taken, and a later look goes on where the earlier one ended."""

import hashlib

import pyarrow as pa
import pytest

from stompcap.capture import SEGMENTS, Known, changed, examine, read_segments
from tests.capture import packaging as p
from tests.capture.test_splits import FRAMES

WRITERS = {"pcap": lambda path: p.pcap(path, FRAMES), "pcapng": lambda path: p.pcapng(path, FRAMES)}


def known(found):
    return Known(found.row["capture_id"], found.row["used_octets"], found.row["used_sha256"])


def rows(found):
    return pa.Table.from_batches([one for split in found.splits for one in read_segments(split, 0)], SEGMENTS).to_pylist()


@pytest.fixture(params=list(WRITERS))
def whole(request, tmp_path):
    return WRITERS[request.param](tmp_path / "whole").read_bytes()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "growing"


def cuts(octets, count=9):
    return [200 + (len(octets) - 200) * i // count for i in range(1, count)]


@pytest.mark.parametrize("every", [500, 1 << 30])
def test_looks_at_a_growing_file_add_up(file, whole, every):
    file.write_bytes(whole)
    everything = examine(str(file), "s")
    seen, lake, last = [], [], None
    for cut in [*cuts(whole), len(whole)]:
        file.write_bytes(whole[:cut])
        found = examine(str(file), "s", every, lake)
        row = found.row
        assert row["continues"] == (last.capture_id if last else None)
        assert row["capture_id"] == hashlib.sha256(whole[:cut]).hexdigest()
        assert row["used_sha256"] == hashlib.sha256(whole[: row["used_octets"]]).hexdigest()
        assert row["status"] in ("complete", "truncated")
        assert row["packets"] == row["tcp_segments"] + sum(row["skipped"].values())
        seen.append(found)
        last = known(found)
        lake.insert(0, last)
    assert [row for found in seen for row in rows(found)] == rows(everything)
    for name in ("packets", "tcp_segments"):
        assert sum(found.row[name] for found in seen) == everything.row[name]
    assert min(f.row["first_ns"] for f in seen) == everything.row["first_ns"]
    assert max(f.row["last_ns"] for f in seen) == everything.row["last_ns"]


def test_half_a_record_more_is_nothing_new(file, whole):
    file.write_bytes(whole[:5000])
    lake = [known(examine(str(file), "s"))]
    used = lake[0].used_octets
    file.write_bytes(whole[: used + 7])
    found = examine(str(file), "s", known=lake)
    assert (found.row["packets"], found.row["continues"], found.splits) == (0, lake[0].capture_id, ())
    assert (found.row["used_octets"], found.row["used_sha256"]) == (used, lake[0].used_sha256)


def test_another_beginning_is_another_capture(file, whole):
    file.write_bytes(whole[:5000])
    lake = [known(examine(str(file), "s"))]
    octets = bytearray(whole)
    octets[150] ^= 1
    file.write_bytes(octets)
    found = examine(str(file), "s", known=lake)
    assert found.row["continues"] is None
    assert changed(found.row, lake)
    assert len(rows(found)) == found.row["tcp_segments"]


def test_a_shorter_file_continues_nothing(file, whole):
    file.write_bytes(whole)
    lake = [known(examine(str(file), "s"))]
    file.write_bytes(whole[:5000])
    row = examine(str(file), "s", known=lake).row
    assert row["continues"] is None
    assert changed(row, lake)


def test_a_change_behind_the_beginning_is_told_and_growth_is_none(file, whole):
    lake = []
    for cut in (5000, 9000):
        file.write_bytes(whole[:cut])
        row = examine(str(file), "s", known=lake).row
        assert not changed(row, lake)
        lake.append(Known(row["capture_id"], row["used_octets"], row["used_sha256"]))
    assert not changed(examine(str(file), "s", known=lake).row, lake)
    octets = bytearray(whole)
    octets[8000] ^= 1
    file.write_bytes(octets)
    row = examine(str(file), "s", known=lake).row
    assert row["continues"] == lake[0].capture_id
    assert changed(row, lake)
