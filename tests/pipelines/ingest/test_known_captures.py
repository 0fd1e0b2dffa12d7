"""Which rows of table captures a run looks at, of however many a lake has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.ingest import ledger
from pipelines.ingest.survey import related, sizes_here
from stompcap.lake import tables as lakes
from stompcap.tables import TABLES
from stompcap.tables.words import UNREADABLE

SIZES = {"/a/one.pcap": 8, "/b/c/two.pcap": 9, "s3://d/three.pcap.gz": 10, "four\n.pcap": 11, "/e/five.pcap/": 12, "/a/broken.pcap": 8}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake that knows captures of these paths and sizes; the last one could not be read."""
    where = str(tmp_path_factory.mktemp("known") / "lake")
    lakes.create(where)
    rows: list[dict[str, Any]] = [
        {"capture_id": path, "path": path, "source": "default", "status": UNREADABLE if "broken" in path else "complete",
         "size_octets": octets, "batch_id": "b", "run_id": "r"}
        for path, octets in SIZES.items()
    ]  # fmt: skip
    for some in (rows[:3], rows[3:]):
        lakes.append(where, "captures", pa.Table.from_pylist(some, schema=TABLES["captures"].arrow), [str(some[0]["path"])], "r")
    return where


@pytest.mark.parametrize(
    ("name", "octets", "found"),
    [
        ("new.pcap", 0, []), ("new.pcap", 8, ["/a/one.pcap"]), ("one.pcap", 0, ["/a/one.pcap"]),
        ("two.pcap", 8, ["/a/one.pcap", "/b/c/two.pcap"]),
        ("three.pcap.gz", 0, ["s3://d/three.pcap.gz"]), ("four\n.pcap", 0, ["four\n.pcap"]), ("five.pcap", 0, ["/e/five.pcap/"]),
        ("ne.pcap", 0, []), ("broken.pcap", 0, []),
    ],
)  # fmt: skip
def test_a_file_is_compared_with_captures_of_its_name_or_size(
    lake: str, tmp_path: Path, name: str, octets: int, found: list[str]
) -> None:
    (tmp_path / name).write_bytes(b"\0" * octets)
    assert sorted(row["capture_id"] for row in related(lake, [str(tmp_path / name)], sizes_here([str(tmp_path / name)]))) == sorted(found)


def test_what_is_compared_is_the_row_as_all_captures_have_it(lake: str) -> None:
    every = {row["capture_id"]: row for row in ledger.known(lake)}
    assert len(every) == len(SIZES) - 1
    assert related(lake, ["one.pcap", "two.pcap"], ()) == [every["/a/one.pcap"], every["/b/c/two.pcap"]]
