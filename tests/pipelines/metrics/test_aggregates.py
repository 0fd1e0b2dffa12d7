"""Aggregates kept current batch by batch are those of a full computation, whatever comes, goes or changes, in any order."""

from __future__ import annotations

import datetime
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from pipelines.metrics import aggregates, gold
from stompcap.lake import commits, data_files, delta_log, query
from stompcap.lake import tables as lakes
from stompcap.lake.commits import APP, SOURCE, CommitInfo, ordered, read, replace_files, written
from stompcap.lake.paths import location
from stompcap.tables import TABLES
from tests.examples import one_in
from tests.report.sample import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime.datetime(2026, 11, 20, 22, tzinfo=datetime.UTC)
RULES = ("FR-01", "HB-01")
TABLES_MADE = ("sessions", "deliveries", "compliance")

moments = st.integers(0, 60 * 60).map(lambda minutes: START + datetime.timedelta(minutes=minutes))
products = st.sampled_from(["RabbitMQ", "Artemis", None])
latencies = st.one_of(st.none(), st.integers(0, 10**6))


@st.composite
def session(draw: st.DrawFn, name: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of one session: it, its deliveries, its compliance."""
    opened = draw(moments)
    delivered = draw(st.lists(st.tuples(st.integers(0, 5 * 60), latencies), max_size=3))
    last = opened + datetime.timedelta(minutes=max((minute for minute, _ in delivered), default=0))
    alike = {"stream_id": name}
    return {
        "streams": [alike | {"source": draw(st.sampled_from("ab")), "first_ts": opened, "last_ts": last}],
        "sessions": [alike | {"opened_ts": opened, "last_ts": last, "version": "1.2"}],
        "deliveries": [
            alike | {"stream_offset": at, "delivered_ts": opened + datetime.timedelta(minutes=minute), "destination": "/queue/a",
                     "status": "unknown" if latency is None else "settled", "ack_latency_us": latency, "octets_missing": False}
            for at, (minute, latency) in enumerate(delivered)
        ],
        "compliance": [
            alike | {"rule_id": rule, "applicable": 3, "passed": passed, "failed": 3 - passed, "opened_ts": opened}
            for rule, passed in draw(st.dictionaries(st.sampled_from(RULES), st.integers(0, 3))).items()
        ],
    }  # fmt: skip


@dataclass(frozen=True)
class Step:
    """What a run does: rows of some sessions come to some tables, those of others go; a session may turn out to be of another broker."""

    come: dict[str, str | None]
    gone: set[str]
    tables: tuple[str, ...]
    refreshed: bool


names = st.sampled_from("abcdef")
steps = st.builds(
    Step, st.dictionaries(names, products, max_size=4), st.sets(names, max_size=1),
    st.sampled_from([TABLES_MADE, TABLES_MADE, ("sessions",), ("deliveries", "compliance")]), st.booleans(),
)  # fmt: skip


def no_spark() -> SparkSession:
    raise AssertionError("these lakes are small")


def change(lake: str, name: str, rows: list[dict[str, Any]], gone: set[str]) -> None:
    """Commit rows to a table, and take those of some sessions out of it with the same transaction."""
    delta = DeltaTable(location(lake, name))
    hit = [file for file in data_files.of(delta) if gone & set(read(name, [file]).column("stream_id").to_pylist())]
    stay = read(name, hit).filter(pa.array([stream not in gone for stream in read(name, hit).column("stream_id").to_pylist()], pa.bool_()))
    replace_files(delta, written(lake, name, pa.concat_tables([stay, table(name, rows)])), hit, CommitInfo("run"))


def refresh(lake: str) -> None:
    for one in gold.AGGREGATES:
        aggregates.refresh(lake, one, [], "run", no_spark)


def held(lake: str, name: str) -> pa.Table:
    return ordered(name, read(name, data_files.of(DeltaTable(location(lake, name)))))


def computed(lake: str, one: gold.Aggregate) -> pa.Table:
    answer = query.ask(lake, [one.query()], no_spark)[one.name]
    return ordered(one.name, answer.select(TABLES[one.name].arrow.names).cast(TABLES[one.name].arrow))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake without rows, to copy."""
    lake = tmp_path_factory.mktemp("empty")
    lakes.create(str(lake))
    return lake


@one_in(10)
@given(st.fixed_dictionaries({name: session(name) for name in "abcdef"}), st.lists(steps, min_size=1, max_size=6))
def test_an_aggregate_is_that_of_all_rows(empty: Path, rows: dict[str, dict[str, list[dict[str, Any]]]], history: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as lake:
        for name in (*TABLES_MADE, "streams", "sends", "journeys", *(one.name for one in gold.AGGREGATES)):
            shutil.copytree(empty / name, Path(lake, name))
        change(lake, "streams", [row for name in rows for row in rows[name]["streams"]], set())
        refresh(lake)
        for step in history:
            for where in step.tables:
                new = [
                    row | ({"server_product": product} if where == "sessions" else {})
                    for name, product in step.come.items() for row in rows[name][where]
                ]  # fmt: skip
                change(lake, where, new, {*step.come, *step.gone})
            if step.refreshed:
                refresh(lake)
        refresh(lake)
        for one in gold.AGGREGATES:
            assert held(lake, one.name).to_pylist() == computed(lake, one).to_pylist()


def of_hours(lake: str, *hours: int) -> None:
    """Add a session with a delivery and a verdict for each hour behind the start."""
    for hour in hours:
        when = START + datetime.timedelta(hours=hour)
        alike, name = {"stream_id": f"{hour:04}"}, f"unit-{hour}"
        for where, row in (
            ("sessions", {"opened_ts": when, "last_ts": when, "server_product": "RabbitMQ"}),
            ("deliveries", {"delivered_ts": when, "status": "settled", "ack_latency_us": hour, "octets_missing": False}),
            ("compliance", {"opened_ts": when, "rule_id": "FR-01", "applicable": 1, "passed": 1}),
        ):
            lakes.append(lake, where, table(where, [alike | row]), [name], "run")


@pytest.mark.slow
def test_only_files_that_may_hold_rows_of_the_new_hours_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    of_hours(lake, *range(0, 240, 24))
    refresh(lake)
    of_hours(lake, 240)
    asked: dict[str, int] = {}
    show = query._show

    def counted(database: Any, name: str, files: query.Files) -> None:
        asked[name] = max(asked.get(name, 0), len(files.uris))
        show(database, name, files)

    monkeypatch.setattr(query, "_show", counted)
    refresh(lake)
    counted_rows = {name for one in gold.AGGREGATES for name in one.counted}
    looked_at = {f"{way}_{name}" for name in (*counted_rows, "sessions") for way in ("came", "went")}
    looked_at |= {f"of_altered_{name}" for name in counted_rows if name != "journeys"} | {*counted_rows, "sessions", "streams"}
    assert set(asked) == looked_at
    assert {number for name, number in asked.items() if not name.startswith("went_")} == {0, 1}
    assert held(lake, "ack_latency").num_rows == held(lake, "compliance_summary").num_rows == 11


def test_rows_that_went_to_another_file_change_no_hour(tmp_path: Path) -> None:
    """A file that some rows leave is replaced by one with the others; the aggregate is computed again for the hours of those that left."""
    lake = str(tmp_path)
    lakes.create(lake)
    of_hours(lake, *range(0, 240, 24))
    before = {name: DeltaTable(location(lake, name)).version() for name in TABLES_MADE}
    delta = DeltaTable(location(lake, "deliveries"))
    replace_files(delta, written(lake, "deliveries", read("deliveries", data_files.of(delta))), data_files.of(delta), CommitInfo("run"))
    change(lake, "deliveries", [], {"0072"})
    now = {name: DeltaTable(location(lake, name)) for name in TABLES_MADE}
    found = aggregates.changed(gold.ACK_LATENCY, now, before)
    assert found is not None
    assert found.begins.to_pylist() == [START + datetime.timedelta(hours=72)]


@pytest.mark.slow
def test_files_put_together_change_no_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MOST_SMALL", 8)
    lake = str(tmp_path)
    lakes.create(lake)
    of_hours(lake, *range(10))
    since = DeltaTable(location(lake, "deliveries")).version()
    of_hours(lake, *range(10, 15))
    delta = DeltaTable(location(lake, "deliveries"))
    files = data_files.of(delta)
    assert len(files) < 15
    assert sum(file.rows for file in files) == 15
    assert max(file.added_ms for file in files) == _latest(delta)
    found = delta_log.changes(delta, since)
    assert found is not None
    assert [one.added for one in found] == [True] * 5
    assert delta_log.changes(delta, delta.version()) == []


def _latest(table: DeltaTable) -> int:
    """When the last rows came, by the log."""
    entries = sorted(Path(table.table_uri.removeprefix("file://"), "_delta_log").glob("*.json"))
    actions = [json.loads(line) for entry in entries for line in entry.read_text().splitlines()]
    return max(action["add"]["modificationTime"] for action in actions if action.get("add", {}).get("dataChange"))


@pytest.mark.slow
def test_an_aggregate_has_few_files_however_many_runs_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MOST_SMALL", 5)
    lake = str(tmp_path)
    lakes.create(lake)
    for hour in range(0, 12 * 24, 24):
        of_hours(lake, hour)
        refresh(lake)
    for one in gold.AGGREGATES:
        assert len(DeltaTable(location(lake, one.name)).file_uris()) <= 6
        assert held(lake, one.name).to_pylist() == computed(lake, one).to_pylist()


def test_an_aggregate_of_unknown_origin_is_computed_from_all_rows(tmp_path: Path) -> None:
    """So is one of an older version, over the whole lake and without a day."""
    lake = str(tmp_path)
    lakes.create(lake)
    of_hours(lake, 1, 30)
    old = table("compliance_summary", [{"rule_id": "FR-01", "server_product": "RabbitMQ", "sessions": 99, "applicable": 99}])
    lakes.append(lake, "compliance_summary", old, ["old"], "run")
    refresh(lake)
    assert [(str(row["day"]), row["sessions"]) for row in held(lake, "compliance_summary").to_pylist()] == [
        ("2026-11-20", 1), ("2026-11-22", 1),
    ]  # fmt: skip
    noted = delta_log.transactions(DeltaTable(location(lake, "compliance_summary")))
    assert noted[f"{SOURCE}compliance"] == DeltaTable(location(lake, "compliance")).version()


def test_an_aggregate_made_without_a_table_that_it_reads_now_is_computed_from_all_rows(tmp_path: Path) -> None:
    """Older versions did not read streams: their rows have no source."""
    lake = str(tmp_path)
    lakes.create(lake)
    of_hours(lake, 1)
    lakes.append(lake, "streams", table("streams", [{"stream_id": "0001", "source": "a"}]), ["streams"], "run")
    old = table("ack_latency", [{"hour_ts": START + datetime.timedelta(hours=1), "deliveries": 1, "settled": 1}])
    versions = {name: DeltaTable(location(lake, name)).version() for name in ("deliveries", "sessions")}
    replace_files(DeltaTable(location(lake, "ack_latency")), written(lake, "ack_latency", old), [], CommitInfo("run", (), versions))
    refresh(lake)
    assert [(row["source"], row["deliveries"]) for row in held(lake, "ack_latency").to_pylist()] == [("a", 1)]


@pytest.mark.parametrize("lost", ["a commit", "a file"])
def test_where_the_log_has_forgotten_all_is_computed(lost: str, tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    of_hours(lake, 1)
    refresh(lake)
    change(lake, "deliveries", [], {"0001"})
    of_hours(lake, 2)
    for where in ("deliveries", "sessions"):
        entries = sorted((tmp_path / where / "_delta_log").glob("*.json"))
        if lost == "a commit":
            DeltaTable(location(lake, where)).create_checkpoint()
            entries[-2].unlink()
    if lost == "a file":
        [gone] = {path.name for path in (tmp_path / "deliveries").glob("*.parquet")} - {
            Path(uri).name for uri in DeltaTable(location(lake, "deliveries")).file_uris()
        }
        (tmp_path / "deliveries" / gone).unlink()
    refresh(lake)
    for one in gold.AGGREGATES:
        assert held(lake, one.name).to_pylist() == computed(lake, one).to_pylist()


def test_all_transactions_of_a_table_are_found_behind_checkpoints(tmp_path: Path) -> None:
    lake = str(tmp_path / "a lake [1]")
    lakes.create(lake)
    empty = TABLES["stalls"].arrow.empty_table()
    for number in range(45):
        lakes.append(lake, "stalls", empty, [f"unit {number}"], "run")
    assert list((tmp_path / "a lake [1]" / "stalls" / "_delta_log").glob("*.checkpoint.parquet"))
    assert delta_log.transactions(DeltaTable(location(lake, "stalls"))) == {f"{APP}unit {number}": 1 for number in range(45)}
