"""Recordings as a second tap has them, under the same source: all tables stay as they are but for the count of duplicates."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pyarrow as pa
import pytest

from tests.e2e.cutting import FILE_HEADER, cut, records
from tests.e2e.pure import tables_of, wire_of
from tests.e2e.runs import Lake
from tests.e2e.truth import DATA
from tests.examples import slow_behind

COPIES = ("duplicate_segments_c2s", "duplicate_segments_s2c", "final", "other_points")
RECORDINGS = [f"{name}.pcap" for name in ("rabbitmq_dialogue", "activemq_stalls", "activemq_violations", "rabbitmq_library")]


def tapped(path: Path, folder: Path, delay_us: int, lost: float = 0.02, begin: float = 0) -> str:
    """What another tap has of a recording: other times, a hop less to live, and not quite all packets."""
    octets, chance = path.read_bytes(), random.Random(7)
    [magic] = struct.unpack_from("<I", octets)
    ticks = {0xA1B23C4D: 10**9, 0xA1B2C3D4: 10**6}[magic]  # of a second
    packets = records(octets)
    found = [octets[:FILE_HEADER]]
    for packet in packets[int(begin * len(packets)) :]:
        seconds, rest = struct.unpack_from("<II", packet)
        hops = bytearray(packet[16:])
        if hops[12:14] == b"\x08\x00":
            hops[14 + 8] -= 1
        if chance.random() >= lost:
            when = divmod(seconds * ticks + rest + delay_us * ticks // 10**6, ticks)
            found.append(struct.pack("<II", *when) + packet[8:16] + bytes(hops))
    target = folder / f"tap of {path.name}"
    target.write_bytes(b"".join(found))
    return str(target)


def rows(tables: dict[str, pa.Table]) -> dict[str, list[str]]:
    """The rows of tables but for what a second capture point changes."""
    return {
        name: sorted(map(str, table.drop_columns([one for one in COPIES if one in table.column_names]).to_pylist()))
        for name, table in tables.items()
    }


@pytest.mark.parametrize("delay_us", slow_behind(1, [40, 900_000, 1_300, 7_200_000_000]))
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_second_tap_changes_nothing_but_the_count_of_duplicates(name: str, delay_us: int, tmp_path: Path) -> None:
    other = tapped(DATA / name, tmp_path, delay_us)
    alone, both = tables_of([str(DATA / name)]), tables_of([str(DATA / name), other])
    assert rows(both) == rows(alone)
    copies = [sum(both["streams"].column(one).to_pylist()) - sum(alone["streams"].column(one).to_pylist()) for one in COPIES[:2]]
    assert min(copies) > 0


@pytest.mark.parametrize("name", RECORDINGS[:2])
def test_the_tap_whose_file_begins_first_gives_the_rows(name: str, tmp_path: Path) -> None:
    other = tapped(DATA / name, tmp_path, -2_500, lost=0)
    assert rows(tables_of([str(DATA / name), other])) == rows(tables_of([other]))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["abAB", "aAbB", "aABb", "abBA"])
def test_later_runs_tell_the_points_of_connections_that_are_open(order: str, tmp_path: Path) -> None:
    """Files of two taps (a and A, then b and B, which begins in the middle of the first file) in runs of one file each."""
    name = RECORDINGS[0]
    one = cut(DATA / name, tmp_path, [0.5])
    other = Path(tapped(DATA / name, tmp_path, 1_900, lost=0, begin=0.25)).rename(tmp_path / "other.pcap")
    two = cut(other, tmp_path, [0.5])
    together, lake = Lake(), Lake()
    together.run([*one, *two])
    for letter in order:
        lake.run([dict(zip("aAbB", [*one, *two], strict=True))[letter]])
    assert lake.rows() == together.rows()
    copies = sum(sum(together.table("streams").column(name).to_pylist()) for name in COPIES[:2])
    packets = [row for path in two for row in wire_of([path]).segments.column("wire_octets").to_pylist()]
    assert copies > sum(octets > 0 for octets in packets) / 2


def test_overlapping_and_cut_files_give_each_packet_once(tmp_path: Path) -> None:
    path = DATA / RECORDINGS[2]
    octets = path.read_bytes()
    packets = records(octets)
    parts = []
    for number, (begin, end) in enumerate([(0, 0.7), (0.2, 0.5), (0.4, 1)]):
        parts.append(tmp_path / f"{number}.pcap")
        parts[-1].write_bytes(octets[:FILE_HEADER] + b"".join(packets[int(begin * len(packets)) : int(end * len(packets))]))
    found, alone = tables_of([str(part) for part in parts]), tables_of([str(path)])
    lineage = {"first_capture_id", "first_packet", "last_capture_id", "last_packet", "capture_id", "packet"}
    for name, table in found.items():
        kept = [one for one in table.column_names if one not in lineage]
        assert rows({name: table.select(kept)}) == rows({name: alone[name].select(kept)}), name


def test_nothing_is_looked_for_where_one_capture_has_a_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    from stompcap.tcp import capture_points

    def fail(*_: object) -> None:
        raise AssertionError("no flow is in two captures")

    wire = wire_of([str(DATA / name) for name in RECORDINGS])
    monkeypatch.setattr(capture_points, "_Rows", fail)
    assert capture_points.CapturePoints().marked(wire.segments) is wire.segments
