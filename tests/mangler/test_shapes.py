"""Files that lost the order of the packets: where times are right the tables are those of one file, but for what counts order itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.truth import DATA
from tests.mangler.compare import Tables, both_ways, differences, rows_of
from tests.mangler.shapes import SHAPES

RECORDED = sorted(path.name for path in DATA.glob("*.pcap*"))
ORDER = {"streams": ("history", "clock_steps_back", "acks_against_time", *both_ways("out_of_order_segments"))}
STATUSES = {
    "deliveries": ("status", "settled_by"), "receipts": ("status",), "transactions": ("outcome",), "subscriptions": ("status",),
    "frames": ("command", "version"), "raw_frames": ("kind", "wire_order"), "segments": ("new_octets", "wire_order"),
}  # fmt: skip


def of(tables: Tables, table: str, *, crossed: bool) -> list[tuple[str, ...]]:
    """What a table says apart from times and ids; and where rows stand, but for those that `crossed`."""
    names = ("stream", "direction", "stream_offset", *(name for name in STATUSES[table] if not (crossed and name == "wire_order")))
    return sorted(tuple(str(row.get(name)) for name in names) for row in tables.get(table, []))


def check(name: str, shape: str, folder: Path) -> None:
    paths = [path for run in SHAPES[shape].files(DATA / name, folder) for path in run]
    found, wanted = rows_of(paths), rows_of([DATA / name])
    for table in STATUSES:
        crossed = not SHAPES[shape].times  # nothing tells how, but the times
        assert of(found, table, crossed=crossed) == of(wanted, table, crossed=crossed), (name, table)
    if SHAPES[shape].times:
        lines = differences(found, wanted, ORDER)
        assert not lines, "\n".join(lines[:20])


@pytest.mark.parametrize("shape", [one for one in SHAPES if "second" not in one])
def test_order_is_that_of_one_file(shape, tmp_path):
    check("activemq_dialogue.pcap", shape, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("shape", [one for one in SHAPES if "second" not in one])
def test_order_is_that_of_one_file_in_every_recording(shape, name, tmp_path):
    check(name, shape, tmp_path)
