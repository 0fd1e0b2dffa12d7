"""What stays of captures, runs and validations when all that is older than a moment is forgotten."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.forgetting import forget as forgetting
from pipelines.forgetting.criteria import Criteria
from pipelines.ingest import ledger, unfinished
from pipelines.ingest.baseline import Baseline
from stompcap.capture import examine
from stompcap.lake import tables as lakes
from stompcap.quality import last
from stompcap.report.checks import write_checks
from tests.e2e.truth import DATA
from tests.pipelines.forgetting.forgotten_lakes import DAY_NS, Connection, forgotten, holding, job, make
from tests.report.sample import START, table

OLD = Connection("0a" * 10, "10.1.2.3", "alice", 0)
LONG = Connection("0b" * 10, "10.1.2.4", "bob", 2)
NEW = Connection("0c" * 10, "::1", None, 9)
RANGE = "expect_column_values_to_be_between"


def day(number: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(START / 10**9, datetime.UTC) + datetime.timedelta(days=number)


def capture(name: str, first: float | None, final: float | None) -> dict[str, Any]:
    """A row of table captures, whose packets are between some days."""
    times = (None if at is None else START + int(at * DAY_NS) for at in (first, final))
    ends = dict(zip(("first_ns", "last_ns"), times, strict=True))
    return {"capture_id": name, "path": f"/home/alice/captures/{name}.pcap", "source": "tap", "used_sha256": f"digest {name}"} | ends


def result(run_id: str, checked: float, *examples: str) -> dict[str, Any]:
    observed = {"rows": 3, "broken": len(examples), "first": [{"stream_id": name, "max_gap_ms": -1} for name in examples]}
    return {"run_id": run_id, "table_name": "heartbeats", "column_name": "max_gap_ms", "expectation": RANGE, "severity": "error",
            "success": not examples, "observed": json.dumps(observed), "checked_ts": day(checked),
            "checked_rows": 3, "failed_rows": len(examples), "message": f"of {' and '.join(examples)}"}  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = make(tmp_path_factory.mktemp("lakes") / "whole", [[OLD, LONG, NEW]])
    rows = {
        "captures": [capture("old", 0, 1), capture("beside", 2.5, 3), capture("new", 8.9, 9.1), capture("empty", None, None)],
        "runs": [{"run_id": str(at), "stage": "extract", "ended_ts": day(at), "inputs": ["/home/alice"]} for at in (1, 8)],
        "batches": [{"batch_id": f"b{at}", "run_id": str(at), "begun_ts": day(at)} for at in (1, 8)],
    }
    for name, some in rows.items():
        lakes.append(str(lake), name, table(name, some), [f"made {name}"], "run")
    for number, one in enumerate([result("1", 1, OLD.name), result("2", 2, OLD.name, NEW.name)]):
        lakes.append(str(lake), "quality_results", table("quality_results", [one]), [f"made {number}"], "run")
    return lake


@pytest.fixture
def lake(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "lake"))


def column(lake: Path, name: str, column: str) -> list[Any]:
    return sorted(lakes.small(str(lake), name).column(column).to_pylist())


def test_what_is_older_goes_and_captures_stay_known(lake: Path) -> None:
    criteria = Criteria(before=day(5))
    counted = forgetting.count(job(lake), criteria)
    done = forgotten(lake, criteria)
    assert counted.rows == done.rows
    assert {name: done.rows[name] for name in ("captures", "runs", "batches", "quality_results")} == {
        "captures": 2, "runs": 1, "batches": 1, "quality_results": 1,
    }  # fmt: skip
    paths = column(lake, "captures", "path")
    assert paths == ["/home/alice/captures/empty.pcap", "/home/alice/captures/new.pcap", "beside.pcap", "old.pcap"]
    known = {row["capture_id"]: row["used_sha256"] for row in ledger.known(str(lake))}
    assert known == {name: f"digest {name}" for name in ("old", "beside", "new", "empty")}
    assert column(lake, "batches", "batch_id") == ["b8"]
    assert [row["run_id"] for row in lakes.small(str(lake), "runs").to_pylist() if row["stage"] == "extract"] == ["8"]
    assert forgotten(lake, criteria).rows == {}


@pytest.mark.slow
def test_a_capture_beside_a_connection_that_stays_keeps_its_place(lake: Path) -> None:
    """Until all connections are older that had begun when it ended: its packets may be asked for."""
    stays = Connection("0d" * 10, "10.1.2.4", "dan", 2)
    row = stays.row("streams") | {"source": "tap", "last_ns": START + 8 * DAY_NS}
    lakes.append(str(lake), "streams", table("streams", [row]), ["more"], "run")
    forgotten(lake, Criteria(before=day(5)))
    assert "/home/alice/captures/beside.pcap" in column(lake, "captures", "path")
    assert "old.pcap" in column(lake, "captures", "path")


@pytest.mark.slow
@pytest.mark.parametrize("criteria", [Criteria(before=day(5), login="alice"), Criteria(login="alice")])
def test_with_any_other_criterion_only_connections_go(criteria: Criteria, lake: Path) -> None:
    done = forgotten(lake, criteria)
    assert done.connections == 1
    assert not {"captures", "runs", "batches", "quality_results"} & set(done.rows)
    assert column(lake, "batches", "batch_id") == ["b1", "b8"]


@pytest.mark.slow
def test_the_last_validation_stays_without_examples(lake: Path) -> None:
    """And so does its page; what is kept for the next validation goes."""
    docs = lake / "_data_docs" / "index.html"
    write_checks(str(lake), str(docs), last(str(lake)))
    (lake / "_quality").mkdir()
    (lake / "_quality" / "1-x.arrow").write_text(OLD.name)
    assert OLD.name in docs.read_text()
    forgotten(lake, Criteria(streams=(OLD.name,)))
    (row,) = last(str(lake))
    assert not list((lake / "_quality").iterdir())
    assert (row["run_id"], row["success"]) == ("2", False)
    assert [one["stream_id"] for one in json.loads(row["observed"])["first"]] == [NEW.name]
    assert row["message"] == f"heartbeats.max_gap_ms: 2 of 3 heartbeats are below 0 (stream_id {NEW.name}, max_gap_ms -1)"
    page = docs.read_text()
    assert OLD.name not in page
    assert NEW.name in page


@pytest.mark.slow
def test_an_unfinished_batch_stays(lake: Path) -> None:
    found = examine(str(DATA / "rabbitmq_midstream.pcap"), "default")
    assert found is not None
    unfinished.begin(job(lake), "b", [found], Baseline(0))
    forgotten(lake, Criteria(before=day(10_000)))
    assert column(lake, "batches", "batch_id") == ["b"]
    assert holding(lake, "rabbitmq_midstream.pcap")
