"""The captures of a run are one body of packets: cut into files of any name and order, given twice, or overlapping, they say the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.e2e.cutting import records
from tests.e2e.pure import tables_of
from tests.e2e.truth import captures

LINEAGE = {"first_capture_id", "first_packet", "last_capture_id", "last_packet", "capture_id", "packet"}
COUNTED = ("retransmitted_octets", "duplicate_segments", "segments", "out_of_order_segments")
COUNTERS = {f"{name}_{way}" for name in COUNTED for way in ("c2s", "s2c")}


@pytest.fixture(scope="module")
def capture() -> bytes:
    return Path(next(path for path in captures() if path.endswith("rabbitmq_dialogue.pcap"))).read_bytes()


def rows(tables: dict[str, pa.Table], *without: str) -> dict[str, list[str]]:
    out = {}
    for name, table in tables.items():
        if name == "stream_state":
            continue  # packets, as the files have them
        kept = [column for column in table.column_names if column not in LINEAGE | set(without)]
        out[name] = sorted(repr(row) for row in table.select(kept).to_pylist())
    return out


@pytest.fixture(scope="module")
def whole(capture: bytes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    path = tmp_path_factory.mktemp("whole") / "all.pcap"
    path.write_bytes(capture)
    return tables_of([str(path)])


@pytest.mark.parametrize("names", [("a", "b", "c", "d"), ("d", "a", "c", "b")])
def test_rotated_files(names: tuple[str, ...], capture: bytes, whole: dict[str, pa.Table], tmp_path: Path) -> None:
    packets = records(capture)
    bounds = [0, 7, 300, 301, len(packets)]
    paths = []
    for name, begin, end in zip(names, bounds[:-1], bounds[1:], strict=True):
        path = tmp_path / f"{name}.pcap"
        path.write_bytes(capture[:24] + b"".join(packets[begin:end]))
        paths.append(str(path))
    assert rows(tables_of(paths)) == rows(whole)


def test_overlapping_captures_of_one_point(capture: bytes, whole: dict[str, pa.Table], tmp_path: Path) -> None:
    """The second file repeats half of the first: its octets are known, and only TCP's counters tell."""
    packets = records(capture)
    for name, part in (("one", packets[:700]), ("two", packets[350:])):
        (tmp_path / f"{name}.pcap").write_bytes(capture[:24] + b"".join(part))
    found = tables_of([str(tmp_path / "two.pcap"), str(tmp_path / "one.pcap")])
    wanted, got = rows(whole, *COUNTERS, "history"), rows(found, *COUNTERS, "history")
    for name in wanted.keys() - {"stalls"}:
        assert got[name] == wanted[name], name
