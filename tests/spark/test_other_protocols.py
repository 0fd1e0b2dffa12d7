"""What lakes have of connections that show no STOMP, or that show it in a later run, captures of all kinds given."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import execute
from stompcap.options import Options
from tests.capture.packaging import Frame, pcap
from tests.e2e.spoken import CLIENT, SECRET, SERVER, SPOKEN
from tests.e2e.test_other_protocols import BINARY, LATE, SEND, packets
from tests.spark.test_reprocess import WITHOUT_VALIDATION, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
Start = Callable[..., Result]
ONLY_NOW = "shows STOMP only now"


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Start:
    def start(lake: Path, *captures: str) -> Result:
        return execute(Job(lambda: spark, str(lake), Options()), WITHOUT_VALIDATION, captures)

    return start


def said_in(lake: Path) -> bytes:
    """All that the data files of a lake have, those replaced since among them, and all other files as they are."""
    found = []
    for path in sorted(lake.rglob("*")):
        if path.suffix == ".parquet":
            found.append(repr(parquet.read_table(path).to_pylist()).encode())
        elif path.is_file():
            found.append(path.read_bytes())
    return b"".join(found)


def test_no_file_of_a_lake_has_an_octet_of_other_protocols(run: Start, tmp_path: Path) -> None:
    lake, ports = tmp_path / "lake", (61613, 61616, 15674)
    talks = [packets(one.says, (50000 + 10 * n + port % 7, port), handshake=(n + port) % 2 == 0)
             for n, one in enumerate(SPOKEN.values()) for port in ports]  # fmt: skip
    for number, (share, next_share) in enumerate(pairwise((0, 0.3, 1))):
        frames = [frame for talk in talks for frame in talk[int(len(talk) * share) : int(len(talk) * next_share)]]
        result = run(lake, str(pcap(tmp_path / f"{number}.pcap", frames, nano=True)))
    assert any("connections of MQTT on port 61613, not kept" in line or "no connection spoke STOMP" in line for line in result.warnings)
    assert SECRET.encode() not in said_in(lake)


def compressed(folder: Path, frames: Sequence[Frame], cuts: Sequence[int]) -> list[str]:
    """These packets in as many compressed captures."""
    paths = []
    for number, (begin, end) in enumerate(pairwise([0, *cuts, len(frames)])):
        plain = pcap(folder / f"{number}.pcap", frames[begin:end], nano=True)
        paths.append(f"{plain}.gz")
        Path(paths[-1]).write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    return paths


SPLIT = {
    "behind what is none": ([(CLIENT, BINARY[:4500]), (SERVER, BINARY[:1500]), (CLIENT, b"\0" + SEND), (CLIENT, SEND)], [2, 5, 7]),
    "a frame over three runs, and a whole one": ([*LATE["a frame over three runs"][0], (CLIENT, SEND)], [1, 2, 3, 4]),
    "the server's, behind what the client said": LATE["the server's, behind what the client said"],
}


@pytest.mark.parametrize("name", SPLIT)
def test_stomp_shown_in_a_later_run_brings_back_what_compressed_captures_have(name: str, run: Start, tmp_path: Path) -> None:
    says, cuts = SPLIT[name]
    paths = compressed(tmp_path, packets(says, (50001, 61616), handshake=False), cuts)
    run(tmp_path / "together", *paths)
    for path in paths:
        assert not any(ONLY_NOW in line for line in run(tmp_path / "apart", path).warnings)
    assert rows_of(tmp_path / "apart") == rows_of(tmp_path / "together")


def test_what_compressed_captures_had_that_are_gone_is_said_to_be_a_gap(run: Start, tmp_path: Path) -> None:
    says, cuts = SPLIT["behind what is none"]
    paths = compressed(tmp_path, packets(says, (50001, 61616), handshake=False), cuts)
    run(tmp_path / "gone", paths[0])
    run(tmp_path / "gone", paths[1])
    Path(paths[0]).unlink()
    result = run(tmp_path / "gone", *paths[2:])
    assert any(ONLY_NOW in line for line in result.warnings)
