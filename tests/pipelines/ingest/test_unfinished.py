"""Batches that were begun and not finished: what is written down of them, and what is read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.ingest import ledger, unfinished
from pipelines.ingest.baseline import Baseline
from pipelines.job import Job
from stompcap.capture import examine
from stompcap.lake import tables as lakes
from stompcap.options import Options
from tests.e2e.truth import DATA
from tests.pipelines.forgetting.forgotten_lakes import no_spark

CAPTURE = DATA / "rabbitmq_midstream.pcap"


def test_a_batch_is_unfinished_until_its_captures_are_in_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are found from any folder, and read no further than they were then."""
    lake, octets = str(tmp_path / "lake"), CAPTURE.read_bytes()
    monkeypatch.chdir(tmp_path)
    Path("growing.pcap").write_bytes(octets[:-100])
    found = examine("growing.pcap", "tap")
    assert found is not None
    lakes.create(lake)
    first, second = (Job(no_spark, lake, Options(source="tap")) for _ in range(2))
    for job in (first, second):
        unfinished.begin(job, "b", [found], Baseline(0))
    Path("growing.pcap").write_bytes(octets)
    monkeypatch.chdir("/")
    (batch,) = unfinished.unfinished(lake)
    assert (batch.batch_id, batch.run_id, batch.options.source) == ("b", first.result.run_id, "tap")
    assert unfinished.partly_in(lake, batch) == []
    (again,), wrong = unfinished.examined_again(batch, [])
    assert wrong == []
    assert again.row == found.row | {"path": str(tmp_path / "growing.pcap")}
    ledger.enter(lake, [again.row], "b", "second")
    assert unfinished.unfinished(lake) == []


def test_files_that_are_gone_or_others_are_named(tmp_path: Path) -> None:
    lake, gone, other = str(tmp_path / "lake"), tmp_path / "gone.pcap", tmp_path / "other.pcap"
    surveys = []
    for path in (gone, other):
        path.write_bytes(CAPTURE.read_bytes())
        found = examine(str(path), "default")
        assert found is not None
        surveys.append(found)
    lakes.create(lake)
    unfinished.begin(Job(no_spark, lake, Options()), "b", surveys, Baseline(0))
    gone.unlink()
    other.write_bytes(CAPTURE.read_bytes()[:-100])
    (batch,) = unfinished.unfinished(lake)
    found_again, wrong = unfinished.examined_again(batch, [])
    assert found_again == []
    assert [line.partition(":")[0] for line in sorted(wrong)] == [str(gone), str(other)]
