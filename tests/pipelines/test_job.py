"""What a run hands from stage to stage: stages are timed and entered, and commits of a stage are not torn apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines import job as jobs
from pipelines.ingest import ledger
from pipelines.job import Job
from stompcap.errors import StompcapError
from stompcap.options import Options
from tests.pipelines.forgetting.forgotten_lakes import no_spark


def test_a_signal_waits_from_the_first_commit_of_a_stage_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    @contextmanager
    def uninterrupted() -> Iterator[None]:
        steps.append("hold")
        yield
        steps.append("release")

    monkeypatch.setattr(ledger, "record", lambda *_, **__: steps.append("record"))
    monkeypatch.setattr(jobs.lakes, "commit", lambda *_: steps.append("commit") or 0)
    job = Job(no_spark, str(tmp_path), Options(), uninterrupted=uninterrupted)
    with job.stage("extract", []) as rows:
        steps.append("work")
        job.commit([], "batch", rows, ["frames"])
        job.commit([], "batch", rows, ["sessions"])
        steps.append("enter")
    with pytest.raises(StompcapError), job.stage("metrics", []):
        raise StompcapError("no")
    assert steps == ["work", "hold", "commit", "commit", "enter", "record", "release", "record"]


def test_stages_follow_each_other_without_a_gap_whatever_options_they_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that a killed run began is finished with its own options, and its seconds are not those of the next stage too."""
    now = iter(range(1000, 2000, 10))
    monkeypatch.setattr(ledger, "record", lambda *_, **__: None)
    monkeypatch.setattr("pipelines.result.time.monotonic", lambda: next(now))
    job = Job(no_spark, str(tmp_path), Options(), began=990)
    other = job.with_options(Options(overlap="last"))
    for one in (other, job):
        with one.stage("extract", []) as rows:
            rows["streams"] = 2
    assert (other.options.overlap, job.options.overlap) == ("last", Options().overlap)
    assert [(stage["name"], stage["seconds"]) for stage in job.result.stages] == [("start", 10), ("extract", 10), ("extract", 10)]
    assert (job.result.seconds, job.result.rows) == (30, {"streams": 4})
