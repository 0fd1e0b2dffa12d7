"""Journeys kept current run by run are those of one run over everything, whatever comes or goes, in any order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from pipelines.metrics import journeys, journeys_touched
from stompcap.lake import commits, data_files, query
from stompcap.lake import tables as lakes
from stompcap.lake.commits import CommitInfo, ordered, read, replace_files, written
from stompcap.lake.paths import location
from stompcap.tables import TABLES
from tests.examples import one_in, slow_behind
from tests.pipelines.metrics.journey_cases import Traffic, joined
from tests.pipelines.metrics.test_journeys_oracle import gots, holes, sends, since_before, traffic_of
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAMPS = {
    "sends": {"sent_ts": "sent_ns"}, "deliveries": {"delivered_ts": "first_ns"}, "raw_frames": {"first_ts": "first_ns"},
    "streams": {"first_ts": "first_ns", "last_ts": "last_ns"}, "sessions": {}, "captures": {},
}  # fmt: skip


def no_spark() -> SparkSession:
    raise AssertionError("these lakes are small")


def rows_of(traffic: Traffic, name: str) -> pa.Table:
    """A table of the traffic as the lake has it."""
    lives = {row["stream_id"]: row for row in traffic.rows["streams"]}
    found = []
    for row in traffic.rows[name]:
        more: dict[str, Any] = {stamp: None if row[ns] is None else row[ns] // 1000 for stamp, ns in STAMPS[name].items()}
        if name == "sessions":
            life = lives[row["stream_id"]]
            more = {"opened_ts": life["first_ns"] // 1000, "last_ts": life["last_ns"] // 1000}
        found.append(row | more)
    return table(name, found)


def exchange(lake: str, name: str, after: pa.Table) -> None:
    """Make a table what it is to be, in one commit: rows that stay are left where they are."""
    delta = DeltaTable(location(lake, name))
    now = {str(row) for row in after.to_pylist()}
    kept, gone, before = [], [], set[str]()
    for file in data_files.of(delta):
        rows = read(name, [file])
        stay = pa.array([str(row) in now for row in rows.to_pylist()], pa.bool_())
        before |= {str(row) for row in rows.filter(stay).to_pylist()}
        if not pc.all(stay).as_py():
            gone.append(file)
            kept.append(rows.filter(stay))
    new = after.filter(pa.array([str(row) not in before for row in after.to_pylist()], pa.bool_()))
    files = [made for rows in (*kept, new) for made in written(lake, name, rows)]
    if files or gone:
        replace_files(delta, files, gone, CommitInfo("run"))


def refresh(lake: str) -> int:
    return journeys.refresh(lake, [], "run", no_spark)


def held(lake: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ordered("journeys", read("journeys", data_files.of(DeltaTable(location(lake, "journeys"))))).to_pylist()
    return rows


def computed(lake: str) -> list[dict[str, Any]]:
    answer = joined({name: query.all_files(lake, name) for name in journeys_touched.TABLES_READ})
    schema = TABLES["journeys"].arrow
    rows: list[dict[str, Any]] = ordered("journeys", answer.select(schema.names).cast(schema)).to_pylist()
    return rows


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake without rows, to copy."""
    lake = tmp_path_factory.mktemp("empty")
    lakes.create(str(lake))
    return lake


def start(empty: Path, lake: str) -> None:
    for name in (*journeys_touched.TABLES_READ, "journeys"):
        shutil.copytree(empty / name, Path(lake, name))


def bring(lake: str, traffic: Traffic) -> None:
    for name in journeys_touched.TABLES_READ:
        exchange(lake, name, rows_of(traffic, name))


happened = st.one_of(sends, gots, sends, gots, holes)
spread = st.tuples(happened, st.integers(0, 30)).map(lambda pair: (pair[0][0], pair[0][1] + pair[1] * 3600, *pair[0][2:]))
history = st.lists(
    st.tuples(st.lists(spread, max_size=5), st.sets(st.integers(0, 11), max_size=1), st.integers(0, 3), since_before), max_size=5
)


@pytest.mark.slow
@one_in(4)
@given(st.sampled_from(["RabbitMQ", "Artemis"]), history)
def test_journeys_by_runs_are_those_of_all_rows(empty: Path, broker: str, history: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as lake:
        start(empty, lake)
        refresh(lake)
        events: list[Any] = []
        hours = 1
        for new, gone, more, midstream in history:
            hours = max(hours, *(1 + event[1] // 3600 for event in new), 0) + more  # time goes on
            events = [event for number, event in enumerate(events) if number not in gone] + new
            traffic = traffic_of(broker, events, midstream)  # a late capture has the beginning of a connection
            for row in (*traffic.rows["captures"], *traffic.rows["streams"]):
                row["last_ns"] = Traffic.at(hours * 3600)
            bring(lake, traffic)
            refresh(lake)
            assert held(lake) == computed(lake)


def test_a_late_capture_completes_what_waited(empty: Path, tmp_path: Path) -> None:
    lake, traffic = str(tmp_path), Traffic(end=1800).send(0, 1).send(10, 2)
    start(empty, lake)
    bring(lake, traffic)
    assert refresh(lake) == 2
    assert [row["reason"] for row in held(lake)] == ["not_yet", "not_yet"]
    bring(lake, traffic.got(20, 1))
    assert refresh(lake) == 1
    assert sorted(row["joined_by"] for row in held(lake)) == ["none", "unique"]


@pytest.mark.slow
def test_rows_that_nothing_changes_stay_in_their_files(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MOST_SMALL", 32)
    lake, traffic = str(tmp_path), Traffic()
    start(empty, lake)
    for number in range(20):
        bring(lake, traffic.send(number, number).got(number + 0.5, number))
        assert refresh(lake) == 1
    delta = DeltaTable(location(lake, "journeys"))
    assert len(delta.file_uris()) == 20
    assert refresh(lake) == 0


def test_what_was_forgotten_on_one_side_leaves_the_other_without_it(empty: Path, tmp_path: Path) -> None:
    lake, traffic = str(tmp_path), Traffic().send(0).got(5)
    start(empty, lake)
    bring(lake, traffic)
    refresh(lake)
    traffic.rows["sends"].clear()
    bring(lake, traffic)
    refresh(lake)
    assert [(row["joined_by"], row["send_stream_id"]) for row in held(lake)] == [("none", None)]


def test_an_ack_that_comes_later_tells_whether_a_dead_letter_is_a_redelivery(empty: Path, tmp_path: Path) -> None:
    lake, traffic = str(tmp_path), Traffic().send(0).got(5, status="open", settlement=None)
    start(empty, lake)
    bring(lake, traffic.got(60, by="d", of="queue/dead", moved_from="queue/a"))
    refresh(lake)
    assert [row["redelivery"] for row in held(lake)].count(True) == 1
    traffic.rows["deliveries"][0] |= {"status": "settled", "settlement": "ack"}
    bring(lake, traffic)
    refresh(lake)
    assert not any(row["redelivery"] for row in held(lake))
    assert held(lake) == computed(lake)


@pytest.mark.parametrize("captured", slow_behind(1, ["cut within a frame", "whole", "while others wait"]))
def test_contents_that_did_not_change_are_not_computed_again(
    captured: str, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are they where a capture ends within a frame: that is no hole; nor those of SENDs whose horizon is not over yet."""
    lake, traffic = str(tmp_path), Traffic(end=1800)
    start(empty, lake)
    if captured == "while others wait":
        for number in range(20):
            traffic.send(number, 200 + number)
    for number in range(50):
        traffic.send(number, number + 1).got(number + 0.5, number + 1)
    bring(lake, traffic)
    refresh(lake)
    seen: list[int] = []
    compared = journeys._compared

    def counted(lake: str, parts: Any, old: Any, touched: journeys_touched.Touched) -> Any:
        seen.append(touched.contents.num_rows)
        return compared(lake, parts, old, touched)

    monkeypatch.setattr(journeys, "_compared", counted)
    traffic.rows["captures"][0]["last_ns"] = Traffic.at(1810)
    if captured == "cut within a frame":
        stream = traffic.rows["streams"][0]
        stream["last_ns"] = Traffic.at(102)  # the connection goes on
        traffic.rows["raw_frames"].append({
            "stream_id": stream["stream_id"], "direction": "c2s", "stream_offset": 1 << 20, "length_octets": 9, "kind": "partial",
            "first_ns": Traffic.at(102), "last_ns": Traffic.at(102),
        })  # fmt: skip
    bring(lake, traffic.send(100, 7).got(101, 99))
    refresh(lake)
    assert seen == [2]
    assert held(lake) == computed(lake)


def test_where_the_log_was_cut_journeys_are_made_of_all_rows(empty: Path, tmp_path: Path) -> None:
    """As `maintain --retain-hours 0` cuts it: what the captures were when journeys were made last cannot be read any more."""
    lake, traffic = str(tmp_path), Traffic(end=1800).send(0, 1)
    start(empty, lake)
    bring(lake, traffic)
    refresh(lake)
    traffic.rows["captures"][0]["last_ns"] += 1
    bring(lake, traffic)
    captures = DeltaTable(location(lake, "captures"))
    captures.create_checkpoint()
    for commit in (Path(location(lake, "captures")) / "_delta_log").glob("*.json"):
        if int(commit.stem) < captures.version():
            commit.unlink()
    bring(lake, traffic.got(20, 1))
    refresh(lake)
    assert [row["joined_by"] for row in held(lake)] == ["unique"]
    assert held(lake) == computed(lake)


@pytest.mark.slow
def test_rows_that_wait_stand_in_no_file_with_others(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files were put together: else a run would write all of those again when the rows wait no longer."""
    monkeypatch.setattr(commits, "MOST_SMALL", 3)
    lake, traffic = str(tmp_path), Traffic()
    start(empty, lake)
    for run in range(1, 9):
        traffic.send(600 * run, run).send(600 * run, 100 + run).got(600 * run + 10, run)
        for row in (*traffic.rows["captures"], *traffic.rows["streams"]):
            row["last_ns"] = Traffic.at(600 * run + 20)
        bring(lake, traffic)
        refresh(lake)
    files = data_files.of(DeltaTable(location(lake, "journeys")))
    waiting = [set(pc.equal(read("journeys", [file]).column("reason"), "not_yet").fill_null(False).to_pylist()) for file in files]
    assert sorted(map(len, waiting)) == [1] * len(files)
    assert {True} in waiting
    assert {False} in waiting
    assert len(files) <= 2 * 3 + 1
    assert held(lake) == computed(lake)
