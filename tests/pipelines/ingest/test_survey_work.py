"""What it costs to find that nothing is new: each row of the lake's captures is looked at a few times, however many are alike."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pipelines.ingest.survey import survey
from stompcap.options import Options
from stompcap.progress import Progress
from stompcap.spark.session import LazySession


class Row(dict[str, Any]):
    """A row that counts how often it is asked."""

    asked = 0

    def __getitem__(self, name: str) -> Any:
        Row.asked += 1
        return super().__getitem__(name)


def no_spark() -> NoReturn:
    raise AssertionError("nothing is new")


def asked(folder: Path, number: int) -> int:
    """How often rows are asked where all of a number of files of one size are known."""
    paths, known = [], []
    for index in range(number):
        octets = b"%08d" % index
        path = folder / f"{number}-{index}.pcap"
        path.write_bytes(octets)
        paths.append(str(path))
        digest = hashlib.sha256(octets).hexdigest()
        used = {"used_octets": 8, "used_sha256": digest}
        known.append(Row(capture_id=digest, size_octets=8, path=str(path), compression=None, source="default", **used))
    Row.asked = 0
    found = survey(paths, Options(), known, LazySession(no_spark), Progress())
    assert sorted(one.path for one in found.known) == sorted(paths)
    assert not found.captures
    assert not found.refused
    return Row.asked


@pytest.mark.parametrize("number", [50, 400])
def test_captures_of_one_size_are_not_compared_with_each_other(tmp_path: Path, number: int) -> None:
    assert asked(tmp_path, number) <= 8 * number
