"""The row of table `captures`: digest, counts, times, status."""

import hashlib
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from stompcap.capture import survey
from stompcap.tables.bronze import CAPTURES
from tests.capture import packaging as p
from tests.capture.packaging import Frame
from tests.capture.test_segments import ETHER, tcp4

T = 1_700_000_000_123_456_789
FRAMES = [Frame(bytes(ETHER / tcp4()), T), Frame(bytes(60), T - 5_000), Frame(bytes(ETHER / tcp4()), T + 9_000)]


@pytest.mark.parametrize(("write", "kind", "snaplen"), [(p.pcap, "pcap", 262144), (p.pcapng, "pcapng", 0)])
def test_a_whole_file(tmp_path, write, kind, snaplen):
    path = write(tmp_path / "a", FRAMES)
    row = survey(str(path), "tap 1")
    tick = 1000 if kind == "pcap" else 1
    assert row == {
        "capture_id": hashlib.sha256(path.read_bytes()).hexdigest(),
        "path": str(path),
        "source": "tap 1",
        "format": kind,
        "compression": None,
        "size_octets": path.stat().st_size,
        "used_octets": path.stat().st_size,
        "used_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "continues": None,
        "link_types": [1],
        "snaplen": snaplen,
        "packets": 3,
        "tcp_segments": 2,
        "skipped": {"not_ip": 1},
        "first_ns": (T - 5_000) // tick * tick,
        "last_ns": (T + 9_000) // tick * tick,
        "has_secrets": False,
        "first_ts": datetime(2023, 11, 14, 22, 13, 20, 123451, UTC),
        "status": "complete",
        "damage": None,
    }
    assert set(row) < set(CAPTURES.arrow.names)
    pa.Table.from_pylist([{**row, "skipped": list(row["skipped"].items())}], CAPTURES.arrow)


def test_a_file_without_packets(tmp_path):
    row = survey(str(p.pcap(tmp_path / "a", [])), "s")
    assert (row["packets"], row["first_ns"], row["first_ts"], row["status"]) == (0, None, None, "complete")


def test_the_digest_covers_what_could_not_be_read(tmp_path):
    path = p.pcap(tmp_path / "a", FRAMES)
    path.write_bytes(path.read_bytes() + b"\xff" * 1000)
    row = survey(str(path), "s")
    assert (row["status"], row["packets"], row["tcp_segments"]) == ("damaged", 3, 2)
    assert row["capture_id"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_cut_file(tmp_path):
    path = p.pcap(tmp_path / "a", FRAMES)
    path.write_bytes(path.read_bytes()[:-1])
    row = survey(str(path), "s")
    assert (row["status"], row["packets"]) == ("truncated", 2)
    assert f"offset {24 + 2 * 16 + len(FRAMES[0].octets) + 60}" in row["damage"]
