"""What runs on workers, run without Spark: however little of a task's segments stands in memory, the rows are the same."""

from __future__ import annotations

import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stompcap import capture, memory
from stompcap.capture.by_rank import CapturesByRank
from stompcap.options import Options
from stompcap.spark.sink import Sink
from stompcap.spark.workers import extract
from stompcap.spark.workers.extract import Extract
from stompcap.spark.workers.read import Read
from stompcap.tables import TABLES
from stompcap.tasks.packing import Packs
from stompcap.tcp import flows
from stompcap.tcp.idle import IDLE_NS
from tests.e2e.truth import DATA

CAPTURES = [DATA / "activemq_dialogue.pcap", DATA / "rabbitmq_heartbeats.pcap"]
TOLD = ("streams", "raw_frames", "segments", "stalls", "frames", "sessions", "deliveries", "heartbeats", "compliance_findings")


def extracted(lake: Path) -> dict[str, Counter[str]]:
    surveys = [capture.examine(str(path), "default") for path in CAPTURES]
    named = CapturesByRank.of((one.row["path"], one.row["capture_id"]) for one in surveys)
    packs = [[(rank, part)] for rank, one in enumerate(surveys) for part in one.splits]
    read = Read(Packs(packs), 1, vlan=False, tunnels=True)
    numbers = (pa.RecordBatch.from_pydict({"id": [number]}) for number in range(len(read.packs)))
    for name in TOLD:
        (lake / name).mkdir(parents=True)
    work = Extract(str(lake), named, "batch", Options(), TOLD, now_ns=max(one.row["last_ns"] for one in surveys) + IDLE_NS + 1)
    (manifest,) = work(read(numbers))
    found: dict[str, Counter[str]] = {name: Counter() for name in TOLD}
    for file in manifest.to_pylist():
        rows = pq.read_table(lake / file["table"] / file["path"], schema=TABLES[file["table"]].arrow)
        found[file["table"]] += Counter(map(repr, rows.to_pylist()))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[str]]:
    """The rows where all of it stands in memory."""
    return extracted(tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
@pytest.mark.parametrize("held", [40, 900])
def test_what_stands_in_memory_changes_nothing(
    held: int, whole: dict[str, Counter[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {name for name in TOLD if not whole[name]} <= {"stalls"}
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(flows, "HELD_ROWS", held)
    assert extracted(tmp_path / "parts") == whole
    assert not list((tmp_path / "scratch").iterdir())


def test_a_task_gives_its_memory_back_when_nothing_holds_it_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sinks, held = list[weakref.ref[Sink]](), list[list[Sink | None]]()

    def noted(*arguments: Any) -> Sink:
        sink = Sink(*arguments)
        sinks.append(weakref.ref(sink))
        return sink

    monkeypatch.setattr(extract, "Sink", noted)
    monkeypatch.setattr(memory, "release", lambda: held.append([sink() for sink in sinks]))
    assert any(extracted(tmp_path).values())
    assert held == [[None]]
